//! The evaluator against messages that somebody labelled who had seen neither it nor its figures (`cases/`).
//!
//! The scores are the labeller's too. What a model says beside its scores, that a message has been answered or is meant
//! for somebody else, is taken from the category. The table is printed with `--nocapture`.

use super::{Case, before, evaluate};
use event::{Choice, Class, Mode, Scores, Signs, Spent};
use serde::Deserialize;
use std::collections::BTreeMap;

const MESSAGES: &str = include_str!("../../../cases/labelled.jsonl");

/// Where the rule and the labels differ, mode and message: a doubt about what the office said, from somebody else than
/// was answered, which the labels want looked into.
const MISSES: &[(&str, &str)] = &[("proactive", "m046")];

#[derive(Deserialize)]
struct Labelled {
    id: String,
    channel: String,
    category: String,
    author_is_bot: bool,
    mentions_assistant: bool,
    scores: Scores,
    acceptable: BTreeMap<String, Vec<String>>,
}

fn chosen(message: &Labelled, mode: Mode) -> Choice {
    let asks = message.mentions_assistant || message.channel == "dm";
    let signs = Signs {
        answered: message.category == "answered",
        for_others: message.category == "addressed",
        by_program: message.author_is_bot,
        ..Signs::default()
    };
    let class = if asks { Class::Explicit } else { Class::Passive };
    let case = Case { class, mode, signs: &signs, spent: &Spent::default(), hops_max: 0 };
    before(&case).unwrap_or_else(|| evaluate(&case, &message.scores)).choice
}

fn word(choice: Choice) -> &'static str {
    match choice {
        Choice::Answer => "ANSWER",
        Choice::Investigate => "INVESTIGATE",
        Choice::Ack => "ACK",
        Choice::Pass => "PASS",
    }
}

#[test]
fn what_a_sensible_colleague_would_accept_is_what_the_rule_chooses_but_for_the_misses_named_here() {
    let messages: Vec<Labelled> = MESSAGES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(messages.len() >= 150);
    let modes = [
        (Mode::Quiet, "quiet"),
        (Mode::Reserved, "reserved"),
        (Mode::Proactive, "proactive"),
        (Mode::Eager, "eager"),
    ];
    let mut misses = Vec::new();
    let mut table: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for (mode, name) in modes {
        for message in &messages {
            let (does, accepts) = (word(chosen(message, mode)), &message.acceptable[name]);
            *table.entry((name, accepts[0].as_str(), does)).or_default() += 1;
            if !accepts.iter().any(|one| one == does) {
                misses.push((name, message.id.as_str()));
            }
            let hushed = ["banter", "sensitive"].contains(&message.category.as_str());
            assert!(!hushed || matches!(does, "PASS" | "ACK"), "{name} {}: {does}", message.id);
        }
    }
    println!("mode        best label    chosen        messages");
    for ((mode, label, does), count) in &table {
        println!("{mode:<11} {label:<13} {does:<13} {count:>4}");
    }
    assert_eq!(misses, MISSES);
}
