//! No crash, retry, clock or provider loses a hold, charges twice or spends what is not there.

use super::{DAY, DAY_MS, day, holds, is_done, office, refused, stands, stands_refused, taken};
use crate::kit::{Office, broke, price, prices, said, seat, usd};
use event::{AppliesTo, Event, HoldTaken, NanoUsd, Period, Price, PricesListed, RefusalSubject, Usage};
use fold::purse::{AccountRow, HOLD_OPEN_MS_MAX, HoldState};
use gate::purse::CLEARED_MAX;
use gate::{EffectClass, Passed};
use std::sync::Arc;

#[tokio::test]
async fn what_a_call_used_is_never_zero_for_want_of_a_figure() {
    let usage = |input, cached, output| {
        Some(Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            output_tokens: output,
            ..Usage::default()
        })
    };
    for (what, reached) in [
        ("an answer without usage", said(None)),
        ("a stream cut in the middle", broke(true)),
        ("usage without input", said(usage(0, 0, 0))),
        ("more cached than read", said(usage(5, 6, 1))),
        ("more output than was asked for", said(usage(5, 0, 101))),
    ] {
        let office = office().await;
        office.world.answers(reached);
        office.pass(office.infer(1, 1)).await;
        let held = taken(&office.events().await).remove(0).amount;
        let day = day(&office).await;
        assert_eq!((day.settled, day.held, day.unknown), (NanoUsd(0), NanoUsd(0), held), "{what}");
        assert!(stands_refused(&office).await.is_none(), "{what}");
    }
    let office = office().await;
    office.world.answers(broke(false));
    office.pass(office.infer(1, 1)).await;
    assert_eq!(day(&office).await, AccountRow::default(), "nothing left, so nothing was used");
    assert_eq!(holds(&office).await[0].state, HoldState::Released);
}

#[tokio::test]
async fn usage_above_the_hold_is_charged_and_refuses_its_budgets_until_a_person_has_looked() {
    let office = office().await;
    office.limit(AppliesTo::Seat(seat("desk")), Period::Day, "1").await;
    office.world.answers(said(Some(Usage { input_tokens: 9_000, output_tokens: 90, ..Usage::default() })));
    assert!(is_done(&office.pass(office.infer(1, 1)).await), "the answer is there and is given");
    let charged = NanoUsd(9_000 * 1_000 + 90 * 5_000);
    let hold = taken(&office.events().await).remove(0);
    let day = day(&office).await;
    assert_eq!((day.settled, day.held, day.unknown), (charged, NanoUsd(0), NanoUsd(0)));
    assert_eq!(day.over, charged.minus(hold.amount).unwrap());
    let refusals: Vec<_> =
        office.events().await.into_iter().filter(|e| e.fact.kind() == "refusal.raised").collect();
    assert_eq!(refusals.len(), 2, "one for each budget that paid");
    let settled = office.events().await.into_iter().find(|e| e.fact.kind() == "hold.settled").unwrap();
    assert_eq!(settled.global_position.0 + 1, refusals[0].global_position.0, "in one commit");
    let passed = office.pass(office.infer(2, 1)).await;
    let refusal = refused(&passed);
    assert_eq!((refusal.subject.as_str(), refusal.lifts_at), ("budget:organisation-day", None));
    assert!(refusal.reason.contains(&format!("chancery purse review {}", hold.hold)), "{}", refusal.reason);
    // The next day is another account of the same budget, and nobody has looked yet.
    office.clock.forward(DAY_MS);
    assert!(matches!(office.pass(office.infer(3, 1)).await, Passed::Refused(_)));
    for subject in [RefusalSubject::Budget(DAY.into()), RefusalSubject::Budget("seat:seat_desk-day".into())] {
        let refusal = fold::refusal::refusal_id(&subject, hold.hold.as_str());
        let reason = "the provider changed its tokeniser".to_owned();
        let lifted = event::RefusalLifted { refusal, subject: subject.clone(), reason };
        office.state(&format!("looked at {subject}"), lifted.into()).await;
    }
    assert!(is_done(&office.pass(office.infer(4, 1)).await));
}

#[tokio::test]
async fn absurd_figures_block_and_never_wrap() {
    for (input, output) in [(u64::MAX, 1), (1 << 53, 1), (50, u64::MAX), (u64::MAX, u64::MAX)] {
        let office = office().await;
        let usage =
            Usage { input_tokens: input, cached_input_tokens: 0, output_tokens: output, ..Usage::default() };
        office.world.answers(said(Some(usage)));
        office.pass(office.infer(1, 1)).await;
        let day = day(&office).await;
        let held = taken(&office.events().await).remove(0).amount;
        assert_eq!((day.settled, day.held, day.unknown), (NanoUsd(0), NanoUsd(0), held), "{input} {output}");
        assert!(stands_refused(&office).await.is_some(), "{input} {output}");
        assert!(matches!(office.pass(office.infer(2, 1)).await, Passed::Refused(_)));
    }
}

#[tokio::test]
async fn a_list_that_changes_while_a_call_is_under_way_changes_nothing_for_it() {
    let office = Arc::new(office().await);
    let dear = prices(Price { input_per_mtok: Some(usd("1000")), ..price() });
    office.world.meanwhile({
        let (record, dear) = (office.record.clone(), dear.clone());
        Box::new(move || {
            let (record, dear) = (record.clone(), dear.clone());
            Box::pin(async move { crate::kit::append(&record, "dear", dear.into()).await })
        })
    });
    assert!(is_done(&office.pass(office.infer(1, 1)).await));
    let listed = office.record.row("setting", fold::setting::PRICES).await.unwrap();
    assert_eq!(fold::decode::<PricesListed>(listed.as_ref()).unwrap().digest, dear.digest);
    assert_eq!(day(&office).await.settled, NanoUsd(50 * 1_000 + 10 * 5_000));
    assert_eq!(taken(&office.events().await)[0].worst.as_ref().unwrap().prices, prices(price()).digest);
}

#[tokio::test]
async fn a_retry_ends_the_holds_of_earlier_tries_and_a_replay_takes_none() {
    let whole = office().await;
    whole.pass(whole.infer(3, 1)).await;
    let events = whole.events().await;
    for (kind, becomes) in [("hold.taken", HoldState::Released), ("hold.started", HoldState::Unknown)] {
        let stop = events.iter().position(|event| event.fact.kind() == kind).unwrap();
        let office = Office::after(&events[..=stop], EffectClass::External, "component").await;
        assert!(is_done(&office.pass(office.infer(3, 2)).await));
        let holds = holds(&office).await;
        assert_eq!((holds[0].state, holds[1].state), (becomes, HoldState::Settled), "{kind}");
    }
}

#[tokio::test]
async fn a_crash_after_any_event_of_a_paid_call_loses_no_hold_and_charges_nothing_twice() {
    let whole = office().await;
    whole.pass(whole.infer(3, 1)).await;
    let events = whole.events().await;
    let begins = events.iter().position(|event| event.fact.kind() == "call.admitted").unwrap();
    assert_eq!(events.len() - begins, 4);
    let cost = NanoUsd(50 * 1_000 + 10 * 5_000);
    for stop in begins..=events.len() {
        for retries in [false, true] {
            let office = Office::after(&events[..stop], EffectClass::External, "component").await;
            let sent = events[..stop].iter().any(|event| event.fact.kind() == "hold.started");
            let settled = stop == events.len();
            if retries && !settled {
                assert!(is_done(&office.pass(office.infer(3, 2)).await), "{stop}");
            }
            office.clock.forward(HOLD_OPEN_MS_MAX);
            office.gate.clear_holds().await.unwrap();
            let day = day(&office).await;
            let held: NanoUsd = taken(&events).remove(0).amount;
            let lost = if sent && !settled { held } else { NanoUsd::ZERO };
            let charged = if settled || retries { cost } else { NanoUsd::ZERO };
            assert_eq!((day.settled, day.held, day.unknown), (charged, NanoUsd(0), lost), "{stop} {retries}");
            assert!(holds(&office).await.iter().all(|hold| !hold.state.is_open()), "{stop} {retries}");
        }
    }
}

#[tokio::test]
async fn a_hold_that_nobody_ended_is_ended_after_a_quarter_of_an_hour_by_whoever_spends_next() {
    let whole = office().await;
    for step in 1..=3 {
        whole.pass(whole.infer(step, 1)).await;
    }
    // Three calls of a host that died: one before it began, one under way, one that was settled.
    let events: Vec<Event> = whole
        .events()
        .await
        .into_iter()
        .filter(|event| {
            let step = event.stream.as_str().rsplit('/').next().unwrap_or_default().to_owned();
            let kind = event.fact.kind();
            let died_before = matches!((step.as_str(), kind), ("1", "hold.started" | "hold.settled"));
            let died_under_way = matches!((step.as_str(), kind), ("2", "hold.settled"));
            !died_before && !died_under_way
        })
        .collect();
    let office = Office::after(&events, EffectClass::External, "component").await;
    let held = taken(&events)[0].amount;
    assert_eq!(day(&office).await.held, held.times(2).unwrap());
    office.clock.forward(HOLD_OPEN_MS_MAX - 1);
    office.pass(office.infer(10, 1)).await;
    assert_eq!(day(&office).await.held, held.times(2).unwrap(), "not before its time");
    office.clock.forward(1);
    office.pass(office.infer(11, 1)).await;
    let day = day(&office).await;
    assert_eq!((day.held, day.unknown), (NanoUsd::ZERO, held));
    let states: Vec<HoldState> = holds(&office).await.iter().map(|hold| hold.state).collect();
    assert_eq!(states[..3], [HoldState::Released, HoldState::Unknown, HoldState::Settled]);
    let ends = office.events().await;
    let cleared = ends.iter().rev().find(|event| event.fact.kind() == "hold.left-unknown").unwrap();
    assert!(cleared.stream.as_str().ends_with("/2"), "it is told with the call it was taken for");
}

#[tokio::test]
async fn one_append_ends_at_most_so_many_holds_and_the_next_one_goes_on() {
    let office = office().await;
    office.limit(AppliesTo::Organisation, Period::Day, "100").await;
    office.pass(office.infer(1, 1)).await;
    let one = taken(&office.events().await).remove(0);
    for n in 0..CLEARED_MAX + 3 {
        let hold = event::HoldId::derived(&["lost", &n.to_string()]);
        let origin = event::Origin::Duty {
            event: event::EventId::derived(&[&n.to_string()]),
            kind: "lost".into(),
            attempt: 1,
        };
        office.state(&format!("lost {n}"), HoldTaken { hold, origin, ..one.clone() }.into()).await;
    }
    office.clock.forward(HOLD_OPEN_MS_MAX);
    assert_eq!(office.gate.clear_holds().await.unwrap(), CLEARED_MAX);
    assert_eq!(office.gate.clear_holds().await.unwrap(), 3);
    assert_eq!(office.gate.clear_holds().await.unwrap(), 0);
}

#[tokio::test]
async fn a_call_that_comes_back_after_its_hold_was_ended_is_not_charged_a_second_time() {
    let office = Arc::new(office().await);
    let (clock, other) = (office.clock.clone(), office.clone());
    office.world.meanwhile(Box::new(move || {
        clock.forward(HOLD_OPEN_MS_MAX);
        let other = other.clone();
        Box::pin(async move { assert_eq!(other.gate.clear_holds().await.unwrap(), 1) })
    }));
    assert!(is_done(&office.pass(office.infer(1, 1)).await));
    let day = day(&office).await;
    let held = taken(&office.events().await).remove(0).amount;
    assert_eq!((day.settled, day.held, day.unknown), (NanoUsd(0), NanoUsd(0), held));
}

#[tokio::test]
async fn a_clock_that_is_set_back_over_midnight_does_not_open_yesterdays_account() {
    let office = office().await;
    office.world.answers(said(None));
    office.pass(office.infer(1, 1)).await;
    let yesterday = day(&office).await;
    let limit = yesterday.unknown;
    office.state("full", crate::kit::budget(AppliesTo::Organisation, Period::Day, limit).into()).await;
    assert!(matches!(office.pass(office.infer(2, 1)).await, Passed::Refused(_)), "today is full");
    office.clock.forward(DAY_MS);
    assert!(is_done(&office.pass(office.infer(3, 1)).await));
    // The clock is mended: it was a day ahead. The record's time does not run back, so the day stays.
    office.clock.forward(-DAY_MS);
    office
        .state(
            "wide",
            crate::kit::budget(AppliesTo::Organisation, Period::Day, limit.times(2).unwrap()).into(),
        )
        .await;
    assert!(is_done(&office.pass(office.infer(4, 1)).await));
    assert_eq!(day(&office).await, yesterday);
    let settled = NanoUsd(2 * (50 * 1_000 + 10 * 5_000));
    assert_eq!(stands(&office, DAY, "2027-01-16").await.settled, settled);
    // With the old limit and the clock still behind, it is the day of the record that is asked, not yesterday's.
    office
        .state(
            "full again",
            crate::kit::budget(AppliesTo::Organisation, Period::Day, limit.plus(settled).unwrap()).into(),
        )
        .await;
    let asked = office.gate.ask(&office.infer(5, 1)).await.unwrap();
    assert!(matches!(asked, gate::Verdict::Admitted(_)), "{asked:?}");
}
