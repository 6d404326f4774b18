//! Why a call did not work, as a plain value: the `failure` of `chancery:types`, kind for kind.

/// Why a call did not work. The host and the model react to the kind; the message is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure.
    pub kind: Kind,
    /// One sentence that says what happened and, where there is a remedy, what to do. Never a secret.
    pub message: String,
    /// How long to wait before another try, in milliseconds, where the other side said so.
    pub retry_after_ms: Option<u64>,
}

/// What a caller would do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The input is not what the tool takes. Another input may work.
    InvalidInput,
    /// What was asked for does not exist.
    NotFound,
    /// The other side does not allow it, or the host did not let the request out.
    NotAllowed,
    /// The other side asks to wait.
    RateLimited,
    /// The other side did not answer, or answered that it cannot now.
    Unavailable,
    /// More than the other side, or a limit of the host, takes.
    TooLarge,
    /// The other side answered something that could not be understood.
    Malformed,
    /// Any other reason: one stable lower-case word.
    Other(&'static str),
}

impl Failure {
    /// A failure with no word on when to try again.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None }
    }
}

/// The start of `text`, fit to stand inside a message: at most `chars_max` characters on one line.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    let mut kept: String =
        text.chars().take(chars_max).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(chars_max).is_some() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line_and_shows_where_it_was_cut() {
        assert_eq!(excerpt("ab\ncd", 10), "ab cd");
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(excerpt("äöü", 3), "äöü");
    }
}
