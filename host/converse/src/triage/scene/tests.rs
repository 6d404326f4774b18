//! Who spoke when, in threads as small as each sign needs.

use super::signs;
use event::{
    Actor, Author, Digest, Event, EventId, Fact, GlobalPosition, Label, MessageReceived, Place, PlaceKind,
    Position, PrincipalId, Signs, StreamName, Timestamp, Topic, TurnEnded, TurnEnding, TurnId,
};

fn event(at: u64, fact: impl Into<Fact>) -> Event {
    Event {
        global_position: GlobalPosition(at),
        stream: StreamName::new("message", at),
        position: Position(1),
        id: EventId::derived(&[&at.to_string()]),
        at: Timestamp(0),
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause: None,
        label: Label::unknown(),
        fact: fact.into(),
        digest: Digest::of(b""),
        chain: Digest::of(b""),
    }
}

fn said(at: u64, user: &str, text: &str) -> Event {
    let bot = user.starts_with('B');
    let principal = (!bot).then(|| PrincipalId::parse(&format!("person_slack.T1.{user}")).unwrap());
    let place = Place {
        kind: PlaceKind::Channel,
        team: "T1".into(),
        channel: "C1".into(),
        ts: format!("{at}.0"),
        thread_ts: Some("1.0".into()),
    };
    let author = Author { principal, external: user.into(), bot };
    let mentions_office = text.contains("<@U0BOT>");
    event(
        at,
        MessageReceived {
            place,
            author,
            text: text.to_owned().into(),
            mentions_office,
            subtype: String::new(),
        },
    )
}

fn answered(at: u64, ending: TurnEnding) -> Event {
    let topic = Topic::parse("slack:T1:C1:1.0").unwrap();
    let turn = TurnId::derived(&[&at.to_string()]);
    event(at, TurnEnded { turn, topic, ending, summary: String::new().into(), sources: Vec::new() })
}

fn of(message: &Event, thread: Vec<Event>) -> Signs {
    let Fact::MessageReceived(body) = &message.fact else { panic!("no message") };
    signs(body, message, &thread, "U0BOT")
}

#[test]
fn whoever_was_answered_and_goes_on_is_known_in_any_language() {
    let next = said(9, "U1", "และต่อไปล่ะ");
    let office = answered(5, TurnEnding::Answered);
    let of = |thread: Vec<Event>| of(&next, thread).follows_office;
    assert!(of(vec![said(2, "U1", "<@U0BOT> x"), office.clone(), next.clone()]));
    assert!(of(vec![said(2, "U1", "x"), office.clone(), said(6, "B0BOT", "echo"), next.clone()]));
    assert!(!of(vec![said(2, "U2", "x"), office.clone(), next.clone()]), "another was answered");
    assert!(!of(vec![said(2, "U1", "x"), office, said(7, "U2", "y"), next.clone()]), "another spoke since");
    assert!(!of(vec![said(2, "U1", "x"), answered(5, TurnEnding::Silent), next.clone()]), "nothing was said");
    assert!(!of(vec![said(2, "U1", "x"), next.clone()]));
}

#[test]
fn a_reply_of_another_person_answers_and_one_of_the_asker_or_a_program_does_not() {
    let question = said(2, "U1", "wer weiß das?");
    let of = |reply: Event| of(&question, vec![question.clone(), reply]).replied_to;
    assert!(of(said(3, "U2", "ich")));
    assert!(!of(said(3, "U1", "niemand?")));
    assert!(!of(said(3, "B7", "a card")));
    assert!(!of(said(1, "U2", "before")));
}

#[test]
fn naming_others_is_told_by_entities_alone() {
    let of = |text: &str| of(&said(2, "U1", text), vec![]).names_others;
    assert!(of("can you look, <@U2>?") && of("<@U2> <@U3> 見て"));
    for text in ["can you look, @U2?", "me, <@U1>", "&lt;@U2&gt;", "<@U0BOT> and <@U2>", "<#C2>"] {
        assert!(!of(text), "{text}");
    }
}

#[test]
fn hops_are_the_answers_since_a_person_last_spoke() {
    let ask = said(9, "B7", "<@U0BOT> again");
    let office = |at| answered(at, TurnEnding::Answered);
    let thread =
        vec![said(1, "U1", "go"), office(2), said(3, "B7", "x"), office(4), said(5, "B7", "x"), office(6)];
    assert_eq!((of(&ask, thread.clone()).hops, of(&ask, thread.clone()).by_program), (3, true));
    let mut person = thread;
    person.push(said(7, "U2", "enough"));
    assert_eq!(of(&ask, person).hops, 0);
}
