//! Two hosts over one record in memory, and a world that answers when it is told to.

use crate::Chance;
use crate::kit::{Hands, MODEL, NOON, Shelf, parts, price, prices, usd};
use event::{
    AppliesTo, Digest, EventId, Fact, Label, Origin, Period, PolicyApplied, PolicyText, RefusalLifted, Topic,
    TurnId,
};
use fold::Projection;
use fold::refusal::{RefusalRow, Refusals};
use gate::{
    Began, Begins, Call, Carried, EffectClass, Gate, GateError, GateParts, InferRequest, Message, Output,
    Owed, Part, Payload, Permit, Reach, Reached, Role, tell_alone,
};
use record::{Memory, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// What the world says to one call.
pub struct Said {
    pub reached: Reached,
    /// Whether it may cost something.
    pub left: bool,
}

/// A call that has left the door and waits for its answer.
struct Asked {
    answer: oneshot::Sender<Said>,
}

/// Counts what leaves.
pub struct World {
    asked: mpsc::UnboundedSender<Asked>,
    /// How often each effect was sent.
    sent: Mutex<BTreeMap<String, usize>>,
    /// The tries of which the world may charge for something: all that left and were not told to have failed before.
    left: Mutex<BTreeSet<String>>,
}

impl World {
    pub fn sent(&self) -> BTreeMap<String, usize> {
        self.sent.lock().unwrap().clone()
    }

    pub fn left(&self) -> BTreeSet<String> {
        self.left.lock().unwrap().clone()
    }
}

#[async_trait::async_trait]
impl Reach for World {
    async fn reach(&self, permit: Permit) -> Reached {
        let origin = permit.origin().to_string();
        let effect = permit.effect_id().map(ToString::to_string);
        if let Some(effect) = &effect {
            *self.sent.lock().unwrap().entry(effect.clone()).or_default() += 1;
        }
        self.left.lock().unwrap().insert(origin.clone());
        let (answer, said) = oneshot::channel();
        self.asked.send(Asked { answer }).unwrap();
        let said = said.await.unwrap();
        if !said.left {
            self.left.lock().unwrap().remove(&origin);
            // It never left, so it may be tried again.
            effect.and_then(|effect| self.sent.lock().unwrap().remove(&effect));
        }
        match permit.payload() {
            Payload::Infer(_) => said.reached,
            Payload::Tool(_) if said.reached.outcome.is_ok() => {
                Reached { outcome: Ok(Output::Tool(serde_json::json!({"done": true}))), ..said.reached }
            }
            Payload::Tool(_) => said.reached,
        }
    }
}

/// What is tried until it has come to something.
#[derive(Clone)]
struct Deed {
    step: u32,
    attempt: u32,
    tool: &'static str,
}

/// One host: its door, and what it has not written down yet of calls that came to something.
struct Host {
    gate: Gate,
    record: Record,
    owed: Mutex<Vec<Owed>>,
}

impl Host {
    /// Makes `call`, and writes down what earlier ones came to with the commit in which it begins. What it comes to itself
    /// waits for the next one where it can.
    async fn passes(&self, call: Call) {
        let owed = std::mem::take(&mut *self.owed.lock().unwrap());
        let mut carried = Carried { owed, ..Carried::default() };
        loop {
            match self.gate.begin(vec![call.clone()], carried.clone()).await {
                Ok(Began::Judged { mut calls, events }) => {
                    if events.is_none() {
                        self.owed.lock().unwrap().extend(carried.owed);
                    }
                    let came = match calls.pop().unwrap() {
                        Begins::Goes(going) => self.gate.go(*going, None).await,
                        Begins::Came(came) => *came,
                        other => panic!("{other:?}"),
                    };
                    if came.owed.can_wait() {
                        self.owed.lock().unwrap().push(came.owed);
                    } else {
                        tell_alone(&self.record, vec![came.owed]).await.unwrap();
                    }
                    return;
                }
                // A hold that was overdue has been ended by somebody else, or there is no room before this stands.
                Ok(Began::Apart) | Err(GateError::Record(record::Error::IdTaken { .. })) => {
                    assert!(!carried.owed.is_empty());
                    let owed = std::mem::take(&mut carried.owed);
                    tell_alone(&self.record, owed).await.unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

pub struct Office {
    memory: Memory,
    pub record: Record,
    hosts: Vec<Arc<Host>>,
    pub world: Arc<World>,
    pub clock: Arc<Hands>,
    waiting: Vec<Asked>,
    asked: mpsc::UnboundedReceiver<Asked>,
    tasks: JoinSet<()>,
    deeds: Vec<Deed>,
    stated: u32,
}

impl Office {
    pub async fn open() -> Self {
        let (memory, clock) = (Memory::default(), Hands::at(NOON));
        let record = Record::open_memory_in(&memory, clock.clone()).await.unwrap();
        let purse = crate::kit::budget(AppliesTo::Organisation, Period::Day, usd("0.02"));
        for fact in [Fact::from(permit_all()), prices(price()).into(), purse.into()] {
            crate::kit::append(&record, "seed", fact).await;
        }
        let (sender, asked) = mpsc::unbounded_channel();
        let (sent, left) = (Mutex::default(), Mutex::default());
        let world = Arc::new(World { asked: sender, sent, left });
        let hosts = hosts(&memory, &world, &clock).await;
        let (waiting, tasks, deeds) = (Vec::new(), JoinSet::new(), Vec::new());
        Self { memory, record, hosts, world, clock, waiting, asked, tasks, deeds, stated: 0 }
    }

    pub async fn state(&mut self, fact: Fact) {
        self.stated += 1;
        crate::kit::append(&self.record, &format!("stated {}", self.stated), fact).await;
    }

    /// Starts some calls at once, new ones and new tries of old ones, and waits until each has left or ended.
    pub async fn start(&mut self, chance: &mut Chance, calls: usize) {
        for _ in 0..calls {
            let deed = self.deed(chance);
            let host = self.hosts[chance.below(self.hosts.len())].clone();
            let (call, carries) = (call(&deed), chance.below(2) == 0);
            self.tasks.spawn(async move {
                // A refused, denied or failed call is as good as any other; only the record counts.
                match carries {
                    true => host.passes(call).await,
                    false => drop(host.gate.pass(call, None).await.unwrap()),
                }
            });
        }
        self.quiet().await;
    }

    fn deed(&mut self, chance: &mut Chance) -> Deed {
        if !self.deeds.is_empty() && chance.below(3) == 0 {
            let index = chance.below(self.deeds.len());
            let deed = &mut self.deeds[index];
            deed.attempt += 1;
            return deed.clone();
        }
        let tool = if chance.below(5) == 0 { "slack.post" } else { MODEL };
        let deed = Deed { step: self.deeds.len() as u32 + 1, attempt: 1, tool };
        self.deeds.push(deed.clone());
        deed
    }

    /// Lets the world say something to one of those that wait.
    pub async fn answer(&mut self, chance: &mut Chance, said: Said) {
        if self.waiting.is_empty() {
            return;
        }
        let asked = self.waiting.swap_remove(chance.below(self.waiting.len()));
        assert!(asked.answer.send(said).is_ok());
        self.quiet().await;
    }

    /// Until every call that is under way waits for the world.
    async fn quiet(&mut self) {
        while self.tasks.len() > self.waiting.len() {
            tokio::select! {
                biased;
                Some(asked) = self.asked.recv() => self.waiting.push(asked),
                Some(ended) = self.tasks.join_next() => ended.unwrap(),
            }
        }
    }

    /// Both hosts die with all they were doing, and come up again over what stands in the record.
    pub async fn crash(&mut self, chance: &mut Chance) {
        // Some die while calls are still on their way through the door.
        let more = chance.below(3);
        for _ in 0..more {
            let (deed, host) = (self.deed(chance), self.hosts[0].clone());
            self.tasks.spawn(async move { drop(host.gate.pass(call(&deed), None).await) });
        }
        for _ in 0..chance.below(12) {
            tokio::task::yield_now().await;
        }
        self.tasks.shutdown().await;
        self.waiting.clear();
        while self.asked.try_recv().is_ok() {}
        self.hosts = hosts(&self.memory, &self.world, &self.clock).await;
    }

    /// A person has looked at every overrun.
    pub async fn review(&mut self) {
        let stands = self.record.ranked(Refusals.name(), i64::MIN, 100).await.unwrap();
        for (_, row) in stands {
            let row: RefusalRow = fold::decode(Some(&row)).unwrap();
            let (refusal, subject) = (row.raised.refusal, row.raised.subject);
            self.state(RefusalLifted { refusal, subject, reason: "looked at".into() }.into()).await;
        }
    }

    /// The moment at which no hold may be open any more, by a clock that is right again.
    pub async fn after_all_holds(&self) {
        let (head, _) = self.record.head().await.unwrap();
        let last = self.record.events_at(&[head]).await.unwrap().remove(0).at;
        let behind_ms = last.since_ms(record::Clock::now(self.clock.as_ref())).max(0);
        self.clock.forward(behind_ms + fold::purse::HOLD_OPEN_MS_MAX);
    }

    /// Whoever runs the office looks for holds that nobody ends.
    pub async fn clear(&mut self, chance: &mut Chance) {
        let gate = &self.hosts[chance.below(self.hosts.len())].gate;
        while gate.clear_holds().await.unwrap() > 0 {}
    }
}

/// One policy that permits everything: what policies say is not what is tried here.
fn permit_all() -> PolicyApplied {
    let text = "@id(\"all\") @reason(\"all\") permit (principal, action, resource);".to_owned();
    let files = vec![PolicyText { name: "all.cedar".to_owned(), text }];
    let digest = gate::policy::digest(&files);
    PolicyApplied { digest, files, base: None, reason: String::new(), corrective: false, by: None }
}

async fn gate_over(record: &Record, world: &Arc<World>, clock: &Arc<Hands>) -> Gate {
    let catalogue = Arc::new(Shelf { post: EffectClass::External, component: Digest::of(b"component") });
    let idle = Arc::new(crate::kit::World::default());
    Gate::new(GateParts { reach: world.clone(), ..parts(record, catalogue, &idle, clock) }).await.unwrap()
}

async fn hosts(memory: &Memory, world: &Arc<World>, clock: &Arc<Hands>) -> Vec<Arc<Host>> {
    let mut hosts = Vec::new();
    for _ in 0..2 {
        let record = Record::open_memory_in(memory, clock.clone()).await.unwrap();
        let gate = gate_over(&record, world, clock).await;
        hosts.push(Arc::new(Host { gate, record, owed: Mutex::default() }));
    }
    hosts
}

fn call(deed: &Deed) -> Call {
    let origin = Origin::Step { turn: TurnId::derived(&["t"]), step: deed.step, attempt: deed.attempt };
    let payload = if deed.tool == MODEL {
        let parts = vec![Part::Text("hello".to_owned())];
        let messages = vec![Message { role: Role::User, parts }];
        let (model, system) = (MODEL.to_owned(), String::new());
        Payload::from(InferRequest { model, system, messages, tools: Vec::new(), output_tokens_max: 100 })
    } else {
        Payload::Tool(serde_json::json!({"channel": "C1", "text": format!("hello {}", deed.step)}))
    };
    Call {
        origin,
        seat: crate::kit::seat("desk"),
        tool: deed.tool.to_owned(),
        topic: Some(Topic::parse("slack:T1:C1:1.0").unwrap()),
        asker: None,
        unasked: false,
        goal: None,
        payload,
        label: Label::host(),
        of: BTreeSet::new(),
        cause: EventId::derived(&["asked"]),
        fence: None,
        within: Vec::new(),
        drill: false,
    }
}
