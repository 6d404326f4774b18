//! SIGKILL behind every commit of a turn that buys two answers of a model, with a server for a provider that counts what
//! it is asked. An answer that was charged is in the record with its charge, or neither is: so no answer that was paid
//! for is ever bought again, and what was asked and not kept counts as unknown.

use crate::boundaries::{asked, count, ends_of_commits, events, killed_behind, until};
use crate::models::{Api, kit};
use event::{Event, Fact, HoldId, Origin, StepKind};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use tests::{Host, Kit, Provider};
use tokio::task::JoinSet;

/// Boundaries that are gone through at the same time: most of their time they wait for a lease to end.
const AT_ONCE: usize = 4;

/// A provider that wants one page read, and then answers.
async fn provider(page: &str) -> Arc<Provider> {
    let (provider, page) = (Provider::serve().await, page.to_owned());
    provider.answers(move |request| match request.body.to_string().contains("tool_result") {
        true => Api::Messages.answer(
            "",
            Some(("t2", "finish", r#"{"outcome": "answered", "text": "The tide turns at six."}"#)),
        ),
        false => Api::Messages.answer("", Some(("t1", "web_fetch", &json!({"url": page}).to_string()))),
    });
    Arc::new(provider)
}

async fn office() -> (Kit, Arc<Provider>) {
    let site = Kit::new().await;
    let provider = provider(&format!("{}/", site.site.origin)).await;
    let mut kit = kit(Api::Messages, &provider, "").await;
    kit.lease_ms = 3_000;
    kit.site = site.site;
    (kit, provider)
}

/// The end of every commit of one turn, as the number of its last event behind the start.
async fn commits() -> Vec<usize> {
    let (kit, provider) = office().await;
    let host = Host::serve(&kit.write()).await;
    let base = events(&kit).await.len();
    assert_eq!(asked(&host).await, 200);
    let all = until(&kit, "the turn ended", |events| count(events, "turn.ended") == 1).await;
    host.kill();
    assert_eq!(provider.requests().len(), 2);
    assert_eq!(count(&all, "hold.settled"), 2);
    ends_of_commits(&all, base)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_behind_every_commit_no_answer_that_was_paid_for_is_bought_again() {
    let commits = commits().await;
    assert!(commits.len() >= 8, "{commits:?}");
    let (mut running, mut lost) = (JoinSet::new(), 0);
    for (n, place) in commits.iter().copied().enumerate() {
        if n >= AT_ONCE {
            lost += running.join_next().await.unwrap().unwrap();
        }
        running.spawn(killed_at(place));
    }
    while let Some(ended) = running.join_next().await {
        lost += ended.unwrap();
    }
    assert!(lost >= 2, "an answer that came and could not be kept was never among them: {lost}");
}

/// How many answers were lost with the host that was killed behind this many events.
async fn killed_at(place: usize) -> usize {
    let (kit, provider) = office().await;
    let (left, all) = killed_behind(&kit, place).await;
    let last = left.last().unwrap().fact.kind();
    every_charge_has_its_answer(&left, last);
    every_charge_has_its_answer(&all, last);
    // Two answers are charged, each once; whatever else the provider was asked is counted in full.
    let (charged, unknown) = (count(&all, "hold.settled"), count(&all, "hold.left-unknown"));
    assert_eq!(charged, 2, "after {last}");
    assert_eq!(provider.requests().len(), charged + unknown, "after {last}");
    assert_eq!(kit.slack.posts().len(), 1, "after {last}");
    unknown
}

/// Each hold that was settled belongs to the try that ended its step, and each such step has one.
fn every_charge_has_its_answer(events: &[Event], last: &str) {
    let mut tries: BTreeMap<HoldId, (u32, u32)> = BTreeMap::new();
    let mut ended: BTreeMap<u32, u32> = BTreeMap::new();
    let mut thinks: BTreeMap<u32, bool> = BTreeMap::new();
    let mut charged: BTreeMap<u32, u32> = BTreeMap::new();
    for event in events {
        match &event.fact {
            Fact::StepStarted(body) => drop(thinks.insert(body.step, body.kind == StepKind::Infer)),
            Fact::StepEnded(body) => drop(ended.insert(body.step, body.attempt)),
            Fact::HoldTaken(body) => {
                if let Origin::Step { step, attempt, .. } = body.origin {
                    tries.insert(body.hold.clone(), (step, attempt));
                }
            }
            Fact::HoldSettled(body) => {
                let Some((step, attempt)) = tries.get(&body.hold) else { continue };
                assert!(
                    charged.insert(*step, *attempt).is_none(),
                    "step {step} is charged twice, after {last}"
                );
            }
            _ => {}
        }
    }
    ended.retain(|step, _| thinks[step]);
    assert_eq!(charged, ended, "what was charged is what is kept, after {last}");
}
