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
    Call, EffectClass, Gate, GateParts, InferRequest, Message, Output, Part, Payload, Permit, Reach, Reached,
    Role,
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

pub struct Office {
    memory: Memory,
    pub record: Record,
    gates: Vec<Arc<Gate>>,
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
        let gates = hosts(&memory, &world, &clock).await;
        let (waiting, tasks, deeds) = (Vec::new(), JoinSet::new(), Vec::new());
        Self { memory, record, gates, world, clock, waiting, asked, tasks, deeds, stated: 0 }
    }

    pub async fn state(&mut self, fact: Fact) {
        self.stated += 1;
        crate::kit::append(&self.record, &format!("stated {}", self.stated), fact).await;
    }

    /// Starts some calls at once, new ones and new tries of old ones, and waits until each has left or ended.
    pub async fn start(&mut self, chance: &mut Chance, calls: usize) {
        for _ in 0..calls {
            let deed = self.deed(chance);
            let gate = self.gates[chance.below(self.gates.len())].clone();
            let call = call(&deed);
            self.tasks.spawn(async move {
                // A refused, denied or failed call is as good as any other; only the record counts.
                gate.pass(call, None).await.unwrap();
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
            let (deed, gate) = (self.deed(chance), self.gates[0].clone());
            self.tasks.spawn(async move { drop(gate.pass(call(&deed), None).await) });
        }
        for _ in 0..chance.below(12) {
            tokio::task::yield_now().await;
        }
        self.tasks.shutdown().await;
        self.waiting.clear();
        while self.asked.try_recv().is_ok() {}
        self.gates = hosts(&self.memory, &self.world, &self.clock).await;
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
        let gate = &self.gates[chance.below(self.gates.len())];
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

async fn hosts(memory: &Memory, world: &Arc<World>, clock: &Arc<Hands>) -> Vec<Arc<Gate>> {
    let mut gates = Vec::new();
    for _ in 0..2 {
        let record = Record::open_memory_in(memory, clock.clone()).await.unwrap();
        gates.push(Arc::new(gate_over(&record, world, clock).await));
    }
    gates
}

fn call(deed: &Deed) -> Call {
    let origin = Origin::Step { turn: TurnId::derived(&["t"]), step: deed.step, attempt: deed.attempt };
    let payload = if deed.tool == MODEL {
        let parts = vec![Part::Text("hello".to_owned())];
        let messages = vec![Message { role: Role::User, parts }];
        let (model, system) = (MODEL.to_owned(), String::new());
        Payload::Infer(InferRequest { model, system, messages, tools: Vec::new(), output_tokens_max: 100 })
    } else {
        Payload::Tool(serde_json::json!({"channel": "C1", "text": format!("hello {}", deed.step)}))
    };
    Call {
        origin,
        seat: crate::kit::seat("desk"),
        tool: deed.tool.to_owned(),
        topic: Some(Topic::parse("slack:T1:C1:1.0").unwrap()),
        asker: None,
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
