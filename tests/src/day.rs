//! A day of a company in Slack, made from a seed: who says what where, in which language, and what goes wrong on the way.
//!
//! What is said comes from the labelled set of `converse`, written by people who had seen no code; what a small model
//! would think of each stands there too, and is what the model of the day answers. Each message carries a number in its
//! text, by which an answer is known to be about it.

use crate::provider::{Play, messages};
use crate::slack::{BOT_USER, TEAM};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Messages that somebody says.
pub const MESSAGES: usize = 500;
/// People who say them.
pub const PEOPLE: usize = 40;
/// Where, and how readily the office speaks there.
pub const CHANNELS: [(&str, &str, &str); 12] = [
    ("C0GENERAL", "general", "reserved"),
    ("C0RANDOM", "random", "quiet"),
    ("C0ENGINEER", "engineering", "proactive"),
    ("C0SUPPORT", "support", "eager"),
    ("C0PRODUCT", "product", "reserved"),
    ("C0WAREHOUS", "warehouse", "proactive"),
    ("C0INCIDENT", "incidents", "eager"),
    ("C0OPS", "ops", "proactive"),
    ("C0FINANCE", "finance", "reserved"),
    ("C0PEOPLE", "people", "quiet"),
    ("C0SALES", "sales", "reserved"),
    ("D0DIRECT", "dm", "direct"),
];

/// A small generator of numbers (SplitMix64): the same seed gives the same day on every machine.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `below`.
    pub fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(below).unwrap()).unwrap()
    }

    /// True once in `of` times.
    pub fn once_in(&mut self, of: usize) -> bool {
        self.roll(of) == 0
    }
}

/// What a message is to the office.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Somebody addresses it.
    Explicit,
    /// Somebody says something to everyone.
    Passive,
    /// A program says it.
    Program,
    /// Somebody from outside says it.
    Outside,
}

/// One message of the day.
#[derive(Clone, Debug)]
pub struct Said {
    /// Its number.
    pub number: usize,
    /// Its channel.
    pub channel: &'static str,
    /// That channel's name.
    pub name: &'static str,
    /// Who, `U…`.
    pub user: String,
    /// In which language.
    pub language: String,
    /// What the labelled set calls it.
    pub category: String,
    /// What it is to the office.
    pub kind: Kind,
    /// The words.
    pub text: String,
    /// When, as Slack names it.
    pub ts: String,
    /// The thread it stands in.
    pub thread: Option<String>,
    /// What the small model thinks of it.
    pub scores: Value,
}

impl Said {
    /// The thread that an answer to it belongs in; nothing for a direct message.
    pub fn root(&self) -> Option<&str> {
        match (&self.thread, self.channel.starts_with('D')) {
            (Some(root), _) => Some(root),
            (None, true) => None,
            (None, false) => Some(&self.ts),
        }
    }
}

/// A whole day.
pub struct Day {
    /// What is said, in order.
    pub said: Vec<Said>,
    /// What Slack delivers, in order: mentions twice, edits, deletions, reactions, joins.
    pub deliveries: Vec<Value>,
    /// How many of the deliveries are something else than a message that was said.
    pub others: usize,
}

/// The labelled set.
const LABELLED: &str = include_str!("../../host/converse/cases/labelled.jsonl");

impl Day {
    /// The day of a seed.
    pub fn of(seed: u64) -> Self {
        let mut making =
            Making { dice: Dice::new(seed), said: Vec::new(), deliveries: Vec::new(), others: 0 };
        let cases: Vec<Value> = LABELLED.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        while making.said.len() < MESSAGES {
            let case = &cases[making.dice.roll(cases.len())];
            making.case(case);
        }
        making.said.truncate(MESSAGES);
        Self { said: making.said, deliveries: making.deliveries, others: making.others }
    }

    /// What the model says to a request: the figures of the message that is weighed, or an answer to the one that was
    /// asked last.
    pub fn brain(&self) -> impl Fn(&Value) -> Vec<Play> + Send + Sync + 'static {
        let by_number: BTreeMap<usize, Said> =
            self.said.iter().map(|said| (said.number, said.clone())).collect();
        move |request| think(&by_number, request)
    }
}

struct Making {
    dice: Dice,
    said: Vec<Said>,
    deliveries: Vec<Value>,
    others: usize,
}

impl Making {
    /// One case of the labelled set: what was said before it in its thread, and then itself.
    fn case(&mut self, case: &Value) {
        let text = |key: &str| case[key].as_str().unwrap();
        let place = CHANNELS.iter().find(|(_, name, _)| *name == text("channel")).unwrap_or(&CHANNELS[7]);
        let mut root = None;
        for before in case["thread"].as_array().unwrap() {
            if before["author"] == "ada" {
                continue;
            }
            let calm = json!({"usefulness": 5, "confidence": 80, "urgency": 5, "noise": 50, "interruption_cost": 60,
                "investigation_value": 5, "reaction_fit": 5, "answered": false, "for_others": false});
            let ts = self.say(
                place,
                case,
                before["author"].as_str().unwrap(),
                before["text"].as_str().unwrap(),
                (&root, calm, false),
            );
            root.get_or_insert(ts);
            if self.said.len() == MESSAGES {
                return;
            }
        }
        let mut scores = case["scores"].clone();
        scores["answered"] = json!(text("category") == "answered");
        scores["for_others"] = json!(text("category") == "addressed");
        if case["author_is_bot"] == true {
            scores["noise"] = json!(90);
        }
        let is_bot = case["author_is_bot"] == true;
        self.say(place, case, text("author"), text("text"), (&root, scores, is_bot));
    }

    fn say(
        &mut self,
        place: &'static (&'static str, &'static str, &'static str),
        case: &Value,
        author: &str,
        words: &str,
        (root, scores, is_bot): (&Option<String>, Value, bool),
    ) -> String {
        let number = 1_001 + self.said.len();
        let ts = format!("{}.{:06}", 1_796_000_000 + 20 * number, 100 + self.dice.roll(800));
        let mentions = words.contains("@Ada");
        let text = format!("{} (#{number})", words.replace("@Ada", &format!("<@{BOT_USER}>")));
        let direct = place.0.starts_with('D');
        let outside = !is_bot && !direct && self.dice.once_in(25);
        let kind = match (is_bot, outside, mentions || direct) {
            (true, ..) => Kind::Program,
            (_, true, _) => Kind::Outside,
            (_, _, true) => Kind::Explicit,
            _ => Kind::Passive,
        };
        let said = Said {
            number,
            channel: place.0,
            name: place.1,
            user: person(author),
            language: case["language"].as_str().unwrap().to_owned(),
            category: case["category"].as_str().unwrap().to_owned(),
            kind,
            text,
            ts: ts.clone(),
            thread: root.clone(),
            scores,
        };
        let message = self.payload(&said, "message");
        if mentions && !direct && !is_bot {
            // Slack sends a mention as two events, in either order.
            let mention = self.payload(&said, "app_mention");
            let mut both = vec![message, mention];
            if self.dice.once_in(2) {
                both.reverse();
            }
            self.deliveries.append(&mut both);
            self.others += 1;
        } else {
            self.deliveries.push(message);
        }
        self.more(&said);
        self.said.push(said);
        ts
    }

    /// What else happens to a message.
    fn more(&mut self, said: &Said) {
        let edited = match self.dice.roll(40) {
            0 | 1 => Some(format!("{} — sorry, I mean today", said.text)),
            // A link was unfolded: the words are the same.
            2 | 3 => Some(said.text.clone()),
            _ => None,
        };
        let inner = |text: &str| {
            json!({"type": "message", "user": said.user, "team": TEAM, "text": text, "ts": said.ts,
            "thread_ts": said.thread})
        };
        if let Some(text) = edited {
            let event = json!({"type": "message", "subtype": "message_changed", "channel": said.channel,
                "channel_type": channel_type(said.channel), "hidden": true, "ts": format!("{}9", &said.ts[..said.ts.len() - 1]),
                "event_ts": format!("{}9", &said.ts[..said.ts.len() - 1]), "message": inner(&text),
                "previous_message": inner(&said.text)});
            self.other(event);
        }
        if self.dice.once_in(30) {
            let event = json!({"type": "message", "subtype": "message_deleted", "channel": said.channel,
                "channel_type": channel_type(said.channel), "hidden": true, "deleted_ts": said.ts, "ts": said.ts,
                "event_ts": format!("{}8", &said.ts[..said.ts.len() - 1]), "previous_message": inner(&said.text)});
            self.other(event);
        }
        if self.dice.once_in(12) {
            let emoji = ["thumbsup", "tada", "eyes", "no_bell"][self.dice.roll(4)];
            let event = json!({"type": "reaction_added", "user": person("somebody"), "reaction": emoji,
                "item_user": said.user, "item": {"type": "message", "channel": said.channel, "ts": said.ts},
                "event_ts": format!("{}7", &said.ts[..said.ts.len() - 1])});
            self.other(event);
        }
        if self.dice.once_in(40) {
            let event = json!({"type": "member_joined_channel", "user": person("newcomer"), "channel": said.channel,
                "channel_type": "C", "team": TEAM, "event_ts": format!("{}6", &said.ts[..said.ts.len() - 1])});
            self.other(event);
        }
    }

    fn other(&mut self, event: Value) {
        let number = self.deliveries.len();
        self.deliveries.push(callback(number, false, event));
        self.others += 1;
    }

    fn payload(&self, said: &Said, kind: &str) -> Value {
        let mut event = json!({"type": kind, "channel": said.channel, "user": said.user, "text": said.text,
            "ts": said.ts, "event_ts": said.ts, "team": TEAM});
        if kind == "message" {
            event["channel_type"] = json!(channel_type(said.channel));
            event["client_msg_id"] = json!(format!("{:08x}-0000-4000-8000-000000000000", said.number));
        }
        if let Some(thread) = &said.thread {
            event["thread_ts"] = json!(thread);
        }
        match said.kind {
            Kind::Program => {
                event["bot_id"] = json!("B0OTHER");
                event["bot_profile"] = json!({"id": "B0OTHER", "name": "uptime", "app_id": "A0OTHER"});
            }
            Kind::Outside => {
                event["user_team"] = json!("T0PARTNER");
                event["source_team"] = json!("T0PARTNER");
            }
            Kind::Explicit | Kind::Passive => {}
        }
        let shared = said.kind == Kind::Outside;
        callback(said.number * 10 + usize::from(kind == "message"), shared, event)
    }
}

fn callback(number: usize, shared: bool, event: Value) -> Value {
    json!({
        "type": "event_callback", "team_id": TEAM, "context_team_id": TEAM, "api_app_id": "A01APP",
        "event_id": format!("Ev{number:08}{}", event["type"].as_str().unwrap().len()), "event_time": 1_796_000_000,
        "is_ext_shared_channel": shared,
        "authorizations": [{"enterprise_id": null, "team_id": TEAM, "user_id": BOT_USER, "is_bot": true,
            "is_enterprise_install": false}],
        "event": event,
    })
}

fn channel_type(channel: &str) -> &'static str {
    if channel.starts_with('D') { "im" } else { "channel" }
}

/// One of forty people, by what the labelled set calls them.
fn person(author: &str) -> String {
    static AUTHORS: OnceLock<BTreeSet<String>> = OnceLock::new();
    let authors = AUTHORS.get_or_init(|| {
        let cases = LABELLED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of = |case: Value| {
            let thread = case["thread"].as_array().cloned().unwrap_or_default();
            thread
                .into_iter()
                .chain([case])
                .map(|said| said["author"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        cases.flat_map(of).collect()
    });
    let at = authors.iter().position(|one| one == author).unwrap_or(0);
    format!("U0P{:02}", at % PEOPLE)
}

/// The number of a message in a text: the last there is.
pub fn number_in(text: &str) -> Option<usize> {
    let at = text.rfind("(#")?;
    text[at + 2..].split(')').next()?.parse().ok()
}

/// The numbers of all messages in a text, in order.
fn numbers_in(text: &str) -> Vec<usize> {
    let after = text.split("(#").skip(1).filter_map(|after| after.split(')').next());
    after.filter_map(|number| number.parse().ok()).collect()
}

fn think(said: &BTreeMap<usize, Said>, request: &Value) -> Vec<Play> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    let texts: Vec<String> = request["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| one["role"] == "user")
        .map(text_of)
        .collect();
    if has("score") {
        let all = texts.join("\n");
        let weighed = all.split("The message to weigh").nth(1).unwrap_or_default();
        let weighed = weighed.split("\n\n").next().unwrap_or_default();
        return match number_in(weighed).and_then(|number| said.get(&number)) {
            Some(said) => called("score", &said.scores),
            // Nobody knows it: the model talks instead of answering.
            None => messages(&[json!({"text": "Hard to say."})], "end_turn"),
        };
    }
    let shown: Vec<&Said> =
        numbers_in(&texts.join("\n")).into_iter().filter_map(|number| said.get(&number)).collect();
    // Whoever asked last is answered; where nobody did, what was said last is looked at.
    let asked = shown.iter().rev().find(|said| said.kind == Kind::Explicit).or(shown.last());
    let Some(asked) = asked else {
        return called("finish", &json!({"outcome": "answered", "text": "I am here."}));
    };
    // What nobody asked is looked into and found to be nothing, every other time.
    let silent = asked.kind == Kind::Passive && asked.number % 2 == 0;
    let text = format!("{} (#{})", lead(&asked.language), asked.number);
    let finish =
        if silent { json!({"outcome": "silent"}) } else { json!({"outcome": "answered", "text": text}) };
    called("finish", &finish)
}

fn called(tool: &str, input: &Value) -> Vec<Play> {
    messages(&[json!({"call": tool, "id": "call_1", "input": input.to_string()})], "tool_use")
}

fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        parts => {
            let parts = parts.as_array().cloned().unwrap_or_default();
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
    }
}

/// How an answer begins in a language.
fn lead(language: &str) -> &'static str {
    match language {
        "de" => "Das steht im Handbuch, Kapitel vier.",
        "fr" => "C'est au chapitre quatre du guide.",
        "es" => "Está en el capítulo cuatro de la guía.",
        "pt" => "Está no capítulo quatro do guia.",
        "it" => "È nel capitolo quattro della guida.",
        "ja" => "ガイドの第4章にあります。",
        "ko" => "안내서 4장에 있습니다.",
        "zh" => "在指南的第四章。",
        "ru" => "Это в четвёртой главе руководства.",
        "ar" => "هذا في الفصل الرابع من الدليل.",
        "hi" => "यह मार्गदर्शिका के चौथे अध्याय में है।",
        "tr" => "Kılavuzun dördüncü bölümünde.",
        "pl" => "To jest w czwartym rozdziale przewodnika.",
        "nl" => "Dat staat in hoofdstuk vier van de gids.",
        _ => "That is in chapter four of the guide.",
    }
}
