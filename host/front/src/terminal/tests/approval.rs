//! What waits for a yes, at a terminal: shown, answered, and said how it was decided.

use super::{chat_with, record, said, session, state};
use crate::terminal::{Answers, Look, Session, Told, chat};
use event::{
    Actor, ApprovalAsked, ApprovalDenied, ApprovalGiven, ApprovalId, Digest, EventId, Expected, Fact,
    GlobalPosition, Label, Origin, PrincipalId, Proposed, ReplyTo, SeatCreated, SeatHeld, SeatId, StreamName,
    Timestamp, Topic, TurnEnded, TurnEnding, TurnId, TurnOpened,
};
use record::{Record, SystemClock};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

fn turn() -> TurnId {
    TurnId::parse("turn_1").unwrap()
}

fn origin() -> Origin {
    Origin::Step { turn: turn(), step: 1, attempt: 1 }
}

fn approval() -> ApprovalId {
    ApprovalId::parse("approval_1").unwrap()
}

fn topic() -> Topic {
    Topic::parse("terminal:local:main:0").unwrap()
}

fn asked() -> ApprovalAsked {
    ApprovalAsked {
        discloses: None,
        approval: approval(),
        origin: origin(),
        seat: SeatId::parse("seat_desk").unwrap(),
        topic: None,
        tool: "shredder.erase".into(),
        resource: "shredder".to_owned().into(),
        input: json!({"page": "a\u{1b}[2J"}).into(),
        content: Digest::of(b""),
        component: Digest::of(b""),
        effect: "destructive".into(),
        policies: Vec::new(),
        reason: "it cannot be taken back".to_owned().into(),
        expires_at: Timestamp(0),
    }
}

/// A turn that asks for a yes about whatever is said in the session.
fn office(record: Record) {
    tokio::spawn(async move {
        let mut follower = record.follow(GlobalPosition(0));
        loop {
            for event in follower.next(100).await.unwrap() {
                if matches!(event.fact, Fact::MessageReceived(_)) {
                    let opened = TurnOpened {
                        turn: turn(),
                        seat: SeatId::parse("seat_desk").unwrap(),
                        topic: topic(),
                        woken_by: event.id.clone(),
                        reply_to: None::<ReplyTo>,
                        model: "scripted/story".into(),
                        steps_max: 9,
                        ms_max: None,
                        asked: None,
                        drill: false,
                    };
                    state(&record, "1", opened).await;
                    state(&record, "1", asked()).await;
                }
            }
        }
    });
}

/// States `fact` as the person who holds the owner's seat.
async fn as_owner(record: &Record, fact: Fact) {
    let seat = SeatId::parse("seat_owner").unwrap();
    let principal = PrincipalId::parse("person_operator").unwrap();
    let created = SeatCreated {
        seat: seat.clone(),
        role: "owner".into(),
        department: None,
        line: None,
        grants: Vec::new(),
        accountabilities: Vec::new(),
        stands_in: None,
    };
    state(record, "owner", created).await;
    state(record, "owner", SeatHeld { seat: seat.clone(), principal: principal.clone() }).await;
    let answer = Proposed {
        id: EventId::derived(&["answer", fact.kind()]),
        actor: Actor { principal, seat: Some(seat) },
        cause: None,
        label: Label::unknown(),
        fact,
    };
    record.append(StreamName::new("test", "answer"), Expected::Any, vec![answer]).await.unwrap();
}

/// An owner whose answers go on the record, unless the gate would not take them.
#[derive(Debug)]
struct Owner {
    record: Record,
    takes: bool,
}

impl Answers for Owner {
    fn answer(&self, approval: ApprovalId, no: Option<String>) -> Told {
        let (record, takes) = (self.record.clone(), self.takes);
        Box::pin(async move {
            if !takes {
                return Err("it was answered before: it expired".to_owned());
            }
            let by = PrincipalId::parse("person_operator").unwrap();
            let (origin, seat) = (origin(), SeatId::parse("seat_owner").ok());
            let fact: Fact = match no {
                Some(reason) => ApprovalDenied { approval, origin, by, seat, reason: reason.into() }.into(),
                None => {
                    let content = Digest::of(b"");
                    ApprovalGiven { approval, origin, content, by, seat, policies: Vec::new() }.into()
                }
            };
            as_owner(&record, fact).await;
            let (summary, sources) = (String::new().into(), Vec::new());
            let ended =
                TurnEnded { turn: turn(), topic: topic(), ending: TurnEnding::Silent, summary, sources };
            state(&record, "1", ended).await;
            Ok(())
        })
    }
}

/// Reads what is shown until it ends so.
async fn until(person: &mut DuplexStream, end: &str) -> String {
    let mut shown = String::new();
    while !shown.ends_with(end) {
        let mut bytes = [0; 512];
        let read = tokio::time::timeout(Duration::from_secs(20), person.read(&mut bytes)).await;
        let read = read.unwrap_or_else(|_| panic!("never shown: {end:?}\n{shown}")).unwrap();
        shown.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    shown
}

/// A terminal at which something waits, and what was shown until then.
async fn waiting(record: &Record, takes: bool) -> (DuplexStream, String) {
    office(record.clone());
    let (mut person, terminal) = tokio::io::duplex(8_192);
    let (input, output) = tokio::io::split(terminal);
    let answers: Arc<dyn Answers> = Arc::new(Owner { record: record.clone(), takes });
    let session = Session { answers: Some(answers), ..session("main") };
    let look = Look { prompt: true, dim: false };
    tokio::spawn(chat(record.clone(), Arc::new(SystemClock), session, look, input, output));
    person.write_all(b"erase it\n").await.unwrap();
    let shown = until(&mut person, "no answer is a no.\n    /approve or /deny, or elsewhere: chancery approve approval_1, chancery deny approval_1\n> ").await;
    (person, shown)
}

#[tokio::test]
async fn the_owner_sees_the_card_and_says_yes() {
    let (_folder, record) = record().await;
    let (mut person, shown) = waiting(&record, true).await;
    assert!(shown.contains("This waits for a yes: shredder.erase"), "{shown}");
    assert!(shown.contains(r#""page": "a\u001b[2J""#), "{shown}");
    person.write_all(b"/approve\n").await.unwrap();
    let shown = until(&mut person, "nothing to say\n> ").await;
    assert!(shown.contains("person_operator said yes. It runs once."), "{shown}");
    assert_eq!(said(&record).await.len(), 1, "an answer is no message");
    person.write_all(b"/approve\n").await.unwrap();
    until(&mut person, "nothing waits for a yes here; `chancery approval list` shows what does\n> ").await;
}

#[tokio::test]
async fn the_owner_says_no_and_why() {
    let (_folder, record) = record().await;
    let (mut person, _) = waiting(&record, true).await;
    person.write_all(b"/deny  not today \n").await.unwrap();
    let shown = until(&mut person, "nothing to say\n> ").await;
    assert!(shown.contains("person_operator said no: not today. It does not run."), "{shown}");
}

#[tokio::test]
async fn an_answer_that_is_not_taken_says_why() {
    let (_folder, record) = record().await;
    let (mut person, _) = waiting(&record, false).await;
    person.write_all(b"/approve\n").await.unwrap();
    until(&mut person, "it was answered before: it expired\n> ").await;
}

#[tokio::test]
async fn at_a_terminal_that_is_not_the_owners_the_words_are_words() {
    let (_folder, record) = record().await;
    let impatient = Session { silence_ms_max: 50, ..session("main") };
    chat_with(&record, impatient, Look::default(), "/approve\n").await;
    assert_eq!(said(&record).await.len(), 1);
}
