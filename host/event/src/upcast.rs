//! Older shapes of bodies, read as the newest: one step from each schema number to the next.
//!
//! Only reading goes through here. What is stored, its digest and its link of the chain stay as they were written,
//! so a record that holds old shapes verifies like any other.

use serde_json::{Value, json};

/// One step: the kind, the schema number it starts from, and what it does to the body.
type Step = (&'static str, u16, fn(Value) -> Value);

/// Every step there is. A kind at schema `n` in the table of kinds has a step from each number below `n`.
pub(crate) const STEPS: &[Step] = &[("turn.ended", 1, topic_of_a_turn_ended)];

/// The body in the newest shape that steps lead to, and the number of that shape.
pub(crate) fn newest(kind: &str, mut schema: u16, mut body: Value) -> (u16, Value) {
    // Ends because every step raises the number, and there are finitely many.
    while let Some((_, _, step)) = STEPS.iter().find(|(of, from, _)| *of == kind && *from == schema) {
        body = step(body);
        schema = schema.saturating_add(1);
    }
    (schema, body)
}

/// Schema 1 did not say what the turn was about; its stream's `turn.opened` does. No topic has this name, so nothing
/// is added to one.
fn topic_of_a_turn_ended(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.entry("topic").or_insert_with(|| json!("unknown"));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::STEPS;
    use crate::Fact;
    use serde_json::json;

    #[test]
    fn an_ended_turn_of_the_first_shape_reads_as_one_of_the_newest() {
        let body = json!({"turn": "turn_1", "ending": "answered", "summary": "six", "sources": []});
        let Fact::TurnEnded(ended) = Fact::read("turn.ended", 1, body.clone()).unwrap() else {
            panic!("another kind")
        };
        assert_eq!((ended.topic.as_str(), ended.summary.text()), ("unknown", "six"));
        // The newest shape is not guessed at: what it must hold, it must hold.
        assert!(Fact::read("turn.ended", 2, body).is_err());
    }

    #[test]
    fn every_older_shape_has_a_step_and_every_step_has_a_shape_to_start_from() {
        for (kind, newest) in Fact::KINDS {
            for schema in 1..*newest {
                assert!(STEPS.iter().any(|(of, from, _)| of == kind && *from == schema), "{kind} {schema}");
            }
        }
        for (kind, from, _) in STEPS {
            assert!(Fact::KINDS.iter().any(|(of, newest)| of == kind && from < newest), "{kind} {from}");
        }
    }
}
