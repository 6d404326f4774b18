//! A streamed answer is whole whatever Slack says meanwhile, and nothing of it stands twice.

use guest::{Failure, Kind};
use serde_json::{Value, json};

use crate::tests::{Told, asked_of, call};

/// Twenty-four sentences of some two hundred characters in paragraphs of their own: eight pieces.
fn text() -> String {
    let sentence = |n: usize| format!("{n}. {}end of {n} <!here> @here.", "word ".repeat(32));
    (1..=24).map(sentence).collect::<Vec<_>>().join("\n\n")
}

fn input(text: &str) -> Value {
    json!({"channel": "C012", "thread_ts": "1.0", "text": text, "stream": {"user": "U012", "team": "T012"}})
}

fn ok() -> Told {
    Told::Ok(json!({"ok": true, "channel": "C012", "ts": "2.0"}))
}

fn posted() -> Told {
    Told::Ok(json!({"ok": true, "channel": "C012", "ts": "3.0", "message": {"thread_ts": "1.0"}}))
}

fn streamed(told: &[Told]) -> (Result<Value, Failure>, Vec<(String, Value)>) {
    asked_of(call("slack.post", input(&text())), told)
}

fn methods(asked: &[(String, Value)]) -> Vec<&str> {
    asked.iter().map(|(method, _)| method.as_str()).collect()
}

/// What stands in the message that was streamed, by the calls that Slack said it had done.
fn shown(asked: &[(String, Value)], told: &[Told]) -> String {
    let mut stands: Vec<Value> = Vec::new();
    for ((method, body), told) in asked.iter().zip(told) {
        let blocks = || body["chunks"][0]["blocks"].as_array().cloned().unwrap_or_default();
        match (method.as_str(), told) {
            ("chat.startStream" | "chat.appendStream" | "chat.stopStream", Told::Ok(_)) => {
                stands.extend(blocks())
            }
            ("chat.update", Told::Ok(_)) => stands = body["blocks"].as_array().unwrap().clone(),
            ("chat.postMessage", Told::Ok(_)) => stands.extend(body["blocks"].as_array().unwrap().clone()),
            _ => {}
        }
    }
    stands.iter().map(|block| block["text"]["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
}

fn assert_whole(asked: &[(String, Value)], told: &[Told]) {
    let shown = shown(asked, told);
    for n in 1..=24 {
        assert_eq!(shown.matches(&format!("end of {n} ")).count(), 1, "{n} in {shown}");
    }
    assert!(!asked.iter().any(|(_, body)| body.to_string().contains("<!")));
}

const START: &str = "chat.startStream";
const APPEND: &str = "chat.appendStream";
const STOP: &str = "chat.stopStream";
const UPDATE: &str = "chat.update";
const POST: &str = "chat.postMessage";

#[test]
fn an_answer_is_begun_added_to_and_ended_and_is_one_message_with_one_name() {
    let told = vec![ok(); 8];
    let (output, asked) = streamed(&told);
    assert_eq!(output, Ok(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"})));
    let methods = methods(&asked);
    assert_eq!((methods[0], *methods.last().unwrap()), (START, STOP));
    assert!(
        methods[1..methods.len() - 1].iter().all(|method| *method == APPEND) && methods.len() > 3,
        "{methods:?}"
    );
    assert_whole(&asked, &told);
    let start = &asked[0].1;
    assert_eq!((&start["recipient_user_id"], &start["recipient_team_id"]), (&json!("U012"), &json!("T012")));
    assert_eq!(start["thread_ts"], "1.0");
    let blocks = asked.iter().flat_map(|(_, body)| body["chunks"][0]["blocks"].as_array().unwrap());
    for (n, block) in blocks.enumerate() {
        assert_eq!(block["block_id"], format!("effect_1.{n}"));
        assert_eq!((&block["type"], &block["text"]["verbatim"]), (&json!("section"), &json!(true)));
        assert!(block["text"]["text"].as_str().unwrap().chars().count() <= 600);
    }
    assert_eq!(asked.last().unwrap().1["metadata"]["event_payload"]["key"], "effect_1");
}

#[test]
fn where_no_stream_begins_the_answer_is_posted_as_it_always_was() {
    for no in [
        Told::No("unknown_method"),
        Told::No("missing_recipient_team_id"),
        Told::No("missing_recipient_user_id"),
        Told::No("missing_scope"),
        Told::No("channel_type_not_supported"),
        Told::Wait,
    ] {
        let told = [no.clone(), posted()];
        let (output, asked) = streamed(&told);
        assert_eq!(output, Ok(json!({"channel": "C012", "ts": "3.0", "thread_ts": "1.0"})), "{no:?}");
        assert_eq!(methods(&asked), [START, POST]);
        assert_whole(&asked, &told);
        assert_eq!(asked[1].1["metadata"]["event_payload"]["key"], "effect_1");
    }
}

#[test]
fn whether_a_stream_began_that_got_no_answer_nobody_knows_and_nothing_more_is_said() {
    let (output, asked) = streamed(&[Told::Lost]);
    assert_eq!((output.unwrap_err().kind, methods(&asked)), (Kind::Unavailable, vec![START]));
    let (output, asked) = streamed(&[Told::No("fatal_error")]);
    assert_eq!((output.unwrap_err().kind, methods(&asked)), (Kind::Unavailable, vec![START]));
}

#[test]
fn a_stream_that_slack_ends_is_brought_to_its_end_by_an_edit_of_the_same_message() {
    let dead = || Told::No("message_not_in_streaming_state");
    for told in [
        vec![ok(), dead(), dead(), ok()],
        vec![ok(), ok(), dead(), dead(), ok()],
        vec![ok(), ok(), ok(), ok(), ok(), dead(), dead(), ok()],
        vec![ok(), ok(), ok(), ok(), ok(), ok(), ok(), dead(), dead(), ok()],
        vec![ok(), ok(), ok(), ok(), ok(), ok(), ok(), Told::Lost, dead(), ok()],
        // The answer to a piece was lost: it may be there.
        vec![ok(), Told::Lost, ok(), ok()],
        vec![ok(), ok(), ok(), ok(), ok(), Told::Lost, dead(), ok()],
    ] {
        let (output, asked) = streamed(&told);
        assert_eq!(output, Ok(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"})), "{told:?}");
        let (method, update) = asked.last().unwrap();
        assert_eq!((method.as_str(), &update["ts"]), (UPDATE, &json!("2.0")));
        assert_eq!((&update["parse"], &update["link_names"]), (&json!("none"), &json!(false)));
        assert_eq!(update["metadata"]["event_payload"]["key"], "effect_1");
        assert_whole(&asked, &told);
    }
}

#[test]
fn when_slack_asks_to_wait_the_rest_comes_with_the_end() {
    let told = [ok(), Told::Wait, ok()];
    let (output, asked) = streamed(&told);
    assert_eq!((output.unwrap()["ts"].clone(), methods(&asked)), (json!("2.0"), vec![START, APPEND, STOP]));
    assert_whole(&asked, &told);
}

#[test]
fn where_slack_takes_no_edit_what_is_missing_follows_in_the_thread_and_nothing_twice() {
    for no in ["streaming_state_conflict", "msg_too_long", "edit_window_closed", "cant_update_message"] {
        let told = [ok(), Told::No("x"), Told::No("x"), Told::No(no), posted()];
        let (output, asked) = streamed(&told);
        assert_eq!(output.unwrap()["rest"], json!({"messages": 2, "of": 2}), "{no}");
        assert_eq!(methods(&asked), [START, APPEND, STOP, UPDATE, POST]);
        assert_eq!(asked[4].1["thread_ts"], "1.0");
        assert_whole(&asked, &told);
    }
}

#[test]
fn what_cannot_be_ended_now_is_said_to_be_unfinished_and_is_ended_later_in_the_same_message() {
    for told in [
        vec![ok(), Told::Lost, Told::Lost, Told::Lost],
        vec![ok(), Told::No("x"), Told::No("x"), Told::Wait],
        vec![ok(), Told::No("x"), Told::No("x"), Told::No("msg_too_long"), Told::Lost],
    ] {
        let (output, _) = streamed(&told);
        let output = output.unwrap();
        let shown = output["unfinished"]["shown"].as_u64().unwrap();
        assert!(shown > 0 && shown < output["unfinished"]["of"].as_u64().unwrap(), "{output}");
        let input = json!({"channel": "C012", "thread_ts": "1.0", "ts": output["ts"], "text": text(),
            "effect": "effect_1", "shown": shown});
        let told = [Told::No("message_not_in_streaming_state"), ok()];
        let (output, asked) = asked_of(call("slack.complete", input.clone()), &told);
        assert_eq!(output, Ok(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"})));
        assert_eq!(methods(&asked), [STOP, UPDATE]);
        assert_whole(&asked, &told);
        let (output, _) = asked_of(call("slack.complete", input), &[Told::Lost, Told::Lost]);
        assert_eq!(output.unwrap_err().kind, Kind::Unavailable);
    }
}

#[test]
fn a_message_that_somebody_took_away_is_not_brought_back() {
    let told = [ok(), Told::No("x"), Told::No("message_not_found"), Told::No("message_not_found")];
    let (output, asked) = streamed(&told);
    assert_eq!((output.is_ok(), methods(&asked)), (true, vec![START, APPEND, STOP, UPDATE]));
}

#[test]
fn what_is_short_mentions_somebody_or_holds_an_address_is_not_streamed() {
    let with = |change: fn(&mut Value)| {
        let mut input = input(&text());
        change(&mut input);
        input
    };
    for input in [
        input("Short."),
        input(&format!("{} https://a.example/x", text())),
        input(&"word ".repeat(3_000)),
        with(|input| input["mention"] = json!(["U012"])),
        with(|input| drop(input.as_object_mut().unwrap().remove("thread_ts"))),
        with(|input| drop(input.as_object_mut().unwrap().remove("stream"))),
    ] {
        let wire = crate::tests::Always(posted());
        let (output, asked) = wire.asked_of(call("slack.post", input));
        assert!(output.is_ok(), "{output:?}");
        assert!(asked.iter().all(|(method, _)| !method.ends_with("Stream")), "{:?}", methods(&asked));
    }
}
