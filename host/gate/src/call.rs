//! What is asked of the gate.

use crate::model::InferRequest;
use crate::request::ModelRequest;
use event::{Digest, EventId, Label, Origin, Personal, PrincipalId, SeatId, Topic};
use serde_json::Value;
use std::collections::BTreeSet;

/// What is passed to the component.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Arguments of a tool: one JSON object.
    Tool(Value),
    /// A request to a model.
    Infer(ModelRequest),
}

impl From<InferRequest> for Payload {
    fn from(request: InferRequest) -> Self {
        Self::Infer(request.into())
    }
}

/// Calls within calls go too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("calls within calls go at most {CHILD_DEPTH_MAX} deep")]
pub struct TooDeep;

/// One call that a seat wants made.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The step or duty it is made for; holds, receipts and effects are keyed by it.
    pub origin: Origin,
    /// The seat that asks.
    pub seat: SeatId,
    /// The tool, such as `web.fetch`; for a model its full name, such as `scripted/story`.
    pub tool: String,
    /// What the call is about, when it belongs to a topic.
    pub topic: Option<Topic>,
    /// The person who woke the turn, when a person did: whose budget pays.
    pub asker: Option<PrincipalId>,
    /// Whether that person asked for nothing, and the office speaks up by itself: then nobody's account is used for it.
    pub unasked: bool,
    /// The goal the call is made for, when it is made for one: whose budget pays.
    pub goal: Option<String>,
    /// What is passed.
    pub payload: Payload,
    /// The join of the labels of everything the asker has read.
    pub label: Label,
    /// The persons whose words the asker has read: what the call says may repeat them.
    pub of: BTreeSet<PrincipalId>,
    /// The event the call follows from.
    pub cause: EventId,
    /// The lease under which the caller works: an append made after it was lost is refused.
    pub fence: Option<record::Fence>,
    /// What those it is made for may call, outermost first: each must hold a grant for the tool, as the seat must.
    /// Empty for a call that a seat makes itself.
    pub within: Vec<Vec<String>>,
    /// Whether it is made in a drill: its effect, if it is one, is captured and not sent.
    pub drill: bool,
}

/// Calls within calls: deeper than any plugin that calls a script that calls a tool, and an end to it.
pub const CHILD_DEPTH_MAX: usize = 8;

impl Call {
    /// A call that `seat` makes for an event and in no turn, at its try `attempt`: of no topic, having read nothing but
    /// the host's own, under no lease.
    #[must_use]
    pub fn duty(
        seat: SeatId,
        (event, kind, attempt): (&EventId, &str, u32),
        tool: &str,
        payload: Payload,
    ) -> Self {
        Self {
            origin: Origin::Duty { event: event.clone(), kind: kind.to_owned(), attempt },
            seat,
            tool: tool.to_owned(),
            topic: None,
            asker: None,
            unasked: false,
            goal: None,
            payload,
            label: Label::host(),
            of: BTreeSet::new(),
            cause: event.clone(),
            fence: None,
            within: Vec::new(),
            drill: false,
        }
    }

    /// The arguments as JSON: what policy sees and digests cover.
    #[must_use]
    pub fn input(&self) -> &Value {
        match &self.payload {
            Payload::Tool(value) => value,
            Payload::Infer(request) => request.value(),
        }
    }

    /// The workspace it is made in: the one that its arguments name as `team`, or else that of its topic. A call that
    /// reads back another is made where that one was.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        self.named_workspace().or_else(|| self.topic.as_ref()?.workspace())
    }

    /// The same, where its arguments do not name it: whoever has the arguments alone does not know it.
    pub(crate) fn unnamed_workspace(&self) -> Option<&str> {
        if self.named_workspace().is_some() { None } else { self.topic.as_ref()?.workspace() }
    }

    fn named_workspace(&self) -> Option<&str> {
        let named = match &self.payload {
            Payload::Tool(input) => {
                ["/team", "/input/team"].iter().find_map(|at| input.pointer(at)?.as_str())
            }
            Payload::Infer(_) => None,
        };
        named.filter(|team| !team.is_empty())
    }

    /// The call that something running for this one makes: in the same seat and topic, under the same lease, with at
    /// most `grants` of what this one may call, labelled with all that this one has read and `read` besides. It draws
    /// on the same budgets, since those follow from seat, topic, asker and goal.
    ///
    /// # Errors
    /// How deep calls within calls may go, when this one is that deep.
    pub fn child(
        &self,
        ordinal: u32,
        attempt: u32,
        (tool, input): (&str, Value),
        grants: Vec<String>,
        read: &Label,
    ) -> Result<Self, TooDeep> {
        if self.within.len() >= CHILD_DEPTH_MAX {
            return Err(TooDeep);
        }
        let mut within = self.within.clone();
        within.push(grants);
        Ok(Self {
            origin: Origin::Child { of: Box::new(self.origin.clone()), ordinal, attempt },
            tool: tool.to_owned(),
            payload: Payload::Tool(input),
            label: self.label.join(read),
            within,
            ..self.clone()
        })
    }

    /// `value` as what it is: something that may repeat the words the asker has read.
    pub(crate) fn personal<T>(&self, value: T) -> Personal<T> {
        Personal::of(value, self.of.iter().cloned())
    }

    /// The digest of the canonical arguments.
    #[must_use]
    pub fn content(&self) -> Digest {
        match &self.payload {
            Payload::Tool(value) => event::canon::canonical_digest(value),
            Payload::Infer(request) => request.digest().clone(),
        }
    }
}
