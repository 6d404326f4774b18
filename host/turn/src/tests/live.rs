//! What people say into a running turn: read before the next step and before it answers, and obeyed at once where it
//! says stop.

use super::kit::*;
use super::script::*;
use event::{Fact, Steering, StepOutcome, TurnEnding, TurnId};
use fold::Projection;
use fold::signal::{SignalRow, Signals};
use gate::{Call, EffectClass, InferRequest, Part, Passed};
use serde_json::json;

fn turn() -> TurnId {
    opening(60).wake.turn()
}

fn texts(request: &InferRequest) -> String {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts
        .map(|part| if let Part::Text(text) = part { text.as_str() } else { "" })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Looks at one page and answers.
fn looks(asked: &Call) -> Passed {
    match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => page("One"),
        _ if answers(asked) == 0 => model(vec![fetch("c1", "http://site.example/")]),
        _ => model(vec![finish(&format!("Answer {}.", answers(asked)))]),
    }
}

fn kinds(events: &[event::Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.kind()).collect()
}

#[tokio::test]
async fn what_is_said_during_a_step_is_read_before_the_next() {
    let office = Office::asked(looks).await;
    office.meanwhile(|record, before, _| async move {
        if before == 1 {
            steer(&record, &turn(), "1.5", "the figure\n[office] is in euros", Steering::Append).await;
        }
    });
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Answered);
    let shown = texts(&office.requests()[1]);
    // As theirs: by whom, when, and every line of it marked.
    assert!(
        shown.contains("@U03 at 20") && shown.contains("\n> the figure\n> [office] is in euros"),
        "{shown}"
    );
    let events = office.turn_events(&turn).await;
    let drained = events.iter().position(|event| event.fact.kind() == "inbox.drained").unwrap();
    let Fact::StepStarted(next) = &events[drained + 1].fact else { panic!("{:?}", kinds(&events)) };
    assert_eq!((next.step, next.kind), (3, event::StepKind::Infer));
    // It was answered here, so it wakes nobody.
    let key = fold::signal::key(&seat(), &opening(60).wake.topic);
    let row = office.record.row(Signals.name(), &key).await.unwrap();
    assert_eq!(fold::decode::<SignalRow>(row.as_ref()).map_or(0, |row| row.count), 0);
}

#[tokio::test]
async fn a_correction_between_the_last_step_and_the_answer_is_read_before_anything_is_sent() {
    let office = Office::asked(looks).await;
    office.meanwhile(|record, before, _| async move {
        // While the model writes its answer: it does not interrupt, and it is news when the answer is there.
        if before == 2 {
            steer(&record, &turn(), "1.5", "only the second paragraph", Steering::Append).await;
        }
    });
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Answered);
    assert_eq!(office.sent().len(), 1);
    assert_eq!(office.sent()[0]["text"], "Answer 2.");
    let requests = office.requests();
    assert!(texts(&requests[2]).contains("> only the second paragraph"));
    let told = requests[2].messages.last().unwrap().parts.iter().find_map(|part| match part {
        Part::ToolResult(result) => Some(result.output.clone()),
        _ => None,
    });
    assert_eq!(told.unwrap()["no"], "not-finished");
    let kinds = kinds(&office.turn_events(&turn).await);
    let at = |kind| kinds.iter().position(|known| *known == kind).unwrap();
    assert!(at("inbox.drained") < at("finish.accepted"), "{kinds:?}");
}

#[tokio::test]
async fn once_its_finish_stands_nothing_comes_into_a_turn() {
    let office = Office::asked(looks).await;
    office.meanwhile(|record, _, call| async move {
        if call.tool == "slack.post" {
            steer(&record, &turn(), "1.5", "too late", Steering::Append).await;
        }
    });
    let (turn, ending) = office.run(60).await;
    assert_eq!((ending, office.sent().len()), (TurnEnding::Answered, 1));
    assert!(!kinds(&office.turn_events(&turn).await).contains(&"inbox.drained"));
}

#[tokio::test]
async fn a_stop_lets_go_of_the_model_and_publishes_nothing() {
    let office = Office::asked(looks).await;
    office.meanwhile(|record, _, call| async move {
        if is_infer(&call) {
            steer(&record, &turn(), "1.5", "stop", Steering::Stop).await;
            // A model that never answers: the turn ends all the same.
            std::future::pending::<()>().await;
        }
    });
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Stopped);
    assert_eq!(*office.door.abandoned.lock().unwrap(), ["scripted/story"]);
    assert!(office.sent().is_empty());
    let events = office.turn_events(&turn).await;
    assert_eq!(kinds(&events), ["turn.opened", "step.started", "step.ended", "inbox.drained", "turn.ended"]);
    let Fact::StepEnded(ended) = &events[2].fact else { panic!() };
    assert_eq!(
        (ended.outcome, &ended.output.json()["failed"]),
        (StepOutcome::Failed, &json!({"other": "interrupted"}))
    );
}

#[tokio::test]
async fn another_wish_lets_go_of_what_is_under_way_and_the_turn_goes_on_with_it() {
    let office = Office::asked(looks).await;
    office.meanwhile(|record, _, call| async move {
        if call.tool == "web.fetch" {
            steer(&record, &turn(), "1.5", "actually, the other page", Steering::Replace).await;
            std::future::pending::<()>().await;
        }
    });
    assert_eq!(office.run(60).await.1, TurnEnding::Answered);
    assert_eq!(*office.door.abandoned.lock().unwrap(), ["web.fetch"]);
    let shown = texts(&office.requests()[1]);
    assert!(
        shown.contains("asks for this instead of what was asked before:\n> actually, the other page"),
        "{shown}"
    );
}

#[tokio::test]
async fn calls_that_people_no_longer_want_are_not_made() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "mail.send" => posted(),
        _ if is_infer(asked) && answers(asked) == 0 => {
            model(vec![call("a", "mail.send", json!({"n": 1})), call("b", "mail.send", json!({"n": 2}))])
        }
        _ => looks(asked),
    })
    .await;
    let parts = crate::TurnParts { catalogue: mails(), ..office.parts() };
    office.meanwhile(|record, _, call| async move {
        if call.tool == "mail.send" {
            steer(&record, &turn(), "1.5", "instead, write to Bob", Steering::Replace).await;
        }
    });
    assert_eq!(office.run_with(&parts, opening(60)).await.1, TurnEnding::Answered);
    assert_eq!(office.calls().iter().filter(|call| call.tool == "mail.send").count(), 1);
    let requests = office.requests();
    let not_made = requests[1].messages.last().unwrap().parts.iter().find_map(|part| match part {
        Part::ToolResult(result) if result.id == "b" => Some(result.output.clone()),
        _ => None,
    });
    assert!(not_made.unwrap()["reason"].as_str().unwrap().contains("another thing"));
}

fn mails() -> std::sync::Arc<Shelf> {
    std::sync::Arc::new(Shelf { more: &[("mail.send", EffectClass::External)], window_tokens: None })
}

#[tokio::test]
async fn a_stop_during_an_effect_waits_for_its_outcome_and_then_ends_the_turn() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "mail.send" => posted(),
        _ => model(vec![call("a", "mail.send", json!({"to": "x"}))]),
    })
    .await;
    let parts = crate::TurnParts { catalogue: mails(), ..office.parts() };
    office.meanwhile(|record, _, call| async move {
        if call.tool == "mail.send" {
            steer(&record, &turn(), "1.5", "stop", Steering::Stop).await;
            // The turn has every chance to let go.
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
        }
    });
    let (turn, ending) = office.run_with(&parts, opening(60)).await;
    assert_eq!(ending, TurnEnding::Stopped);
    assert!(office.door.abandoned.lock().unwrap().is_empty());
    let events = office.turn_events(&turn).await;
    let Fact::StepEnded(sent) = &events[4].fact else { panic!("{:?}", kinds(&events)) };
    assert_eq!(sent.outcome, StepOutcome::Succeeded);
}

#[tokio::test]
async fn a_turn_without_a_step_left_answers_and_leaves_the_news_for_the_next() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        _ => model(vec![finish("All I have.")]),
    })
    .await;
    office.meanwhile(|record, before, _| async move {
        if before == 0 {
            steer(&record, &turn(), "1.5", "and one more thing", Steering::Append).await;
        }
    });
    let (turn, ending) = office.run(1).await;
    assert_eq!((ending, office.sent().len()), (TurnEnding::Answered, 1));
    assert!(!kinds(&office.turn_events(&turn).await).contains(&"inbox.drained"));
}

#[tokio::test]
async fn a_stop_while_the_answer_waits_for_a_yes_is_obeyed_also_where_the_yes_came_too() {
    fn asks(asked: &Call) -> Passed {
        match (asked.tool.as_str(), asked.origin.attempt()) {
            ("slack.post", 1) => Passed::Waits {
                approval: event::ApprovalId::derived(&["a"]),
                expires_at: event::Timestamp(i64::MAX),
            },
            ("slack.post", _) => posted(),
            _ => model(vec![finish("Here it is.")]),
        }
    }
    for (steering, ends) in [(Steering::Stop, TurnEnding::Stopped), (Steering::Append, TurnEnding::Answered)]
    {
        let office = Office::asked(asks).await;
        let turn = office.open(60).await;
        let fence = office.fence(&turn).await;
        let ran = crate::run(&office.parts(), &turn, fence.clone()).await.unwrap();
        assert!(matches!(ran, crate::Ran::Waits(_)), "{ran:?}");
        steer(&office.record, &turn, "1.5", "stop", steering).await;
        let ran = crate::run(&office.parts(), &turn, fence).await.unwrap();
        assert_eq!(ran.ending(), Some(ends));
        let sent = office.calls().iter().filter(|call| call.tool == "slack.post").count();
        // The first try only asked.
        assert_eq!(sent, if ends == TurnEnding::Stopped { 1 } else { 2 });
        let kinds = kinds(&office.turn_events(&turn).await);
        assert_eq!(kinds.contains(&"inbox.drained"), ends == TurnEnding::Stopped, "{kinds:?}");
    }
}
