//! What providers have in common: one request out, and an answer that is a stream of events, one whole text, or an
//! error.

use super::{Event, Events, ModelFailure, ModelKind, Next};
use crate::excerpt;
use crate::http::{Ask, Flow, Flows, Waits};

/// How much of an error is read, in bytes: enough for its sentence.
pub const ERROR_BYTES_MAX: usize = 64 * 1024;
/// How much of a whole answer is read, in bytes; more than a host hands on.
const WHOLE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How much of a provider's sentence a failure repeats, in characters.
const SAID_CHARS_MAX: usize = 300;
/// The longest word of an open set.
const WORD_BYTES_MAX: usize = 40;
/// Milliseconds of a second.
const MS: f64 = 1_000.0;
/// The longest wait that is believed, in milliseconds: a day. Beyond it the host does not wait anyway.
const WAIT_MS_MAX: f64 = 86_400_000.0;

/// Takes the events of one answer as they come.
pub trait Read {
    /// One more event. Text goes to `show`.
    ///
    /// # Errors
    /// When it cannot belong to an answer, or says that there will be none.
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure>;
}

/// An answer that has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A stream of events; they were taken.
    Events,
    /// One text.
    Whole(String),
    /// An error of the provider.
    Error {
        /// The status.
        status: u16,
        /// How long it asks to wait, in milliseconds.
        retry_after_ms: Option<u64>,
        /// Its body, or the start of it.
        body: String,
    },
}

/// Sends `ask` and reads the answer.
///
/// # Errors
/// When no whole answer came, or the host said stop.
pub fn read(
    way: &dyn Flows,
    (ask, waits): (&Ask, Waits),
    reader: &mut dyn Read,
    show: &mut dyn FnMut(&str) -> Next,
) -> Result<Heard, ModelFailure> {
    let mut flow = way.open(ask, waits)?;
    let status = flow.status();
    if !(200..300).contains(&status) {
        let retry_after_ms = retry_after_ms(flow.as_ref());
        // What the status says counts, whatever becomes of its body.
        let body = text(flow.as_mut(), ERROR_BYTES_MAX).unwrap_or_default();
        return Ok(Heard::Error { status, retry_after_ms, body });
    }
    let kind = flow.header("content-type").unwrap_or_default().to_ascii_lowercase();
    if !kind.starts_with("text/event-stream") {
        return Ok(Heard::Whole(text(flow.as_mut(), WHOLE_BYTES_MAX)?));
    }
    let mut events = Events::default();
    while let Some(piece) = flow.next()? {
        for event in events.feed(&piece)? {
            reader.take(&event, show)?;
        }
        if show("") == Next::Stop {
            return Err(ModelFailure::stopped());
        }
    }
    Ok(Heard::Events)
}

/// The body as text, at most `bytes_max` of it.
fn text(flow: &mut dyn Flow, bytes_max: usize) -> Result<String, ModelFailure> {
    let mut bytes = Vec::new();
    while bytes.len() < bytes_max {
        let Some(piece) = flow.next()? else { break };
        bytes.extend_from_slice(&piece);
    }
    bytes.truncate(bytes_max);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// How long an answer asks to wait: `retry-after-ms`, or `retry-after` in seconds (RFC 9110, section 10.2.3). A date is
/// not read: a guest has no clock to hold it against.
#[must_use]
pub fn retry_after_ms(flow: &dyn Flow) -> Option<u64> {
    let number = |name: &str| flow.header(name)?.trim().parse::<f64>().ok();
    let ms = number("retry-after-ms").or_else(|| Some(number("retry-after")? * MS))?;
    // Within u64: between nothing and a day.
    (0.0..=WAIT_MS_MAX).contains(&ms).then(|| ms.ceil() as u64)
}

/// The answer ended before it was whole.
#[must_use]
pub fn cut(provider: &str) -> ModelFailure {
    ModelFailure::new(ModelKind::Retryable, format!("the answer of {provider} ended before it was whole"))
}

/// Whether a provider's sentence says that the conversation does not fit.
#[must_use]
pub fn overlong(said: &str) -> bool {
    const SAYS: [&str; 6] = [
        "prompt is too long",
        "input is too long",
        "context_length_exceeded",
        "maximum context length",
        "context window",
        "context size",
    ];
    let said = said.to_ascii_lowercase();
    SAYS.iter().any(|says| said.contains(says))
}

/// What a provider said, fit to stand in a failure.
pub(crate) fn said(text: &str) -> String {
    excerpt(text.trim(), SAID_CHARS_MAX)
}

/// A word of an open set as the host takes it: lower-case letters, digits and hyphens.
#[must_use]
pub fn word(text: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | '0'..='9' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => '-',
    };
    let word: String = text.chars().map(plain).take(WORD_BYTES_MAX).collect();
    if word.is_empty() { "unnamed".to_owned() } else { word }
}

impl ModelFailure {
    /// `provider` answered with `status` and said something.
    #[must_use]
    pub fn answered(kind: ModelKind, provider: &str, status: u16, text: &str) -> Self {
        let text = said(text);
        let text = if text.is_empty() { "and said nothing".to_owned() } else { format!("and said: {text}") };
        Self::new(kind, format!("{provider} answered {status} {text}"))
    }

    /// The same, with how long to wait.
    #[must_use]
    pub fn after(self, retry_after_ms: Option<u64>) -> Self {
        Self { retry_after_ms, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    struct Canned(Vec<(String, Vec<u8>)>);

    impl Flow for Canned {
        fn status(&self) -> u16 {
            200
        }
        fn headers(&self) -> &[(String, Vec<u8>)] {
            &self.0
        }
        fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
            Ok(None)
        }
    }

    fn wait(name: &str, value: &str) -> Option<u64> {
        retry_after_ms(&Canned(vec![(name.to_owned(), value.as_bytes().to_vec())]))
    }

    #[test]
    fn a_wait_is_read_in_seconds_or_milliseconds_and_not_as_a_date() {
        assert_eq!(wait("Retry-After", "7"), Some(7_000));
        assert_eq!(wait("retry-after", " 0.5 "), Some(500));
        assert_eq!(wait("retry-after-ms", "1500"), Some(1_500));
        for none in ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "NaN", "1e30", ""] {
            assert_eq!(wait("retry-after", none), None, "{none}");
        }
    }

    #[test]
    fn a_word_is_short_and_plain() {
        assert_eq!(word("pause_turn"), "pause-turn");
        assert_eq!(word(""), "unnamed");
        assert_eq!(word(&"Ä".repeat(99)).len(), 40);
    }
}
