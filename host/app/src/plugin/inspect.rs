//! `chancery plugin inspect`: what a plugin is, before anybody installs it.
//!
//! Always holds: nothing is installed, stated or granted; what it offers is asked of it in the sandbox, with nothing
//! lent, and `--still` runs nothing of it at all.

use super::fetch;
use super::grant::{Granting, granting};
use super::load;
use super::signature::{Signed, examine};
use super::source::Pinned;
use super::store::Component;
use super::tell;
use crate::config::Config;
use crate::look;
use crate::show::short;
use anyhow::{Context, Result};
use component::{Artifact, Engine, EngineParts, LoadError, Plugins, Pool, Wanted};
use event::{Digest, DirectoryAsked, Handle, PluginInstalled, Route};
use fold::plugin as rules;
use gate::Catalogue;
use gate::policy::offered;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

/// What there is to say of a plugin.
#[derive(Serialize)]
struct Report {
    name: String,
    version: String,
    description: String,
    digest: String,
    size_bytes: usize,
    world: String,
    signature: String,
    offers: Vec<Offer>,
    imports: Vec<String>,
    exports: Vec<String>,
    asks: Vec<Route>,
    /// Folders it asks for, which only a configuration grants.
    asks_folders: Vec<DirectoryAsked>,
    /// What of the office its calls would be given.
    handles: Vec<Handle>,
    /// The documents of GraphQL that its reads send, by digest.
    graphql_reads: Vec<Digest>,
    /// What `plugin grant` without routes would grant.
    would_be_granted: Vec<Route>,
    /// Why it would not load here; nothing when it would.
    trouble: Option<String>,
    /// What is installed here of this name, and what this asks for beyond it.
    here: Option<Value>,
}

/// One tool or model.
#[derive(Serialize)]
struct Offer {
    name: String,
    effect: Option<String>,
    description: Option<String>,
    input_schema: Option<Value>,
    output_schema: Option<Value>,
}

/// Says what the plugin at `pinned` is.
///
/// # Errors
/// When it cannot be had, or is no plugin.
pub async fn inspect(config: Option<&Config>, pinned: &Pinned, still: bool, json: bool) -> Result<ExitCode> {
    let component = match config {
        Some(config) => fetch::component(config, pinned, None).await?,
        None => fetch::file(pinned)?,
    };
    let artifact = &component.artifact;
    let (plugins, trouble) = match still {
        true => (None, None),
        false => match asked(config, artifact).await {
            Ok(plugins) => (Some(plugins), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        },
    };
    let version = PluginInstalled {
        offers: plugins.iter().flat_map(Catalogue::tools).map(|tool| offered(&tool)).collect(),
        source: pinned.source.to_string(),
        asks: artifact.asks(),
        imports: artifact.imports.clone(),
        directories: artifact.directories(),
        handles: artifact.manifest.handles(),
        graphql_reads: artifact.manifest.operations(),
        ..artifact.installed()
    };
    let report = Report {
        name: version.plugin.clone(),
        version: version.version.clone(),
        description: artifact.manifest.description.clone(),
        digest: version.digest.to_string(),
        size_bytes: artifact.bytes().len(),
        world: version.world.clone(),
        signature: signature(config, &component),
        offers: offers(artifact, plugins.as_ref()),
        imports: artifact.imports.clone(),
        exports: artifact.exports.clone(),
        would_be_granted: granting(&version, None, &Granting::whole(String::new()))?.routes,
        here: here(config, &version).await?,
        asks: version.asks,
        asks_folders: version.directories,
        handles: version.handles,
        graphql_reads: version.graphql_reads,
        trouble,
    };
    let is_trouble = report.trouble.is_some();
    let text = match json {
        // A pretty-printed JSON text has line ends of its own making only.
        true => serde_json::to_string_pretty(&report)?
            .lines()
            .map(|line| crate::show::printable_json(line) + "\n")
            .collect(),
        false => told(&report),
    };
    look::pipe_may_end(std::io::stdout().write_all(text.as_bytes()).map_err(Into::into))?;
    Ok(if is_trouble { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Loads it alone, with nothing granted, to hear what it offers. Nothing compiled of it is kept.
async fn asked(config: Option<&Config>, artifact: &Artifact) -> Result<Plugins> {
    let engine = Engine::new(EngineParts {
        pool: Pool::for_small_machine(),
        code_folder: None,
        compiler: load::compiler(config),
    })?;
    let wanted = vec![Wanted { artifact: artifact.clone(), grant: None }];
    let loaded: Result<Plugins, LoadError> = Plugins::of(&engine, wanted).await;
    loaded.context("it does not load")
}

fn signature(config: Option<&Config>, component: &Component) -> String {
    let keys = config.map(|config| config.installs.keys.clone()).unwrap_or_default();
    match examine(&keys, component.artifact.bytes(), component.signature.as_deref()) {
        Signed::Not => "none".to_owned(),
        Signed::By(key) => format!("good, by the trusted key {key}"),
        Signed::Stranger => "by a key that is not trusted here, so it says nothing".to_owned(),
        Signed::Altered => "NOT GOOD: the file is not the one that was signed".to_owned(),
        Signed::Malformed => "NOT GOOD: what stands beside the file is no signature".to_owned(),
    }
}

fn offers(artifact: &Artifact, plugins: Option<&Plugins>) -> Vec<Offer> {
    let tool = |entry: &component::ToolEntry| {
        let spec = plugins.and_then(|plugins| plugins.tool(&entry.name));
        Offer {
            name: entry.name.clone(),
            effect: Some(entry.effect.word().to_owned()),
            description: spec.as_ref().map(|spec| spec.description.clone()),
            input_schema: spec.as_ref().map(|spec| spec.input_schema.clone()),
            output_schema: spec.as_ref().map(|spec| spec.output_schema.clone()),
        }
    };
    let model = |entry: &component::ModelEntry| Offer {
        name: format!("{}/{}", artifact.manifest.name, entry.name),
        effect: None,
        description: None,
        input_schema: None,
        output_schema: None,
    };
    let manifest = &artifact.manifest;
    manifest.tools.iter().map(tool).chain(manifest.models.iter().map(model)).collect()
}

/// What the record has under this name, where there is a record.
async fn here(config: Option<&Config>, version: &PluginInstalled) -> Result<Option<Value>> {
    let Some(config) = config else { return Ok(None) };
    let Some(record) = load::readable(config).await? else { return Ok(None) };
    let Some(one) = load::one_recorded(&record, &version.plugin).await? else { return Ok(None) };
    let more = rules::more(&one.installed, one.granted.as_ref(), version);
    Ok(Some(json!({
        "version": one.installed.version,
        "digest": one.installed.digest.to_string(),
        "routes": one.granted.map(|granted| granted.routes),
        "more": more,
    })))
}

fn told(report: &Report) -> String {
    let mut lines = vec![
        format!("{} {}: {}", report.name, report.version, short(&report.description)),
        format!("  digest     sha256:{}", report.digest),
        format!("  size       {}", tell::size(report.size_bytes)),
        format!("  world      {}: {}", report.world, tell::world(&report.world)),
        format!("  signature  {}", report.signature),
    ];
    if let Some(trouble) = &report.trouble {
        lines.push(format!("\nIt would not load here: {}", short(trouble)));
    }
    if !report.offers.is_empty() {
        lines.push("\nWhat it offers (the plugin's own words after each name)".to_owned());
    }
    report.offers.iter().for_each(|offer| lines.extend(offer_told(offer)));
    lines.push("\nWhat it asks for".to_owned());
    lines.extend(ways(&report.asks, "no way out: it reaches nothing"));
    let folder = |asked| {
        format!("  to {}, which `[[plugin.directory]]` would lend", short(&rules::told_directory(asked)))
    };
    lines.extend(report.asks_folders.iter().map(folder));
    lines.extend(report.handles.iter().map(|handle| format!("  to {}", rules::told_handle(*handle))));
    if !report.graphql_reads.is_empty() {
        lines.push(format!(
            "  its reads send {} documents of GraphQL, and no other",
            report.graphql_reads.len()
        ));
    }
    lines.push("\nWhat `chancery plugin grant` would grant it, unless you name less".to_owned());
    lines.extend(ways(&report.would_be_granted, "nothing to reach"));
    lines.extend(report.handles.iter().map(|handle| format!("  the handle `{}`", handle.word())));
    for route in report.asks.iter().filter(|route| rules::names_no_origin(route)) {
        lines.push(format!("  and each site that you name with {}", rules::to_name(route)));
    }
    lines.push("\nWhat it is built on; nothing of this reaches anything before it is granted".to_owned());
    lines.extend(interfaces(&report.imports));
    if report.imports.is_empty() {
        lines.push("  nothing".to_owned());
    }
    lines.push(format!("\nWhat it exports\n  {}", short(&report.exports.join(", "))));
    if let Some(here) = &report.here {
        lines.extend(here_told(here));
    }
    lines.join("\n") + "\n"
}

/// A line for each package, since whoever reads this asks what it lends and not how it is divided.
fn interfaces(imports: &[String]) -> Vec<String> {
    let mut packages: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for import in imports {
        let path = import.split('@').next().unwrap_or(import);
        let shown = if path.starts_with("wasi:") { path.split('/').next().unwrap_or(path) } else { path };
        *packages.entry((shown, tell::interface(import))).or_default() += 1;
    }
    let line = |((shown, about), count): ((&str, &str), usize)| {
        let count = if count > 1 { format!(" ({count})") } else { String::new() };
        format!("  {:<30} {about}", format!("{}{count}", short(shown)))
    };
    packages.into_iter().map(line).collect()
}

fn offer_told(offer: &Offer) -> Vec<String> {
    let effect = offer.effect.as_deref().map_or("a model", tell::effect);
    let mut lines = vec![format!("  {:<22} {effect}", offer.name)];
    lines.extend(offer.description.as_ref().map(|about| format!("    \"{}\"", short(about))));
    for (word, schema) in [("takes", &offer.input_schema), ("gives", &offer.output_schema)] {
        let fields = schema.as_ref().map(tell::fields).unwrap_or_default();
        lines.extend(fields.into_iter().map(|field| format!("    {word}  {field}")));
    }
    lines
}

fn ways(routes: &[Route], none: &str) -> Vec<String> {
    if routes.is_empty() {
        return vec![format!("  {none}")];
    }
    routes.iter().map(|route| format!("  {}", short(&rules::told(route)))).collect()
}

fn here_told(here: &Value) -> Vec<String> {
    let text = |key: &str| here.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut lines = vec![format!("\nHere {} is installed, {}", text("version"), text("digest"))];
    let more = here.get("more").and_then(Value::as_array).cloned().unwrap_or_default();
    match more.is_empty() {
        true => lines.push("  this one asks for nothing more, and would take its place at once".to_owned()),
        false => lines.push("  this one would wait to be granted:".to_owned()),
    }
    lines.extend(more.iter().filter_map(Value::as_str).map(|one| format!("  - {}", short(one))));
    lines
}
