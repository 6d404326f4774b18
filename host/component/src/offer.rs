//! What a plugin offers: it is asked once, with nothing granted, and held to its manifest.

use crate::bindings::guard::GuardPre;
use crate::bindings::model::ModelPre;
use crate::bindings::recall::BackPre;
use crate::bindings::tool::ToolPre;
use crate::bindings::{model, tool};
use crate::engine::Engine;
use crate::guest::{self, Ended};
use crate::limits::Limits;
use crate::load_error::LoadError;
use crate::log::plain;
use crate::manifest::{Manifest, NAME_BYTES_MAX, ToolEntry, World};
use crate::plain::PlainTool;
use crate::schema::Schema;
use crate::state::{Lent, State};
use event::Digest;
use gate::{GuardSpec, ModelSpec, ToolSpec};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use wasmtime::component::{Component, InstancePre};

/// Longest description of a tool: it stands in every prompt that offers the tool.
pub const DESCRIPTION_BYTES_MAX: usize = 8 * 1024;
/// How long a plugin may take to say what it offers; it has nothing to wait for.
const DEFINITIONS_MS: u64 = 10_000;

/// What a call instantiates, by world.
pub(crate) enum Ready {
    Tool { pre: ToolPre<State>, tools: BTreeMap<String, Arc<ReadyTool>>, recall: Option<BackPre<State>> },
    Plain { pre: InstancePre<State>, tools: BTreeMap<String, Arc<PlainTool>> },
    Model { pre: ModelPre<State>, models: Vec<Arc<ModelSpec>> },
    Guard { pre: GuardPre<State>, spec: Arc<GuardSpec> },
}

impl Ready {
    /// The tools it offers, whatever they are made of.
    pub(crate) fn tools(&self) -> Vec<(&String, &Arc<ReadyTool>)> {
        match self {
            Self::Tool { tools, .. } => tools.iter().collect(),
            Self::Plain { tools, .. } => tools.iter().map(|(name, tool)| (name, &tool.ready)).collect(),
            Self::Model { .. } | Self::Guard { .. } => Vec::new(),
        }
    }
}

/// One tool and its schemas.
pub(crate) struct ReadyTool {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) input: Schema,
    pub(crate) output: Schema,
}

/// Tools, each with its schemas compiled.
pub(crate) async fn ready_tools(
    engine: &Engine,
    component: &Component,
    manifest: &Manifest,
    digest: &Digest,
) -> Result<Ready, LoadError> {
    let other_world =
        |source| LoadError::OtherWorld { plugin: manifest.name.clone(), world: manifest.world, source };
    let instance = engine.linkers.tool.instantiate_pre(component).map_err(other_world)?;
    let recall = match manifest.recalls().then(|| BackPre::new(instance.clone())) {
        None => None,
        Some(Ok(recall)) => Some(recall),
        Some(Err(source)) => return Err(LoadError::NoRecall { plugin: manifest.name.clone(), source }),
    };
    let pre = ToolPre::new(instance).map_err(other_world)?;
    let asked = pre.clone();
    let (lent, limits) = (Lent::nothing(&manifest.name), engine.limits(World::Tool));
    let defined = guest::run(engine, World::Tool, lent, definitions_by(), move |store| {
        Box::pin(async move {
            let tool = asked.instantiate_async(&mut *store).await?;
            tool.chancery_tool_tools().call_definitions(store).await
        })
    });
    let wrong = |reason| LoadError::Definitions { plugin: manifest.name.clone(), reason };
    let defined = defined.await.map_err(|ended| wrong(said(&ended, limits)))?;
    same_names(manifest.tools.iter().map(|tool| &tool.name), defined.iter().map(|tool| &tool.name))
        .map_err(wrong)?;
    let tools = defined.into_iter().map(|definition| ready_tool(manifest, digest, definition));
    let mut tools = tools.collect::<Result<BTreeMap<_, _>, String>>().map_err(wrong)?;
    if recall.is_some() {
        let (name, ready) = ready_recall(manifest, digest).map_err(wrong)?;
        tools.insert(name, ready);
    }
    Ok(Ready::Tool { pre, tools, recall })
}

/// The tool by which the host reads back the plugin's effects: its schemas are the host's own.
fn ready_recall(manifest: &Manifest, digest: &Digest) -> Result<(String, Arc<ReadyTool>), String> {
    let spec = gate::recall_spec(&manifest.name, digest);
    let input = Schema::parse(&spec.input_schema.to_string())?;
    let output = Schema::parse(&spec.output_schema.to_string())?;
    Ok((spec.name.clone(), Arc::new(ReadyTool { spec: Arc::new(spec), input, output })))
}

type WitTool = tool::exports::chancery::tool::tools::Definition;

fn ready_tool(
    manifest: &Manifest,
    digest: &Digest,
    defined: WitTool,
) -> Result<(String, Arc<ReadyTool>), String> {
    let name = defined.name;
    let entry = manifest
        .tools
        .iter()
        .find(|tool| tool.name == name)
        .ok_or_else(|| format!("`{name}` is not in it"))?;
    let ready = of_schemas(
        manifest,
        digest,
        entry,
        defined.description,
        &defined.input_schema,
        &defined.output_schema,
    )?;
    Ok((name, Arc::new(ready)))
}

/// A tool of these schemas.
///
/// # Errors
/// A sentence: what is wrong with its description or a schema.
pub(crate) fn ready_tool_of(
    manifest: &Manifest,
    digest: &Digest,
    entry: &ToolEntry,
    description: String,
    input: &Value,
    output: &Value,
) -> Result<ReadyTool, String> {
    of_schemas(manifest, digest, entry, description, &input.to_string(), &output.to_string())
}

fn of_schemas(
    manifest: &Manifest,
    digest: &Digest,
    entry: &ToolEntry,
    description: String,
    input: &str,
    output: &str,
) -> Result<ReadyTool, String> {
    let name = &entry.name;
    if description.len() > DESCRIPTION_BYTES_MAX {
        return Err(format!("the description of `{name}` is longer than {DESCRIPTION_BYTES_MAX} bytes"));
    }
    let input = Schema::parse(input).map_err(|why| format!("the input schema of `{name}`: {why}"))?;
    let output = Schema::parse(output).map_err(|why| format!("the output schema of `{name}`: {why}"))?;
    if !input.is_of_object() {
        return Err(format!("the input schema of `{name}` is not of type `object`"));
    }
    let spec = ToolSpec {
        name: name.clone(),
        plugin: manifest.name.clone(),
        digest: digest.clone(),
        description,
        input_schema: input.value.clone(),
        output_schema: output.value.clone(),
        effect: entry.effect,
        touches: entry.touches(),
        price_key: entry.price_key.clone(),
        exact: entry.exact,
        recall: entry.recall,
    };
    Ok(ReadyTool { spec: Arc::new(spec), input, output })
}

/// Models, in order of name.
pub(crate) async fn ready_models(
    engine: &Engine,
    component: &Component,
    manifest: &Manifest,
    digest: &Digest,
) -> Result<Ready, LoadError> {
    let other_world =
        |source| LoadError::OtherWorld { plugin: manifest.name.clone(), world: manifest.world, source };
    let pre = engine.linkers.model.instantiate_pre(component).and_then(ModelPre::new).map_err(other_world)?;
    let asked = pre.clone();
    let (lent, limits) = (Lent::nothing(&manifest.name), engine.limits(World::Model));
    let defined = guest::run(engine, World::Model, lent, definitions_by(), move |store| {
        Box::pin(async move {
            let model = asked.instantiate_async(&mut *store).await?;
            model.chancery_model_inference().call_definitions(store).await
        })
    });
    let wrong = |reason| LoadError::Definitions { plugin: manifest.name.clone(), reason };
    let defined = defined.await.map_err(|ended| wrong(said(&ended, limits)))?;
    same_names(manifest.models.iter().map(|model| &model.name), defined.iter().map(|model| &model.name))
        .map_err(wrong)?;
    let models = defined.into_iter().map(|definition| ready_model(manifest, digest, definition));
    let mut models = models.collect::<Result<Vec<_>, String>>().map_err(wrong)?;
    models.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Ready::Model { pre, models })
}

type WitModel = model::exports::chancery::model::inference::Definition;

fn ready_model(manifest: &Manifest, digest: &Digest, defined: WitModel) -> Result<Arc<ModelSpec>, String> {
    let name = defined.name;
    let entry = manifest
        .models
        .iter()
        .find(|model| model.name == name)
        .ok_or_else(|| format!("`{name}` is not in it"))?;
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
        media: entry.media.clone(),
    }))
}

/// A guard. It defines nothing; that it starts at all is tried once, since one that does not would stop every call.
pub(crate) async fn ready_guard(
    engine: &Engine,
    component: &Component,
    manifest: &Manifest,
    digest: &Digest,
) -> Result<Ready, LoadError> {
    let other_world =
        |source| LoadError::OtherWorld { plugin: manifest.name.clone(), world: manifest.world, source };
    let pre = engine.linkers.guard.instantiate_pre(component).and_then(GuardPre::new).map_err(other_world)?;
    let (tried, limits) = (pre.clone(), engine.limits(World::Guard));
    let lent = Lent::nothing(&manifest.name);
    let started = guest::run(engine, World::Guard, lent, definitions_by(), move |store| {
        Box::pin(async move { tried.instantiate_async(store).await.map(|_| ()) })
    });
    started.await.map_err(|ended| {
        let limits = Limits { wall_ms: DEFINITIONS_MS, ..*limits };
        let reason = ended.failure(&manifest.name, &limits).message;
        LoadError::NotStarted { plugin: manifest.name.clone(), reason }
    })?;
    let spec = GuardSpec { name: manifest.name.clone(), digest: digest.clone(), sees: manifest.sees() };
    Ok(Ready::Guard { pre, spec: Arc::new(spec) })
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
            return Err(format!(
                "it defines `{}`, which the manifest does not name",
                plain(name, NAME_BYTES_MAX)
            ));
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
        assert!(
            compared(&["a.b"], &["a.b", "a.c"])
                .unwrap_err()
                .contains("`a.c`, which the manifest does not name")
        );
        assert!(
            compared(&["a.b", "a.c"], &["a.b"])
                .unwrap_err()
                .contains("names `a.c`, which it does not define")
        );
        assert!(compared(&["a.b"], &["a.b", "a.b"]).unwrap_err().contains("twice"));
    }
}
