//! A plugin made ready: compiled, linked, asked for its definitions once, and checked against its manifest
//! and its grant.
//!
//! Everything that can be known to be wrong is found here, at the start, with a line an operator can act on;
//! a call then only instantiates.

use crate::artifact::{Artifact, ArtifactError};
use crate::bindings::model::ModelPre;
use crate::bindings::tool::ToolPre;
use crate::bindings::{model, tool};
use crate::engine::Engine;
use crate::guest::{self, Ended};
use crate::limits::Limits;
use crate::link::{is_offered, offered};
use crate::log::plain;
use crate::manifest::{Manifest, World};
use crate::schema::Schema;
use crate::state::{Lent, State};
use event::{Digest, PluginGranted, Route};
use gate::{ModelSpec, ToolSpec};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use wasmtime::component::Component;

/// Longest description of a tool: it stands in every prompt that offers the tool.
pub const DESCRIPTION_BYTES_MAX: usize = 8 * 1024;
/// How long a plugin may take to say what it offers; it has nothing to wait for.
const DEFINITIONS_MS: u64 = 10_000;

/// Why a plugin does not load. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its file cannot be read.
    #[error("the plugin file `{path}` cannot be read: check the path and its rights")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Its file is no plugin.
    #[error("`{path}` is not a plugin")]
    NotAPlugin {
        /// The file.
        path: String,
        /// Why not.
        source: ArtifactError,
    },
    /// It imports an interface that nobody knows.
    #[error(
        "the plugin `{plugin}` imports `{interface}`, which nobody here offers: a plugin of its world is offered {offered}"
    )]
    UnknownInterface {
        /// The plugin.
        plugin: String,
        /// The interface.
        interface: String,
        /// What is offered.
        offered: String,
    },
    /// It does not compile.
    #[error("the plugin `{plugin}` does not compile: rebuild it without the features this engine leaves out")]
    Compile {
        /// The plugin.
        plugin: String,
        /// What the compiler says.
        #[source]
        source: wasmtime::Error,
    },
    /// It does not export its world, or imports something by another type.
    #[error("the plugin `{plugin}` does not fit the world `{world}` its manifest names: rebuild it against this WIT")]
    OtherWorld {
        /// The plugin.
        plugin: String,
        /// The world.
        world: World,
        /// What does not fit.
        #[source]
        source: wasmtime::Error,
    },
    /// It did not say what it offers, or something else than its manifest.
    #[error("the plugin `{plugin}` does not define what its manifest says: {reason}")]
    Definitions {
        /// The plugin.
        plugin: String,
        /// What is wrong.
        reason: String,
    },
    /// The operator's grant is for another component.
    #[error(
        "the plugin `{plugin}` changed since it was granted: the grant is for {granted}, the file is {found}; look at \
         what it asks for and grant it anew"
    )]
    OtherDigest {
        /// The plugin.
        plugin: String,
        /// What the grant is for.
        granted: Digest,
        /// What was found.
        found: Digest,
    },
    /// Two plugins offer the same.
    #[error("`{name}` is offered by two plugins, `{first}` and `{second}`: leave one of them out")]
    Twice {
        /// The plugin, tool or model.
        name: String,
        /// One plugin's file or name.
        first: String,
        /// The other's.
        second: String,
    },
}

/// A plugin that can be called.
pub struct Loaded {
    manifest: Manifest,
    digest: Digest,
    pub(crate) routes: Arc<[Route]>,
    pub(crate) settings: Arc<BTreeMap<String, Value>>,
    pub(crate) ready: Ready,
}

/// What a call instantiates, by world.
pub(crate) enum Ready {
    Tool { pre: ToolPre<State>, tools: BTreeMap<String, Arc<ReadyTool>> },
    Model { pre: ModelPre<State>, models: Vec<Arc<ModelSpec>> },
}

/// One tool and its schemas.
pub(crate) struct ReadyTool {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) input: Schema,
    pub(crate) output: Schema,
}

impl Loaded {
    /// Loads the plugin in the file at `path`, with the grant that bears its name, if there is one.
    pub(crate) async fn from_file(
        engine: &Engine,
        path: &Path,
        grants: &BTreeMap<String, PluginGranted>,
    ) -> Result<Self, LoadError> {
        let named = path.display().to_string();
        let bytes = tokio::fs::read(path).await;
        let bytes = bytes.map_err(|source| LoadError::Unreadable { path: named.clone(), source })?;
        let artifact = Artifact::read(bytes).map_err(|source| LoadError::NotAPlugin { path: named, source })?;
        let grant = grants.get(&artifact.manifest.name);
        Self::of(engine, artifact, grant).await
    }

    async fn of(engine: &Engine, artifact: Artifact, grant: Option<&PluginGranted>) -> Result<Self, LoadError> {
        check_grant(&artifact, grant)?;
        check_imports(&artifact)?;
        let Artifact { digest, manifest, bytes, .. } = artifact;
        let compiled = engine.compile(bytes, &digest).await;
        let component = compiled.map_err(|source| LoadError::Compile { plugin: manifest.name.clone(), source })?;
        let ready = match manifest.world {
            World::Tool => ready_tools(engine, &component, &manifest, &digest).await?,
            World::Model => ready_models(engine, &component, &manifest, &digest).await?,
        };
        let routes = grant.map(|grant| grant.routes.as_slice()).unwrap_or_default().into();
        let settings = Arc::new(grant.map(|grant| grant.settings.clone()).unwrap_or_default());
        Ok(Self { manifest, digest, routes, settings, ready })
    }

    /// What it says about itself and asks for.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// SHA-256 of its component.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The limits its calls are under.
    pub(crate) fn limits<'e>(&self, engine: &'e Engine) -> &'e Limits {
        limits_of(engine, self.manifest.world)
    }
}

fn limits_of(engine: &Engine, world: World) -> &Limits {
    match world {
        World::Tool => &engine.pool.tools,
        World::Model => &engine.pool.models,
    }
}

fn check_grant(artifact: &Artifact, grant: Option<&PluginGranted>) -> Result<(), LoadError> {
    match grant {
        Some(grant) if grant.digest != artifact.digest => Err(LoadError::OtherDigest {
            plugin: artifact.manifest.name.clone(),
            granted: grant.digest.clone(),
            found: artifact.digest.clone(),
        }),
        _ => Ok(()),
    }
}

fn check_imports(artifact: &Artifact) -> Result<(), LoadError> {
    let world = artifact.manifest.world;
    match artifact.imports.iter().find(|import| !is_offered(world, import)) {
        None => Ok(()),
        Some(interface) => Err(LoadError::UnknownInterface {
            plugin: artifact.manifest.name.clone(),
            interface: plain(interface, DESCRIPTION_BYTES_MAX),
            offered: offered(world),
        }),
    }
}

async fn ready_tools(
    engine: &Engine,
    component: &Component,
    manifest: &Manifest,
    digest: &Digest,
) -> Result<Ready, LoadError> {
    let other_world = |source| LoadError::OtherWorld { plugin: manifest.name.clone(), world: manifest.world, source };
    let pre = engine.linkers.tool.instantiate_pre(component).and_then(ToolPre::new).map_err(other_world)?;
    let asked = pre.clone();
    let (lent, limits) = (Lent::nothing(&manifest.name), limits_of(engine, World::Tool));
    let defined = guest::run(engine, limits, lent, definitions_by(), move |store| {
        Box::pin(async move {
            let tool = asked.instantiate_async(&mut *store).await?;
            tool.chancery_tool_tools().call_definitions(store).await
        })
    });
    let wrong = |reason| LoadError::Definitions { plugin: manifest.name.clone(), reason };
    let defined = defined.await.map_err(|ended| wrong(said(&ended, limits)))?;
    same_names(manifest.tools.iter().map(|tool| &tool.name), defined.iter().map(|tool| &tool.name)).map_err(wrong)?;
    let tools = defined.into_iter().map(|definition| ready_tool(manifest, digest, definition));
    let tools = tools.collect::<Result<_, String>>().map_err(wrong)?;
    Ok(Ready::Tool { pre, tools })
}

type WitTool = tool::exports::chancery::tool::tools::Definition;

fn ready_tool(manifest: &Manifest, digest: &Digest, defined: WitTool) -> Result<(String, Arc<ReadyTool>), String> {
    let name = defined.name;
    let entry = manifest.tools.iter().find(|tool| tool.name == name).ok_or_else(|| format!("`{name}` is not in it"))?;
    if defined.description.len() > DESCRIPTION_BYTES_MAX {
        return Err(format!("the description of `{name}` is longer than {DESCRIPTION_BYTES_MAX} bytes"));
    }
    let input = Schema::parse(&defined.input_schema).map_err(|why| format!("the input schema of `{name}`: {why}"))?;
    let output = Schema::parse(&defined.output_schema).map_err(|why| format!("the output schema of `{name}`: {why}"))?;
    if !input.is_of_object() {
        return Err(format!("the input schema of `{name}` is not of type `object`"));
    }
    let spec = ToolSpec {
        name: name.clone(),
        plugin: manifest.name.clone(),
        digest: digest.clone(),
        description: defined.description,
        input_schema: input.value.clone(),
        output_schema: output.value.clone(),
        effect: entry.effect,
        touches: entry.touches(),
        price_key: entry.price_key.clone(),
    };
    Ok((name, Arc::new(ReadyTool { spec: Arc::new(spec), input, output })))
}

async fn ready_models(
    engine: &Engine,
    component: &Component,
    manifest: &Manifest,
    digest: &Digest,
) -> Result<Ready, LoadError> {
    let other_world = |source| LoadError::OtherWorld { plugin: manifest.name.clone(), world: manifest.world, source };
    let pre = engine.linkers.model.instantiate_pre(component).and_then(ModelPre::new).map_err(other_world)?;
    let asked = pre.clone();
    let (lent, limits) = (Lent::nothing(&manifest.name), limits_of(engine, World::Model));
    let defined = guest::run(engine, limits, lent, definitions_by(), move |store| {
        Box::pin(async move {
            let model = asked.instantiate_async(&mut *store).await?;
            model.chancery_model_inference().call_definitions(store).await
        })
    });
    let wrong = |reason| LoadError::Definitions { plugin: manifest.name.clone(), reason };
    let defined = defined.await.map_err(|ended| wrong(said(&ended, limits)))?;
    same_names(manifest.models.iter().map(|model| &model.name), defined.iter().map(|model| &model.name)).map_err(wrong)?;
    let models = defined.into_iter().map(|definition| ready_model(manifest, digest, definition));
    let mut models = models.collect::<Result<Vec<_>, String>>().map_err(wrong)?;
    models.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Ready::Model { pre, models })
}

type WitModel = model::exports::chancery::model::inference::Definition;

fn ready_model(manifest: &Manifest, digest: &Digest, defined: WitModel) -> Result<Arc<ModelSpec>, String> {
    let name = defined.name;
    let entry = manifest.models.iter().find(|model| model.name == name).ok_or_else(|| format!("`{name}` is not in it"))?;
    if defined.output_tokens_max == 0 || defined.output_tokens_max > defined.window_tokens {
        return Err(format!("`{name}` writes between 1 token and its window of {}", defined.window_tokens));
    }
    Ok(Arc::new(ModelSpec {
        name: format!("{}/{name}", manifest.name),
        plugin: manifest.name.clone(),
        digest: digest.clone(),
        window_tokens: defined.window_tokens,
        output_tokens_max: defined.output_tokens_max,
        price_key: entry.price_key.clone(),
    }))
}

/// Whether exactly what the manifest names is defined, each once.
fn same_names<'n>(
    manifest: impl Iterator<Item = &'n String>,
    defined: impl Iterator<Item = &'n String>,
) -> Result<(), String> {
    let wanted: BTreeSet<&String> = manifest.collect();
    let mut found = BTreeSet::new();
    for name in defined {
        if !wanted.contains(name) {
            return Err(format!("it defines `{}`, which the manifest does not name", plain(name, 64)));
        }
        if !found.insert(name) {
            return Err(format!("it defines `{name}` twice"));
        }
    }
    match wanted.difference(&found).next() {
        None => Ok(()),
        Some(name) => Err(format!("the manifest names `{name}`, which it does not define")),
    }
}

fn definitions_by() -> Instant {
    Instant::now() + Duration::from_millis(DEFINITIONS_MS)
}

fn said(ended: &Ended, limits: &Limits) -> String {
    let limits = Limits { wall_ms: DEFINITIONS_MS, ..*limits };
    ended.failure("definitions", &limits).message
}

#[cfg(test)]
mod tests {
    use super::same_names;

    fn compared(manifest: &[&str], defined: &[&str]) -> Result<(), String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        same_names(owned(manifest).iter(), owned(defined).iter())
    }

    #[test]
    fn a_plugin_defines_what_its_manifest_names_no_more_and_no_less() {
        assert_eq!(compared(&["a.b", "a.c"], &["a.c", "a.b"]), Ok(()));
        assert!(compared(&["a.b"], &["a.b", "a.c"]).unwrap_err().contains("`a.c`, which the manifest does not name"));
        assert!(compared(&["a.b", "a.c"], &["a.b"]).unwrap_err().contains("names `a.c`, which it does not define"));
        assert!(compared(&["a.b"], &["a.b", "a.b"]).unwrap_err().contains("twice"));
    }
}
