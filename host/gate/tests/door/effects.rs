//! Effects at the door: once for one meaning, unknown until it is read back or a person has looked, and captured in
//! a drill.

use crate::kit::{Office, gave, person, reading, seat};
use event::{EffectId, Event, Fact, Origin, ReadBack, RequestAnswered, TurnId};
use fold::effect::recall::{ABSENT_GRACE_MS, FIRST_MS, OUTCOME_MS_MAX, RECALLS_MAX};
use fold::effect::{EffectRow, EffectState, TurnEffects};
use gate::{
    AnswerError, Call, EffectClass, Failure, FailureKind, Output, Passed, Reached, Reader, Recalled,
    StateError,
};
use record::Clock;
use serde_json::{Value, json};

const DAY_MS: i64 = 86_400_000;

fn words() -> Value {
    json!({"channel": "C1", "text": "The tide turns at six."})
}

async fn office() -> Office {
    Office::with(EffectClass::External, "component").await
}

/// The other side took it, and the answer was lost.
fn lost() -> Reached {
    let message = "the connection was dropped".to_owned();
    let failure = Failure { kind: FailureKind::Unavailable, message, retry_after_ms: None };
    Reached { outcome: Err(failure), request_sent: true, readings: Vec::new() }
}

fn reader() -> Reader {
    Reader { seat: seat("system"), holder: seat("owner"), fence: None }
}

/// An office in which one post was left unknown, and its effect.
async fn left_unknown() -> (Office, EffectId) {
    let office = office().await;
    office.world.tool_answers(lost());
    let passed = office.pass(office.call(1, "slack.post", words())).await;
    assert!(matches!(passed, Passed::Unknown { .. }), "{passed:?}");
    let effect = only_effect(&office.events().await);
    (office, effect)
}

fn only_effect(events: &[Event]) -> EffectId {
    let mut effects: Vec<EffectId> =
        events.iter().filter_map(|event| fold::effect::effect_of(&event.fact)).cloned().collect();
    effects.dedup();
    assert_eq!(effects.len(), 1, "{effects:?}");
    effects.remove(0)
}

async fn row(office: &Office, effect: &EffectId) -> EffectRow {
    office.gate.effect(effect).await.unwrap().unwrap()
}

/// What is due at the head of the queue of moments now.
async fn due(office: &Office) -> Vec<String> {
    let now = office.clock.now();
    let queue = office.record.ranked("moment", i64::MIN, 100).await.unwrap();
    let due = queue.into_iter().filter(|(_, row)| row.rank.is_some_and(|at| at <= now.0));
    due.map(|(key, _)| key).collect()
}

async fn read_back(office: &Office, effect: &EffectId, said: Value) -> Recalled {
    office.world.tool_answers(gave(said));
    office.gate.read_back(effect, &reader()).await.unwrap()
}

fn of<'e>(events: &'e [Event], kind: &str) -> Vec<&'e Event> {
    events.iter().filter(|event| event.fact.kind() == kind).collect()
}

#[tokio::test]
async fn an_answer_lost_after_the_other_side_accepted_is_unknown_and_settled_by_reading_back() {
    let (office, effect) = left_unknown().await;
    // However a retry or a later step words it, it is not sent again.
    let reworded = json!({"text": "The tide  turns at six. \n", "channel": "C1"});
    for again in [office.call(2, "slack.post", words()), office.call(3, "slack.post", reworded)] {
        assert!(matches!(office.pass(again).await, Passed::Unknown { .. }));
    }
    assert_eq!(office.world.reached().len(), 1);
    assert!(due(&office).await.is_empty(), "the other side gets a moment");
    office.clock.forward(FIRST_MS);
    assert_eq!(due(&office).await, [fold::moment::effect_key(&effect)]);
    let found = json!({"found": {"channel": "C1", "ts": "7.0"}});
    assert_eq!(read_back(&office, &effect, found).await, Recalled::Sent);
    let known = row(&office, &effect).await;
    assert_eq!((known.state, known.recalling), (EffectState::Sent, None));
    assert_eq!(known.reference, Some(json!({"channel": "C1", "ts": "7.0"})));
    assert!(due(&office).await.is_empty());
    // Whoever wants it once more is given what stands there.
    let again = office.pass(office.call(4, "slack.post", words())).await;
    let Passed::Done { output: Output::Tool(output), .. } = again else { panic!("{again:?}") };
    assert_eq!(output, json!({"channel": "C1", "ts": "7.0"}));
    assert_eq!(office.gate.read_back(&effect, &reader()).await.unwrap(), Recalled::NotWanted);
    let posts = office.world.reached().into_iter().filter(|(tool, _)| tool == "slack.post").count();
    assert_eq!(posts, 1, "exactly one arrives");
}

#[tokio::test]
async fn reading_back_is_a_call_of_its_own_with_a_receipt_and_the_original_arguments() {
    let (office, effect) = left_unknown().await;
    let before = office.events().await;
    office.clock.forward(FIRST_MS);
    read_back(&office, &effect, json!({"found": {"ts": "7.0"}})).await;
    let events = office.events().await;
    let new = &events[before.len()..];
    let kinds: Vec<&str> = new.iter().map(|event| event.fact.kind()).collect();
    assert_eq!(kinds, ["call.admitted", "receipt.recorded", "effect.recalled", "effect.sent"]);
    let Fact::CallAdmitted(admitted) = &new[0].fact else { panic!() };
    let unknown = of(&events, "effect.left-unknown")[0];
    let origin = Origin::Duty { event: unknown.id.clone(), kind: "recall".into(), attempt: 1 };
    assert_eq!((admitted.tool.as_str(), &admitted.origin), ("slack.recall", &origin));
    assert_eq!(admitted.policies, ["system-recalls"]);
    let (tool, asked) = office.world.reached().pop().unwrap();
    assert_eq!(tool, "slack.recall");
    let around = row(&office, &effect).await.intended_at.0;
    // In the workspace of the topic, which the arguments do not name.
    let team = "T1";
    let wanted =
        json!({"tool": "slack.post", "key": effect, "input": words(), "around_ms": around, "team": team});
    assert_eq!(asked, wanted);
    // It is told where the call is told, and follows from it.
    assert_eq!(new[2].stream, unknown.stream);
    assert_eq!(new[3].cause.as_ref(), Some(&unknown.id));
}

#[tokio::test]
async fn absent_is_not_believed_while_it_may_still_arrive_and_then_it_may_be_sent_by_a_new_decision() {
    let (office, effect) = left_unknown().await;
    let mut looks = 0;
    let since = office.clock.now();
    loop {
        let next = row(&office, &effect).await.recalling.unwrap().next_at.unwrap();
        office.clock.forward(next.since_ms(office.clock.now()));
        looks += 1;
        match read_back(&office, &effect, json!({"absent": true})).await {
            Recalled::Again(at) => {
                assert!(at > office.clock.now());
                assert_eq!(row(&office, &effect).await.state, EffectState::Unknown);
                assert!(matches!(
                    office.pass(office.call(2, "slack.post", words())).await,
                    Passed::Unknown { .. }
                ));
            }
            Recalled::Failed => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(office.clock.now().since_ms(since), ABSENT_GRACE_MS);
    assert!((3..=RECALLS_MAX).contains(&looks), "{looks}");
    assert_eq!(row(&office, &effect).await.state, EffectState::Failed);
    let sent =
        |office: &Office| office.world.reached().iter().filter(|(tool, _)| tool == "slack.post").count();
    assert_eq!(sent(&office), 1, "nothing is sent by reading back");
    assert!(matches!(office.pass(office.call(3, "slack.post", words())).await, Passed::Done { .. }));
    assert_eq!(sent(&office), 2, "and a new call may");
}

#[tokio::test]
async fn what_cannot_be_told_is_asked_of_a_person_after_a_bounded_number_of_tries() {
    let (office, effect) = left_unknown().await;
    for tries in 1..=RECALLS_MAX {
        let next = row(&office, &effect).await.recalling.unwrap().next_at.unwrap();
        office.clock.forward(next.since_ms(office.clock.now()));
        let said = match tries % 2 {
            0 => gave(json!({"cannot_say": "too many messages"})),
            _ => lost(),
        };
        office.world.tool_answers(said);
        let came_to = office.gate.read_back(&effect, &reader()).await.unwrap();
        assert_eq!(matches!(came_to, Recalled::Again(_)), tries < RECALLS_MAX, "{tries}: {came_to:?}");
        assert_eq!(came_to == Recalled::Person, tries == RECALLS_MAX);
    }
    let events = office.events().await;
    assert_eq!(of(&events, "effect.recalled").len(), RECALLS_MAX as usize);
    let Fact::RequestAsked(asked) = &of(&events, "request.asked")[0].fact else { panic!() };
    assert_eq!((&asked.asker, &asked.holder), (&seat("system"), &seat("owner")));
    assert!(asked.wanted.text().contains(&format!("chancery effect settle {effect}")), "{}", asked.wanted);
    assert!(asked.due_at.since_ms(office.clock.now()) == DAY_MS);
    office.clock.forward(DAY_MS);
    assert!(!due(&office).await.contains(&fold::moment::effect_key(&effect)), "nothing looks again");
}

#[tokio::test]
async fn a_tool_that_cannot_be_read_back_goes_to_a_person_at_once() {
    let office = office().await;
    office.world.tool_answers(lost());
    office.pass(office.call(1, "terminal.say", json!({"session": "s", "text": "hello"}))).await;
    let effect = only_effect(&office.events().await);
    office.clock.forward(FIRST_MS);
    assert_eq!(office.gate.read_back(&effect, &reader()).await.unwrap(), Recalled::Person);
    assert_eq!(office.world.reached().len(), 1, "nothing was asked outside");
    let events = office.events().await;
    let Fact::EffectRecalled(recalled) = &of(&events, "effect.recalled")[0].fact else { panic!() };
    assert_eq!((&recalled.said, recalled.again_at), (&ReadBack::CannotSay, None));
    assert!(recalled.reason.text().contains("`terminal.say`"));
}

#[tokio::test]
async fn a_person_who_looked_has_the_last_word_and_answers_the_request() {
    for (happened, state, outcome) in
        [(true, EffectState::Sent, "effect.sent"), (false, EffectState::Failed, "effect.failed")]
    {
        let office = office().await;
        office.world.tool_answers(lost());
        office.pass(office.call(1, "terminal.say", json!({"session": "s", "text": "hello"}))).await;
        let effect = only_effect(&office.events().await);
        office.clock.forward(FIRST_MS);
        office.gate.read_back(&effect, &reader()).await.unwrap();
        let owner = person("person_owner");
        for stranger in ["person_clerk", "person_nobody", "agent_chancery"] {
            let said = office.gate.state_effect(&effect, &person(stranger), happened, "I looked").await;
            let no = matches!(said, Err(StateError::Answer(AnswerError::NotEntitled { .. })));
            assert!(no, "{stranger}: {said:?}");
        }
        let nothing = office.gate.state_effect(&effect, &owner, happened, "  ").await;
        assert!(matches!(nothing, Err(StateError::Length(0))), "{nothing:?}");
        let stated =
            office.gate.state_effect(&effect, &owner, happened, "it is on the screen").await.unwrap();
        let kinds: Vec<&str> = stated.iter().map(|event| event.fact.kind()).collect();
        assert_eq!(kinds, ["effect.stated", outcome, "request.answered"]);
        assert_eq!(stated[0].actor.principal, owner, "in their own name");
        assert_eq!(row(&office, &effect).await.state, state);
        let Fact::RequestAnswered(RequestAnswered { by, .. }) = &stated[2].fact else { panic!() };
        assert_eq!(by, &seat("owner"));
        let again = office.gate.state_effect(&effect, &owner, !happened, "no, really").await;
        assert!(matches!(again, Err(StateError::Known { .. })), "{again:?}");
    }
}

#[tokio::test]
async fn nobody_states_what_became_of_an_effect_that_is_known_or_under_way() {
    let office = office().await;
    office.pass(office.call(1, "slack.post", words())).await;
    let effect = only_effect(&office.events().await);
    let owner = person("person_owner");
    let said = office.gate.state_effect(&effect, &owner, false, "I looked").await;
    assert!(matches!(said, Err(StateError::Known { state: EffectState::Sent, .. })), "{said:?}");
    let unheard = EffectId::derived(&["x"]);
    let said = office.gate.state_effect(&unheard, &owner, false, "I looked").await;
    assert!(matches!(said, Err(StateError::NoSuch(_))), "{said:?}");
}

/// What a host that was killed in the middle of reading back leaves is no obstacle for the next.
#[tokio::test]
async fn a_crash_after_any_event_of_reading_back_ends_with_the_same_answer() {
    let (whole, effect) = left_unknown().await;
    let unknown = whole.events().await.len();
    whole.clock.forward(FIRST_MS);
    read_back(&whole, &effect, json!({"found": {"ts": "7.0"}})).await;
    let events = whole.events().await;
    for stop in unknown..=events.len() {
        // The outcome and what it follows from are one commit.
        let torn = events.get(stop).is_some_and(|event| event.fact.kind() == "effect.sent");
        if torn {
            continue;
        }
        let office = Office::after(&events[..stop], EffectClass::External, "component").await;
        office.clock.forward(FIRST_MS);
        let came_to = read_back(&office, &effect, json!({"found": {"ts": "7.0"}})).await;
        let wanted = if stop == events.len() { Recalled::NotWanted } else { Recalled::Sent };
        assert_eq!(came_to, wanted, "{stop}");
        assert_eq!(row(&office, &effect).await.state, EffectState::Sent, "{stop}");
        assert_eq!(of(&office.events().await, "effect.sent").len(), 1, "{stop}");
    }
}

#[tokio::test]
async fn two_that_read_back_at_once_and_a_person_say_one_thing() {
    let (office, effect) = left_unknown().await;
    office.clock.forward(FIRST_MS);
    office.world.tool_answers(gave(json!({"found": {"ts": "7.0"}})));
    office.world.tool_answers(gave(json!({"absent": true})));
    let (reader, owner) = (reader(), person("person_owner"));
    let (one, other, stated) = tokio::join!(
        office.gate.read_back(&effect, &reader),
        office.gate.read_back(&effect, &reader),
        office.gate.state_effect(&effect, &owner, true, "it is there"),
    );
    drop((one, other, stated));
    let events = office.events().await;
    assert_eq!(of(&events, "effect.sent").len() + of(&events, "effect.failed").len(), 1);
    assert_eq!(row(&office, &effect).await.state, EffectState::Sent);
}

#[tokio::test]
async fn an_effect_that_was_intended_and_forgotten_comes_due() {
    let whole = office().await;
    whole.pass(whole.call(1, "slack.post", words())).await;
    let events = whole.events().await;
    let intended = events.iter().position(|event| event.fact.kind() == "effect.intended").unwrap();
    let office = Office::after(&events[..=intended], EffectClass::External, "component").await;
    office.clock.forward(OUTCOME_MS_MAX - 1);
    assert!(due(&office).await.is_empty());
    office.clock.forward(1);
    assert_eq!(due(&office).await, [fold::moment::effect_key(&only_effect(&events))]);
}

fn drilled(office: &Office, attempt: u32, tool: &str, input: Value) -> Call {
    Call { drill: true, ..office.call(attempt, tool, input) }
}

#[tokio::test]
async fn a_drill_captures_the_whole_effect_reaches_nothing_and_looks_like_a_success() {
    let office = office().await;
    let passed = office.pass(drilled(&office, 1, "slack.post", words())).await;
    let Passed::Done { output: Output::Tool(output), receipts, .. } = passed else { panic!("{passed:?}") };
    assert!(output["note"].as_str().unwrap().contains("nothing was sent"), "{output}");
    assert!(receipts.is_empty() && office.world.reached().is_empty());
    assert_eq!(office.kinds().await, ["call.admitted", "effect.captured"]);
    let events = office.events().await;
    let Fact::EffectCaptured(captured) = &of(&events, "effect.captured")[0].fact else { panic!() };
    assert_eq!((captured.input.json(), captured.tool.as_str()), (&words(), "slack.post"));
    assert_eq!(output["captured"], json!(captured.effect));
    // The same words again in the drill are the same effect.
    assert!(matches!(office.pass(drilled(&office, 2, "slack.post", words())).await, Passed::Done { .. }));
    assert_eq!(of(&office.events().await, "effect.captured").len(), 1);
    assert!(due(&office).await.is_empty(), "nothing is left to find out");
    // What was captured was never sent, so it stands in nobody's way.
    assert!(matches!(office.pass(office.call(3, "slack.post", words())).await, Passed::Done { .. }));
    assert_eq!(office.world.reached().len(), 1);
    assert_eq!(row(&office, &captured.effect).await.state, EffectState::Sent);
}

#[tokio::test]
async fn a_drill_denies_and_asks_as_ever_and_its_reads_and_inference_run() {
    let office = Office::with(EffectClass::Destructive, "component").await;
    let waits = office.pass(drilled(&office, 1, "slack.post", words())).await;
    assert!(matches!(waits, Passed::Waits { .. }), "{waits:?}");
    let react = office.pass(drilled(&office, 1, "slack.react", json!({"channel": "C1"}))).await;
    assert!(matches!(react, Passed::Denied(_)), "no grant is no grant in a drill");
    let infer = Call { drill: true, ..office.infer(5, 1) };
    assert!(matches!(office.pass(infer).await, Passed::Done { .. }));
    assert_eq!(office.world.reached().len(), 1, "the model was asked, and paid for");
    assert!(office.kinds().await.contains(&"hold.settled"));
}

#[tokio::test]
async fn the_effects_of_a_turn_are_listed_in_order_each_once() {
    let office = office().await;
    let at = |step: u32, call: Call| {
        let origin = Origin::Step { turn: TurnId::derived(&["t"]), step, attempt: 1 };
        Call { origin, ..call }
    };
    let say = |text: &str| json!({"session": "s", "text": text});
    office.pass(at(1, office.call(1, "terminal.say", say("one")))).await;
    office.pass(at(2, office.call(1, "slack.post", words()))).await;
    office.pass(at(3, office.call(1, "terminal.say", say(" one ")))).await;
    office.pass(at(4, drilled(&office, 1, "terminal.say", say("two")))).await;
    let turn = TurnId::derived(&["t"]);
    let listed = office.record.row(fold::Projection::name(&TurnEffects), turn.as_str()).await.unwrap();
    let listed: Vec<EffectId> = fold::decode(listed.as_ref()).unwrap();
    let mut states = Vec::new();
    for effect in &listed {
        let row = row(&office, effect).await;
        states.push((row.tool, row.state));
    }
    let said = |tool: &str, state| (tool.to_owned(), state);
    assert_eq!(
        states,
        [
            said("terminal.say", EffectState::Sent),
            said("slack.post", EffectState::Sent),
            said("terminal.say", EffectState::Captured),
        ]
    );
}

/// The way out says what left; what the guest says about it changes nothing.
#[tokio::test]
async fn a_guest_that_says_nothing_left_is_not_believed() {
    let denies = |kind: FailureKind, readings: usize, request_sent: bool| Reached {
        outcome: Err(Failure { kind, message: "nothing was sent, try again".into(), retry_after_ms: None }),
        request_sent,
        readings: (0..readings).map(|_| reading()).collect(),
    };
    for (kind, readings, left, state) in [
        (FailureKind::InvalidInput, 0, true, EffectState::Unknown),
        (FailureKind::RateLimited, 0, true, EffectState::Unknown),
        (FailureKind::Unavailable, 1, true, EffectState::Unknown),
        (FailureKind::Other("not-sent".into()), 1, true, EffectState::Unknown),
        (FailureKind::Guest, 1, true, EffectState::Unknown),
        (FailureKind::Unavailable, 0, false, EffectState::Failed),
        (FailureKind::Guest, 0, false, EffectState::Failed),
        (FailureKind::RateLimited, 1, true, EffectState::Failed),
    ] {
        let office = office().await;
        office.world.tool_answers(denies(kind.clone(), readings, left));
        office.pass(office.call(1, "slack.post", words())).await;
        let effect = only_effect(&office.events().await);
        assert_eq!(row(&office, &effect).await.state, state, "{kind:?} {readings} {left}");
    }
}
