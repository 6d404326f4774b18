//! Text as it is laid out: what separates words, lines and paragraphs.

use std::mem;

/// Whether a reader could see this character: not the tags of Unicode, which spell words nobody sees, and not what sets
/// the direction of text or stands for nothing. The joiners of emoji and of Persian are kept.
pub(super) fn has_shape(c: char) -> bool {
    !matches!(c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}'
        | '\u{e0000}'..='\u{e007f}')
}

pub(super) fn heading(name: &[u8]) -> Option<&'static str> {
    Some(match name {
        b"h1" => "# ",
        b"h2" => "## ",
        b"h3" => "### ",
        b"h4" => "#### ",
        b"h5" => "##### ",
        b"h6" => "###### ",
        _ => return None,
    })
}

fn gap_around(name: &[u8]) -> Gap {
    match name {
        b"p" | b"ul" | b"ol" | b"dl" | b"table" | b"blockquote" | b"figure" | b"form" | b"fieldset"
        | b"hr" | b"section" | b"article" | b"header" | b"footer" | b"main" | b"aside" | b"nav"
        | b"address" | b"details" | b"body" => Gap::Paragraph,
        b"div" | b"tr" | b"dt" | b"dd" | b"caption" | b"figcaption" | b"summary" | b"option" | b"legend"
        | b"textarea" => Gap::Line,
        _ => Gap::None,
    }
}

/// What separates the next word from the last.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

/// Text that is being laid out: gaps collapse, and come to nothing at the start and the end.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) out: String,
    gap: Gap,
    /// Written before the next word, such as the mark of a heading.
    mark: &'static str,
    /// Inside `pre`, where white space counts.
    keeps_space: bool,
}

impl Lines {
    pub(super) fn open(&mut self, name: &[u8]) {
        match name {
            b"pre" => {
                self.gap(Gap::Paragraph);
                self.keeps_space = true;
            }
            b"br" => self.gap(Gap::Line),
            b"li" => self.begin(Gap::Line, "- "),
            b"td" | b"th" => self.gap(Gap::Space),
            name => match heading(name) {
                Some(mark) => self.begin(Gap::Paragraph, mark),
                None => self.gap(gap_around(name)),
            },
        }
    }

    pub(super) fn close(&mut self, name: &[u8]) {
        match name {
            b"pre" => {
                self.keeps_space = false;
                self.gap(Gap::Paragraph);
            }
            b"li" => self.gap(Gap::Line),
            b"td" | b"th" => self.gap(Gap::Space),
            name if heading(name).is_some() => self.begin(Gap::Paragraph, ""),
            name => self.gap(gap_around(name)),
        }
    }

    pub(super) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn begin(&mut self, gap: Gap, mark: &'static str) {
        self.gap(gap);
        self.mark = mark;
    }

    pub(super) fn write(&mut self, text: &str) {
        for c in text.chars() {
            if !has_shape(c) {
                continue;
            }
            if c.is_whitespace() && (!self.keeps_space || self.gap > Gap::Space) {
                self.gap(Gap::Space);
            } else {
                self.separate();
                self.out.push(c);
            }
        }
    }

    fn separate(&mut self) {
        let gap = mem::take(&mut self.gap);
        if !self.out.is_empty() {
            self.out.push_str(match gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.out.push_str(mem::take(&mut self.mark));
    }
}
