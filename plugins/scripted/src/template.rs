//! Placeholders in a script's text.
//!
//! `{{url}}`: the first address in the newest message. `{{text}}`: that message. `{{result.N.a.b}}`: what
//! the N-th call of this turn returned (from 1), at `a.b` in it; a number picks from a list, and no path is
//! the whole. `|first_sentence` after any of them keeps its first sentence. What is not there renders as
//! `(nothing)`. What is put in is never read again for placeholders.

use serde_json::Value;

use crate::facts::Facts;

/// What stands for something that is not there.
pub(crate) const NOTHING: &str = "(nothing)";
/// The longest first sentence, in characters; a text without full stops is cut there.
const SENTENCE_CHARS_MAX: usize = 300;

/// What is put into a place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Slot<'a> {
    Url,
    Text,
    Result { number: usize, path: Vec<&'a str> },
}

/// Whether every placeholder in `template` is one.
///
/// # Errors
/// Names the first that is not.
pub(crate) fn check(template: &str) -> Result<(), String> {
    split(template).try_for_each(|piece| match piece {
        Piece::Plain(_) => Ok(()),
        Piece::Place(inside) => parse(inside).map(|_| ()),
    })
}

/// `template` with every placeholder filled in.
pub(crate) fn render(template: &str, facts: &Facts) -> String {
    split(template)
        .map(|piece| match piece {
            Piece::Plain(text) => text.to_owned(),
            Piece::Place(inside) => match parse(inside) {
                Ok((slot, first_only)) => fill(&slot, first_only, facts),
                Err(_) => NOTHING.to_owned(),
            },
        })
        .collect()
}

/// A JSON value with every placeholder in its strings filled in. Keys stay as they are.
pub(crate) fn render_value(value: &Value, facts: &Facts) -> Value {
    match value {
        Value::String(text) => Value::String(render(text, facts)),
        Value::Array(items) => items.iter().map(|item| render_value(item, facts)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), render_value(field, facts))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

enum Piece<'a> {
    Plain(&'a str),
    Place(&'a str),
}

/// Cuts a template at its placeholders. A `{{` that nothing ends is plain text.
fn split(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = template;
    let mut place = None;
    std::iter::from_fn(move || {
        if let Some(inside) = place.take() {
            return Some(Piece::Place(inside));
        }
        if rest.is_empty() {
            return None;
        }
        let found = rest.split_once("{{").and_then(|(plain, after)| {
            let (inside, after) = after.split_once("}}")?;
            Some((plain, inside, after))
        });
        let Some((plain, inside, after)) = found else {
            return Some(Piece::Plain(std::mem::take(&mut rest)));
        };
        rest = after;
        place = Some(inside);
        Some(Piece::Plain(plain))
    })
}

/// What stands between the braces, and whether only its first sentence is wanted.
fn parse(inside: &str) -> Result<(Slot<'_>, bool), String> {
    let (name, filter) = match inside.split_once('|') {
        Some((name, filter)) => (name.trim(), Some(filter.trim())),
        None => (inside.trim(), None),
    };
    let unknown = || format!("there is no `{{{{{inside}}}}}`");
    let first_only = match filter {
        None => false,
        Some("first_sentence") => true,
        Some(_) => return Err(unknown()),
    };
    let mut parts = name.split('.');
    let slot = match (parts.next(), parts.next()) {
        (Some("url"), None) => Slot::Url,
        (Some("text"), None) => Slot::Text,
        (Some("result"), Some(number)) => {
            let number = number.parse().ok().filter(|n| *n > 0).ok_or_else(unknown)?;
            Slot::Result { number, path: parts.collect() }
        }
        _ => return Err(unknown()),
    };
    Ok((slot, first_only))
}

fn fill(slot: &Slot, first_only: bool, facts: &Facts) -> String {
    let text = match slot {
        Slot::Url => facts.url().map(str::to_owned),
        Slot::Text => Some(facts.text.clone()).filter(|text| !text.is_empty()),
        Slot::Result { number, path } => {
            let result = facts.results.get(number - 1).copied();
            result.and_then(|result| follow(result, path)).map(written)
        }
    };
    let text = text.map(|text| if first_only { first_sentence(&text) } else { text });
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| NOTHING.to_owned())
}

fn follow<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The first sentence of the first paragraph; lines that begin with `#` are headings and no sentences.
fn first_sentence(text: &str) -> String {
    let is_prose = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let lines = text.lines().skip_while(|line| !is_prose(line)).take_while(is_prose);
    let paragraph = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let mut sentence = String::new();
    let mut chars = paragraph.chars().peekable();
    while let Some(c) = chars.next() {
        if sentence.chars().count() == SENTENCE_CHARS_MAX {
            sentence.push('…');
            break;
        }
        sentence.push(c);
        let ends = matches!(c, '.' | '!' | '?') && chars.peek().is_none_or(|next| next.is_whitespace());
        if ends || matches!(c, '。' | '！' | '？') {
            break;
        }
    }
    sentence
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn rendered(template: &str, results: &[Value]) -> String {
        let facts = Facts {
            text: "What does https://example.com/a?b=1, say?".to_owned(),
            step: 0,
            calls: 0,
            results: results.iter().collect(),
        };
        render(template, &facts)
    }

    #[test]
    fn placeholders_are_filled_from_the_conversation() {
        let results =
            [json!({"title": "Hours", "list": [{"n": 7}], "none": null}), json!({"reason": "no route"})];
        for (template, text) in [
            ("", ""),
            ("plain", "plain"),
            ("{{url}}", "https://example.com/a?b=1"),
            ("<{{ text }}>", "<What does https://example.com/a?b=1, say?>"),
            ("{{result.1.title}}: {{result.2.reason}}.", "Hours: no route."),
            ("{{result.1.list.0.n}}", "7"),
            ("{{result.1.list}}", r#"[{"n":7}]"#),
            ("{{result.2}}", r#"{"reason":"no route"}"#),
            (
                "{{result.1.nope}} {{result.1.list.9}} {{result.3.title}} {{result.1.none}}",
                "(nothing) (nothing) (nothing) (nothing)",
            ),
            ("{{result.1.title.deeper}}", "(nothing)"),
            ("{{ open and }} {{", "(nothing) {{"),
        ] {
            assert_eq!(rendered(template, &results), text, "{template}");
        }
    }

    #[test]
    fn what_is_put_in_is_not_read_for_placeholders() {
        assert_eq!(rendered("{{result.1.a}}", &[json!({"a": "{{text}}"})]), "{{text}}");
    }

    #[test]
    fn a_first_sentence_is_prose_and_ends_at_its_full_stop() {
        for (text, sentence) in [
            ("# Title\n\nVersion 1.5 is out. More follows.", "Version 1.5 is out."),
            ("One\ntwo.\n\nThree.", "One two."),
            ("No full stop\n\nNext.", "No full stop"),
            ("Really?! Yes.", "Really?!"),
            ("# Only a title", "(nothing)"),
        ] {
            assert_eq!(rendered("{{result.1|first_sentence}}", &[json!(text)]), sentence, "{text}");
        }
        let long = rendered("{{ result.1.t | first_sentence }}", &[json!({"t": "x".repeat(5_000)})]);
        assert_eq!(long.chars().count(), SENTENCE_CHARS_MAX + 1);
    }

    #[test]
    fn values_are_filled_in_string_by_string() {
        let facts = Facts { text: "hi \"there\"".to_owned(), step: 0, calls: 0, results: Vec::new() };
        let value = json!({"a": ["{{text}}", 1], "{{text}}": {"b": true}});
        assert_eq!(render_value(&value, &facts), json!({"a": ["hi \"there\"", 1], "{{text}}": {"b": true}}));
    }

    proptest! {
        #[test]
        fn text_without_placeholders_is_rendered_as_it_is(text in "[^{}]{0,60}(\\{|\\}|\\}\\})?[^{}]{0,20}") {
            prop_assert_eq!(check(&text), Ok(()));
            prop_assert_eq!(rendered(&text, &[]), text);
        }

        #[test]
        fn what_passes_the_check_never_panics(text in "(\\{\\{|\\}\\}|result|url|[.|0-9]|first_sentence|\\PC){0,20}") {
            let _ = check(&text);
            let _ = rendered(&text, &[json!({"a": 1})]);
        }
    }
}
