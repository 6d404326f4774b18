//! What a model is told of each tool, and the shape of what it takes and gives.

use guest::Definition;
use serde_json::{Value, json};

/// The longest that may be set ahead, in minutes: a month.
const MINUTES_MAX: u32 = 44_640;
/// The most lines of one page.
const LINES_MAX: u32 = 50;
/// The most turns that are told at once.
const TURNS_MAX: u32 = 20;
/// The longest text of what is wanted and of an answer, in characters; the host counts bytes.
const TEXT_CHARS_MAX: usize = 4_000;

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn list(of: Value) -> Value {
    json!({"type": "array", "items": of})
}

/// All of them.
pub fn all() -> Vec<Definition> {
    vec![said(), seats(), turns(), budgets(), waiting(), look_again(), ask(), answer()]
}

fn said() -> Definition {
    let text = json!({"type": "string"});
    let line = object(
        json!({"at": text, "who": text, "thread": text, "text": text}),
        &["at", "who", "thread", "text"],
    );
    Definition {
        name: "office.said",
        description: "What was said earlier in this conversation, in all its threads, oldest first. `find` gives only lines \
            with all its words. For what is earlier, ask again with `before` as `earlier` says.",
        input_schema: object(
            json!({
                "find": {"type": "string", "minLength": 1, "maxLength": 200},
                "before": {"type": "integer", "minimum": 1},
                "limit": {"type": "integer", "minimum": 1, "maximum": LINES_MAX},
            }),
            &[],
        ),
        output_schema: object(
            json!({
                "lines": list(line), "earlier": {"type": "integer"}, "withheld": {"type": "integer"},
            }),
            &["lines"],
        ),
    }
}

fn seats() -> Definition {
    let text = json!({"type": "string"});
    let seat = object(
        json!({
            "seat": text, "you": {"const": true}, "role": text, "department": text, "reports_to": text,
            "holder": text, "works_for_it": text, "takes_turns": {"type": "boolean"}, "answers_for": list(text.clone()),
        }),
        &["seat", "role", "takes_turns"],
    );
    Definition {
        name: "office.seats",
        description: "Who is in the office: each seat, what it answers for, who holds it, whom it reports to. One without \
            a holder is vacant.",
        input_schema: object(json!({}), &[]),
        output_schema: object(json!({"seats": list(seat)}), &["seats"]),
    }
}

fn turns() -> Definition {
    let text = json!({"type": "string"});
    let turn = object(
        json!({"turn": text, "at": text, "woken_by": text, "ending": text, "summary": text}),
        &["turn", "at", "woken_by", "ending", "summary"],
    );
    Definition {
        name: "office.turns",
        description: "Your own earlier turns in this conversation, newest first: what woke you and how each ended.",
        input_schema: object(json!({"limit": {"type": "integer", "minimum": 1, "maximum": TURNS_MAX}}), &[]),
        output_schema: object(json!({"turns": list(turn)}), &["turns"]),
    }
}

fn budgets() -> Definition {
    let text = json!({"type": "string"});
    let budget = object(
        json!({
            "budget": text, "limit": text, "settled": text, "held": text, "unknown": text, "left": text,
            "starts_anew_at": text,
        }),
        &["budget", "limit", "settled", "held", "unknown", "left"],
    );
    Definition {
        name: "office.budgets",
        description: "What is left on the budgets that your calls here are held on. Spends nothing.",
        input_schema: object(json!({}), &[]),
        output_schema: object(json!({"budgets": list(budget)}), &["budgets"]),
    }
}

fn waiting() -> Definition {
    let text = json!({"type": "string"});
    let approval = object(
        json!({"approval": text, "tool": text, "asked_at": text, "expires_at": text}),
        &["approval", "tool", "asked_at", "expires_at"],
    );
    let request = object(
        json!({"request": text, "asker": text, "holder": text, "wanted": text, "due_at": text}),
        &["request", "asker", "holder", "wanted", "due_at"],
    );
    Definition {
        name: "office.waiting",
        description: "What waits in this conversation: your calls that wait for a person's yes, requests you asked or owe \
            an answer to, and when you look at this again.",
        input_schema: object(json!({}), &[]),
        output_schema: object(
            json!({
                "approvals": list(approval), "requests": list(request), "look_again_at": text,
                "elsewhere": {"type": "integer"},
            }),
            &["approvals", "requests", "elsewhere"],
        ),
    }
}

fn minutes() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": MINUTES_MAX})
}

fn look_again() -> Definition {
    Definition {
        name: "office.look-again",
        description: "Be woken about this again in so many minutes. A later wish replaces an earlier one.",
        input_schema: object(json!({"minutes": minutes()}), &["minutes"]),
        output_schema: object(json!({"look_again_at": {"type": "string"}}), &["look_again_at"]),
    }
}

fn ask() -> Definition {
    let wanted = json!({"type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX});
    Definition {
        name: "office.ask",
        description: "Ask another seat, by name, for an answer within so many minutes. You are woken when it answers, or \
            when the time is over. Seats are named by `office.seats`.",
        input_schema: object(
            json!({"seat": {"type": "string"}, "wanted": wanted, "minutes": minutes()}),
            &["seat", "wanted", "minutes"],
        ),
        output_schema: object(
            json!({"request": {"type": "string"}, "asked": {"const": true}}),
            &["request", "asked"],
        ),
    }
}

fn answer() -> Definition {
    let answer = json!({"type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX});
    Definition {
        name: "office.answer",
        description: "Answer a request that another seat asked of you.",
        input_schema: object(
            json!({"request": {"type": "string"}, "answer": answer}),
            &["request", "answer"],
        ),
        output_schema: object(
            json!({"request": {"type": "string"}, "answered": {"const": true}}),
            &["request", "answered"],
        ),
    }
}
