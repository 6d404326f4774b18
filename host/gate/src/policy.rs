//! Who may do what to what: a set of Cedar policies, asked once for every call.
//!
//! Always holds:
//! - unknown is denied, and forbid beats permit;
//! - a policy whose evaluation errs is a no, whatever Cedar decides: Cedar skips such a policy, so a forbid
//!   that overflows would not forbid;
//! - a call that cannot be put to the policies whole is a no;
//! - a set is strictly valid for the tools that are loaded, or it does not load;
//! - a decision looks only at the policies that speak of its action, so it does not slow with the set.
//!
//! Deliberately absent: I/O, time and approvals. Swapping one set for another belongs to whoever holds it.

mod case;
mod context;
#[cfg(test)]
mod fail_open;
mod reason;
#[cfg(test)]
mod tests;
mod text;

pub use crate::entities::{Asked, Flow, OriginKind};
pub use case::{Case, CaseResult, run_cases};
pub use context::SET_ITEMS_MAX;
pub use text::{Outline, POLICY_ID_BYTES_MAX, Problem, digest};

use crate::catalogue::{ModelSpec, ToolSpec};
use crate::entities::{CannotAsk, store, uid};
use crate::schema::{self, Generated, Omitted, SchemaError, Shape};
use cedar_policy::{
    ActionConstraint, AuthorizationError, Authorizer, Entities, EntityUid, PolicySet as CedarSet, Request,
    Schema,
};
use event::{Digest, PolicyText};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a set does not load. Each is the operator's to mend.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The texts do not parse or are not valid for the tools that are loaded.
    #[error("policies do not load: {}", first(.0))]
    Texts(Vec<Problem>),
    /// The tools do not make a schema.
    #[error("policies do not load")]
    Schema(#[from] SchemaError),
    /// A case does not parse.
    #[error("policy case `{name}` cannot be read: {why}")]
    Case {
        /// The file.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Cases that do not hold; only those.
    #[error("policies do not load: the case {}", first(.0))]
    Cases(Vec<CaseResult>),
}

/// The first of several faults, and how many more there are: an error is one line.
fn first<T: std::fmt::Display>(faults: &[T]) -> String {
    match faults {
        [] => String::new(),
        [one] => one.to_string(),
        [one, rest @ ..] => format!("{one} (and {} more; see `chancery policy check`)", rest.len()),
    }
}

/// What was decided about one call, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the call may be made, as far as policy goes.
    pub allowed: bool,
    /// Ids of the policies that decided, in order: those that permitted, or those that forbade or erred. Empty
    /// when none permitted.
    pub policies: Vec<String>,
    /// What went wrong while deciding. Never with `allowed`.
    pub errors: Vec<String>,
    /// One sentence: what was missing and what would be allowed.
    pub reason: String,
}

/// A set of policies for the tools that are loaded. Make a new one when either changes.
#[derive(Debug)]
pub struct PolicySet {
    digest: Digest,
    generated: Generated,
    outlines: Vec<Outline>,
    actions: BTreeMap<String, Action>,
    models: BTreeMap<String, String>,
    authorizer: Authorizer,
}

/// What is known of one action before anyone asks.
#[derive(Debug)]
struct Action {
    uid: EntityUid,
    /// The action itself, alone.
    entities: Entities,
    /// The plugin that offers the tool; nothing for [`schema::INFER`], where the model says.
    plugin: Option<String>,
    policies: CedarSet,
    outlines: Vec<Outline>,
}

/// What the policies answered: the decision before it has words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    allowed: bool,
    policies: Vec<String>,
    errors: Vec<String>,
}

impl PolicySet {
    /// Reads, names and checks `texts` for the given tools and models.
    ///
    /// # Errors
    /// [`PolicyError::Texts`] with every fault and its place; [`PolicyError::Schema`] when two tools share a
    /// name.
    pub fn load(
        texts: &[PolicyText],
        tools: &[Arc<ToolSpec>],
        models: &[Arc<ModelSpec>],
    ) -> Result<Self, PolicyError> {
        let generated = schema::generate(tools)?;
        let read = text::read(texts, &generated.schema).map_err(PolicyError::Texts)?;
        let plugins: BTreeMap<&str, &str> =
            tools.iter().map(|tool| (tool.name.as_str(), tool.plugin.as_str())).collect();
        let mut actions = BTreeMap::new();
        for name in generated.inputs.keys() {
            let plugin = plugins.get(name.as_str()).map(|plugin| (*plugin).to_owned());
            actions.insert(name.clone(), Action::new(name, plugin, &read, &generated.schema)?);
        }
        let models = models.iter().map(|model| (model.name.clone(), model.plugin.clone())).collect();
        let outlines = read.into_iter().map(|read| read.outline).collect();
        let digest = digest(texts);
        Ok(Self { digest, generated, outlines, actions, models, authorizer: Authorizer::new() })
    }

    /// Loads a set that must decide `cases` as they say.
    ///
    /// # Errors
    /// As [`PolicySet::load`], and [`PolicyError::Cases`] with every case that does not hold.
    pub fn load_with_cases(
        texts: &[PolicyText],
        tools: &[Arc<ToolSpec>],
        models: &[Arc<ModelSpec>],
        cases: &[Case],
    ) -> Result<Self, PolicyError> {
        let set = Self::load(texts, tools, models)?;
        let failed: Vec<CaseResult> =
            run_cases(&set, cases).into_iter().filter(|result| !result.passed).collect();
        if failed.is_empty() { Ok(set) } else { Err(PolicyError::Cases(failed)) }
    }

    /// Names the set on every decision: the digest of its files' names and texts.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The schema it was checked against, in Cedar's schema language.
    #[must_use]
    pub fn schema_text(&self) -> &str {
        &self.generated.text
    }

    /// What policies cannot see of the tools' arguments.
    #[must_use]
    pub fn omitted(&self) -> &[Omitted] {
        &self.generated.omitted
    }

    /// The policies, in order of file and place.
    #[must_use]
    pub fn outlines(&self) -> &[Outline] {
        &self.outlines
    }

    /// Decides one call. The same set and the same call always give the same decision.
    #[must_use]
    pub fn decide(&self, asked: &Asked<'_>) -> Decision {
        let Some(action) = self.actions.get(asked.tool) else {
            return no(asked, "no loaded plugin offers it");
        };
        match self.request(asked, action) {
            Ok((request, entities)) => {
                let answer = judge(&self.authorizer, &request, &action.policies, &entities);
                let reason = reason::sentence(asked, &answer, &action.outlines);
                Decision { allowed: answer.allowed, policies: answer.policies, errors: answer.errors, reason }
            }
            Err(why) => {
                let sentence = format!("the call cannot be put to the policies: {why}");
                Decision { errors: vec![why.to_string()], ..no(asked, &sentence) }
            }
        }
    }

    fn request(&self, asked: &Asked<'_>, action: &Action) -> Result<(Request, Entities), CannotAsk> {
        self.check_plugin(asked, action)?;
        let schema = &self.generated.schema;
        let nothing = Shape::Record(BTreeMap::new());
        let input = self.generated.inputs.get(asked.tool).unwrap_or(&nothing);
        let context = context::context(asked, input)?;
        let store = store(asked, &action.entities, schema)?;
        if store.entities.get(&action.uid).is_none() {
            return Err(CannotAsk(format!("`{}` is not in the store", action.uid)));
        }
        let request =
            Request::new(store.principal, action.uid.clone(), store.resource, context, Some(schema))
                .map_err(|error| CannotAsk(error.to_string()))?;
        Ok((request, store.entities))
    }

    /// A set is made for the tools that were loaded then; a call through another plugin is not asked.
    fn check_plugin(&self, asked: &Asked<'_>, action: &Action) -> Result<(), CannotAsk> {
        let offered_by = action.plugin.as_ref().or_else(|| self.models.get(asked.resource.text()));
        match offered_by {
            Some(plugin) if plugin == asked.plugin => Ok(()),
            Some(plugin) => Err(CannotAsk(format!("it is offered by `{plugin}`, not by `{}`", asked.plugin))),
            None => Err(CannotAsk("no loaded plugin offers the model".to_owned())),
        }
    }
}

impl Action {
    fn new(
        name: &str,
        plugin: Option<String>,
        read: &[text::Read],
        schema: &Schema,
    ) -> Result<Self, SchemaError> {
        let fault = |error: String| SchemaError::Text(error);
        let uid = uid("Action", name).map_err(|error| fault(error.to_string()))?;
        let all = schema.action_entities().map_err(|error| fault(error.to_string()))?;
        let own = all.get(&uid).cloned();
        let entities = Entities::from_entities(own, None).map_err(|error| fault(error.to_string()))?;
        let spoken_of = |read: &&text::Read| match read.policy.action_constraint() {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(action) => action == uid,
            // The schema has no groups of actions, so being in one of these is being one of these.
            ActionConstraint::In(actions) => actions.contains(&uid),
        };
        let own: Vec<&text::Read> = read.iter().filter(spoken_of).collect();
        let policies = CedarSet::from_policies(own.iter().map(|read| read.policy.clone()))
            .map_err(|error| fault(error.to_string()))?;
        let outlines = own.iter().map(|read| read.outline.clone()).collect();
        Ok(Self { uid, entities, plugin, policies, outlines })
    }
}

/// Asks Cedar, and takes any error for a no.
fn judge(authorizer: &Authorizer, request: &Request, policies: &CedarSet, entities: &Entities) -> Answer {
    let response = authorizer.is_authorized(request, policies, entities);
    let said = response.diagnostics();
    let mut erred = Vec::new();
    let mut errors = Vec::new();
    for error in said.errors() {
        let AuthorizationError::PolicyEvaluationError(error) = error;
        erred.push(error.policy_id().to_string());
        errors.push(format!("policy `{}`: {}", error.policy_id(), error.inner()));
    }
    let permitted = response.decision() == cedar_policy::Decision::Allow;
    let decided = said.reason().map(ToString::to_string);
    // Policies that permitted say nothing about a no.
    let mut determining: Vec<String> = match (permitted, errors.is_empty()) {
        (_, true) => decided.collect(),
        (true, false) => erred,
        (false, false) => decided.chain(erred).collect(),
    };
    determining.sort();
    errors.sort();
    Answer { allowed: permitted && errors.is_empty(), policies: determining, errors }
}

fn no(asked: &Asked<'_>, why: &str) -> Decision {
    Decision { allowed: false, policies: Vec::new(), errors: Vec::new(), reason: reason::denied(asked, why) }
}
