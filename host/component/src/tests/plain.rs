//! Components of no world of ours: their functions as tools.

use super::kit::{Kit, code_folder, component, failure, kit, output, small, with_manifest};
use super::load::refused;
use crate::{Artifact, Compiler, Engine, EngineParts, Plugins};
use gate::{Catalogue, EffectClass, FailureKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MANIFEST: &str = r#"
name = "sums"
version = "1.0.0"
world = "plain"
description = "Sums, for tests."
[[tool]]
name = "sums.words"
effect = "read"
description = "How many words a text has."
[[tool]]
name = "sums.middle"
effect = "read"
function = "acme:sums/kinds@1.0.0#middle"
[[tool]]
name = "sums.same"
effect = "read"
[[tool]]
name = "sums.forget"
effect = "write"
[[tool]]
name = "sums.fail"
effect = "read"
[[tool]]
name = "sums.divide"
effect = "read"
[[tool]]
name = "sums.spin"
effect = "read"
"#;

async fn sums() -> (tempfile::TempDir, Kit) {
    let (folder, path) = with_manifest("sums", MANIFEST);
    let kit = kit(small(), &[path], &[], &[]).await;
    (folder, kit)
}

#[tokio::test]
async fn plain_functions_are_tools_with_schemas_of_their_types() {
    let (_folder, kit) = sums().await;
    let words = kit.hands.tool("sums.words").unwrap();
    assert_eq!((words.description.as_str(), words.effect), ("How many words a text has.", EffectClass::Read));
    assert_eq!(kit.hands.tool("sums.forget").unwrap().effect, EffectClass::Write);
    let schemas: BTreeMap<String, Value> = kit
        .hands
        .tools()
        .iter()
        .map(|tool| (tool.name.clone(), json!({"input": tool.input_schema, "output": tool.output_schema})))
        .collect();
    insta::assert_json_snapshot!(schemas);
    assert_eq!(output(kit.call("sums.words", json!({"text": "one two  three"})).await), json!(3));
    assert_eq!(output(kit.call("sums.forget", json!({})).await), Value::Null);
}

#[tokio::test]
async fn every_kind_of_type_goes_in_and_comes_back() {
    let (_folder, kit) = sums().await;
    let point = json!({"x": -1, "y": 2, "label": null});
    let all = |figure: Value, large: Value, perhaps: Value, outcome: Value| {
        json!({
            "figure": figure, "colour": "dark-blue", "marks": ["seen", "kept"], "letter": "é", "large": large,
            "small": -128, "part": 0.5, "raw": "AAH/", "perhaps": perhaps, "outcome": outcome,
        })
    };
    for (figure, large, perhaps, outcome) in [
        (json!("everywhere"), json!(7), json!(null), json!({"ok": "fine"})),
        (json!({"dot": point}), json!("18446744073709551615"), json!({"some": null}), json!({"error": 9})),
        (
            json!({"circle": [point, 1.5]}),
            json!(9_007_199_254_740_991_u64),
            json!({"some": 3}),
            json!({"ok": ""}),
        ),
    ] {
        let input = all(figure.clone(), large.clone(), perhaps.clone(), outcome.clone());
        assert_eq!(kit.hands.check_input(&kit.hands.tool("sums.same").unwrap(), &input), Ok(()), "{input}");
        let given = output(kit.call("sums.same", input).await);
        let wanted =
            json!([figure, "dark-blue", ["seen", "kept"], "é", large, -128, 0.5, "AAH/", perhaps, outcome]);
        assert_eq!(given, wanted);
    }
}

#[tokio::test]
async fn an_error_of_a_function_is_a_failure_with_its_case_as_the_kind() {
    let (_folder, kit) = sums().await;
    let points = |count: usize| json!({"points": vec![json!({"x": 2, "y": 4}); count]});
    let middle = output(kit.call("sums.middle", points(2)).await);
    assert_eq!(middle, json!({"x": 2, "y": 4, "label": null}));
    for (tool, input, kind, message) in [
        ("sums.middle", points(0), "empty", "empty"),
        ("sums.middle", points(4), "too-many", "{\"too-many\":4}"),
        ("sums.fail", json!({"text": "It rained."}), "error", "It rained."),
        ("sums.fail", json!({"text": "a\nb"}), "error", "a\u{fffd}b"),
    ] {
        let failure = failure(kit.call(tool, input).await);
        assert_eq!(failure.kind, FailureKind::Other(kind.to_owned()));
        assert_eq!(failure.message, message);
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused_on_the_way_in_and_on_the_way_out() {
    let (_folder, kit) = sums().await;
    // The gate checks the schema before; whoever comes past it is told all the same.
    for (tool, input, words) in [
        ("sums.words", json!({}), "`/text`: it is not there"),
        ("sums.words", json!({"text": 7}), "`/text`: this is of another type"),
        ("sums.middle", json!({"points": [{"x": 1.5, "y": 0}]}), "`/points/0/x`: no integer that fits"),
        ("sums.middle", json!({"points": [{"x": 4_294_967_296_u64, "y": 0}]}), "no integer that fits"),
        ("sums.words", json!([]), "it is not an object"),
        ("sums.words", json!({"text": "x".repeat(2_000_000)}), "longer than"),
    ] {
        let failure = failure(kit.call(tool, input).await);
        assert_eq!(failure.kind, FailureKind::InvalidInput, "{}", failure.message);
        assert!(failure.message.contains(words), "{}", failure.message);
    }
    let failure = failure(kit.call("sums.divide", json!({"number": 1.0, "by": 0.0})).await);
    assert_eq!(failure.kind, FailureKind::Guest);
    assert!(failure.message.ends_with("inf is no number in JSON"), "{}", failure.message);
}

#[tokio::test]
async fn a_plain_function_lives_under_the_limits_of_tools() {
    let (_folder, kit) = sums().await;
    let failure = failure(kit.call("sums.spin", json!({})).await);
    assert!(failure.message.contains("running for 300 ms"), "{}", failure.message);
}

#[tokio::test]
async fn a_manifest_beside_a_component_counts_and_is_part_of_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sums.wasm");
    let bytes = std::fs::read(component("sums")).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert!(Artifact::read_beside(bytes.clone(), &path).is_err(), "nothing is beside it");
    std::fs::write(folder.path().join("sums.toml"), MANIFEST).unwrap();
    let first = Artifact::read_beside(bytes.clone(), &path).unwrap();
    let engine = Engine::new(EngineParts {
        pool: small(),
        code_folder: Some(code_folder()),
        compiler: Compiler::Here,
    })
    .unwrap();
    let plugins = Plugins::load(&engine, std::slice::from_ref(&path), &BTreeMap::new()).await.unwrap();
    assert_eq!(plugins.get("sums").unwrap().digest(), &first.digest);
    std::fs::write(folder.path().join("sums.toml"), MANIFEST.replace("\"write\"", "\"read\"")).unwrap();
    assert_ne!(Artifact::read_beside(bytes, &path).unwrap().digest, first.digest);
}

#[tokio::test]
async fn a_manifest_that_names_no_function_of_the_component_does_not_load() {
    for (from, to, words) in [
        (
            "sums.words",
            "sums.letters",
            "no function `letters` is there for the tool `sums.letters`; it exports `acme:sums",
        ),
        (
            "kinds@1.0.0#middle",
            "kinds@1.0.0#edge",
            "is to be `acme:sums/kinds@1.0.0#edge`, which it does not export",
        ),
    ] {
        let (_folder, path) = with_manifest("sums", &MANIFEST.replace(from, to));
        let said = refused(&[path], &[]).await.to_string();
        assert!(said.contains(words), "{said}");
    }
    // In a world of ours the guest says these itself.
    let ours = MANIFEST.replace("world = \"plain\"", "world = \"chancery:tool@0.1.0\"");
    let (_folder, path) = with_manifest("sums", &ours);
    let error = refused(&[path], &[]).await;
    assert!(matches!(error, crate::LoadError::NotAPlugin { .. }), "{error}");
}
