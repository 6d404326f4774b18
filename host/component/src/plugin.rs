//! A plugin made ready: compiled, linked, asked what it offers, and checked against its manifest and its grant.
//!
//! Everything that can be known to be wrong is found here, at the start, with a line an operator can act on;
//! a call then only instantiates.

use crate::artifact::Artifact;
use crate::compile::CompileError;
use crate::engine::Engine;
use crate::limits::Limits;
use crate::link::{is_offered, offered};
use crate::load_error::LoadError;
use crate::log::plain;
use crate::manifest::{Manifest, World};
use crate::offer::{Ready, ready_guard, ready_models, ready_tools};
use crate::plain::ready_plain;
use event::{Digest, Directory, Handle, PluginGranted, Route};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Longest name of an interface in an error.
const INTERFACE_BYTES_MAX: usize = 200;

/// A plugin that can be called.
pub struct Loaded {
    manifest: Manifest,
    digest: Digest,
    pub(crate) routes: Arc<[Route]>,
    pub(crate) settings: Arc<BTreeMap<String, Value>>,
    pub(crate) directories: Arc<[Directory]>,
    handles: Vec<Handle>,
    pub(crate) ready: Ready,
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
        let artifact = Artifact::read_beside(bytes, path)
            .map_err(|source| LoadError::NotAPlugin { path: named, source })?;
        let grant = grants.get(&artifact.manifest.name);
        Self::of(engine, artifact, grant).await
    }

    /// Whether loading it again with this grant would make the same.
    pub(crate) fn is(&self, artifact: &Artifact, grant: Option<&PluginGranted>) -> bool {
        let (routes, settings) = (grant.map(|grant| &grant.routes), grant.map(|grant| &grant.settings));
        let directories = grant.map(|grant| &grant.directories);
        let handles = grant.map(|grant| grant.handles.as_slice()).unwrap_or_default();
        self.digest == artifact.digest
            && *self.routes == *routes.map(Vec::as_slice).unwrap_or_default()
            && *self.directories == *directories.map(Vec::as_slice).unwrap_or_default()
            && self.handles == handles
            && settings.map_or_else(|| self.settings.is_empty(), |settings| *self.settings == *settings)
    }

    pub(crate) async fn of(
        engine: &Engine,
        artifact: Artifact,
        grant: Option<&PluginGranted>,
    ) -> Result<Self, LoadError> {
        check_grant(&artifact, grant)?;
        check_imports(&artifact)?;
        let Artifact { digest, manifest, bytes, .. } = artifact;
        let compiled = engine.compile(bytes, &digest).await;
        let component = compiled.map_err(|source| {
            let plugin = manifest.name.clone();
            match source {
                CompileError::Unfit(_) => LoadError::Compile { plugin, source },
                CompileError::TooMuch { wall_s, memory_mib } => {
                    LoadError::TooCostly { plugin, wall_s, memory_mib }
                }
                CompileError::Process(_) => LoadError::NotCompiled { plugin, source },
            }
        })?;
        let ready = match manifest.world {
            World::Tool => ready_tools(engine, &component, &manifest, &digest).await?,
            World::Plain => ready_plain(engine, &component, &manifest, &digest)?,
            World::Model => ready_models(engine, &component, &manifest, &digest).await?,
            World::Guard => ready_guard(engine, &component, &manifest, &digest).await?,
        };
        let routes = grant.map(|grant| grant.routes.as_slice()).unwrap_or_default().into();
        let directories = grant.map(|grant| grant.directories.as_slice()).unwrap_or_default().into();
        let settings = Arc::new(grant.map(|grant| grant.settings.clone()).unwrap_or_default());
        let handles = grant.map(|grant| grant.handles.clone()).unwrap_or_default();
        Ok(Self { manifest, digest, routes, settings, directories, handles, ready })
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

    /// What of the office a call of `tool` is given: what that tool asks for and the grant holds.
    #[must_use]
    pub fn handles(&self, tool: &str) -> Vec<Handle> {
        let entry = self.manifest.tools.iter().find(|entry| entry.name == tool);
        let asked = entry.map(|entry| entry.handles.as_slice()).unwrap_or_default();
        asked.iter().copied().filter(|handle| self.handles.contains(handle)).collect()
    }

    /// The limits its calls are under.
    pub(crate) fn limits<'e>(&self, engine: &'e Engine) -> &'e Limits {
        engine.limits(self.manifest.world)
    }
}

fn check_grant(artifact: &Artifact, grant: Option<&PluginGranted>) -> Result<(), LoadError> {
    match grant {
        Some(grant) if grant.digest != artifact.digest => Err(LoadError::OtherDigest {
            plugin: artifact.manifest.name.clone(),
            granted: grant.digest.clone(),
            found: artifact.digest.clone(),
        }),
        Some(grant) if artifact.manifest.world == World::Guard => check_guards_grant(grant),
        Some(grant) => {
            check_handles(&artifact.manifest, grant).and_then(|()| check_folders(&artifact.manifest, grant))
        }
        None => Ok(()),
    }
}

/// Of the office only that is granted which was asked for, and then no way out beside it.
fn check_handles(manifest: &Manifest, grant: &PluginGranted) -> Result<(), LoadError> {
    let (plugin, asked) = (manifest.name.clone(), manifest.handles());
    match grant.handles.iter().find(|granted| !asked.contains(granted)) {
        Some(handle) => Err(LoadError::HandleNotAsked { plugin, handle: handle.word() }),
        None if !asked.is_empty() && !grant.routes.is_empty() => Err(LoadError::HandlesAndRoute { plugin }),
        None => Ok(()),
    }
}

/// A folder is granted only when it was asked for, with no more rights than that.
fn check_folders(manifest: &Manifest, grant: &PluginGranted) -> Result<(), LoadError> {
    let asked = |granted: &Directory| {
        manifest.directories.iter().any(|asked| asked.at == granted.at && (asked.write || !granted.write))
    };
    match grant.directories.iter().find(|granted| !asked(granted)) {
        None => Ok(()),
        Some(Directory { at, write, .. }) => Err(LoadError::FolderNotAsked {
            plugin: manifest.name.clone(),
            at: at.clone(),
            rights: if *write { "to be written" } else { "to be read" },
        }),
    }
}

/// A guard reaches nothing and is told nothing but the call.
fn check_guards_grant(grant: &PluginGranted) -> Result<(), LoadError> {
    let given = |what| Err(LoadError::GuardGranted { plugin: grant.plugin.clone(), what });
    match grant {
        PluginGranted { routes, .. } if routes.iter().any(|route| route.credential.is_some()) => {
            given("a route with a credential")
        }
        PluginGranted { routes, .. } if !routes.is_empty() => given("a route"),
        PluginGranted { settings, .. } if !settings.is_empty() => given("settings"),
        PluginGranted { directories, .. } if !directories.is_empty() => given("a folder"),
        PluginGranted { handles, .. } if !handles.is_empty() => given("what is the office's own"),
        _ => Ok(()),
    }
}

fn check_imports(artifact: &Artifact) -> Result<(), LoadError> {
    let world = artifact.manifest.world;
    match artifact.imports.iter().find(|import| !is_offered(world, import)) {
        None => Ok(()),
        Some(interface) if world == World::Guard => Err(LoadError::GuardImports {
            plugin: artifact.manifest.name.clone(),
            interface: plain(interface, INTERFACE_BYTES_MAX),
        }),
        Some(interface) => Err(LoadError::UnknownInterface {
            plugin: artifact.manifest.name.clone(),
            interface: plain(interface, INTERFACE_BYTES_MAX),
            offered: offered(world),
        }),
    }
}
