//! HTML to text that a model can read: title, headings, paragraphs, lists, and where links lead.
//!
//! Built on a WHATWG tokenizer, so that no odd markup reads differently here than in a browser's first
//! stage; there is no tree. What a reader of the page would not see as text (scripts, styles, templates,
//! drawings, what is marked hidden, characters without a shape) is dropped: it is where orders to a model are
//! put. Links keep their words, and their addresses stand apart.

mod dropped;
mod lines;

use html5gum::emitters::default::{DefaultEmitter, StartTag};
use html5gum::{Token, Tokenizer};

use dropped::{Dropped, Ends};
use lines::{Gap, Lines, has_shape};

/// The longest title kept, in characters; longer ones are not titles.
const TITLE_CHARS_MAX: usize = 300;
/// How many links of a page are kept.
pub const LINKS_MAX: usize = 100;
/// Longest address of a link that is kept, in bytes.
const LINK_BYTES_MAX: usize = 1_024;
/// Longest words of a link that are kept, in characters.
const LINK_CHARS_MAX: usize = 100;
/// The main part of a page stands for the page when it has at least this many characters; a shorter one is a frame
/// that a script fills.
const MAIN_CHARS_MIN: usize = 200;

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

/// Elements that have no end, so that nothing is in them.
const VOID: [&[u8]; 14] = [
    b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta", b"param",
    b"source", b"track", b"wbr",
];

/// A page as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The words of the first `title` that has any.
    pub title: Option<String>,
    /// Blocks separated by an empty line; headings begin with as many `#` as their level.
    pub text: String,
    /// What its `main` or `article` says, without what is set apart in it; nothing where it has none of any length.
    pub main: Option<String>,
    /// Where its links lead, in order and each once, as they stand there.
    pub links: Vec<Link>,
    /// What addresses are relative to, when the page says so.
    pub base: Option<String>,
}

/// A link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// Its words.
    pub words: String,
    /// Its address as the page has it.
    pub address: String,
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
            Token::StartTag(tag) => reader.open(&tag),
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
    main: Lines,
    title: Lines,
    in_title: bool,
    /// How many elements are open that hold the main part.
    mains: usize,
    /// How many elements are open that are set apart from it.
    asides: usize,
    /// The dropped element that is open.
    dropped: Option<Dropped>,
    link: Option<Link>,
    links: Vec<Link>,
    base: Option<String>,
}

impl Reader {
    fn open(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        if let Some(dropped) = &mut self.dropped {
            if !dropped.ends_before(name) {
                dropped.open(name, tag.self_closing);
                return;
            }
            self.dropped = None;
        }
        // Only drawings may close themselves; on other elements the slash means nothing.
        if name == b"svg" && tag.self_closing {
            return;
        }
        if DROPPED.contains(&name) || (!VOID.contains(&name) && is_hidden(tag)) {
            self.dropped = Some(Dropped::of(name));
            return;
        }
        match name {
            b"title" => self.in_title = true,
            b"base" => self.base = self.base.take().or_else(|| attribute(tag, b"href")),
            b"a" => self.begin_link(tag),
            b"main" | b"article" => self.mains = self.mains.saturating_add(1),
            b"nav" | b"aside" | b"footer" | b"form" => self.asides = self.asides.saturating_add(1),
            _ => {}
        }
        self.each(|lines| lines.open(name));
    }

    fn close(&mut self, name: &[u8]) {
        if let Some(dropped) = &mut self.dropped {
            match dropped.close(name) {
                Ends::Not => return,
                Ends::With => {
                    self.dropped = None;
                    return;
                }
                Ends::Before => self.dropped = None,
            }
        }
        match name {
            b"title" => {
                self.in_title = false;
                // A second title would run on from the first.
                self.title.gap(Gap::Paragraph);
            }
            b"a" => self.end_link(),
            b"main" | b"article" => self.mains = self.mains.saturating_sub(1),
            b"nav" | b"aside" | b"footer" | b"form" => self.asides = self.asides.saturating_sub(1),
            _ => {}
        }
        self.each(|lines| lines.close(name));
    }

    fn each(&mut self, write: impl Fn(&mut Lines)) {
        write(&mut self.body);
        write(&mut self.main);
    }

    fn text(&mut self, text: &str) {
        if self.dropped.is_some() {
            return;
        }
        if self.in_title {
            self.title.write(text);
            return;
        }
        self.body.write(text);
        if self.mains > 0 && self.asides == 0 {
            self.main.write(text);
        }
        if let Some(link) = &mut self.link {
            let left = LINK_CHARS_MAX.saturating_sub(link.words.chars().count());
            link.words.extend(text.chars().filter(|c| has_shape(*c)).take(left));
        }
    }

    fn begin_link(&mut self, tag: &StartTag<()>) {
        self.end_link();
        let address = attribute(tag, b"href").filter(|address| address.len() <= LINK_BYTES_MAX);
        self.link = address.map(|address| Link { words: String::new(), address });
    }

    fn end_link(&mut self) {
        let Some(link) = self.link.take().filter(|_| self.links.len() < LINKS_MAX) else { return };
        let words = link.words.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_new = !self.links.iter().any(|other| other.address == link.address);
        if is_new && !words.is_empty() {
            self.links.push(Link { words, ..link });
        }
    }

    fn finish(mut self) -> Page {
        self.end_link();
        let title = self.title.out.split("\n\n").next().unwrap_or_default();
        let title: String = title.chars().take(TITLE_CHARS_MAX).collect();
        let is_main = self.main.out.chars().nth(MAIN_CHARS_MIN - 1).is_some();
        Page {
            title: (!title.is_empty()).then_some(title),
            text: self.body.out,
            main: is_main.then_some(self.main.out),
            links: self.links,
            base: self.base,
        }
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let (_, value) = tag.attributes.iter().find(|(known, _)| known.as_slice() == name)?;
    let value = String::from_utf8_lossy(value).trim().to_owned();
    (!value.is_empty()).then_some(value)
}

/// Whether the page itself says that nobody sees this. What a style sheet hides is not known here.
fn is_hidden(tag: &StartTag<()>) -> bool {
    let says_so = tag.attributes.keys().any(|name| name.as_slice() == b"hidden");
    let style = attribute(tag, b"style").unwrap_or_default().to_ascii_lowercase();
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    says_so
        || ["display:none", "visibility:hidden", "font-size:0;", "opacity:0;"]
            .iter()
            .any(|how| style.contains(how))
        || style.ends_with("font-size:0")
        || style.ends_with("opacity:0")
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

    #[test]
    fn what_nobody_sees_is_not_read() {
        for hidden in [
            "<div hidden>bad</div>",
            "<div style='color: red; display : none'>bad <div>bad</div> bad</div>",
            "<span style='font-size:0'>bad</span>",
            "<span style='opacity:0;color:red'>bad</span>",
            "<p hidden>bad",
            "<ul><li hidden>bad</ul>",
            "<ul><li hidden>bad<ul><li>bad</ul>bad</ul>",
            "<table><tr hidden><td>bad<td>bad</table>",
            "<p style='visibility:hidden'>bad",
        ] {
            assert_eq!(text(&format!("<p>a</p>{hidden}<p>b</p>")).replace("- ", ""), "a\n\nb", "{hidden}");
        }
        assert_eq!(text("<input hidden><img hidden>a<br hidden>b"), "a\nb");
        assert_eq!(text("<p style='font-size:0.9em;opacity:0.5'>a"), "a");
        let smuggled: String = "obey".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        assert_eq!(text(&format!("a{smuggled}\u{200b}\u{202e}b")), "ab");
        assert_eq!(text("👩\u{200d}🔬"), "👩\u{200d}🔬");
    }

    #[test]
    fn the_main_part_is_told_from_what_is_around_it() {
        let words = "The fox is here. ".repeat(20);
        let page = readable(&format!(
            "<nav><a href=/>Home</a></nav><main><h1>Fox</h1><p>{words}</p><aside>Buy</aside></main><footer>Law</footer>"
        ));
        let main = page.main.unwrap();
        assert!(main.starts_with("# Fox\n\nThe fox") && !main.contains("Buy"), "{main}");
        assert!(page.text.contains("Home") && page.text.contains("Buy") && page.text.contains("Law"));
        assert_eq!(readable("<main>Loading</main><p>a").main, None, "a frame is no page");
    }

    #[test]
    fn links_are_kept_apart_each_once_and_not_without_end() {
        let page = readable(
            "<base href='/docs/'><a href=' one.html '>The <b>first</b></a><a href=one.html>again</a><a name=x>no</a>\
             <a href=two.html>never ended <a href=three.html>three</a><a href=four.html><img></a>",
        );
        let links: Vec<(&str, &str)> =
            page.links.iter().map(|link| (link.words.as_str(), link.address.as_str())).collect();
        assert_eq!(links, [("The first", "one.html"), ("never ended", "two.html"), ("three", "three.html")]);
        assert_eq!(page.base.as_deref(), Some("/docs/"));
        let many: String = (0..500).map(|n| format!("<a href=/{n}>x{n}</a>")).collect();
        assert_eq!(readable(&many).links.len(), LINKS_MAX);
        let long =
            readable(&format!("<a href=/>{}</a><a href=/{}>y</a>", "x".repeat(500), "z".repeat(2_000)));
        assert_eq!((long.links.len(), long.links[0].words.len()), (1, LINK_CHARS_MAX));
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
