//! What is proved of the shipped policies, for every request and every store there can be, by Cedar's symbolic
//! compiler and the solver cvc5: no policy ever errs, a correction narrows, and what is not known to narrow may not.
//!
//! Needs the program `cvc5`, or the variable `CVC5` that says where it is. Without one these tests say so and prove
//! nothing; `cargo xtask test` installs it or names that. Deliberately absent: the running host, which proves nothing and trusts no
//! proof.

use super::tests::{load_files, shipped_texts, text};
use super::{PolicySet, narrows};
use cedar_policy::{PolicySet as CedarSet, RequestEnv};
use cedar_policy_symcc::solver::LocalSolver;
use cedar_policy_symcc::{CedarSymCompiler, CompiledPolicy, CompiledPolicySet};
use std::process::{Command, Stdio};

/// A compiler with a solver; nothing when there is none.
fn prover() -> Option<CedarSymCompiler<LocalSolver>> {
    let program = std::env::var("CVC5").unwrap_or_else(|_| "cvc5".to_owned());
    let starts = Command::new(&program).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    if starts.is_err() {
        eprintln!("nothing is proved: `{program}` does not start; install cvc5, or set CVC5 to its path");
        return None;
    }
    Some(CedarSymCompiler::new(LocalSolver::cvc5().unwrap()).unwrap())
}

fn environments(set: &PolicySet) -> Vec<RequestEnv> {
    set.generated.schema.request_envs().collect()
}

fn whole(set: &PolicySet) -> CedarSet {
    CedarSet::from_policies(set.read.iter().map(|read| read.policy.clone())).unwrap()
}

/// Whether every request that `new` allows is one that `old` allows, whatever the store.
async fn implies(prover: &mut CedarSymCompiler<LocalSolver>, new: &PolicySet, old: &PolicySet) -> bool {
    let schema = &old.generated.schema;
    for environment in environments(old) {
        let then = CompiledPolicySet::compile(&whole(old), &environment, schema).unwrap();
        let now = CompiledPolicySet::compile(&whole(new), &environment, schema).unwrap();
        if !prover.check_implies_opt(&now, &then).await.unwrap() {
            return false;
        }
    }
    true
}

fn more(policy: &str) -> PolicySet {
    let mut files = shipped_texts();
    files.push(text("more.cedar", policy));
    load_files(&files).unwrap()
}

#[tokio::test]
async fn no_shipped_policy_ever_errs() {
    let Some(mut prover) = prover() else { return };
    let set = super::tests::shipped();
    let mut proved = 0;
    for environment in environments(&set) {
        for read in set.read.iter() {
            let compiled =
                CompiledPolicy::compile(&read.policy, &environment, &set.generated.schema).unwrap();
            assert!(prover.check_never_errors_opt(&compiled).await.unwrap(), "{}", read.outline.id);
            proved += 1;
        }
    }
    assert_eq!(proved, environments(&set).len() * set.read.len());
    let errs = more(
        "@id(\"sum\") forbid (principal, action == Action::\"web.fetch\", resource)
         when { context.input has max_bytes && context.input.max_bytes + 1 > 5 };",
    );
    let sum = errs.read.iter().find(|read| read.outline.id == "sum").unwrap();
    let fetch =
        environments(&errs).into_iter().find(|one| one.action().id().unescaped() == "web.fetch").unwrap();
    let compiled = CompiledPolicy::compile(&sum.policy, &fetch, &errs.generated.schema).unwrap();
    assert!(!prover.check_never_errors_opt(&compiled).await.unwrap(), "one that can err is found");
}

#[tokio::test]
async fn a_change_that_is_known_to_narrow_is_proved_to() {
    let Some(mut prover) = prover() else { return };
    let old = super::tests::shipped();
    let new = more(
        "@id(\"quiet\") forbid (principal, action == Action::\"slack.post\", resource) unless { context.approved };",
    );
    assert_eq!(narrows(&old, &new), Ok(()));
    assert!(implies(&mut prover, &new, &old).await);
    assert!(!implies(&mut prover, &old, &new).await, "the other way it widens");
    let wider = more(
        "@id(\"guest\") permit (principal in Role::\"guest\", action == Action::\"slack.post\", resource);",
    );
    assert!(narrows(&old, &wider).is_err());
    assert!(!implies(&mut prover, &wider, &old).await);
}
