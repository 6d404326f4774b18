//! The script: TOML that a person writes.
//!
//! ```toml
//! [[rule]]                       # the first rule fires whose words all occur in the newest message
//! when = ["what", "says"]        # whole words, whatever their case; none at all means always
//!
//! [[rule.step]]                  # one response of the model each, in order
//! say = "Reading {{url}}."       # text, streamed
//! call = { tool = "web.fetch", input = { url = "{{url}}" } }      # or `calls = [{…}, {…}]`
//!
//! [[rule.step]]
//! finish = { outcome = "answered", text = "It says: {{result.1.text|first_sentence}}" }
//! ```
//!
//! What may stand between `{{` and `}}` is told in [`crate::template`]. A key or a placeholder that does not
//! exist is an error, not nothing: a person who mistypes one is told where.

use serde::Deserialize;
use serde_json::Value;

use crate::template;

/// A script that was read and makes sense.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(rename = "rule", default)]
    pub(crate) rules: Vec<Rule>,
}

/// What to do when certain words occur.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    #[serde(default)]
    pub when: Vec<String>,
    #[serde(rename = "step", default)]
    pub steps: Vec<Step>,
}

/// One response.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub say: Option<String>,
    pub call: Option<ToolCall>,
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    pub finish: Option<Finish>,
}

/// A tool to call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolCall {
    pub tool: String,
    #[serde(default = "no_input")]
    pub input: Value,
}

/// How the turn ends.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finish {
    pub outcome: Ending,
    pub text: Option<String>,
    /// Ids of receipts; one that renders to nothing is left out.
    #[serde(default)]
    pub sources: Vec<String>,
}

/// Whether the turn says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ending {
    Answered,
    Silent,
}

impl Ending {
    /// The word that the office's `finish` takes.
    pub fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Silent => "silent",
        }
    }
}

fn no_input() -> Value {
    Value::Object(serde_json::Map::new())
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// One sentence that names the line and column, or the rule and step, and what is wrong there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let script: Self = toml::from_str(text).map_err(|e| {
            let (line, column) = place(text, e.span().map_or(0, |span| span.start));
            format!("the script is wrong at line {line}, column {column}: {}", e.message())
        })?;
        if script.rules.is_empty() {
            return Err("the script has no `[[rule]]`".to_owned());
        }
        for (n, rule) in script.rules.iter().enumerate() {
            check_rule(rule).map_err(|why| format!("the script is wrong in rule {}{why}", n + 1))?;
        }
        Ok(script)
    }
}

fn check_rule(rule: &Rule) -> Result<(), String> {
    let is_word = |word: &String| !word.is_empty() && word.chars().all(char::is_alphanumeric);
    if let Some(word) = rule.when.iter().find(|word| !is_word(word)) {
        return Err(format!(": `{word}` under `when` is not one word"));
    }
    if rule.steps.is_empty() {
        return Err(": it has no `[[rule.step]]`".to_owned());
    }
    for (n, step) in rule.steps.iter().enumerate() {
        check_step(step).map_err(|why| format!(", step {}: {why}", n + 1))?;
    }
    Ok(())
}

fn check_step(step: &Step) -> Result<(), String> {
    if step.say.is_none() && step.finish.is_none() && step.all_calls().next().is_none() {
        return Err("it has none of `say`, `call`, `calls` and `finish`".to_owned());
    }
    let finish = step.finish.iter().flat_map(|finish| finish.text.iter().chain(&finish.sources));
    for text in step.say.iter().chain(finish) {
        template::check(text)?;
    }
    step.all_calls().try_for_each(|call| match &call.input {
        Value::Object(_) => check_value(&call.input),
        other => Err(format!("the input of `{}` is {other} and not a table", call.tool)),
    })
}

fn check_value(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => template::check(text),
        Value::Array(items) => items.iter().try_for_each(check_value),
        Value::Object(fields) => fields.values().try_for_each(check_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

impl Step {
    /// `call`, then `calls`.
    pub fn all_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.call.iter().chain(&self.calls)
    }
}

/// Line and column, from 1, of a byte position; the column counts characters.
fn place(text: &str, at: usize) -> (usize, usize) {
    let (before, _) = text.split_at_checked(at).unwrap_or((text, ""));
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        Script::parse(text).unwrap_err()
    }

    #[test]
    fn what_does_not_parse_is_told_by_line_and_column() {
        let message = wrong("[[rule]]\nwhen = [\"a\"]\n\n[[rule.step]]\n  sya = \"hello\"\n");
        assert!(
            message.starts_with("the script is wrong at line 5, column 3: unknown field `sya`"),
            "{message}"
        );
        assert!(wrong("[[rule]\n").contains("at line 1, column "), "{}", wrong("[[rule]\n"));
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn what_parses_and_makes_no_sense_is_told_by_rule_and_step() {
        let step = |text: &str| format!("[[rule]]\n[[rule.step]]\nsay = \"x\"\n[[rule.step]]\n{text}\n");
        for (text, told) in [
            (String::new(), "no `[[rule]]`"),
            ("[[rule]]\nwhen = [\"two words\"]".to_owned(), "rule 1: `two words` under `when`"),
            ("[[rule]]\nwhen = [\"a\"]".to_owned(), "rule 1: it has no `[[rule.step]]`"),
            (step(""), "rule 1, step 2: it has none of"),
            (step("say = \"{{nobody}}\""), "rule 1, step 2: there is no `{{nobody}}`"),
            (
                step("call = { tool = \"t\", input = { a = [\"{{result.x}}\"] } }"),
                "there is no `{{result.x}}`",
            ),
            (step("call = { tool = \"t\", input = 3 }"), "the input of `t` is 3"),
            (step("finish = { outcome = \"answered\", text = \"{{text|loud}}\" }"), "rule 1, step 2"),
        ] {
            let message = wrong(&text);
            assert!(message.contains(told), "{message}");
        }
    }

    #[test]
    fn an_outcome_is_one_of_two_words() {
        let message = wrong("[[rule]]\n[[rule.step]]\nfinish = { outcome = \"done\" }\n");
        assert!(message.contains("line 3") && message.contains("`done`"), "{message}");
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(place("a\nüb=", 5), (2, 3));
        assert_eq!(place("", 0), (1, 1));
    }
}
