//! The purse at the door: what is held before a call, on which budgets, and what it comes to.

mod faults;
mod many;

use crate::kit::{
    CALL_MS_MAX, Hands, MODEL, NOON, OUTPUT_TOKENS_MAX, Office, person, price, prices, said, seat, usd,
};
use event::{
    Account, AppliesTo, Event, Fact, HoldTaken, LongContext, NanoUsd, Period, Price, PricesListed,
    RefusalSubject,
};
use fold::purse::{AccountRow, HoldRow};
use fold::refusal::RefusalRow;
use gate::purse::BYTES_PER_TOKEN;
use gate::{EffectClass, GateError, InferRequest, Passed, Payload, Refusal};
use record::Record;

const DAY: &str = "organisation-day";
const DAY_MS: i64 = 86_400_000;

async fn office() -> Office {
    Office::with(EffectClass::External, "component").await
}

fn refused(passed: &Passed) -> &Refusal {
    match passed {
        Passed::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn is_done(passed: &Passed) -> bool {
    matches!(passed, Passed::Done { .. })
}

async fn stands(office: &Office, budget: &str, window: &str) -> AccountRow {
    let row = office.record.row("account", &format!("{budget}/{window}")).await.unwrap();
    fold::decode(row.as_ref()).unwrap_or_default()
}

/// What stands on the organisation's day, which is the 15th of January 2027.
async fn day(office: &Office) -> AccountRow {
    stands(office, DAY, "2027-01-15").await
}

fn taken(events: &[Event]) -> Vec<HoldTaken> {
    let taken = events.iter().filter_map(|event| match &event.fact {
        Fact::HoldTaken(body) => Some(body.clone()),
        _ => None,
    });
    taken.collect()
}

async fn holds(office: &Office) -> Vec<HoldRow> {
    let mut rows = Vec::new();
    for hold in taken(&office.events().await) {
        let row = office.record.row("hold", hold.hold.as_str()).await.unwrap();
        rows.push(fold::decode(row.as_ref()).unwrap());
    }
    rows
}

async fn stands_refused(office: &Office) -> Option<RefusalRow> {
    let key = fold::refusal::key(&RefusalSubject::Budget(DAY.into()));
    fold::decode(office.record.row("refusal", &key).await.unwrap().as_ref())
}

#[tokio::test]
async fn a_paid_call_is_held_at_its_worst_and_settled_for_what_was_used() {
    let office = office().await;
    assert!(is_done(&office.pass(office.infer(3, 1)).await));
    let kinds = office.kinds().await;
    assert_eq!(kinds, ["call.admitted", "hold.taken", "hold.started", "hold.settled"]);
    let taken = taken(&office.events().await).remove(0);
    let Payload::Infer(request) = office.infer(3, 1).payload else { panic!() };
    let bytes = serde_json::to_vec(&*request).unwrap().len() as u64;
    let worst = taken.worst.unwrap();
    assert_eq!(worst.usage.input_tokens, bytes.div_ceil(BYTES_PER_TOKEN));
    assert_eq!((worst.usage.output_tokens, worst.headroom, worst.seconds), (100, 3, 0));
    assert_eq!(worst.prices, prices(price()).digest);
    let once = worst.usage.input_tokens * 1_000 + 100 * 5_000;
    assert_eq!(taken.amount, NanoUsd(once as i64 * 3));
    let day = day(&office).await;
    assert_eq!(
        (day.settled, day.held, day.unknown),
        (NanoUsd(50 * 1_000 + 10 * 5_000), NanoUsd(0), NanoUsd(0))
    );
}

#[tokio::test]
async fn what_has_no_price_or_no_finite_maximum_is_refused_before_the_call() {
    let office = office().await;
    let listed = |price: Price| prices(price);
    let nothing = PricesListed { prices: Default::default(), ..listed(price()) };
    let by_the_second = Price { per_second: Some(NanoUsd(1)), ..price() };
    for (n, (list, said)) in [
        (nothing, "is not on the price list"),
        (listed(Price { output_per_mtok: None, ..price() }), "does not say what"),
        (listed(Price { input_per_mtok: None, ..price() }), "does not say what"),
        (listed(Price { per_call: Some(NanoUsd(-1_000_000_000)), ..price() }), "does not say what"),
    ]
    .into_iter()
    .enumerate()
    {
        office.state(&format!("list {n}"), list.into()).await;
        let passed = office.pass(office.infer(n as u32 + 1, 1)).await;
        let refusal = refused(&passed);
        assert_eq!((refusal.subject.as_str(), refusal.lifts_at), ("price/scripted/story", None));
        assert!(refusal.reason.contains(said), "{}", refusal.reason);
    }
    assert!(office.world.reached().is_empty() && taken(&office.events().await).is_empty());
    // A length that is known has a price: here every second of it.
    office.state("by the second", listed(by_the_second).into()).await;
    assert!(is_done(&office.pass(office.infer(20, 1)).await));
    let taken = taken(&office.events().await).remove(0);
    assert_eq!(taken.worst.unwrap().seconds, CALL_MS_MAX / 1_000);
    // More output than the model has is no request that could be priced.
    let mut unbounded = office.infer(21, 1);
    if let Payload::Infer(request) = &unbounded.payload {
        let output_tokens_max = OUTPUT_TOKENS_MAX + 1;
        unbounded.payload = InferRequest { output_tokens_max, ..InferRequest::clone(request) }.into();
    }
    assert!(matches!(office.pass(unbounded).await, Passed::Denied(_)));
}

#[tokio::test]
async fn a_zero_budget_buys_nothing_and_says_what_is_settled_held_and_unknown() {
    let office = office().await;
    office.limit(AppliesTo::Organisation, Period::Day, "0").await;
    let passed = office.pass(office.infer(1, 1)).await;
    let refusal = refused(&passed);
    assert_eq!(refusal.subject, "budget/organisation-day");
    for part in ["of $0.00", "$0.00 settled", "$0.00 held", "$0.00 unknown"] {
        assert!(refusal.reason.contains(part), "{}", refusal.reason);
    }
    assert!(office.world.reached().is_empty());
}

#[tokio::test]
async fn a_refusal_lifts_when_its_budget_starts_anew_and_not_before() {
    let office = office().await;
    let amount = {
        office.pass(office.infer(1, 1)).await;
        taken(&office.events().await).remove(0).amount
    };
    office.world.answers(said(None));
    office.pass(office.infer(2, 1)).await;
    // Room for one hold, if the unknown one did not count.
    let limit = amount.plus(day(&office).await.settled).unwrap();
    office.state("limit", crate::kit::budget(AppliesTo::Organisation, Period::Day, limit).into()).await;
    let passed = office.pass(office.infer(3, 1)).await;
    let refusal = refused(&passed).clone();
    assert!(refusal.reason.contains(&format!("{amount} unknown")), "{}", refusal.reason);
    let lifts_at = refusal.lifts_at.unwrap();
    assert_eq!(lifts_at.to_string(), "2027-01-16T00:00:00.000Z");
    office.clock.forward(lifts_at.0 - NOON - 1);
    assert!(matches!(office.pass(office.infer(3, 2)).await, Passed::Refused(_)));
    office.clock.forward(1);
    assert!(is_done(&office.pass(office.infer(3, 3)).await));
}

#[tokio::test]
async fn every_budget_in_play_holds_or_none_does() {
    let office = office().await;
    let asker = person("person_slack.T1.U1");
    for (applies_to, period) in [
        (AppliesTo::Organisation, Period::Month),
        (AppliesTo::Seat(seat("desk")), Period::Day),
        (AppliesTo::Channel("slack:T1:C1".into()), Period::Month),
        (AppliesTo::Person(asker.clone()), Period::Day),
        (AppliesTo::Goal("launch".into()), Period::Lifetime),
        // Others', which are not in play.
        (AppliesTo::Seat(seat("clerk")), Period::Day),
        (AppliesTo::Channel("slack:T1:C2".into()), Period::Day),
        (AppliesTo::Person(person("person_slack.T1.U2")), Period::Day),
        (AppliesTo::Goal("another".into()), Period::Lifetime),
    ] {
        let limit = if applies_to == AppliesTo::Goal("launch".into()) { "0.003" } else { "1" };
        office.limit(applies_to, period, limit).await;
    }
    let call = |step| {
        let mut call = office.infer(step, 1);
        (call.asker, call.goal) = (Some(asker.clone()), Some("launch".to_owned()));
        call
    };
    assert!(is_done(&office.pass(call(1)).await));
    let first = taken(&office.events().await).remove(0);
    let keys: Vec<String> = first.accounts.iter().map(Account::key).collect();
    assert_eq!(
        keys,
        [
            "organisation-day/2027-01-15",
            "organisation-month/2027-01",
            "seat:seat_desk-day/2027-01-15",
            "channel:slack:T1:C1-month/2027-01",
            "person:person_slack.T1.U1-day/2027-01-15",
            "goal:launch/lifetime",
        ]
    );
    // The goal is the first to be short, once two holds would stand on it at once, and then nobody holds anything.
    office.world.answers(said(None));
    office.pass(call(2)).await;
    let passed = office.pass(call(3)).await;
    let refusal = refused(&passed);
    assert_eq!((refusal.subject.as_str(), refusal.lifts_at), ("budget/goal:launch", None));
    assert!(refusal.reason.contains("never starts anew"), "{}", refusal.reason);
    assert_eq!(day(&office).await.held, NanoUsd::ZERO);
    // A seat with the right raises it, and it goes on.
    office.limit(AppliesTo::Goal("launch".into()), Period::Lifetime, "1").await;
    assert!(is_done(&office.pass(call(4)).await));
}

#[tokio::test]
async fn child_work_draws_on_its_parents_budgets_and_has_no_allowance_of_its_own() {
    let office = office().await;
    office.limit(AppliesTo::Seat(seat("desk")), Period::Day, "1").await;
    office.limit(AppliesTo::Channel("slack:T1:C1".into()), Period::Day, "1").await;
    let parent = office.infer(1, 1);
    let nothing = event::Label::join_all([]);
    let mut child = parent.child(1, 1, (MODEL, serde_json::Value::Null), vec!["*".into()], &nothing).unwrap();
    child.payload = parent.payload.clone();
    assert!(is_done(&office.pass(parent).await) && is_done(&office.pass(child).await));
    let taken = taken(&office.events().await);
    assert_eq!(taken[0].accounts, taken[1].accounts);
    let seats = stands(&office, "seat:seat_desk-day", "2027-01-15").await;
    assert_eq!(seats.settled, day(&office).await.settled);
    assert_eq!(seats.settled, NanoUsd(2 * (50 * 1_000 + 10 * 5_000)));
}

#[tokio::test]
async fn a_turn_of_many_calls_stops_inside_its_limit() {
    let office = office().await;
    office.limit(AppliesTo::Organisation, Period::Day, "0.003").await;
    let mut done = 0;
    for step in 1..=40 {
        match office.pass(office.infer(step, 1)).await {
            Passed::Done { .. } => done += 1,
            other => drop(refused(&other)),
        }
        let day = day(&office).await;
        assert!(day.total().unwrap() <= usd("0.003"), "{day:?}");
    }
    assert!(done > 3 && done < 40, "{done}");
    assert_eq!(office.world.reached().len(), done);
}

#[tokio::test]
async fn a_long_context_is_held_at_its_own_prices() {
    let office = office().await;
    let long = LongContext {
        above_input_tokens: 200_000,
        input_per_mtok: Some(usd("2")),
        cached_input_per_mtok: None,
        cache_write_per_mtok: None,
        output_per_mtok: Some(usd("10")),
    };
    office.state("list", prices(Price { long_context: Some(long), ..price() }).into()).await;
    office.limit(AppliesTo::Organisation, Period::Day, "100").await;
    let with_bytes = |step, bytes: usize| {
        let mut call = office.infer(step, 1);
        if let Payload::Infer(request) = &call.payload {
            let system = "x".repeat(bytes);
            call.payload = InferRequest { system, ..InferRequest::clone(request) }.into();
        }
        call
    };
    office.pass(with_bytes(1, 150_000)).await;
    office.pass(with_bytes(2, 300_000)).await;
    let taken = taken(&office.events().await);
    let worst: Vec<_> = taken.iter().map(|taken| taken.worst.clone().unwrap()).collect();
    assert_eq!([worst[0].long_context, worst[1].long_context], [false, true]);
    let once = worst[1].usage.input_tokens as i64 * 2_000 + 100 * 10_000;
    assert_eq!(taken[1].amount, NanoUsd(once * 3));
}

#[tokio::test]
async fn a_call_that_costs_by_the_second_is_charged_for_what_it_took() {
    for (moves_ms, seconds) in [(0, 0), (1, 1), (2_500, 3), (-60_000, CALL_MS_MAX / 1_000)] {
        let office = office().await;
        let second = Price { per_second: Some(NanoUsd(1_000)), ..price() };
        office.state("list", prices(second).into()).await;
        let clock = office.clock.clone();
        office.world.meanwhile(Box::new(move || {
            clock.forward(moves_ms);
            Box::pin(async {})
        }));
        office.pass(office.infer(1, 1)).await;
        let tokens = 50 * 1_000 + 10 * 5_000;
        assert_eq!(day(&office).await.settled, NanoUsd(tokens + 1_000 * seconds as i64), "{moves_ms}");
    }
}

#[tokio::test]
async fn days_end_at_the_midnight_of_the_budgets_time_zone() {
    let office = office().await;
    let set = crate::kit::budget(AppliesTo::Organisation, Period::Day, usd("1"));
    let zone = |name: &str| event::BudgetSet { time_zone: Some(name.to_owned()), ..set.clone() };
    office.state("oslo", zone("Europe/Oslo").into()).await;
    // 08:00 UTC on the 15th; at 23:00 UTC it is the 16th in Oslo.
    office.clock.forward(15 * 3_600_000);
    office.pass(office.infer(1, 1)).await;
    assert_eq!(taken(&office.events().await)[0].accounts[0].window, "2027-01-16");
    office.state("atlantis", zone("Europe/Atlantis").into()).await;
    let passed = office.pass(office.infer(2, 1)).await;
    assert!(refused(&passed).reason.contains("Europe/Atlantis"), "{passed:?}");
}

#[tokio::test]
async fn without_a_purse_of_the_organisation_there_is_no_gate() {
    let clock = Hands::at(NOON);
    let record = Record::open_memory(clock.clone()).await.unwrap();
    let failed = Office::without_a_purse(record, clock).await;
    assert!(matches!(failed, Err(GateError::NoPurse)), "{:?}", failed.err());
}
