//! The lock file: what the record says is installed by command, as text to read, keep in a repository, and install from
//! on another machine.
//!
//! Always holds: the record is what counts, and this is written from it; where the two differ, a start and
//! `chancery plugin verify` say so. Deliberately absent: plugins of the configuration, which stands beside it, and
//! settings.

use super::load::Recorded;
use super::store::write;
use crate::config::Config;
use anyhow::{Context, Result, anyhow, ensure};
use event::{Digest, Handle, Route};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The one form there is.
const VERSION: u32 = 1;
/// What a reader of the file is told.
const HEAD: &str = "# What is installed and granted, as `chancery plugin …` wrote it. The record is what counts: change it with those\n\
                    # commands, compare with `chancery plugin verify`, and on another machine `chancery plugin install --locked`\n\
                    # fetches exactly these components.\n";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    version: u32,
    /// The plugins, in order of name.
    #[serde(default, rename = "plugin")]
    pub plugins: Vec<Locked>,
}

/// One plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Its name.
    pub name: String,
    /// Its version, as it states it.
    pub version: String,
    /// SHA-256 of its component.
    pub digest: Digest,
    /// Where it came from.
    pub source: String,
    /// Its world.
    pub world: String,
    /// The key that signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// What it offers; of tools with their effect class.
    pub offers: Vec<String>,
    /// The interfaces it imports.
    pub imports: Vec<String>,
    /// Whether it was granted anything, be it nothing to reach.
    pub granted: bool,
    /// What of the office its calls may be given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handles: Vec<Handle>,
    /// Where it may go.
    #[serde(default, rename = "route", skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

impl Locked {
    fn of(one: &Recorded) -> Self {
        let installed = &one.installed;
        let offered = |name: &String| match installed.offers.iter().find(|tool| tool.name == *name) {
            Some(tool) => format!("{name} ({})", tool.effect),
            None => name.clone(),
        };
        Self {
            name: installed.plugin.clone(),
            version: installed.version.clone(),
            digest: installed.digest.clone(),
            source: installed.source.clone(),
            world: installed.world.clone(),
            signed_by: installed.signed_by.clone(),
            offers: installed.tools.iter().map(offered).collect(),
            imports: installed.imports.clone(),
            granted: one.granted.is_some(),
            handles: one.granted.as_ref().map(|granted| granted.handles.clone()).unwrap_or_default(),
            routes: one.granted.as_ref().map(|granted| granted.routes.clone()).unwrap_or_default(),
        }
    }
}

impl Lock {
    /// What the record says. A component that was revoked is not to be installed anywhere.
    #[must_use]
    pub fn of(recorded: &BTreeMap<String, Recorded>) -> Self {
        let plugins = recorded.values().filter(|one| one.revoked.is_none()).map(Locked::of).collect();
        Self { version: VERSION, plugins }
    }

    /// The file at `path`; nothing when there is none.
    ///
    /// # Errors
    /// When it is no lock file.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let text = crate::seed::read_text(path)?;
        let lock: Self = toml::from_str(&text).map_err(|error| {
            anyhow!("`{}` is no lock file: {}", path.display(), error.message().replace('\n', " "))
        })?;
        ensure!(lock.version == VERSION, "`{}` is of a newer version of chancery", path.display());
        Ok(Some(lock))
    }

    /// Writes the file, unless it says the same already.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        if Self::read(path).ok().flatten().as_ref() == Some(self)
            || (self.plugins.is_empty() && !path.exists())
        {
            return Ok(());
        }
        let text = toml::to_string(self).context("the lock file cannot be written down")?;
        write(path, format!("{HEAD}\n{text}").as_bytes())
    }

    /// Where it differs from the record, a sentence each.
    #[must_use]
    pub fn differences(&self, record: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for locked in &self.plugins {
            match record.plugins.iter().find(|one| one.name == locked.name) {
                None => lines.push(format!("`{}` is in the lock file and not on the record", locked.name)),
                Some(one) if one.digest != locked.digest => lines.push(format!(
                    "`{}` is {} in the lock file and {} on the record",
                    locked.name,
                    locked.digest.short(),
                    one.digest.short()
                )),
                Some(one)
                    if one.routes != locked.routes
                        || one.handles != locked.handles
                        || one.granted != locked.granted =>
                {
                    lines.push(format!("`{}` was granted other things than the lock file says", locked.name));
                }
                Some(one) if one != locked => {
                    lines.push(format!("`{}` is described differently in the lock file", locked.name));
                }
                Some(_) => {}
            }
        }
        let missing =
            record.plugins.iter().filter(|one| self.plugins.iter().all(|locked| locked.name != one.name));
        lines.extend(missing.map(|one| format!("`{}` is on the record and not in the lock file", one.name)));
        lines
    }
}

/// Where the lock file differs from the record; one that is not there differs when something is installed.
///
/// # Errors
/// When it is no lock file.
pub fn differences(config: &Config, recorded: &BTreeMap<String, Recorded>) -> Result<Vec<String>> {
    let lock = Lock::read(&config.installs.lock)?;
    let lock = lock.unwrap_or(Lock { version: VERSION, plugins: Vec::new() });
    Ok(lock.differences(&Lock::of(recorded)))
}
