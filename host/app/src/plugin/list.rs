//! `chancery plugin list`: every plugin, where it comes from, what it offers and what it may reach.

use super::load::{Installed, Recorded};
use crate::config::Config;
use crate::show::short;
use crate::{look, wire};
use anyhow::Result;
use component::Loaded;
use gate::Catalogue;
use std::io::Write;
use std::process::ExitCode;

/// Prints the plugins.
///
/// # Errors
/// The first plugin that does not load.
pub async fn list(config: &Config) -> Result<ExitCode> {
    let installed = wire::install(config).await?;
    let mut text: String = installed.plugins.loaded().map(|loaded| one(&installed, loaded)).collect();
    for Recorded { installed: version, revoked, .. } in installed.recorded.values() {
        if let Some(revoked) = revoked {
            let (name, why) = (&version.plugin, short(&revoked.reason));
            text.push_str(&format!("{name} {}  {}  {}\n", version.version, version.world, version.digest));
            text.push_str(&format!("  never run again: {why}\n"));
        }
    }
    look::pipe_may_end(std::io::stdout().write_all(text.as_bytes()).map_err(Into::into))
}

fn one(installed: &Installed, loaded: &Loaded) -> String {
    let manifest = loaded.manifest();
    let name = &manifest.name;
    let mut lines =
        vec![format!("{name} {}  {}  {}", manifest.version, manifest.world.word(), loaded.digest())];
    let recorded = installed.recorded.get(name);
    if let Some(one) = recorded {
        lines.push(format!("  from   {}", short(&one.installed.source)));
    }
    for tool in installed.plugins.tools().iter().filter(|tool| tool.plugin == *name) {
        lines.push(format!("  tool   {:<16} {}", tool.name, tool.effect.word()));
    }
    for model in installed.plugins.models().iter().filter(|model| model.plugin == *name) {
        let (window, most) = (model.window_tokens, model.output_tokens_max);
        lines.push(format!("  model  {:<16} {window} tokens, writes {most}", model.name));
    }
    for guard in installed.plugins.guards().iter().filter(|guard| guard.name == *name) {
        lines.push(format!("  guard  sees {}, and may only add a no", guard.sees));
    }
    lines.extend(ways(installed, name, recorded));
    if let Some(waiting) = recorded.and_then(|one| one.waiting.as_ref()) {
        let version = &waiting.version;
        lines.push(format!(
            "  waits  {} {}: {}",
            version.version,
            version.digest.short(),
            short(&waiting.more.join("; "))
        ));
    }
    lines.join("\n") + "\n"
}

fn ways(installed: &Installed, name: &str, recorded: Option<&Recorded>) -> Vec<String> {
    let granted = match recorded {
        Some(one) => one.granted.as_ref(),
        None => installed.grants.get(name),
    };
    let handles = granted.map(|grant| grant.handles.as_slice()).unwrap_or_default();
    if !handles.is_empty() {
        let words: Vec<&str> = handles.iter().map(|handle| handle.word()).collect();
        return vec![format!("  handle {}", words.join(", "))];
    }
    let routes = granted.map(|grant| grant.routes.as_slice()).unwrap_or_default();
    if routes.is_empty() {
        return vec!["  route  none: it reaches nothing".to_owned()];
    }
    let told = |route: &event::Route| {
        let with = route.credential.as_ref().map_or_else(String::new, |name| format!(" with `{name}`"));
        format!("  route  {} {}{}{with}", route.methods.join("/"), route.origin, route.path)
    };
    routes.iter().map(told).collect()
}
