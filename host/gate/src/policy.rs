//! Who may do what to what: a set of Cedar policies, asked once for every call.
//!
//! Always holds:
//! - unknown is denied, and forbid beats permit;
//! - a policy whose evaluation errs is a no, whatever Cedar decides: Cedar skips such a policy, so a forbid
//!   that overflows would not forbid;
//! - a call that cannot be put to the policies whole is a no;
//! - a set is strictly valid for the tools that are loaded and decides its own cases, or it does not load;
//! - a permit that was revoked is not evaluated, whichever set it stands in;
//! - a decision looks only at the policies that speak of its action and of the asker's role, so it does not slow
//!   with the set.
//!
//! Deliberately absent: I/O, time and approvals. Which set is in force is [`crate::in_force`]'s to know.

mod bounds;
mod case;
mod change;
mod context;
#[cfg(test)]
mod corpus;
mod diff;
mod explain;
#[cfg(test)]
mod fail_open;
mod files;
mod known;
mod naming;
#[cfg(test)]
mod proof;
mod question;
mod reason;
mod space;
#[cfg(test)]
mod tests;
mod text;

pub use crate::entities::{Asked, Flow, OriginKind};
pub use case::{Case, CaseResult, run_cases};
pub use change::{Allowed, Change, NotApplied, beyond_organisation, may_apply, narrows};
pub use context::SET_ITEMS_MAX;
pub use diff::{AnswerDiff, Differs, EXAMPLES_MAX, TextDiff};
pub use explain::{Explained, Held, Looked, Shown};
pub use files::{FileKind, ORGANISATION_PREFIX, SET_FILES_MAX, file_kind, is_organisation};
pub use known::{Known, offered};
pub use naming::naming;
pub use question::Question;
pub use space::{QUESTIONS_MAX, questions};
pub use text::{Outline, POLICY_ID_BYTES_MAX, Problem, digest, outlines};

use crate::catalogue::{ModelSpec, ToolSpec};
use crate::entities::{CannotAsk, store, uid};
use crate::schema::{self, Generated, Omitted, SchemaError, Shape, Touched};
use cedar_policy::{
    AuthorizationError, Authorizer, Entities, EntityUid, PolicySet as CedarSet, Request, Schema,
};
use event::{Digest, PolicyText};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use text::Read;

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
    generated: Arc<Generated>,
    read: Arc<[Read]>,
    cases: Arc<[Case]>,
    /// Its permits that were revoked.
    revoked: BTreeSet<String>,
    actions: BTreeMap<String, Action>,
    plugins: BTreeMap<String, String>,
    models: BTreeMap<String, String>,
    authorizer: Authorizer,
}

/// What is known of one action before anyone asks.
#[derive(Debug)]
struct Action {
    uid: EntityUid,
    /// The action itself, alone.
    entities: Entities,
    /// The plugin that offers the tool; nothing for [`schema::INFER`], where the model says, and for
    /// [`schema::APPROVE`], where the call says.
    plugin: Option<String>,
    touches: Touched,
    /// The policies for a role that some permit or forbid names in its scope, with those for everybody.
    by_role: BTreeMap<String, CedarSet>,
    /// Those for everybody.
    for_all: CedarSet,
    outlines: Vec<Arc<Outline>>,
}

/// What the policies answered: the decision before it has words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    allowed: bool,
    policies: Vec<String>,
    errors: Vec<String>,
}

impl PolicySet {
    /// Reads, names and checks the policies among `files` for the given tools and models, and reads the cases
    /// without putting them.
    ///
    /// # Errors
    /// [`PolicyError::Texts`] with every fault and its place; [`PolicyError::Case`] for a case that does not
    /// parse; [`PolicyError::Schema`] when two tools share a name.
    pub fn valid(
        files: &[PolicyText],
        tools: &[Arc<ToolSpec>],
        models: &[Arc<ModelSpec>],
    ) -> Result<Self, PolicyError> {
        let (texts, cases) = files::told_apart(files)?;
        let generated = Arc::new(schema::generate(tools)?);
        let read: Arc<[Read]> = text::read(&texts, &generated.schema).map_err(PolicyError::Texts)?.into();
        let plugins = tools.iter().map(|tool| (tool.name.clone(), tool.plugin.clone())).collect();
        let models = models.iter().map(|model| (model.name.clone(), model.plugin.clone())).collect();
        let set = Self {
            digest: digest(files),
            generated,
            read,
            cases: cases.into(),
            revoked: BTreeSet::new(),
            actions: BTreeMap::new(),
            plugins,
            models,
            authorizer: Authorizer::new(),
        };
        set.without(&BTreeSet::new())
    }

    /// Loads a set: it must be valid and decide its own cases as they say, and then its permits named by
    /// `revoked` count no more. A forbid is never taken out, whatever `revoked` names.
    ///
    /// # Errors
    /// As [`PolicySet::valid`], and [`PolicyError::Cases`] with every case that does not hold.
    pub fn load(
        files: &[PolicyText],
        tools: &[Arc<ToolSpec>],
        models: &[Arc<ModelSpec>],
        revoked: &BTreeSet<String>,
    ) -> Result<Self, PolicyError> {
        let set = Self::valid(files, tools, models)?;
        let results = run_cases(&set, &set.cases);
        let failed: Vec<CaseResult> = results.into_iter().filter(|result| !result.passed).collect();
        if !failed.is_empty() {
            return Err(PolicyError::Cases(failed));
        }
        if revoked.is_empty() { Ok(set) } else { set.without(revoked) }
    }

    /// The same set, of whose permits exactly those named by `revoked` count no more.
    ///
    /// # Errors
    /// [`PolicyError::Schema`], which would be a fault of this host.
    pub fn without(&self, revoked: &BTreeSet<String>) -> Result<Self, PolicyError> {
        let permits = self.read.iter().map(|read| &read.outline).filter(|outline| !outline.forbids);
        let revoked: BTreeSet<String> = permits
            .filter(|outline| revoked.contains(&outline.id))
            .map(|outline| outline.id.clone())
            .collect();
        let mut actions = BTreeMap::new();
        for name in self.generated.inputs.keys() {
            let plugin = self.plugins.get(name).cloned();
            let counts = |read: &&Read| read.speaks_of(name) && !revoked.contains(&read.outline.id);
            let own: Vec<&Read> = self.read.iter().filter(counts).collect();
            let touches = self.generated.touches.get(name).copied().unwrap_or(Touched::Plugin);
            actions.insert(name.clone(), Action::new(name, plugin, touches, &own, &self.generated.schema)?);
        }
        Ok(Self {
            digest: self.digest.clone(),
            generated: self.generated.clone(),
            read: self.read.clone(),
            cases: self.cases.clone(),
            revoked,
            actions,
            plugins: self.plugins.clone(),
            models: self.models.clone(),
            authorizer: Authorizer::new(),
        })
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

    /// The policies, in order of file and place, those that were revoked among them.
    pub fn outlines(&self) -> impl ExactSizeIterator<Item = &Arc<Outline>> {
        self.read.iter().map(|read| &read.outline)
    }

    /// The cases it must decide.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Its permits that were revoked and are not evaluated.
    #[must_use]
    pub fn revoked(&self) -> &BTreeSet<String> {
        &self.revoked
    }

    /// Decides one call. The same set and the same call always give the same decision.
    #[must_use]
    pub fn decide(&self, asked: &Asked<'_>) -> Decision {
        let Some(action) = self.actions.get(asked.tool) else {
            return no(asked, "no loaded plugin offers it");
        };
        match self.request(asked, action) {
            Ok((request, entities)) => {
                let policies = action.by_role.get(&asked.seat.role).unwrap_or(&action.for_all);
                let answer = judge(&self.authorizer, &request, policies, &entities);
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
        if asked.tool == schema::APPROVE {
            return Ok(());
        }
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
        touches: Touched,
        own: &[&Read],
        schema: &Schema,
    ) -> Result<Self, SchemaError> {
        let fault = |error: String| SchemaError::Text(error);
        let uid = uid("Action", name).map_err(|error| fault(error.to_string()))?;
        let all = schema.action_entities().map_err(|error| fault(error.to_string()))?;
        let entities = Entities::from_entities(all.get(&uid).cloned(), None);
        let entities = entities.map_err(|error| fault(error.to_string()))?;
        let set = |role: Option<&String>| {
            // A scope that names another role matches nobody of this one, and looking at a scope cannot err.
            let concerns = own.iter().filter(|read| read.role.is_none() || read.role.as_ref() == role);
            CedarSet::from_policies(concerns.map(|read| read.policy.clone()))
                .map_err(|e| fault(e.to_string()))
        };
        let roles: BTreeSet<&String> = own.iter().filter_map(|read| read.role.as_ref()).collect();
        let by_role =
            roles.into_iter().map(|role| Ok((role.clone(), set(Some(role))?))).collect::<Result<_, _>>()?;
        let for_all = set(None)?;
        let outlines = own.iter().map(|read| read.outline.clone()).collect();
        Ok(Self { uid, entities, plugin, touches, by_role, for_all, outlines })
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
