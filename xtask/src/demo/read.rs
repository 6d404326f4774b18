//! The record as the demo reads it: the lines of `chancery record show --json`.
//!
//! Nothing of the host's own code is used, so that the story is checked from what anyone can read. A field that
//! is absent reads as the empty string: every check then says what it found instead.

use serde_json::Value;

use crate::stop::Stop;

/// The whole record, in order.
#[derive(Debug)]
pub struct Record {
    events: Vec<Value>,
}

/// One step of a turn, as it started and as it came out.
#[derive(Debug, Clone, Copy)]
pub struct Step<'r> {
    /// The `step.started` event of the last try.
    pub started: &'r Value,
    /// The `step.ended` event, when it has ended.
    pub ended: Option<&'r Value>,
}

/// The text at `pointer`, empty when there is none.
pub fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Record {
    /// Reads one event a line.
    ///
    /// # Errors
    /// When a line is not JSON.
    pub fn parse(lines: &str) -> Result<Self, Stop> {
        let read = |line: &str| {
            serde_json::from_str(line)
                .map_err(|e| Stop::because("`chancery record show --json` wrote a line that is not JSON", e))
        };
        let events =
            lines.lines().filter(|line| !line.trim().is_empty()).map(read).collect::<Result<_, _>>()?;
        Ok(Self { events })
    }

    /// Every event, in order.
    pub fn all(&self) -> &[Value] {
        &self.events
    }

    /// The events of one kind, in order.
    pub fn of<'r>(&'r self, kind: &str) -> impl Iterator<Item = &'r Value> {
        self.events.iter().filter(move |event| text(event, "/kind") == kind)
    }

    /// The event with this name.
    pub fn event(&self, id: &str) -> Option<&Value> {
        self.events.iter().find(|event| text(event, "/id") == id)
    }

    /// The events of `kind` whose body has `value` as its `field`.
    pub fn with<'r>(&'r self, kind: &str, field: &str, value: &str) -> impl Iterator<Item = &'r Value> {
        let pointer = format!("/body/{field}");
        self.of(kind).filter(move |event| text(event, &pointer) == value)
    }

    /// The message that was said in `channel` at `ts`.
    pub fn message(&self, channel: &str, ts: &str) -> Option<&Value> {
        self.with("message.received", "place/ts", ts)
            .find(|event| text(event, "/body/place/channel") == channel)
    }

    /// What was made of `message`, one event for each delivery of it.
    pub fn classes_of<'r>(&'r self, message: &Value) -> impl Iterator<Item = &'r Value> {
        self.with("delivery.classified", "message", text(message, "/id"))
    }

    /// The steps of `turn`, in order.
    pub fn steps(&self, turn: &str) -> Vec<Step<'_>> {
        let number = |event: &Value| event.pointer("/body/step").and_then(Value::as_u64).unwrap_or_default();
        let mut steps: Vec<Step<'_>> = Vec::new();
        for started in self.with("step.started", "turn", turn) {
            steps.retain(|step| number(step.started) != number(started));
            let ended = self.with("step.ended", "turn", turn).find(|ended| number(ended) == number(started));
            steps.push(Step { started, ended });
        }
        steps.sort_by_key(|step| number(step.started));
        steps
    }
}

impl<'r> Step<'r> {
    /// `infer`, `tool` or `send`.
    pub fn kind(&self) -> &'r str {
        text(self.started, "/body/kind")
    }

    /// The tool or model called.
    pub fn tool(&self) -> &'r str {
        text(self.started, "/body/tool")
    }

    /// `succeeded`, `failed`, `denied` or `refused`; empty when it has not ended.
    pub fn outcome(&self) -> &'r str {
        self.ended.map(|ended| text(ended, "/body/outcome")).unwrap_or_default()
    }

    /// The names of the receipts it left.
    pub fn receipts(&self) -> Vec<&'r str> {
        let list = self.ended.and_then(|ended| ended.pointer("/body/receipts")).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_tried_twice_is_one_step() {
        let lines = r#"
{"kind":"step.started","body":{"turn":"turn_1","step":2,"attempt":1,"kind":"tool","tool":"web.fetch"}}
{"kind":"step.started","body":{"turn":"turn_1","step":1,"attempt":1,"kind":"infer","tool":"scripted/story"}}
{"kind":"step.started","body":{"turn":"turn_2","step":1,"attempt":1,"kind":"infer","tool":"other"}}
{"kind":"step.started","body":{"turn":"turn_1","step":2,"attempt":2,"kind":"tool","tool":"web.fetch"}}
{"kind":"step.ended","body":{"turn":"turn_1","step":2,"attempt":2,"outcome":"succeeded","receipts":["receipt_1"]}}
"#;
        let record = Record::parse(lines).unwrap();
        let steps = record.steps("turn_1");
        let shown: Vec<_> = steps.iter().map(|s| (s.kind(), s.tool(), s.outcome(), s.receipts())).collect();
        assert_eq!(
            shown,
            [("infer", "scripted/story", "", vec![]), ("tool", "web.fetch", "succeeded", vec!["receipt_1"])]
        );
    }

    #[test]
    fn a_line_that_is_not_json_is_said() {
        assert!(Record::parse("{}\nlog line\n").is_err());
    }
}
