//! A person at a terminal, and an office that answers as the record would show it.

mod approval;

use super::{ChatError, Look, Session, chat};
use event::{
    Actor, Audience, CallDenied, DeniedBy, Digest, EffectId, EffectIntended, EffectSent, Event, EventId,
    Expected, Fact, GlobalPosition, Label, Origin, PrincipalId, Proposed, ReplyTo, SeatId, StreamName, Topic,
    TurnEnded, TurnEnding, TurnId, TurnOpened,
};
use record::{Record, SystemClock};
use serde_json::json;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn host() -> PrincipalId {
    PrincipalId::parse("system_host").unwrap()
}

fn session(name: &str) -> Session {
    let person = PrincipalId::parse("person_local.alice").unwrap();
    Session {
        name: name.into(),
        person,
        run: "r1".into(),
        host: host(),
        silence_ms_max: 20_000,
        answers: None,
        drill: false,
    }
}

async fn record() -> (tempfile::TempDir, Record) {
    let folder = tempfile::tempdir().unwrap();
    let record =
        Record::open_sqlite(&folder.path().join("record.sqlite"), Arc::new(SystemClock)).await.unwrap();
    let record = record.with_keyring(vault::Keyring::in_memory(1));
    (folder, record)
}

async fn state(record: &Record, n: &str, fact: impl Into<Fact>) {
    let fact = fact.into();
    let proposed = Proposed {
        id: EventId::derived(&[n, fact.kind()]),
        actor: Actor { principal: host(), seat: None },
        cause: None,
        label: Label::unknown(),
        fact,
    };
    record.append(StreamName::new("test", n), Expected::Any, vec![proposed]).await.unwrap();
}

/// One turn about `session`, as the record would show it: a denied call, then an answer.
async fn answer(record: &Record, n: &str, session: &str, text: &str) {
    let turn = TurnId::parse(&format!("turn_{n}")).unwrap();
    let effect = EffectId::derived(&[n]);
    let origin = Origin::Step { turn: turn.clone(), step: 1, attempt: 1 };
    let destination = json!({ "session": session });
    let reply_to = Some(ReplyTo {
        tool: "terminal.say".into(),
        destination,
        audience: Audience::Terminal(session.into()),
    });
    let opened = TurnOpened {
        turn: turn.clone(),
        seat: SeatId::parse("seat_desk").unwrap(),
        topic: Topic::parse(&format!("terminal:local:{session}:0")).unwrap(),
        woken_by: EventId::derived(&[n]),
        reply_to,
        model: "scripted/story".into(),
        steps_max: 9,
        ms_max: None,
        asked: None,
        drill: false,
    };
    state(record, n, opened).await;
    let denied = CallDenied {
        origin: origin.clone(),
        tool: "web.fetch".into(),
        resource: "https://a.example".into(),
        content: Digest::of(b""),
        by: DeniedBy::Policy,
        policies: Vec::new(),
        policy_set: Digest::of(b""),
        reason: "not \u{1b}[31mgranted".into(),
        account: None,
        violates_flow: false,
    };
    state(record, n, denied).await;
    let wanted = event::AccountWanted {
        origin: origin.clone(),
        tool: "mail.read".into(),
        credential: "mail.token".into(),
        service: "google".into(),
        owner: event::PrincipalId::parse("person_operator").unwrap(),
    };
    state(record, n, wanted).await;
    let input = json!({ "session": session, "text": text });
    let intended = EffectIntended {
        effect: effect.clone(),
        origin,
        tool: "terminal.say".into(),
        input: input.into(),
        content: Digest::of(b""),
        account: None,
        inside: false,
        workspace: None,
    };
    state(record, n, intended).await;
    state(record, n, EffectSent { effect, reference: json!({}) }).await;
    let ended = TurnEnded {
        turn,
        topic: event::Topic::parse("terminal:local:main:0").unwrap(),
        ending: TurnEnding::Answered,
        summary: text.into(),
        sources: Vec::new(),
    };
    state(record, n, ended).await;
}

/// Answers each line said in `session` with what was said, until the test ends.
fn office(record: Record, session: &'static str) {
    tokio::spawn(async move {
        let mut follower = record.follow(GlobalPosition(0));
        loop {
            for event in follower.next(100).await.unwrap() {
                if let Fact::MessageReceived(message) = &event.fact
                    && message.place.channel == session
                {
                    let said = converse::readable(message.text.text());
                    answer(
                        &record,
                        &event.global_position.to_string(),
                        session,
                        &format!("you said: {said}"),
                    )
                    .await;
                }
            }
        }
    });
}

async fn chat_with(record: &Record, session: Session, look: Look, typed: &str) -> String {
    let mut output = Cursor::new(Vec::new());
    let input = Cursor::new(typed.as_bytes().to_vec());
    chat(record.clone(), Arc::new(SystemClock), session, look, input, &mut output).await.unwrap();
    String::from_utf8(output.into_inner()).unwrap()
}

async fn said(record: &Record) -> Vec<Event> {
    let events = record.read_all(GlobalPosition(0), 1_000).await.unwrap();
    events.into_iter().filter(|event| matches!(event.fact, Fact::MessageReceived(_))).collect()
}

#[tokio::test]
async fn what_is_piped_in_is_answered_before_the_chat_ends() {
    let (_folder, record) = record().await;
    office(record.clone(), "main");
    let shown = chat_with(&record, session("main"), Look::default(), "let v: Vec<u8> = a &amp; b;\n").await;
    assert_eq!(
        shown,
        "  at work\n  denied web.fetch: not ␛[31mgranted\n  mail.read goes with your account at google, which is not connected: \
         chancery account connect google\nyou said: let v: Vec<u8> = a &amp; b;\n"
    );
}

#[tokio::test]
async fn a_line_is_recorded_like_anything_else_that_people_say() {
    let (_folder, record) = record().await;
    office(record.clone(), "main");
    chat_with(&record, session("main"), Look::default(), "one\n\n  \ntwo\n/quit\nnever said\n").await;
    let said = said(&record).await;
    let texts: Vec<_> = said
        .iter()
        .map(|event| {
            let Fact::MessageReceived(message) = &event.fact else { panic!("{event:?}") };
            assert_eq!(message.place.topic().unwrap().as_str(), "terminal:local:main:0");
            assert_eq!(message.author.principal.as_ref().unwrap().as_str(), "person_local.alice");
            assert_eq!(
                event.label,
                Label::within(Audience::Terminal("main".into()), event::Integrity::Unknown)
            );
            message.text.text().to_owned()
        })
        .collect();
    assert_eq!(texts, ["one", "two"]);
    let desk = SeatId::parse("seat_desk").unwrap();
    while converse::step(&record, &host(), &desk, &converse::Manner::default()).await.unwrap() > 0 {}
    let events = record.read_all(GlobalPosition(0), 1_000).await.unwrap();
    let asks =
        events.iter().filter(|event| matches!(&event.fact, Fact::DeliveryClassified(c) if c.asks.is_some()));
    assert_eq!(asks.count(), 2);
}

#[tokio::test]
async fn help_is_shown_and_not_said() {
    let (_folder, record) = record().await;
    let shown = chat_with(&record, session("main"), Look::default(), "/help\n/quit\n").await;
    assert!(shown.contains("/quit") && !shown.contains("/approve"), "{shown}");
    assert!(said(&record).await.is_empty());
}

#[tokio::test]
async fn another_sessions_words_are_not_shown() {
    let (_folder, record) = record().await;
    office(record.clone(), "main");
    office(record.clone(), "other");
    let (main, other) = tokio::join!(
        chat_with(&record, session("main"), Look::default(), "hello\n"),
        chat_with(&record, session("other"), Look::default(), "secret\n"),
    );
    assert!(main.contains("you said: hello") && !main.contains("secret"), "{main}");
    assert!(other.contains("you said: secret") && !other.contains("hello"), "{other}");
}

#[tokio::test]
async fn a_person_gets_a_prompt_when_it_is_their_turn_and_dim_lines_for_the_rest() {
    let (_folder, record) = record().await;
    office(record.clone(), "main");
    let (mut person, terminal) = tokio::io::duplex(4096);
    let (input, output) = tokio::io::split(terminal);
    let look = Look { prompt: true, dim: true };
    let chatting =
        tokio::spawn(chat(record.clone(), Arc::new(SystemClock), session("main"), look, input, output));
    person.write_all(b"hello\n").await.unwrap();
    let mut shown = String::new();
    while !shown.ends_with("hello\n> ") {
        let mut bytes = [0; 256];
        let read =
            tokio::time::timeout(Duration::from_secs(20), person.read(&mut bytes)).await.unwrap().unwrap();
        shown.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    assert_eq!(
        shown,
        "> \u{1b}[2m  at work\u{1b}[0m\n\u{1b}[2m  denied web.fetch: not ␛[31mgranted\u{1b}[0m\n\u{1b}[2m  mail.read goes with your \
         account at google, which is not connected: chancery account connect google\u{1b}[0m\nyou said: hello\n> "
    );
    person.write_all(b"/quit\n").await.unwrap();
    chatting.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_office_that_never_answers_does_not_hold_the_terminal_for_ever() {
    let (_folder, record) = record().await;
    let impatient = Session { silence_ms_max: 50, ..session("main") };
    let shown = chat_with(&record, impatient, Look::default(), "hello\n").await;
    assert!(shown.contains("no answer came"), "{shown}");
    assert_eq!(said(&record).await.len(), 1, "what was said stays said");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_not_said_and_a_session_needs_a_plain_name() {
    let (_folder, record) = record().await;
    let shown = chat_with(&record, session("main"), Look::default(), &"x".repeat(20_000)).await;
    assert!(shown.contains("longer than 16384 bytes"), "{shown}");
    assert!(said(&record).await.is_empty());
    for name in ["", "a b", "\u{1b}[2J", &"x".repeat(49)] {
        let ended = chat(
            record.clone(),
            Arc::new(SystemClock),
            session(name),
            Look::default(),
            Cursor::new(vec![]),
            Vec::new(),
        )
        .await;
        assert!(matches!(ended, Err(ChatError::Name(_))), "{name:?}");
    }
}

#[tokio::test]
async fn the_same_session_on_another_day_is_the_same_topic_and_no_line_is_taken_for_another() {
    let (_folder, record) = record().await;
    office(record.clone(), "main");
    for run in ["r1", "r2"] {
        let session = Session { run: run.into(), ..session("main") };
        chat_with(&record, session, Look::default(), "hello\n").await;
    }
    let said = said(&record).await;
    assert_eq!(said.len(), 2);
    assert_ne!(said[0].stream, said[1].stream);
}
