//! The configuration as facts: what is in force stands in the record, and a file is only where it came from.
//!
//! Each start compares what the files say with what the record says, and appends what differs, in one commit. Seats
//! are another matter: they are read once ([`first`]).

pub mod first;

use crate::config::{Config, DirectoryConfig, PluginConfig, RouteConfig};
use anyhow::{Context, Result, bail};
use event::{
    Actor, Digest, Directory, EventId, Expected, Fact, Label, PluginGranted, PrincipalId, Proposed, Route,
    RoutePath, StreamName,
};
use fold::{decode, setting};
use record::{Append, Decided, Record, RowKey, Rows};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

/// The largest policy or price file, in bytes: far above any that people wrote, far below what hurts.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The methods that a route may name: those of RFC 9110 and RFC 5789 that carry a request to an address.
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// One thing that should be in force: the key of its row, the stream its facts stand on, and the fact.
pub struct Wanted {
    /// Key in the projection `setting`.
    pub key: String,
    /// The stream.
    pub stream: StreamName,
    /// What should be in force.
    pub fact: Fact,
}

impl Wanted {
    /// `fact` under `key`, told on the stream `category-name`.
    pub fn new(key: String, category: &str, name: &str, fact: impl Into<Fact>) -> Self {
        Self { key, stream: StreamName::new(category, name), fact: fact.into() }
    }
}

/// Appends every wanted fact that is not in force already; says how many that were.
///
/// # Errors
/// When the record cannot be used.
pub async fn put_in_force(record: &Record, wanted: Vec<Wanted>) -> Result<usize> {
    let keys = wanted.iter().flat_map(|want| [Some(want.key.clone()), ungranted(&want.fact)]).flatten();
    let reads = keys.map(|key| RowKey::new("setting", key)).collect();
    let mut named = Vec::new();
    for want in wanted {
        named.push((fresh_event_id()?, want));
    }
    let decided = record
        .decide(reads, move |rows, _| {
            let appends: Vec<Append> = named
                .into_iter()
                .filter(|(_, want)| !stands(rows, want))
                .map(|(id, want)| append(id, want))
                .collect();
            let count = appends.len();
            Ok::<_, Infallible>((appends, count))
        })
        .await
        .context("the settings could not be put on the record")?;
    match decided {
        Decided::Appended { value, .. } => Ok(value),
        Decided::Rejected(never) => match never {},
    }
}

/// The row that says that a grant was taken back, and so is not given again by a start.
fn ungranted(fact: &Fact) -> Option<String> {
    match fact {
        Fact::PluginGranted(granted) => Some(setting::ungranted(&granted.plugin)),
        _ => None,
    }
}

/// Whether what is wanted is in force, or is not to be put in force by a start.
fn stands(rows: &Rows, want: &Wanted) -> bool {
    let row = rows.get("setting", &want.key);
    match &want.fact {
        // The record's set stands, whatever a folder says.
        Fact::PolicyApplied(_) => row.is_some(),
        Fact::PluginGranted(granted) => {
            let before: Option<PluginGranted> = decode(row);
            // Why it was granted is no difference.
            let same =
                before.is_some_and(|before| PluginGranted { reason: String::new(), ..before } == *granted);
            same || rows.get("setting", &setting::ungranted(&granted.plugin)).is_some()
        }
        fact => row.map(|row| row.value.as_ref()) == Some(&fact.body()),
    }
}

fn append(id: EventId, want: Wanted) -> Append {
    append_of(id, host(), want.stream, want.fact)
}

/// One fact of `actor` for one stream.
pub(crate) fn append_of(id: EventId, actor: Actor, stream: StreamName, fact: Fact) -> Append {
    let event = Proposed { id, actor, cause: None, label: Label::host(), fact };
    Append::new(stream, Expected::Any, vec![event])
}

/// The host as an actor.
#[must_use]
pub fn host() -> Actor {
    Actor { principal: PrincipalId::host(), seat: None }
}

/// A new event id from the system's entropy.
///
/// # Errors
/// When the system gives no randomness.
pub fn fresh_event_id() -> Result<EventId> {
    let mut entropy = [0_u8; 10];
    getrandom::fill(&mut entropy).context("the system gives no randomness")?;
    Ok(EventId::mint(record::Clock::now(&record::SystemClock), entropy))
}

/// What the operator grants each configured plugin, by name; `digests` are those of the files on disk.
///
/// # Errors
/// When a setting is not JSON or a settings file cannot be read.
pub fn grants(
    config: &Config,
    digests: &BTreeMap<String, Digest>,
) -> Result<BTreeMap<String, PluginGranted>> {
    let mut grants = BTreeMap::new();
    // One whose component was revoked has no file here, and gets nothing.
    for plugin in config.plugins.iter().filter(|plugin| digests.contains_key(&plugin.name)) {
        let mut settings = BTreeMap::new();
        for (key, value) in &plugin.settings {
            let json = serde_json::to_value(value).with_context(|| {
                format!("setting `{key}` of the plugin `{}` cannot be written as JSON", plugin.name)
            })?;
            settings.insert(key.clone(), json);
        }
        for (key, path) in &plugin.settings_from {
            settings.insert(key.clone(), serde_json::Value::String(read_text(path)?));
        }
        let routes = plugin
            .routes
            .iter()
            .map(|one| route(one).with_context(|| format!("a route of the plugin `{}`", plugin.name)));
        let routes = routes.collect::<Result<Vec<Route>>>()?;
        let digest = digests
            .get(&plugin.name)
            .cloned()
            .with_context(|| format!("the plugin `{}` has no file", plugin.name))?;
        let reason = String::new();
        let granted = PluginGranted {
            plugin: plugin.name.clone(),
            digest,
            routes,
            settings,
            directories: directories(plugin)?,
            handles: plugin.handles.clone(),
            reason,
        };
        grants.insert(plugin.name.clone(), granted);
    }
    Ok(grants)
}

/// The granted folders. One that is not there, or has no absolute path, stops the start.
fn directories(plugin: &PluginConfig) -> Result<Vec<Directory>> {
    let one = |directory: &DirectoryConfig| {
        let (at, path) = (directory.at.clone(), &directory.path);
        let real = path.canonicalize().ok().filter(|path| path.is_dir());
        let real = real.and_then(|path| path.to_str().map(ToOwned::to_owned)).with_context(|| {
            format!("the plugin `{}` is granted `{}`, which is no folder here", plugin.name, path.display())
        })?;
        Ok(Directory { at, path: real, write: directory.write })
    };
    plugin.directories.iter().map(one).collect()
}

/// One granted route. What no request could ever go by is a slip of the pen, and stops the start.
pub(crate) fn route(config: &RouteConfig) -> Result<Route> {
    let methods: Vec<String> = config.methods.iter().map(|method| method.to_uppercase()).collect();
    let unknown = methods.iter().find(|method| !METHODS.contains(&method.as_str()));
    if let Some(method) = unknown {
        bail!("`{}` is not a method; name some of {}", method.escape_debug(), METHODS.join(", "));
    }
    if methods.is_empty() {
        bail!("it has no `methods`: name some of {}", METHODS.join(", "));
    }
    let origin = config.origin.trim_end_matches('/');
    egress::Origin::parse(origin).with_context(|| format!("`origin = {:?}`", config.origin))?;
    let path = match (&config.path, &config.path_prefix) {
        (Some(_), Some(_)) => bail!("it has `path` and `path_prefix`: say one of them"),
        (Some(whole), None) => RoutePath::Whole(whole.clone()),
        (None, Some(prefix)) => RoutePath::Below(prefix.clone()),
        (None, None) => RoutePath::every(),
    };
    if let Err(wrong) = path.check() {
        bail!("the path `{}` is none that a request could go by: one {wrong}", path.text().escape_debug());
    }
    Ok(Route { methods, origin: origin.to_owned(), path, credential: config.credential.clone() })
}

/// The text of a file of at most [`FILE_BYTES_MAX`] bytes.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let size = std::fs::metadata(path).with_context(|| format!("cannot read `{}`", path.display()))?.len();
    if size > FILE_BYTES_MAX {
        bail!("`{}` is {size} bytes; the limit is {FILE_BYTES_MAX}", path.display());
    }
    std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::route;
    use crate::config::RouteConfig;

    fn config(method: &str, origin: &str, path_prefix: &str) -> RouteConfig {
        let methods = method.split('|').filter(|method| !method.is_empty()).map(str::to_owned).collect();
        RouteConfig {
            methods,
            origin: origin.to_owned(),
            path: None,
            path_prefix: Some(path_prefix.to_owned()),
            credential: None,
        }
    }

    #[test]
    fn a_route_is_kept_in_the_form_that_requests_are_matched_with() {
        let route = route(&config("get|Post", "https://a.example/", "/api/")).unwrap();
        assert_eq!(
            (route.methods, route.origin.as_str()),
            (vec!["GET".into(), "POST".into()], "https://a.example")
        );
    }

    #[test]
    fn a_route_that_no_request_could_go_by_is_no_route() {
        for (method, origin, path) in [
            ("*", "https://a.example", "/"),
            ("GET\r\nX: y", "https://a.example", "/"),
            ("", "https://a.example", "/"),
            ("CONNECT", "https://a.example", "/"),
            ("GET", "*", "/"),
            ("GET", "https://*.a.example", "/"),
            ("GET", "http://127.0.0.1:*", "/"),
            ("GET", "https://user@a.example", "/"),
            ("GET", "javascript:alert(1)", "/"),
            ("GET", "https://a.example/v1", "/"),
            ("GET", "https://a.example", "api"),
            ("GET", "https://a.example", ""),
        ] {
            let error = route(&config(method, origin, path)).unwrap_err();
            assert!(!format!("{error:#}").contains('\n'), "{error:#}");
        }
    }
}
