//! Wakes, read from a real record in a temporary folder.

mod moments;
mod vacant;

use crate::{BURST_WINDOW_MS, Wake, open_turns, wake};
use event::{
    Actor, Class, DeliveryClassified, EventId, Expected, Fact, Label, PrincipalId, Proposed, SeatCreated,
    SeatHeld, SeatId, StreamName, Timestamp, Topic, TurnEnded, TurnEnding, TurnId, TurnOpened,
};
use fold::turn::TurnRow;
use record::{Clock, Record};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

#[derive(Default)]
struct HandClock(AtomicI64);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

struct Office {
    record: Record,
    clock: Arc<HandClock>,
    folder: TempDir,
}

impl Office {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock::default());
        let record = Record::open_sqlite(&folder.path().join("record.db"), clock.clone()).await.unwrap();
        let office = Self { record, clock, folder };
        for name in ["front-desk", "legal"] {
            office.seat(name, None, Some("agent_a")).await;
        }
        office
    }

    /// Makes the seat of that name, below another and with a holder.
    async fn seat(&self, name: &str, line: Option<&str>, holder: Option<&str>) {
        let named = |name: &str| SeatId::parse(&format!("seat_{name}")).unwrap();
        let created = SeatCreated {
            seat: named(name),
            role: "assistant".into(),
            department: None,
            line: line.map(named),
            grants: Vec::new(),
            accountabilities: Vec::new(),
            stands_in: None,
        };
        self.append(StreamName::new("seat", named(name)), created.into()).await;
        if let Some(holder) = holder {
            let held = SeatHeld { seat: named(name), principal: PrincipalId::parse(holder).unwrap() };
            self.append(StreamName::new("seat", named(name)), held.into()).await;
        }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("record.db")
    }

    fn at(&self, ms: i64) -> &Self {
        self.clock.0.store(ms, Ordering::SeqCst);
        self
    }

    async fn append(&self, stream: StreamName, fact: Fact) {
        let id = EventId::derived(&[stream.as_str(), &fact.body().to_string()]);
        let actor = Actor { principal: PrincipalId::host(), seat: None };
        let event = Proposed { id, actor, cause: None, label: Label::host(), fact };
        self.record.append(stream, Expected::Any, vec![event]).await.unwrap();
    }

    /// Somebody mentions the seat in a message that is named `name`.
    async fn ask(&self, topic: &str, name: &str) -> EventId {
        self.ask_of(seat().as_str(), topic, name).await
    }

    async fn ask_of(&self, of: &str, topic: &str, name: &str) -> EventId {
        let message = EventId::derived(&[name]);
        let fact = DeliveryClassified {
            delivery: EventId::derived(&["delivery", name]),
            message: Some(message.clone()),
            class: Class::Explicit,
            reason: "mention".into(),
            topic: Some(Topic::parse(topic).unwrap()),
            asks: Some(SeatId::parse(of).unwrap()),
        };
        self.append(StreamName::new("delivery", name), fact.into()).await;
        message
    }

    async fn open(&self, topic: &str, asked_by: &EventId) -> TurnId {
        let topic = Topic::parse(topic).unwrap();
        let turn =
            Wake { seat: seat(), topic: topic.clone(), asked_by: asked_by.clone(), asked: None }.turn();
        let fact = TurnOpened {
            turn: turn.clone(),
            seat: seat(),
            topic,
            woken_by: asked_by.clone(),
            reply_to: None,
            model: "scripted/story".into(),
            steps_max: 60,
            ms_max: None,
            asked: None,
            drill: false,
        };
        self.append(StreamName::new("turn", &turn), fact.into()).await;
        turn
    }

    async fn end(&self, turn: &TurnId) {
        let fact = TurnEnded {
            turn: turn.clone(),
            topic: self.turn(turn).await.topic,
            ending: TurnEnding::Answered,
            summary: String::new().into(),
            sources: Vec::new(),
        };
        self.append(StreamName::new("turn", turn), fact.into()).await;
    }

    async fn turn(&self, turn: &TurnId) -> TurnRow {
        fold::decode(self.record.row("turn", turn.as_str()).await.unwrap().as_ref()).unwrap()
    }

    async fn wakes(&self, turns: &[TurnRow]) -> Vec<Wake> {
        wake(&self.record, self.clock.now(), turns).await.unwrap()
    }
}

fn seat() -> SeatId {
    SeatId::parse("seat_front-desk").unwrap()
}

const TOPIC: &str = "slack:T1:C1:1.0";

#[tokio::test]
async fn a_mention_wakes_at_once_and_opening_the_turn_is_looking() {
    let office = Office::new().await;
    assert_eq!(office.wakes(&[]).await, []);
    let asked_by = office.at(1_000).ask(TOPIC, "m1").await;
    let wake =
        Wake { seat: seat(), topic: Topic::parse(TOPIC).unwrap(), asked_by: asked_by.clone(), asked: None };
    assert_eq!(office.wakes(&[]).await, [wake]);
    office.open(TOPIC, &asked_by).await;
    assert_eq!(office.wakes(&[]).await, []);
}

#[tokio::test]
async fn while_a_turn_stands_open_its_topic_wakes_nobody_and_others_do() {
    let office = Office::new().await;
    let asked_by = office.at(1_000).ask(TOPIC, "m1").await;
    let turn = office.open(TOPIC, &asked_by).await;
    office.at(90_000).ask(TOPIC, "m2").await;
    let elsewhere = office.ask("slack:T1:C1:2.0", "m3").await;
    let open = open_turns(&office.record).await.unwrap();
    assert_eq!(open.iter().map(|turn| &turn.turn).collect::<Vec<_>>(), [&turn]);
    let asked: Vec<EventId> = office.wakes(&open).await.into_iter().map(|wake| wake.asked_by).collect();
    assert_eq!(asked, [elsewhere]);
}

#[tokio::test]
async fn a_burst_is_one_wake_at_once_and_one_when_its_window_ends() {
    let office = Office::new().await;
    let asked_by = office.at(1_000).ask(TOPIC, "m1").await;
    assert_eq!(office.wakes(&[]).await.len(), 1);
    let turn = office.open(TOPIC, &asked_by).await;
    office.at(1_500).end(&turn).await;
    let ended = office.turn(&turn).await;
    let mut newest = asked_by;
    for n in 2..7 {
        newest = office.at(2_000 + n).ask(TOPIC, &format!("m{n}")).await;
        assert_eq!(office.wakes(std::slice::from_ref(&ended)).await, []);
    }
    office.at(1_000 + BURST_WINDOW_MS - 1);
    assert_eq!(office.wakes(std::slice::from_ref(&ended)).await, []);
    office.at(1_000 + BURST_WINDOW_MS);
    let wakes = office.wakes(&[ended]).await;
    assert_eq!(wakes.into_iter().map(|wake| wake.asked_by).collect::<Vec<_>>(), [newest]);
}

#[tokio::test]
async fn a_clock_that_was_set_back_keeps_no_topic_waiting() {
    let office = Office::new().await;
    let hour_ms = 3_600_000;
    let asked_by = office.at(hour_ms).ask(TOPIC, "m1").await;
    let turn = office.open(TOPIC, &asked_by).await;
    office.end(&turn).await;
    let ended = office.turn(&turn).await;
    let newest = office.at(1_000).ask(TOPIC, "m2").await;
    let wakes = office.wakes(&[ended]).await;
    assert_eq!(wakes.into_iter().map(|wake| wake.asked_by).collect::<Vec<_>>(), [newest]);
}

#[tokio::test]
async fn the_heaviest_comes_first_and_of_two_alike_the_one_that_waited_longer() {
    let office = Office::new().await;
    office.at(1_000).ask("slack:T1:C1:1.0", "early").await;
    office.at(2_000).ask("slack:T1:C1:2.0", "late").await;
    office.at(3_000).ask("slack:T1:C1:3.0", "twice").await;
    office.at(3_001).ask("slack:T1:C1:3.0", "again").await;
    let topics: Vec<String> =
        office.wakes(&[]).await.into_iter().map(|wake| wake.topic.to_string()).collect();
    assert_eq!(topics, ["slack:T1:C1:3.0", "slack:T1:C1:1.0", "slack:T1:C1:2.0"]);
}

#[tokio::test]
async fn an_ask_that_had_its_turn_wakes_nobody_again() {
    let office = Office::new().await;
    let asked_by = office.at(1_000).ask(TOPIC, "m1").await;
    let turn = office.open(TOPIC, &asked_by).await;
    office.end(&turn).await;
    // A second delivery of the same message is classified anew and asks for the same turn.
    let fact = DeliveryClassified {
        delivery: EventId::derived(&["delivery", "second"]),
        message: Some(asked_by),
        class: Class::Explicit,
        reason: "mention".into(),
        topic: Some(Topic::parse(TOPIC).unwrap()),
        asks: Some(seat()),
    };
    office.at(60_000).append(StreamName::new("delivery", "second"), fact.into()).await;
    assert_eq!(office.wakes(&[]).await, []);
}

#[tokio::test]
async fn a_wake_can_be_read_again_from_the_record_alone() {
    let office = Office::new().await;
    office.at(1_000).ask(TOPIC, "m1").await;
    let before = office.wakes(&[]).await;
    office.record.rebuild().await.unwrap();
    assert_eq!(office.wakes(&[]).await, before);
}
