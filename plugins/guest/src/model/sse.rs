//! Server-sent events, read as they come (WHATWG HTML, section 9.2.6).
//!
//! An event ends with an empty line; what stands after the last one is no event. Fields other than `event` and `data`
//! are nobody's business here.

use super::{ModelFailure, ModelKind};

/// The longest event, in bytes: a whole answer fits, and a stream without an empty line ends.
pub const EVENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty when it has none.
    pub name: String,
    /// Its data.
    pub data: String,
}

/// Reads a stream of events.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    /// Whether the last byte was a carriage return: a line feed after it ends no further line.
    after_return: bool,
    begun: bool,
    name: String,
    data: Option<String>,
}

impl Events {
    /// The events that end in `bytes`.
    ///
    /// # Errors
    /// [`ModelKind::Malformed`] for text that is not UTF-8 and for an event that does not end.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, ModelFailure> {
        let mut events = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.take(line)?);
                }
                other => {
                    self.after_return = false;
                    self.line.push(*other);
                    self.check_length()?;
                }
            }
        }
        Ok(events)
    }

    fn check_length(&self) -> Result<(), ModelFailure> {
        let bytes = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if bytes <= EVENT_BYTES_MAX {
            return Ok(());
        }
        Err(malformed(&format!("one of its events is longer than {EVENT_BYTES_MAX} bytes")))
    }

    /// The event that `line` ends, if it ends one.
    fn take(&mut self, line: Vec<u8>) -> Result<Option<Event>, ModelFailure> {
        let mut line = String::from_utf8(line).map_err(|_| malformed("it is not UTF-8"))?;
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(line);
        }
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            return Ok(self.data.take().map(|data| Event { name, data }));
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("event", _) => value.clone_into(&mut self.name),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", none) => *none = Some(value.to_owned()),
            _ => {}
        }
        Ok(None)
    }
}

fn malformed(why: &str) -> ModelFailure {
    ModelFailure::new(ModelKind::Malformed, format!("the stream of the answer cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(text: &[u8]) -> Vec<(String, String)> {
        let events = Events::default().feed(text).unwrap();
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn an_event_has_a_name_and_data_and_ends_with_an_empty_line() {
        let text = b"\xef\xbb\xbfevent: a\ndata: 1\n\n: a comment\nid: 7\ndata:2\ndata\ndata: 3\r\n\r\nevent: none\n\ndata: cut";
        assert_eq!(events(text), [pair("a", "1"), pair("", "2\n\n3")]);
    }

    #[test]
    fn what_is_no_text_or_does_not_end_is_malformed() {
        for wrong in [b"data: \xff\n\n".to_vec(), vec![b'x'; EVENT_BYTES_MAX + 1]] {
            assert_eq!(Events::default().feed(&wrong).unwrap_err().kind, ModelKind::Malformed);
        }
        let line = format!("data: {}\n", "x".repeat(1_000_000));
        assert!(Events::default().feed(line.repeat(5).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn where_a_stream_is_cut_into_pieces_makes_no_difference(
            text in "(event: [ab]|data: [xyö]{0,3}|:|\r\n|\n|\r){0,12}\n\n", at in 0_usize..60,
        ) {
            let bytes = text.as_bytes();
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            let mut reader = Events::default();
            let mut found = reader.feed(first).unwrap();
            found.extend(reader.feed(second).unwrap());
            prop_assert_eq!(found, Events::default().feed(bytes).unwrap());
        }
    }
}
