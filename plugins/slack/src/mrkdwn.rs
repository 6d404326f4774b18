//! Blocks of text as Slack's mrkdwn, cut into pieces that each fit.
//!
//! Every piece stands by itself: what is bold is closed and opened again at a cut, a code block ends and begins again,
//! the head of a table is repeated, an item of a list keeps its indentation. All text is escaped by
//! [`Untrusted::escaped`]; the only `<` that leaves stands before an address that was one in the text, and then what is
//! followed is what is shown.

use crate::markdown::{Block, Span, Style};
use crate::text::Untrusted;

/// What begins and ends a code block, with its line ends.
const FENCE_UNITS: usize = 8;
/// The room that the marks of one span take at most: three kinds on either side and what keeps backticks apart, or the
/// brackets of an address.
const MARKS_UNITS: usize = 8;
/// Below this limit nothing can be laid out: a mark, a lead and a letter need more.
const PIECE_UNITS_MIN: usize = 64;
/// The longest address that is shown as one that can be followed; a longer one is text.
const ADDRESS_UNITS_MAX: usize = 1_000;

/// `blocks` in pieces of at most `first_max` units for the first and `units_max` for the others.
pub fn pieces(blocks: &[Block], first_max: usize, units_max: usize) -> Vec<String> {
    let (first_max, units_max) = (first_max.max(PIECE_UNITS_MIN), units_max.max(PIECE_UNITS_MIN));
    let smallest = first_max.min(units_max);
    let mut pieces: Vec<String> = Vec::new();
    for block in blocks {
        for (n, part) in parts(block, smallest).into_iter().enumerate() {
            let between = if n > 0 || is_tight(block) { "\n" } else { "\n\n" };
            let limit = if pieces.len() <= 1 { first_max } else { units_max };
            match pieces.last_mut() {
                Some(last) if units(last) + between.len() + units(&part) <= limit => {
                    last.push_str(between);
                    last.push_str(&part);
                }
                _ => pieces.push(part),
            }
        }
    }
    pieces
}

/// `blocks` in one piece, however long.
#[cfg(test)]
pub fn whole(blocks: &[Block]) -> String {
    pieces(blocks, usize::MAX / 4, usize::MAX / 4).join("\n\n")
}

fn is_tight(block: &Block) -> bool {
    matches!(block, Block::Line { tight: true, .. })
}

/// How long `text` is, in UTF-16 units: never less than however Slack counts characters.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// One block in parts of at most `units_max` each.
fn parts(block: &Block, units_max: usize) -> Vec<String> {
    match block {
        Block::Line { lead, quotes, spans, .. } => line(lead, *quotes, spans, units_max),
        Block::Code { lines, head } => code(lines, *head, units_max),
    }
}

fn line(lead: &str, quotes: usize, spans: &[Span], units_max: usize) -> Vec<String> {
    let quote = "&gt; ".repeat(quotes);
    let indent = " ".repeat(lead.chars().count());
    let mut out =
        Lines { quote, indent, lead: lead.to_owned(), units_max, done: Vec::new(), now: String::new() };
    for span in spans {
        for (n, row) in apart(&span.text).split('\n').enumerate() {
            if n > 0 {
                out.next_row();
            }
            out.row(row, span);
        }
    }
    out.end();
    out.done
}

/// Parts of one line while they are laid out.
struct Lines {
    quote: String,
    indent: String,
    lead: String,
    units_max: usize,
    done: Vec<String>,
    now: String,
}

impl Lines {
    fn begin(&mut self) {
        if self.now.is_empty() {
            let lead = if self.done.is_empty() { &self.lead } else { &self.indent };
            self.now = format!("{}{lead}", self.quote);
        }
    }

    fn end(&mut self) {
        let part = std::mem::take(&mut self.now);
        if !part.trim().is_empty() {
            self.done.push(part.trim_end().to_owned());
        }
    }

    /// A line end within the line.
    fn next_row(&mut self) {
        let before = format!("\n{}{}", self.quote, self.indent);
        if self.now.is_empty() || units(&self.now) + units(&before) + MARKS_UNITS >= self.units_max {
            self.end();
        } else {
            self.now.push_str(&before);
        }
    }

    /// Puts `text` behind what is there; backticks that would meet are kept apart.
    fn say(&mut self, text: &str) {
        if self.now.ends_with('`') && text.starts_with('`') {
            self.now.push('\u{200b}');
        }
        self.now.push_str(text);
    }

    fn row(&mut self, text: &str, span: &Span) {
        let mut rest = text;
        // Ends because every pass takes at least one character, or begins a part in which one fits.
        while !rest.is_empty() {
            self.begin();
            let room = self.units_max.saturating_sub(units(&self.now) + MARKS_UNITS);
            let fits = Untrusted::new(rest).units() <= room;
            let (taken, left) = if fits { (rest, "") } else { cut(rest, room) };
            if taken.is_empty() {
                if self.now.len() <= self.quote.len() + self.indent.len() {
                    let first = rest.chars().next().map_or(0, char::len_utf8);
                    let (one, others) = rest.split_at_checked(first).unwrap_or((rest, ""));
                    self.say(&styled(one, span));
                    rest = others;
                    continue;
                }
                self.end();
                continue;
            }
            self.say(&styled(taken, span));
            rest = left;
            if !rest.is_empty() {
                self.end();
                rest = rest.trim_start();
            }
        }
    }
}

/// `text` up to the last space before `room` is full, or up to there when it is one long word.
fn cut(text: &str, room: usize) -> (&str, &str) {
    let (head, _) = Untrusted::new(text).head(room);
    let head = head.raw();
    let at = head.rfind(' ').filter(|at| *at >= head.len() / 2).map_or(head.len(), |at| at + 1);
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// `text` as it goes to Slack, in the style of `span`. Marks hold only where a word begins and ends, so white space
/// stays outside them.
fn styled(text: &str, span: &Span) -> String {
    let escaped = Untrusted::new(text).escaped();
    if span.is_address && text == span.text {
        return address(text).unwrap_or(escaped);
    }
    let inner = escaped.trim();
    if inner.is_empty() {
        return escaped;
    }
    let before = escaped.len() - escaped.trim_start().len();
    let after = escaped.trim_end().len();
    let Style { bold, italic, strike, code } = span.style;
    let mut marked = inner.to_owned();
    // Slack knows no way to write a backtick in code.
    if code && !inner.contains('`') {
        marked = format!("`{marked}`");
    }
    for (is, mark) in [(strike, '~'), (italic, '_'), (bold, '*')] {
        if is && !code {
            marked = format!("{mark}{marked}{mark}");
        }
    }
    let (lead, trail) = (escaped.get(..before).unwrap_or_default(), escaped.get(after..).unwrap_or_default());
    format!("{lead}{marked}{trail}")
}

/// An address that can be followed: plain characters alone, so that nothing in it ends it or names somebody.
fn address(text: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'<' | b'>' | b'|' | b'"' | b'`' | b'\\');
    let scheme = text.starts_with("https://") || text.starts_with("http://");
    let fits = scheme && text.bytes().all(plain) && Untrusted::new(text).units() <= ADDRESS_UNITS_MAX;
    fits.then(|| format!("<{}>", Untrusted::new(text).escaped()))
}

/// Code in as many fences as it takes; `head` lines at its top are repeated in each.
fn code(lines: &[String], head: usize, units_max: usize) -> Vec<String> {
    let room = units_max.saturating_sub(FENCE_UNITS).max(1);
    let heads: Vec<String> = lines.iter().take(head).map(|line| plain(line)).collect();
    let head_units: usize = heads.iter().map(|line| units(line) + 1).sum();
    // A head that would fill the block is not repeated.
    let repeats = head_units < room / 2;
    let mut parts: Vec<Vec<String>> = vec![Vec::new()];
    let mut used = 0;
    for (n, line) in lines.iter().enumerate() {
        for row in hard(line, if repeats { room - head_units } else { room }) {
            let size = units(&row) + 1;
            if used > 0 && used + size > room {
                let again = repeats && n >= head;
                parts.push(if again { heads.clone() } else { Vec::new() });
                used = if again { head_units } else { 0 };
            }
            used += size;
            if let Some(part) = parts.last_mut() {
                part.push(row);
            }
        }
    }
    parts.iter().map(|rows| format!("```\n{}\n```", rows.join("\n"))).collect()
}

/// A line of code as it goes to Slack, in rows of at most `room`.
fn hard(line: &str, room: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let line = apart(line);
    let mut rest = line.as_str();
    while Untrusted::new(rest).units() > room {
        let (head, _) = Untrusted::new(rest).head(room);
        let at = head.raw().len().max(rest.chars().next().map_or(1, char::len_utf8));
        let (row, left) = rest.split_at_checked(at).unwrap_or((rest, ""));
        rows.push(Untrusted::new(row).escaped());
        rest = left;
    }
    rows.push(Untrusted::new(rest).escaped());
    rows
}

fn plain(line: &str) -> String {
    Untrusted::new(&apart(line)).escaped()
}

/// Backticks in a row get something invisible between them: three would end the block.
fn apart(line: &str) -> String {
    line.replace("``", "`\u{200b}`").replace("``", "`\u{200b}`")
}

#[cfg(test)]
mod tests {
    use super::{pieces, units};
    use crate::markdown::blocks;
    use proptest::prelude::*;

    fn cut(markdown: &str, max: usize) -> Vec<String> {
        pieces(&blocks(markdown), max, max)
    }

    #[test]
    fn code_that_is_cut_is_code_on_both_sides() {
        let code = format!("```\n{}```", "0123456789012345678\n".repeat(10));
        let parts = cut(&code, 100);
        assert!(parts.len() > 1);
        for part in &parts {
            assert!(part.starts_with("```\n") && part.ends_with("\n```"), "{part}");
        }
    }

    #[test]
    fn a_table_that_is_cut_has_its_head_in_every_piece() {
        let rows: String = (0..20).map(|n| format!("| row {n} | {n} |\n")).collect();
        let parts = cut(&format!("| what | n |\n|---|---|\n{rows}"), 100);
        assert!(parts.len() > 2);
        assert!(parts.iter().all(|part| part.starts_with("```\nwhat   | n")), "{parts:?}");
        let all = parts.join("\n");
        assert!((0..20).all(|n| all.contains(&format!("row {n} "))));
    }

    #[test]
    fn bold_that_is_cut_is_closed_and_opened_again() {
        let parts = cut(&format!("**{}**", "word ".repeat(40).trim_end()), 80);
        assert!(parts.len() > 1);
        for part in &parts {
            assert!(part.starts_with('*') && part.ends_with('*') && part.matches('*').count() == 2, "{part}");
        }
    }

    #[test]
    fn an_item_that_is_cut_keeps_its_indentation_and_a_quotation_its_mark() {
        let parts = cut(&format!("- {}", "word ".repeat(40)), 80);
        assert!(parts[0].starts_with("• ") && parts[1].starts_with("  word"), "{parts:?}");
        let parts = cut(&format!("> {}", "word ".repeat(40)), 80);
        assert!(parts.len() > 1 && parts.iter().all(|part| part.starts_with("&gt; ")), "{parts:?}");
    }

    #[test]
    fn blocks_are_put_together_as_long_as_they_fit() {
        assert_eq!(cut("one\n\ntwo\n\nthree", 64), ["one\n\ntwo\n\nthree"]);
        let long = "x".repeat(40);
        assert_eq!(cut(&format!("{long}\n\n{long}"), 64).len(), 2);
    }

    proptest! {
        #[test]
        fn every_piece_fits_and_no_word_is_lost_or_made_a_mention(
            markdown in "([a-z<>@!#&`*_~|\\[\\]()\\-\n 0-9.:/🦊]|```|\n\n|\n- |\n> |\\*\\*|<!here>|<@U012>|https://a\\.b/){0,120}",
            max in 64_usize..400,
        ) {
            let parts = cut(&markdown, max);
            for part in &parts {
                prop_assert!(units(part) <= max, "{} > {max}: {part:?}", units(part));
                let mut rest = part.as_str();
                while let Some(at) = rest.find('<') {
                    let after = &rest[at + 1..];
                    prop_assert!(after.starts_with("http://") || after.starts_with("https://"), "{part:?}");
                    let end = after.find('>');
                    prop_assert!(end.is_some_and(|end| !after[..end].contains(['<', '|', ' '])), "{part:?}");
                    rest = &after[end.unwrap_or(0)..];
                }
                prop_assert_eq!(part.matches("```").count() % 2, 0, "{:?}", part);
            }
            let letters = |text: &str| text.replace("&lt;", "").replace("&gt;", "").replace("&amp;", "")
                .chars().filter(|c| c.is_alphabetic()).count();
            let whole = letters(&pieces(&blocks(&markdown), usize::MAX / 4, usize::MAX / 4).join("\n"));
            prop_assert_eq!(letters(&parts.join("\n")) >= whole, true);
        }
    }
}
