//! A message as it is sent: plain text in UTF-8 (RFC 5322, RFC 2045, RFC 2047).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::address::MailAddress;

/// How many bytes of a subject one encoded word holds: 45 bytes are 60 characters, and a word has at most 75.
const WORD_BYTES_MAX: usize = 45;
/// How many characters of base64 stand on one line.
const LINE_CHARS_MAX: usize = 76;

/// What a message answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// Its thread, as Gmail names it.
    pub thread: String,
    /// Its `Message-ID`, with angle brackets.
    pub message_id: String,
    /// Its `References`.
    pub references: String,
}

/// A message to send or to keep as a draft.
#[derive(Debug, Clone)]
pub struct Composed<'a> {
    /// To whom.
    pub to: &'a MailAddress,
    /// Who else reads it.
    pub cc: &'a [MailAddress],
    /// What it is about.
    pub subject: &'a str,
    /// What it says.
    pub body: &'a str,
    /// What it answers, if it does.
    pub answers: Option<&'a Answers>,
    /// The effect's name.
    pub key: &'a str,
}

/// The header that keeps the effect's name whatever becomes of the `Message-ID`.
pub const EFFECT_HEADER: &str = "X-Chancery-Effect";

/// The `Message-ID` of an effect, without angle brackets. The domain is one that never exists (RFC 2606).
#[must_use]
pub fn message_id(key: &str) -> String {
    format!("{}@chancery.invalid", plain(key))
}

/// The effect's name as it stands in a header.
#[must_use]
pub fn plain(key: &str) -> String {
    key.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect()
}

/// The whole message in base64url, as Gmail takes it.
#[must_use]
pub fn raw(composed: &Composed<'_>) -> String {
    URL_SAFE_NO_PAD.encode(text(composed))
}

/// The whole message.
#[must_use]
pub fn text(composed: &Composed<'_>) -> String {
    let mut head = vec![format!("To: {}", composed.to)];
    if !composed.cc.is_empty() {
        let list: Vec<String> = composed.cc.iter().map(ToString::to_string).collect();
        // One address a line: a header may not be longer than 998 bytes in one.
        head.push(format!("Cc: {}", list.join(",\r\n ")));
    }
    head.push(format!("Subject: {}", header_text(composed.subject)));
    head.push(format!("Message-ID: <{}>", message_id(composed.key)));
    head.push(format!("{EFFECT_HEADER}: {}", plain(composed.key)));
    if let Some(answers) = composed.answers.filter(|answers| is_message_id(&answers.message_id)) {
        head.push(format!("In-Reply-To: {}", answers.message_id));
        let before = answers.references.split_ascii_whitespace().filter(|id| is_message_id(id));
        let mut chain: Vec<&str> = before.collect();
        chain.push(&answers.message_id);
        head.push(format!("References: {}", chain.join("\r\n ")));
    }
    head.push("MIME-Version: 1.0".to_owned());
    head.push("Content-Type: text/plain; charset=utf-8".to_owned());
    head.push("Content-Transfer-Encoding: base64".to_owned());
    let lines = STANDARD.encode(crlf(composed.body));
    let lines: Vec<&str> = lines
        .as_bytes()
        .chunks(LINE_CHARS_MAX)
        .map(|line| std::str::from_utf8(line).unwrap_or_default())
        .collect();
    format!("{}\r\n\r\n{}\r\n", head.join("\r\n"), lines.join("\r\n"))
}

/// Lines end as mail has them.
fn crlf(body: &str) -> String {
    body.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

/// A text as it may stand in a header: as it is when it is short, printable ASCII, else as encoded words.
fn header_text(text: &str) -> String {
    let one_line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let one_line = one_line.trim();
    let is_plain = one_line.len() <= LINE_CHARS_MAX
        && one_line.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        && !one_line.contains("=?");
    if is_plain {
        return one_line.to_owned();
    }
    let mut words = vec![String::new()];
    for c in one_line.chars() {
        match words.last_mut() {
            Some(word) if word.len() + c.len_utf8() <= WORD_BYTES_MAX => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let words: Vec<String> =
        words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word))).collect();
    words.join("\r\n ")
}

/// Whether this is `<something@somewhere>` and nothing that could begin another header.
fn is_message_id(text: &str) -> bool {
    let inside = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inside.is_some_and(|id| {
        id.contains('@')
            && id.len() <= 900
            && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'<' && byte != b'>')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(text: &str) -> MailAddress {
        MailAddress::try_from(text.to_owned()).unwrap()
    }

    fn composed(subject: &str, body: &str, answers: Option<&Answers>) -> String {
        let (to, cc) = (address("a@example.com"), [address("b@example.com"), address("c@example.com")]);
        text(&Composed { to: &to, cc: &cc, subject, body, answers, key: "effect_1" })
    }

    #[test]
    fn a_message_is_plain_text_with_the_effects_name_in_two_headers() {
        let text = composed("It rains", "Wörter\nand more", None);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let lines: Vec<&str> = head.split("\r\n").collect();
        assert_eq!(
            lines,
            [
                "To: a@example.com",
                "Cc: b@example.com,",
                " c@example.com",
                "Subject: It rains",
                "Message-ID: <effect_1@chancery.invalid>",
                "X-Chancery-Effect: effect_1",
                "MIME-Version: 1.0",
                "Content-Type: text/plain; charset=utf-8",
                "Content-Transfer-Encoding: base64",
            ]
        );
        assert_eq!(STANDARD.decode(body.trim_end()).unwrap(), "Wörter\r\nand more".as_bytes());
    }

    #[test]
    fn an_answer_names_what_it_answers_and_nothing_that_was_made_to_be_a_header() {
        let answers = Answers {
            thread: "t".to_owned(),
            message_id: "<2@example.com>".to_owned(),
            references: "<1@example.com> nonsense".to_owned(),
        };
        let text = composed("Re: it", "Yes.", Some(&answers));
        assert!(
            text.contains(
                "\r\nIn-Reply-To: <2@example.com>\r\nReferences: <1@example.com>\r\n <2@example.com>\r\n"
            ),
            "{text}"
        );
        let hostile = Answers { message_id: "<2@example.com>\r\nBcc: x@example.com".to_owned(), ..answers };
        assert!(!composed("Re: it", "Yes.", Some(&hostile)).contains("Bcc"));
    }

    proptest! {
        #[test]
        fn no_subject_begins_another_header_or_a_long_line(subject in "\\PC{0,200}|[\r\n:=? a-zäß€😀]{0,300}") {
            let text = composed(&subject, "", None);
            let (head, _) = text.split_once("\r\n\r\n").unwrap();
            let named = |line: &str| !line.starts_with(' ') && line.contains(": ");
            prop_assert!(head.split("\r\n").all(|line| named(line) || line.starts_with(' ') || line.ends_with(':') || line == "Subject:"), "{head}");
            prop_assert_eq!(head.split("\r\n").filter(|line| !line.starts_with(' ')).count(), 8);
            prop_assert!(head.split("\r\n").all(|line| line.len() <= 100 && line.is_ascii()));
        }
    }
}
