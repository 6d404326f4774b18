//! A story in which everything holds, and what each check says when something does not.

use super::*;
use serde_json::json;

const ASKED: &str = "1796058667.000001";
const ASIDE: &str = "1796058668.000002";
const ANSWER: &str = "Harbour board <!channel>: denied: intranet.example.com is not granted";

fn event(id: &str, kind: &str, body: Value) -> Value {
    json!({ "id": id, "kind": kind, "at": 1, "body": body })
}

fn arrival(id: &str, event_type: &str, ts: &str) -> Value {
    event(id, "delivery.received", json!({ "event": event_type, "payload": { "event": { "ts": ts } } }))
}

fn said(id: &str, channel: &str, ts: &str) -> Value {
    event(id, "message.received", json!({ "place": { "channel": channel, "ts": ts } }))
}

fn step(step: u64, kind: &str, tool: &str, outcome: &str, receipts: &[&str]) -> [Value; 2] {
    [
        event("", "step.started", json!({ "turn": "turn_1", "step": step, "kind": kind, "tool": tool })),
        event(
            "",
            "step.ended",
            json!({ "turn": "turn_1", "step": step, "outcome": outcome, "receipts": receipts }),
        ),
    ]
}

/// A record in which everything holds.
fn events() -> Vec<Value> {
    let mut events = vec![
        arrival("evt_d1", "message", ASKED),
        said("evt_m1", GENERAL.id, ASKED),
        arrival("evt_d2", "app_mention", ASKED),
        event("", "message.merged", json!({ "place": { "ts": ASKED }, "message": "evt_m1" })),
        event("", "turn.opened", json!({ "turn": "turn_1", "woken_by": "evt_m1" })),
        arrival("evt_d3", "message", ASIDE),
        said("evt_m3", RANDOM.id, ASIDE),
        event(
            "",
            "delivery.classified",
            json!({ "message": "evt_m3", "class": "passive", "reason": "channel-message" }),
        ),
        event("", "hold.taken", json!({ "hold": "hold_1", "amount": "30" })),
        event("", "hold.settled", json!({ "hold": "hold_1", "charged": "2" })),
        event(
            "",
            "receipt.recorded",
            json!({ "receipt": "receipt_1", "address": "http://site/", "sha256": "ab", "untrusted": true }),
        ),
        event(
            "",
            "call.denied",
            json!({ "by": "policy", "tool": "web.fetch", "reason": "intranet.example.com is not granted" }),
        ),
        event(
            "",
            "effect.intended",
            json!({ "effect": "effect_1", "tool": "slack.post", "origin": { "step": { "turn": "turn_1" } },
            "input": { "channel": GENERAL.id, "thread_ts": ASKED, "text": ANSWER } }),
        ),
        event("", "effect.sent", json!({ "effect": "effect_1", "reference": { "ts": "9.9" } })),
        event("", "turn.ended", json!({ "turn": "turn_1", "ending": "answered", "sources": ["receipt_1"] })),
    ];
    events.extend(step(1, "infer", "scripted/story", "succeeded", &[]));
    events.extend(step(2, "tool", "web.fetch", "succeeded", &["receipt_1"]));
    events.extend(step(3, "infer", "scripted/story", "succeeded", &[]));
    events.extend(step(4, "tool", "web.fetch", "denied", &[]));
    events.extend(step(5, "infer", "scripted/story", "succeeded", &[]));
    events.extend(step(6, "send", "slack.post", "succeeded", &[]));
    events
}

fn evidence(events: &[Value]) -> Evidence {
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    let escaped = ANSWER.replace('<', "&lt;").replace('>', "&gt;");
    let blocks =
        json!([{ "type": "section", "text": { "type": "mrkdwn", "text": escaped, "verbatim": true } }]);
    Evidence {
        played: Played { asked_ts: ASKED.to_owned(), aside_ts: ASIDE.to_owned() },
        record: Record::parse(&lines).unwrap(),
        verified: Ok("consistent".to_owned()),
        site: "http://site".to_owned(),
        served: vec![Served {
            path: "/".to_owned(),
            status: 200,
            sha256: "ab".to_owned(),
            credential: false,
        }],
        general: vec![
            json!({ "user": "U01ALICE", "ts": ASKED, "text": "<@U0BOT> what" }),
            json!({ "user": BOT.id, "ts": "9.9", "thread_ts": ASKED, "blocks": blocks }),
        ],
        random: vec![json!({ "user": "U01BOB", "ts": ASIDE })],
        posts: vec![json!({ "parse": "none", "link_names": false, "blocks": blocks })],
        secrets: vec!["hush".to_owned()],
        log: "listening".to_owned(),
    }
}

fn fails(evidence: &Evidence) -> Vec<&'static str> {
    judge(evidence).into_iter().filter(|(_, outcome)| outcome.is_err()).map(|(says, _)| says).collect()
}

#[test]
fn a_record_in_which_everything_holds_passes_every_check() {
    assert_eq!(fails(&evidence(&events())), [] as [&str; 0]);
}

#[test]
fn an_empty_record_passes_no_check_that_reads_it() {
    let mut nothing = evidence(&[]);
    (nothing.served, nothing.general, nothing.random, nothing.posts) = Default::default();
    nothing.verified = Err("no".to_owned());
    nothing.secrets = Vec::new();
    assert_eq!(fails(&nothing).len(), judge(&nothing).len());
}

#[test]
fn each_event_of_the_story_is_needed() {
    let all = events();
    for gone in 0..all.len() {
        let mut rest = all.clone();
        let lost = rest.remove(gone);
        assert!(!fails(&evidence(&rest)).is_empty(), "nobody misses {lost}");
    }
}

#[test]
fn a_call_to_everyone_in_the_raw_message_is_found() {
    let mut calls = evidence(&events());
    calls.general[1]["text"] = json!("<!channel>");
    assert_eq!(fails(&calls), ["what the page says to call everyone is quoted and calls nobody"]);
    let mut not_verbatim = evidence(&events());
    not_verbatim.posts[0]["blocks"][0]["text"]["verbatim"] = json!(false);
    assert_eq!(fails(&not_verbatim), ["what the page says to call everyone is quoted and calls nobody"]);
}

#[test]
fn one_answer_too_many_is_found() {
    let mut twice = evidence(&events());
    twice.general.push(json!({ "user": BOT.id, "ts": "10.0" }));
    assert!(fails(&twice).contains(&"the emulator has that answer once, in that thread"));
    let mut meddles = evidence(&events());
    meddles.random.push(json!({ "bot_id": "B0BOT", "ts": "10.0" }));
    assert_eq!(fails(&meddles), ["the other person's message asked nothing and got nothing"]);
}

#[test]
fn a_secret_in_the_log_is_found() {
    let mut loud = evidence(&events());
    loud.log = "token hush".to_owned();
    assert_eq!(fails(&loud), ["no secret stands on the record or in the log"]);
}

#[test]
fn money_that_was_never_charged_is_found() {
    let mut all = events();
    for settled in all.iter_mut().filter(|event| event["kind"] == "hold.settled") {
        settled["body"]["charged"] = json!("0");
    }
    assert_eq!(fails(&evidence(&all)), ["every hold is settled, each for more than nothing"]);
}
