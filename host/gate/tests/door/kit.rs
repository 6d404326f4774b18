//! A gate over a record, in memory unless a test says otherwise, with the policies of this repository, one harmless
//! and one destructive tool, a model with a price, and a purse.

use event::{
    Actor, AppliesTo, BudgetSet, Digest, Event, EventId, Expected, Fact, GlobalPosition, Label, NanoUsd,
    Origin, Period, PolicyApplied, PolicyText, Price, PricesListed, PrincipalId, Proposed, SeatCreated,
    SeatHeld, SeatId, StreamName, Timestamp, Topic, TurnId, Usage,
};
use gate::{
    ApprovalTimes, Call, EffectClass, Failure, FailureKind, Gate, GateError, GateParts, InferRequest,
    InferResponse, Message, Output, Part, Passed, Payload, Permit, Reach, Reached, Role, StopReason,
};
use record::{Append, Clock, Record};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

#[path = "shelf.rs"]
mod shelf;

pub use shelf::Shelf;

pub const NOON: i64 = 1_800_000_000_000;

/// A clock that a test sets.
pub struct Hands(AtomicI64);

impl Hands {
    pub fn at(ms: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(ms)))
    }

    pub fn forward(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// What was reached, by tool, and what a model answers next.
pub struct World {
    reached: Mutex<Vec<(String, Value)>>,
    answers: Mutex<VecDeque<Reached>>,
    tool_answers: Mutex<VecDeque<Reached>>,
    meanwhile: Mutex<Option<Meanwhile>>,
    uses: Mutex<Option<Uses>>,
    sign: watch::Sender<bool>,
}

/// What a component does with what of the office it is given.
pub type Uses = fn(gate::Verbs, String, Payload) -> Pin<Box<dyn Future<Output = Reached> + Send>>;

/// What happens once while a model is asked.
pub type Meanwhile = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

impl Default for World {
    fn default() -> Self {
        Self {
            reached: Mutex::default(),
            answers: Mutex::default(),
            tool_answers: Mutex::default(),
            meanwhile: Mutex::default(),
            uses: Mutex::default(),
            sign: watch::Sender::new(true),
        }
    }
}

impl World {
    pub fn reached(&self) -> Vec<(String, Value)> {
        self.reached.lock().unwrap().clone()
    }

    /// Lets components do this with what of the office they are given.
    pub fn uses(&self, uses: Uses) {
        *self.uses.lock().unwrap() = Some(uses);
    }

    /// Lets this happen while the next call of a model is under way.
    pub fn meanwhile(&self, what: Meanwhile) {
        *self.meanwhile.lock().unwrap() = Some(what);
    }

    /// Lets every call of a model wait for [`World::gives_the_sign`].
    pub fn waits_for_a_sign(&self) {
        self.sign.send_replace(false);
    }

    pub fn gives_the_sign(&self) {
        self.sign.send_replace(true);
    }

    /// Lets the next call of a tool come to this; without one it is done.
    pub fn tool_answers(&self, reached: Reached) {
        self.tool_answers.lock().unwrap().push_back(reached);
    }

    /// Lets the next call of a model come to this; without one it answers [`usual`].
    pub fn answers(&self, reached: Reached) {
        self.answers.lock().unwrap().push_back(reached);
    }
}

#[async_trait::async_trait]
impl Reach for World {
    async fn reach(&self, permit: Permit) -> Reached {
        let input = match permit.payload() {
            Payload::Tool(input) => input.clone(),
            Payload::Infer(_) => Value::Null,
        };
        self.reached.lock().unwrap().push((permit.tool().to_owned(), input));
        if let Some(verbs) = permit.verbs() {
            let uses = *self.uses.lock().unwrap();
            return uses.unwrap()(verbs.clone(), permit.tool().to_owned(), permit.payload().clone()).await;
        }
        match permit.payload() {
            Payload::Tool(_) => {
                let answer = self.tool_answers.lock().unwrap().pop_front();
                answer.unwrap_or_else(|| gave(json!({"done": true})))
            }
            Payload::Infer(_) => {
                let _ = self.sign.subscribe().wait_for(|given| *given).await;
                let meanwhile = self.meanwhile.lock().unwrap().take();
                if let Some(what) = meanwhile {
                    what().await;
                }
                self.answers.lock().unwrap().pop_front().unwrap_or_else(|| said(Some(usual())))
            }
        }
    }
}

/// What the model uses when a test says nothing.
pub fn usual() -> Usage {
    Usage { input_tokens: 50, cached_input_tokens: 0, output_tokens: 10, ..Usage::default() }
}

/// A model answered, with this usage.
pub fn said(usage: Option<Usage>) -> Reached {
    let parts = vec![Part::Text("hello".to_owned())];
    let outcome = Ok(Output::Model(InferResponse { parts, stop: StopReason::End, usage }));
    Reached { outcome, request_sent: true, readings: Vec::new() }
}

/// A tool gave this, after one answer from outside.
pub fn gave(output: Value) -> Reached {
    Reached { outcome: Ok(Output::Tool(output)), request_sent: true, readings: vec![reading()] }
}

/// An answer from outside.
pub fn reading() -> gate::Reading {
    gate::Reading {
        method: "GET".into(),
        address: "https://slack.com/api/".into(),
        status: 200,
        sha256: Digest::of(b"body"),
        bytes: 4,
        read_at: Timestamp(NOON),
    }
}

/// A model did not answer; whether a request had left.
pub fn broke(request_sent: bool) -> Reached {
    let message = "the stream was cut in the middle".to_owned();
    let failure = Failure { kind: FailureKind::Unavailable, message, retry_after_ms: None };
    Reached { outcome: Err(failure), request_sent, readings: Vec::new() }
}

/// The model of the shelf.
pub const MODEL: &str = "scripted/story";
/// The most it writes in one response.
pub const OUTPUT_TOKENS_MAX: u32 = 1_000;
/// The longest a call of it may take.
pub const CALL_MS_MAX: u64 = 180_000;

/// A thousand nano-dollars for a token in, five thousand for one out.
pub fn price() -> Price {
    let (input, output) = (NanoUsd::from_dollars("1"), NanoUsd::from_dollars("5"));
    Price { input_per_mtok: input, output_per_mtok: output, ..Price::default() }
}

pub fn prices(price: Price) -> PricesListed {
    let prices = BTreeMap::from([(MODEL.to_owned(), price)]);
    let digest = event::canon::canonical_digest(&serde_json::to_value(&prices).unwrap());
    PricesListed { digest, prices }
}

pub fn budget(applies_to: AppliesTo, period: Period, limit: NanoUsd) -> BudgetSet {
    let budget = applies_to.budget(period);
    BudgetSet { budget, period, limit, applies_to, time_zone: None, reason: String::new() }
}

pub fn usd(dollars: &str) -> NanoUsd {
    NanoUsd::from_dollars(dollars).unwrap()
}

pub struct Office {
    pub record: Record,
    pub gate: Gate,
    pub world: Arc<World>,
    pub clock: Arc<Hands>,
}

pub fn seat(name: &str) -> SeatId {
    SeatId::parse(&format!("seat_{name}")).unwrap()
}

pub fn person(name: &str) -> PrincipalId {
    PrincipalId::parse(name).unwrap()
}

pub fn policies() -> Vec<PolicyText> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "cedar"));
    names.sort();
    let text = |path: &std::path::PathBuf| PolicyText {
        name: path.file_name().unwrap().to_str().unwrap().to_owned(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    names.iter().map(text).collect()
}

pub fn created(name: &str, role: &str, grants: &[&str]) -> SeatCreated {
    SeatCreated {
        seat: seat(name),
        role: role.to_owned(),
        department: None,
        line: None,
        grants: grants.iter().map(|grant| (*grant).to_owned()).collect(),
        accountabilities: Vec::new(),
        stands_in: None,
    }
}

impl Office {
    /// With `slack.post` of class `post`, run by the component `component`.
    pub async fn with(post: EffectClass, component: &str) -> Self {
        Self::empty(post, component).await.filled().await
    }

    /// The same over `record`.
    pub async fn on(record: Record, clock: Arc<Hands>) -> Self {
        Self::bare(record, clock, EffectClass::External, "component").await.filled().await
    }

    /// What comes of a gate over a record with a policy set and no budget.
    pub async fn without_a_purse(record: Record, clock: Arc<Hands>) -> Result<Gate, GateError> {
        let files = policies();
        let digest = gate::policy::digest(&files);
        let applied =
            PolicyApplied { digest, files, base: None, reason: String::new(), corrective: false, by: None };
        append(&record, "seed", applied.into()).await;
        let component = Digest::of(b"component");
        let catalogue = Arc::new(Shelf { post: EffectClass::External, component });
        Gate::new(parts(&record, catalogue, &Arc::new(World::default()), &clock)).await
    }

    async fn filled(self) -> Self {
        let office = self;
        let held = |name: &str, principal: &str| SeatHeld { seat: seat(name), principal: person(principal) };
        for (n, fact) in [
            Fact::from(created("owner", "owner", &["*", "record:*"])),
            held("owner", "person_owner").into(),
            created("clerk", "assistant", &[]).into(),
            held("clerk", "person_clerk").into(),
            created("desk", "assistant", &["slack.post", "terminal.say", MODEL]).into(),
            held("desk", "agent_chancery").into(),
            created("system", "system", &["slack.recall"]).into(),
            held("system", "system_host").into(),
        ]
        .into_iter()
        .enumerate()
        {
            office.state(&format!("first/{n}"), fact).await;
        }
        office
    }

    async fn empty(post: EffectClass, component: &str) -> Self {
        let clock = Hands::at(NOON);
        let record = Record::open_memory(clock.clone()).await.unwrap();
        Self::bare(record, clock, post, component).await
    }

    /// With nothing but a policy set, a price list and a purse.
    async fn bare(record: Record, clock: Arc<Hands>, post: EffectClass, component: &str) -> Self {
        // The keys of persons outlive a crash: every office of one test has the same.
        let record = record.with_keyring(vault::Keyring::in_memory(1));
        // A gate is made over a record with a policy; its tests hand it the first office at once.
        let world = Arc::new(World::default());
        let catalogue = Arc::new(Shelf { post, component: Digest::of(component.as_bytes()) });
        let seed = policies();
        let digest = gate::policy::digest(&seed);
        let applied = PolicyApplied {
            digest,
            files: seed,
            base: None,
            reason: String::new(),
            corrective: false,
            by: None,
        };
        let purse = budget(AppliesTo::Organisation, Period::Day, usd("1"));
        for fact in [Fact::from(applied), prices(price()).into(), purse.into()] {
            append(&record, "seed", fact).await;
        }
        let gate = Gate::new(parts(&record, catalogue, &world, &clock)).await.unwrap();
        Self { record, gate, world, clock }
    }

    /// The same office after a crash that left `events` and nothing else.
    pub async fn after(events: &[Event], post: EffectClass, component: &str) -> Self {
        let office = Self::empty(post, component).await;
        for event in events {
            let append = Append::new(event.stream.clone(), Expected::Any, vec![event.proposed()]);
            office.record.append_all(vec![append]).await.unwrap();
        }
        office
    }

    pub async fn state(&self, name: &str, fact: Fact) {
        append(&self.record, name, fact).await;
    }

    /// A call of the desk in step 3 of a turn.
    pub fn call(&self, attempt: u32, tool: &str, input: Value) -> Call {
        Call {
            origin: Origin::Step { turn: TurnId::derived(&["t"]), step: 3, attempt },
            seat: seat("desk"),
            tool: tool.to_owned(),
            topic: Some(Topic::parse("slack:T1:C1:1.0").unwrap()),
            asker: None,
            unasked: false,
            goal: None,
            of: std::collections::BTreeSet::new(),
            payload: Payload::Tool(input),
            label: Label::host(),
            cause: EventId::derived(&["asked"]),
            fence: None,
            within: Vec::new(),
            drill: false,
        }
    }

    /// A call of the model in step `step`.
    pub fn infer(&self, step: u32, attempt: u32) -> Call {
        let parts = vec![Part::Text("What does the tide table say?".to_owned())];
        let request = InferRequest {
            model: MODEL.to_owned(),
            system: "You work in an office.".to_owned(),
            messages: vec![Message { role: Role::User, parts }],
            tools: Vec::new(),
            output_tokens_max: 100,
        };
        let origin = Origin::Step { turn: TurnId::derived(&["t"]), step, attempt };
        Call { origin, payload: Payload::Infer(request.into()), ..self.call(1, MODEL, Value::Null) }
    }

    /// Sets a limit, over whatever it was.
    pub async fn limit(&self, applies_to: AppliesTo, period: Period, limit: &str) {
        let set = budget(applies_to, period, usd(limit));
        self.state(&format!("limit {limit} {}", set.budget), set.into()).await;
    }

    pub async fn pass(&self, call: Call) -> Passed {
        self.gate.pass(call, None).await.unwrap()
    }

    pub async fn events(&self) -> Vec<Event> {
        self.record.read_all(GlobalPosition(0), 10_000).await.unwrap()
    }

    pub async fn kinds(&self) -> Vec<&'static str> {
        let events = self.events().await;
        let calls = events.iter().filter(|event| event.stream.category() == "call");
        calls.map(|event| event.fact.kind()).collect()
    }
}

pub async fn append(record: &Record, name: &str, fact: Fact) {
    let proposed = Proposed {
        id: EventId::derived(&[name, fact.kind()]),
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause: None,
        label: Label::host(),
        fact,
    };
    let stream = StreamName::new("office", "test");
    record.append_all(vec![Append::new(stream, Expected::Any, vec![proposed])]).await.unwrap();
}

pub fn parts(record: &Record, catalogue: Arc<Shelf>, world: &Arc<World>, clock: &Arc<Hands>) -> GateParts {
    GateParts {
        record: record.clone(),
        catalogue,
        guards: Arc::new(()),
        reach: world.clone(),
        clock: clock.clone(),
        headroom: 3,
        approvals: ApprovalTimes::default(),
        drill: false,
    }
}
