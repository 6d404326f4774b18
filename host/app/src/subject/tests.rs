//! What the commands count, list and end.

use super::{Counted, mend};
use event::{
    Actor, Author, EventId, Expected, Fact, Label, MessageReceived, Personal, Place, PlaceKind, PrincipalId,
    Proposed, StreamName, SubjectShredded,
};
use record::{Record, SystemClock};
use std::sync::Arc;
use vault::Keyring;

fn person(name: &str) -> PrincipalId {
    PrincipalId::parse(&format!("person_{name}")).unwrap()
}

async fn append(record: &Record, name: &str, fact: impl Into<Fact>) {
    let event = Proposed {
        id: EventId::derived(&[name]),
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause: None,
        label: Label::host(),
        fact: fact.into(),
    };
    record.append(StreamName::new("test", name), Expected::Any, vec![event]).await.unwrap();
}

async fn says(record: &Record, name: &str, of: &[&str]) {
    let message = MessageReceived {
        place: Place {
            kind: PlaceKind::Channel,
            team: "T1".into(),
            channel: "C1".into(),
            ts: name.into(),
            thread_ts: None,
        },
        author: Author { principal: None, external: "U1".into(), bot: false },
        text: Personal::of("hello".to_owned(), of.iter().map(|name| person(name))),
        mentions_office: true,
        subtype: String::new(),
    };
    append(record, name, message).await;
}

async fn office() -> (Record, Keyring) {
    let keyring = Keyring::in_memory(1);
    let record = Record::open_memory(Arc::new(SystemClock)).await.unwrap();
    (record.with_keyring(keyring.clone()), keyring)
}

fn shredded(keyring: &Keyring, name: &str) -> SubjectShredded {
    let key = keyring.key_id(&person(name)).unwrap().unwrap();
    SubjectShredded { subject: person(name), keys: vec![key.to_string()], reason: "asked for".into() }
}

#[tokio::test]
async fn what_is_counted_is_what_one_key_closes() {
    let (record, keyring) = office().await;
    for (name, of) in [("1", &["a"][..]), ("2", &["a", "b"]), ("3", &["b"]), ("4", &[])] {
        says(&record, name, of).await;
    }
    let old = keyring.key_id(&person("a")).unwrap().unwrap();
    keyring.destroy(&person("a"), &old).unwrap();
    says(&record, "5", &["a"]).await;
    let new = keyring.key_id(&person("a")).unwrap().unwrap();
    let events = record.without_keyring().read_all(event::GlobalPosition(0), 100).await.unwrap();
    let counted = |key| {
        let mut counted = Counted::default();
        events.iter().for_each(|event| counted.see(event, &person("a"), key));
        (counted.events, counted.shared)
    };
    assert_eq!((counted(&old), counted(&new)), ((2, 1), (1, 0)));
}

#[tokio::test]
async fn an_erasure_that_was_stated_is_done_once_and_a_newer_key_stays() {
    let (record, keyring) = office().await;
    says(&record, "1", &["a"]).await;
    says(&record, "2", &["b"]).await;
    append(&record, "shredded a", shredded(&keyring, "a")).await;
    assert_eq!(mend(&record).await.unwrap(), 1);
    assert_eq!(keyring.key_id(&person("a")).unwrap(), None);
    says(&record, "3", &["a"]).await;
    assert_eq!(mend(&record).await.unwrap(), 0);
    assert!(
        keyring.key_id(&person("a")).unwrap().is_some() && keyring.key_id(&person("b")).unwrap().is_some()
    );
}
