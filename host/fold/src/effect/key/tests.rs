//! What is one effect and what is two: a table of wordings, and laws that hold for any.

use super::{effect_id, meaning, normal, stream_id};
use event::{EffectId, EventId, Origin, TurnId};
use proptest::prelude::*;
use serde_json::{Value, json};

fn step(turn: &str, step: u32, attempt: u32) -> Origin {
    Origin::Step { turn: TurnId::derived(&[turn]), step, attempt }
}

fn key(origin: &Origin, tool: &str, input: &Value) -> EffectId {
    effect_id(origin, tool, &meaning(input, false))
}

fn post(text: &str) -> Value {
    json!({"channel": "C01", "text": text})
}

#[test]
fn the_same_words_to_the_same_place_are_one_effect_however_they_are_written() {
    let said = post("Zoë asks <@U1> about the café.\nTwo lines.");
    for (what, again) in [
        ("as it was", said.clone()),
        ("members in another order", json!({"text": said["text"], "channel": "C01"})),
        ("letters and accents apart", post("Zoe\u{308} asks <@U1> about the cafe\u{301}.\nTwo lines.")),
        ("a mention with its name", post("Zoë asks <@U1|alice> about the café.\nTwo lines.")),
        ("a mention with a long name", post("Zoë asks <@U1|Alice B. (ops)> about the café.\nTwo lines.")),
        ("other line ends", post("Zoë asks <@U1> about the café.\r\nTwo lines.")),
        ("a paragraph's space between lines", post("Zoë asks <@U1> about the café.  \n\n  Two lines.")),
        ("white space around", post("  Zoë asks <@U1> about the café.\nTwo lines. \n")),
        ("double and no-break spaces", post("Zoë  asks <@U1>\u{a0}about the café.\u{2028}Two lines.\t")),
    ] {
        assert_eq!(meaning(&again, false), meaning(&said, false), "{what}");
    }
}

#[test]
fn other_words_or_another_place_are_another_effect() {
    let said = post("Pay Bob 100.");
    for (what, other) in [
        ("another amount", post("Pay Bob 1000.")),
        ("another case", post("Pay bob 100.")),
        ("other punctuation", post("Pay Bob 100!")),
        ("a word apart", post("Pay Bob 1 00.")),
        ("another channel", json!({"channel": "C02", "text": "Pay Bob 100."})),
        ("a thread", json!({"channel": "C01", "thread_ts": "1.0", "text": "Pay Bob 100."})),
        ("one mention more", json!({"channel": "C01", "text": "Pay Bob 100.", "mention": ["U1"]})),
        ("a number for a text", json!({"channel": "C01", "text": 100})),
        ("letters that only look alike", post("Pay В\u{43e}b 100.")),
        ("a mention of another", post("Pay <@U2|Bob> 100.")),
    ] {
        assert_ne!(meaning(&other, false), meaning(&said, false), "{what}");
    }
    assert_ne!(meaning(&post("<@U1|a>"), false), meaning(&post("<@U2|a>"), false));
    assert_ne!(meaning(&post("a\nb"), false), meaning(&post("a b"), false), "a line end is not a blank");
    assert_ne!(meaning(&post("<https://a.example|x>"), false), meaning(&post("<https://a.example>"), false));
}

/// What was told twice elsewhere: a mail retried by its client, by its worker, by a model that says it again with
/// other spaces; and two mails that only look like a retry.
#[test]
fn a_retry_is_told_from_a_new_mail() {
    let mail = |to: &str, subject: &str, body: &str| json!({"to": to, "subject": subject, "body": body});
    let first = mail("bob@example.com", "Invoice 7", "Dear Bob,\n\nplease find it attached.");
    let (try_1, try_2, later) = (step("t", 3, 1), step("t", 3, 2), step("t", 9, 1));
    let named = key(&try_1, "mail.send", &first);
    assert_eq!(key(&try_2, "mail.send", &first), named, "the worker's own retry");
    let reworded = mail("bob@example.com", "Invoice  7", "Dear Bob,\nplease find it attached. ");
    assert_eq!(key(&later, "mail.send", &reworded), named, "a later step of the turn says it again");
    let child = Origin::Child { of: Box::new(try_1.clone()), ordinal: 2, attempt: 1 };
    assert_eq!(key(&child, "mail.send", &first), named, "a script within the step says it");
    for other in [
        mail("bob@example.com", "Invoice 8", "Dear Bob,\n\nplease find it attached."),
        mail("eve@example.com", "Invoice 7", "Dear Bob,\n\nplease find it attached."),
    ] {
        assert_ne!(key(&later, "mail.send", &other), named);
    }
    assert_ne!(key(&step("another", 3, 1), "mail.send", &first), named, "another turn may say it again");
    assert_ne!(key(&try_1, "mail.draft", &first), named, "another tool does another thing");
    let duty =
        |event: &str| Origin::Duty { event: EventId::derived(&[event]), kind: "card".into(), attempt: 1 };
    assert_ne!(key(&duty("a"), "slack.card", &post("x")), key(&duty("b"), "slack.card", &post("x")));
}

#[test]
fn where_white_space_is_said_it_counts() {
    let (two, four) = (json!({"text": "if x:\n  y"}), json!({"text": "if x:\n    y"}));
    assert_eq!(meaning(&two, false), meaning(&four, false));
    assert_ne!(meaning(&two, true), meaning(&four, true));
    let swapped: Value = serde_json::from_str(r#"{"b": 1.0, "a": "x"}"#).unwrap();
    assert_eq!(meaning(&swapped, true), meaning(&json!({"a": "x", "b": 1}), true));
}

#[test]
fn a_stream_is_named_before_its_words_are_known() {
    let turn = TurnId::derived(&["t"]);
    assert_ne!(stream_id(&turn, 1), stream_id(&turn, 2));
    assert_ne!(stream_id(&turn, 1), stream_id(&TurnId::derived(&["u"]), 1));
    assert_eq!(stream_id(&turn, 1), stream_id(&turn, 1));
}

/// Words, some of which are mentions or begin like one.
fn words() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        4 => "[a-zA-Zéß0-9]{1,8}",
        1 => "<@U[A-Z0-9]{1,3}>",
        1 => "<#C[A-Z0-9]{1,3}>",
        1 => "<@|[a-z]{1,3}>|<@U1\\|",
    ];
    proptest::collection::vec(word, 1..8)
}

fn spaces() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(proptest::sample::select(vec![" ", "  ", "\t ", "\u{a0}", "\u{2003} "]), 8)
}

/// The words with these spaces, every mention with a name, accents apart, and white space around.
fn reworded(words: &[String], spaces: &[&str]) -> String {
    use unicode_normalization::UnicodeNormalization;
    let mut text = "\n ".to_owned();
    for (word, space) in words.iter().zip(spaces) {
        let is_mention = (word.starts_with("<@U") || word.starts_with("<#C")) && word.ends_with('>');
        match word.strip_suffix('>').filter(|_| is_mention) {
            Some(bare) => text.push_str(&format!("{bare}|some name>")),
            None => text.push_str(word),
        }
        text.push_str(space);
    }
    text.nfd().collect()
}

proptest! {
    #[test]
    fn normalising_twice_is_normalising_once(text in "(\\PC|[<@#!|>^ \n\u{a0}\u{301}\u{338}U1C]){0,40}") {
        let once = normal(&json!({"text": [text]}));
        prop_assert_eq!(normal(&once), once);
    }

    #[test]
    fn equal_meaning_gives_an_equal_key(words in words(), spaces in spaces()) {
        let said = post(&words.join(" "));
        prop_assert_eq!(meaning(&post(&reworded(&words, &spaces)), false), meaning(&said, false));
    }

    #[test]
    fn different_words_or_places_give_different_keys(
        words in words(), others in words(), place in "C[0-9]{1,3}", elsewhere in "C[0-9]{1,3}",
    ) {
        let at = |place: &str, words: &[String]| json!({"channel": place, "text": words.join(" ")});
        let same = meaning(&at(&place, &words), false) == meaning(&at(&elsewhere, &others), false);
        prop_assert_eq!(same, words == others && place == elsewhere);
    }
}
