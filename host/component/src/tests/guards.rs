//! Guards: what they are shown, what becomes of those that misbehave, and what does not load.

use super::kit::{Kit, component, digest, kit, small, with_manifest};
use super::load::refused;
use crate::{LoadError, Plugins, Pool};
use event::{Integrity, PluginGranted, Route, SeatId};
use gate::policy::{Flow, OriginKind};
use gate::{EffectClass, GuardFault, GuardSaid, GuardSpec, GuardedCall, Guards, Resource};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The cases of the guard that ships, and how they are read: one text for both.
#[path = "../../../../plugins/guard-credentials/src/cases.rs"]
mod cases;

fn call(arguments: Value) -> GuardedCall {
    GuardedCall {
        tool: "slack.post".to_owned(),
        plugin: "slack".to_owned(),
        effect: EffectClass::External,
        resource: Resource::Destination("C01".to_owned()),
        arguments,
        seat: SeatId::parse("seat_front-desk").unwrap(),
        role: "assistant".to_owned(),
        origin_kind: OriginKind::Step,
        integrity: Integrity::Untrusted,
        flow: Flow::Unknown,
        audience: None,
    }
}

async fn guarded(pool: Pool) -> (Kit, GuardSpec) {
    let kit = kit(pool, &[component("hostile-guard"), component("hostile")], &[], &[]).await;
    let guard = kit.hands.guards().pop().unwrap();
    (kit, guard)
}

async fn told(kit: &Kit, guard: &GuardSpec, what: &str) -> Result<GuardSaid, GuardFault> {
    kit.hands.ask(guard, &call(json!({"text": format!("guard:{what}")}))).await
}

#[tokio::test]
async fn a_guard_is_listed_with_its_digest_and_offers_nothing() {
    let (kit, guard) = guarded(small()).await;
    assert_eq!((guard.name.as_str(), &guard.digest), ("hostile-guard", &digest(&component("hostile-guard"))));
    assert_eq!(guard.sees, gate::Sees::everything());
    assert_eq!(kit.hands.plugins().guards().len(), 1, "a tool is no guard");
    let bytes = std::fs::read(component("hostile-guard")).unwrap();
    let artifact = crate::Artifact::read(bytes).unwrap();
    assert_eq!((artifact.installed().world.as_str(), artifact.imports.len()), ("guard", 0));
}

#[tokio::test]
async fn a_guard_is_shown_the_call_and_passes_or_says_no() {
    let (kit, guard) = guarded(small()).await;
    assert_eq!(told(&kit, &guard, "nothing").await, Ok(GuardSaid::Pass));
    assert_eq!(told(&kit, &guard, "no").await, Ok(GuardSaid::No("not this one".to_owned())));
    let Ok(GuardSaid::No(who)) = told(&kit, &guard, "who").await else { panic!("it did not say") };
    for word in [
        "slack.post slack",
        "External",
        "Destination",
        "C01 seat_front-desk assistant",
        "Step",
        "Untrusted",
        "None",
    ] {
        assert!(who.contains(word), "`{word}` is not in {who}");
    }
}

#[tokio::test]
async fn a_guard_that_misbehaves_gives_no_answer_and_its_neighbours_do() {
    let (kit, guard) = guarded(small()).await;
    for (what, words) in [
        ("spin", "running for 300 ms"),
        ("hog", "more than 16 MiB of memory"),
        ("recurse", "called itself too deeply"),
        ("trap", "trapped: "),
        ("flood", "20000 bytes, and 4096 is the most"),
        ("torrent", "ended: "),
    ] {
        let fault = told(&kit, &guard, what).await.unwrap_err();
        assert!(fault.0.contains(words), "{what}: {}", fault.0);
        assert_eq!(told(&kit, &guard, "nothing").await, Ok(GuardSaid::Pass), "after {what}");
        let echoed = kit.call("hostile.echo", json!({"text": "still here"})).await;
        assert!(echoed.outcome.is_ok(), "after {what}");
    }
}

#[tokio::test]
async fn a_guard_does_not_wait_for_tools_that_take_long() {
    let (kit, guard) = guarded(Pool { calls: 1, checks: 1, ..small() }).await;
    let (hands, request) = (kit.hands.clone(), kit.request("hostile.wait", json!({"ms": 600_000})));
    let waiting = tokio::spawn(async move { hands.run(request).await });
    while kit.engine.free_places() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(told(&kit, &guard, "nothing").await, Ok(GuardSaid::Pass));
    assert!(!waiting.is_finished());
    waiting.abort();
}

#[tokio::test]
async fn a_guard_that_is_gone_or_changed_gives_no_answer() {
    let (kit, guard) = guarded(small()).await;
    let other = GuardSpec { digest: event::Digest::of(b"another"), ..guard.clone() };
    assert!(told(&kit, &other, "nothing").await.unwrap_err().0.contains("is not loaded"));
    let tool =
        GuardSpec { name: "hostile".to_owned(), digest: digest(&component("hostile")), ..guard.clone() };
    assert!(
        told(&kit, &tool, "nothing").await.unwrap_err().0.contains("is not loaded"),
        "a tool is no guard"
    );
    // The set before is still found by a call that was admitted just then; the one before that is gone.
    kit.hands.replace(Plugins::default());
    kit.hands.replace(Plugins::default());
    assert!(kit.hands.guards().is_empty());
    assert!(told(&kit, &guard, "nothing").await.unwrap_err().0.contains("is not loaded"));
}

#[tokio::test]
async fn a_call_too_long_to_be_shown_gets_no_answer() {
    let mut pool = small();
    pool.guards.input_bytes = 1_000;
    let (kit, guard) = guarded(pool).await;
    let fault = kit.hands.ask(&guard, &call(json!({"text": "x".repeat(1_000)}))).await.unwrap_err();
    assert!(fault.0.contains("longer than 1000 bytes"), "{}", fault.0);
}

const AS_GUARD: &str = "version = \"0.1.0\"\nworld = \"chancery:guard@0.1.0\"\ndescription = \"d\"\n";

#[tokio::test]
async fn a_guard_that_imports_anything_does_not_load_and_the_import_is_named() {
    for (name, import) in [("stranger", "acme:beam/teleport@1.0.0"), ("wasi", "wasi:")] {
        let (_folder, path) = with_manifest(name, &format!("name = \"{name}\"\n{AS_GUARD}"));
        let error = refused(&[path], &[]).await;
        assert!(matches!(error, LoadError::GuardImports { .. }), "{error}");
        let begins = format!("the guard `{name}` imports `");
        assert!(error.to_string().starts_with(&begins), "{error}");
        let bytes = std::fs::read(component(name)).unwrap();
        let imports = |import: &str| bytes.windows(import.len()).any(|window| window == import.as_bytes());
        assert!(imports(import));
    }
}

#[tokio::test]
async fn a_guard_without_its_world_does_not_load() {
    // A component with nothing in it: no import, no manifest, no export.
    let manifest = format!("name = \"empty\"\n{AS_GUARD}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.wasm");
    let mut content = vec![u8::try_from(crate::SECTION.len()).unwrap()];
    content.extend_from_slice(crate::SECTION.as_bytes());
    content.extend_from_slice(manifest.as_bytes());
    let mut bytes = b"\0asm\x0d\0\x01\0\0".to_vec();
    bytes.push(u8::try_from(content.len() & 0x7f).unwrap() | 0x80);
    bytes.push(u8::try_from(content.len() >> 7).unwrap());
    bytes.extend_from_slice(&content);
    std::fs::write(&path, bytes).unwrap();
    let error = refused(&[path], &[]).await;
    assert!(matches!(error, LoadError::OtherWorld { .. }), "{error}");
    assert!(error.to_string().contains("`chancery:guard@0.1.0`"), "{error}");
}

#[tokio::test]
async fn a_guard_that_was_granted_anything_does_not_load() {
    let file = component("hostile-guard");
    let bare = PluginGranted {
        plugin: "hostile-guard".to_owned(),
        digest: digest(&file),
        routes: Vec::new(),
        settings: BTreeMap::new(),
        directories: Vec::new(),
        reason: String::new(),
        handles: Vec::new(),
    };
    let route = |credential: Option<&str>| Route {
        methods: vec!["GET".to_owned()],
        origin: "https://api.example.com".to_owned(),
        path: event::RoutePath::every(),
        credential: credential.map(str::to_owned),
    };
    let settings = BTreeMap::from([("colour".to_owned(), json!("red"))]);
    for (grant, what) in [
        (PluginGranted { routes: vec![route(None)], ..bare.clone() }, "given a route,"),
        (
            PluginGranted { routes: vec![route(Some("a.token"))], ..bare.clone() },
            "given a route with a credential",
        ),
        (PluginGranted { settings, ..bare.clone() }, "given settings"),
    ] {
        let said = refused(std::slice::from_ref(&file), &[grant]).await.to_string();
        assert!(said.contains(what), "{said}");
    }
    assert_eq!(kit(small(), &[file], &[bare], &[]).await.hands.guards().len(), 1);
}

#[tokio::test]
async fn more_guards_than_a_call_can_wait_for_do_not_load() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(component("hostile-guard")).unwrap();
    let name = b"name = \"hostile-guard\"";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    let file = |n: usize| -> PathBuf {
        let mut bytes = bytes.clone();
        bytes.splice(at..at + name.len(), format!("name = \"hostile-gu{n:03}\"").into_bytes());
        let path = folder.path().join(format!("{n}.wasm"));
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let files: Vec<PathBuf> = (0..=gate::GUARDS_MAX).map(file).collect();
    let error = refused(&files, &[]).await;
    assert!(matches!(error, LoadError::TooManyGuards { max: gate::GUARDS_MAX }), "{error}");
}

#[tokio::test]
async fn the_guard_that_ships_decides_its_cases_as_their_folders_say() {
    let kit = kit(small(), &[component("guard-credentials")], &[], &[]).await;
    let guard = kit.hands.guards().pop().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/guard-credentials/cases");
    for case in cases::cases(&folder) {
        let effect: EffectClass = serde_json::from_value(case.call["effect"].clone()).unwrap();
        let resource = resource(&case.call["resource"]);
        let tool = case.call["tool"].as_str().unwrap().to_owned();
        let shown = GuardedCall { tool, effect, resource, ..call(case.arguments.clone()) };
        assert!(shown.is_seen_by(&guard), "{} is not seen", case.name);
        match kit.hands.ask(&guard, &shown).await {
            Ok(GuardSaid::Pass) => cases::check(&case, None),
            Ok(GuardSaid::No(reason)) => cases::check(&case, Some(&reason)),
            Err(fault) => panic!("{}: {fault}", case.name),
        }
    }
}

fn resource(written: &Value) -> Resource {
    let text = |key: &str| written[key].as_str().map(str::to_owned);
    let origin = text("origin").map(|origin| Resource::Origin { origin, granted: true });
    origin
        .or_else(|| text("destination").map(Resource::Destination))
        .or_else(|| text("plugin").map(Resource::Plugin))
        .unwrap()
}

#[tokio::test]
async fn the_guard_that_ships_looks_at_the_longest_call_within_its_limits() {
    let pool = Pool { guards: crate::Limits::for_guards(), ..small() };
    let kit = kit(pool, &[component("guard-credentials")], &[], &[]).await;
    let guard = kit.hands.guards().pop().unwrap();
    let image: Vec<u8> =
        (0..700_000_u32).map(|n| u8::try_from(n.wrapping_mul(2_654_435_761) >> 24).unwrap()).collect();
    let image = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, image);
    for text in [image, "The tide turns at six. %41 \\u0041 ".repeat(26_000)] {
        let said = kit.hands.ask(&guard, &call(json!({"text": text}))).await;
        assert_eq!(said, Ok(GuardSaid::Pass));
    }
}
