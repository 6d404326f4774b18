//! Which plugins there are now, and loading them: those that the configuration names, and those that the record says
//! were installed by command.
//!
//! Always holds: of a plugin that was installed by command the record says which component runs and what it was
//! granted, and no file; a component that was revoked is not loaded, whoever names it, and policies may still name its
//! tools; where signatures are required, one without a good one is not loaded. A plugin of the configuration stands
//! before one of the same name on the record.

use super::signature;
use super::store::{Component, Store};
use crate::config::{Config, PluginConfig};
use crate::seed;
use anyhow::{Context, Result, bail};
use component::{Artifact, Compiler, Engine, EngineParts, Plugins, Pool, STARTING_BOUNDS, Wanted};
use event::{ComponentRevoked, Digest, PluginGranted, PluginInstalled, PluginProposed};
use fold::{decode, setting};
use gate::ToolSpec;
use gate::policy::Known;
use record::Record;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The plugins there are, loaded, with what they were granted.
pub struct Installed {
    /// Each file of the configuration, by plugin.
    pub artifacts: BTreeMap<String, Artifact>,
    /// What the configuration grants them, by plugin.
    pub grants: BTreeMap<String, PluginGranted>,
    /// Those that the record says were installed by command, by plugin.
    pub recorded: BTreeMap<String, Recorded>,
    /// The engine they run on.
    pub engine: Arc<Engine>,
    /// The plugins, ready to be called.
    pub plugins: Plugins,
}

/// A plugin as the record has it, when a command installed it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The version in force.
    pub installed: PluginInstalled,
    /// What it was granted, if that grant is for this component.
    pub granted: Option<PluginGranted>,
    /// The version that waits to be granted, if one does.
    pub waiting: Option<PluginProposed>,
    /// Why its component is never run again, if that was said.
    pub revoked: Option<ComponentRevoked>,
}

/// Every plugin that the record says was installed by command, by name.
///
/// # Errors
/// When the record cannot be read.
pub async fn recorded(record: &Record) -> Result<BTreeMap<String, Recorded>> {
    let names: BTreeSet<String> = row(record, setting::PLUGINS).await?.unwrap_or_default();
    let mut all = BTreeMap::new();
    for name in names {
        if let Some(one) = one_recorded(record, &name).await? {
            all.insert(name, one);
        }
    }
    Ok(all)
}

/// One of them; nothing when no command installed it, or it was removed.
///
/// # Errors
/// When the record cannot be read.
pub async fn one_recorded(record: &Record, name: &str) -> Result<Option<Recorded>> {
    let installed: Option<PluginInstalled> = row(record, &setting::plugin(name)).await?;
    let Some(installed) = installed.filter(|installed| !installed.source.is_empty()) else { return Ok(None) };
    let granted: Option<PluginGranted> = row(record, &setting::grant(name)).await?;
    Ok(Some(Recorded {
        granted: granted.filter(|granted| granted.digest == installed.digest),
        waiting: row(record, &setting::waiting(name)).await?,
        revoked: row(record, &setting::revoked_component(&installed.digest)).await?,
        installed,
    }))
}

async fn row<T: DeserializeOwned>(record: &Record, key: &str) -> Result<Option<T>> {
    Ok(decode(record.row("setting", key).await?.as_ref()))
}

/// The record of a configuration for reading; nothing when none was made yet.
///
/// # Errors
/// Why it cannot be read, though it is there.
pub async fn readable(config: &Config) -> Result<Option<Record>> {
    match config.record.open_read_only().await {
        Ok(record) => Ok(Some(record)),
        Err(error) if matches!(error.downcast_ref(), Some(record::Error::NoRecord { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The program that compiles, when this process is one that does.
static COMPILER: OnceLock<PathBuf> = OnceLock::new();

/// Lets components be compiled by a process of `program`, which takes [`component::COMPILE`]. Said once, by `main`: a
/// program of another kind that has this crate, such as a test, compiles in itself and without bounds.
pub fn compile_by(program: PathBuf) {
    // A second word would be the same program.
    let _ = COMPILER.set(program);
}

/// Who compiles under this configuration.
pub(super) fn compiler(config: Option<&Config>) -> Compiler {
    let bounds = config.map_or(STARTING_BOUNDS, |config| config.installs.bounds());
    COMPILER.get().map_or(Compiler::Here, |program| Compiler::Apart { program: program.clone(), bounds })
}

/// An engine under this configuration.
///
/// # Errors
/// When this machine cannot run one, or the folder for compiled code cannot be used.
pub fn engine(config: &Config) -> Result<Arc<Engine>> {
    let code_folder = Some(config.cache_folder());
    Ok(Engine::new(EngineParts {
        pool: Pool::for_small_machine(),
        code_folder,
        compiler: compiler(Some(config)),
    })?)
}

/// Reads, compiles and loads every plugin there is.
///
/// # Errors
/// The first plugin that is missing, is not what its manifest says, is not signed as it must be, or does not load.
pub async fn install(config: &Config, record: Option<&Record>) -> Result<Installed> {
    let (mut found, recorded) = Found::all(config, record, None).await?;
    let wanted = found.wanted();
    let engine = engine(config)?;
    let Found { artifacts, grants, revoked, .. } = found;
    let plugins = Plugins::of(&engine, wanted).await?.with_revoked(revoked);
    Ok(Installed { artifacts, grants, recorded, engine, plugins })
}

/// The plugins as they would be with `instead` in the place of the one called `name`, or without that one.
///
/// # Errors
/// As [`install`].
pub async fn prospect(
    config: &Config,
    record: &Record,
    name: &str,
    instead: Option<Wanted>,
) -> Result<Plugins> {
    let (mut found, _) = Found::all(config, Some(record), Some(name)).await?;
    let mut wanted = found.wanted();
    wanted.extend(instead);
    Ok(Plugins::of(&*engine(config)?, wanted).await?.with_revoked(found.revoked))
}

/// The plugins of a running host as the record has them now. Those of the configuration stay as they were loaded,
/// whatever became of their files, unless their component was revoked.
///
/// # Errors
/// The first plugin that does not load.
pub async fn reload(config: &Config, record: &Record, engine: &Engine, now: &Plugins) -> Result<Plugins> {
    let mut found = Found::default();
    let mut keep = BTreeSet::new();
    for plugin in &config.plugins {
        let Some(loaded) = now.get(&plugin.name) else { continue };
        if !found.is_revoked(record, &plugin.name, loaded.digest()).await? {
            keep.insert(plugin.name.clone());
        }
    }
    let mut recorded = recorded(record).await?;
    recorded.retain(|name, _| config.plugins.iter().all(|plugin| plugin.name != *name));
    let config = config.clone();
    // Reads and hashes whole components.
    let read = tokio::task::spawn_blocking(move || {
        recorded.values().try_for_each(|one| found.of_record(&config, one)).map(|()| found)
    });
    let mut found = read.await.context("the components could not be read")??;
    let wanted = found.wanted();
    let plugins = now.changed(engine, |loaded| keep.contains(&loaded.manifest().name), wanted).await?;
    Ok(plugins.with_revoked(found.revoked))
}

/// The plugins of a running host without those whose component was revoked: for when the others do not load.
///
/// # Errors
/// When the record cannot be read.
pub async fn without_revoked(record: &Record, engine: &Engine, now: &Plugins) -> Result<Plugins> {
    let mut found = Found::default();
    let mut gone = BTreeSet::new();
    for loaded in now.loaded() {
        let name = &loaded.manifest().name;
        if found.is_revoked(record, name, loaded.digest()).await? {
            gone.insert(name.clone());
        }
    }
    let plugins = now.changed(engine, |loaded| !gone.contains(&loaded.manifest().name), Vec::new()).await?;
    Ok(plugins.with_revoked(found.revoked))
}

/// What is to be loaded.
#[derive(Default)]
struct Found {
    artifacts: BTreeMap<String, Artifact>,
    grants: BTreeMap<String, PluginGranted>,
    recorded: Vec<Wanted>,
    revoked: Vec<Arc<ToolSpec>>,
}

impl Found {
    /// All but the one called `except`, and those of the record as they are there.
    async fn all(
        config: &Config,
        record: Option<&Record>,
        except: Option<&str>,
    ) -> Result<(Self, BTreeMap<String, Recorded>)> {
        let mut found = Self::default();
        for plugin in config.plugins.iter().filter(|plugin| Some(plugin.name.as_str()) != except) {
            found.of_configuration(config, record, plugin).await?;
        }
        found.grants = seed::grants(config, &found.digests())?;
        let mut recorded = match record {
            Some(record) => recorded(record).await?,
            None => BTreeMap::new(),
        };
        recorded.retain(|name, _| config.plugins.iter().all(|plugin| plugin.name != *name));
        for one in recorded.values().filter(|one| Some(one.installed.plugin.as_str()) != except) {
            found.of_record(config, one)?;
        }
        Ok((found, recorded))
    }

    fn wanted(&mut self) -> Vec<Wanted> {
        let mut wanted = std::mem::take(&mut self.recorded);
        for (name, artifact) in &self.artifacts {
            wanted.push(Wanted { artifact: artifact.clone(), grant: self.grants.get(name).cloned() });
        }
        wanted
    }

    fn digests(&self) -> BTreeMap<String, Digest> {
        self.artifacts.iter().map(|(name, artifact)| (name.clone(), artifact.digest.clone())).collect()
    }

    async fn of_configuration(
        &mut self,
        config: &Config,
        record: Option<&Record>,
        plugin: &PluginConfig,
    ) -> Result<()> {
        let artifact = artifact(config, &plugin.name, &plugin.file)?;
        let is_revoked = match record {
            Some(record) => self.is_revoked(record, &plugin.name, &artifact.digest).await?,
            None => false,
        };
        if is_revoked {
            return Ok(());
        }
        self.artifacts.insert(plugin.name.clone(), artifact);
        Ok(())
    }

    /// Whether the component was revoked; if so, policies may still name what it offered.
    async fn is_revoked(&mut self, record: &Record, name: &str, digest: &Digest) -> Result<bool> {
        let revoked: Option<ComponentRevoked> = row(record, &setting::revoked_component(digest)).await?;
        let Some(revoked) = revoked else { return Ok(false) };
        not_loaded(name, &revoked);
        let known: Option<PluginInstalled> = row(record, &setting::plugin(name)).await?;
        self.revoked.extend(known.into_iter().flat_map(|installed| Known::of(&[installed]).tools));
        Ok(true)
    }

    fn of_record(&mut self, config: &Config, one: &Recorded) -> Result<()> {
        if let Some(revoked) = &one.revoked {
            not_loaded(&one.installed.plugin, revoked);
            self.revoked.extend(Known::of(std::slice::from_ref(&one.installed)).tools);
            return Ok(());
        }
        let name = &one.installed.plugin;
        let Component { artifact, signature } = Store::of(config).component(name, &one.installed.digest)?;
        let named = format!("the component {} of the plugin `{name}`", artifact.digest.short());
        signature::check(&config.installs, &named, artifact.bytes(), signature.as_deref())?;
        self.recorded.push(Wanted { artifact, grant: one.granted.clone() });
        Ok(())
    }
}

fn not_loaded(plugin: &str, revoked: &ComponentRevoked) {
    tracing::warn!(
        "the component {} of the plugin `{plugin}` was revoked and is not loaded: {}; use another version",
        revoked.digest.short(),
        revoked.reason
    );
}

fn artifact(config: &Config, name: &str, file: &Path) -> Result<Artifact> {
    let bytes = std::fs::read(file).with_context(|| {
        format!("the plugin `{name}` is missing: `{}` cannot be read; build the guests with `cargo xtask guests`, or mend `file`", file.display())
    })?;
    let artifact = Artifact::read_beside(bytes, file)
        .with_context(|| format!("`{}` is not a plugin", file.display()))?;
    // Over the component with its manifest: one that stands beside it must have been signed too.
    let (named, signature) = (format!("`{}`", file.display()), signature::read_beside(file)?);
    signature::check(&config.installs, &named, artifact.bytes(), signature.as_deref())?;
    if artifact.manifest.name != name {
        bail!(
            "`{}` is the plugin `{}`, and the configuration calls it `{name}`",
            file.display(),
            artifact.manifest.name
        );
    }
    Ok(artifact)
}
