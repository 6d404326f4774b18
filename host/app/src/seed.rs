//! The configuration as facts: what is in force stands in the record, and a file is only where it came from.
//!
//! Each start compares what the files say with what the record says, and appends what differs, in one commit.

use crate::config::{Config, RouteConfig};
use anyhow::{Context, Result, bail};
use event::{
    Actor, BudgetSet, Digest, EventId, Expected, Fact, Label, NanoUsd, Period, PluginGranted, PolicyApplied,
    PolicyText, Price, PricesListed, PrincipalId, Proposed, Route, SeatCreated, SeatHeld, SeatId, StreamName,
};
use fold::setting;
use record::{Append, Decided, Record, RowKey};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

/// The largest policy or price file, in bytes: far above any that people wrote, far below what hurts.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The methods that a route may name: those of RFC 9110 and RFC 5789 that carry a request to an address.
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// The budget of the whole office for a day.
pub const BUDGET_DAY: &str = "organisation-day";
/// The budget of the whole office for a month.
pub const BUDGET_MONTH: &str = "organisation-month";

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
    let reads = wanted.iter().map(|want| RowKey::new("setting", &want.key)).collect();
    let mut named = Vec::new();
    for want in wanted {
        named.push((fresh_event_id()?, want));
    }
    let decided = record
        .decide(reads, move |rows, _| {
            let differs = |want: &Wanted| {
                rows.get("setting", &want.key).map(|row| &row.value) != Some(&want.fact.body())
            };
            let appends: Vec<Append> = named
                .into_iter()
                .filter(|(_, want)| differs(want))
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

fn append(id: EventId, want: Wanted) -> Append {
    let event = Proposed { id, actor: host(), cause: None, label: Label::host(), fact: want.fact };
    Append { stream: want.stream, expected: Expected::Any, events: vec![event], fence: None }
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

/// Seats and their holders.
///
/// # Errors
/// When a name is not one.
pub fn seats(config: &Config) -> Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for seat in &config.seats {
        let id = SeatId::parse(&seat.name).with_context(|| format!("[[seat]] `{}`", seat.name))?;
        let created = SeatCreated {
            seat: id.clone(),
            role: seat.role.clone(),
            department: None,
            line: None,
            grants: seat.grants.clone(),
        };
        wanted.push(Wanted::new(setting::seat(&id), "seat", id.as_str(), created));
        if let Some(holder) = &seat.holder {
            let principal =
                PrincipalId::parse(holder).with_context(|| format!("holder of [[seat]] `{}`", seat.name))?;
            let held = SeatHeld { seat: id.clone(), principal };
            wanted.push(Wanted::new(setting::holder(&id), "seat", id.as_str(), held));
        }
    }
    Ok(wanted)
}

/// The budgets.
///
/// # Errors
/// When an amount is not dollars.
pub fn budgets(config: &Config) -> Result<Vec<Wanted>> {
    let both =
        [(BUDGET_DAY, Period::Day, &config.purse.day), (BUDGET_MONTH, Period::Month, &config.purse.month)];
    let mut wanted = Vec::new();
    for (name, period, amount) in both {
        if let Some(text) = amount {
            let limit = NanoUsd::from_dollars(text).with_context(|| {
                format!("`{text}` in `[purse]` is not an amount in dollars, such as \"5.00\"")
            })?;
            let set = BudgetSet { budget: name.to_owned(), period, limit };
            wanted.push(Wanted::new(setting::budget(name), "budget", name, set));
        }
    }
    Ok(wanted)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    price: BTreeMap<String, PriceEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceEntry {
    input_per_mtok: Option<String>,
    cached_input_per_mtok: Option<String>,
    output_per_mtok: Option<String>,
    per_call: Option<String>,
}

/// The price list in `path`: dollars as strings.
///
/// # Errors
/// One line that names the file and the entry.
pub fn prices(path: &Path) -> Result<Wanted> {
    let text = read_text(path)?;
    let file: PriceFile = toml::from_str(&text)
        .map_err(|error| anyhow::anyhow!("{}: {}", path.display(), error.to_string().replace('\n', " ")))?;
    let mut prices = BTreeMap::new();
    for (key, entry) in file.price {
        let dollars = |text: &Option<String>| -> Result<Option<NanoUsd>> {
            let read = |t: &String| {
                NanoUsd::from_dollars(t).with_context(|| {
                    format!("{}: `{t}` of `{key}` is not an amount in dollars", path.display())
                })
            };
            text.as_ref().map(read).transpose()
        };
        let price = Price {
            input_per_mtok: dollars(&entry.input_per_mtok)?,
            cached_input_per_mtok: dollars(&entry.cached_input_per_mtok)?,
            output_per_mtok: dollars(&entry.output_per_mtok)?,
            per_call: dollars(&entry.per_call)?,
        };
        prices.insert(key, price);
    }
    let digest = Digest::of(text.as_bytes());
    Ok(Wanted::new(setting::PRICES.to_owned(), "prices", "office", PricesListed { digest, prices }))
}

/// The policy files in `folder`: every `*.cedar`, in order of name.
///
/// # Errors
/// When the folder cannot be read or holds no policy.
pub fn policy_files(folder: &Path) -> Result<Vec<PolicyText>> {
    let listing = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the policy folder `{}`", folder.display()))?;
    let mut files = Vec::new();
    for entry in listing {
        let path =
            entry.with_context(|| format!("cannot read the policy folder `{}`", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "cedar") {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            files.push(PolicyText { name, text: read_text(&path)? });
        }
    }
    if files.is_empty() {
        bail!("`{}` holds no *.cedar file: without a policy nothing is permitted", folder.display());
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// The policy set as a wanted setting.
#[must_use]
pub fn policy(digest: Digest, files: Vec<PolicyText>) -> Wanted {
    Wanted::new(setting::POLICY.to_owned(), "policy", "office", PolicyApplied { digest, files })
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
    for plugin in &config.plugins {
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
        let granted = PluginGranted { plugin: plugin.name.clone(), digest, routes, settings };
        grants.insert(plugin.name.clone(), granted);
    }
    Ok(grants)
}

/// One granted route. What no request could ever go by is a slip of the pen, and stops the start.
fn route(config: &RouteConfig) -> Result<Route> {
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
    if !config.path_prefix.starts_with('/') {
        bail!("`path_prefix = {:?}` does not start with `/`", config.path_prefix);
    }
    let (path_prefix, credential) = (config.path_prefix.clone(), config.credential.clone());
    Ok(Route { methods, origin: origin.to_owned(), path_prefix, credential })
}

fn read_text(path: &Path) -> Result<String> {
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
            path_prefix: path_prefix.to_owned(),
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
