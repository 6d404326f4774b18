//! A fact of every kind that has personal fields, with the same words in each of them.

use crate::tests::kit::{account, id, proposed};
use event::{
    Actor, ApprovalAsked, ApprovalDenied, ApprovalId, Author, CallAdmitted, CallDenied, DeliveryReceived,
    DeniedBy, Digest, EffectFailed, EffectId, EffectIntended, EffectLeftUnknown, Fact, Label,
    MessageReceived, Origin, Personal, Place, PlaceKind, PrincipalId, Proposed, ReceiptId, ReceiptRecorded,
    RequestAnswered, RequestAsked, RequestId, SeatCreated, SeatHeld, SeatId, StepEnded, StepKind,
    StepOutcome, StepStarted, SubjectShredded, Timestamp, Topic, TurnEnded, TurnEnding, TurnId,
};
use serde_json::json;

pub fn person(n: u8) -> PrincipalId {
    PrincipalId::parse(&format!("person_{n}")).unwrap()
}

fn topic(n: u8) -> Topic {
    Topic::parse(&format!("slack:T1:C1:1.{n}")).unwrap()
}

fn turn(n: u8) -> TurnId {
    TurnId::derived(&[&n.to_string()])
}

fn seat(name: &str) -> SeatId {
    SeatId::parse(&format!("seat_{name}")).unwrap()
}

/// What persons bring in themselves, on thread `n`; the last of them is the author.
pub fn brought(n: u8, words: &str, of: &[PrincipalId]) -> Vec<Fact> {
    let text = |words: &str| Personal::of(words.to_owned(), of.to_vec());
    let author = of.last().cloned();
    let place = Place {
        kind: PlaceKind::Im,
        team: "T1".into(),
        channel: "C1".into(),
        ts: format!("1.{n}"),
        thread_ts: Some(format!("1.{}", n % 2)),
    };
    let delivery = DeliveryReceived {
        source: "slack".into(),
        kind: "event_callback".into(),
        event: "message".into(),
        subtype: String::new(),
        external_id: String::new(),
        retry: 0,
        payload: Personal::of(json!({"event": {"text": words}, "sealed": 1}), of.to_vec()),
    };
    let message = MessageReceived {
        place,
        author: Author { principal: author, external: "U1".into(), bot: false },
        text: text(words),
        mentions_office: true,
        subtype: String::new(),
    };
    vec![delivery.into(), message.into()]
}

/// What derives from their words.
pub fn derived(n: u8, words: &str, of: &[PrincipalId]) -> Vec<Fact> {
    let text = || Personal::of(words.to_owned(), of.to_vec());
    let value = || Personal::of(json!({"text": words}), of.to_vec());
    let origin = Origin::Step { turn: turn(n), step: 1, attempt: 1 };
    let (tool, digest) = ("slack.post".to_owned(), Digest::of(b"x"));
    let effect = EffectId::derived(&[&n.to_string()]);
    let request = RequestId::derived(&[&n.to_string()]);
    let (asker, holder) = (seat("asker"), seat("holder"));
    let mut facts = turns(n, &tool, of, words);
    facts.extend([
        CallAdmitted {
            origin: origin.clone(),
            tool: tool.clone(),
            resource: text(),
            content: digest.clone(),
            component: digest.clone(),
            policies: vec![],
            policy_set: digest.clone(),
            ahead: None,
            account: None,
            violates_flow: false,
        }
        .into(),
        CallDenied {
            origin: origin.clone(),
            tool: tool.clone(),
            resource: text(),
            content: digest.clone(),
            by: DeniedBy::Policy,
            policies: vec![],
            policy_set: digest.clone(),
            reason: text(),
            account: None,
            violates_flow: false,
        }
        .into(),
        EffectIntended {
            effect: effect.clone(),
            origin: origin.clone(),
            tool: tool.clone(),
            input: value(),
            content: digest.clone(),
            account: None,
            inside: false,
            workspace: None,
        }
        .into(),
        EffectFailed { effect: effect.clone(), reason: text() }.into(),
        EffectLeftUnknown { effect, reason: text() }.into(),
        ReceiptRecorded {
            receipt: ReceiptId::derived(&[&n.to_string()]),
            origin: origin.clone(),
            method: "GET".into(),
            address: text(),
            status: 200,
            sha256: digest.clone(),
            bytes: 1,
            read_at: Timestamp(1),
            untrusted: true,
        }
        .into(),
        RequestAsked {
            request: request.clone(),
            asker: asker.clone(),
            holder: holder.clone(),
            topic: topic(n),
            wanted: text(),
            due_at: Timestamp(100),
        }
        .into(),
        RequestAnswered { request, by: holder.clone(), topic: topic(n), asker, answer: text() }.into(),
        ApprovalAsked {
            discloses: None,
            approval: ApprovalId::derived(&[&n.to_string()]),
            origin,
            seat: holder,
            topic: Some(topic(n)),
            tool,
            resource: text(),
            input: value(),
            content: digest.clone(),
            component: digest,
            effect: "write".into(),
            policies: vec![],
            reason: text(),
            expires_at: Timestamp(100),
        }
        .into(),
    ]);
    facts
}

fn turns(n: u8, tool: &str, of: &[PrincipalId], words: &str) -> Vec<Fact> {
    let value = || Personal::of(json!([words]), of.to_vec());
    let started = StepStarted {
        turn: turn(n),
        step: 1,
        attempt: 1,
        kind: StepKind::Tool,
        tool: tool.to_owned(),
        input: value(),
        call_id: None,
    };
    let ended = StepEnded {
        turn: turn(n),
        step: 1,
        attempt: 1,
        outcome: StepOutcome::Succeeded,
        output: value(),
        output_label: Label::unknown(),
        receipts: vec![],
    };
    let turn_ended = TurnEnded {
        turn: turn(n),
        topic: topic(n),
        ending: TurnEnding::Answered,
        summary: Personal::of(words.to_owned(), of.to_vec()),
        sources: vec![],
    };
    vec![started.into(), ended.into(), turn_ended.into()]
}

/// The no of a person, who holds the seat they answer in.
pub fn denied(words: &str, by: &PrincipalId) -> [Proposed; 3] {
    let seat = seat("owner");
    let created = SeatCreated {
        seat: seat.clone(),
        role: "owner".into(),
        department: None,
        line: None,
        grants: vec![],
        accountabilities: vec![],
        stands_in: None,
    };
    let held = SeatHeld { seat: seat.clone(), principal: by.clone() };
    let denied = ApprovalDenied {
        approval: ApprovalId::derived(&["a"]),
        origin: Origin::Step { turn: turn(1), step: 1, attempt: 1 },
        by: by.clone(),
        seat: Some(seat.clone()),
        reason: Personal::of(words.to_owned(), [by.clone()]),
    };
    let answer = proposed("denied", denied);
    let answer = Proposed { actor: Actor { principal: by.clone(), seat: Some(seat) }, ..answer };
    [proposed("created", created), proposed("held", held), answer]
}

pub fn shredded(subject: &PrincipalId, key: &str) -> Fact {
    SubjectShredded { subject: subject.clone(), keys: vec![key.to_owned()], reason: "asked for".into() }
        .into()
}

/// A fact that is nobody's and has a row.
pub fn nobodys(name: &str) -> Fact {
    crate::tests::kit::hold(&format!("{}{}", account().key(), id(name))).fact
}
