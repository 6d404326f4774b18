//! A consequential call waits for a person's yes, runs once with exactly what was shown, and survives a crash at
//! every event.

use crate::kit::{Office, person, seat};
use event::{ApprovalId, DeniedBy, Event, Fact, Label, SeatVacated};
use gate::approval::WAIT_MS;
use gate::{Answer, AnswerError, ApprovalTimes, EffectClass, Passed};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn wanted() -> Value {
    json!({"channel": "C1", "text": "Everything is gone."})
}

async fn office() -> Office {
    Office::with(EffectClass::Destructive, "component").await
}

async fn waits(office: &Office, attempt: u32) -> ApprovalId {
    match office.pass(office.call(attempt, "slack.post", wanted())).await {
        Passed::Waits { approval, .. } => approval,
        other => panic!("{other:?}"),
    }
}

async fn answered(office: &Office, approval: &ApprovalId, answer: Answer) -> Event {
    office.gate.answer(approval, &person("person_owner"), answer).await.unwrap()
}

#[tokio::test]
async fn a_consequential_call_waits_and_holds_and_intends_nothing() {
    let office = office().await;
    let approval = waits(&office, 1).await;
    assert_eq!(waits(&office, 2).await, approval, "asking twice asks once");
    assert_eq!(office.kinds().await, ["approval.asked"]);
    let row = office.gate.approval(&approval).await.unwrap().unwrap();
    let asked = office.gate.asked_as(&row).await.unwrap();
    assert_eq!((asked.input.json(), asked.tool.as_str()), (&wanted(), "slack.post"));
    assert_eq!(asked.policies, ["consequential-asks"]);
    assert!(asked.reason.text().contains("person's yes"), "{}", asked.reason);
    assert_eq!(asked.expires_at.0, crate::kit::NOON + WAIT_MS);
    assert!(office.world.reached().is_empty());
}

#[tokio::test]
async fn a_yes_runs_exactly_what_was_shown_and_runs_it_once() {
    let office = office().await;
    let approval = waits(&office, 1).await;
    answered(&office, &approval, Answer::Yes).await;
    let changed = json!({"channel": "C1", "text": "Everything is gone!"});
    let other = office.pass(office.call(2, "slack.post", changed)).await;
    assert!(
        matches!(other, Passed::Waits { approval: ref of_other, .. } if *of_other != approval),
        "{other:?}"
    );
    let done = office.pass(office.call(2, "slack.post", wanted())).await;
    assert!(matches!(done, Passed::Done { .. }), "{done:?}");
    // The same deed tried again finds what was sent; another deed with the same words asks anew.
    let again = office.pass(office.call(3, "slack.post", wanted())).await;
    assert!(matches!(again, Passed::Done { .. }), "{again:?}");
    assert_eq!(office.world.reached(), [("slack.post".to_owned(), wanted())]);
    let mut next = office.call(1, "slack.post", wanted());
    next.origin = event::Origin::Step { turn: event::TurnId::derived(&["t"]), step: 4, attempt: 1 };
    assert!(matches!(office.pass(next).await, Passed::Waits { .. }));
    let spent = office.kinds().await;
    assert_eq!(spent.iter().filter(|kind| **kind == "approval.spent").count(), 1, "{spent:?}");
}

#[tokio::test]
async fn a_no_and_no_answer_are_denials_with_their_reason() {
    let office = office().await;
    let approval = waits(&office, 1).await;
    answered(&office, &approval, Answer::No("not today".into())).await;
    match office.pass(office.call(2, "slack.post", wanted())).await {
        Passed::Denied(denial) => {
            assert_eq!(denial.by, DeniedBy::Approval);
            assert!(denial.reason.contains("person_owner") && denial.reason.contains("not today"));
        }
        other => panic!("{other:?}"),
    }
    let silent = self::office().await;
    let approval = waits(&silent, 1).await;
    silent.clock.forward(WAIT_MS);
    let late = silent.gate.answer(&approval, &person("person_owner"), Answer::Yes).await;
    assert!(
        matches!(late, Err(AnswerError::Approval(fold::approval::CannotApprove::Expired(_)))),
        "{late:?}"
    );
    let expired = fold::approval::decide(
        silent.gate.approval(&approval).await.unwrap().as_ref(),
        fold::approval::Command::Expire,
        record::Clock::now(silent.clock.as_ref()),
    );
    silent.state("expired", expired.unwrap()).await;
    let denied = silent.pass(silent.call(2, "slack.post", wanted())).await;
    assert!(matches!(denied, Passed::Denied(ref denial) if denial.reason.contains("no answer is a no")));
    assert!(office.world.reached().is_empty() && silent.world.reached().is_empty());
}

#[tokio::test]
async fn only_a_person_whose_seat_policy_lets_answers_and_only_once() {
    let office = office().await;
    let approval = waits(&office, 1).await;
    for stranger in ["person_clerk", "person_nobody", "agent_chancery", "system_host"] {
        let said = office.gate.answer(&approval, &person(stranger), Answer::Yes).await;
        assert!(matches!(said, Err(AnswerError::NotEntitled { .. })), "{stranger}: {said:?}");
    }
    let unknown =
        office.gate.answer(&ApprovalId::derived(&["x"]), &person("person_owner"), Answer::Yes).await;
    assert!(matches!(unknown, Err(AnswerError::Approval(_))));
    answered(&office, &approval, Answer::Yes).await;
    for again in [Answer::Yes, Answer::No(String::new())] {
        let said = office.gate.answer(&approval, &person("person_owner"), again).await;
        assert!(matches!(said, Err(AnswerError::Approval(_))), "{said:?}");
    }
    assert_eq!(office.kinds().await, ["approval.asked", "approval.given"]);
}

#[tokio::test]
async fn nobody_answers_in_the_seat_that_asks_or_for_a_seat_they_left() {
    let office = office().await;
    let mut call = office.call(1, "slack.post", wanted());
    call.seat = seat("owner");
    // The owner's seat may ask nothing here, since no policy permits its role to post: give the desk's work to it.
    assert!(matches!(office.pass(call).await, Passed::Denied(_)));
    let approval = waits(&office, 1).await;
    let reason = "they left".to_owned();
    let vacated = SeatVacated { seat: seat("owner"), principal: person("person_owner"), reason };
    office.state("left", vacated.into()).await;
    let said = office.gate.answer(&approval, &person("person_owner"), Answer::Yes).await;
    assert!(matches!(said, Err(AnswerError::NotEntitled { .. })), "{said:?}");
}

#[tokio::test]
async fn another_component_is_another_question() {
    let office = office().await;
    let approval = waits(&office, 1).await;
    answered(&office, &approval, Answer::Yes).await;
    let events = office.events().await;
    let updated = Office::after(&events, EffectClass::Destructive, "another component").await;
    assert_ne!(waits(&updated, 2).await, approval);
    assert!(updated.world.reached().is_empty());
}

#[tokio::test]
async fn the_whole_order_runs_again_on_the_answer() {
    let office = office().await;
    let approval = waits(&office, 1).await;
    answered(&office, &approval, Answer::Yes).await;
    let subject = event::RefusalSubject::Seat(seat("desk"));
    let refusal = fold::refusal::refusal_id(&subject, "test");
    let raised = event::RefusalRaised { refusal, subject, reason: "too much".into(), lifts_at: None };
    office.state("raised", raised.into()).await;
    let refused = office.pass(office.call(2, "slack.post", wanted())).await;
    assert!(matches!(refused, Passed::Refused(_)), "{refused:?}");
    assert!(office.world.reached().is_empty());
}

#[tokio::test]
async fn a_crash_after_any_event_never_runs_it_twice_and_never_loses_the_answer() {
    let whole = office().await;
    let approval = waits(&whole, 1).await;
    answered(&whole, &approval, Answer::Yes).await;
    whole.pass(whole.call(2, "slack.post", wanted())).await;
    let events = whole.events().await;
    let asked = events.iter().position(|event| matches!(event.fact, Fact::ApprovalAsked(_))).unwrap();
    let intended = events.iter().position(|event| matches!(event.fact, Fact::EffectIntended(_))).unwrap();
    for stop in asked..=events.len() {
        let office = Office::after(&events[..stop], EffectClass::Destructive, "component").await;
        let mut passed = office.pass(office.call(3, "slack.post", wanted())).await;
        if let Passed::Waits { approval, .. } = &passed {
            answered(&office, approval, Answer::Yes).await;
            passed = office.pass(office.call(4, "slack.post", wanted())).await;
        }
        let reached = office.world.reached().len();
        // One commit holds the use of the yes and the intent, so a crash falls before both or after both.
        if events[..stop].len() <= intended
            && !matches!(events[stop - 1].fact, Fact::ApprovalSpent(_) | Fact::CallAdmitted(_))
        {
            assert!(matches!(passed, Passed::Done { .. }) && reached == 1, "{stop}: {passed:?}");
        } else if stop == events.len() {
            assert!(matches!(passed, Passed::Done { .. }) && reached == 0, "{stop}: {passed:?}");
        } else {
            assert!(matches!(passed, Passed::Unknown { .. }) && reached == 0, "{stop}: {passed:?}");
        }
    }
}

#[tokio::test]
async fn what_only_looks_consequential_asks_nobody() {
    let office = Office::with(EffectClass::External, "component").await;
    let done = office.pass(office.call(1, "slack.post", wanted())).await;
    assert!(matches!(done, Passed::Done { .. }), "{done:?}");
    let mut read = office.call(2, "slack.post", wanted());
    read.label = Label::public_untrusted();
    assert!(!office.kinds().await.contains(&"approval.asked"));
}

#[test]
fn a_class_may_wait_longer_and_never_for_ever() {
    let by_class = BTreeMap::from([(EffectClass::Privileged, i64::MAX), (EffectClass::Destructive, 1_000)]);
    let times = ApprovalTimes { wait_ms: 10, by_class };
    let now = event::Timestamp(5);
    assert_eq!(times.expires_at(EffectClass::Destructive, now).0, 1_005);
    assert_eq!(times.expires_at(EffectClass::External, now).0, 15);
    assert_eq!(times.expires_at(EffectClass::Privileged, now).0, 5 + gate::approval::WAIT_MS_MAX);
}

/// A later step that wants the same tool on the same place, with these words.
async fn later(office: &Office, step: u32, text: &str) -> Passed {
    let mut call = office.call(1, "slack.post", json!({"channel": "C1", "text": text}));
    call.origin = event::Origin::Step { turn: event::TurnId::derived(&["t"]), step, attempt: 1 };
    office.pass(call).await
}

#[tokio::test]
async fn a_yes_given_ahead_is_good_for_one_seat_one_tool_and_one_place_until_it_is_withdrawn() {
    let office = office().await;
    let approval = waits(&office, 1).await;
    let owner = person("person_owner");
    let by_clerk = office.gate.give_ahead(&approval, &person("person_clerk"), false, None, "why not").await;
    assert!(matches!(by_clerk, Err(AnswerError::NotEntitled { .. })), "{by_clerk:?}");
    office.gate.give_ahead(&approval, &owner, false, None, "it is asked every day").await.unwrap();
    assert!(matches!(later(&office, 4, "other words").await, Passed::Done { .. }));
    let admitted = office.events().await.into_iter().find_map(|event| match event.fact {
        Fact::CallAdmitted(admitted) => admitted.ahead,
        _ => None,
    });
    assert!(admitted.is_some(), "the record says which yes it was");
    let mut elsewhere = office.call(1, "slack.post", json!({"channel": "C2", "text": "other words"}));
    elsewhere.origin = event::Origin::Step { turn: event::TurnId::derived(&["t"]), step: 5, attempt: 1 };
    assert!(matches!(office.pass(elsewhere).await, Passed::Waits { .. }));
    office.gate.withdraw_ahead(&approval, &owner, "no more").await.unwrap();
    assert!(matches!(later(&office, 6, "still others").await, Passed::Waits { .. }));
    assert_eq!(office.world.reached().len(), 1);
}

#[tokio::test]
async fn a_yes_given_ahead_may_be_for_exact_arguments_and_for_a_time() {
    let office = office().await;
    let approval = waits(&office, 1).await;
    let owner = person("person_owner");
    let until = event::Timestamp(crate::kit::NOON + 1_000);
    office.gate.give_ahead(&approval, &owner, true, Some(until), "the weekly purge").await.unwrap();
    assert!(matches!(later(&office, 4, "other words").await, Passed::Waits { .. }));
    assert!(matches!(later(&office, 5, "Everything is gone.").await, Passed::Done { .. }));
    office.clock.forward(1_000);
    let mut next = office.call(1, "slack.post", wanted());
    next.origin = event::Origin::Step { turn: event::TurnId::derived(&["another"]), step: 1, attempt: 1 };
    assert!(matches!(office.pass(next).await, Passed::Waits { .. }));
}

#[tokio::test]
async fn how_often_a_person_answered_is_counted_by_the_day() {
    let office = office().await;
    for (step, answer) in [(4, Answer::Yes), (5, Answer::No(String::new())), (6, Answer::Yes)] {
        let Passed::Waits { approval, .. } = later(&office, step, "words").await else { panic!("{step}") };
        answered(&office, &approval, answer).await;
    }
    let rows = office.record.ranked("answer", i64::MIN, 10).await.unwrap();
    let counts: Vec<fold::approval::AnswersRow> =
        rows.iter().filter_map(|(_, row)| fold::decode(Some(row))).collect();
    assert_eq!(counts, [fold::approval::AnswersRow { given: 2, denied: 1 }]);
}

#[tokio::test]
async fn a_yes_ahead_has_a_reason_and_a_moment_to_come_and_only_what_was_given_is_withdrawn() {
    use fold::ahead::CannotGiveAhead as No;
    let office = office().await;
    let approval = waits(&office, 1).await;
    let owner = person("person_owner");
    let past = Some(event::Timestamp(crate::kit::NOON));
    for (until, reason, no) in [(past, "why", "MomentPassed"), (None, " ", "Reason")] {
        let said = office.gate.give_ahead(&approval, &owner, false, until, reason).await;
        assert!(format!("{said:?}").contains(no), "{said:?}");
    }
    let nothing = office.gate.withdraw_ahead(&approval, &owner, "why").await;
    assert!(matches!(nothing, Err(AnswerError::Ahead(No::NothingGiven))), "{nothing:?}");
    office.gate.give_ahead(&approval, &owner, false, None, "why").await.unwrap();
    office.gate.withdraw_ahead(&approval, &owner, "why").await.unwrap();
    let again = office.gate.withdraw_ahead(&approval, &owner, "why").await;
    assert!(matches!(again, Err(AnswerError::Ahead(No::NothingGiven))), "{again:?}");
}

#[tokio::test]
async fn nobody_says_yes_to_words_that_were_erased() {
    let office = office().await;
    let speaker = person("person_speaker");
    let said = event::DeliveryReceived {
        source: "test".into(),
        kind: "message".into(),
        event: String::new(),
        subtype: String::new(),
        external_id: String::new(),
        retry: 0,
        payload: event::Personal::of(json!("erase everything"), [speaker.clone()]),
    };
    office.state("said", said.into()).await;
    let mut call = office.call(1, "slack.post", wanted());
    call.of.insert(speaker.clone());
    let Passed::Waits { approval, .. } = office.pass(call).await else { panic!("it waits") };
    let keyring = office.record.keyring().unwrap();
    let key = keyring.key_id(&speaker).unwrap().unwrap();
    assert!(keyring.destroy(&speaker, &key).unwrap());
    let owner = person("person_owner");
    let yes = office.gate.answer(&approval, &owner, Answer::Yes).await;
    assert!(matches!(yes, Err(AnswerError::Erased)), "{yes:?}");
    let ahead = office.gate.give_ahead(&approval, &owner, false, None, "why").await;
    assert!(matches!(ahead, Err(AnswerError::Erased)), "{ahead:?}");
    assert!(office.gate.answer(&approval, &owner, Answer::No(String::new())).await.is_ok());
}
