//! The one place where the JSON of a message is composed.
//!
//! Always: nothing is parsed for names or links (`parse`, `link_names`, `verbatim`), nothing unfurls, every
//! text is escaped, the fallback too, and a mention comes from [`Mention`] alone. An unfurled link would
//! carry what a model wrote to whoever owns the address; a parsed name would notify people nobody asked.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::card::plain;
use crate::ids::{ChannelId, EffectKey, Ts, UserId};
use crate::markdown::blocks;
use crate::mrkdwn::pieces;
use crate::text::{Mention, Untrusted};

/// The most that one section block holds, in characters. Source: Slack's Block Kit reference.
pub const SECTION_CHARS_MAX: usize = 3_000;
/// The longest text that is taken, in characters; what does not fit into a message becomes a file.
pub const TEXT_TAKEN_CHARS_MAX: usize = 200_000;
/// The most that one message holds over all its blocks, in characters. Slack documents no figure and answers
/// `msg_blocks_too_long` at about 13,200 (slackapi/bolt-js #2509).
pub const TEXT_CHARS_MAX: usize = 12_000;
/// The most blocks of one message. Source: Slack's Block Kit reference.
pub const BLOCKS_MAX: usize = 50;
/// The most that goes into the fallback for notifications, in characters: what Slack advises for `text`.
const FALLBACK_CHARS_MAX: usize = 4_000;
/// The most people that one message mentions: more is a broadcast by another name.
pub const MENTIONS_MAX: usize = 20;
/// The `action_id` of a button that opens an address: Slack tells of the click, and it asks nothing.
const ACTION_LINK: &str = "link.open";
/// The most on a button, in characters. Source: Slack's Block Kit reference.
pub(crate) const LABEL_CHARS_MAX: usize = 75;
/// The longest address behind a button, in bytes. Source: Slack's Block Kit reference.
const URL_BYTES_MAX: usize = 3_000;
/// What the metadata of a message is called.
pub const METADATA_TYPE: &str = "chancery_effect";

/// A message to a channel or a thread of it.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// Where.
    pub channel: &'a ChannelId,
    /// The message whose thread it goes to.
    pub thread: Option<&'a Ts>,
    /// Whom it asks, before the text.
    pub mentions: &'a [Mention],
    /// What it says.
    pub text: Untrusted<'a>,
    /// The effect it is.
    pub key: &'a EffectKey,
}

/// The body of `chat.postMessage`.
///
/// # Errors
/// [`Kind::InvalidInput`] when there is nothing to say or too many are mentioned, [`Kind::TooLarge`] when it
/// does not fit into one message.
pub fn compose(message: &Message) -> Result<Value, Failure> {
    if message.text.is_blank() {
        return Err(Failure::new(Kind::InvalidInput, "`text` is empty: there is nothing to post"));
    }
    if message.mentions.len() > MENTIONS_MAX {
        let text = format!("one message mentions at most {MENTIONS_MAX} people");
        return Err(Failure::new(Kind::InvalidInput, text));
    }
    let asked = asked(message.mentions);
    let parts = parts(&asked, message.text);
    one(&parts).map(|part| of_part(message, part, (0, &asked)))
}

/// The bodies of `chat.postMessage` for a text of any length, one after the other; only the first mentions anybody.
///
/// # Errors
/// As [`compose`], but for its length.
pub fn compose_all(message: &Message) -> Result<Vec<Value>, Failure> {
    match compose(message) {
        Err(failure) if failure.kind == Kind::TooLarge => {}
        other => return other.map(|body| vec![body]),
    }
    let asked = asked(message.mentions);
    let parts = parts(&asked, message.text);
    let bodies = parts.iter().enumerate();
    Ok(bodies.map(|(n, part)| of_part(message, part, (n, &asked))).collect())
}

fn of_part(message: &Message, part: &[String], (n, asked): (usize, &str)) -> Value {
    let blocks = part.iter().map(|text| section(text)).collect();
    // A section is shorter than the fallback may be, and escaped already.
    let said = || part.first().cloned().unwrap_or_default();
    let said = if n == 0 { fallback(asked, message.text) } else { said() };
    let mut body = body(message.channel, said, blocks);
    in_thread(&mut body, message.thread);
    named(&mut body, message.key);
    Value::Object(body)
}

/// The only part there is.
fn one(parts: &[Vec<String>]) -> Result<&[String], Failure> {
    match parts {
        [part] => Ok(part),
        _ => {
            let message = format!(
                "the text takes {} messages; Slack takes {TEXT_CHARS_MAX} characters in {BLOCKS_MAX} blocks in one: \
                 say less",
                parts.len()
            );
            Err(Failure::new(Kind::TooLarge, message))
        }
    }
}

/// A button that opens an address. Only the host says where it leads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    label: String,
    url: Web,
}

impl Link {
    fn block(&self) -> Value {
        let button = json!({
            "type": "button", "action_id": ACTION_LINK, "style": "primary",
            "text": plain(&self.label, LABEL_CHARS_MAX), "url": self.url.0,
        });
        json!({ "type": "actions", "elements": [button] })
    }
}

/// An address that a browser opens: `http` or `https`, and nothing that would be read as something else.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Web(String);

impl TryFrom<String> for Web {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_web = text.starts_with("https://") || text.starts_with("http://");
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"`\\|".contains(&byte));
        if is_web && is_plain && text.len() <= URL_BYTES_MAX {
            Ok(Self(text))
        } else {
            Err(format!("`url` is an address of http or https in at most {URL_BYTES_MAX} plain characters"))
        }
    }
}

/// The body of `chat.postEphemeral`: what only `user` sees.
///
/// # Errors
/// As [`compose`].
pub fn compose_whisper(
    channel: &ChannelId,
    thread: Option<&Ts>,
    user: &UserId,
    text: Untrusted,
    link: Option<&Link>,
) -> Result<Value, Failure> {
    if text.is_blank() {
        return Err(Failure::new(Kind::InvalidInput, "`text` is empty: there is nothing to say"));
    }
    let parts = parts("", text);
    let mut blocks: Vec<Value> = one(&parts)?.iter().map(|text| section(text)).collect();
    blocks.extend(link.map(Link::block));
    let mut body = body(channel, fallback("", text), blocks);
    in_thread(&mut body, thread);
    body.insert("user".to_owned(), json!(user.as_str()));
    Ok(Value::Object(body))
}

/// What every text that leaves has in common, whichever method takes it. `text` and what stands in `blocks` are
/// escaped already.
pub fn body(channel: &ChannelId, text: String, blocks: Vec<Value>) -> Map<String, Value> {
    // An update falls back to its own defaults for whatever is not said again.
    Map::from_iter([
        ("channel".to_owned(), json!(channel.as_str())),
        ("text".to_owned(), json!(text)),
        ("blocks".to_owned(), json!(blocks)),
        ("parse".to_owned(), json!("none")),
        ("link_names".to_owned(), json!(false)),
        ("unfurl_links".to_owned(), json!(false)),
        ("unfurl_media".to_owned(), json!(false)),
    ])
}

/// Puts a message into a thread.
pub fn in_thread(body: &mut Map<String, Value>, thread: Option<&Ts>) {
    if let Some(thread) = thread {
        body.insert("thread_ts".to_owned(), json!(thread.as_str()));
    }
}

/// Writes on a message which effect it is. Anybody in the workspace may read that, so it is an id alone.
pub fn named(body: &mut Map<String, Value>, key: &EffectKey) {
    let metadata = json!({ "event_type": METADATA_TYPE, "event_payload": { "key": key.as_str() } });
    body.insert("metadata".to_owned(), metadata);
}

/// The most that one piece of a streamed message holds, in characters: a few sentences.
const PIECE_CHARS_MAX: usize = 600;

/// The texts of the blocks of a message that is seen to grow; nothing where it does not fit into one.
pub fn streamed(text: Untrusted) -> Option<Vec<String>> {
    let sections = pieces(&blocks(text.raw()), PIECE_CHARS_MAX, PIECE_CHARS_MAX);
    let size: usize = sections.iter().map(|section| section.encode_utf16().count()).sum();
    (sections.len() <= BLOCKS_MAX && size <= TEXT_CHARS_MAX).then_some(sections)
}

/// What is escaped already, as long as a fallback may be.
pub fn cut_fallback(escaped: &str) -> String {
    let mut cut: String = escaped.chars().take(FALLBACK_CHARS_MAX - 1).collect();
    if cut.len() < escaped.len() {
        // An entity that is cut in two would be shown as its letters.
        if let Some(at) = cut.rfind('&').filter(|at| !cut.get(*at..).unwrap_or_default().contains(';')) {
            cut.truncate(at);
        }
        cut.push('…');
    }
    cut
}

/// The mentions, each with a space behind it.
pub fn asked(mentions: &[Mention]) -> String {
    mentions.iter().map(|mention| format!("{} ", mention.written())).collect()
}

/// The texts of the blocks of a text, read as Markdown; `asked` stands before the first.
pub(crate) fn sections(asked: &str, text: Untrusted) -> Vec<String> {
    let first = SECTION_CHARS_MAX - asked.len().min(SECTION_CHARS_MAX);
    let mut sections = pieces(&blocks(text.raw()), first, SECTION_CHARS_MAX);
    if sections.is_empty() {
        // Markdown that says nothing, such as a definition that nobody uses, is shown as it was written.
        sections = text.pieces(first, SECTION_CHARS_MAX).into_iter().map(Untrusted::escaped).collect();
    }
    if let Some(first) = sections.first_mut() {
        first.insert_str(0, asked);
    }
    sections
}

/// The same, for each message.
fn parts(asked: &str, text: Untrusted) -> Vec<Vec<String>> {
    let mut parts: Vec<Vec<String>> = Vec::new();
    let mut used = 0;
    for section in sections(asked, text) {
        let size = section.encode_utf16().count();
        let fits = parts.last().is_some_and(|part| part.len() < BLOCKS_MAX) && used + size <= TEXT_CHARS_MAX;
        if !fits {
            parts.push(Vec::new());
            used = 0;
        }
        used += size;
        parts.iter_mut().rev().take(1).for_each(|part| part.push(section.clone()));
    }
    parts
}

/// A section of text that is escaped already.
pub fn section(text: &str) -> Value {
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text, "verbatim": true } })
}

/// What a notification shows, and whoever cannot show blocks.
pub fn fallback(asked: &str, text: Untrusted) -> String {
    let ellipsis = "…";
    let room = FALLBACK_CHARS_MAX - (asked.len() + 1).min(FALLBACK_CHARS_MAX);
    let pieces = text.pieces(room, room);
    let end = if pieces.len() > 1 { ellipsis } else { "" };
    let first = pieces.first().map_or(String::new(), |piece| piece.escaped());
    format!("{asked}{first}{end}")
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::UserId;

    /// Texts that ping people in programs that are not careful.
    pub const CORPUS: [&str; 21] = [
        "<!here>",
        "<!channel>",
        "<!everyone>",
        "@here",
        "@channel",
        "@everyone",
        "@oncall",
        "#general",
        "<#C012|general>",
        "<@U012|x>",
        "<@U012>",
        "<@W012>",
        "<!subteam^S1>",
        "<!date^1^{date}|now>",
        "&lt;!here&gt;",
        "&amp;lt;!here&amp;gt;",
        "<\u{200b}!here>",
        "[site](https://a.example/<!here>)",
        "<https://a.example/?q=secret|click>",
        "Bob <!channel>",
        "`<!here>` ```<@U012>```",
    ];

    fn mentions(ids: &[&str]) -> Vec<Mention> {
        ids.iter().map(|id| Mention::new(UserId::try_from((*id).to_owned()).unwrap())).collect()
    }

    fn composed(text: &str, asked: &[&str]) -> Result<Value, Failure> {
        compose(&Message {
            channel: &ChannelId::try_from("C0123".to_owned()).unwrap(),
            thread: Some(&Ts::try_from("1.0".to_owned()).unwrap()),
            mentions: &mentions(asked),
            text: Untrusted::new(text),
            key: &EffectKey::parse("effect_1").unwrap(),
        })
    }

    /// Calls `see` with every string, key or value, of a JSON value.
    pub fn walk(value: &Value, see: &mut dyn FnMut(&str)) {
        match value {
            Value::String(text) => see(text),
            Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
            Value::Object(fields) => fields.iter().for_each(|(key, field)| {
                see(key);
                walk(field, see);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Every `mrkdwn` object of a JSON value.
    pub fn mrkdwn(value: &Value) -> Vec<&Value> {
        let own = (value.get("type") == Some(&json!("mrkdwn"))).then_some(value);
        let within: Vec<&Value> = match value {
            Value::Array(items) => items.iter().flat_map(mrkdwn).collect(),
            Value::Object(fields) => fields.values().flat_map(mrkdwn).collect(),
            _ => Vec::new(),
        };
        own.into_iter().chain(within).collect()
    }

    /// The rules of every outgoing message: research/slack.md 3.6.
    fn assert_harmless(body: &Value, asked: &[&str]) {
        walk(body, &mut |text| {
            let mut rest = text.to_owned();
            for id in asked {
                rest = rest.replace(&format!("<@{id}>"), "");
            }
            // An address that can be followed is shown as it is, and is the only other thing in brackets.
            for bracketed in rest.clone().split('<').skip(1) {
                let address = bracketed.split('>').next().unwrap();
                assert!(
                    address.starts_with("https://") || address.starts_with("http://"),
                    "`{address}` in `{text}`"
                );
                assert!(!address.contains(['|', ' ', '!', '@']) || !address.contains('|'), "`{text}`");
                rest = rest.replacen(&format!("<{address}>"), "", 1);
            }
            for bad in ["<@", "<!", "<#", "<", ">"] {
                assert!(!rest.contains(bad), "`{bad}` in `{text}`");
            }
        });
        let written: usize =
            asked.iter().map(|id| body["text"].as_str().unwrap().matches(&format!("<@{id}>")).count()).sum();
        assert_eq!(written, asked.len(), "a mention is there once for each asked: {body}");
        let texts = mrkdwn(body);
        assert!(!texts.is_empty());
        assert!(texts.iter().all(|text| text["verbatim"] == json!(true)), "{body}");
        assert_eq!(body["parse"], json!("none"));
        for flag in ["link_names", "unfurl_links", "unfurl_media"] {
            assert_eq!(body[flag], json!(false), "{flag}");
        }
    }

    #[test]
    fn a_message_is_composed_as_slack_takes_it() {
        assert_eq!(
            composed("Tea & <cake>", &["U012"]).unwrap(),
            json!({
                "channel": "C0123",
                "thread_ts": "1.0",
                "text": "<@U012> Tea &amp; &lt;cake&gt;",
                "blocks": [{
                    "type": "section",
                    "text": { "type": "mrkdwn", "text": "<@U012> Tea &amp; &lt;cake&gt;", "verbatim": true },
                }],
                "parse": "none",
                "link_names": false,
                "unfurl_links": false,
                "unfurl_media": false,
                "metadata": { "event_type": "chancery_effect", "event_payload": { "key": "effect_1" } },
            })
        );
    }

    #[test]
    fn nothing_in_the_corpus_becomes_a_mention() {
        for text in CORPUS {
            assert_harmless(&composed(text, &[]).unwrap(), &[]);
            assert_harmless(&composed(text, &["U777"]).unwrap(), &["U777"]);
        }
    }

    #[test]
    fn a_text_beyond_the_limit_is_too_large_for_one_message_and_takes_several() {
        assert!(composed(&"word ".repeat(TEXT_CHARS_MAX / 5 - 10), &[]).is_ok());
        let long = "word ".repeat(TEXT_CHARS_MAX / 5 + 20);
        let failure = composed(&long, &[]).unwrap_err();
        assert_eq!(failure.kind, Kind::TooLarge);
        assert!(failure.message.contains("12000"), "{}", failure.message);
        // What counts is the length once escaped.
        assert_eq!(composed(&"<".repeat(3_100), &[]).unwrap_err().kind, Kind::TooLarge);
    }

    #[test]
    fn what_is_markdown_and_says_nothing_is_shown_as_written() {
        let body = composed("[a]: https://a.example", &[]).unwrap();
        assert_eq!(body["blocks"][0]["text"]["text"], "[a]: https://a.example");
    }

    #[test]
    fn a_long_text_keeps_within_the_limit_of_each_block_and_of_the_fallback() {
        let body = composed(&"A sentence of some length. ".repeat(440), &["U012"]).unwrap();
        assert!((4..=5).contains(&body["blocks"].as_array().unwrap().len()));
        for text in mrkdwn(&body) {
            assert!(text["text"].as_str().unwrap().chars().count() <= SECTION_CHARS_MAX);
        }
        let fallback = body["text"].as_str().unwrap();
        assert!(fallback.chars().count() <= FALLBACK_CHARS_MAX, "{}", fallback.len());
        assert!(fallback.ends_with('…'));
    }

    #[test]
    fn nothing_to_say_and_too_many_to_ask_are_invalid() {
        assert_eq!(composed(" \n", &["U012"]).unwrap_err().kind, Kind::InvalidInput);
        assert_eq!(composed("hello", &["U012"; MENTIONS_MAX + 1]).unwrap_err().kind, Kind::InvalidInput);
    }

    proptest! {
        #[test]
        fn no_text_ever_becomes_a_mention(
            parts in proptest::collection::vec(
                prop_oneof![
                    proptest::sample::select(&CORPUS[..]).prop_map(str::to_owned),
                    "\\PC{0,40}",
                    "[<>@!#&;|^UWCS0-9\n ]{0,40}",
                    "(<@U777>|<@U888>){1,2}",
                ],
                0..30
            ),
            asked in proptest::sample::subsequence(vec!["U012", "W99ABC"], 0..=2),
        ) {
            // Starts with a word, so that there is always something to say.
            let text = format!("x {}", parts.concat());
            if let Ok(body) = composed(&text, &asked) {
                // A mention in the text itself is text: only the asked ones count, once each.
                assert_harmless(&body, &asked);
            } else {
                prop_assert!(Untrusted::new(&text).units() > TEXT_CHARS_MAX - 100);
            }
        }
    }
}
