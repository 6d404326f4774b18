//! Why a set decides as it does: the request as Cedar sees it, and what each policy had to do with the answer.
//!
//! Always holds: it is decided with the same request and by the same judgement as a call; each policy is then
//! looked at alone. Deliberately absent: printing.

use super::text::Read;
use super::{Decision, Outline, PolicySet, judge};
use crate::entities::Asked;
use cedar_policy::{Entities, EntityUid, Policy, PolicySet as CedarSet, Request};
use serde_json::{Value, json};
use std::sync::Arc;

/// A decision taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// What was decided.
    pub decision: Decision,
    /// The request as Cedar saw it; nothing when the call cannot be put to the policies.
    pub request: Option<Shown>,
    /// Every policy that speaks of the action, in order of file and place.
    pub policies: Vec<Looked>,
}

/// A request in Cedar's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Who asks.
    pub principal: String,
    /// What that is in, in order.
    pub principal_in: Vec<String>,
    /// What is asked for.
    pub action: String,
    /// What is touched.
    pub resource: String,
    /// What that is in, in order.
    pub resource_in: Vec<String>,
    /// The context, with entities as `Type::"id"`.
    pub context: Value,
}

/// One policy, and what it had to do with the decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// The policy.
    pub outline: Arc<Outline>,
    /// Its text.
    pub text: String,
    /// How it stands to the request.
    pub held: Held,
}

/// How a policy stands to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// It matched: it permits or forbids.
    Matched,
    /// It speaks of other principals, or of other resources.
    OtherScope,
    /// It speaks of this, and its conditions do not hold.
    OtherConditions,
    /// Its evaluation failed, which is a no.
    Erred(String),
    /// It was revoked and is not evaluated.
    Revoked,
}

impl PolicySet {
    /// What is decided about one call, taken apart.
    #[must_use]
    pub fn explain(&self, asked: &Asked<'_>) -> Explained {
        let decision = self.decide(asked);
        let built = self.actions.get(asked.tool).and_then(|action| self.request(asked, action).ok());
        let speak_of = self.read.iter().filter(|read| read.speaks_of(asked.tool));
        let policies = speak_of.map(|read| {
            let held = match &built {
                _ if self.revoked.contains(&read.outline.id) => Held::Revoked,
                Some((request, entities)) => self.held(read, request, entities),
                None => Held::OtherScope,
            };
            let text = read.policy.to_cedar().unwrap_or_default();
            Looked { outline: read.outline.clone(), text, held }
        });
        let policies = policies.collect();
        Explained { decision, request: built.map(|(request, entities)| shown(&request, &entities)), policies }
    }

    fn held(&self, read: &Read, request: &Request, entities: &Entities) -> Held {
        let matches = |policy: Policy| {
            let Ok(alone) = CedarSet::from_policies([policy]) else { return Held::OtherScope };
            let answer = judge(&self.authorizer, request, &alone, entities);
            match (answer.errors.into_iter().next(), answer.policies.is_empty()) {
                (Some(error), _) => Held::Erred(error),
                (None, true) => Held::OtherConditions,
                (None, false) => Held::Matched,
            }
        };
        match matches(read.policy.clone()) {
            Held::OtherConditions => match without_conditions(read).map(matches) {
                Some(Held::Matched) => Held::OtherConditions,
                _ => Held::OtherScope,
            },
            held => held,
        }
    }
}

/// The policy with its scope alone.
fn without_conditions(read: &Read) -> Option<Policy> {
    let mut written = read.written.clone();
    written.as_object_mut()?.insert("conditions".to_owned(), json!([]));
    Policy::from_json(Some(read.policy.id().clone()), written).ok()
}

fn shown(request: &Request, entities: &Entities) -> Shown {
    let text = |uid: Option<&EntityUid>| uid.map(ToString::to_string).unwrap_or_default();
    let above = |uid: Option<&EntityUid>| {
        let above = uid.and_then(|uid| entities.ancestors(uid)).into_iter().flatten();
        let mut above: Vec<String> = above.map(ToString::to_string).collect();
        above.sort();
        above
    };
    let context = request.context().and_then(|context| context.to_json_value().ok()).unwrap_or_default();
    Shown {
        principal: text(request.principal()),
        principal_in: above(request.principal()),
        action: text(request.action()),
        resource: text(request.resource()),
        resource_in: above(request.resource()),
        context: plain(context),
    }
}

/// Entities as people write them. Whatever else has this shape was a string's business and is none here.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(members) => match members.get("__entity").and_then(Value::as_object) {
            Some(entity) => {
                let word = |key| entity.get(key).and_then(Value::as_str).unwrap_or_default();
                Value::String(format!("{}::{:?}", word("type"), word("id")))
            }
            None => members.into_iter().map(|(name, member)| (name, plain(member))).collect(),
        },
        Value::Array(items) => items.into_iter().map(plain).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::Held;
    use crate::policy::tests::{load, seat, shipped, wish};
    use serde_json::json;

    #[test]
    fn a_decision_taken_apart_shows_the_request_and_what_each_policy_made_of_it() {
        let explained = wish("https://intranet.example.com", false).question().explained_by(&shipped());
        assert!(!explained.decision.allowed);
        let shown = explained.request.unwrap();
        assert_eq!(shown.principal, "Seat::\"seat_front-desk\"");
        assert_eq!(shown.principal_in, ["Role::\"assistant\""]);
        assert_eq!(shown.resource_in, ["Plugin::\"web\""]);
        assert_eq!(shown.context["effect"], json!("Effect::\"read\""));
        let held = |id: &str| {
            let found = explained.policies.iter().find(|looked| looked.outline.id == id);
            found.map(|looked| looked.held.clone())
        };
        assert_eq!(held("granted-origins-only"), Some(Held::Matched));
        assert_eq!(held("assistant-fetches"), Some(Held::OtherConditions));
        assert_eq!(held("system-takes-no-turns"), Some(Held::OtherScope));
        assert_eq!(held("assistant-posts"), None, "it speaks of another action");
    }

    #[test]
    fn a_policy_that_errs_is_shown_as_the_no_it_is() {
        let set = load(
            "@id(\"all\") permit (principal, action, resource);
             @id(\"sum\") forbid (principal, action == Action::\"web.fetch\", resource)
             when { context.input has max_bytes && context.input.max_bytes + 1 > 5 };",
        )
        .unwrap();
        let mut question = wish("https://a.example", true).question();
        question.input = json!({"url": "https://a.example/", "max_bytes": i64::MAX});
        question.seat = seat("anybody");
        let explained = question.explained_by(&set);
        assert!(!explained.decision.allowed);
        assert!(matches!(&explained.policies[1].held, Held::Erred(why) if why.contains("sum")));
    }
}
