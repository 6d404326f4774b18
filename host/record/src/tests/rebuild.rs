//! Rows folded as events landed are the rows folded from the whole record again.

use super::kit::{Place, account, delivery, hold, host, id, on_every_store, proposed, rows, stream};
use crate::{Append, Error, INLINE_BYTES_MAX, Journal, Record};
use event::{
    Account, Author, BudgetSet, Class, DeliveryClassified, Digest, EffectId, EffectIntended, EffectSent,
    Expected, Fact, GlobalPosition, HoldId, HoldReleased, HoldSettled, HoldStarted, Label, MessageMerged,
    MessageReceived, NanoUsd, Origin, Period, Place as SaidIn, PlaceKind, Position, Proposed, SeatId, Topic,
    TurnEnded, TurnEnding, TurnId, TurnOpened, Usage,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::sync::watch;

fn seat() -> SeatId {
    SeatId::parse("seat_a").unwrap()
}

fn turn(n: u8) -> TurnId {
    TurnId::derived(&[&n.to_string()])
}

fn said_in(n: u8) -> SaidIn {
    SaidIn {
        kind: PlaceKind::Channel,
        team: "T1".into(),
        channel: "C1".into(),
        ts: format!("1.{n}"),
        thread_ts: Some(format!("1.{}", n % 2)),
    }
}

fn accounts() -> Vec<Account> {
    // The same account twice is folded twice, then as now.
    vec![account(), Account { budget: "other".into(), ..account() }, account()]
}

/// Any JSON, floats that canonical form rewrites included.
fn payload() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..9_007_199_254_740_991).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

fn purse_fact() -> impl Strategy<Value = Fact> {
    let named = |n: u8| HoldId::derived(&[&n.to_string()]);
    let held = NanoUsd(5);
    (0_u8..3, 0_u8..4, 0_i64..9).prop_map(move |(n, kind, amount)| {
        let (hold, accounts) = (named(n), accounts());
        match kind {
            0 => HoldStarted { hold }.into(),
            1 => HoldReleased { hold, held, accounts, reason: String::new() }.into(),
            2 => HoldSettled {
                hold,
                held,
                accounts,
                charged: NanoUsd(amount),
                usage: Usage::default(),
                seconds: 0,
            }
            .into(),
            _ => BudgetSet {
                budget: format!("{n}"),
                period: Period::Day,
                limit: NanoUsd(amount),
                applies_to: event::AppliesTo::Organisation,
                time_zone: None,
                reason: String::new(),
            }
            .into(),
        }
    })
}

fn talk_fact() -> impl Strategy<Value = Fact> {
    (0_u8..4, 0_u8..3, any::<bool>()).prop_map(|(n, kind, mentions_office)| {
        let place = said_in(n);
        let author = Author { principal: None, external: "U1".into(), bot: false };
        match kind {
            0 => {
                MessageReceived { place, author, text: "hi".into(), mentions_office, subtype: String::new() }
                    .into()
            }
            1 => MessageMerged { message: id("m"), place, via: "app_mention".into(), mentions_office }.into(),
            _ => DeliveryClassified {
                delivery: id("d"),
                message: mentions_office.then(|| id("m")),
                class: Class::Explicit,
                reason: "mention".into(),
                topic: place.topic(),
                asks: Some(seat()),
            }
            .into(),
        }
    })
}

fn turn_fact() -> impl Strategy<Value = Fact> {
    (0_u8..3, any::<bool>()).prop_map(|(n, opens)| {
        if opens {
            TurnOpened {
                turn: turn(n),
                seat: seat(),
                topic: Topic::parse("slack:T1:C1:1.0").unwrap(),
                woken_by: id("m"),
                reply_to: None,
                model: "scripted".into(),
                steps_max: 60,
                ms_max: None,
                asked: None,
                drill: false,
            }
            .into()
        } else {
            TurnEnded {
                turn: turn(n),
                topic: event::Topic::parse("slack:T:C:1").unwrap(),
                ending: TurnEnding::Silent,
                summary: "".into(),
                sources: vec![],
            }
            .into()
        }
    })
}

fn effect_fact() -> impl Strategy<Value = Fact> {
    (0_u8..3, payload(), any::<bool>()).prop_map(|(n, value, sent)| {
        let effect = EffectId::derived(&[&n.to_string()]);
        if sent {
            EffectSent { effect, reference: value }.into()
        } else {
            let origin = Origin::Step { turn: turn(n), step: 1, attempt: 1 };
            let content = Digest::of(b"x");
            EffectIntended {
                effect,
                origin,
                tool: "slack.post".into(),
                input: value.into(),
                content,
                account: None,
                inside: false,
                workspace: None,
            }
            .into()
        }
    })
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        purse_fact(),
        "[a-c]".prop_map(|name| hold(&name).fact),
        talk_fact(),
        turn_fact(),
        effect_fact(),
        payload().prop_map(|payload| delivery(payload).into()),
    ]
}

/// Calls of one to five events each.
fn history() -> impl Strategy<Value = Vec<Vec<Fact>>> {
    proptest::collection::vec(proptest::collection::vec(fact(), 1..6), 1..20)
}

async fn play(record: &Record, history: &[Vec<Fact>]) {
    let calls = history.iter().enumerate().map(|(call, facts)| {
        let event = |(n, fact): (usize, &Fact)| Proposed {
            id: id(&format!("{call}/{n}")),
            actor: host(),
            cause: None,
            label: Label::unknown(),
            fact: fact.clone(),
        };
        let events = facts.iter().enumerate().map(event).collect();
        let append = Append::new(stream(&format!("{}", call % 3)), Expected::Any, events);
        let record = record.clone();
        // Sent at once, so that calls share batches and their rows.
        tokio::spawn(async move { record.append_all(vec![append]).await.unwrap() })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

/// Plays any history, and compares the rows that were folded live with those of a rebuild.
fn rebuilding_gives_the_rows_that_were_folded_live(place: impl Fn() -> Place, cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // A server that was started for this test alone ends with its last place.
    let _server = place();
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(cases) };
    let outcome = TestRunner::new(config).run(&history(), |history| {
        runtime.block_on(async {
            let place = place();
            let record = place.open().await;
            play(&record, &history).await;
            let (live, digest) = (rows(&record).await, record.rows_digest().await.unwrap());
            let count = record.rebuild().await.unwrap();
            prop_assert_eq!(count, history.iter().map(Vec::len).sum::<usize>() as u64);
            prop_assert_eq!(rows(&record).await, live);
            prop_assert_eq!(record.rows_digest().await.unwrap(), digest);
            record.verify(None).await.unwrap();
            Ok(())
        })
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn rebuilding_gives_the_rows_that_were_folded_live_on_sqlite() {
    rebuilding_gives_the_rows_that_were_folded_live(Place::sqlite, 48);
}

#[test]
fn rebuilding_gives_the_rows_that_were_folded_live_on_postgres() {
    rebuilding_gives_the_rows_that_were_folded_live(Place::postgres, 48);
}

#[test]
fn rebuilding_gives_the_rows_that_were_folded_live_in_memory() {
    rebuilding_gives_the_rows_that_were_folded_live(Place::memory, 48);
}

async fn a_record_restored_from_its_journal_is_the_same_to_the_last_byte(place: Place) {
    let folder = tempfile::tempdir().unwrap();
    let original = Place::memory().open().await;
    for name in ["one", "two \u{1}\u{0}", "three é"] {
        let large = delivery(json!("x".repeat(INLINE_BYTES_MAX)));
        let events = vec![hold(name), proposed(&format!("b {name}"), large)];
        original.append(stream(name), Expected::Any, events).await.unwrap();
    }
    let mut journal = Journal::open(folder.path(), &original).await.unwrap();
    journal.catch_up(&original, |_| {}).await.unwrap();

    let restored = place.open().await;
    restored.restore(folder.path(), &watch::Sender::new(0), watch::Sender::new(0)).await.unwrap();
    assert_eq!(restored.head().await.unwrap(), original.head().await.unwrap());
    assert_eq!(rows(&restored).await, rows(&original).await);
    let all = |record: Record| async move { record.read_all(GlobalPosition(0), 100).await.unwrap() };
    assert_eq!(all(restored.clone()).await, all(original).await);
    restored.verify(None).await.unwrap();
    // Where it ends it goes on.
    restored.append(stream("one"), Expected::At(Position(2)), vec![hold("four")]).await.unwrap();
}

/// One history gives one head and the same rows wherever it is kept.
#[tokio::test]
async fn every_store_keeps_the_same_record_to_the_last_byte() {
    let mut kept = Vec::new();
    for place in [Place::sqlite(), Place::postgres(), Place::memory()] {
        let record = place.open().await;
        for name in ["one", "two \u{1}\u{0}", "three é"] {
            let events = vec![hold(name), proposed(&format!("b {name}"), delivery(json!([name, 1e300])))];
            record.append(stream(name), Expected::Any, events).await.unwrap();
        }
        kept.push((record.head().await.unwrap(), rows(&record).await, record.rows_digest().await.unwrap()));
    }
    assert_eq!(kept[0], kept[1]);
    assert_eq!(kept[0], kept[2]);
}

/// So many rows that a rebuild writes some before it has come to the end, and needs them again afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_of_more_rows_than_it_keeps_gives_the_rows_that_were_folded_live() {
    let record = Place::memory().open().await;
    for call in 0..12 {
        let holds = (0..1_000).map(|n| hold(&format!("{call} {n}"))).collect();
        record.append(stream("a"), Expected::Any, holds).await.unwrap();
    }
    let released = |n: usize| {
        let hold = HoldId::derived(&[&format!("0 {n}")]);
        proposed(
            &format!("released {n}"),
            HoldReleased { hold, held: NanoUsd(1), accounts: vec![account()], reason: String::new() },
        )
    };
    record.append(stream("a"), Expected::Any, (0..1_000).map(released).collect()).await.unwrap();
    let (live, digest) = (rows(&record).await.len(), record.rows_digest().await.unwrap());
    assert_eq!(live, 12_001, "the holds and an account");
    record.rebuild().await.unwrap();
    assert_eq!(record.rows_digest().await.unwrap(), digest);
}

async fn a_rebuild_repairs_rows_that_somebody_changed(place: Place) {
    let record = place.open().await;
    record.append(stream("a"), Expected::Any, vec![hold("one"), hold("two")]).await.unwrap();
    let (before, digest) = (rows(&record).await, record.rows_digest().await.unwrap());
    assert_eq!(before.len(), 3, "two holds and an account");
    place.write_row("account", &account().key(), "{}").await;
    place.write_row("x", "y", "1").await;
    assert_ne!(record.rows_digest().await.unwrap(), digest);
    record.rebuild().await.unwrap();
    assert_eq!(rows(&record).await, before);
    assert_eq!(record.rows_digest().await.unwrap(), digest);
}

async fn a_row_that_does_not_read_stops_only_the_calls_that_need_it_until_it_is_rebuilt(place: Place) {
    let record = place.open().await;
    record.append(stream("a"), Expected::Any, vec![hold("one")]).await.unwrap();
    place.write_row("account", &account().key(), "{").await;
    let beside = proposed("x", delivery(json!(1)));
    let (needs_it, beside) = tokio::join!(
        record.append(stream("a"), Expected::Any, vec![hold("two")]),
        record.append(stream("b"), Expected::Any, vec![beside]),
    );
    assert!(matches!(needs_it, Err(Error::Corrupt { .. })), "{needs_it:?}");
    beside.unwrap();
    record.rebuild().await.unwrap();
    record.append(stream("a"), Expected::Any, vec![hold("two")]).await.unwrap();
    record.verify(None).await.unwrap();
}

async fn a_rebuild_over_an_event_that_does_not_read_leaves_the_rows_as_they_were(place: Place) {
    let record = place.open().await;
    record.append(stream("a"), Expected::Any, vec![hold("one")]).await.unwrap();
    let before = rows(&record).await;
    place.write_body(1, "{}").await;
    let (rebuilt, beside) = tokio::join!(
        record.rebuild(),
        record.append(stream("b"), Expected::Any, vec![proposed("x", delivery(json!(1)))])
    );
    assert!(matches!(rebuilt, Err(Error::Corrupt { .. })), "{rebuilt:?}");
    beside.unwrap();
    assert_eq!(rows(&record).await, before);
}

async fn ranked_rows_come_lowest_first_from_the_rank_asked_for(place: Place) {
    let record = place.open().await;
    for (at, name) in [(10, "one"), (20, "two"), (30, "three"), (30, "four")] {
        place.clock.set(at);
        record.append(stream("a"), Expected::Any, vec![hold(name)]).await.unwrap();
    }
    let released = HoldReleased {
        hold: HoldId::derived(&["one"]),
        held: NanoUsd(1),
        accounts: vec![account()],
        reason: String::new(),
    };
    record.append(stream("a"), Expected::Any, vec![proposed("release", released)]).await.unwrap();

    let open = |found: Vec<(String, fold::Row)>| -> Vec<Option<i64>> {
        found.into_iter().map(|(_, row)| row.rank).collect()
    };
    assert_eq!(open(record.ranked("hold", 0, 10).await.unwrap()), [Some(20), Some(30), Some(30)]);
    assert_eq!(open(record.ranked("hold", 30, 1).await.unwrap()), [Some(30)]);
    let both = record.ranked("hold", 30, 10).await.unwrap();
    assert!(both[0].0 < both[1].0, "within one rank by key");
    assert_eq!(
        record.ranked("account", i64::MIN, 10).await.unwrap(),
        vec![],
        "a row without a rank is not ranked"
    );
}

on_every_store! {
    a_record_restored_from_its_journal_is_the_same_to_the_last_byte,
    a_rebuild_repairs_rows_that_somebody_changed,
    a_row_that_does_not_read_stops_only_the_calls_that_need_it_until_it_is_rebuilt,
    a_rebuild_over_an_event_that_does_not_read_leaves_the_rows_as_they_were,
    ranked_rows_come_lowest_first_from_the_rank_asked_for,
}
