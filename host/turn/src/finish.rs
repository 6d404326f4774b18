//! `finish`: how a turn ends, and the only way its answer gets out.
//!
//! It is the host's own: it passes no gate and is no step, because by itself it does nothing. What it says
//! becomes a send, which passes the gate like any other.

use event::ReceiptId;
use gate::ToolOffer;
use serde_json::{Map, Value, json};

/// Its name as a model sees it.
pub const FINISH: &str = "finish";

/// The longest answer, in characters: a chat message takes 12,000 with its markup.
pub const TEXT_CHARS_MAX: usize = 11_000;

/// The most sources one answer may name.
const SOURCES_MAX: usize = 50;

/// The latest moment at which a seat may want to look again, in minutes: a month.
const LOOK_AGAIN_MINUTES_MAX: u64 = 44_640;

/// The longest summary of a turn, in characters: one line for people.
const SUMMARY_CHARS_MAX: usize = 200;

/// Whether there is something to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The text is to be sent.
    Answered,
    /// Nothing is to be sent.
    Silent,
}

/// A call of `finish` that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finish {
    pub outcome: Outcome,
    pub text: String,
    /// Receipts as the model names them: claims, until held against the record.
    pub sources: Vec<String>,
    /// In how many minutes the seat looks at the topic again, if it wants to.
    pub look_again_minutes: Option<u64>,
}

/// `finish` as it is offered.
pub(crate) fn offer() -> ToolOffer {
    ToolOffer {
        name: FINISH.to_owned(),
        description: "Ends your turn. With outcome `answered`, `text` is sent to the people who asked: it is \
            the only thing of yours they see, so make it whole. With outcome `silent` nothing is sent: choose \
            it when you have nothing useful to say. `sources` are the receipts (`receipt_…`) that the answer \
            rests on: only such as stand in the results of this turn. With `look_again_minutes` you are woken about this again after so many minutes, whatever the \
            outcome. Call it alone, after you have read the results of every other call."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "outcome": {"type": "string", "enum": ["answered", "silent"]},
                "text": {"type": "string", "maxLength": TEXT_CHARS_MAX},
                "sources": {"type": "array", "items": {"type": "string"}, "maxItems": SOURCES_MAX},
                "look_again_minutes": {"type": "integer", "minimum": 1, "maximum": LOOK_AGAIN_MINUTES_MAX},
            },
            "required": ["outcome"],
            "additionalProperties": false,
        }),
    }
}

/// Reads the input of a call of `finish`.
///
/// # Errors
/// A sentence for the model that says what to change.
pub(crate) fn parse(input: &Value) -> Result<Finish, String> {
    let outcome = match input.get("outcome").and_then(Value::as_str) {
        Some("answered") => Outcome::Answered,
        Some("silent") => Outcome::Silent,
        _ => return Err("`outcome` must be `answered` or `silent`".to_owned()),
    };
    let text = match input.get("text") {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text.trim(),
        Some(_) => return Err("`text` must be a string".to_owned()),
    };
    let chars = text.chars().count();
    if chars > TEXT_CHARS_MAX {
        return Err(format!(
            "`text` has {chars} characters and at most {TEXT_CHARS_MAX} are sent: shorten it"
        ));
    }
    if outcome == Outcome::Answered && text.is_empty() {
        return Err("an answer needs a `text`; with nothing to say the outcome is `silent`".to_owned());
    }
    let look_again_minutes = match input.get("look_again_minutes") {
        None | Some(Value::Null) => None,
        Some(minutes) => {
            match minutes.as_u64().filter(|minutes| (1..=LOOK_AGAIN_MINUTES_MAX).contains(minutes)) {
                Some(minutes) => Some(minutes),
                None => {
                    return Err(format!(
                        "`look_again_minutes` must be a whole number from 1 to {LOOK_AGAIN_MINUTES_MAX}"
                    ));
                }
            }
        }
    };
    // Sources of another shape are no reason to lose the answer: they name nothing.
    let sources = input.get("sources").and_then(Value::as_array).into_iter().flatten();
    let sources = sources.filter_map(Value::as_str).take(SOURCES_MAX).map(str::to_owned).collect();
    Ok(Finish { outcome, text: text.to_owned(), sources, look_again_minutes })
}

/// The receipts an answer rests on: those named that the turn really left, each once; all that it left when
/// none of those named is one. A name the record does not know was told to the model before; it is never believed.
pub(crate) fn sources(named: &[String], left: &[ReceiptId]) -> Vec<ReceiptId> {
    let mut known: Vec<ReceiptId> = Vec::new();
    for receipt in named.iter().filter_map(|name| left.iter().find(|receipt| receipt.as_str() == name)) {
        if !known.contains(receipt) {
            known.push(receipt.clone());
        }
    }
    if known.is_empty() { left.to_vec() } else { known }
}

/// The arguments of the send: where it goes, and the text.
pub(crate) fn send_input(destination: &Value, text: &str) -> Value {
    let mut input: Map<String, Value> = destination.as_object().cloned().unwrap_or_default();
    input.insert("text".to_owned(), Value::String(text.to_owned()));
    Value::Object(input)
}

/// The plain report of a refusal, from the output of the step that met it: written without inference.
pub(crate) fn report(refused: &Value) -> String {
    let text = |key: &str| refused.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let reason = text("reason").unwrap_or("a standing refusal was met").trim_end_matches('.');
    match text("lifts_at") {
        Some(lifts_at) => {
            format!("I had to stop before I could answer: {reason}. This lifts by itself at {lifts_at}.")
        }
        None => {
            format!("I had to stop before I could answer: {reason}. Someone with authority has to lift this.")
        }
    }
}

/// `text` as one line of at most [`SUMMARY_CHARS_MAX`] characters.
pub(crate) fn summary(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SUMMARY_CHARS_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, TEXT_CHARS_MAX, parse, report, send_input, sources, summary};
    use event::ReceiptId;
    use serde_json::json;

    #[test]
    fn an_answer_without_words_and_an_outcome_nobody_knows_are_no_finish() {
        for wrong in [
            json!({}),
            json!({"outcome": "done", "text": "x"}),
            json!({"outcome": "answered"}),
            json!({"outcome": "answered", "text": "  \n"}),
            json!({"outcome": "answered", "text": 7}),
            json!({"outcome": "answered", "text": "é".repeat(TEXT_CHARS_MAX + 1)}),
        ] {
            assert!(parse(&wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse(&json!({"outcome": "silent"})).unwrap().outcome, Outcome::Silent);
        let longest = json!({"outcome": "answered", "text": "é".repeat(TEXT_CHARS_MAX), "sources": "x"});
        assert_eq!(parse(&longest).unwrap().sources, Vec::<String>::new());
    }

    #[test]
    fn a_source_is_what_the_turn_left_and_nothing_else() {
        let left = [ReceiptId::derived(&["a"]), ReceiptId::derived(&["b"])];
        let [a, b] = [left[0].as_str().to_owned(), left[1].as_str().to_owned()];
        assert_eq!(sources(&[b.clone(), "receipt_made-up".into(), b], &left), vec![left[1].clone()]);
        assert_eq!(sources(&["receipt_made-up".into()], &left), left.to_vec());
        assert_eq!(sources(&[a], &[]), Vec::new());
    }

    #[test]
    fn a_report_says_why_and_until_when() {
        let until =
            report(&json!({"no": "refused", "reason": "the day's budget is spent", "lifts_at": "tomorrow"}));
        assert!(until.contains("the day's budget is spent") && until.contains("tomorrow"), "{until}");
        assert!(report(&json!({"reason": "no price", "lifts_at": null})).contains("authority"));
    }

    #[test]
    fn the_text_joins_the_destination_and_cannot_replace_it() {
        let input = send_input(&json!({"channel": "C1", "thread_ts": "1.0"}), "hello");
        assert_eq!(input, json!({"channel": "C1", "thread_ts": "1.0", "text": "hello"}));
    }

    #[test]
    fn a_summary_is_one_short_line() {
        assert_eq!(summary("a\n\n b"), "a b");
        assert_eq!(summary(&"é".repeat(300)).chars().count(), 201);
    }
}
