//! HTML to text that a model can read: title, headings, paragraphs, lists.
//!
//! Built on a WHATWG tokenizer, so that no odd markup reads differently here than in a browser's first
//! stage; there is no tree. What a reader of the page would not see as text (scripts, styles, templates,
//! drawings) is dropped. Links keep their words and lose their address.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};

/// The longest title kept, in characters; longer ones are not titles.
const TITLE_CHARS_MAX: usize = 300;

/// Elements that are dropped with everything in them.
const DROPPED: [&[u8]; 10] = [
    b"script",
    b"style",
    b"noscript",
    b"template",
    b"svg",
    b"iframe",
    b"noembed",
    b"noframes",
    b"canvas",
    b"object",
];

/// A page as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The words of the first `title` that has any.
    pub title: Option<String>,
    /// Blocks separated by an empty line; headings begin with as many `#` as their level.
    pub text: String,
}

/// Reads a page.
pub fn readable(html: &str) -> Page {
    let mut emitter = DefaultEmitter::default();
    // Without this, what looks like a tag inside a script or a title would count as one.
    emitter.naively_switch_states(true);
    let mut reader = Reader::default();
    for token in Tokenizer::new_with_emitter(html, emitter) {
        // The source is a string in memory, and reading it does not fail.
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.open(&tag.name, tag.self_closing),
            Token::EndTag(tag) => reader.close(&tag.name),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.finish()
}

#[derive(Debug, Default)]
struct Reader {
    body: Lines,
    title: Lines,
    in_title: bool,
    /// The dropped element that is open, and how many of its name are open within it.
    dropped: Option<(Vec<u8>, usize)>,
}

impl Reader {
    fn open(&mut self, name: &[u8], self_closing: bool) {
        if let Some((dropped, depth)) = &mut self.dropped {
            if dropped == name && !self_closing {
                *depth += 1;
            }
            return;
        }
        match name {
            // Only drawings may close themselves; on other elements the slash means nothing.
            b"svg" if self_closing => {}
            name if DROPPED.contains(&name) => self.dropped = Some((name.to_vec(), 1)),
            b"title" => self.in_title = true,
            b"pre" => {
                self.body.gap(Gap::Paragraph);
                self.body.keeps_space = true;
            }
            b"br" => self.body.gap(Gap::Line),
            b"li" => self.body.begin(Gap::Line, "- "),
            b"td" | b"th" => self.body.gap(Gap::Space),
            name => match heading(name) {
                Some(mark) => self.body.begin(Gap::Paragraph, mark),
                None => self.body.gap(gap_around(name)),
            },
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some((dropped, depth)) = &mut self.dropped {
            if dropped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.dropped = None;
                }
            }
            return;
        }
        match name {
            b"title" => {
                self.in_title = false;
                // A second title would run on from the first.
                self.title.gap(Gap::Paragraph);
            }
            b"pre" => {
                self.body.keeps_space = false;
                self.body.gap(Gap::Paragraph);
            }
            b"li" => self.body.gap(Gap::Line),
            b"td" | b"th" => self.body.gap(Gap::Space),
            name if heading(name).is_some() => self.body.begin(Gap::Paragraph, ""),
            name => self.body.gap(gap_around(name)),
        }
    }

    fn text(&mut self, text: &str) {
        if self.dropped.is_some() {
            return;
        }
        if self.in_title { self.title.write(text) } else { self.body.write(text) }
    }

    fn finish(self) -> Page {
        let title = self.title.out.split("\n\n").next().unwrap_or_default();
        let title: String = title.chars().take(TITLE_CHARS_MAX).collect();
        Page { title: (!title.is_empty()).then_some(title), text: self.body.out }
    }
}

fn heading(name: &[u8]) -> Option<&'static str> {
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
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

/// Text that is being laid out: gaps collapse, and come to nothing at the start and the end.
#[derive(Debug, Default)]
struct Lines {
    out: String,
    gap: Gap,
    /// Written before the next word, such as the mark of a heading.
    mark: &'static str,
    /// Inside `pre`, where white space counts.
    keeps_space: bool,
}

impl Lines {
    fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn begin(&mut self, gap: Gap, mark: &'static str) {
        self.gap(gap);
        self.mark = mark;
    }

    fn write(&mut self, text: &str) {
        for c in text.chars() {
            if c.is_whitespace() && (!self.keeps_space || self.gap > Gap::Space) {
                self.gap(Gap::Space);
            } else {
                self.separate();
                self.out.push(c);
            }
        }
    }

    fn separate(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        if !self.out.is_empty() {
            self.out.push_str(match gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.out.push_str(std::mem::take(&mut self.mark));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(html: &str) -> String {
        readable(html).text
    }

    #[test]
    fn a_page_reads_as_title_headings_paragraphs_and_lists() {
        let page = readable(
            "<!doctype html><html><head><meta charset=utf-8><title> The   fox\n&amp; hound </title></head>
             <body><h1>Fox</h1><p>The <b>quick</b> brown\n fox.<p>It jumps.
             <h2>Where</h2><ul><li>Over<li>Under</ul>
             <table><tr><th>Day<th>Hour<tr><td>Monday<td>9</table></body></html>",
        );
        assert_eq!(page.title.as_deref(), Some("The fox & hound"));
        assert_eq!(
            page.text,
            "# Fox\n\nThe quick brown fox.\n\nIt jumps.\n\n## Where\n\n- Over\n- Under\n\nDay Hour\nMonday 9"
        );
    }

    #[test]
    fn scripts_styles_and_what_else_is_not_read_are_dropped() {
        let html = "<p>a</p><script>if (1 < 2) document.write('<p>bad</p>')</script><style>p{}</style>\
                    <noscript>bad</noscript><template><p>bad</p><template>bad</template>bad</template>\
                    <svg><title>bad</title><text>bad</text></svg><svg/><!-- bad --><p>b</p>";
        let page = readable(html);
        assert_eq!((page.title, page.text.as_str()), (None, "a\n\nb"));
    }

    #[test]
    fn what_looks_like_a_tag_in_a_script_ends_nothing() {
        assert_eq!(text("<script>var a = '</p><b>';</script>after"), "after");
        assert_eq!(readable("<title>a <b>c</b></title>d").title.as_deref(), Some("a <b>c</b>"));
    }

    #[test]
    fn entities_are_decoded_once() {
        assert_eq!(
            text("&lt;b&gt; &amp;lt; &eacute; &#8364; &#x20AC; &notin; &nosuch;"),
            "<b> &lt; é € € ∉ &nosuch;"
        );
        // A numbered entity for NUL, or beyond Unicode, is no character.
        assert_eq!(text("a&#0;b&#x110000;c"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn white_space_counts_in_pre_alone() {
        assert_eq!(text("<p>a\n\n  b</p><pre>x\n  y</pre><p>c"), "a b\n\nx\n  y\n\nc");
    }

    #[test]
    fn broken_markup_still_gives_its_words() {
        assert_eq!(text("<p>one<div>two</p></b></div><h3>three"), "one\ntwo\n\n### three");
        assert_eq!(text("a < b <c"), "a < b");
        assert_eq!(text("<h1></h1><p>x"), "x");
        assert_eq!(text(""), "");
    }

    #[test]
    fn a_second_title_is_not_the_title() {
        assert_eq!(readable("<title></title><title>a</title><title>b</title>").title.as_deref(), Some("a"));
    }

    proptest! {
        #[test]
        fn any_text_that_is_escaped_comes_back_word_for_word(
            words in proptest::collection::vec("[a-zA-Z0-9<>&'\"#;]{1,8}", 1..20)
        ) {
            let plain = words.join(" ");
            let escaped = plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            prop_assert_eq!(text(&format!("<p>{escaped}</p>")), plain);
        }

        #[test]
        fn no_input_panics_or_grows_more_than_a_few_times(html in "(<[a-z1-6/!]{0,8}>?|[ -~]|\\PC){0,200}") {
            let page = readable(&html);
            prop_assert!(page.text.len() <= 8 * html.len());
        }
    }
}
