//! A guest's lines for the operator: through `chancery:host/log`, and whatever it writes to its standard
//! output and standard error.
//!
//! All of a call's lines share one allowance. What is too long is cut, what is too many is dropped, and the
//! guest is told neither: a log is no reason to fail. Control characters are replaced, so that no guest can
//! write a line that looks like another's, or move a terminal's cursor.

use crate::Limits;
use bytes::Bytes;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
}

/// The lines of one call. Clones share the allowance.
#[derive(Clone)]
pub(crate) struct Lines {
    plugin: Arc<str>,
    line_bytes: usize,
    left: Arc<Mutex<usize>>,
}

impl Lines {
    pub(crate) fn new(plugin: &str, limits: &Limits) -> Self {
        let left = Arc::new(Mutex::new(limits.log_lines));
        Self { plugin: plugin.into(), line_bytes: limits.log_line_bytes, left }
    }

    /// Writes one line, if there is allowance for it.
    pub(crate) fn write(&self, level: Level, line: &str) {
        if !self.take() {
            return;
        }
        let line = plain(line, self.line_bytes);
        let plugin = &*self.plugin;
        match level {
            Level::Debug => tracing::debug!(target: "guest", plugin, "{line}"),
            Level::Info => tracing::info!(target: "guest", plugin, "{line}"),
            Level::Warn => tracing::warn!(target: "guest", plugin, "{line}"),
        }
    }

    /// Takes what is left of the allowance: nothing more is written.
    pub(crate) fn end(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = 0;
    }

    fn take(&self) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let some = *left > 0;
        *left = left.saturating_sub(1);
        some
    }

    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The beginning of `text` that fits `bytes_max`, cut between characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// `text` on one line: cut, and without control characters.
pub(crate) fn plain(text: &str, bytes_max: usize) -> String {
    cut(text, bytes_max).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A guest's standard output as lines of its log.
impl StdoutStream for Lines {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Written { lines: self.clone(), begun: Vec::new() })
    }

    // Only WASI 0.3 asks for this one, and 0.3 is not linked.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }
}

impl IsTerminal for Lines {
    fn is_terminal(&self) -> bool {
        false
    }
}

/// One open standard output, and the line that is begun on it: never more than a line may have.
struct Written {
    lines: Lines,
    begun: Vec<u8>,
}

impl Written {
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.begun);
        if !line.is_empty() {
            self.lines.write(Level::Info, &String::from_utf8_lossy(&line));
        }
    }
}

impl OutputStream for Written {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        for byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else if self.begun.len() < self.lines.line_bytes {
                self.begun.push(byte);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(self.lines.line_bytes)
    }
}

#[async_trait]
impl Pollable for Written {
    async fn ready(&mut self) {}
}

/// A line without an end is a line all the same.
impl Drop for Written {
    fn drop(&mut self) {
        self.end_line();
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Lines, cut, plain};
    use crate::Limits;
    use bytes::Bytes;
    use proptest::prelude::*;
    use wasmtime_wasi::cli::StdoutStream;

    fn lines() -> Lines {
        Lines::new("web", &Limits { log_lines: 3, log_line_bytes: 8, ..Limits::for_tools() })
    }

    #[test]
    fn lines_and_standard_output_share_one_allowance() {
        let lines = lines();
        lines.write(Level::Info, "one");
        let mut out = lines.p2_stream();
        out.write(Bytes::from_static(b"two\n\nthree")).unwrap();
        assert_eq!(lines.left(), 1, "an empty line is none, and one without an end is still open");
        drop(out);
        assert_eq!(lines.left(), 0);
        lines.write(Level::Warn, "dropped");
        assert_eq!(lines.left(), 0);
    }

    #[test]
    fn an_endless_line_takes_the_room_of_one() {
        let mut out = lines().p2_stream();
        for _ in 0..1_000 {
            out.write(Bytes::from_static(&[b'x'; 100])).unwrap();
        }
        let lines = lines();
        assert_eq!(plain(&"x".repeat(100), lines.line_bytes).len(), 8);
    }

    #[test]
    fn a_line_cannot_pretend_to_be_two() {
        assert_eq!(plain("a\nb\x1b[2J\tc", 100), "a\u{fffd}b\u{fffd}[2J\u{fffd}c");
    }

    #[test]
    fn a_cut_falls_between_characters() {
        assert_eq!(cut("añb", 2), "a");
        assert_eq!(cut("añb", 3), "añ");
        assert_eq!(cut("", 3), "");
    }

    proptest! {
        #[test]
        fn a_cut_is_the_longest_beginning_that_fits(text in "\\PC{0,20}", bytes_max in 0_usize..90) {
            let kept = cut(&text, bytes_max);
            prop_assert!(text.starts_with(kept) && kept.len() <= bytes_max);
            let next = text[kept.len()..].chars().next();
            prop_assert!(next.is_none_or(|next| kept.len() + next.len_utf8() > bytes_max));
        }

        #[test]
        fn a_plain_line_has_no_control_character(text in any::<String>(), bytes_max in 0_usize..90) {
            prop_assert!(!plain(&text, bytes_max).chars().any(char::is_control));
        }
    }
}
