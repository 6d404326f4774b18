//! What a remote of the journal has of persons' words: nothing, before an erasure and after it.

use super::git::{Kept, QUICK, bare, git, remote};
use super::kit::{Desk, append, delivery};
use event::{DeliveryReceived, Fact, Personal, PrincipalId};
use serde_json::json;
use std::process::Command;
use vault::Keyring;

const WORDS: &str = "quicksilver-lantern";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_object_of_the_git_history_holds_a_word_that_a_person_said() {
    let desk = Desk::new();
    let record = desk.open().await.with_keyring(Keyring::in_memory(1));
    let origin = desk.path("origin.git");
    bare(&origin);
    let mut kept = Kept::start(&record, &desk.journal, remote(&origin), QUICK).await;
    let said = |name: &str, of: Vec<PrincipalId>| {
        let mut event = delivery(name, json!(null));
        let Fact::DeliveryReceived(body) = event.fact else { panic!("no delivery") };
        event.fact = DeliveryReceived { payload: Personal::of(json!(WORDS), of), ..body }.into();
        event
    };
    append(&record, "a", vec![said("one", vec![PrincipalId::parse("person_1").unwrap()])]).await;
    kept.pushed(1).await;
    kept.stop().await;
    let objects = || {
        let all = ["-C", origin.to_str().unwrap(), "cat-file", "--batch-all-objects", "--batch"];
        Command::new("git").args(all).output().unwrap().stdout
    };
    let says = |bytes: &[u8]| bytes.windows(WORDS.len()).any(|window| window == WORDS.as_bytes());
    assert!(String::from_utf8_lossy(&objects()).contains("delivery.received"));
    assert!(!says(&objects()));
    // The same words of nobody are found, so they would have been.
    append(&record, "a", vec![said("two", vec![])]).await;
    let mut kept = Kept::start(&record, &desk.journal, remote(&origin), QUICK).await;
    kept.pushed(2).await;
    kept.stop().await;
    assert!(says(&objects()));
    assert!(git(&origin, &["log", "--format=%s", "journal"]).contains("up to 2"));
}
