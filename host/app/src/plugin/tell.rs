//! A plugin in words that need no programmer: what it is, what it would do, what it asks for.
//!
//! Always holds: whatever a plugin says of itself is on one line and steers no terminal, and is told apart from what
//! the office says of it.

use crate::show::{one_line, short};
use event::{PluginInstalled, Route};
use fold::plugin as rules;
use serde_json::Value;

/// Most arguments of one tool that are listed.
const ARGUMENTS_MAX: usize = 20;

/// What a class of tools may do, in a phrase.
pub fn effect(word: &str) -> &'static str {
    match word {
        "read" => "reads, and changes nothing",
        "draft" => "prepares something that nobody sees yet",
        "write" => "changes something of the office's own",
        "external" => "reaches people or systems outside",
        "destructive" => "does what cannot be taken back: each call waits for a person's yes",
        "privileged" => "changes who may do what: each call waits for a person's yes",
        "undeclared" => "does not say what it does: each call is judged by itself",
        _ => "does something that this version does not know",
    }
}

/// What a world is for, in a phrase.
pub fn world(word: &str) -> &'static str {
    match word {
        "tool" => "it offers tools, things a seat may do",
        "plain" => "its exported functions are tools, things a seat may do",
        "model" => "it offers models, which seats think with",
        "guard" => "it looks at calls and may only add a no",
        _ => "this version does not know it",
    }
}

/// What an interface lends, in a phrase.
pub fn interface(name: &str) -> &'static str {
    let path = name.split('@').next().unwrap_or(name);
    match path {
        "chancery:host/log" => "writes lines to the operator's log",
        "chancery:host/settings" => "reads its settings, which the operator gives it",
        "chancery:host/credentials" => "asks whether a credential is there, and never sees one",
        "chancery:host/deltas" => "shows text while it is written",
        "chancery:host/office" => "the office's own, as far as it is given handles",
        "chancery:types/types" => "shared words, which do nothing",
        _ if path.starts_with("wasi:http/") => "sends requests, and only by the ways it is granted",
        _ if path.starts_with("wasi:filesystem/") => "files: there are none for it",
        _ if path.starts_with("wasi:sockets/") => "the network: it reaches nothing by this",
        _ if path.starts_with("wasi:clocks/") => "time: it is told that of the call",
        _ if path.starts_with("wasi:random/") => {
            "chance: drawn from the call, so that a replay sees the same"
        }
        _ if path.starts_with("wasi:cli/") => {
            "the program around it: no arguments, no environment; its output is the log"
        }
        _ if path.starts_with("wasi:io/") => "streams, which do nothing by themselves",
        _ => "nobody here offers this: it would not load",
    }
}

/// The ways out that a version asks for, and what comes of them.
#[must_use]
pub fn asks(version: &PluginInstalled) -> String {
    let mut lines = vec![format!("{} {}  sha256:{}", version.plugin, version.version, version.digest)];
    for tool in &version.offers {
        lines.push(format!("  offers   {:<20} {}", tool.name, effect(&tool.effect)));
    }
    if version.asks.is_empty() {
        lines.push("  asks     for no way out".to_owned());
    }
    lines.extend(version.asks.iter().map(|route| format!("  asks     {}", short(&rules::told(route)))));
    lines.extend(
        version
            .directories
            .iter()
            .map(|asked| format!("  asks     to {}", short(&rules::told_directory(asked)))),
    );
    lines.extend(
        version.handles.iter().map(|handle| format!("  asks     to {}", rules::told_handle(*handle))),
    );
    if !version.graphql_reads.is_empty() {
        let count = version.graphql_reads.len();
        lines.push(format!("  reads    send {count} documents of GraphQL that it names, and no other"));
    }
    let signed =
        version.signed_by.as_ref().map_or_else(|| "not signed".to_owned(), |key| format!("signed by {key}"));
    lines.push(format!("  {signed}"));
    lines.join("\n") + "\n"
}

/// Routes in one sentence.
#[must_use]
pub fn listed(routes: &[Route]) -> String {
    if routes.is_empty() {
        return "no way out".to_owned();
    }
    routes.iter().map(rules::told).collect::<Vec<_>>().join(", ")
}

/// The fields of an object's schema, a line each: name, type, whether it is needed, what it is.
#[must_use]
pub fn fields(schema: &Value) -> Vec<String> {
    let needed = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
    };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let mut lines: Vec<String> = properties
        .iter()
        .take(ARGUMENTS_MAX)
        .map(|(name, field)| {
            let kind = field.get("type").map_or_else(
                || "value".to_owned(),
                |kind| match kind {
                    Value::String(kind) => kind.clone(),
                    other => other.to_string(),
                },
            );
            let about = field.get("description").and_then(Value::as_str);
            let about = about.map_or_else(String::new, |about| format!(": {about}"));
            let needed = if needed(name) { "" } else { ", if wanted" };
            short(&one_line(&format!("{name} ({kind}{needed}){about}")))
        })
        .collect();
    if properties.len() > ARGUMENTS_MAX {
        lines.push(format!("and {} more", properties.len() - ARGUMENTS_MAX));
    }
    lines
}

/// Bytes as people read them.
#[must_use]
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{}.{} MiB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

#[cfg(test)]
mod tests {
    use super::{fields, interface, size};

    #[test]
    fn a_schema_is_a_line_for_each_field_and_steers_no_terminal() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "whom\u{1b}[2J to greet"},
                "times": {"type": ["integer", "null"]},
            },
            "required": ["name"],
        });
        assert_eq!(
            fields(&schema),
            ["name (string): whom\\u{1b}[2J to greet", "times ([\"integer\",\"null\"], if wanted)"]
        );
        assert_eq!(fields(&serde_json::json!(true)), Vec::<String>::new());
    }

    #[test]
    fn every_interface_has_a_phrase_and_an_unknown_one_says_so() {
        assert!(interface("wasi:http/outgoing-handler@0.2.6").contains("only by the ways it is granted"));
        assert!(interface("acme:beam/teleport@1.0.0").contains("would not load"));
        assert_eq!(
            (size(12).as_str(), size(70_000).as_str(), size(19_000_000).as_str()),
            ("12 bytes", "68 KiB", "18.1 MiB")
        );
    }
}
