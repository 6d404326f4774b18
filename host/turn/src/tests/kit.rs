//! An office small enough for one turn: a real record, and a door that answers from a script.

use crate::{Door, Opening, Pace, TurnParts, open, run};
use attention::Wake;
use event::{
    Actor, Audience, Author, Digest, Event, EventId, Expected, Fact, GlobalPosition, Integrity, Label,
    MessageReceived, Place, PlaceKind, Position, PrincipalId, Proposed, ReplyTo, Route, SeatCreated,
    SeatHeld, SeatId, StreamName, Topic, TurnEnding, TurnId,
};
use gate::{
    Call, Catalogue, Deltas, EffectClass, GateError, InferRequest, ModelSpec, Passed, Payload, Resource,
    ToolSpec, Touches,
};
use record::{Append, Fence, Record, SystemClock};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

pub const QUESTION: &str = "what does http://site.example/ say?";

pub type Script = fn(&Call) -> Passed;

type Answers = dyn Fn(&Call) -> Result<Passed, GateError> + Send + Sync;

/// Answers from a script, and remembers every call.
pub struct ScriptedDoor {
    script: Box<Answers>,
    calls: Mutex<Vec<Call>>,
}

#[async_trait::async_trait]
impl Door for ScriptedDoor {
    async fn pass(&self, call: Call, deltas: Option<Arc<dyn Deltas>>) -> Result<Passed, GateError> {
        if let Some(deltas) = deltas {
            deltas.write("…");
        }
        let passed = (self.script)(&call);
        self.calls.lock().unwrap().push(call);
        passed
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

struct Shelf;

impl Catalogue for Shelf {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        // Out of order on purpose, and one that the seat was not granted.
        ["web.fetch", "vault.open", "slack.post", "slack.react"].map(|name| Arc::new(tool(name))).to_vec()
    }

    fn models(&self) -> Vec<Arc<ModelSpec>> {
        Vec::new()
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
    _folder: TempDir,
}

impl Office {
    pub async fn empty(script: impl Fn(&Call) -> Result<Passed, GateError> + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let record =
            Record::open_sqlite(&folder.path().join("record.db"), Arc::new(SystemClock)).await.unwrap();
        let door = Arc::new(ScriptedDoor { script: Box::new(script), calls: Mutex::default() });
        Self { record, door, pace: Arc::default(), _folder: folder }
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
        let fact = MessageReceived {
            place: place(ts),
            author: Author { principal: None, external: user.into(), bot: false },
            text: text.into(),
            mentions_office: true,
            subtype: String::new(),
        };
        self.say(&format!("message-{ts}"), fact.into()).await
    }

    /// Opens the turn that answers [`QUESTION`].
    pub async fn open(&self, steps_max: u32) -> TurnId {
        open(&self.record, opening(steps_max)).await.unwrap().turn
    }

    pub async fn fence(&self, turn: &TurnId) -> Fence {
        self.record.lease(turn.as_str(), "test", 60_000).await.unwrap().unwrap().fence()
    }

    pub fn parts(&self) -> TurnParts<ScriptedDoor> {
        TurnParts {
            record: self.record.clone(),
            catalogue: Arc::new(Shelf),
            pace: self.pace.clone(),
            office: "Test".to_owned(),
            answer_tools: &["slack.post", "terminal.say"],
            readable: str::to_owned,
            deltas: None,
            door: self.door.clone(),
        }
    }

    /// Opens the turn and runs it to its end.
    pub async fn run(&self, steps_max: u32) -> (TurnId, TurnEnding) {
        let turn = self.open(steps_max).await;
        let fence = self.fence(&turn).await;
        let ending = spawnable(run(&self.parts(), &turn, fence)).await.unwrap();
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
            Payload::Infer(request) => Some(request),
            Payload::Tool(_) => None,
        };
        self.calls().into_iter().filter_map(request).collect()
    }

    /// What was sent, in order.
    pub fn sent(&self) -> Vec<Value> {
        self.calls().iter().filter(|call| call.tool == "slack.post").map(Call::input).collect()
    }
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
        grants: vec!["web.*".into(), "slack.*".into()],
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
        wake: Wake { seat: seat(), topic: Topic::parse("slack:T1:C1:1.0").unwrap(), asked_by },
        reply_to: Some(ReplyTo {
            tool: "slack.post".into(),
            destination: json!({"channel": "C1", "thread_ts": "1.0"}),
            audience: audience(),
        }),
        model: "scripted/story".into(),
        steps_max,
        drill: false,
    }
}
