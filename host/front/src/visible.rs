//! Text that a terminal may be given: whatever would steer the terminal is made visible instead.
//!
//! Escape sequences can move the cursor, rewrite what was shown, set the title or answer for the person;
//! bidirectional controls make a text read other than it is. Line ends and tabs are let through.

/// `text` with every control character, other line separators and invisible steering characters replaced by
/// something that shows.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            // U+2400 to U+241F picture the first 32 control characters, in order.
            '\0'..='\u{1f}' => shown.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
            '\u{7f}' => shown.push('\u{2421}'),
            c if steers(c) => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Characters that show nothing and change how what is around them reads.
#[must_use]
pub fn steers(c: char) -> bool {
    matches!(c,
        // C1 controls, among them the one-character form of `ESC [`.
        '\u{80}'..='\u{9f}'
        // Zero width space, bidirectional marks, embeddings, overrides and isolates; line and paragraph separators.
        | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{feff}'
        // Interlinear annotation, and tags, which spell out invisible text.
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{steers, visible};
    use proptest::prelude::*;

    #[test]
    fn what_would_steer_a_terminal_is_shown() {
        for (text, shown) in [
            ("a\u{1b}[2Jb", "a␛[2Jb"),
            ("a\u{9b}2J", "a\\u{9b}2J"),
            ("a\rb\r\nc\td", "a␍b\nc\td"),
            ("\u{7}\u{8}\u{7f}\0", "␇␈␡␀"),
            ("file\u{202e}gpj.exe", "file\\u{202e}gpj.exe"),
            ("Grüße, 世界 👩‍💻", "Grüße, 世界 👩‍💻"),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_steers_gets_through(text in any::<String>()) {
            let shown = visible(&text);
            let harmless = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || steers(c));
            prop_assert!(shown.chars().all(harmless), "{:?}", shown);
            prop_assert_eq!(visible(&shown), shown);
        }

        #[test]
        fn escape_sequences_never_survive(parts in prop::collection::vec("(\u{1b}|\u{9b}|\r|\u{7}|\\[31m|\\]0;x|a|\u{202e}){1,4}", 0..8)) {
            prop_assert!(visible(&parts.concat()).chars().all(|c| !c.is_control()));
        }
    }
}
