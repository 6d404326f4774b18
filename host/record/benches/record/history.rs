//! A history as an office leaves it: somebody says something, a seat takes a turn about it, pays, and answers.
//!
//! Bodies are made from JSON, as they are stored: what is measured is the record, whatever the bodies hold.

use anyhow::{Context, Result};
use event::{Actor, Digest, EffectId, EventId, Fact, HoldId, Label, PrincipalId, Proposed, TurnId};
use serde_json::{Value, json};

/// Events of one story: one delivery of which nothing is folded, and nine that fold one to three rows each.
pub const STORY_EVENTS: u64 = 10;
/// Of what arrives from outside: about what a short message of Slack comes to.
const PAYLOAD_BYTES: usize = 400;
/// Stories of one day, whose holds are all on one account.
const STORIES_PER_DAY: u64 = 1_000;

/// What arrived, as it came.
pub fn delivery(name: &str) -> Result<Proposed> {
    let body = json!({
        "source": "bench", "kind": "event_callback", "event": "message", "subtype": "", "external_id": name,
        "retry": 0, "payload": { "text": "x".repeat(PAYLOAD_BYTES), "name": name },
    });
    proposed(name, "delivery.received", body)
}

/// A hold on the account of a day: folds two rows, of which one is everybody's.
pub fn hold(name: &str, day: u64) -> Result<Proposed> {
    let origin = json!({ "duty": { "event": EventId::derived(&[name]), "kind": "probe", "attempt": 1 } });
    let body = json!({
        "hold": HoldId::derived(&[name]), "origin": origin, "price_key": "bench/model", "amount": "1000",
        "accounts": [account(day)],
    });
    proposed(&format!("{name} hold"), "hold.taken", body)
}

/// The events of story `n`.
pub fn story(n: u64) -> Result<Vec<Proposed>> {
    let (name, day) = (format!("story {n}"), n / STORIES_PER_DAY);
    let id = |of: &str| EventId::derived(&[&format!("{name} {of}")]);
    let (turn, hold_id, effect) =
        (TurnId::derived(&[&name]), HoldId::derived(&[&name]), EffectId::derived(&[&name]));
    let place = json!({
        "kind": "channel", "team": "T1", "channel": "C1", "ts": format!("{n}.1"), "thread_ts": null,
    });
    let (topic, seat) = (format!("slack:T1:C1:{n}.1"), "seat_a");
    let step = json!({ "step": { "turn": turn, "step": 1, "attempt": 1 } });
    let text = "What came of the second draft, and who has it now?";
    let facts = [
        (
            "message.received",
            json!({
                "place": place, "author": { "principal": null, "external": "U1", "bot": false }, "text": text,
                "mentions_office": true, "subtype": "",
            }),
        ),
        (
            "delivery.classified",
            json!({
                "delivery": EventId::derived(&[&name]), "message": id("message.received"), "class": "explicit",
                "reason": "mention", "topic": topic, "asks": seat,
            }),
        ),
        (
            "turn.opened",
            json!({
                "turn": turn, "seat": seat, "topic": topic, "woken_by": id("message.received"), "reply_to": null,
                "model": "bench/model", "steps_max": 60,
            }),
        ),
        ("hold.started", json!({ "hold": hold_id })),
        (
            "hold.settled",
            json!({
                "hold": hold_id, "held": "1000", "accounts": [account(day)], "charged": "700",
                "usage": { "input_tokens": 900, "cached_input_tokens": 0, "output_tokens": 80 },
            }),
        ),
        (
            "effect.intended",
            json!({
                "effect": effect, "origin": step, "tool": "slack.post", "content": Digest::of(name.as_bytes()),
                "input": { "channel": "C1", "text": "The second draft lies with the desk." },
            }),
        ),
        (
            "effect.sent",
            json!({ "effect": effect, "reference": { "channel": "C1", "ts": format!("{n}.2") } }),
        ),
        (
            "turn.ended",
            json!({
                "turn": turn, "topic": topic, "ending": "answered", "summary": "It lies with the desk.", "sources": [],
            }),
        ),
    ];
    let mut events = vec![delivery(&name)?];
    for (kind, body) in facts {
        if kind == "hold.started" {
            events.push(hold(&name, day)?);
        }
        events.push(proposed(&format!("{name} {kind}"), kind, body)?);
    }
    Ok(events)
}

fn account(day: u64) -> Value {
    json!({ "budget": "organisation-day", "period": "day", "window": format!("day {day}") })
}

fn proposed(name: &str, kind: &str, body: Value) -> Result<Proposed> {
    let newest = Fact::KINDS.iter().find(|(of, _)| *of == kind).map(|(_, schema)| *schema);
    let fact = Fact::read(kind, newest.context("a kind that nobody knows")?, body)?;
    let actor = Actor { principal: PrincipalId::host(), seat: None };
    Ok(Proposed { id: EventId::derived(&[name]), actor, cause: None, label: Label::host(), fact })
}
