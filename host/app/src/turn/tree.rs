//! One turn as a tree a person can read: its phases, its steps with times, tokens and money, what the gate said, what
//! people said into it, and how it ended.

use super::Told;
use crate::purse::cost_of_turn;
use crate::show::{short, summary};
use event::{Event, Fact, InboxDrained, StepKind, StepStarted, Timestamp, Usage};
use fold::turn::StepState;
use serde_json::Value;
use std::fmt::Write as _;

/// The turn, as text.
pub(super) fn text(told: &Told) -> String {
    let mut text = String::new();
    head(&mut text, told);
    let began = told.events.first().map(|event| event.at).unwrap_or_default();
    let mut drains = told.state.drains.iter().peekable();
    for (number, step) in &told.state.steps {
        while let Some(drained) = drains.next_if(|drained| drained.before_step <= *number) {
            said_meanwhile(&mut text, drained);
        }
        let calls = told.calls.iter().find(|(step, _)| step == number).map(|(_, events)| events.as_slice());
        one_step(&mut text, told, (*number, step), calls.unwrap_or_default(), began);
    }
    drains.for_each(|drained| said_meanwhile(&mut text, drained));
    foot(&mut text, told);
    text
}

/// Milliseconds as seconds.
pub(super) fn seconds(ms: i64) -> String {
    format!("{}.{:03} s", ms / 1_000, (ms % 1_000).abs())
}

fn field(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<8} {value}");
}

fn detail(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  │    {name:<8} {value}");
}

fn head(text: &mut String, told: &Told) {
    let ending = match &told.state.ended {
        Some(ended) => format!("{:?}", ended.ending).to_lowercase(),
        None => "still open".to_owned(),
    };
    let worked = i64::try_from(told.state.active_ms).unwrap_or(i64::MAX);
    let _ = writeln!(text, "{}  {ending} after {} of work", told.turn, seconds(worked));
    if let Some(opened) = &told.state.opened {
        field(text, "seat", opened.seat.as_str());
        field(text, "topic", &short(opened.topic.as_str()));
        field(text, "model", &short(&opened.model));
        let reply = opened.reply_to.as_ref().map(|reply| format!("{} {}", reply.tool, reply.destination));
        field(text, "reply", &reply.as_deref().map_or("nobody".to_owned(), short));
        let time = opened.ms_max.map_or("any time".to_owned(), |ms| {
            format!("{} of work", seconds(i64::try_from(ms).unwrap_or(i64::MAX)))
        });
        field(text, "limits", &format!("{} steps, {time}", opened.steps_max));
        if opened.drill {
            field(text, "drill", "its effects are captured, and nothing is sent");
        }
    }
    if let Some(woken) = &told.woken {
        field(text, "woken", &summary(&woken.fact));
    }
    let all = || told.calls.iter().flat_map(|(_, events)| events);
    field(text, "cost", &cost_of_turn(all()));
    let usage = all().filter_map(|event| usage(&event.fact)).fold(Usage::default(), add);
    field(text, "tokens", &tokens(usage));
    field(text, "phases", &phases(told));
}

fn usage(fact: &Fact) -> Option<Usage> {
    match fact {
        Fact::HoldSettled(body) => Some(body.usage),
        _ => None,
    }
}

fn add(one: Usage, other: Usage) -> Usage {
    Usage {
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        cached_input_tokens: one.cached_input_tokens.saturating_add(other.cached_input_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
        cache_write_tokens: one.cache_write_tokens.saturating_add(other.cache_write_tokens),
    }
}

fn tokens(usage: Usage) -> String {
    let cached = match usage.cached_input_tokens {
        0 => String::new(),
        cached => format!(" ({cached} of them cached)"),
    };
    format!("{} in{cached}, {} out", usage.input_tokens, usage.output_tokens)
}

/// Which phases the turn went through, by what stands in the record.
fn phases(told: &Told) -> String {
    let steps: Vec<&StepState> = told.state.steps.values().collect();
    let has = |kind| steps.iter().any(|step| step.started.kind == kind);
    let salvaged = steps.iter().any(|step| is_salvage(&step.started));
    let asked = told.calls.iter().flat_map(|(_, events)| events);
    let asked = asked.into_iter().any(|event| matches!(event.fact, Fact::ApprovalAsked(_)));
    let passed = [
        ("tools", has(StepKind::Infer)),
        ("context", has(StepKind::Infer)),
        ("generation", has(StepKind::Infer)),
        (
            "progress check",
            steps.iter().any(|step| step.started.kind == StepKind::Infer && step.ended.is_some()),
        ),
        ("salvage", salvaged),
        ("approval", asked),
        ("finalisation", told.state.accepted.is_some()),
        ("completion", told.state.ended.is_some()),
    ];
    let shown = ('A'..).zip(passed).filter(|(_, (_, was))| *was);
    shown.map(|(letter, (name, _))| format!("{letter} {name}")).collect::<Vec<_>>().join(", ")
}

/// Whether nothing but `finish` was on offer.
fn is_salvage(started: &StepStarted) -> bool {
    let offered = started.input.json().get("offered").and_then(Value::as_array);
    started.kind == StepKind::Infer && offered.is_some_and(|offered| offered.len() == 1)
}

fn said_meanwhile(text: &mut String, drained: &InboxDrained) {
    let words: Vec<String> =
        drained.items.iter().map(|item| format!("{:?}", item.steering).to_lowercase()).collect();
    let _ = writeln!(
        text,
        "  │\n  ├─ people said more: {} (before step {})",
        words.join(", "),
        drained.before_step
    );
    for item in &drained.items {
        detail(text, "message", item.message.as_str());
    }
}

fn one_step(
    text: &mut String,
    told: &Told,
    (number, step): (u32, &StepState),
    calls: &[Event],
    began: Timestamp,
) {
    let started = &step.started;
    let is_its = |event: &&Event| match &event.fact {
        Fact::StepStarted(body) => body.step == number && body.attempt == started.attempt,
        _ => false,
    };
    let at = told.events.iter().find(is_its).map_or(began, |event| event.at);
    let ended_at = told.events.iter().find_map(|event| match &event.fact {
        Fact::StepEnded(body) if body.step == number => Some(event.at),
        _ => None,
    });
    let (outcome, lasted) = match (&step.ended, ended_at) {
        (Some(ended), Some(until)) => {
            (format!("{:?}", ended.outcome).to_lowercase(), seconds(until.since_ms(at)))
        }
        _ => ("no end yet".to_owned(), "-".to_owned()),
    };
    let what = match started.kind {
        StepKind::Infer => "ask",
        StepKind::Tool => "call",
        StepKind::Send => "send by",
        StepKind::Compact => "say older steps shortly, by",
    };
    let tries = if started.attempt > 1 { format!(", try {}", started.attempt) } else { String::new() };
    let _ = writeln!(
        text,
        "  │\n  ├─ {number}. {what} {}  at {}, took {lasted}: {outcome}{tries}",
        short(&started.tool),
        seconds(at.since_ms(began))
    );
    given(text, started);
    for event in calls {
        told_by_gate(text, event);
    }
    if let Some(ended) = &step.ended {
        came_back(text, started.kind, ended.output.value());
    }
}

/// What the step was given.
fn given(text: &mut String, started: &StepStarted) {
    let input = started.input.json();
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    let words = |key: &str| {
        let listed = input.get(key).and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).map(short).collect::<Vec<_>>()
    };
    match started.kind {
        StepKind::Infer => {
            let hidden = words("hidden");
            let hidden =
                if hidden.is_empty() { String::new() } else { format!("; hidden: {}", hidden.join(", ")) };
            let schemas =
                number("schema_tokens").map_or(String::new(), |tokens| format!(" ({tokens} tokens)"));
            detail(text, "tools", &format!("{}{schemas}{hidden}", words("offered").join(", ")));
            if let Some(tokens) = number("tokens") {
                let left = number("steps_left").unwrap_or_default();
                detail(text, "context", &format!("at most {tokens} tokens; {left} steps left"));
            }
        }
        StepKind::Compact => {
            detail(text, "through", &format!("step {}", number("through_step").unwrap_or_default()));
        }
        StepKind::Tool | StepKind::Send => detail(text, "input", &short(&started.input.to_string())),
    }
}

/// One line of the gate's account of the call.
fn told_by_gate(text: &mut String, event: &Event) {
    match &event.fact {
        Fact::HoldStarted(_) => {}
        fact => {
            let _ = writeln!(text, "  │    {:<8} {}: {}", "gate", fact.kind(), summary(fact));
        }
    }
}

/// What came of it: of a model's answer, what it says and what it wants.
fn came_back(text: &mut String, kind: StepKind, output: Option<&Value>) {
    let Some(output) = output else { return detail(text, "output", event::ERASED) };
    let parts = output.get("parts").and_then(Value::as_array);
    let (StepKind::Infer | StepKind::Compact, Some(parts)) = (kind, parts) else {
        return detail(text, "output", &short(&output.to_string()));
    };
    for part in parts {
        if let Some(said) = part.get("text").and_then(Value::as_str) {
            detail(text, "says", &short(said));
        }
        if let Some(call) = part.get("tool_call") {
            let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
            let input = call.get("input").unwrap_or(&Value::Null).to_string();
            detail(text, "wants", &format!("{} {}", short(name), short(&input)));
        }
    }
}

fn foot(text: &mut String, told: &Told) {
    let Some(ended) = &told.state.ended else { return };
    let _ = writeln!(text, "  │\n  └─ ended: {}", short(ended.summary.text()));
    let sources: Vec<&str> = ended.sources.iter().map(event::ReceiptId::as_str).collect();
    let sources = if sources.is_empty() { "none".to_owned() } else { sources.join(", ") };
    let _ = writeln!(text, "       sources  {sources}");
}
