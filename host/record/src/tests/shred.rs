//! Words of persons: kept sealed wherever a record keeps anything, given open, and gone when a key is.

mod facts;
mod random;

use super::kit::{Place, on_every_store, proposed, rows, stream};
use crate::{Append, Error, Record};
use event::{Event, Expected, Fact, GlobalPosition, PrincipalId, Proposed};
use facts::{brought, denied, derived, person, shredded};
use vault::Keyring;

/// Words that stand nowhere else.
pub const WORDS: &str = "quicksilver-lantern";

async fn with_keys(place: &Place) -> (Record, Keyring) {
    let keyring = Keyring::in_memory(1);
    (place.open().await.with_keyring(keyring.clone()), keyring)
}

/// States that the person's words are erased, and erases them.
async fn shred(record: &Record, keyring: &Keyring, subject: &PrincipalId) {
    let Some(key) = keyring.key_id(subject).unwrap() else { return };
    let event = proposed(&format!("shred {key}"), shredded(subject, &key.to_string()));
    record.append(stream("subject"), Expected::Any, vec![event]).await.unwrap();
    assert!(keyring.destroy(subject, &key).unwrap());
}

async fn say(record: &Record, name: &str, facts: Vec<Fact>) -> Result<Vec<Event>, Error> {
    record.append(stream("a"), Expected::Any, named(name, facts)).await
}

fn named(name: &str, facts: Vec<Fact>) -> Vec<Proposed> {
    facts.into_iter().enumerate().map(|(n, fact)| proposed(&format!("{name} {n}"), fact)).collect()
}

async fn all(record: &Record) -> Vec<Event> {
    record.read_all(GlobalPosition(0), 10_000).await.unwrap()
}

/// Whether the personal fields of `event` are sealed, of which it has at least one.
fn is_sealed(event: &Event) -> bool {
    let fields = event.fact.personal();
    assert!(!fields.is_empty(), "{}", event.fact.kind());
    fields.iter().all(|(_, field)| field.sealed().is_some())
}

async fn words_are_given_open_and_kept_sealed(place: Place) {
    let (record, _) = with_keys(&place).await;
    let both = [person(1), person(2)];
    let said = [brought(1, WORDS, &both), derived(1, WORDS, &both)].concat();
    let given = say(&record, "one", said.clone()).await.unwrap();
    // Canonical form is the same JSON.
    assert_eq!(given.iter().map(|event| event.fact.clone()).collect::<Vec<_>>(), said);
    assert_eq!(all(&record).await, given);
    assert_eq!(record.event(&given[0].id).await.unwrap().as_ref(), given.first());
    assert_eq!(record.follow(GlobalPosition(0)).next(100).await.unwrap(), given);
    let without = place.open_read_only().await;
    for event in all(&without).await {
        assert!(is_sealed(&event), "{}", event.fact.kind());
        assert!(!format!("{event:?}").contains(WORDS), "{}", event.fact.kind());
        assert_eq!(event.content_digest(), event.digest);
    }
    for (_, _, value, _) in rows(&record).await {
        assert!(!value.contains(WORDS), "{value}");
    }
}

async fn a_shredding_erases_every_word_and_changes_nothing_else(place: Place) {
    let (record, keyring) = with_keys(&place).await;
    let (first, second) = (person(1), person(2));
    let both = [first.clone(), second.clone()];
    say(&record, "both", [brought(1, WORDS, &both), derived(1, WORDS, &both)].concat()).await.unwrap();
    say(&record, "second", brought(2, WORDS, &[second])).await.unwrap();
    let sealed_before = all(&place.open_read_only().await).await;
    shred(&record, &keyring, &first).await;
    let erased: Vec<bool> = all(&record).await.iter().take(sealed_before.len()).map(is_sealed).collect();
    assert_eq!(
        erased.iter().filter(|erased| !**erased).count(),
        2,
        "only what the second said alone is open"
    );
    assert_eq!(all(&place.open_read_only().await).await[..sealed_before.len()], sealed_before);
    let (live, digest) = (rows(&record).await, record.rows_digest().await.unwrap());
    record.rebuild().await.unwrap();
    assert_eq!(rows(&record).await, live);
    assert_eq!(record.rows_digest().await.unwrap(), digest);
    record.verify(None).await.unwrap();
    let subject: fold::subject::SubjectRow =
        fold::decode(record.row("subject", first.as_str()).await.unwrap().as_ref()).unwrap();
    assert_eq!((subject.subject, subject.keys.len()), (first, 1));
}

async fn an_append_tried_again_is_the_same_event_before_and_after_a_shredding(place: Place) {
    let (record, keyring) = with_keys(&place).await;
    let both = [person(1), person(2)];
    let facts = [brought(1, WORDS, &both), derived(1, WORDS, &both)].concat();
    let first = say(&record, "one", facts.clone()).await.unwrap();
    assert_eq!(say(&record, "one", facts.clone()).await.unwrap(), first);
    assert!(matches!(say(&record, "one", brought(1, "other", &both)).await, Err(Error::IdTaken { .. })));
    shred(&record, &keyring, &both[1]).await;
    // Words that came from outside are sealed under a new key, derived ones under none: both are the stored event.
    let again = say(&record, "one", facts.clone()).await.unwrap();
    assert!(again.iter().all(is_sealed));
    let places = |events: &[Event]| events.iter().map(|event| event.global_position).collect::<Vec<_>>();
    assert_eq!(places(&again), places(&first));
    // Another fact of the same name is none, whatever key it is sealed under.
    assert!(matches!(say(&record, "one", brought(1, WORDS, &[person(1)])).await, Err(Error::IdTaken { .. })));
    assert!(matches!(say(&record, "one", brought(2, WORDS, &both)).await, Err(Error::IdTaken { .. })));
}

async fn what_derives_from_erased_words_is_refused_until_they_are_said_anew(place: Place) {
    let (record, keyring) = with_keys(&place).await;
    let both = [person(1), person(2)];
    say(&record, "one", brought(1, WORDS, &both)).await.unwrap();
    shred(&record, &keyring, &both[0]).await;
    let end = record.head().await.unwrap();
    for fact in derived(1, WORDS, &both) {
        let told = say(&record, "derived", vec![fact]).await;
        assert!(matches!(&told, Err(Error::Erased { subject, .. }) if *subject == both[0]), "{told:?}");
    }
    assert_eq!(record.head().await.unwrap(), end);
    let anew = say(&record, "two", brought(2, WORDS, &both)).await.unwrap();
    assert!(!anew.iter().any(is_sealed));
    say(&record, "derived", derived(2, WORDS, &both)).await.unwrap();
}

async fn a_record_without_the_keys_takes_no_words_of_persons_and_any_others(place: Place) {
    let record = place.open().await;
    let told = say(&record, "one", brought(1, WORDS, &[person(1)])).await;
    assert!(matches!(told, Err(Error::NoKeys { .. })), "{told:?}");
    let decided = record
        .decide(vec![], |_, _| {
            let events = named("two", brought(1, WORDS, &[person(1)]));
            Ok::<_, ()>((vec![Append::new(stream("a"), Expected::Any, events)], ()))
        })
        .await;
    assert!(matches!(decided, Err(Error::NoKeys { .. })), "{decided:?}");
    let bare = say(&record, "three", brought(1, WORDS, &[])).await.unwrap();
    assert!(!bare.iter().any(is_sealed));
}

async fn what_a_person_answers_is_sealed_under_their_own_key(place: Place) {
    let (record, keyring) = with_keys(&place).await;
    let [created, held, answer] = denied(WORDS, &person(1));
    record.append(stream("seat"), Expected::Any, vec![created, held]).await.unwrap();
    let given = record.append(stream("a"), Expected::Any, vec![answer]).await.unwrap();
    assert!(!is_sealed(&given[0]));
    shred(&record, &keyring, &person(1)).await;
    assert!(is_sealed(&record.event(&given[0].id).await.unwrap().unwrap()));
}

async fn a_decision_is_sealed_like_an_append(place: Place) {
    let (record, _) = with_keys(&place).await;
    let decided = record
        .decide(vec![], |_, _| {
            let events = named("one", brought(1, WORDS, &[person(1)]));
            Ok::<_, ()>((vec![Append::new(stream("a"), Expected::Any, events)], ()))
        })
        .await
        .unwrap();
    let crate::Decided::Appended { events, .. } = decided else { panic!("it was rejected") };
    assert!(!events.iter().any(is_sealed));
    assert!(all(&place.open_read_only().await).await.iter().all(is_sealed));
}

/// A value that is shaped like a sealed one comes from outside every day.
async fn a_payload_that_is_shaped_like_a_sealed_one_comes_back_as_it_was(place: Place) {
    let (record, _) = with_keys(&place).await;
    let shaped = serde_json::json!({"of": ["person_1"], "sealed": "AQ"});
    for (name, of) in [("nobody's", vec![]), ("a person's", vec![person(1)])] {
        let Fact::DeliveryReceived(mut delivery) = brought(1, WORDS, &of).swap_remove(0) else { panic!() };
        delivery.payload = event::Personal::of(shaped.clone(), of);
        say(&record, name, vec![delivery.into()]).await.unwrap();
    }
    for event in all(&record).await {
        let Fact::DeliveryReceived(delivery) = event.fact else { panic!() };
        assert_eq!(delivery.payload.value(), Some(&shaped));
    }
    record.verify(None).await.unwrap();
}

on_every_store! {
    words_are_given_open_and_kept_sealed,
    a_shredding_erases_every_word_and_changes_nothing_else,
    an_append_tried_again_is_the_same_event_before_and_after_a_shredding,
    what_derives_from_erased_words_is_refused_until_they_are_said_anew,
    a_record_without_the_keys_takes_no_words_of_persons_and_any_others,
    what_a_person_answers_is_sealed_under_their_own_key,
    a_decision_is_sealed_like_an_append,
    a_payload_that_is_shaped_like_a_sealed_one_comes_back_as_it_was,
}
