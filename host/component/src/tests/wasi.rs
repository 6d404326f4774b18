//! WASI is linked, so that components of any language run, and inert, so that they find nothing.

use super::kit::{AT, kit, output, small, with_manifest};
use serde_json::{Value, json};

const MANIFEST: &str = "name = \"wasi\"\nversion = \"0.1.0\"\nworld = \"chancery:tool@0.1.0\"\ndescription = \"d\"\n\
                        [[tool]]\nname = \"wasi.look\"\neffect = \"read\"\n[[tool]]\nname = \"wasi.folder\"\neffect = \"read\"\n";

async fn looked(origins: &[&str]) -> Vec<Value> {
    let (_folder, path) = with_manifest("wasi", MANIFEST);
    let kit = kit(small(), &[path], &[], &[]).await;
    let mut found = Vec::new();
    for origin in origins {
        let mut request = kit.request("wasi.look", json!({}));
        request.origin = (*origin).to_owned();
        found.push(output(kit.hands.run(request).await));
    }
    found
}

#[tokio::test]
async fn a_guest_that_looks_at_all_of_wasi_finds_nothing_of_this_machine() {
    let found = looked(&["turn_1/1/1"]).await.remove(0);
    let at = |pointer: &str| found.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(at("/environment"), json!([]));
    assert_eq!(at("/arguments"), json!([]));
    assert_eq!((at("/folder"), at("/folders")), (Value::Null, json!(0)));
    assert_eq!((at("/input"), at("/output"), at("/terminal")), (json!("ended"), json!(true), json!(false)));
    assert!(at("/tcp").as_str().unwrap().contains("access-denied"), "{found}");
    assert!(at("/udp").as_str().unwrap().contains("access-denied"), "{found}");
    assert!(at("/name").as_str().unwrap().contains("permanent-resolver-failure"), "{found}");
}

#[tokio::test]
async fn the_clock_shows_the_recorded_time_and_what_was_waited() {
    let found = looked(&["turn_1/1/1"]).await.remove(0);
    let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_i64).unwrap();
    assert_eq!(number("/clock/seconds"), AT.0 / 1_000);
    assert_eq!(number("/clock/nanoseconds"), AT.0 % 1_000 * 1_000_000);
    assert_eq!(number("/clock/began"), 0);
    assert!((5_000_000..5_100_000).contains(&number("/clock/waited")), "{found}");
}

#[tokio::test]
async fn the_same_call_finds_the_same_world_and_another_draws_other_numbers() {
    let found = looked(&["turn_1/1/1", "turn_1/1/1", "turn_1/1/2"]).await;
    let [first, again, other] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(first, again);
    for key in ["random", "insecure", "seed"] {
        assert_ne!(first.get(key), other.get(key), "{key}");
    }
}
