//! Reading policy files: every policy named by its `@id`, every fault by file, line and column.
//!
//! Always holds: what comes out is parsed, named once, and strictly valid for the schema, warnings included:
//! Cedar warns of a policy that can never apply, and a forbid that can never apply forbids nothing.
//! Deliberately absent: templates. A policy says what it means where it stands.

use super::bounds::{beyond, with_room};
use super::files::{FileKind, ORGANISATION_PREFIX, file_kind, is_organisation};
use cedar_policy::{
    ActionConstraint, Effect, EntityUid, ParseErrors, Policy, PolicyId, PolicySet, PrincipalConstraint,
    Schema, ValidationError, ValidationMode, Validator,
};
use event::{Digest, PolicyText};
use miette::Diagnostic;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Longest `@id`: it stands on every decision and in every reason.
pub const POLICY_ID_BYTES_MAX: usize = 80;

/// How many entities deep a policy may look. At 1 it reads the attributes of principal, action and resource and
/// of nothing else, all of which are in every store: what is further away might not be.
const DEREFERENCE_LEVEL_MAX: u32 = 1;

/// One fault in the policies, at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File name, such as `seat.cedar`.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong there and, where known, what to write instead.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

/// One policy as people see it in lists and reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Its `@id`.
    pub id: String,
    /// The file it stands in.
    pub file: String,
    /// Its first line there, from 1.
    pub line: usize,
    /// Whether it forbids; else it permits.
    pub forbids: bool,
    /// Its `@reason`, which says in a sentence what it permits or why it forbids.
    pub reason: Option<String>,
}

/// The digest of a set: over the names and texts of its files, in order of name, and nothing else.
#[must_use]
pub fn digest(texts: &[PolicyText]) -> Digest {
    let mut sorted: Vec<&PolicyText> = texts.iter().collect();
    sorted.sort_by(|a, b| (&a.name, &a.text).cmp(&(&b.name, &b.text)));
    let parts: Vec<&[u8]> =
        sorted.iter().flat_map(|file| [file.name.as_bytes(), file.text.as_bytes()]).collect();
    Digest::of_parts(&parts)
}

/// A policy with its name and where it stands.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) outline: Arc<Outline>,
    pub(super) policy: Policy,
    /// The one role whose seats its scope is about; nothing when it is about others, or written otherwise.
    pub(super) role: Option<String>,
    /// The policy in Cedar's JSON: what is compared where two sets are.
    pub(super) written: Value,
    place: Place,
}

impl Read {
    fn new(outline: Outline, policy: Policy, place: Place) -> Self {
        let role = match policy.principal_constraint() {
            PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid) => named_role(&uid),
            PrincipalConstraint::Any | PrincipalConstraint::Eq(_) | PrincipalConstraint::Is(_) => None,
        };
        // A policy that was read can be written; one that could not would be like no other.
        let written = policy.to_json().unwrap_or(Value::Null);
        Self { outline: Arc::new(outline), policy, role, written, place }
    }

    /// Whether its scope names actions, and is not about all of them.
    pub(super) fn is_particular(&self) -> bool {
        !matches!(self.policy.action_constraint(), ActionConstraint::Any)
    }

    /// Whether its scope has the action of this name.
    pub(super) fn speaks_of(&self, action: &str) -> bool {
        let is = |uid: &EntityUid| uid.id().unescaped() == action;
        match self.policy.action_constraint() {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(uid) => is(&uid),
            // The schema has no groups of actions, so being in one of these is being one of these.
            ActionConstraint::In(uids) => uids.iter().any(is),
        }
    }
}

/// The role that `uid` names. Nothing is in a role but the seats that have it.
fn named_role(uid: &EntityUid) -> Option<String> {
    (uid.type_name().to_string() == "Role").then(|| uid.id().unescaped().to_owned())
}

/// A byte of a file.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    offset: usize,
}

/// Reads and checks all of `texts`.
///
/// # Errors
/// Every fault found, in order of file and place. Faults of reading hide those of checking.
pub(super) fn read(texts: &[PolicyText], schema: &Schema) -> Result<Vec<Read>, Vec<Problem>> {
    with_room(|| read_and_check(texts, schema)).unwrap_or_else(no_room)
}

fn no_room<T>() -> Result<T, Vec<Problem>> {
    let message = "the policies cannot be read: there is no memory for it, or reading them failed".to_owned();
    Err(vec![Problem { file: String::new(), line: 1, column: 1, message }])
}

fn read_and_check(texts: &[PolicyText], schema: &Schema) -> Result<Vec<Read>, Vec<Problem>> {
    let mut faults = Faults { texts, found: Vec::new() };
    let mut all: Vec<Read> = Vec::new();
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (file, text) in texts.iter().enumerate() {
        if !names.insert(&text.name) {
            faults.add(Place { file, offset: 0 }, "another file of the set has this name");
            continue;
        }
        for read in read_file(file, text, &mut faults) {
            match places.get(&read.outline.id) {
                Some(first) => {
                    let Problem { file, line, column, .. } = faults.at(*first);
                    faults.add(
                        read.place,
                        format!("the `@id` is taken by the policy at {file}:{line}:{column}"),
                    );
                }
                None => {
                    places.insert(read.outline.id.clone(), read.place);
                    all.push(read);
                }
            }
        }
    }
    if faults.found.is_empty() {
        check(&all, schema, &mut faults);
    }
    faults.found.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    if faults.found.is_empty() { Ok(all) } else { Err(faults.found) }
}

/// The policies in `files`, read and not checked against anything: what a set holds, also where its tools are not.
///
/// # Errors
/// Every fault of reading.
pub fn outlines(files: &[PolicyText]) -> Result<Vec<Arc<Outline>>, Vec<Problem>> {
    with_room(|| outlines_of(files)).unwrap_or_else(no_room)
}

fn outlines_of(files: &[PolicyText]) -> Result<Vec<Arc<Outline>>, Vec<Problem>> {
    Ok(readings_of(files)?.into_iter().map(|read| read.outline).collect())
}

/// The policies in `files`, as [`outlines`], whole.
pub(super) fn readings(files: &[PolicyText]) -> Result<Vec<Read>, Vec<Problem>> {
    with_room(|| readings_of(files)).unwrap_or_else(no_room)
}

fn readings_of(files: &[PolicyText]) -> Result<Vec<Read>, Vec<Problem>> {
    let mut faults = Faults { texts: files, found: Vec::new() };
    let mut all = Vec::new();
    for (number, text) in files.iter().enumerate() {
        if file_kind(&text.name) == Some(FileKind::Policies) {
            all.extend(read_file(number, text, &mut faults));
        }
    }
    if faults.found.is_empty() { Ok(all) } else { Err(faults.found) }
}

fn read_file(file: usize, text: &PolicyText, faults: &mut Faults<'_>) -> Vec<Read> {
    if let Some((offset, why)) = beyond(&text.text) {
        faults.add(Place { file, offset }, why);
        return Vec::new();
    }
    let set: PolicySet = match text.text.parse() {
        Ok(set) => set,
        Err(errors) => {
            let errors: ParseErrors = errors;
            errors.iter().for_each(|error| faults.report(Place { file, offset: 0 }, error));
            return Vec::new();
        }
    };
    for template in set.templates() {
        let offset = text.text.find(&template.to_cedar()).unwrap_or(0);
        faults
            .add(Place { file, offset }, "templates are not supported; write the principal and resource out");
    }
    let mut read = Vec::new();
    let mut end = 0;
    for policy in in_order(&set) {
        // Cedar gives a policy back as it was written, so it stands where its text is next found.
        let source = policy.to_cedar().unwrap_or_default();
        let offset = text.text.get(end..).and_then(|rest| rest.find(&source)).map_or(end, |at| end + at);
        end = offset + source.len();
        let place = Place { file, offset };
        let line = faults.at(place).line;
        match named(policy, &text.name, line) {
            Ok((outline, policy)) => read.push(Read::new(outline, policy, place)),
            Err(message) => faults.add(place, message),
        }
    }
    read
}

/// The policies in the order of the text: Cedar calls them `policy0`, `policy1`, ….
fn in_order(set: &PolicySet) -> Vec<&Policy> {
    let mut all: Vec<&Policy> = set.policies().collect();
    all.sort_by_key(|policy| {
        let id: &str = policy.id().as_ref();
        id.strip_prefix("policy").and_then(|number| number.parse::<usize>().ok())
    });
    all
}

fn named(policy: &Policy, file: &str, line: usize) -> Result<(Outline, Policy), String> {
    let id = policy.annotation("id").ok_or("a policy needs an annotation `@id(\"…\")` that names it")?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if id.is_empty() || id.len() > POLICY_ID_BYTES_MAX || !id.bytes().all(plain) {
        return Err(format!(
            "`@id` must be letters, digits, `-`, `_` and `.`, at most {POLICY_ID_BYTES_MAX} of them"
        ));
    }
    if is_organisation(file) && policy.effect() == Effect::Permit {
        return Err(format!(
            "a file that starts with `{ORGANISATION_PREFIX}` is the organisation's own and only forbids"
        ));
    }
    let outline = Outline {
        id: id.to_owned(),
        file: file.to_owned(),
        line,
        forbids: policy.effect() == Effect::Forbid,
        reason: policy.annotation("reason").filter(|reason| !reason.is_empty()).map(str::to_owned),
    };
    Ok((outline, policy.new_id(PolicyId::new(id))))
}

/// Strict validation against the schema. Cedar's warnings count as faults.
fn check(all: &[Read], schema: &Schema, faults: &mut Faults<'_>) {
    let place = |id: &PolicyId| {
        let id: &str = id.as_ref();
        all.iter().find(|read| read.outline.id == id).map_or(Place { file: 0, offset: 0 }, |read| read.place)
    };
    let set = match PolicySet::from_policies(all.iter().map(|read| read.policy.clone())) {
        Ok(set) => set,
        Err(error) => return faults.report(Place { file: 0, offset: 0 }, &error),
    };
    let validator = Validator::new(schema.clone());
    let result = validator.validate_with_level(&set, ValidationMode::Strict, DEREFERENCE_LEVEL_MAX);
    for error in result.validation_errors() {
        let at = place(error.policy_id());
        match error {
            ValidationError::UnrecognizedActionId(error) => {
                faults.report_with(
                    at,
                    error,
                    "; an action is a tool that a loaded plugin offers, or `infer`",
                );
            }
            other => faults.report(at, other),
        }
    }
    // A policy that is not valid is warned of too, as one that never applies: that follows and misleads.
    if result.validation_passed() {
        for warning in result.validation_warnings() {
            faults.report(place(warning.policy_id()), warning);
        }
    }
}

/// Collects faults, and turns bytes into lines and columns.
struct Faults<'a> {
    texts: &'a [PolicyText],
    found: Vec<Problem>,
}

impl Faults<'_> {
    fn add(&mut self, place: Place, message: impl Into<String>) {
        let mut problem = self.at(place);
        problem.message = message.into();
        self.found.push(problem);
    }

    /// What Cedar says, at the place Cedar names, or at `fallback` when it names none.
    fn report(&mut self, fallback: Place, said: &dyn Diagnostic) {
        self.report_with(fallback, said, "");
    }

    fn report_with(&mut self, fallback: Place, said: &dyn Diagnostic, more: &str) {
        let offset = said.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
        let help = said.help().map(|help| format!(" ({help})")).unwrap_or_default();
        let message = format!("{said}{help}{more}").replace('\n', " ");
        self.add(Place { file: fallback.file, offset: offset.unwrap_or(fallback.offset) }, message);
    }

    fn at(&self, place: Place) -> Problem {
        let file = self.texts.get(place.file);
        let before = file.and_then(|file| file.text.get(..place.offset)).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Problem {
            file: file.map(|file| file.name.clone()).unwrap_or_default(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            message: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::digest;
    use crate::policy::tests::{load, models, shipped, shipped_texts, text, tools};
    use crate::policy::{PolicyError, PolicySet};

    fn problems(policy: &str) -> Vec<String> {
        match load(policy) {
            Err(PolicyError::Texts(problems)) => problems.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_fault_has_a_file_a_line_and_a_column() {
        assert_eq!(
            problems("permit (principal, action,\n  resource) when { x y };")[0].split(": ").next(),
            Some("a.cedar:2:22")
        );
        let nameless = problems(
            "@id(\"a\") permit (principal, action, resource);\n\n  permit (principal, action, resource);",
        );
        assert_eq!(nameless, ["a.cedar:3:3: a policy needs an annotation `@id(\"…\")` that names it"]);
        let twice = problems(
            "@id(\"a\") permit (principal, action, resource);\n@id(\"a\") forbid (principal, action, resource);",
        );
        assert_eq!(twice, ["a.cedar:2:1: the `@id` is taken by the policy at a.cedar:1:1"]);
        let template = problems("@id(\"a\")\npermit (principal == ?principal, action, resource);");
        assert_eq!(
            template,
            ["a.cedar:1:1: templates are not supported; write the principal and resource out"]
        );
        assert!(matches!(
            PolicySet::valid(&[text("a.cedar", ""), text("a.cedar", "")], &tools(), &models()),
            Err(PolicyError::Texts(problems)) if problems.len() == 1
        ));
    }

    #[test]
    fn what_strict_validation_finds_does_not_load() {
        for (condition, said) in [
            (
                "principal in Role::\"a\", action == Action::\"web.delete\", resource) when { true",
                "web.delete",
            ),
            ("principal, action == Action::\"web.fetch\", resource) when { context.input.uri == \"\"", "uri"),
            (
                "principal, action == Action::\"slack.post\", resource) when { context.input.thread_ts == \"\"",
                "thread_ts",
            ),
            ("principal, action, resource) when { context.flow == Flow::\"voilates\"", "voilates"),
            ("principal, action, resource) when { context.flow == \"violates\"", "String"),
            ("principal, action, resource) when { Seat::\"seat_b\".role == \"lead\"", "literal"),
            ("principal, action, resource) when { 1 == 2", "false"),
            (
                "principal, action == Action::\"web.fetch\", resource is Destination) when { true",
                "applicable",
            ),
        ] {
            let found = problems(&format!("@id(\"a\") forbid ({condition} }};"));
            assert!(found.iter().any(|problem| problem.contains(said)), "{condition}: {found:?}");
        }
    }

    #[test]
    fn a_file_of_the_organisations_own_only_forbids() {
        let load = |text_of: &str| PolicySet::valid(&[text("org-quiet.cedar", text_of)], &tools(), &models());
        assert!(load("@id(\"a\") forbid (principal, action, resource) when { context.approved };").is_ok());
        match load("\n@id(\"a\") permit (principal, action, resource);") {
            Err(PolicyError::Texts(problems)) => {
                assert!(
                    problems[0]
                        .to_string()
                        .starts_with("org-quiet.cedar:2:1: a file that starts with `org-`")
                )
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_digest_names_the_files_in_any_order() {
        let (a, b) = (text("a.cedar", "one"), text("b.cedar", "two"));
        assert_eq!(digest(&[a.clone(), b.clone()]), digest(&[b.clone(), a.clone()]));
        for other in [
            vec![a.clone()],
            vec![text("a.cedar", "two"), text("b.cedar", "one")],
            vec![text("a.cedaro", "ne"), b.clone()],
        ] {
            assert_ne!(digest(&other), digest(&[a.clone(), b.clone()]));
        }
        assert_eq!(shipped().digest(), &digest(&shipped_texts()));
    }
}
