//! A message as a model reads it: entities said plainly, then the escaping taken off, once.
//!
//! What comes out is for reading alone. It is still what somebody else wrote: it must be escaped again
//! before it is sent anywhere, and nothing in it is a mention.

use crate::notation::{Piece, pieces, unescaped};

/// `text` without Slack's notation: `<https://a.example|here>` becomes `here (https://a.example)`, `<@U1>` becomes
/// `@U1`, `<#C1|general>` becomes `#general (C1)`, `&amp;` becomes `&`. People stay ids: their names are
/// theirs to choose and say nothing about who they are.
#[must_use]
pub fn readable(text: &str) -> String {
    pieces(text)
        .map(|piece| match piece {
            Piece::Text(text) => unescaped(text),
            Piece::Entity(entity) => unescaped(&said(entity)),
        })
        .collect()
}

/// One entity in plain words, still escaped.
fn said(entity: &str) -> String {
    let (target, label) = match entity.split_once('|') {
        Some((target, label)) => (target, label.trim()),
        None => (entity, ""),
    };
    if target.starts_with('@') {
        return target.to_owned();
    }
    if let Some(channel) = target.strip_prefix('#') {
        return if label.is_empty() { format!("#{channel}") } else { format!("#{label} ({channel})") };
    }
    if let Some(command) = target.strip_prefix('!') {
        return command_said(command, label);
    }
    let shown = target.strip_prefix("mailto:").unwrap_or(target);
    let same = label.is_empty()
        || target
            .strip_suffix(label)
            .is_some_and(|rest| matches!(rest, "" | "mailto:" | "http://" | "https://"));
    if same { shown.to_owned() } else { format!("{label} ({shown})") }
}

fn command_said(command: &str, label: &str) -> String {
    if let Some(group) = command.strip_prefix("subteam^") {
        let label = label.trim_start_matches('@');
        return if label.is_empty() { format!("@{group}") } else { format!("@{label} ({group})") };
    }
    if command.starts_with("date^") {
        return if label.is_empty() { command.to_owned() } else { label.to_owned() };
    }
    // `<!here|here>`: the label only repeats the command.
    format!("@{command}")
}

#[cfg(test)]
mod tests {
    use super::readable;
    use crate::notation::escaped;
    use proptest::prelude::*;

    #[test]
    fn entities_become_words_before_the_escaping_goes() {
        for (text, read) in [
            ("<@U1> see <https://a.example/b|the page>", "@U1 see the page (https://a.example/b)"),
            ("<https://a.example>", "https://a.example"),
            ("<https://a.example/?a=1&amp;b=2>", "https://a.example/?a=1&b=2"),
            ("<http://a.example|a.example>", "http://a.example"),
            ("<mailto:a@b.example|a@b.example>", "a@b.example"),
            ("<mailto:a@b.example|write>", "write (a@b.example)"),
            ("<#C1|general> and <#C2>", "#general (C1) and #C2"),
            ("<@U1|Alice &lt;!here&gt;>", "@U1"),
            ("<!here> <!subteam^S1|@oncall> <!subteam^S2>", "@here @oncall (S1) @S2"),
            ("<!date^1392734382^{date}|18 February 2014>", "18 February 2014"),
            ("&lt;@U1&gt; a &amp;lt; b", "<@U1> a &lt; b"),
            ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
            ("<>", "<>"),
        ] {
            assert_eq!(readable(text), read, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_typed_is_what_is_read(typed in ".*") {
            prop_assert_eq!(readable(&escaped(&typed)), typed);
        }

        #[test]
        fn no_text_panics(text in "[<>@#!|^&;a-z:/\n]{0,40}|.*") {
            let _ = readable(&text);
        }
    }
}
