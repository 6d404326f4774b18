//! What a whole call through the gate costs when nothing of it goes out: admitted under a policy, stated on the record,
//! run in a fresh guest, settled on the record. Figures for `cargo xtask bench plugin`.

use super::kit::Kit;
use event::{
    Actor, AppliesTo, BudgetSet, EventId, Expected, Fact, Label, NanoUsd, Origin, Period, PolicyApplied,
    PolicyText, PrincipalId, Proposed, SeatCreated, SeatHeld, SeatId, StreamName, TurnId,
};
use gate::{ApprovalTimes, Call, Gate, GateParts, Passed, Payload};
use record::{Record, SystemClock};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The settings of an office of one seat that may call the guest.
async fn office(record: &Record) -> EventId {
    let text = "@id(\"all\")\npermit (principal, action, resource);\n".to_owned();
    let files = vec![PolicyText { name: "all.cedar".to_owned(), text }];
    let digest = gate::policy::digest(&files);
    let seat = SeatId::parse("seat_desk").unwrap();
    let created = SeatCreated {
        seat: seat.clone(),
        role: "assistant".to_owned(),
        department: None,
        line: None,
        grants: vec!["hostile.*".to_owned()],
        accountabilities: Vec::new(),
        stands_in: None,
    };
    let held = SeatHeld { seat, principal: PrincipalId::parse("agent_chancery").unwrap() };
    let applied =
        PolicyApplied { digest, files, base: None, reason: String::new(), corrective: false, by: None };
    let applies_to = AppliesTo::Organisation;
    let purse = BudgetSet {
        budget: applies_to.budget(Period::Day),
        period: Period::Day,
        limit: NanoUsd::from_dollars("5").unwrap(),
        applies_to,
        time_zone: None,
        reason: String::new(),
    };
    let facts: [Fact; 4] = [applied.into(), purse.into(), created.into(), held.into()];
    let mut newest = EventId::derived(&["none"]);
    for (n, fact) in facts.into_iter().enumerate() {
        newest = EventId::derived(&["office", &n.to_string()]);
        let actor = Actor { principal: PrincipalId::host(), seat: None };
        let event = Proposed { id: newest.clone(), actor, cause: None, label: Label::host(), fact };
        let stream = StreamName::parse(&format!("office-{n}")).unwrap();
        record.append(stream, Expected::Any, vec![event]).await.unwrap();
    }
    newest
}

/// How long each of `calls` calls of the guest took, on a record in `folder`, or in memory.
pub(super) async fn calls(kit: &Kit, input: &Value, folder: Option<&Path>, calls: u32) -> Vec<Duration> {
    let clock = Arc::new(SystemClock);
    let record = match folder {
        Some(folder) => Record::open_sqlite(&folder.join("gated.sqlite"), clock.clone()).await.unwrap(),
        None => Record::open_memory(clock.clone()).await.unwrap(),
    };
    let cause = office(&record).await;
    let gate = Gate::new(GateParts {
        record,
        catalogue: kit.hands.clone(),
        guards: kit.hands.clone(),
        reach: kit.hands.clone(),
        clock,
        headroom: 3,
        approvals: ApprovalTimes::default(),
        drill: false,
    })
    .await
    .unwrap();
    let mut times = Vec::new();
    for step in 1..=calls {
        let call = Call {
            origin: Origin::Step { turn: TurnId::parse("turn_bench").unwrap(), step, attempt: 1 },
            seat: SeatId::parse("seat_desk").unwrap(),
            tool: "hostile.echo".to_owned(),
            topic: None,
            asker: None,
            unasked: false,
            goal: None,
            payload: Payload::Tool(input.clone()),
            label: Label::host(),
            of: BTreeSet::new(),
            cause: cause.clone(),
            fence: None,
            within: Vec::new(),
            drill: false,
        };
        let began = Instant::now();
        let passed = gate.pass(call, None).await.unwrap();
        times.push(began.elapsed());
        assert!(matches!(passed, Passed::Done { .. }), "{passed:?}");
    }
    times
}

#[tokio::test]
async fn a_call_through_the_whole_gate_is_admitted_run_and_settled() {
    let kit = super::kit::hostile(super::kit::small()).await;
    let folder = tempfile::tempdir().unwrap();
    let input = serde_json::json!({"text": "hello"});
    assert_eq!(calls(&kit, &input, None, 2).await.len(), 2);
    assert_eq!(calls(&kit, &input, Some(folder.path()), 2).await.len(), 2);
}
