//! From Markdown, which models write, to the pieces that Slack shows: read by a real parser, never by patterns.
//!
//! A text becomes [`Block`]s: lines of styled spans, and code, whose lines stand as they are. What cannot be said in
//! Slack's own notation is said plainly: a heading is bold, a table is columns in a code block, an image is its
//! address, HTML is the text it was written as. Nothing here escapes or cuts; [`crate::mrkdwn`] does.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// How deep lists and quotations may be nested before the rest stands flat: deeper, nobody can tell the levels.
const DEPTH_MAX: usize = 6;

/// How a span looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Bold.
    pub bold: bool,
    /// Italic.
    pub italic: bool,
    /// Struck out.
    pub strike: bool,
    /// Code.
    pub code: bool,
}

/// Text of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// As it is read: neither Markdown nor escaped.
    pub text: String,
    /// How it looks.
    pub style: Style,
    /// Whether it is an address that may be followed; then the text is that address.
    pub is_address: bool,
}

/// One block of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A paragraph, a heading or an item of a list.
    Line {
        /// What stands before it, such as a bullet.
        lead: String,
        /// How many quotations it stands in.
        quotes: usize,
        /// What it says; a line end within is one.
        spans: Vec<Span>,
        /// Whether it follows the block before it without an empty line.
        tight: bool,
    },
    /// Code, or a table.
    Code {
        /// Its lines.
        lines: Vec<String>,
        /// How many lines at its top are repeated where it is cut: the head of a table.
        head: usize,
    },
}

/// The blocks of `markdown`, in order.
pub fn blocks(markdown: &str) -> Vec<Block> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader::default();
    for event in Parser::new_ext(markdown, options) {
        reader.read(event);
    }
    reader.end_line();
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    spans: Vec<Span>,
    style: Style,
    /// Open emphases of each kind: they may be nested.
    bold: usize,
    italic: usize,
    strike: usize,
    quotes: usize,
    /// Open lists: the number of the next item, or nothing where they have bullets.
    lists: Vec<Option<u64>>,
    /// What stands before the next line, once.
    lead: Option<String>,
    /// Whether the line is the first of its item.
    tight: bool,
    code: Option<String>,
    table: Option<table::Table>,
    /// Whether the next text begins a span of its own.
    fresh: bool,
    /// The target of each open link or image, and where its label begins.
    links: Vec<(String, usize)>,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                let style = Style { code: true, ..self.style };
                self.push(&text, style, false);
            }
            // Nobody's HTML is shown as anything but what was written.
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.end_line();
                self.text("———");
                self.end_line();
            }
            Event::TaskListMarker(done) => self.text(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_line();
                self.bold += 1;
                self.italic += usize::from(level > HeadingLevel::H2);
                self.restyle();
            }
            Tag::Paragraph | Tag::HtmlBlock => self.end_line(),
            Tag::BlockQuote(_) => {
                self.end_line();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.end_line();
                let _language = matches!(kind, CodeBlockKind::Fenced(_));
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.end_line();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.end_line();
                self.table = Some(table::Table::default());
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(table::Table::row),
            Tag::Emphasis => self.emphasis(|reader| &mut reader.italic, 1),
            Tag::Strong => self.emphasis(|reader| &mut reader.bold, 1),
            Tag::Strikethrough => self.emphasis(|reader| &mut reader.strike, 1),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.spans.len()));
                self.fresh = true;
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                self.end_line();
                self.bold = self.bold.saturating_sub(1);
                self.italic = self.italic.saturating_sub(usize::from(level > HeadingLevel::H2));
                self.restyle();
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_line(),
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                let lines = code.trim_end_matches('\n').split('\n').map(str::to_owned).collect();
                self.blocks.push(Block::Code { lines, head: 0 });
            }
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
                self.tight = !self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_line();
                self.lead = None;
            }
            TagEnd::TableCell => {
                let cell: String = self.spans.drain(..).map(|span| span.text).collect();
                self.table.iter_mut().for_each(|table| table.cell(&cell));
            }
            TagEnd::Table => self.blocks.extend(self.table.take().map(table::Table::block)),
            TagEnd::Emphasis => self.emphasis(|reader| &mut reader.italic, -1),
            TagEnd::Strong => self.emphasis(|reader| &mut reader.bold, -1),
            TagEnd::Strikethrough => self.emphasis(|reader| &mut reader.strike, -1),
            TagEnd::Link | TagEnd::Image => self.linked(),
            _ => {}
        }
    }

    fn emphasis(&mut self, of: fn(&mut Self) -> &mut usize, by: isize) {
        let depth = of(self);
        *depth = depth.saturating_add_signed(by);
        self.restyle();
    }

    fn restyle(&mut self) {
        let (bold, italic, strike) = (self.bold > 0, self.italic > 0, self.strike > 0);
        self.style = Style { bold, italic, strike, code: false };
    }

    fn item(&mut self) {
        self.end_line();
        let depth = self.lists.len().min(DEPTH_MAX);
        let indent = "    ".repeat(depth.saturating_sub(1));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => {
                if depth > 1 {
                    "◦ ".to_owned()
                } else {
                    "• ".to_owned()
                }
            }
        };
        let is_first = !matches!(self.blocks.last(), Some(Block::Line { lead, .. }) if !lead.is_empty());
        self.tight = !is_first || depth > 1;
        self.lead = Some(format!("{indent}{mark}"));
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.push_str(text),
            None => self.push(text, self.style, false),
        }
    }

    fn push(&mut self, text: &str, style: Style, is_address: bool) {
        let fresh = std::mem::take(&mut self.fresh) || is_address;
        match self.spans.last_mut() {
            Some(last) if last.style == style && !last.is_address && !fresh => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style, is_address }),
        }
    }

    /// The target behind its label, in full: what is followed is what is shown.
    fn linked(&mut self) {
        let Some((target, from)) = self.links.pop() else { return };
        let label: String = self.spans.iter().skip(from).map(|span| span.text.as_str()).collect();
        let followed = target.starts_with("https://") || target.starts_with("http://");
        let bare = target.strip_prefix("mailto:").unwrap_or(&target);
        if label.trim().is_empty() || label == target || label == bare {
            self.spans.truncate(from);
            self.push(bare, self.style, followed);
        } else if !target.is_empty() {
            self.push(" (", self.style, false);
            self.push(bare, self.style, followed);
            self.push(")", self.style, false);
        }
    }

    fn end_line(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.iter().all(|span| span.text.trim().is_empty()) {
            return;
        }
        let quotes = self.quotes.min(DEPTH_MAX);
        let (lead, tight) = match self.lead.take() {
            Some(lead) => (lead, self.tight),
            // A second paragraph of an item stands under its first.
            None if !self.lists.is_empty() => ("    ".repeat(self.lists.len().min(DEPTH_MAX)), true),
            None => (String::new(), false),
        };
        self.blocks.push(Block::Line { lead, quotes, spans, tight });
    }
}

#[cfg(test)]
mod tests;
