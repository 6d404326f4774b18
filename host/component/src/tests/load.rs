//! What does not load, and the line an operator reads.

use super::kit::{code_folder, component, granted, hostile, kit, small, with_manifest};
use crate::{Artifact, Compiler, Engine, EngineParts, LoadError, Plugins};
use event::{Digest, PluginGranted};
use gate::{Catalogue, EffectClass, Resource, Touches};
use serde_json::json;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

const HOSTILE: &str = include_str!("../../../../tests/guests/hostile/plugin.toml");

pub(super) async fn refused(files: &[PathBuf], grants: &[PluginGranted]) -> LoadError {
    let engine = Engine::new(EngineParts {
        pool: small(),
        code_folder: Some(code_folder()),
        compiler: Compiler::Here,
    })
    .unwrap();
    let grants: BTreeMap<_, _> = grants.iter().map(|grant| (grant.plugin.clone(), grant.clone())).collect();
    match Plugins::load(&engine, files, &grants).await {
        Ok(_) => panic!("it loaded"),
        Err(error) => error,
    }
}

/// `hostile` under another manifest.
async fn remade(from: &str, to: &str) -> LoadError {
    let manifest = HOSTILE.replace(from, to);
    assert_ne!(manifest, HOSTILE);
    // The component has a manifest of its own: this one takes its place.
    let bytes = std::fs::read(component("hostile")).unwrap();
    let start = bytes.windows(HOSTILE.len()).position(|window| window == HOSTILE.as_bytes()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile.wasm");
    // The same length, so that the section's own need not change.
    let padded = format!("{manifest}{}", "#".repeat(HOSTILE.len().checked_sub(manifest.len()).unwrap()));
    let mut bytes = bytes;
    bytes.splice(start..start + HOSTILE.len(), padded.into_bytes());
    std::fs::write(&path, bytes).unwrap();
    refused(&[path], &[]).await
}

#[tokio::test]
async fn an_interface_nobody_knows_is_named_with_what_is_offered() {
    let manifest = "name = \"stranger\"\nversion = \"0.1.0\"\nworld = \"chancery:tool@0.1.0\"\ndescription = \"d\"\n\
                    [[tool]]\nname = \"stranger.beam\"\neffect = \"read\"\n";
    let (_folder, path) = with_manifest("stranger", manifest);
    let error = refused(&[path], &[]).await;
    assert!(matches!(error, LoadError::UnknownInterface { .. }));
    let said = error.to_string();
    let begins = "the plugin `stranger` imports `acme:beam/teleport@1.0.0`, which nobody here offers: ";
    assert!(said.starts_with(begins) && said.contains("chancery:host/log@0.1.0"), "{said}");
}

#[tokio::test]
async fn a_file_that_is_no_plugin_is_named() {
    let missing = refused(&[PathBuf::from("nowhere/web.wasm")], &[]).await;
    assert!(
        missing.to_string().starts_with("the plugin file `nowhere/web.wasm` cannot be read"),
        "{missing}"
    );
    // Built without a manifest.
    let bare = refused(&[component("wasi")], &[]).await;
    assert!(matches!(bare, LoadError::NotAPlugin { .. }));
    assert!(bare.source().unwrap().to_string().contains("chancery:manifest"), "{:?}", bare.source());
}

#[tokio::test]
async fn a_component_that_changed_since_it_was_granted_does_not_load() {
    let mut grant = granted(Vec::new());
    grant.digest = Digest::of(b"what it was");
    let said = refused(&[component("hostile")], &[grant.clone()]).await.to_string();
    assert!(said.contains(grant.digest.as_str()) && said.contains("grant it anew"), "{said}");
}

#[tokio::test]
async fn a_component_that_does_not_define_what_its_manifest_names_does_not_load() {
    let said = remade("hostile.spin", "hostile.spun").await.to_string();
    assert!(said.contains("it defines `hostile.spin`, which the manifest does not name"), "{said}");
}

#[tokio::test]
async fn a_component_of_another_world_does_not_load() {
    let manifest = "name = \"wasi\"\nversion = \"0.1.0\"\nworld = \"chancery:model@0.1.0\"\ndescription = \"d\"\n\
                    [[model]]\nname = \"m\"\nprice_key = \"k\"\n";
    let (_folder, path) = with_manifest("wasi", manifest);
    let error = refused(&[path], &[]).await;
    assert!(matches!(error, LoadError::OtherWorld { .. }), "{error}");
    assert!(error.to_string().contains("`chancery:model@0.1.0`"), "{error}");
}

#[tokio::test]
async fn two_plugins_of_one_name_do_not_load() {
    let said = refused(&[component("parrot"), component("parrot")], &[]).await.to_string();
    assert!(said.starts_with("`parrot` is offered by two plugins"), "{said}");
}

#[tokio::test]
async fn a_plugin_is_listed_as_its_component_and_manifest_say() {
    let kit = kit(small(), &[component("hostile"), component("parrot")], &[granted(Vec::new())], &[]).await;
    let names: Vec<String> = kit.hands.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!((names.len(), names.first().map(String::as_str)), (12, Some("hostile.dirt")));
    assert!(names.is_sorted());
    let push = kit.hands.tool("hostile.push").unwrap();
    assert_eq!((push.effect, &push.touches), (EffectClass::External, &Touches::OriginOf("/url".to_owned())));
    let grey = kit.hands.model("parrot/grey").unwrap();
    assert_eq!(
        (grey.window_tokens, grey.output_tokens_max, grey.price_key.as_str()),
        (1_000, 100, "parrot/grey")
    );
    assert!(kit.hands.tool("parrot/grey").is_none() && kit.hands.model("hostile.echo").is_none());
    let installed = Artifact::read(std::fs::read(component("parrot")).unwrap()).unwrap().installed();
    assert_eq!((installed.world.as_str(), installed.tools), ("model", vec!["parrot/grey".to_owned()]));
}

#[tokio::test]
async fn input_is_checked_and_what_it_touches_is_named() {
    let kit = hostile(small()).await;
    let fetch = kit.hands.tool("hostile.fetch").unwrap();
    assert_eq!(kit.hands.check_input(&fetch, &json!({})), Ok(()));
    assert!(
        kit.hands
            .check_input(&fetch, &json!([]))
            .unwrap_err()
            .contains("the input of `hostile.fetch` does not fit")
    );
    let touched = kit.hands.resource(&fetch, &json!({"url": "https://api.example.com/a"}));
    assert_eq!(
        touched,
        Ok(Resource::Origin { origin: "https://api.example.com".to_owned(), granted: false })
    );
}

#[tokio::test]
async fn every_plugin_of_this_repository_loads() {
    let files = ["guard-credentials", "scripted", "slack", "terminal", "web"].map(component);
    let kit = kit(small(), &files, &[], &[]).await;
    assert_eq!(kit.hands.plugins().loaded().count(), 5);
    assert!(kit.hands.tool("web.fetch").is_some() && kit.hands.model("scripted/story").is_some());
}

#[tokio::test]
async fn a_plugin_that_says_it_recalls_and_does_not_export_it_does_not_load() {
    let line = HOSTILE.lines().find(|line| line.starts_with("description")).unwrap();
    let short = HOSTILE.replace(line, "description = \"d\"");
    let manifest = short.replacen("effect = \"external\"", "effect = \"external\"\nrecall = true", 1);
    assert_ne!(manifest, short);
    let error = remade(HOSTILE, &manifest).await;
    assert!(matches!(error, LoadError::NoRecall { .. }), "{error:?}");
    assert!(error.to_string().contains("chancery:tool/recalls"), "{error}");
    let reads = HOSTILE.replace(line, "description = \"d\"");
    let reads = reads.replacen("effect = \"read\"", "effect = \"read\"\nrecall = true", 1);
    let error = remade(HOSTILE, &reads).await;
    assert!(format!("{error:?}").contains("Recall"), "a read leaves nothing to recall: {error:?}");
}
