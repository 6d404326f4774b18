//! One response, from the script and where the conversation stands.

use serde_json::{Value, json};

use crate::facts::Facts;
use crate::script::{Ending, Finish, Script, Step};
use crate::talk::{Call, Offer, Part, Request};
use crate::template::{NOTHING, render, render_value};

/// The office's tool that ends a turn.
const FINISH: &str = "finish";

/// What the model says and wants called.
pub(crate) fn respond(script: &Script, request: &Request) -> Vec<Part> {
    let facts = Facts::of(&request.messages);
    let rule = script.rules.iter().find(|rule| facts.has_all(&rule.when));
    let means = Means::of(&request.tools);
    match rule.map(|rule| rule.steps.get(facts.step)) {
        Some(Some(step)) => take(step, means, &facts),
        Some(None) => say_and_end("My script has no further step for this.", means, &facts),
        None => say_and_end(&what_is_known(script), means, &facts),
    }
}

/// How far the tools on offer let a step go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// Every call may be tried; the host judges each.
    All,
    /// Everything but to finish.
    WithoutFinish,
    /// Only to finish: the turn is at its end.
    FinishOnly,
    /// No tool at all: only to speak.
    Speech,
}

impl Means {
    fn of(tools: &[Offer]) -> Self {
        let finishes = tools.iter().filter(|tool| tool.name == FINISH).count();
        match (finishes, tools.len() - finishes) {
            (0, 0) => Self::Speech,
            (0, _) => Self::WithoutFinish,
            (_, 0) => Self::FinishOnly,
            _ => Self::All,
        }
    }
}

fn take(step: &Step, means: Means, facts: &Facts) -> Vec<Part> {
    let said = step.say.as_ref().map(|say| render(say, facts));
    if matches!(means, Means::FinishOnly | Means::Speech) {
        return end_early(step, said, means, facts);
    }
    let mut parts = Vec::new();
    parts.extend(said.clone().map(Part::Text));
    for call in step.all_calls() {
        parts.push(wish(&call.tool, render_value(&call.input, facts), facts.calls + calls_in(&parts)));
    }
    match &step.finish {
        Some(finish) if means == Means::All => {
            parts.push(finish_call(finish, said, facts, facts.calls + calls_in(&parts)));
        }
        Some(finish) => parts.push(Part::Text(finish_text(finish, said, facts))),
        None => {}
    }
    parts
}

/// A step whose calls cannot be made: what it would have said is the end.
fn end_early(step: &Step, said: Option<String>, means: Means, facts: &Facts) -> Vec<Part> {
    match &step.finish {
        Some(finish) if means == Means::FinishOnly => vec![finish_call(finish, said, facts, facts.calls)],
        Some(finish) => vec![Part::Text(finish_text(finish, said, facts))],
        None => {
            let tool = step.all_calls().next().map_or("it", |call| call.tool.as_str());
            let text = said.unwrap_or_else(|| format!("I stop here: `{tool}` is not on offer any more."));
            say_and_end(&text, means, facts)
        }
    }
}

/// Ends the turn with a sentence, by `finish` where that is on offer.
fn say_and_end(text: &str, means: Means, facts: &Facts) -> Vec<Part> {
    match means {
        Means::All | Means::FinishOnly => {
            let input = json!({ "outcome": Ending::Answered.word(), "text": text, "sources": [] });
            vec![wish(FINISH, input, facts.calls)]
        }
        Means::WithoutFinish | Means::Speech => vec![Part::Text(text.to_owned())],
    }
}

fn finish_call(finish: &Finish, said: Option<String>, facts: &Facts, before: usize) -> Part {
    let sources: Vec<String> = finish
        .sources
        .iter()
        .map(|source| render(source, facts))
        .filter(|source| source != NOTHING)
        .collect();
    let text = finish_text(finish, said, facts);
    wish(FINISH, json!({ "outcome": finish.outcome.word(), "text": text, "sources": sources }), before)
}

/// The finish's own text; without one, what the step says, or nothing when it is to end in silence.
fn finish_text(finish: &Finish, said: Option<String>, facts: &Facts) -> String {
    match (&finish.text, finish.outcome) {
        (Some(text), _) => render(text, facts),
        (None, Ending::Silent) => String::new(),
        (None, Ending::Answered) => said.unwrap_or_else(|| "Done.".to_owned()),
    }
}

/// A call; `before` have been asked for in the conversation.
fn wish(tool: &str, input: Value, before: usize) -> Part {
    Part::Call(Call { id: format!("call-{}", before + 1), name: tool.to_owned(), input })
}

fn calls_in(parts: &[Part]) -> usize {
    parts.iter().filter(|part| matches!(part, Part::Call(_))).count()
}

fn what_is_known(script: &Script) -> String {
    let rules: Vec<String> = script
        .rules
        .iter()
        .map(|rule| rule.when.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" with "))
        .collect();
    format!("I follow a script and it has nothing for this. It knows {}.", rules.join(", or "))
}
