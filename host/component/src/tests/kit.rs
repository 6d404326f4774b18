//! An engine with small limits, and hands over the guests of the tests.

use crate::hands::Request;
use crate::{Clock, Compiler, Engine, EngineParts, Hands, Limits, Plugins, Pool};
use egress::{Egress, EgressConfig, STARTING_LIMITS};
use event::{Digest, PluginGranted, Route, Timestamp};
use gate::{Deltas, EffectClass, Failure, InferRequest, Message, Output, Part, Payload, Reached, Role};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use vault::{Source, Vault};

/// The recorded time of every call here.
pub(super) const AT: Timestamp = Timestamp(1_796_057_279_123);
/// The host's time when something was read.
pub(super) const READ_AT: Timestamp = Timestamp(1_796_057_280_000);
/// What the one credential is worth.
pub(super) const TOKEN: &str = "not-a-token-but-long-enough";

/// What the emulators take for a token.
pub(super) const EMULATED_TOKEN: &str = "emulated-token-of-the-office";

/// Limits that a test can reach quickly.
pub(super) fn small() -> Pool {
    let tools = Limits {
        memory_bytes: 16 * 1024 * 1024,
        resources: 100,
        http_requests: 3,
        output_bytes: 64 * 1024,
        cpu_ms: 300,
        wall_ms: 3_000,
        ..Limits::for_tools()
    };
    let models = Limits { output_bytes: 256 * 1024, cpu_ms: 300, wall_ms: 3_000, ..Limits::for_models() };
    let guards = Limits { memory_bytes: 16 * 1024 * 1024, cpu_ms: 300, ..Limits::for_guards() };
    Pool { calls: 8, checks: 4, tools, models, guards }
}

/// Where a guest's component is. A missing one fails the test: nothing is skipped.
pub(super) fn component(name: &str) -> PathBuf {
    let folder =
        std::env::var_os("CHANCERY_GUESTS").map(PathBuf::from).unwrap_or_else(|| target().join("guests"));
    let path = folder.join(format!("{name}.wasm"));
    assert!(path.is_file(), "`{}` is not there: run `cargo xtask guests --languages` first", path.display());
    path
}

/// Where a guest in another language is; nothing, with the reason on the screen, where its tools cannot be had.
pub(super) fn component_if_it_can_be_had(name: &str) -> Option<PathBuf> {
    can_be_had(name).then(|| component(name))
}

/// Whether what `cargo xtask guests --languages` brings is there, or the reason on the screen why not.
pub(super) fn can_be_had(name: &str) -> bool {
    let reason = target().join("guests").join(format!("{name}.absent"));
    if let Ok(reason) = std::fs::read_to_string(reason) {
        eprintln!("SKIPPED: `{name}` cannot be had here: {reason}");
        return false;
    }
    true
}

pub(super) fn target() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/chancery/target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(home, PathBuf::from)
}

/// A guest with `manifest` put in, in a folder of its own: for those that `xtask` builds without one.
pub(super) fn with_manifest(name: &str, manifest: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let bytes = crate::artifact::with_manifest(std::fs::read(component(name)).unwrap(), manifest.as_bytes());
    let path = folder.path().join(format!("{name}.wasm"));
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Resolves nothing: these tests reach loopback alone.
struct Nowhere;

#[async_trait::async_trait]
impl egress::Resolve for Nowhere {
    async fn resolve(&self, _: &str, _: u16) -> std::io::Result<Vec<IpAddr>> {
        Err(std::io::Error::other("no names here"))
    }
}

/// Hands over some guests.
pub(super) struct Kit {
    pub(super) hands: Arc<Hands>,
    pub(super) engine: Arc<Engine>,
    _folder: tempfile::TempDir,
}

/// Hands over `files`, with the grants of plugins by name and loopback open to `loopback`.
pub(super) async fn kit(pool: Pool, files: &[PathBuf], grants: &[PluginGranted], loopback: &[&str]) -> Kit {
    kit_in(code_folder(), pool, files, grants, loopback).await
}

/// The same, with compiled code kept in `code`.
pub(super) async fn kit_in(
    code: PathBuf,
    pool: Pool,
    files: &[PathBuf],
    grants: &[PluginGranted],
    loopback: &[&str],
) -> Kit {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, TOKEN).unwrap();
    let emulated = folder.path().join("emulated");
    std::fs::write(&emulated, EMULATED_TOKEN).unwrap();
    let tokens = [
        ("hostile.token", &token),
        ("javascript.token", &token),
        ("search.key", &token),
        ("github.token", &emulated),
        ("linear.token", &emulated),
        ("mail.token", &emulated),
    ];
    let sources = tokens.map(|(name, file)| (name.to_owned(), Source::File(file.clone())));
    let vault = Arc::new(Vault::new(BTreeMap::from(sources)));
    let config = EgressConfig {
        loopback: loopback.iter().map(|origin| egress::Origin::parse(origin).unwrap()).collect(),
        injections: BTreeMap::new(),
        limits: STARTING_LIMITS,
    };
    let egress = Arc::new(Egress::new(config, Arc::new(Nowhere), vault.clone()).unwrap());
    let engine =
        Engine::new(EngineParts { pool, code_folder: Some(code), compiler: Compiler::Here }).unwrap();
    let grants = grants.iter().map(|grant| (grant.plugin.clone(), grant.clone())).collect();
    let plugins = Plugins::load(&engine, files, &grants).await.unwrap();
    let clock: Clock = Arc::new(|| READ_AT);
    let hands = Arc::new(Hands::new(engine.clone(), plugins, egress, vault, clock));
    Kit { hands, engine, _folder: folder }
}

/// One for all tests of this process: each guest is compiled once.
pub(super) fn code_folder() -> PathBuf {
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> =
        std::sync::LazyLock::new(|| tempfile::tempdir().unwrap());
    FOLDER.path().join("code")
}

/// The digest of a component's file.
pub(super) fn digest(path: &std::path::Path) -> Digest {
    Digest::of(&std::fs::read(path).unwrap())
}

/// A grant for the guest `hostile`.
pub(super) fn granted(routes: Vec<Route>) -> PluginGranted {
    PluginGranted {
        plugin: "hostile".to_owned(),
        digest: digest(&component("hostile")),
        routes,
        settings: BTreeMap::from([("colour".to_owned(), Value::from("red"))]),
        directories: Vec::new(),
        reason: String::new(),
        handles: Vec::new(),
    }
}

pub(super) fn route(methods: &[&str], origin: &str, path_prefix: &str, credential: Option<&str>) -> Route {
    Route {
        methods: methods.iter().map(|method| (*method).to_owned()).collect(),
        origin: origin.to_owned(),
        path: event::RoutePath::Below(path_prefix.to_owned()),
        credential: credential.map(ToOwned::to_owned),
    }
}

/// Hands over the guest `hostile` alone, with nothing granted.
pub(super) async fn hostile(pool: Pool) -> Kit {
    kit(pool, &[component("hostile")], &[], &[]).await
}

impl Kit {
    /// The request a permit for this tool would come to.
    pub(super) fn request(&self, tool: &str, input: Value) -> Request {
        use gate::Catalogue;
        let spec = self.hands.tool(tool).unwrap();
        Request {
            plugin: spec.plugin.clone(),
            digest: spec.digest.clone(),
            tool: tool.to_owned(),
            payload: Payload::Tool(input),
            effect: spec.effect,
            routes: self.hands.routes(&spec.plugin),
            workspace: None,
            key: if spec.effect == EffectClass::Read { String::new() } else { "effect_1".to_owned() },
            origin: "turn_1/1/1".to_owned(),
            at: AT,
            deltas: None,
            verbs: None,
        }
    }

    pub(super) async fn call(&self, tool: &str, input: Value) -> Reached {
        self.hands.run(self.request(tool, input)).await
    }

    /// The request a permit for the one model of `parrot` would come to.
    pub(super) fn infer(&self, text: &str, deltas: Option<Arc<dyn Deltas>>) -> Request {
        use gate::Catalogue;
        let spec = self.hands.model("parrot/grey").unwrap();
        let message = Message { role: Role::User, parts: vec![Part::Text(text.to_owned())] };
        let payload = Payload::from(InferRequest {
            model: spec.name.clone(),
            system: "Say it.".to_owned(),
            messages: vec![message],
            tools: Vec::new(),
            output_tokens_max: 100,
        });
        Request {
            plugin: "parrot".to_owned(),
            digest: spec.digest.clone(),
            tool: spec.name.clone(),
            payload,
            effect: EffectClass::Read,
            routes: Vec::new(),
            workspace: None,
            key: String::new(),
            origin: "turn_1/1/1".to_owned(),
            at: AT,
            deltas,
            verbs: None,
        }
    }
}

pub(super) fn output(reached: Reached) -> Value {
    match reached.outcome {
        Ok(Output::Tool(value)) => value,
        other => panic!("{other:?}"),
    }
}

pub(super) fn failure(reached: Reached) -> Failure {
    reached.outcome.unwrap_err()
}

/// Keeps the deltas it is given.
#[derive(Default)]
pub(super) struct Heard(pub(super) Mutex<Vec<String>>);

impl Deltas for Heard {
    fn write(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}
