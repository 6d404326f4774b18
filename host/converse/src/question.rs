//! What a person is asked when nobody knows whether an effect happened, and what is shown once they have said.
//!
//! Always: the question is made of the effect and of nothing else. Only an answer of the office's own can be sent again
//! from here; whatever else an effect was, whoever wanted it asks for it anew.

use crate::click::{ACTION_ABSENT, ACTION_AGAIN, ACTION_HAPPENED};
use crate::live::place;
use event::{EffectId, PrincipalId, Timestamp};
use serde_json::{Value, json};

/// The tool that asks.
pub const TOOL_ASK: &str = "slack.ask";
/// The tool that changes a question to what was answered.
pub const TOOL_ASK_UPDATE: &str = "slack.ask-update";

/// An effect that nobody knows the outcome of.
#[derive(Clone, Copy, Debug)]
pub struct Unknown<'a> {
    /// The effect.
    pub effect: &'a EffectId,
    /// The tool.
    pub tool: &'a str,
    /// When it was meant.
    pub meant_at: Timestamp,
    /// The exact arguments, as harmless JSON text.
    pub arguments: &'a str,
    /// Whether it can be made again from the question: an answer of a turn's.
    pub repeats: bool,
}

/// Arguments of [`TOOL_ASK`]: `destination` is where, `mention` the Slack users who are asked.
#[must_use]
pub fn asking(unknown: &Unknown<'_>, destination: &Value, mention: &[String]) -> Value {
    let choice = |action: &str, label: &str| json!({ "action": action, "label": label });
    let mut choices = vec![choice(ACTION_HAPPENED, "It happened"), choice(ACTION_ABSENT, "It did not")];
    if unknown.repeats {
        let sure =
            "You looked, and it is not there. It is sent once more, exactly as it stands on this card.";
        choices.push(json!({ "action": ACTION_AGAIN, "label": "It did not: send it again", "sure": sure }));
    }
    let mut input = said(unknown);
    let text = "It left, its answer was lost, and reading back does not tell. Please look where it goes, and say what \
                you see. Until somebody says so, it is not tried again.";
    extend(&mut input, &place(destination));
    extend(&mut input, &json!({ "about": unknown.effect, "text": text, "choices": choices }));
    if !mention.is_empty() {
        extend(&mut input, &json!({ "mention": mention }));
    }
    input
}

/// Arguments of [`TOOL_ASK_UPDATE`] for the question that stands at `ts` of `channel`.
#[must_use]
pub fn answered(unknown: &Unknown<'_>, (channel, ts): (&str, &str), state: &str) -> Value {
    let mut input = said(unknown);
    extend(&mut input, &json!({ "channel": channel, "ts": ts, "state": state }));
    input
}

/// What somebody saw, in one sentence.
#[must_use]
pub fn state(by: &PrincipalId, happened: bool) -> String {
    if happened { format!("{by} looked: it happened.") } else { format!("{by} looked: it did not happen.") }
}

fn said(unknown: &Unknown<'_>) -> Value {
    let moment = unknown.meant_at.to_string();
    let seconds = moment.get(..19).unwrap_or(&moment).replace('T', " ");
    let field = |name: &str, value: &str| json!({ "name": name, "value": value });
    json!({
        "title": "Nobody knows whether this happened",
        "fields": [
            field("Tool", unknown.tool),
            field("Tried at", &format!("{seconds} UTC")),
            field("Effect", unknown.effect.as_str()),
        ],
        "quoted": unknown.arguments,
    })
}

/// Puts the members of `more` into `input`; both are objects.
fn extend(input: &mut Value, more: &Value) {
    if let (Value::Object(input), Value::Object(more)) = (input, more) {
        input.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::{Unknown, answered, asking, state};
    use event::{EffectId, PrincipalId, Timestamp};
    use serde_json::json;

    #[test]
    fn a_question_names_the_effect_and_only_an_answer_can_be_sent_again() {
        let effect = EffectId::parse("effect_1").unwrap();
        let meant_at = Timestamp(1_796_057_279_123);
        let unknown = |tool, repeats| Unknown { effect: &effect, tool, meant_at, arguments: "{}", repeats };
        let here = json!({"channel": "C1", "thread_ts": "1.0", "stream": {"user": "U1", "team": "T1"}});
        let input = asking(&unknown("slack.post", true), &here, &["U2".to_owned()]);
        let actions = |input: &serde_json::Value| {
            let choices = input["choices"].as_array().unwrap().iter();
            choices.map(|choice| choice["action"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(actions(&input), ["effect.happened", "effect.absent", "effect.again"]);
        assert_eq!((&input["channel"], &input["thread_ts"]), (&json!("C1"), &json!("1.0")));
        assert!(input.get("stream").is_none(), "{input}");
        assert_eq!(
            (&input["about"], &input["mention"], &input["quoted"]),
            (&json!("effect_1"), &json!(["U2"]), &json!("{}"))
        );
        assert_eq!(input["fields"][1]["value"], "2026-11-30 16:47:59 UTC");
        assert_eq!(
            actions(&asking(&unknown("mail.send", false), &here, &[])),
            ["effect.happened", "effect.absent"]
        );
        let by = PrincipalId::parse("person_slack.T1.U2").unwrap();
        let update = answered(&unknown("slack.post", true), ("C1", "2.0"), &state(&by, false));
        assert_eq!((&update["ts"], update.get("choices")), (&json!("2.0"), None));
        assert_eq!(update["state"], "person_slack.T1.U2 looked: it did not happen.");
    }
}
