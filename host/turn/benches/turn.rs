//! What a durable step of a turn costs, on SQLite: whole turns of twenty tool steps, each wanted by a model that answers
//! from a script, through the real gate with the policies of this repository, a purse and holds. `cargo xtask bench turn`
//! builds and runs this beside others that keep the same steps.
//!
//! What is behind the door answers at once. One JSON object goes to standard output. Arguments: the folder whose disk is
//! measured, and how many turns.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a measurement stops where it fails"
)]

use attention::Wake;
use event::{
    Actor, AppliesTo, Audience, Author, BudgetSet, Digest, EventId, Expected, Fact, Label, MessageReceived,
    NanoUsd, Period, Place, PlaceKind, PolicyApplied, PolicyText, Price, PricesListed, PrincipalId, Proposed,
    ReplyTo, Route, SeatCreated, SeatHeld, SeatId, StreamName, Timestamp, Topic, Usage,
};
use gate::{
    ApprovalTimes, Catalogue, EffectClass, Gate, GateParts, InferResponse, ModelSpec, Output, Part, Payload,
    Permit, Reach, Reached, Reading, Resource, Role, StopReason, ToolCall, ToolSpec, Touches,
};
use record::{Record, SystemClock};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use turn::{Opening, Ran, RealPace, TurnParts, open, run};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tool steps of one turn.
const TOOL_STEPS: usize = 20;
/// The model's answers, the tool's results, the last answer and its send.
const DURABLE_STEPS: usize = 2 * TOOL_STEPS + 2;
/// Characters of what a tool gives.
const RESULT_CHARS: usize = 1_000;
const MODEL: &str = "scripted/story";
const SITE: &str = "https://docs.example.com";

struct Hands;

#[async_trait::async_trait]
impl Reach for Hands {
    async fn reach(&self, permit: Permit) -> Reached {
        let output = match permit.payload() {
            Payload::Infer(request) => Output::Model(answer(
                request.messages.iter().filter(|message| message.role == Role::Assistant).count(),
            )),
            Payload::Tool(_) if permit.tool() == "web.fetch" => {
                Output::Tool(json!({"title": "A page", "text": "x".repeat(RESULT_CHARS)}))
            }
            Payload::Tool(_) => Output::Tool(json!({"ts": "1.0"})),
        };
        let readings = match output {
            Output::Tool(_) => vec![reading()],
            _ => Vec::new(),
        };
        Reached { outcome: Ok(output), request_sent: true, readings }
    }
}

fn answer(answers: usize) -> InferResponse {
    let call = |name: &str, input: Value| {
        Part::ToolCall(ToolCall { id: format!("call-{answers}"), name: name.to_owned(), input })
    };
    let part = match answers < TOOL_STEPS {
        true => call("web.fetch", json!({"url": format!("{SITE}/{answers}")})),
        false => call("finish", json!({"outcome": "answered", "text": "Twenty pages."})),
    };
    let usage = Some(Usage { input_tokens: 50, output_tokens: 10, ..Usage::default() });
    InferResponse { parts: vec![part], stop: StopReason::ToolUse, usage }
}

fn reading() -> Reading {
    Reading {
        method: "GET".into(),
        address: SITE.into(),
        status: 200,
        sha256: Digest::of(b"body"),
        bytes: 4,
        read_at: Timestamp(1),
    }
}

/// Tools and models by name, as a host that has loaded plugins keeps them.
struct Shelf {
    tools: BTreeMap<String, Arc<ToolSpec>>,
    models: BTreeMap<String, Arc<ModelSpec>>,
}

impl Shelf {
    fn new() -> Self {
        let tools = Self::offered().into_iter().map(|tool| (tool.name.clone(), tool)).collect();
        let model = Arc::new(ModelSpec {
            name: MODEL.to_owned(),
            plugin: "scripted".to_owned(),
            digest: Digest::of(b"component"),
            window_tokens: 1_000_000,
            output_tokens_max: 1_000,
            price_key: MODEL.to_owned(),
            media: Vec::new(),
        });
        Self { tools, models: BTreeMap::from([(MODEL.to_owned(), model)]) }
    }

    fn offered() -> Vec<Arc<ToolSpec>> {
        let spec = |name: &str, effect, touches| {
            Arc::new(ToolSpec {
                name: name.to_owned(),
                plugin: name.split('.').next().unwrap().to_owned(),
                digest: Digest::of(b"component"),
                description: "Does what it says.".to_owned(),
                input_schema: json!({"type": "object"}),
                output_schema: json!({}),
                effect,
                touches,
                price_key: None,
                exact: false,
                recall: false,
            })
        };
        let to = |pointer: &str| Touches::Destination(vec![pointer.to_owned()]);
        vec![
            spec("slack.card", EffectClass::External, to("/channel")),
            spec("slack.card-update", EffectClass::External, to("/channel")),
            spec("slack.ask", EffectClass::External, to("/channel")),
            spec("slack.ask-update", EffectClass::External, to("/channel")),
            spec("slack.complete", EffectClass::External, to("/channel")),
            spec("slack.progress", EffectClass::External, to("/channel")),
            spec("slack.progress-change", EffectClass::External, to("/channel")),
            spec("slack.progress-end", EffectClass::External, to("/channel")),
            spec("slack.status", EffectClass::External, to("/channel")),
            spec("slack.assistant-thread", EffectClass::External, to("/channel")),
            spec("slack.whisper", EffectClass::External, to("/channel")),
            Arc::new(gate::recall_spec("slack", &Digest::of(b"component"))),
            spec("slack.identity", EffectClass::Read, Touches::Plugin),
            spec("slack.post", EffectClass::External, to("/channel")),
            spec("slack.react", EffectClass::External, to("/channel")),
            spec("slack.emoji", EffectClass::Read, Touches::Plugin),
            spec("slack.file", EffectClass::Read, Touches::Plugin),
            spec("slack.home", EffectClass::External, to("/user")),
            spec("slack.form", EffectClass::External, to("/user")),
            spec("slack.begin", EffectClass::External, to("/to")),
            spec("office.said", EffectClass::Read, Touches::Plugin),
            spec("office.seats", EffectClass::Read, Touches::Plugin),
            spec("office.turns", EffectClass::Read, Touches::Plugin),
            spec("office.budgets", EffectClass::Read, Touches::Plugin),
            spec("office.waiting", EffectClass::Read, Touches::Plugin),
            spec("office.look-again", EffectClass::Write, Touches::Plugin),
            spec("office.ask", EffectClass::Write, Touches::Plugin),
            spec("office.answer", EffectClass::Write, Touches::Plugin),
            spec("terminal.say", EffectClass::Write, to("/session")),
            spec("web.fetch", EffectClass::Read, Touches::OriginOf("/url".into())),
        ]
    }
}

impl Catalogue for Shelf {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.tools.values().cloned().collect()
    }

    fn models(&self) -> Vec<Arc<ModelSpec>> {
        self.models.values().cloned().collect()
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.tools.get(name).cloned()
    }

    fn model(&self, name: &str) -> Option<Arc<ModelSpec>> {
        self.models.get(name).cloned()
    }

    fn call_ms_max(&self, _name: &str) -> Option<u64> {
        Some(60_000)
    }

    fn routes(&self, _plugin: &str) -> Vec<Route> {
        Vec::new()
    }

    fn resource(&self, tool: &ToolSpec, _input: &Value) -> Result<Resource, String> {
        Ok(match &tool.touches {
            Touches::OriginOf(_) => Resource::Origin { origin: SITE.to_owned(), granted: true },
            Touches::Destination(_) => Resource::Destination("C1".to_owned()),
            Touches::Plugin => Resource::Plugin(tool.plugin.clone()),
        })
    }

    fn check_input(&self, _tool: &ToolSpec, _input: &Value) -> Result<(), String> {
        Ok(())
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let turns = arguments.next().map_or(5, |count| count.parse().unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    let folder = tempfile::TempDir::new_in(folder).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    println!("{}", runtime.block_on(measure(folder.path(), turns)));
}

async fn measure(folder: &Path, turns: usize) -> Value {
    let file = folder.join("record.db");
    let record = Record::open_sqlite(&file, Arc::new(SystemClock)).await.unwrap();
    office(&record).await;
    let parts = parts(&record).await;
    one(&parts, 0).await;
    ended(record, parts).await;
    let before = size(&file);
    let record = Record::open_sqlite(&file, Arc::new(SystemClock)).await.unwrap();
    let events = record.head().await.unwrap().0.0;
    let parts = self::parts(&record).await;
    one(&parts, 1).await;
    let mut step_us = Vec::new();
    for n in 2..turns + 2 {
        let began = Instant::now();
        one(&parts, n).await;
        step_us.push(began.elapsed().as_secs_f64() * 1e6 / DURABLE_STEPS as f64);
    }
    let steps = ((turns + 1) * DURABLE_STEPS) as u64;
    let events = (record.head().await.unwrap().0.0 - events) as f64 / steps as f64;
    ended(record, parts).await;
    let bytes = size(&file).saturating_sub(before) / steps;
    json!({
        "name": "chancery", "steps": DURABLE_STEPS, "step_us": step_us, "bytes_per_step": bytes,
        "events_per_step": events,
    })
}

/// What turns are run with, over `record`.
async fn parts(record: &Record) -> TurnParts<Gate> {
    let shelf = Arc::new(Shelf::new());
    let gate = Gate::new(GateParts {
        record: record.clone(),
        catalogue: shelf.clone(),
        guards: Arc::new(()),
        reach: Arc::new(Hands),
        clock: Arc::new(SystemClock),
        headroom: 3,
        approvals: ApprovalTimes::default(),
        drill: false,
    })
    .await
    .unwrap();
    TurnParts {
        record: record.clone(),
        catalogue: shelf,
        pace: Arc::new(RealPace),
        office: "Bench".to_owned(),
        answer_tools: &["slack.post", "terminal.say"],
        hidden_families: Vec::new(),
        readable: str::to_owned,
        is_progress: |_| false,
        files: None,
        deltas: None,
        door: Arc::new(gate),
    }
}

/// Closes the record, so that the file by itself is the record.
async fn ended(record: Record, parts: TurnParts<Gate>) {
    drop(parts);
    record.ended().await;
}

/// What the database comes to, in bytes, once its log has gone back into it.
fn size(file: &Path) -> u64 {
    std::fs::metadata(file).unwrap().len()
}

/// One whole turn, from the message that asks to its end.
async fn one(parts: &TurnParts<Gate>, n: usize) {
    let ts = format!("{n}.0");
    let topic = Topic::parse(&format!("slack:T1:C1:{ts}")).unwrap();
    let asked_by = state(&parts.record, &format!("message-{n}"), message(&ts).into()).await;
    let opening = Opening {
        wake: Wake { seat: seat(), topic, asked_by, asked: None },
        reply_to: Some(ReplyTo {
            tool: "slack.post".into(),
            destination: json!({"channel": "C1"}),
            audience: Audience::SlackChannel { team: "T1".into(), channel: "C1".into() },
        }),
        model: MODEL.into(),
        steps_max: 60,
        ms_max: Some(600_000),
        drill: false,
    };
    let turn = open(&parts.record, opening).await.unwrap().turn;
    let lease = parts.record.lease(turn.as_str(), "bench", 60_000).await.unwrap().unwrap();
    let ran = run(parts, &turn, lease.fence()).await.unwrap();
    assert_eq!(ran, Ran::Ended(event::TurnEnding::Answered));
}

fn message(ts: &str) -> MessageReceived {
    MessageReceived {
        place: Place {
            kind: PlaceKind::Channel,
            team: "T1".into(),
            channel: "C1".into(),
            ts: ts.into(),
            thread_ts: None,
        },
        author: Author { principal: None, external: "U01".into(), bot: false },
        text: "what do twenty pages say?".to_owned().into(),
        mentions_office: true,
        subtype: String::new(),
    }
}

fn seat() -> SeatId {
    SeatId::parse("seat_desk").unwrap()
}

/// The settings of an office: policies, a price, a purse, a seat.
async fn office(record: &Record) {
    let files = policies();
    let digest = gate::policy::digest(&files);
    let applied =
        PolicyApplied { digest, files, base: None, reason: String::new(), corrective: false, by: None };
    let (input, output) = (NanoUsd::from_dollars("1"), NanoUsd::from_dollars("5"));
    let price = Price { input_per_mtok: input, output_per_mtok: output, ..Price::default() };
    let prices = BTreeMap::from([(MODEL.to_owned(), price)]);
    let digest = event::canon::canonical_digest(&serde_json::to_value(&prices).unwrap());
    let created = SeatCreated {
        seat: seat(),
        role: "assistant".to_owned(),
        department: None,
        line: None,
        grants: vec!["web.*".to_owned(), "slack.post".to_owned(), MODEL.to_owned()],
        accountabilities: Vec::new(),
        stands_in: None,
    };
    let held = SeatHeld { seat: seat(), principal: PrincipalId::parse("agent_chancery").unwrap() };
    let budget = |period| {
        let limit = NanoUsd::from_dollars("1000000").unwrap();
        let applies_to = AppliesTo::Organisation;
        let budget = applies_to.budget(period);
        BudgetSet { budget, period, limit, applies_to, time_zone: None, reason: String::new() }
    };
    let facts: [Fact; 6] = [
        applied.into(),
        PricesListed { digest, prices }.into(),
        budget(Period::Day).into(),
        budget(Period::Month).into(),
        created.into(),
        held.into(),
    ];
    for (n, fact) in facts.into_iter().enumerate() {
        state(record, &format!("office-{n}"), fact).await;
    }
}

fn policies() -> Vec<PolicyText> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cedar"));
    paths.sort();
    let text = |path: &PathBuf| PolicyText {
        name: path.file_name().unwrap().to_str().unwrap().to_owned(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    paths.iter().map(text).collect()
}

async fn state(record: &Record, stream: &str, fact: Fact) -> EventId {
    let id = EventId::derived(&[stream, fact.kind()]);
    let actor = Actor { principal: PrincipalId::host(), seat: None };
    let event = Proposed { id: id.clone(), actor, cause: None, label: Label::host(), fact };
    record.append(StreamName::parse(stream).unwrap(), Expected::Any, vec![event]).await.unwrap();
    id
}
