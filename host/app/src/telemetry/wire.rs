//! The OpenTelemetry protocol's trace messages, in Protocol Buffers, as far as a turn needs them.
//!
//! Source: `opentelemetry/proto/collector/trace/v1/trace_service.proto` and what it imports, whose field numbers are
//! frozen. Written by hand: it is two kinds of field and a length, and the crates that generate it bring a runtime, a
//! second HTTP client and a build step.

use super::span::{Kind, Marked, Span, Value};
use event::Timestamp;

/// Nanoseconds in a millisecond.
const NS_PER_MS: u64 = 1_000_000;
/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: u64 = 2;

/// Who exports.
pub(super) struct Exporter<'a> {
    /// `service.name`.
    pub service: &'a str,
    /// `service.version` and that of the scope.
    pub version: &'a str,
    /// `service.instance.id`: this node.
    pub node: &'a str,
}

/// An `ExportTraceServiceRequest` of the spans of one trace.
pub(super) fn request(exporter: &Exporter<'_>, trace: &[u8; 16], spans: &[Span]) -> Vec<u8> {
    let mut resource = Message::default();
    for (key, value) in [
        ("service.name", exporter.service),
        ("service.version", exporter.version),
        ("service.instance.id", exporter.node),
    ] {
        resource.within(1, key_value(key, &Value::Text(value.to_owned())));
    }
    let mut scope = Message::default();
    scope.text(1, "chancery");
    scope.text(2, exporter.version);
    let mut scoped = Message::default();
    scoped.within(1, scope);
    for one in spans {
        scoped.within(2, span(trace, one));
    }
    let mut of_resource = Message::default();
    of_resource.within(1, resource);
    of_resource.within(2, scoped);
    let mut request = Message::default();
    request.within(1, of_resource);
    request.0
}

fn span(trace: &[u8; 16], span: &Span) -> Message {
    let mut message = Message::default();
    message.bytes(1, trace);
    message.bytes(2, &span.id);
    if let Some(parent) = &span.parent {
        message.bytes(4, parent);
    }
    message.text(5, &span.name);
    message.count(
        6,
        match span.kind {
            Kind::Internal => 1,
            Kind::Client => 3,
        },
    );
    message.moment(7, span.began);
    message.moment(8, span.ended);
    for (key, value) in &span.attributes {
        message.within(9, key_value(key, value));
    }
    for marked in &span.marked {
        message.within(11, mark(marked));
    }
    if span.is_error {
        let mut status = Message::default();
        status.count(3, STATUS_ERROR);
        message.within(15, status);
    }
    message
}

fn mark(marked: &Marked) -> Message {
    let mut message = Message::default();
    message.moment(1, marked.at);
    message.text(2, marked.name);
    for (key, value) in &marked.attributes {
        message.within(3, key_value(key, value));
    }
    message
}

fn key_value(key: &str, value: &Value) -> Message {
    let mut message = Message::default();
    message.text(1, key);
    message.within(2, any_value(value));
    message
}

/// An `AnyValue`: its one field is written also when it is empty or zero, which is a value here.
fn any_value(value: &Value) -> Message {
    let mut message = Message::default();
    match value {
        Value::Text(text) => message.bytes(1, text.as_bytes()),
        Value::Flag(flag) => message.varint_field(2, u64::from(*flag)),
        // Negative integers are written as their two's complement.
        Value::Count(count) => message.varint_field(3, count.cast_unsigned()),
        Value::Texts(texts) => {
            let mut array = Message::default();
            for text in texts {
                array.within(1, any_value(&Value::Text(text.clone())));
            }
            message.within(5, array);
        }
    }
    message
}

/// One message as it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        loop {
            let low = value.to_le_bytes()[0] & 0x7f;
            value >>= 7;
            if value == 0 {
                return self.0.push(low);
            }
            self.0.push(low | 0x80);
        }
    }

    fn tag(&mut self, field: u32, kind: u32) {
        self.varint(u64::from(field << 3 | kind));
    }

    fn varint_field(&mut self, field: u32, value: u64) {
        self.tag(field, 0);
        self.varint(value);
    }

    /// A number that is left out when it is zero, as the format's third edition does.
    fn count(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint_field(field, value);
        }
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        if !text.is_empty() {
            self.bytes(field, text.as_bytes());
        }
    }

    fn within(&mut self, field: u32, message: Self) {
        self.bytes(field, &message.0);
    }

    /// A `fixed64` of nanoseconds since 1970.
    fn moment(&mut self, field: u32, at: Timestamp) {
        let ns = u64::try_from(at.0).unwrap_or_default().saturating_mul(NS_PER_MS);
        self.tag(field, 1);
        self.0.extend_from_slice(&ns.to_le_bytes());
    }
}

/// How many spans a collector says that it did not take, and why, from an `ExportTraceServiceResponse`. Nothing where it
/// took all, or where its answer is no such message.
pub(super) fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let partial = fields(answer).into_iter().find_map(|field| match field {
        (1, Field::Bytes(bytes)) => Some(bytes),
        _ => None,
    })?;
    let (mut spans, mut why) = (0, String::new());
    for field in fields(partial) {
        match field {
            (1, Field::Number(count)) => spans = count,
            (2, Field::Bytes(text)) => why = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    (spans > 0).then_some((spans, why))
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message up to the first that cannot be read.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while let Some(tag) = varint(&mut bytes) {
        let field = match tag & 7 {
            0 => varint(&mut bytes).map(Field::Number),
            2 => varint(&mut bytes).and_then(|length| {
                let (one, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
                bytes = rest;
                Some(Field::Bytes(one))
            }),
            _ => None,
        };
        let Some(field) = field else { break };
        fields.push((tag >> 3, field));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Message, rejected, varint};

    #[test]
    fn a_number_is_read_as_it_was_written_and_one_without_an_end_is_none() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut message = Message::default();
            message.varint(number);
            assert_eq!(varint(&mut message.0.as_slice()), Some(number));
        }
        assert_eq!(varint(&mut [0xff; 10].as_slice()), None);
        assert_eq!(varint(&mut [0x80].as_slice()), None);
    }

    #[test]
    fn what_a_collector_did_not_take_is_read_and_an_answer_that_is_none_says_nothing() {
        let mut partial = Message::default();
        partial.varint_field(1, 3);
        partial.text(2, "too old");
        let mut answer = Message::default();
        answer.within(1, partial);
        assert_eq!(rejected(&answer.0), Some((3, "too old".to_owned())));
        for none in [b"".as_slice(), b"\x0a\x00", b"<html>not found</html>", &answer.0[..4], b"\x0a\xff\xff"]
        {
            assert_eq!(rejected(none), None, "{none:?}");
        }
    }
}
