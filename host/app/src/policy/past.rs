//! Calls of the past as questions: the seat, the tools, the grants and the policies as they were, from the record
//! alone.
//!
//! Always holds: what the record does not say is named in [`PastCall::notes`] and never guessed silently. Deliberately
//! absent: deciding anything.

use super::sets;
use anyhow::{Context, Result, bail};
use egress::Origin as Address;
use event::{
    CallAdmitted, CallDenied, Event, EventId, Fact, GlobalPosition, Origin, PluginGranted, PluginInstalled,
    Position, SeatCreated, SeatId, StepKind, StepStarted, StreamName,
};
use fold::authority::LINE_SEATS_MAX;
use fold::{decode, setting};
use gate::policy::{Flow, Known, OriginKind, Question};
use gate::{AccountKind, EffectClass, Resource, Touches};
use record::Record;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Events of one stream that are read: far more than a turn, a seat or a plugin has.
const STREAM_EVENTS_MAX: usize = 10_000;
/// Streams kept while calls are read; beyond it they are read again.
const STREAMS_MAX: usize = 512;

/// What the gate said to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Admitted { policies: Vec<String> },
    Denied { by: event::DeniedBy, policies: Vec<String>, reason: String },
    Asked { policies: Vec<String>, reason: String },
    Refused { reason: String },
}

impl Said {
    /// Whether policy let it pass; nothing when policy was not what decided.
    pub(super) fn allowed(&self) -> Option<bool> {
        match self {
            Self::Admitted { .. } => Some(true),
            Self::Denied { by: event::DeniedBy::Policy | event::DeniedBy::Account, .. }
            | Self::Asked { .. } => Some(false),
            Self::Denied { .. } | Self::Refused { .. } => None,
        }
    }
}

/// One call as it was.
pub(super) struct PastCall {
    /// The event that told it.
    pub(super) event: Event,
    pub(super) origin: Origin,
    pub(super) said: Said,
    pub(super) question: Question,
    pub(super) known: Known,
    /// The digest of the set that decided, as the record has it.
    pub(super) set: Option<event::Digest>,
    /// Of what the question is not known to be as it was.
    pub(super) notes: Vec<String>,
}

/// Reads calls of one record; keeps the streams it has read.
pub(super) struct Past {
    record: Record,
    pub(super) policies: Vec<Event>,
    plugins: BTreeSet<String>,
    streams: BTreeMap<String, Vec<Event>>,
}

impl Past {
    /// `named` are plugins that are known from elsewhere, for a record whose rows do not list them yet.
    pub(super) async fn open(record: Record, named: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut plugins: BTreeSet<String> =
            decode(record.row("setting", setting::PLUGINS).await?.as_ref()).unwrap_or_default();
        plugins.extend(named);
        let policies = sets::history(&record).await?;
        Ok(Self { record, policies, plugins, streams: BTreeMap::new() })
    }

    async fn stream(&mut self, name: StreamName) -> Result<&[Event]> {
        if self.streams.len() > STREAMS_MAX {
            self.streams.clear();
        }
        let key = name.to_string();
        if !self.streams.contains_key(&key) {
            let events = self.record.read_stream(&name, Position(1), STREAM_EVENTS_MAX).await?;
            self.streams.insert(key.clone(), events);
        }
        Ok(self.streams.get(&key).map(Vec::as_slice).unwrap_or_default())
    }

    /// The call that `text` names: by its deed, its stream, or an event of it.
    pub(super) async fn named(&mut self, text: &str) -> Result<PastCall> {
        if let Ok(id) = EventId::parse(text) {
            let event =
                self.record.event(&id).await?.with_context(|| format!("the record has no event `{id}`"))?;
            if decided(&event.fact).is_some() {
                return self.call(event).await;
            }
            let before = self.stream(event.stream.clone()).await?;
            let last = before
                .iter()
                .rev()
                .find(|one| one.position <= event.position && decided(&one.fact).is_some());
            let last = last
                .cloned()
                .with_context(|| format!("`{id}` is a `{}` and belongs to no call", event.fact.kind()))?;
            return self.call(last).await;
        }
        let name = if text.starts_with("call-") { text.to_owned() } else { format!("call-{text}") };
        let stream = StreamName::parse(&name).with_context(|| {
            format!("`{}` names no call: write `turn_…/3`, `call-turn_…/3` or `evt_…`", text.escape_debug())
        })?;
        let events = self.stream(stream).await?;
        let last = events.iter().rev().find(|event| decided(&event.fact).is_some()).cloned();
        let Some(last) = last else {
            bail!(
                "the record has no call `{}`; `chancery turn show` lists the steps of a turn",
                text.escape_debug()
            );
        };
        self.call(last).await
    }

    /// The call that `event` told.
    pub(super) async fn call(&mut self, event: Event) -> Result<PastCall> {
        let (origin, tool, resource, said, set) =
            decided(&event.fact).with_context(|| format!("`{}` decides no call", event.fact.kind()))?;
        let at = event.global_position;
        let mut notes = Vec::new();
        let seat = event.actor.seat.clone().context("the call names no seat")?;
        let seat = self.seat(&seat, at).await?.with_context(|| format!("`{seat}` was no seat then"))?;
        let line = self.line(&seat, at).await?;
        let known = self.known(at).await?;
        if !known.missing.is_empty() {
            notes.push(format!(
                "the record says only the names of {}: it was written by an older host",
                known.missing.join(", ")
            ));
        }
        let own = self.stream(event.stream.clone()).await?.to_vec();
        let before = |one: &&Event| one.global_position < at;
        let given = |one: &Event| matches!(&one.fact, Fact::ApprovalGiven(body) if body.seat.is_some());
        let approved = own.iter().filter(before).any(given);
        // In no seat, by whoever it was read for.
        let told = |one: &Event| matches!(&one.fact, Fact::ApprovalGiven(body) if body.seat.is_none());
        let is_told = own.iter().filter(before).any(told);
        let input = self.input(&origin, &own, &tool, &known, &mut notes).await?;
        let (action, plugin, effect) = self.offered(&tool, &known, &own, &mut notes);
        let granted = self.granted(&plugin, at).await?;
        let resource = touched(&tool, &known, &plugin, resource, &granted);
        let (account, account_of, violates) = self.made_with(&event, &plugin, at).await?;
        let question = Question {
            seat,
            line,
            tool: action,
            resource,
            plugin,
            input,
            effect,
            origin_kind: OriginKind::from(&origin),
            flow: match (violates, is_told) {
                (true, true) => Flow::Disclosed,
                (true, false) => Flow::Violates,
                (false, _) => Flow::Unknown,
            },
            integrity: event.label.integrity,
            account,
            account_of,
            approved,
            granted_text: granted,
        };
        Ok(PastCall { origin, said, question, known, set, notes, event })
    }

    /// A seat as it was just before `at`.
    pub(super) async fn seat(&mut self, seat: &SeatId, at: GlobalPosition) -> Result<Option<SeatCreated>> {
        let events = self.stream(StreamName::new("seat", seat)).await?;
        let states = events.iter().rev().filter(|event| event.global_position < at);
        Ok(states
            .filter_map(|event| match &event.fact {
                Fact::SeatCreated(created) => Some(created.clone()),
                Fact::SeatChanged(changed) => Some(changed.now.clone()),
                _ => None,
            })
            .next())
    }

    pub(super) async fn line(&mut self, seat: &SeatCreated, at: GlobalPosition) -> Result<Vec<SeatCreated>> {
        let mut line: Vec<SeatCreated> = Vec::new();
        let mut next = seat.line.clone();
        while let Some(above) = next.filter(|_| line.len() <= LINE_SEATS_MAX) {
            let Some(seat) = self.seat(&above, at).await? else { break };
            next = seat.line.clone();
            line.push(seat);
        }
        Ok(line)
    }

    /// The tools and models as they were just before `at`.
    pub(super) async fn known(&mut self, at: GlobalPosition) -> Result<Known> {
        let mut installed: Vec<(GlobalPosition, PluginInstalled)> = Vec::new();
        for plugin in self.plugins.clone() {
            let events = self.stream(StreamName::new("plugin", &plugin)).await?;
            let newest =
                events.iter().rev().filter(|event| event.global_position < at).find_map(|event| match &event
                    .fact
                {
                    Fact::PluginInstalled(body) => Some(Some((event.global_position, body.clone()))),
                    Fact::PluginRemoved(_) => Some(None),
                    _ => None,
                });
            installed.extend(newest.flatten());
        }
        // Of two that offer one tool, the newer is the one that could be called.
        installed.sort_by_key(|(position, _)| std::cmp::Reverse(*position));
        let mut taken = BTreeSet::new();
        let installed: Vec<PluginInstalled> = installed
            .into_iter()
            .map(|(_, mut body)| {
                body.tools.retain(|tool| taken.insert(tool.clone()));
                body
            })
            .collect();
        Ok(Known::of(&installed))
    }

    /// The origins granted to `plugin` just before `at`, in their normal form.
    pub(super) async fn granted(&mut self, plugin: &str, at: GlobalPosition) -> Result<Vec<String>> {
        Ok(self.grant(plugin, at).await?.map(|granted| origins(&granted)).unwrap_or_default())
    }

    /// The grant of a plugin as it was just before `at`.
    async fn grant(&mut self, plugin: &str, at: GlobalPosition) -> Result<Option<event::PluginGranted>> {
        let events = self.stream(StreamName::new("plugin", plugin)).await?;
        let newest = events.iter().rev().filter(|event| event.global_position < at).find_map(|event| {
            match &event.fact {
                Fact::PluginGranted(granted) => Some(Some(granted.clone())),
                Fact::PluginRevoked(_) | Fact::PluginRemoved(_) => Some(None),
                _ => None,
            }
        });
        Ok(newest.flatten())
    }

    /// What the call of `event` was, or would have been, made with, whose account that is, and whether it would have told
    /// somebody what was read with another's.
    async fn made_with(
        &mut self,
        event: &Event,
        plugin: &str,
        at: GlobalPosition,
    ) -> Result<(AccountKind, String, bool)> {
        let (person, violates) = match &event.fact {
            Fact::CallAdmitted(body) => (body.account.clone(), body.violates_flow),
            Fact::CallDenied(body) => (body.account.clone(), body.violates_flow),
            Fact::ApprovalAsked(body) => (None, body.discloses.is_some()),
            _ => (None, false),
        };
        Ok(match person {
            Some(person) => (AccountKind::Personal, person.to_string(), violates),
            None => {
                let grant = self.grant(plugin, at).await?;
                let mut routes = grant.iter().flat_map(|grant| &grant.routes);
                let has = routes.any(|route| route.credential.is_some());
                (if has { AccountKind::Organisation } else { AccountKind::None }, String::new(), violates)
            }
        })
    }

    async fn input(
        &mut self,
        origin: &Origin,
        own: &[Event],
        tool: &str,
        known: &Known,
        notes: &mut Vec<String>,
    ) -> Result<Value> {
        if known.model(tool).is_some() {
            notes.push(
                "how much the model was allowed to write is not on the record; 1 token is taken".to_owned(),
            );
            return Ok(json!({"model": tool, "output_tokens_max": 1}));
        }
        let asked = own.iter().rev().find_map(|event| match &event.fact {
            Fact::ApprovalAsked(body) => Some(&body.input),
            Fact::EffectIntended(body) => Some(&body.input),
            _ => None,
        });
        let told = match (asked, origin) {
            (Some(input), _) => input.value().cloned(),
            (None, Origin::Step { turn, step, attempt }) => {
                let turn = self.stream(crate::show::turn_stream(turn)).await?;
                let started = turn.iter().find_map(|event| match &event.fact {
                    Fact::StepStarted(body) if is_try(body, *step, *attempt) => Some(body),
                    _ => None,
                });
                match started {
                    Some(body) if body.kind != StepKind::Infer => body.input.value().cloned(),
                    _ => None,
                }
            }
            // Most reads of duties have no arguments; the digest says whether this one had.
            (None, Origin::Duty { .. } | Origin::Child { .. }) => Some(json!({})),
        };
        let content = own.iter().rev().find_map(|event| content(&event.fact));
        let digest = told.as_ref().map(event::canon::canonical_digest);
        if told.is_none() {
            notes.push("the arguments are not on the record any more; none are taken".to_owned());
        } else if content.is_some() && content != digest {
            notes.push(
                "the arguments are not those whose digest the record has: they were not kept whole"
                    .to_owned(),
            );
        }
        Ok(told.unwrap_or_else(|| json!({})))
    }

    /// The action, the plugin and the effect class of `tool`.
    fn offered(
        &self,
        tool: &str,
        known: &Known,
        own: &[Event],
        notes: &mut Vec<String>,
    ) -> (String, String, EffectClass) {
        if let Some(model) = known.model(tool) {
            return (gate::schema::INFER.to_owned(), model.plugin.clone(), EffectClass::Read);
        }
        if let Some(spec) = known.tool(tool) {
            let judged = own.iter().rev().find_map(|event| match &event.fact {
                Fact::CallClassified(body) if spec.effect == EffectClass::Undeclared => {
                    body.class.as_deref().and_then(EffectClass::of_word)
                }
                _ => None,
            });
            return (tool.to_owned(), spec.plugin.clone(), judged.unwrap_or(spec.effect).assumed());
        }
        let asked = own.iter().find_map(|event| match &event.fact {
            Fact::ApprovalAsked(body) => EffectClass::of_word(&body.effect),
            _ => None,
        });
        if asked.is_none() {
            notes.push(format!("what `{tool}` may do outside is not on the record; `privileged` is taken"));
        }
        let plugin = tool.split('.').next().unwrap_or(tool).to_owned();
        (tool.to_owned(), plugin, asked.unwrap_or(EffectClass::Privileged))
    }
}

fn is_try(body: &StepStarted, step: u32, attempt: u32) -> bool {
    body.step == step && body.attempt == attempt
}

fn origins(granted: &PluginGranted) -> Vec<String> {
    let parsed = granted.routes.iter().filter_map(|route| Address::parse(&route.origin).ok());
    parsed.map(|origin| origin.to_string()).collect()
}

/// What a call touched, of the kind its tool touches.
pub(super) fn touched(tool: &str, known: &Known, plugin: &str, text: String, granted: &[String]) -> Resource {
    if known.model(tool).is_some() {
        return Resource::Model(text);
    }
    match known.tool(tool).map(|spec| &spec.touches) {
        Some(Touches::Destination(_)) => Resource::Destination(text),
        Some(Touches::OriginOf(_)) => Resource::Origin { granted: granted.contains(&text), origin: text },
        Some(Touches::Plugin) => Resource::Plugin(text),
        // An older record: an address looks like one.
        None if Address::parse(&text).is_ok() => {
            Resource::Origin { granted: granted.contains(&text), origin: text }
        }
        None if text == plugin => Resource::Plugin(text),
        None => Resource::Destination(text),
    }
}

fn content(fact: &Fact) -> Option<event::Digest> {
    match fact {
        Fact::CallAdmitted(body) => Some(body.content.clone()),
        Fact::CallDenied(body) => Some(body.content.clone()),
        Fact::ApprovalAsked(body) => Some(body.content.clone()),
        _ => None,
    }
}

type Decided = (Origin, String, String, Said, Option<event::Digest>);

/// What a fact says of a call, when it decides one.
pub(super) fn decided(fact: &Fact) -> Option<Decided> {
    Some(match fact {
        Fact::CallAdmitted(CallAdmitted { origin, tool, resource, policies, policy_set, .. }) => (
            origin.clone(),
            tool.clone(),
            resource.text().to_owned(),
            Said::Admitted { policies: policies.clone() },
            Some(policy_set.clone()),
        ),
        Fact::CallDenied(CallDenied { origin, tool, resource, by, policies, policy_set, reason, .. }) => {
            let reason = reason.text().to_owned();
            let said = Said::Denied { by: *by, policies: policies.clone(), reason };
            let resource = resource.text().to_owned();
            (origin.clone(), tool.clone(), resource, said, Some(policy_set.clone()))
        }
        Fact::ApprovalAsked(body) => {
            let reason = body.reason.text().to_owned();
            let said = Said::Asked { policies: body.policies.clone(), reason };
            let resource = body.resource.text().to_owned();
            (body.origin.clone(), body.tool.clone(), resource, said, None)
        }
        Fact::CallRefused(body) => {
            let said = Said::Refused { reason: body.reason.clone() };
            (body.origin.clone(), body.tool.clone(), String::new(), said, None)
        }
        _ => return None,
    })
}
