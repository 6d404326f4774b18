//! Where a conversation stands: what a script's rules and placeholders look at.

use serde_json::Value;

use crate::talk::{Message, Part, Role};

/// The state of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts<'a> {
    /// The newest message that a person wrote; empty when there is none.
    pub text: String,
    /// How many times the model has answered since: the step that is next.
    pub step: usize,
    /// How many calls the model has asked for in the whole conversation.
    pub calls: usize,
    /// What the calls since then returned, in order.
    pub results: Vec<&'a Value>,
}

impl<'a> Facts<'a> {
    /// Reads a conversation. A message of the user side that carries results is the host's, not a person's.
    pub fn of(messages: &'a [Message]) -> Self {
        let is_result = |part: &Part| matches!(part, Part::Outcome(_));
        let is_persons = |message: &Message| {
            message.role == Role::User && !message.parts.iter().any(is_result) && !text_of(message).is_empty()
        };
        let newest = messages.iter().rposition(is_persons);
        let since = messages.get(newest.map_or(0, |at| at + 1)..).unwrap_or_default();
        let results = since.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::Outcome(outcome) => Some(&outcome.output),
            Part::Text(_) | Part::Call(_) => None,
        });
        let is_call = |part: &&Part| matches!(part, Part::Call(_));
        Self {
            text: newest.and_then(|at| messages.get(at)).map(text_of).unwrap_or_default(),
            step: since.iter().filter(|message| message.role == Role::Assistant).count(),
            calls: messages.iter().flat_map(|message| &message.parts).filter(is_call).count(),
            results: results.collect(),
        }
    }

    /// The first address in the text, without the punctuation of the sentence around it. Slack's
    /// `<address|label>` is read too.
    pub fn url(&self) -> Option<&str> {
        let start = ["https://", "http://"].into_iter().filter_map(|scheme| self.text.find(scheme)).min()?;
        let (_, from) = self.text.split_at_checked(start)?;
        let is_end = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '|' | '"' | '`');
        let url = from.split(is_end).next()?;
        Some(url.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '*', '_']))
    }

    /// Whether all these words occur in the text, each as a whole word and whatever its case.
    pub fn has_all(&self, words: &[String]) -> bool {
        let text = self.text.to_lowercase();
        let present: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        words.iter().all(|word| present.contains(&word.to_lowercase().as_str()))
    }
}

fn text_of(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Call(_) | Part::Outcome(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::talk::{Call, Outcome};

    fn says(role: Role, text: &str) -> Message {
        Message { role, parts: vec![Part::Text(text.to_owned())] }
    }

    fn calls(id: &str) -> Message {
        let call = Call { id: id.to_owned(), name: "t".to_owned(), input: json!({}) };
        Message { role: Role::Assistant, parts: vec![Part::Call(call)] }
    }

    fn returned(id: &str, output: Value) -> Message {
        let outcome = Outcome { id: id.to_owned(), output, failed: false };
        Message {
            role: Role::User,
            parts: vec![Part::Outcome(outcome), Part::Text("a note of the host".to_owned())],
        }
    }

    fn facts(text: &str) -> Facts<'static> {
        Facts { text: text.to_owned(), step: 0, calls: 0, results: Vec::new() }
    }

    #[test]
    fn a_turn_begins_with_what_a_person_wrote_last() {
        let messages = [
            says(Role::User, "first"),
            calls("call-1"),
            returned("call-1", json!(1)),
            says(Role::Assistant, "done"),
            says(Role::User, "second"),
            calls("call-2"),
            returned("call-2", json!(2)),
            calls("call-3"),
            returned("call-3", json!(3)),
        ];
        let facts = Facts::of(&messages);
        assert_eq!((facts.text.as_str(), facts.step, facts.calls), ("second", 2, 3));
        assert_eq!(facts.results, [&json!(2), &json!(3)]);
    }

    #[test]
    fn a_conversation_without_a_person_has_an_empty_text() {
        assert_eq!(Facts::of(&[]), facts(""));
        let messages = [calls("call-1")];
        assert_eq!((Facts::of(&messages).text.as_str(), Facts::of(&messages).step), ("", 1));
    }

    #[test]
    fn the_first_address_is_found_without_the_sentence_around_it() {
        for (text, url) in [
            ("see http://127.0.0.1:8080/a.html.", Some("http://127.0.0.1:8080/a.html")),
            ("(https://example.com/b?c=d) and http://later.example", Some("https://example.com/b?c=d")),
            ("<https://example.com/x|example.com>?", Some("https://example.com/x")),
            ("`https://example.com/y`", Some("https://example.com/y")),
            ("http://first.example https://second.example", Some("http://first.example")),
            ("nothing here", None),
        ] {
            assert_eq!(facts(text).url(), url, "{text}");
        }
    }

    #[test]
    fn words_occur_whole_and_in_any_case() {
        let facts = facts("What does the ESSAY say?");
        let has = |words: &[&str]| facts.has_all(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert!(has(&[]));
        assert!(has(&["say", "What"]));
        assert!(!has(&["says"]));
        assert!(!has(&["say", "ever"]));
    }
}
