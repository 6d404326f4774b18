//! What people are shown while a turn works: one line, in words of the host's own.
//!
//! Always: the line names the step and the tool, and nothing that a model or a person wrote. Who asked nothing is shown
//! nothing: a turn that nobody asked for may end without a word, and then nobody is to know that it looked.

use serde_json::{Value, json};

/// The tool that puts a line into a thread.
pub const TOOL_PROGRESS: &str = "slack.progress";
/// The tool that changes it.
pub const TOOL_PROGRESS_CHANGE: &str = "slack.progress-change";
/// The tool that takes it away.
pub const TOOL_PROGRESS_END: &str = "slack.progress-end";
/// The tool that shows the same beside the office's name.
pub const TOOL_STATUS: &str = "slack.status";
/// The tool that brings a message that broke off to its end.
pub const TOOL_COMPLETE: &str = "slack.complete";

/// What a turn does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing<'a> {
    /// It asks its model.
    Thinks,
    /// It waits for what a tool gives.
    Calls(&'a str),
    /// It waits for a person's yes.
    Waits,
}

/// The line for step `step`.
#[must_use]
pub fn line(doing: Doing<'_>, step: u32) -> String {
    match doing {
        Doing::Thinks => format!("Working on this (step {step}): reading and thinking"),
        Doing::Calls(tool) => format!("Working on this (step {step}): `{}`", plain(tool)),
        Doing::Waits => "This waits for a person's yes; the card below says to what".to_owned(),
    }
}

/// The same beside the office's name, where it reads as `<name> <status>`.
#[must_use]
pub fn status(doing: Doing<'_>, step: u32) -> String {
    match doing {
        Doing::Thinks => "is thinking…".to_owned(),
        Doing::Calls(tool) => format!("is working (step {step}, {})…", plain(tool)),
        Doing::Waits => "waits for a person's yes".to_owned(),
    }
}

/// A tool's name, of which nothing is markup: an unknown plugin may have chosen it.
fn plain(tool: &str) -> String {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    tool.chars().filter(is_part).take(60).collect()
}

/// Where a message of the office's is to go, without whatever else its destination says.
#[must_use]
pub fn place(destination: &Value) -> Value {
    let mut place = json!({});
    if let Some(fields) = place.as_object_mut() {
        let kept = ["team", "channel", "thread_ts"].into_iter();
        fields.extend(kept.filter_map(|key| Some((key.to_owned(), destination.get(key)?.clone()))));
    }
    place
}

/// `destination` with whom an answer is streamed to.
#[must_use]
pub fn streaming(mut destination: Value, user: &str, team: &str) -> Value {
    if let Some(fields) = destination.as_object_mut() {
        fields.insert("stream".to_owned(), json!({ "user": user, "team": team }));
    }
    destination
}

/// Arguments of a tool that shows `text` at `place`.
#[must_use]
pub fn said(mut place: Value, text: &str) -> Value {
    if let Some(fields) = place.as_object_mut() {
        fields.insert("text".to_owned(), json!(text));
    }
    place
}

/// Arguments of [`TOOL_COMPLETE`] for the effect `effect` that sent `input` and came to `reference`; nothing when that
/// is whole.
#[must_use]
pub fn completing(effect: &str, input: &Value, reference: &Value) -> Option<Value> {
    let shown = reference.pointer("/unfinished/shown")?;
    let at = |key: &str| reference.get(key).filter(|value| value.is_string());
    let completing = json!({
        "channel": at("channel")?, "thread_ts": at("thread_ts")?, "ts": at("ts")?,
        "text": input.get("text")?, "effect": effect, "shown": shown,
    });
    Some(crate::card::where_it_was(completing, Some(input)))
}

#[cfg(test)]
mod tests {
    use super::{Doing, completing, line, place, said, status, streaming};
    use serde_json::json;

    #[test]
    fn a_line_says_the_step_and_the_tool_and_nothing_else() {
        assert_eq!(line(Doing::Thinks, 1), "Working on this (step 1): reading and thinking");
        assert_eq!(line(Doing::Calls("web.fetch"), 2), "Working on this (step 2): `web.fetch`");
        assert_eq!(line(Doing::Calls("x`<!here>\n"), 2), "Working on this (step 2): `xhere`");
        assert_eq!(status(Doing::Calls("web.fetch"), 2), "is working (step 2, web.fetch)…");
        assert!(line(Doing::Waits, 3).contains("yes") && status(Doing::Waits, 3).contains("yes"));
    }

    #[test]
    fn whom_an_answer_is_streamed_to_is_no_part_of_where_a_card_goes() {
        let here = json!({"channel": "C1", "thread_ts": "1.0"});
        let streamed = streaming(here.clone(), "U1", "T1");
        assert_eq!(streamed["stream"], json!({"user": "U1", "team": "T1"}));
        assert_eq!(place(&streamed), here);
        assert_eq!(said(place(&json!({"channel": "D1"})), "x"), json!({"channel": "D1", "text": "x"}));
    }

    #[test]
    fn only_what_broke_off_is_completed() {
        let input = json!({"channel": "C1", "thread_ts": "1.0", "text": "all of it"});
        let mut reference = json!({"channel": "C1", "ts": "2.0", "thread_ts": "1.0"});
        assert_eq!(completing("effect_1", &input, &reference), None);
        reference["unfinished"] = json!({"shown": 2, "of": 5});
        assert_eq!(
            completing("effect_1", &input, &reference).unwrap(),
            json!({"channel": "C1", "thread_ts": "1.0", "ts": "2.0", "text": "all of it", "effect": "effect_1", "shown": 2})
        );
    }
}
