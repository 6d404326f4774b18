//! Slack's text notation, as it arrives: text with `&amp; &lt; &gt;` for its three control characters, and
//! entities in angle brackets (`<@U1>`, `<#C1|name>`, `<!here>`, `<https://…|label>`).
//!
//! Entities are found before anything is unescaped, so a `&lt;@U1&gt;` that somebody typed is never one.
//! Source of the rule: "Formatting text for app surfaces", docs.slack.dev.

/// A part of a text in notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text between entities, still escaped.
    Text(&'a str),
    /// What stands between `<` and `>`.
    Entity(&'a str),
}

/// The pieces of `text` in order. A `<` that opens no entity on its line, or one that begins with a space, stays
/// text.
pub(crate) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text, entity: None }
}

pub(crate) struct Pieces<'a> {
    rest: &'a str,
    entity: Option<&'a str>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if let Some(entity) = self.entity.take() {
            return Some(Piece::Entity(entity));
        }
        if self.rest.is_empty() {
            return None;
        }
        let (text, entity, rest) = split(self.rest);
        self.rest = rest;
        if text.is_empty() {
            return entity.map(Piece::Entity);
        }
        self.entity = entity;
        Some(Piece::Text(text))
    }
}

/// The text before the first entity, the entity, and what follows it.
fn split(text: &str) -> (&str, Option<&str>, &str) {
    for (open, _) in text.match_indices('<') {
        let (before, after) = text.split_at(open);
        let after = after.strip_prefix('<').unwrap_or(after);
        let end = after.find(['<', '>', '\n']);
        if let Some((entity, rest)) = end.and_then(|end| after.split_at_checked(end))
            && let Some(rest) = rest.strip_prefix('>')
            && !entity.is_empty()
            && !entity.starts_with(char::is_whitespace)
        {
            return (before, Some(entity), rest);
        }
    }
    (text, None, "")
}

/// The user that an entity mentions: `@U1` and `@U1|name`.
pub(crate) fn mentioned(entity: &str) -> Option<&str> {
    let named = entity.strip_prefix('@')?;
    named.split('|').next().filter(|user| !user.is_empty())
}

/// Whether `text` mentions `user` by an entity. A name, or an entity that was typed and so arrived escaped,
/// is no mention.
pub(crate) fn mentions(text: &str, user: &str) -> bool {
    pieces(text).any(|piece| matches!(piece, Piece::Entity(e) if mentioned(e) == Some(user)))
}

/// The user mentioned at the very start of `text`.
pub(crate) fn leads_with(text: &str) -> Option<&str> {
    match pieces(text.trim_start()).next() {
        Some(Piece::Entity(entity)) => mentioned(entity),
        _ => None,
    }
}

/// Typed text in notation: nothing in it is an entity, and [`crate::readable`] gives it back as it was typed.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Takes the escaping off once.
pub(crate) fn unescaped(text: &str) -> String {
    // `&amp;` last: `&amp;lt;` is how a typed `&lt;` arrives.
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Whether `text` holds emoji and white space alone, and at least one emoji: `:wave:`, `:+1::skin-tone-2:`, 🎉.
pub(crate) fn is_emoji_only(text: &str) -> bool {
    let mut rest = text.trim_start();
    let mut any = false;
    while !rest.is_empty() {
        let Some(after) = after_emoji(rest) else { return false };
        any = true;
        rest = after.trim_start();
    }
    any
}

fn after_emoji(text: &str) -> Option<&str> {
    if let Some(named) = text.strip_prefix(':') {
        let (name, after) = named.split_once(':')?;
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '\'');
        return (!name.is_empty() && name.chars().all(plain)).then_some(after);
    }
    let mut chars = text.chars();
    let first = chars.next()?;
    if matches!(first, '0'..='9' | '#' | '*') {
        // A keycap is a digit, a selector and a combining box; a digit alone is a digit.
        let boxed = chars.as_str().trim_start_matches('\u{fe0f}').strip_prefix('\u{20e3}');
        return boxed;
    }
    is_pictograph(first).then_some(chars.as_str())
}

/// Characters that Slack draws as pictures, and those that join or tint them. Source: the blocks of Unicode 16
/// that hold `Emoji_Presentation` or `Extended_Pictographic`, taken whole.
fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}' | '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{Piece, escaped, is_emoji_only, leads_with, mentions, pieces, unescaped};
    use proptest::prelude::*;

    #[test]
    fn an_entity_that_somebody_typed_is_not_a_mention() {
        for (text, named) in [
            ("<@U0BOT> hello", true),
            ("hello <@U0BOT|chancery>", true),
            ("a < b <@U0BOT>", true),
            ("&lt;@U0BOT&gt; hello", false),
            ("<@U0BOTX> hello", false),
            ("@U0BOT hello", false),
            ("<@U0BOT", false),
            ("<#U0BOT>", false),
            ("<\n@U0BOT>", false),
            ("<https://example.com/<@U0BOT>", true),
        ] {
            assert_eq!(mentions(text, "U0BOT"), named, "{text:?}");
        }
    }

    #[test]
    fn only_a_mention_at_the_very_start_leads() {
        assert_eq!(leads_with("  <@U1> look"), Some("U1"));
        for text in ["look <@U1>", "<!here> <@U1>", "<#C1|general>", "@U1", "", "&lt;@U1&gt;"] {
            assert_eq!(leads_with(text), None, "{text:?}");
        }
    }

    #[test]
    fn emoji_alone_are_told_from_words_and_figures() {
        for text in [":wave:", " :+1::skin-tone-2: \n:日本:", "🎉", "👩‍💻 ❤️", "1️⃣", "🇦🇹", ":e-mail:"]
        {
            assert!(is_emoji_only(text), "{text:?}");
        }
        for text in ["", "  ", "ok :wave:", ":wave", "12", "10:30:45", "::", ":a b:", "?", "<@U1>", "#"] {
            assert!(!is_emoji_only(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn the_pieces_put_together_are_the_text(text in "[<>@|a&\n]{0,24}|.*") {
            let whole: String = pieces(&text)
                .map(|piece| match piece {
                    Piece::Text(text) => text.to_owned(),
                    Piece::Entity(entity) => format!("<{entity}>"),
                })
                .collect();
            prop_assert_eq!(whole, text);
        }

        #[test]
        fn unescaping_undoes_escaping_once(text in ".*|(&lt;|&amp;|amp;|lt;|<|&){0,8}") {
            prop_assert_eq!(unescaped(&escaped(&text)), text);
        }
    }
}
