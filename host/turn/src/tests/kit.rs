//! An office small enough for one turn: a real record, and a door that answers from a script.

use crate::{Door, Opening, Pace, TurnParts, open, run};
use attention::Wake;
use event::{
    Actor, Audience, Author, Digest, Event, EventId, Expected, Fact, GlobalPosition, Integrity, Label,
    MessageReceived, Place, PlaceKind, Position, PrincipalId, Proposed, ReplyTo, Route, SeatCreated,
    SeatHeld, SeatId, Steering, StreamName, Timestamp, Topic, TurnEnding, TurnId, TurnSteered,
};
use futures_util::future::BoxFuture;
use gate::{
    Began, Begins, Call, Came, Carried, Catalogue, Deltas, EffectClass, GateError, InferRequest, ModelSpec,
    Owed, Passed, Payload, Resource, ToolSpec, Touches,
};
use record::{Append, Clock, Fence, Record, SystemClock};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

pub const QUESTION: &str = "what does http://site.example/ say?";

pub type Script = fn(&Call) -> Passed;

type Answers = dyn Fn(&Call) -> Result<Passed, GateError> + Send + Sync;

/// What happens while a call is under way: given the record, how many calls were made before, and the call.
pub type Meanwhile = dyn Fn(Record, usize, Call) -> BoxFuture<'static, ()> + Send + Sync;

/// A clock that a test can set: how many milliseconds it is ahead, and how many it gains whenever it is looked at.
#[derive(Debug, Default)]
pub struct SetClock(pub AtomicI64, pub AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_ms(self.0.fetch_add(self.1.load(Ordering::SeqCst), Ordering::SeqCst))
    }
}

/// Answers from a script, and remembers every call.
pub struct ScriptedDoor {
    script: Box<Answers>,
    record: Mutex<Record>,
    meanwhile: Mutex<Option<Arc<Meanwhile>>>,
    calls: Mutex<Vec<Call>>,
    /// What was let go of.
    pub abandoned: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl Door for ScriptedDoor {
    type Going = (usize, Call, Passed);

    async fn begin(&self, calls: Vec<Call>, carried: Carried) -> Result<Began<Self::Going>, GateError> {
        let passed = calls.iter().map(|call| (self.script)(call)).collect::<Result<Vec<_>, _>>()?;
        let is_no = |passed: &Passed| matches!(passed, Passed::Denied(_) | Passed::Refused(_));
        let mut events = None;
        if !passed.iter().all(is_no) {
            let record = self.record.lock().unwrap().clone();
            match carried.write(&record).await? {
                Some(written) => events = Some(written),
                None => return Ok(Began::Overtaken),
            }
        }
        let mut begins = Vec::new();
        for (call, passed) in calls.into_iter().zip(passed) {
            let before = {
                let mut calls = self.calls.lock().unwrap();
                calls.push(call.clone());
                calls.len() - 1
            };
            begins.push(match passed {
                Passed::Waits { approval, expires_at } => Begins::Waits { approval, expires_at },
                no if is_no(&no) => Begins::Came(Box::new(Came { passed: no, owed: Owed::nothing() })),
                passed => Begins::Goes(Box::new((before, call, passed))),
            });
        }
        Ok(Began::Judged { calls: begins, events })
    }

    async fn go(&self, (before, call, passed): Self::Going, deltas: Option<Arc<dyn Deltas>>) -> Came {
        if let Some(deltas) = deltas {
            deltas.write("…");
        }
        let meanwhile = self.meanwhile.lock().unwrap().clone();
        if let Some(meanwhile) = meanwhile {
            let record = self.record.lock().unwrap().clone();
            meanwhile(record, before, call).await;
        }
        Came { passed, owed: Owed::nothing() }
    }

    async fn abandon(&self, call: &Call) -> Result<(), GateError> {
        self.abandoned.lock().unwrap().push(call.tool.clone());
        Ok(())
    }
}

/// Waits no time at all and remembers how long it should have.
#[derive(Default)]
pub struct NoWait(pub Mutex<Vec<u64>>);

#[async_trait::async_trait]
impl Pace for NoWait {
    async fn wait(&self, ms: u64) {
        if ms > 0 {
            self.0.lock().unwrap().push(ms);
        }
    }
}

/// The tools of the office, and what of its model is known.
pub struct Shelf {
    pub more: &'static [(&'static str, EffectClass)],
    pub window_tokens: Option<u32>,
}

impl Catalogue for Shelf {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        // Out of order on purpose, and one that the seat was not granted.
        let known =
            ["web.fetch", "vault.open", "slack.post", "slack.react"].map(|name| (name, EffectClass::Read));
        let tools = known.iter().chain(self.more);
        tools.map(|(name, effect)| Arc::new(ToolSpec { effect: *effect, ..tool(name) })).collect()
    }

    fn models(&self) -> Vec<Arc<ModelSpec>> {
        let model = |window_tokens| ModelSpec {
            name: "scripted/story".into(),
            plugin: "scripted".into(),
            digest: Digest::of(b"model"),
            window_tokens,
            output_tokens_max: 500,
            price_key: "scripted/story".into(),
            media: Vec::new(),
        };
        self.window_tokens.map(model).map(Arc::new).into_iter().collect()
    }

    fn routes(&self, _plugin: &str) -> Vec<Route> {
        Vec::new()
    }

    fn resource(&self, tool: &ToolSpec, _input: &Value) -> Result<Resource, String> {
        Ok(Resource::Plugin(tool.plugin.clone()))
    }

    fn check_input(&self, _tool: &ToolSpec, _input: &Value) -> Result<(), String> {
        Ok(())
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        plugin: "test".into(),
        digest: Digest::of(b"test"),
        description: format!("does {name}"),
        input_schema: json!({"type": "object"}),
        output_schema: json!({}),
        effect: EffectClass::Read,
        touches: Touches::Plugin,
        price_key: None,
        exact: false,
        recall: false,
    }
}

pub struct Office {
    pub record: Record,
    pub door: Arc<ScriptedDoor>,
    pub pace: Arc<NoWait>,
    pub clock: Arc<SetClock>,
    _folder: TempDir,
}

impl Office {
    pub async fn empty(script: impl Fn(&Call) -> Result<Passed, GateError> + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock::default());
        let record = Record::open_sqlite(&folder.path().join("record.db"), clock.clone()).await.unwrap();
        let door = Arc::new(ScriptedDoor {
            script: Box::new(script),
            record: Mutex::new(record.clone()),
            meanwhile: Mutex::default(),
            calls: Mutex::default(),
            abandoned: Mutex::default(),
        });
        Self { record, door, pace: Arc::default(), clock, _folder: folder }
    }

    /// Lets this happen while a call is under way.
    pub fn meanwhile<F: Future<Output = ()> + Send + 'static>(
        &self,
        then: impl Fn(Record, usize, Call) -> F + Send + Sync + 'static,
    ) {
        let boxed =
            move |record, before, call| -> BoxFuture<'static, ()> { Box::pin(then(record, before, call)) };
        *self.door.meanwhile.lock().unwrap() = Some(Arc::new(boxed));
    }

    /// An office with a held seat, in which nobody has said anything.
    pub async fn seated(script: impl Fn(&Call) -> Result<Passed, GateError> + Send + Sync + 'static) -> Self {
        let office = Self::empty(script).await;
        office.say("seat-front-desk", seat_created().into()).await;
        let held = SeatHeld { seat: seat(), principal: PrincipalId::parse("agent_chancery").unwrap() };
        office.say("seat-front-desk", held.into()).await;
        office
    }

    /// The same, in which somebody has asked [`QUESTION`].
    pub async fn asked(script: Script) -> Self {
        let office = Self::seated(move |call| Ok(script(call))).await;
        office.message("1.0", "U02", QUESTION).await;
        office
    }

    pub async fn say(&self, stream: &str, fact: Fact) -> EventId {
        let id = EventId::derived(&[stream, &fact.body().to_string()]);
        let actor = Actor { principal: PrincipalId::host(), seat: None };
        let label = match fact {
            Fact::MessageReceived(_) => channel_label(),
            _ => Label::host(),
        };
        let event = Proposed { id: id.clone(), actor, cause: None, label, fact };
        self.record.append(StreamName::parse(stream).unwrap(), Expected::Any, vec![event]).await.unwrap();
        id
    }

    pub async fn message(&self, ts: &str, user: &str, text: &str) -> EventId {
        self.say(&format!("message-{ts}"), said(ts, user, text).into()).await
    }

    /// Opens the turn that answers [`QUESTION`].
    pub async fn open(&self, steps_max: u32) -> TurnId {
        open(&self.record, opening(steps_max)).await.unwrap().turn
    }

    pub async fn fence(&self, turn: &TurnId) -> Fence {
        self.record.lease(turn.as_str(), "test", 60_000).await.unwrap().unwrap().fence()
    }

    pub fn parts(&self) -> TurnParts<ScriptedDoor> {
        // With the keys that a test may have given it since.
        *self.door.record.lock().unwrap() = self.record.clone();
        TurnParts {
            record: self.record.clone(),
            catalogue: Arc::new(Shelf { more: &[], window_tokens: None }),
            pace: self.pace.clone(),
            office: "Test".to_owned(),
            answer_tools: &["slack.post", "terminal.say"],
            hidden_families: Vec::new(),
            readable: str::to_owned,
            is_progress: |text| text.starts_with("Working on it"),
            files: None,
            deltas: None,
            door: self.door.clone(),
        }
    }

    /// Opens the turn and runs it to its end.
    pub async fn run(&self, steps_max: u32) -> (TurnId, TurnEnding) {
        self.run_with(&self.parts(), opening(steps_max)).await
    }

    /// The same, with these parts.
    pub async fn run_with(&self, parts: &TurnParts<ScriptedDoor>, opening: Opening) -> (TurnId, TurnEnding) {
        let turn = open(&self.record, opening).await.unwrap().turn;
        let fence = self.fence(&turn).await;
        let ending = spawnable(run(parts, &turn, fence)).await.unwrap();
        (turn, ending.ending().expect("the turn waits for nobody"))
    }

    pub async fn events(&self) -> Vec<Event> {
        self.record.read_all(GlobalPosition(0), 10_000).await.unwrap()
    }

    pub async fn turn_events(&self, turn: &TurnId) -> Vec<Event> {
        self.record.read_stream(&crate::turn_stream(turn), Position(1), 10_000).await.unwrap()
    }

    pub async fn ended(&self, turn: &TurnId) -> event::TurnEnded {
        match self.turn_events(turn).await.pop().unwrap().fact {
            Fact::TurnEnded(ended) => ended,
            other => panic!("the last fact is {}", other.kind()),
        }
    }

    /// Appends events of another office here, as they were.
    pub async fn copy(&self, events: &[Event]) {
        for event in events {
            let append = Append::new(event.stream.clone(), Expected::Any, vec![event.proposed()]);
            self.record.append_all(vec![append]).await.unwrap();
        }
    }

    pub fn calls(&self) -> Vec<Call> {
        self.door.calls.lock().unwrap().clone()
    }

    /// The requests the model was given, in order.
    pub fn requests(&self) -> Vec<InferRequest> {
        let request = |call: Call| match call.payload {
            Payload::Infer(request) => Some(InferRequest::clone(&request)),
            Payload::Tool(_) => None,
        };
        self.calls().into_iter().filter_map(request).collect()
    }

    /// What was sent, in order.
    pub fn sent(&self) -> Vec<Value> {
        self.calls()
            .iter()
            .filter(|call| call.tool == "slack.post")
            .map(|call| call.input().clone())
            .collect()
    }
}

pub fn said(ts: &str, user: &str, text: &str) -> MessageReceived {
    MessageReceived {
        place: place(ts),
        author: Author { principal: None, external: user.into(), bot: false },
        text: text.into(),
        mentions_office: true,
        subtype: String::new(),
    }
}

/// Somebody says something into the turn: it stands in the record and in the turn's inbox.
pub async fn steer(record: &Record, turn: &TurnId, ts: &str, text: &str, steering: Steering) {
    let actor = Actor { principal: PrincipalId::host(), seat: None };
    let message = EventId::derived(&["said", ts]);
    let event = |id, label, fact| Proposed { id, actor: actor.clone(), cause: None, label, fact };
    let one = |stream: String, event| {
        record.append(StreamName::parse(&stream).unwrap(), Expected::Any, vec![event])
    };
    let said = event(message.clone(), channel_label(), said(ts, "U03", text).into());
    let at = one(format!("message-{ts}"), said).await.unwrap().remove(0).global_position;
    let (turn, by, reason) = (turn.clone(), None, "said".to_owned());
    let id = EventId::derived(&["steered", ts]);
    let (topic, asks) = (opening(1).wake.topic, Some(seat()));
    let steered =
        TurnSteered { turn: turn.clone(), topic, message, at, by, steering, reason, asks, untold: false };
    one(format!("inbox-{turn}"), event(id, Label::host(), steered.into())).await.unwrap();
}

/// The host runs many turns at once, so a run must be able to move between threads.
fn spawnable<F: Future + Send>(run: F) -> F {
    run
}

pub fn seat() -> SeatId {
    SeatId::parse("seat_front-desk").unwrap()
}

fn seat_created() -> SeatCreated {
    SeatCreated {
        seat: seat(),
        role: "assistant".into(),
        department: None,
        line: None,
        grants: vec!["web.*".into(), "slack.*".into(), "mail.*".into()],
        accountabilities: Vec::new(),
        stands_in: None,
    }
}

fn place(ts: &str) -> Place {
    Place {
        kind: PlaceKind::Channel,
        team: "T1".into(),
        channel: "C1".into(),
        ts: ts.into(),
        thread_ts: Some("1.0".into()),
    }
}

pub fn audience() -> Audience {
    Audience::SlackChannel { team: "T1".into(), channel: "C1".into() }
}

pub fn channel_label() -> Label {
    Label::within(audience(), Integrity::Unknown)
}

pub fn opening(steps_max: u32) -> Opening {
    let fact: Fact = MessageReceived {
        place: place("1.0"),
        author: Author { principal: None, external: "U02".into(), bot: false },
        text: QUESTION.into(),
        mentions_office: true,
        subtype: String::new(),
    }
    .into();
    let asked_by = EventId::derived(&["message-1.0", &fact.body().to_string()]);
    Opening {
        wake: Wake { seat: seat(), topic: Topic::parse("slack:T1:C1:1.0").unwrap(), asked_by, asked: None },
        reply_to: Some(ReplyTo {
            tool: "slack.post".into(),
            destination: json!({"channel": "C1", "thread_ts": "1.0"}),
            audience: audience(),
        }),
        model: "scripted/story".into(),
        steps_max,
        ms_max: None,
        drill: false,
    }
}
