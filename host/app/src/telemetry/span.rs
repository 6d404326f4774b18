//! A turn as a trace: one span for the turn, one below it for each try of each step, and the gate's facts as moments in
//! them. A span is due when what it is about has ended, so that those of steps come before that of their turn. Worked out from the record alone, so that a trace is the same whichever host exports it, and however often.
//!
//! Always holds: no words of anybody. What people said, what a model wrote, arguments, results, addresses and reasons
//! stay in the record; a span has names, ids, figures and decisions.

use crate::turn::Told;
use event::{
    DeniedBy, Digest, Event, Fact, Origin, StepEnded, StepKind, StepOutcome, StepStarted, Timestamp,
    TurnEnding, TurnId, Usage,
};
use gate::FailureKind;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Longest name of a tool in a trace, in characters: a model may ask for one that does not exist.
pub(super) const NAME_CHARS_MAX: usize = 100;

/// What an attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    Count(i64),
    Flag(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl From<i64> for Value {
    fn from(count: i64) -> Self {
        Self::Count(count)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Value {
    fn from(count: u32) -> Self {
        Self::Count(i64::from(count))
    }
}

/// Names and what they hold, each name once.
pub(super) type Attributes = Vec<(&'static str, Value)>;

/// Which side of a call a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Internal,
    Client,
}

/// A moment in a span.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marked {
    pub name: &'static str,
    pub at: Timestamp,
    pub attributes: Attributes,
}

/// One span.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub id: [u8; 8],
    pub parent: Option<[u8; 8]>,
    pub name: String,
    pub kind: Kind,
    pub began: Timestamp,
    pub ended: Timestamp,
    pub attributes: Attributes,
    pub marked: Vec<Marked>,
    pub is_error: bool,
}

/// The trace of a turn.
pub(super) fn trace_id(turn: &TurnId) -> [u8; 16] {
    id(&["trace", turn.as_str()])
}

/// The first bytes of a digest over the parts.
pub(super) fn id<const N: usize>(parts: &[&str]) -> [u8; N] {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    let digest = Digest::of_parts(&parts);
    let mut id = [0; N];
    for (byte, two) in id.iter_mut().zip(digest.as_str().as_bytes().chunks(2)) {
        let two = std::str::from_utf8(two).unwrap_or_default();
        *byte = u8::from_str_radix(two, 16).unwrap_or_default();
    }
    id
}

/// The id of a turn's own span.
pub(super) fn root_id(turn: &TurnId) -> [u8; 8] {
    id(&["turn", turn.as_str()])
}

/// Which spans of a turn are due: those of tries that ended, and once the turn has, its own and those of tries that
/// never did.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    /// Tries that ended, by step and attempt.
    pub tries: BTreeSet<(u32, u32)>,
    /// Whether the turn did.
    pub whole: bool,
}

/// The spans of a turn that are due, its own first.
pub(super) fn spans(told: &Told, due: &Due) -> Vec<Span> {
    let Some(opened) = &told.state.opened else { return Vec::new() };
    let root = root_id(&told.turn);
    let whole = whole(told, root).filter(|_| due.whole);
    let is_due = |one: &Try<'_>| match one.ended {
        Some(_) => due.tries.contains(&(one.started.step, one.started.attempt)),
        None => due.whole,
    };
    let steps = tries(told).into_iter().filter(is_due);
    let steps = steps.map(|one| one.span(root, opened.seat.as_str(), opened.topic.as_str()));
    whole.into_iter().chain(steps).collect()
}

/// The span of a turn that has ended.
fn whole(told: &Told, root: [u8; 8]) -> Option<Span> {
    let (first, last) = (told.events.first()?, told.events.last()?);
    let (opened, ended) = (told.state.opened.as_ref()?, told.state.ended.as_ref()?);
    let tries: Vec<Try<'_>> = tries(told);
    let used = tries.iter().filter_map(|one| one.used).fold(Usage::default(), sum);
    let mut attributes: Attributes = vec![
        ("gen_ai.operation.name", "invoke_agent".into()),
        ("gen_ai.agent.name", opened.seat.as_str().into()),
        ("gen_ai.conversation.id", opened.topic.as_str().into()),
        ("gen_ai.provider.name", provider(&opened.model).into()),
        ("gen_ai.request.model", model(&opened.model).into()),
        ("chancery.turn", told.turn.as_str().into()),
        ("chancery.turn.ending", word(&ended.ending).into()),
        ("chancery.turn.steps", (told.state.steps.len() as u64).into()),
        ("chancery.turn.worked_ms", told.state.active_ms.into()),
        ("chancery.drill", Value::Flag(opened.drill)),
    ];
    attributes.extend(usage(used));
    attributes.extend(money(tries.iter().map(|one| one.money)));
    let is_error = !matches!(ended.ending, TurnEnding::Answered | TurnEnding::Silent | TurnEnding::Stopped);
    if is_error {
        attributes.push(("error.type", word(&ended.ending).into()));
    }
    Some(Span {
        id: root,
        parent: None,
        name: format!("invoke_agent {}", opened.seat),
        kind: Kind::Internal,
        began: first.at,
        ended: last.at,
        attributes,
        marked: told.events.iter().filter_map(said_meanwhile).collect(),
        is_error,
    })
}

/// What people said into the turn while it ran: how much, and never what.
fn said_meanwhile(event: &Event) -> Option<Marked> {
    let Fact::InboxDrained(body) = &event.fact else { return None };
    let steering = body.items.iter().map(|item| word(&item.steering)).collect::<Vec<_>>();
    let attributes = vec![("chancery.steering", steering.into())];
    Some(Marked { name: event.fact.kind(), at: event.at, attributes })
}

/// One try of one step.
struct Try<'a> {
    started: &'a StepStarted,
    began: Timestamp,
    ended: Option<(&'a StepEnded, Timestamp)>,
    /// What the gate wrote down about it.
    gate: Vec<&'a Event>,
    used: Option<Usage>,
    money: Money,
}

/// Nano-dollars: charged, and held where nobody knows the figure.
#[derive(Clone, Copy, Default)]
pub(super) struct Money {
    charged: i64,
    unknown: i64,
}

fn tries(told: &Told) -> Vec<Try<'_>> {
    let mut tries = Vec::new();
    for event in &told.events {
        let Fact::StepStarted(started) = &event.fact else { continue };
        let ended = told.events.iter().find_map(|event| match &event.fact {
            Fact::StepEnded(body) if body.step == started.step && body.attempt == started.attempt => {
                Some((body, event.at))
            }
            _ => None,
        });
        let calls = told.calls.iter().find(|(step, _)| *step == started.step);
        let gate = calls.map(|(_, events)| of_attempt(events, started.attempt)).unwrap_or_default();
        let money = gate.iter().fold(Money::default(), |money, event| money.and(&event.fact));
        let used = gate.iter().find_map(|event| match &event.fact {
            Fact::HoldSettled(body) => Some(body.usage),
            _ => None,
        });
        tries.push(Try { started, began: event.at, ended, gate, used, money });
    }
    tries
}

/// The events of a call that belong to one try: a fact that names no origin belongs to the try before it.
pub(super) fn of_attempt(events: &[Event], attempt: u32) -> Vec<&Event> {
    let mut current = 0;
    let mut found = Vec::new();
    for event in events {
        current = origin(&event.fact).map_or(current, Origin::attempt);
        if current == attempt {
            found.push(event);
        }
    }
    found
}

pub(super) fn origin(fact: &Fact) -> Option<&Origin> {
    match fact {
        Fact::CallAdmitted(body) => Some(&body.origin),
        Fact::CallDenied(body) => Some(&body.origin),
        Fact::CallRefused(body) => Some(&body.origin),
        Fact::CallClassified(body) => Some(&body.origin),
        Fact::ApprovalAsked(body) => Some(&body.origin),
        Fact::ApprovalSpent(body) => Some(&body.origin),
        Fact::HoldTaken(body) => Some(&body.origin),
        Fact::EffectIntended(body) => Some(&body.origin),
        Fact::EffectCaptured(body) => Some(&body.origin),
        Fact::ReceiptRecorded(body) => Some(&body.origin),
        _ => None,
    }
}

impl Money {
    pub(super) fn and(self, fact: &Fact) -> Self {
        match fact {
            Fact::HoldSettled(body) => Self { charged: self.charged.saturating_add(body.charged.0), ..self },
            Fact::HoldLeftUnknown(body) => Self { unknown: self.unknown.saturating_add(body.held.0), ..self },
            _ => self,
        }
    }
}

impl Try<'_> {
    fn span(self, root: [u8; 8], seat: &str, topic: &str) -> Span {
        let started = self.started;
        let (step, attempt) = (started.step.to_string(), started.attempt.to_string());
        let asks = matches!(started.kind, StepKind::Infer | StepKind::Compact);
        let tool: String = started.tool.chars().take(NAME_CHARS_MAX).collect();
        let (name, kind) = match asks {
            true => (format!("chat {}", model(&tool)), Kind::Client),
            false => (format!("execute_tool {tool}"), Kind::Internal),
        };
        let mut attributes: Attributes = vec![
            ("gen_ai.agent.name", seat.into()),
            ("gen_ai.conversation.id", topic.into()),
            ("chancery.step", started.step.into()),
            ("chancery.step.kind", word(&started.kind).into()),
            ("chancery.step.attempt", started.attempt.into()),
        ];
        match asks {
            true => self.asked(&mut attributes),
            false => attributes.extend([
                ("gen_ai.operation.name", "execute_tool".into()),
                ("gen_ai.tool.name", tool.into()),
                ("gen_ai.tool.type", "function".into()),
                ("gen_ai.tool.call.id", format!("{}/{step}", started.turn).into()),
            ]),
        }
        attributes.extend(money([self.money]));
        let decision = decision(&self.gate, &mut attributes);
        let error = self.error(decision);
        attributes.extend(error.clone().map(|error| ("error.type", error.into())));
        let last = self.gate.last().map_or(self.began, |event| event.at).max(self.began);
        Span {
            id: id(&["step", started.turn.as_str(), &step, &attempt]),
            parent: Some(root),
            name,
            kind,
            began: self.began,
            ended: self.ended.map_or(last, |(_, at)| at),
            attributes,
            marked: self.gate.iter().map(|event| marked(event)).collect(),
            is_error: error.is_some(),
        }
    }

    /// What is known of a request to a model.
    fn asked(&self, attributes: &mut Attributes) {
        let input = self.started.input.json();
        let number = |key: &str| input.get(key).and_then(Json::as_u64);
        attributes.extend([
            ("gen_ai.operation.name", "chat".into()),
            ("gen_ai.provider.name", provider(&self.started.tool).into()),
            ("gen_ai.request.model", model(&self.started.tool).into()),
        ]);
        attributes.extend(number("tokens").map(|tokens| ("chancery.context.tokens_max", tokens.into())));
        attributes.extend(number("schema_tokens").map(|tokens| ("chancery.tools.tokens", tokens.into())));
        attributes.extend(self.used.into_iter().flat_map(usage));
        let output = self.ended.and_then(|(ended, _)| ended.output.value());
        let stopped = output.and_then(|output| output.get("stop")).map(finish_reason);
        attributes
            .extend(stopped.map(|reason| ("gen_ai.response.finish_reasons", vec![reason.to_owned()].into())));
    }

    /// Why it is an error, if it is one. One that waits for a person is none.
    fn error(&self, decision: Option<&str>) -> Option<String> {
        match self.ended {
            None => (decision != Some("waits")).then(|| "interrupted".to_owned()),
            Some((ended, _)) if ended.outcome == StepOutcome::Succeeded => None,
            Some((ended, _)) => Some(failure(ended).unwrap_or_else(|| word(&ended.outcome))),
        }
    }
}

/// What the gate decided about one try, in one word; it is put beside `attributes`.
pub(super) fn decision(gate: &[&Event], attributes: &mut Attributes) -> Option<&'static str> {
    let mut decision = None;
    for event in gate {
        decision = match &event.fact {
            Fact::CallAdmitted(_) => Some("admitted"),
            Fact::CallDenied(_) => Some("denied"),
            Fact::CallRefused(_) => Some("refused"),
            Fact::ApprovalAsked(_) => Some("waits"),
            _ => decision,
        };
    }
    let receipts = gate.iter().filter(|event| matches!(event.fact, Fact::ReceiptRecorded(_))).count();
    attributes.extend(decision.map(|decision| ("chancery.gate.decision", decision.into())));
    attributes.push(("chancery.receipts", (receipts as u64).into()));
    decision
}

/// The kind of a failure, when it is one of the gate's own: any other may be a guest's words.
fn failure(ended: &StepEnded) -> Option<String> {
    let kind = ended.output.value()?.get("failed")?;
    let kind: FailureKind = serde_json::from_value(kind.clone()).ok()?;
    (!matches!(kind, FailureKind::Other(_) | FailureKind::NoAccount(_))).then(|| word(&kind))
}

/// A fact of the gate as a moment: ids, digests and figures, without what anybody said.
pub(super) fn marked(event: &Event) -> Marked {
    let attributes: Attributes = match &event.fact {
        Fact::CallAdmitted(body) => decided(&body.policies, &body.policy_set),
        Fact::CallDenied(body) => {
            let mut attributes = decided(&body.policies, &body.policy_set);
            attributes.push(("chancery.denied.by", by(body.by).into()));
            attributes
        }
        Fact::CallRefused(body) => vec![("chancery.refused", body.subject.as_str().into())],
        Fact::CallClassified(body) => {
            vec![("chancery.effect.class", body.class.as_deref().unwrap_or("none").into())]
        }
        Fact::ApprovalAsked(body) => vec![("chancery.approval", body.approval.as_str().into())],
        Fact::ApprovalSpent(body) => vec![("chancery.approval", body.approval.as_str().into())],
        Fact::HoldTaken(body) => vec![
            ("chancery.hold", body.hold.as_str().into()),
            ("chancery.hold.nano_usd", body.amount.0.into()),
            ("chancery.price", body.price_key.as_str().into()),
        ],
        Fact::HoldSettled(body) => vec![
            ("chancery.hold", body.hold.as_str().into()),
            ("chancery.cost.nano_usd", body.charged.0.into()),
        ],
        Fact::EffectIntended(body) => vec![("chancery.effect", body.effect.as_str().into())],
        Fact::EffectSent(body) => vec![("chancery.effect", body.effect.as_str().into())],
        Fact::EffectFailed(body) => vec![("chancery.effect", body.effect.as_str().into())],
        Fact::EffectLeftUnknown(body) => vec![("chancery.effect", body.effect.as_str().into())],
        Fact::EffectCaptured(body) => vec![("chancery.effect", body.effect.as_str().into())],
        Fact::ReceiptRecorded(body) => vec![
            ("chancery.receipt", body.receipt.as_str().into()),
            ("http.response.status_code", u32::from(body.status).into()),
            ("http.response.body.size", body.bytes.into()),
        ],
        _ => Vec::new(),
    };
    Marked { name: event.fact.kind(), at: event.at, attributes }
}

fn decided(policies: &[String], set: &Digest) -> Attributes {
    vec![("chancery.policies", policies.to_vec().into()), ("chancery.policy_set", set.as_str().into())]
}

fn by(by: DeniedBy) -> String {
    word(&by)
}

pub(super) fn usage(used: Usage) -> Attributes {
    let mut attributes: Attributes = vec![
        ("gen_ai.usage.input_tokens", used.input_tokens.into()),
        ("gen_ai.usage.output_tokens", used.output_tokens.into()),
    ];
    for (name, tokens) in [
        ("gen_ai.usage.cache_read.input_tokens", used.cached_input_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", used.cache_write_tokens),
    ] {
        if tokens > 0 {
            attributes.push((name, tokens.into()));
        }
    }
    attributes
}

fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        cached_input_tokens: one.cached_input_tokens.saturating_add(other.cached_input_tokens),
        cache_write_tokens: one.cache_write_tokens.saturating_add(other.cache_write_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
    }
}

pub(super) fn money(all: impl IntoIterator<Item = Money>) -> Attributes {
    let all = all.into_iter().fold(Money::default(), |one, other| Money {
        charged: one.charged.saturating_add(other.charged),
        unknown: one.unknown.saturating_add(other.unknown),
    });
    let mut attributes: Attributes = vec![("chancery.cost.nano_usd", all.charged.into())];
    if all.unknown != 0 {
        attributes.push(("chancery.cost.unknown_nano_usd", all.unknown.into()));
    }
    attributes
}

/// What stands before the first slash of a model's full name: the plugin that offers it.
pub(super) fn provider(model: &str) -> &str {
    model.split('/').next().unwrap_or_default()
}

/// What stands behind it.
pub(super) fn model(full: &str) -> &str {
    full.split_once('/').map_or(full, |(_, model)| model)
}

/// Why a model stopped, in the words of the conventions.
fn finish_reason(stop: &Json) -> &'static str {
    match stop.as_str() {
        Some("end") => "stop",
        Some("tool_use") => "tool_call",
        Some("length") => "length",
        Some("declined") => "content_filter",
        _ => "other",
    }
}

/// A word of ours as the record writes it.
fn word(of: &impl Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(Json::String(word)) => word,
        _ => "other".to_owned(),
    }
}
