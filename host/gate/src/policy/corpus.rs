//! Cedar's public corpus of decisions, put to [`judge`]: the gate must decide each as Cedar's own specification does,
//! but for those in which a policy errs, which it denies.
//!
//! The corpus is not part of this repository (cedar-policy/cedar-integration-tests, Apache-2.0). `CEDAR_CORPUS` names
//! the folder that holds its unpacked `corpus-tests`:
//! `CEDAR_CORPUS=… cargo test -p gate --lib -- corpus --ignored --nocapture`.

use super::judge;
use cedar_policy::{Authorizer, Context, Entities, EntityUid, PolicySet, Request, Schema};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How one request of the corpus came out.
#[derive(Default, Debug)]
struct Counts {
    requests: usize,
    same: usize,
    /// Cedar allows and a policy erred: denied here.
    errs_and_is_denied: usize,
    not_read: usize,
    wrong: Vec<String>,
}

fn text(root: &Path, case: &Value, name: &str) -> String {
    std::fs::read_to_string(root.join(case[name].as_str().unwrap())).unwrap()
}

fn words(value: &Value) -> Vec<String> {
    let mut words: Vec<String> =
        value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    words.sort();
    words
}

fn run(root: &Path, path: &Path, counts: &mut Counts) {
    let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let read = (
        PolicySet::from_str(&text(root, &case, "policies")),
        Schema::from_cedarschema_str(&text(root, &case, "schema")),
    );
    let asked = case["requests"].as_array().unwrap();
    counts.requests += asked.len();
    let (Ok(policies), Ok((schema, _))) = read else {
        counts.not_read += asked.len();
        return;
    };
    let Ok(entities) = Entities::from_json_str(&text(root, &case, "entities"), Some(&schema)) else {
        counts.not_read += asked.len();
        return;
    };
    for wish in asked {
        let uid = |name: &str| EntityUid::from_json(wish[name].clone()).ok();
        let made = uid("principal").zip(uid("action")).zip(uid("resource")).and_then(|((p, a), r)| {
            let context = Context::from_json_value(wish["context"].clone(), Some((&schema, &a))).ok()?;
            Request::new(p, a, r, context, None).ok()
        });
        let Some(request) = made else {
            counts.not_read += 1;
            continue;
        };
        let answer = judge(&Authorizer::new(), &request, &policies, &entities);
        let allows = wish["decision"] == "allow";
        let errs = !wish["errors"].as_array().unwrap().is_empty();
        match (errs, answer.allowed) {
            (true, false) if allows => counts.errs_and_is_denied += 1,
            (true, false) => counts.same += 1,
            (false, allowed) if allowed == allows && answer.policies == words(&wish["reason"]) => {
                counts.same += 1;
            }
            _ => counts.wrong.push(format!("{}: {}", path.display(), wish["description"])),
        }
    }
}

#[test]
#[ignore = "needs Cedar's public corpus in the folder that CEDAR_CORPUS names"]
fn every_decision_of_the_public_corpus_is_cedars_but_where_a_policy_errs() {
    let root = PathBuf::from(std::env::var_os("CEDAR_CORPUS").expect("CEDAR_CORPUS names the folder"));
    let is_case = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".json") && !name.ends_with(".entities.json")
    };
    let listing = std::fs::read_dir(root.join("corpus-tests")).unwrap();
    let mut paths: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).filter(is_case).collect();
    paths.sort();
    let mut counts = Counts::default();
    // Policies of the corpus are nested more deeply than a test's stack takes.
    let done = std::thread::Builder::new().stack_size(256 << 20).spawn(move || {
        paths.iter().for_each(|path| run(&root, path, &mut counts));
        counts
    });
    let counts = done.unwrap().join().unwrap();
    println!(
        "{} requests: {} as Cedar, {} denied because a policy errs, {} not read",
        counts.requests, counts.same, counts.errs_and_is_denied, counts.not_read
    );
    assert!(counts.requests > 10_000 && counts.not_read * 100 < counts.requests, "{}", counts.not_read);
    assert!(counts.wrong.is_empty(), "{:?}", counts.wrong.iter().take(10).collect::<Vec<_>>());
}
