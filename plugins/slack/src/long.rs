//! A text that is longer than one message.
//!
//! The first message, which is the effect, carries as much as fits; the whole text hangs under it as a file. Where a
//! file cannot be given (no scope, no route to where Slack takes files), the rest follows in more messages of the same
//! thread. What is promised to be there is put there first: the bytes of the file are handed over before anything is
//! said.

use guest::{Failure, Kind};
use serde_json::{Value, json};

use crate::api::Api;
use crate::ids::Ts;
use crate::message::{Message, compose_all, in_thread};
use crate::tools::placed;

/// The most messages of one text; what is longer still stands in the file alone, or is refused.
const MESSAGES_MAX: usize = 5;
/// What Slack says when it does not take blocks.
const BLOCKS_REFUSED: [&str; 3] =
    ["(`invalid_blocks`)", "(`invalid_blocks_format`)", "(`msg_blocks_too_long`)"];
/// What the file is called.
const FILE_NAME: &str = "answer.md";

/// What became of a long text.
#[derive(Debug, Clone, PartialEq)]
pub struct Posted {
    /// Where the first message stands.
    pub output: Value,
    /// What else there is: the id of the file, or how many messages of how many were posted.
    pub rest: Option<Value>,
}

/// Posts `message`, whatever its length.
///
/// # Errors
/// As [`compose_all`], [`Api::send`] and [`placed`] for the first message. What goes wrong after that is told in the
/// answer: the first message is there.
pub fn post(message: &Message, api: &Api) -> Result<Posted, Failure> {
    let bodies = compose_all(message)?;
    let Some((first, more)) = bodies.split_first() else {
        return Err(Failure::new(Kind::InvalidInput, "`text` is empty: there is nothing to post"));
    };
    if more.is_empty() {
        let output = placed(&say(first, api)?, message.thread, api)?;
        return Ok(Posted { output, rest: None });
    }
    let file = api.hand_over(FILE_NAME, message.text.raw().as_bytes());
    if let (Err(failure), true) = (&file, bodies.len() > MESSAGES_MAX) {
        let text = format!(
            "the text takes {} messages, and {MESSAGES_MAX} is the most; as a file it could not be given: {}",
            bodies.len(),
            failure.message
        );
        return Err(Failure::new(Kind::TooLarge, text));
    }
    let output = placed(&say(first, api)?, message.thread, api)?;
    let thread = message.thread.cloned().or_else(|| ts_of(&output));
    if let Ok(id) = &file
        && let Some(thread) = &thread
    {
        let shared = json!({
            "files": [{ "id": id, "title": FILE_NAME }],
            "channel_id": message.channel.as_str(),
            "thread_ts": thread.as_str(),
        });
        if api.send("files.completeUploadExternal", &shared).is_ok() {
            return Ok(Posted { output, rest: Some(json!({ "file": id })) });
        }
    }
    let (done, all) = (1 + follow(more, thread.as_ref(), api), bodies.len());
    Ok(Posted { output, rest: Some(json!({ "messages": done, "of": all })) })
}

/// Posts one message. When Slack does not take its blocks, however well they are formed here, the same words go without
/// them: an answer that looks plain is better than none.
fn say(body: &Value, api: &Api) -> Result<Value, Failure> {
    let failure = match api.send("chat.postMessage", body) {
        Err(failure) if BLOCKS_REFUSED.iter().any(|code| failure.message.contains(code)) => failure,
        other => return other,
    };
    let mut plain = body.clone();
    let Some(fields) = plain.as_object_mut() else { return Err(failure) };
    let blocks = fields.remove("blocks").unwrap_or_default();
    let texts =
        blocks.as_array().into_iter().flatten().filter_map(|block| block.pointer("/text/text")?.as_str());
    let text = texts.collect::<Vec<_>>().join("\n\n");
    fields.insert("text".to_owned(), json!(text));
    api.send("chat.postMessage", &plain)
}

/// Posts the rest until one fails: what was said stands, and nobody says it twice.
fn follow(more: &[Value], thread: Option<&Ts>, api: &Api) -> usize {
    let said = |body: &&Value| {
        let mut body = (*body).clone();
        if let Some(fields) = body.as_object_mut() {
            in_thread(fields, thread);
        }
        say(&body, api).is_ok()
    };
    more.iter().take(MESSAGES_MAX - 1).take_while(said).count()
}

fn ts_of(answer: &Value) -> Option<Ts> {
    Ts::try_from(answer.get("ts")?.as_str()?.to_owned()).ok()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use guest::http::{Ask, Reply, Wire};
    use guest::{Call, Host, Level};

    use super::*;
    use crate::answer;

    /// A Slack that takes files and blocks or does not.
    struct Side {
        blocks: bool,
        files: bool,
        completes: bool,
        asked: RefCell<Vec<(String, Value)>>,
    }

    impl Wire for Side {
        fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
            let address = ask.address.to_string();
            let body = serde_json::from_slice(&ask.body)
                .unwrap_or_else(|_| json!(String::from_utf8_lossy(&ask.body)));
            self.asked.borrow_mut().push((address.clone(), body));
            let said = match address.rsplit('/').next().unwrap() {
                "files.getUploadURLExternal" if !self.files => {
                    json!({"ok": false, "error": "missing_scope", "needed": "files:write"})
                }
                "files.getUploadURLExternal" => {
                    json!({"ok": true, "upload_url": "https://files.slack.com/upload/v1/abc", "file_id": "F012"})
                }
                "files.completeUploadExternal" if !self.completes => json!({"ok": false, "error": "x"}),
                "chat.postMessage"
                    if !self.blocks && self.asked.borrow().last().unwrap().1.get("blocks").is_some() =>
                {
                    json!({"ok": false, "error": "invalid_blocks"})
                }
                "chat.postMessage" => json!({"ok": true, "channel": "C012", "ts": "2.0", "message": {}}),
                _ => json!({"ok": true}),
            };
            Ok(Reply { status: 200, headers: Vec::new(), body: said.to_string().into_bytes(), cut: false })
        }
    }

    struct Office;

    impl Host for Office {
        fn setting(&self, _key: &str) -> Option<Value> {
            None
        }

        fn credential_exists(&self, _reference: &str) -> bool {
            true
        }

        fn log(&self, _level: Level, _line: &str) {}
    }

    fn posted(text: &str, files: bool, completes: bool) -> (Result<Value, Failure>, Vec<(String, Value)>) {
        posted_to(Side { blocks: true, files, completes, asked: RefCell::default() }, text)
    }

    fn posted_to(side: Side, text: &str) -> (Result<Value, Failure>, Vec<(String, Value)>) {
        let input = json!({"channel": "C012", "text": text, "mention": ["U012"]});
        let call = Call { tool: "slack.post".to_owned(), input, key: "effect_1".to_owned() };
        let output = answer(&call, &Office, &side);
        (output, side.asked.into_inner())
    }

    fn methods(asked: &[(String, Value)]) -> Vec<&str> {
        asked.iter().map(|(address, _)| address.rsplit('/').next().unwrap()).collect()
    }

    #[test]
    fn the_whole_of_a_long_text_hangs_under_its_beginning_as_a_file() {
        let text = "A sentence of some length. ".repeat(900);
        let (output, asked) = posted(&text, true, true);
        assert_eq!(output.unwrap()["rest"], json!({"file": "F012"}));
        assert_eq!(
            methods(&asked),
            ["files.getUploadURLExternal", "abc", "chat.postMessage", "files.completeUploadExternal"]
        );
        assert_eq!(asked[1].1, json!(text), "the file is the text as it was written");
        assert_eq!(asked[3].1["thread_ts"], "2.0");
        assert!(asked[2].1["text"].as_str().unwrap().starts_with("<@U012> "));
    }

    #[test]
    fn without_files_the_rest_follows_in_the_thread_and_mentions_nobody_again() {
        let text = "A sentence of some length. ".repeat(900);
        for (files, completes) in [(false, false), (true, false)] {
            let (output, asked) = posted(&text, files, completes);
            assert_eq!(output.unwrap()["rest"], json!({"messages": 3, "of": 3}));
            let posts: Vec<&Value> =
                asked.iter().filter(|(a, _)| a.ends_with("chat.postMessage")).map(|(_, body)| body).collect();
            assert_eq!(posts.len(), 3);
            assert!(posts[1..].iter().all(|post| post["thread_ts"] == "2.0"));
            assert!(posts[1..].iter().all(|post| !post.to_string().contains("<@")));
            let shown: String = posts
                .iter()
                .flat_map(|post| post["blocks"].as_array().unwrap())
                .map(|block| block["text"]["text"].as_str().unwrap())
                .collect();
            assert_eq!(shown.matches("length").count(), 900, "nothing is cut");
        }
    }

    #[test]
    fn words_whose_blocks_are_not_taken_go_without_them_and_mention_nobody_else() {
        let side = Side { blocks: false, files: false, completes: false, asked: RefCell::default() };
        let (output, asked) = posted_to(side, "| a |\n|---|\n| <!here> |");
        assert_eq!(output.unwrap()["ts"], "2.0");
        let plain = &asked.last().unwrap().1;
        assert_eq!((asked.len(), plain.get("blocks")), (2, None));
        let text = plain["text"].as_str().unwrap();
        assert!(text.starts_with("<@U012> ```") && text.contains("&lt;!here&gt;"), "{text}");
        assert_eq!((&plain["parse"], &plain["link_names"]), (&json!("none"), &json!(false)));
    }

    #[test]
    fn what_is_too_long_for_messages_and_cannot_be_a_file_is_not_begun() {
        let (output, asked) = posted(&"word ".repeat(20_000), false, false);
        assert_eq!(output.unwrap_err().kind, Kind::TooLarge);
        assert_eq!(methods(&asked), ["files.getUploadURLExternal"]);
    }
}
