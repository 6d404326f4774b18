//! What a message is made of: text that nobody vouches for, and mentions that only a constructor makes.
//!
//! Slack reads three characters as control (`&`, `<`, `>`); escaped, no text can form a mention, a link or a
//! command. That holds for every piece, however the text is cut.
//! Source: docs.slack.dev/messaging/formatting-message-text.

use crate::ids::UserId;

/// Text from anywhere: a model, a page, a person. It is shown as it is written and can do nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untrusted<'a>(&'a str);

/// A person who is asked. Made from an id that the host took from Slack, never from text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention(UserId);

impl<'a> Untrusted<'a> {
    /// Any text is untrusted text.
    pub fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// The text itself, for whoever lays it out; it never leaves so.
    pub fn raw(self) -> &'a str {
        self.0
    }

    /// As it goes to Slack.
    pub fn escaped(self) -> String {
        let mut escaped = String::with_capacity(self.0.len());
        for c in self.0.chars() {
            match escape(c) {
                Some(entity) => escaped.push_str(entity),
                None => escaped.push(c),
            }
        }
        escaped
    }

    /// How long it is once escaped, in UTF-16 units: never less than however Slack counts characters.
    pub fn units(self) -> usize {
        self.0.chars().map(units_of).sum()
    }

    /// Whether there is nothing to see.
    pub fn is_blank(self) -> bool {
        self.0.trim().is_empty()
    }

    /// The longest beginning of at most `units_max` units, and whether that is not all of it.
    pub fn head(self, units_max: usize) -> (Untrusted<'a>, bool) {
        let mut units = 0;
        let too_long = |(_, c): &(usize, char)| {
            units += units_of(*c);
            units > units_max
        };
        match self.0.char_indices().find(too_long) {
            Some((at, _)) => (Untrusted(self.0.get(..at).unwrap_or_default()), true),
            None => (self, false),
        }
    }

    /// Cuts it into pieces of at most `units_max` units each, the first of at most `first_max`: after a
    /// paragraph where possible, else a line, a sentence, a word. White space at a cut is dropped, and no
    /// piece is blank.
    pub fn pieces(self, first_max: usize, units_max: usize) -> Vec<Untrusted<'a>> {
        let mut pieces = Vec::new();
        let mut rest = self.0.trim();
        let mut limit = first_max;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at_checked(cut(rest, limit)).unwrap_or((rest, ""));
            // Indentation alone, before what does not fit beside it, says nothing.
            let piece = Untrusted(piece.trim_end());
            if !piece.is_blank() {
                pieces.push(piece);
            }
            // Lines keep their indentation; only what separated the pieces goes.
            rest = after.trim_start_matches(['\n', '\r']);
            if rest.trim().is_empty() {
                break;
            }
            limit = units_max;
        }
        pieces
    }
}

impl Mention {
    /// Mentions a person.
    pub fn new(user: UserId) -> Self {
        Self(user)
    }

    /// As it goes to Slack: the only place where `<@` is written.
    pub fn written(&self) -> String {
        format!("<@{}>", self.0.as_str())
    }
}

fn escape(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}

fn units_of(c: char) -> usize {
    escape(c).map_or(c.len_utf16(), str::len)
}

/// Where to cut `text` so that what comes before has at most `units_max` units: a byte position, never 0.
fn cut(text: &str, units_max: usize) -> usize {
    let mut units = 0;
    let too_long = |(_, c): &(usize, char)| {
        units += units_of(*c);
        units > units_max
    };
    let Some((hard, first)) = text.char_indices().find(too_long) else {
        return text.len();
    };
    // A limit smaller than one character would otherwise never end.
    let hard = hard.max(if hard == 0 { first.len_utf8() } else { 0 });
    let (head, _) = text.split_at_checked(hard).unwrap_or((text, ""));
    let after = |separator: &str| head.rfind(separator).map(|at| at + separator.len());
    // Not before the middle: a short line at the start must not become a piece of its own.
    let good = |at: &usize| *at >= hard / 2;
    ["\n\n", "\n", ". ", " "].into_iter().filter_map(after).find(good).unwrap_or(hard)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(text: &str, first_max: usize, units_max: usize) -> Vec<String> {
        Untrusted::new(text).pieces(first_max, units_max).into_iter().map(Untrusted::escaped).collect()
    }

    #[test]
    fn exactly_three_characters_are_escaped_and_only_once() {
        assert_eq!(
            Untrusted::new("<!here> & \"*bold*\" &lt;").escaped(),
            "&lt;!here&gt; &amp; \"*bold*\" &amp;lt;"
        );
    }

    #[test]
    fn a_mention_is_written_from_its_id() {
        let user = UserId::try_from("U012AB".to_owned()).unwrap();
        assert_eq!(Mention::new(user).written(), "<@U012AB>");
    }

    #[test]
    fn a_text_is_cut_after_a_paragraph_where_it_can_be() {
        assert_eq!(pieces("one two\n\nthree four", 12, 12), ["one two", "three four"]);
        assert_eq!(pieces("one two\nthree four", 12, 12), ["one two", "three four"]);
        assert_eq!(pieces("One two. Three four", 12, 12), ["One two.", "Three four"]);
        assert_eq!(pieces("one two three four", 12, 12), ["one two", "three four"]);
        assert_eq!(pieces("abcdefgh", 3, 3), ["abc", "def", "gh"]);
        assert_eq!(pieces("abc", 3, 3), ["abc"]);
        assert_eq!(pieces("  \n ", 3, 3), [""; 0]);
        assert_eq!(pieces("abcde  <c", 5, 5), ["abcde", "&lt;c"]);
    }

    #[test]
    fn an_escape_is_never_cut() {
        assert_eq!(pieces("a<b", 4, 4), ["a", "&lt;", "b"]);
        assert_eq!(pieces("&&&", 7, 7), ["&amp;", "&amp;", "&amp;"]);
    }

    #[test]
    fn a_head_is_as_long_as_it_may_be_and_says_whether_it_is_all() {
        for (text, max, head, cut) in [
            ("abc", 3, "abc", false),
            ("abcd", 3, "abc", true),
            ("a&b", 5, "a", true),
            ("a&b", 6, "a&amp;", true),
            ("🦊x", 1, "", true),
        ] {
            let (shown, is_cut) = Untrusted::new(text).head(max);
            assert_eq!((shown.escaped().as_str(), is_cut), (head, cut), "{text}");
        }
    }

    #[test]
    fn a_character_outside_the_basic_plane_counts_as_two_units() {
        assert_eq!(Untrusted::new("🦊").units(), 2);
        assert_eq!(pieces("🦊🦊🦊", 4, 4), ["🦊🦊", "🦊"]);
    }

    proptest! {
        #[test]
        fn pieces_keep_every_word_in_order_and_fit(text in "(\\PC|[\n &<>.]){0,300}", first in 5usize..40, max in 5usize..40) {
            let pieces = Untrusted::new(&text).pieces(first, max);
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let joined: String = pieces.iter().map(|piece| visible(piece.0)).collect();
            prop_assert_eq!(joined, visible(&text));
            for (n, piece) in pieces.iter().enumerate() {
                let limit = if n == 0 { first } else { max };
                prop_assert!(piece.units() <= limit);
                prop_assert!(!piece.is_blank());
                prop_assert_eq!(piece.units(), piece.escaped().encode_utf16().count());
            }
        }

        #[test]
        fn escaped_text_has_no_control_character_left(text in "\\PC{0,100}") {
            let escaped = Untrusted::new(&text).escaped();
            prop_assert!(!escaped.contains(['<', '>']));
            let undone = escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            prop_assert_eq!(undone, text);
        }
    }
}
