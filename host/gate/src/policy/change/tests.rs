//! What is known to narrow, held against what two sets answer.

use super::narrows;
use crate::policy::tests::{load_files, shipped, shipped_files, text};
use crate::policy::{AnswerDiff, PolicySet, questions};
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

/// Enough of the made-up requests to meet every condition below; one pair of sets takes some hundredths of a second.
const TRIED_MAX: usize = 400;

fn set(policies: &[String]) -> PolicySet {
    load_files(&[text("a.cedar", &policies.join("\n"))]).unwrap()
}

fn refused(old: &str, new: &str) -> String {
    narrows(&set(&[old.to_owned()]), &set(&[new.to_owned()])).unwrap_err().join("; ")
}

const PERMIT: &str =
    "@id(\"a\") permit (principal in Role::\"a\", action == Action::\"web.fetch\", resource)";
const FORBID: &str = "@id(\"f\") forbid (principal, action, resource) when { context.approved };";

#[test]
fn a_new_forbid_more_conditions_and_a_permit_that_goes_narrow() {
    let permit = format!("{PERMIT};");
    let old = set(std::slice::from_ref(&permit));
    for new in [
        format!("{permit} {FORBID}"),
        format!("// the same\n@reason(\"why\") {PERMIT};"),
        format!("{PERMIT} when {{ context.approved }};"),
        String::new(),
    ] {
        assert_eq!(narrows(&old, &set(std::slice::from_ref(&new))), Ok(()), "{new}");
    }
}

#[test]
fn whatever_else_is_said_not_to_be_known_to_narrow() {
    for (old, new, said) in [
        ("", format!("{PERMIT};"), "the permit `a` is new"),
        (FORBID, String::new(), "the forbid `f` is gone"),
        (FORBID, FORBID.replace("};", "|| context.granted };"), "the conditions of the forbid `f`"),
        ("@id(\"a\") permit (principal, action, resource);", format!("{PERMIT};"), "the scope of `a`"),
        (FORBID, FORBID.replace("forbid", "permit"), "the scope of `f`"),
    ] {
        assert!(refused(old, &new).contains(said), "{old} / {new}");
    }
}

#[test]
fn a_permit_that_can_err_may_not_go_nor_be_kept_from_erring() {
    let all = "@id(\"all\") permit (principal, action, resource);";
    let sum = "@id(\"sum\") permit (principal, action == Action::\"web.fetch\", resource) when ";
    let errs = "{ context.input has max_bytes && context.input.max_bytes + 1 > 5 }";
    let old = format!("{all} {sum} {errs};");
    assert!(refused(&old, all).contains("its evaluation can fail"));
    assert!(refused(&old, &format!("{all} {sum} {{ context.approved }} when {errs};")).contains("`sum`"));
    let after = format!("{all} {sum} {errs} when {{ context.approved }};");
    assert_eq!(narrows(&set(&[old]), &set(&[after])), Ok(()));
}

#[test]
fn a_correction_keeps_the_cases_that_must_be_denied() {
    let mut files = shipped_files();
    let lost = files.iter().position(|file| file.name.starts_with("cases/DENY/")).unwrap();
    let name = files.remove(lost).name;
    let old = load_files(&shipped_files()).unwrap();
    let widens = narrows(&old, &load_files(&files).unwrap()).unwrap_err();
    assert_eq!(widens, [format!("the case `{name}` is gone or changed")]);
}

#[test]
fn what_is_revoked_is_no_part_of_either_set() {
    let old = shipped();
    let revoked = old.without(&["assistant-fetches".to_owned()].into()).unwrap();
    assert_eq!(narrows(&old, &revoked), Ok(()));
    assert!(
        narrows(&revoked, &old).unwrap_err().contains(&"the permit `assistant-fetches` is new".to_owned())
    );
}

/// Conditions that hold for some requests; the last two can err.
const CONDITIONS: &[&str] = &[
    "when { context.granted }",
    "unless { context.approved }",
    "when { context.flow == Flow::\"ok\" }",
    "unless { context.effect == Effect::\"destructive\" }",
    "when { principal.role == \"a\" }",
    "when { resource in Plugin::\"web\" }",
    "when { context.input.url like \"*x\" }",
    "when { context.input has max_bytes && context.input.max_bytes + 1 > 5 }",
    "unless { context.input has max_bytes && context.input.max_bytes * 2 == 4 }",
];
const SCOPES: &[&str] = &["principal", "principal in Role::\"a\"", "principal in Role::\"b\""];

/// One policy: whether it forbids, whom it is about, and its conditions in order.
#[derive(Clone, Debug)]
struct Made {
    id: usize,
    forbids: bool,
    scope: &'static str,
    conditions: Vec<&'static str>,
}

impl Made {
    fn written(&self) -> String {
        let word = if self.forbids { "forbid" } else { "permit" };
        let Self { id, scope, .. } = self;
        let conditions = self.conditions.join(" ");
        format!("@id(\"p{id}\") {word} ({scope}, action == Action::\"web.fetch\", resource) {conditions};")
    }
}

fn made(id: usize) -> impl Strategy<Value = Made> {
    let scope = proptest::sample::select(SCOPES);
    let conditions = subsequence(CONDITIONS, 0..=2).prop_shuffle();
    (proptest::bool::weighted(0.3), scope, conditions).prop_map(move |(forbids, scope, conditions)| Made {
        id,
        forbids,
        scope,
        conditions,
    })
}

fn policies() -> impl Strategy<Value = Vec<Made>> {
    (made(0), made(1), made(2), made(3)).prop_map(|(a, b, c, d)| vec![a, b, c, d])
}

/// What is done to a set; some of it narrows, some of it does not.
#[derive(Clone, Debug)]
enum Edit {
    Remove(Index),
    Add(Made),
    Condition { of: Index, condition: &'static str, at: Index },
    Unconditional(Index),
    Widen(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let condition = proptest::sample::select(CONDITIONS);
    prop_oneof![
        any::<Index>().prop_map(Edit::Remove),
        made(9).prop_map(Edit::Add),
        (any::<Index>(), condition, any::<Index>()).prop_map(|(of, condition, at)| Edit::Condition {
            of,
            condition,
            at
        }),
        any::<Index>().prop_map(Edit::Unconditional),
        any::<Index>().prop_map(Edit::Widen),
    ]
}

fn edited(old: &[Made], edit: &Edit) -> Vec<Made> {
    let mut new = old.to_vec();
    match edit {
        Edit::Remove(of) => _ = new.remove(of.index(old.len())),
        Edit::Add(made) => new.push(made.clone()),
        Edit::Condition { of, condition, at } => {
            let conditions = &mut new[of.index(old.len())].conditions;
            let at = at.index(conditions.len() + 1);
            conditions.insert(at, condition);
        }
        Edit::Unconditional(of) => new[of.index(old.len())].conditions.clear(),
        Edit::Widen(of) => new[of.index(old.len())].scope = "principal",
    }
    new
}

fn written(policies: &[Made]) -> PolicySet {
    set(&policies.iter().map(Made::written).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_known_to_narrow_allows_nothing_that_was_denied(old in policies(), edit in edit()) {
        let new = edited(&old, &edit);
        let (old, new) = (written(&old), written(&new));
        if narrows(&old, &new).is_ok() {
            let mut diff = AnswerDiff::default();
            for question in questions(&old, &new, &[], TRIED_MAX) {
                diff.put(&old, &new, &question, "made up");
            }
            prop_assert!(diff.allowed.is_empty(), "{:?}", diff.allowed);
        }
    }
}
