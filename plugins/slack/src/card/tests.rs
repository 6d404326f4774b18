//! What a card is in Block Kit, and that nothing on it is more than text.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Card, Field, Place, compose_card, compose_decided};
use crate::ids::{ApprovalId, ChannelId, EffectKey, Ts, UserId};
use crate::text::Mention;

fn id<T: TryFrom<String, Error = String>>(text: &str) -> T {
    T::try_from(text.to_owned()).unwrap()
}

fn card(title: &str, value: &str, arguments: &str, fields: usize) -> Card {
    let field = |n: usize| Field { name: format!("label {n}"), value: value.to_owned() };
    Card {
        approval: id::<ApprovalId>("approval_01"),
        title: title.to_owned(),
        fields: (0..fields).map(field).collect(),
        arguments: arguments.to_owned(),
        digest: "ab12".to_owned(),
    }
}

fn asked(card: &Card) -> Value {
    let mentions = [Mention::new(id::<UserId>("U012"))];
    let (channel, thread) = (id::<ChannelId>("C012"), id::<Ts>("1.0"));
    let place = Place { channel: &channel, thread: Some(&thread), mentions: &mentions };
    compose_card(card, &place, "until 12:00", &EffectKey::parse("effect_1").unwrap()).unwrap()
}

fn updated(card: &Card, state: &str) -> Value {
    compose_decided(card, (&id::<ChannelId>("C012"), &id::<Ts>("2.0")), state, None).unwrap()
}

fn walk<'a>(value: &'a Value, see: &mut dyn FnMut(&'a Value)) {
    see(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        Value::Object(fields) => fields.values().for_each(|field| walk(field, see)),
        _ => {}
    }
}

/// Every object whose `type` is this.
fn of_type<'a>(body: &'a Value, kind: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    walk(body, &mut |value| found.extend((value.get("type") == Some(&json!(kind))).then_some(value)));
    found
}

fn chars(text: &Value) -> usize {
    text.as_str().unwrap().encode_utf16().count()
}

/// The limits of Block Kit, each as its reference states it, and the rules of every text that leaves.
fn assert_fits(body: &Value, calls: &str) {
    assert!(body["blocks"].as_array().unwrap().len() <= 50);
    let mut all = 0;
    walk(body, &mut |value| {
        if let Value::String(text) = value {
            let rest = text.replace(calls, "");
            assert!(!rest.contains(['<', '>']), "{text}");
        }
        all += value.get("text").filter(|text| text.is_string()).map_or(0, chars);
    });
    assert!(all - chars(&body["text"]) <= 12_000, "{all} characters over all blocks");
    assert!(chars(&body["text"]) <= 4_000);
    for text in of_type(body, "mrkdwn") {
        assert_eq!(text["verbatim"], true);
        assert!(chars(&text["text"]) <= 3_000);
        let code = text["text"].as_str().unwrap();
        if let Some(within) = code.strip_prefix("```\n").and_then(|code| code.strip_suffix("\n```")) {
            assert!(!within.contains('`') && !within.is_empty(), "{code}");
        } else {
            assert_eq!(code, format!("{calls}please answer."));
        }
    }
    of_type(body, "plain_text").iter().for_each(|text| assert_eq!(text["emoji"], false));
    for header in of_type(body, "header") {
        assert!(chars(&header["text"]["text"]) <= 150);
    }
    for section in of_type(body, "section") {
        let fields = section["fields"].as_array().cloned().unwrap_or_default();
        assert!(fields.len() <= 10 && fields.iter().all(|field| chars(&field["text"]) <= 2_000));
    }
    for context in of_type(body, "context") {
        assert!(context["elements"].as_array().unwrap().len() <= 10);
    }
    for button in of_type(body, "button") {
        assert!(chars(&button["text"]["text"]) <= 75 && chars(&button["value"]) <= 2_000);
        assert!(chars(&button["action_id"]) <= 255);
        for (part, max) in [("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)] {
            assert!(button["confirm"].is_null() || chars(&button["confirm"][part]["text"]) <= max, "{part}");
        }
    }
    assert_eq!((&body["parse"], &body["link_names"]), (&json!("none"), &json!(false)));
    assert_eq!((&body["unfurl_links"], &body["unfurl_media"]), (&json!(false), &json!(false)));
}

#[test]
fn a_card_shows_the_call_and_two_buttons_that_carry_its_id_alone() {
    let body = asked(&card("Approve `a.b`?", "x <!here> *y*", r#"{"a":1}"#, 1));
    assert_fits(&body, "<@U012> ");
    assert_eq!((&body["channel"], &body["thread_ts"]), (&json!("C012"), &json!("1.0")));
    assert_eq!(body["metadata"]["event_payload"], json!({"key": "effect_1"}));
    assert_eq!(body["text"], "<@U012> Approve `a.b`?");
    let blocks = &body["blocks"];
    assert_eq!(blocks[0]["text"], json!({"type": "plain_text", "text": "Approve `a.b`?", "emoji": false}));
    assert_eq!(blocks[2]["fields"][0]["text"], "label 0: x &lt;!here&gt; *y*");
    assert_eq!(blocks[3]["text"]["text"], "```\n{\"a\":1}\n```");
    let about = blocks[4]["elements"][1]["text"].as_str().unwrap();
    assert!(
        about.contains("approval_01") && about.contains("7 characters") && about.contains("ab12"),
        "{about}"
    );
    let buttons = blocks[5]["elements"].as_array().unwrap();
    let action =
        |n: usize| (buttons[n]["action_id"].as_str().unwrap(), buttons[n]["value"].as_str().unwrap());
    assert_eq!((action(0), action(1)), (("approval.yes", "approval_01"), ("approval.no", "approval_01")));
    assert!(buttons[0]["confirm"].is_object() && buttons[1].get("confirm").is_none());
}

#[test]
fn a_decided_card_says_so_first_and_has_no_button() {
    let body = updated(&card("Approve `a.b`?", "x", "{}", 1), "Approved by <@U1>");
    assert_fits(&body, "none");
    assert_eq!((&body["channel"], &body["ts"]), (&json!("C012"), &json!("2.0")));
    assert_eq!(body["blocks"][1]["text"]["text"], "Approved by &lt;@U1&gt;");
    assert_eq!(body["text"], "Approve `a.b`?: Approved by &lt;@U1&gt;");
    assert!(of_type(&body, "actions").is_empty() && of_type(&body, "button").is_empty());
    assert!(body.get("metadata").is_none(), "the message stays the effect it was");
}

#[test]
fn arguments_that_do_not_fit_are_cut_and_the_card_says_so_twice() {
    let long = format!("{{\"a\":\"{}\"}}", "word ".repeat(3_000));
    let body = asked(&card("t", "v", &long, 1));
    assert_fits(&body, "<@U012> ");
    let text = body.to_string();
    assert!(
        text.contains("NOT ALL of the arguments are shown: they have 15008 characters, SHA-256 ab12"),
        "{text}"
    );
    assert!(text.contains("chancery approval show approval_01"));
    assert!(text.contains("Not all of its arguments are shown on the card."));
    let exact = format!("\"{}\"", "x".repeat(5_998));
    assert!(!asked(&card("t", "v", &exact, 1)).to_string().contains("NOT ALL"));
}

#[test]
fn nothing_ends_the_code_block_that_the_arguments_stand_in() {
    let body = asked(&card("t", "v", "{\"a\":\"``` <!channel> ```\"}", 1));
    assert_fits(&body, "<@U012> ");
    let code = body["blocks"][3]["text"]["text"].as_str().unwrap();
    assert!(code.contains(r"\u0060\u0060\u0060 &lt;!channel&gt;"), "{code}");
    // The same arguments, when somebody reads them as JSON.
    let within = code.trim_start_matches("```\n").trim_end_matches("\n```");
    let read: Value = serde_json::from_str(&within.replace("&lt;", "<").replace("&gt;", ">")).unwrap();
    assert_eq!(read, json!({"a": "``` <!channel> ```"}));
}

#[test]
fn a_card_without_arguments_or_with_another_digest_is_no_card() {
    for wrong in [
        Card { title: " ".into(), ..card("t", "v", "{}", 1) },
        Card { arguments: String::new(), ..card("t", "v", "{}", 1) },
        Card { digest: "<!here>".into(), ..card("t", "v", "{}", 1) },
        card("t", "v", "{}", super::FIELDS_MAX + 1),
    ] {
        assert!(
            compose_decided(&wrong, (&id::<ChannelId>("C012"), &id::<Ts>("2.0")), "x", None).is_err(),
            "{wrong:?}"
        );
    }
}

proptest! {
    #[test]
    fn whatever_is_on_a_card_it_fits_and_calls_nobody(
        title in "(\\PC|[<>&@!`*\n]){1,400}",
        value in "(\\PC|[<>&@!`*\n]){0,3000}",
        arguments in "(\\PC|[<>&@!`*\n ]){1,9000}",
        fields in 0_usize..=super::FIELDS_MAX,
    ) {
        let card = card(&format!("x{title}"), &value, &format!("x{arguments}"), fields);
        assert_fits(&asked(&card), "<@U012> ");
        assert_fits(&updated(&card, &value), "none");
    }
}
