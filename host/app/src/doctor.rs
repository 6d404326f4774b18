//! What is missing or risky before the office starts: each finding says what to do.

use crate::config::Config;
use crate::seed::first;
use crate::wire;
use anyhow::Result;
use gate::Catalogue;
use record::JournalHead;
use std::path::Path;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// As it should be.
    Good,
    /// The office starts, and somebody should look.
    Warning,
    /// The office would not start, or would not work.
    Fatal,
}

/// One finding.
pub struct Finding {
    /// How much it weighs.
    pub weight: Weight,
    /// What was looked at.
    pub part: &'static str,
    /// What was found.
    pub text: String,
}

impl Finding {
    /// It as a line: `ok`, `warn` or `NOT`, what was looked at, and what was found.
    #[must_use]
    pub fn line(&self) -> String {
        let word = match self.weight {
            Weight::Good => "ok",
            Weight::Warning => "warn",
            Weight::Fatal => "NOT",
        };
        format!("{word:<4}  {:<14} {}", self.part, self.text)
    }
}

/// Prints findings; whether none of them is fatal.
#[must_use]
pub fn told(findings: &[Finding]) -> bool {
    findings.iter().for_each(|finding| println!("{}", finding.line()));
    findings.iter().all(|finding| finding.weight != Weight::Fatal)
}

fn good(part: &'static str, text: impl Into<String>) -> Finding {
    Finding { weight: Weight::Good, part, text: text.into() }
}

fn warning(part: &'static str, text: impl Into<String>) -> Finding {
    Finding { weight: Weight::Warning, part, text: text.into() }
}

fn fatal(part: &'static str, text: impl Into<String>) -> Finding {
    Finding { weight: Weight::Fatal, part, text: text.into() }
}

fn of(part: &'static str, outcome: Result<String>) -> Finding {
    match outcome {
        Ok(text) => good(part, text),
        Err(error) => fatal(part, format!("{error:#}").replace('\n', " ")),
    }
}

/// Looks at everything `serve` will need. Writes nothing but the compiled guests in the cache.
pub async fn examine(path: &Path, environment: impl IntoIterator<Item = (String, String)>) -> Vec<Finding> {
    let config = match Config::read(path, environment) {
        Ok(config) => config,
        Err(error) => return vec![of("configuration", Err(error))],
    };
    let mut findings = vec![good("configuration", format!("{} is well formed", path.display()))];
    findings.push(of("record", config.record.examine().await));
    if let Some(finding) = journal(&config).await {
        findings.push(finding);
    }
    findings.extend(slack(&config));
    findings.extend(credentials(&config));
    findings.extend(loopback(&config));
    findings.extend(config.telemetry.as_ref().map(|traces| {
        of(
            "telemetry",
            traces.url().map(|url| format!("traces of turns go to {url}; no words of anybody do")),
        )
    }));
    findings.push(of("purse", config.budgets().map(|set| format!("{} budgets are set", set.len()))));
    findings.extend(seats(&config).await);
    match wire::install(&config).await {
        Ok(installed) => {
            findings.extend(models(&config, &installed.plugins));
            findings.extend(unheld_grants(&config, &installed.plugins));
            findings.push(good("plugins", format!("{} load", installed.artifacts.len())));
            findings.push(of("policies", crate::policy::examine(&config, &installed).await));
        }
        Err(error) => findings.push(of("plugins", Err(error))),
    }
    findings.push(of(
        "prices",
        crate::purse::prices(&config.prices).map(|_| "the price list is well formed".to_owned()),
    ));
    findings
}

/// The seats: those of the file, and how those on the record stand.
async fn seats(config: &Config) -> Vec<Finding> {
    let mut findings = vec![of(
        "seats",
        first::seats(config).map(|seats| format!("{} of the configuration are well formed", seats.len())),
    )];
    // That there is no record to read, or why not, is told as the record's.
    let Ok(record) = config.record.open_read_only().await else { return findings };
    let warnings = async {
        let mut warnings = Vec::new();
        if first::is_open(&record).await? {
            first::front_desk(config, &record).await?;
        }
        for (seat, waits) in crate::seat::waits_for_nobody(&record).await? {
            warnings.push(format!(
                "nobody works for `{seat}`, and what waits for it is about {waits} {}: chancery seat hold {seat} agent_…, \
                 or name a seat that stands in for it",
                if waits == 1 { "topic" } else { "topics" }
            ));
        }
        warnings.extend(first::differences(config, &record).await?);
        Ok(warnings)
    };
    match warnings.await {
        Ok(warnings) => {
            findings.extend(warnings.into_iter().map(|text| warning("seats", text)));
        }
        Err(error) => findings.push(of("seats", Err(error))),
    }
    findings
}

/// The journal: whether it is this record's, and how far it is.
async fn journal(config: &Config) -> Option<Finding> {
    let journal = config.journal.as_ref()?;
    let looked = async {
        journal.remote()?;
        let Ok(record) = config.record.open_read_only().await else {
            return Ok(good("journal", format!("`{}` begins with the record", journal.folder.display())));
        };
        let head = match JournalHead::read(&journal.folder) {
            Ok(head) => head.global_position,
            // `serve` makes the folder.
            Err(_) if !journal.folder.exists() => return Ok(good("journal", "it begins at the next start")),
            Err(error) => return Err(error.into()),
        };
        let (end, _) = record.head().await?;
        let folder = journal.folder.display();
        Ok(match end.0.saturating_sub(head.0) {
            0 => good("journal", format!("`{folder}` ends where the record ends")),
            behind => warning(
                "journal",
                format!("`{folder}` is {behind} events behind the record; `serve` brings it to the end"),
            ),
        })
    };
    Some(looked.await.unwrap_or_else(|error| of("journal", Err(error))))
}

/// How Slack reaches the office, and what it needs for that.
fn slack(config: &Config) -> Vec<Finding> {
    let Some(slack) = &config.slack else {
        return vec![warning("slack", "no [slack] section: `chat` works, `serve` takes no Slack events")];
    };
    let mut findings = vec![match wire::signing_keys(config) {
        Ok(Some(_)) => good("slack", "the signing secrets are there"),
        Ok(None) => good("slack", "no signing secrets: there is no `/slack/events`, and a socket needs none"),
        Err(error) => of("slack", Err(error)),
    }];
    let vault = wire::vault(config);
    let tokens: Vec<String> =
        config.sockets().iter().map(|app| crate::socket::token_of(app.as_deref())).collect();
    let mut needs: Vec<(&str, &str)> = tokens
        .iter()
        .map(|token| {
            (token.as_str(), "`socket = true` opens connections with it: the app-level token, xapp-…")
        })
        .collect();
    if slack.install.is_some() {
        let secret = crate::workspaces::CLIENT_SECRET;
        needs.push((secret, "`[slack.install]` exchanges codes with it: the Client Secret of the app"));
    } else if crate::workspaces::others(&vault).is_empty() {
        needs.push((crate::workspaces::TOKEN, "every call goes with it: the bot token, xoxb-…"));
    }
    for (reference, why) in needs.into_iter().filter(|(reference, _)| !vault.has(reference)) {
        findings.push(fatal("slack", format!("`{reference}` is not in `[credentials]`, and {why}")));
    }
    findings
}

fn credentials(config: &Config) -> Vec<Finding> {
    let vault = wire::vault(config);
    let mut findings: Vec<Finding> = vault
        .references()
        .map(|reference| match vault.get(reference) {
            Ok(_) => good("credential", format!("`{reference}` is there")),
            Err(error) => fatal("credential", error.to_string()),
        })
        .collect();
    findings.extend(kept(&vault));
    for plugin in &config.plugins {
        for reference in plugin.routes.iter().filter_map(|route| route.credential.as_deref()) {
            // Where it is installed over Slack's pages, or is in other workspaces, it may have none of this name.
            let elsewhere = reference == crate::workspaces::TOKEN
                && (installable(config) || !crate::workspaces::others(&vault).is_empty());
            if !elsewhere && !vault.has(reference) {
                let text = format!(
                    "a route of the plugin `{}` names `{reference}`, and `[credentials]` has no such entry",
                    plugin.name
                );
                findings.push(fatal("credential", text));
            }
        }
    }
    findings
}

/// The tokens that services gave to the office.
fn kept(vault: &vault::Vault) -> Vec<Finding> {
    let unsealed = vault.unsealed();
    let one = |reference: String| match vault.get(&reference) {
        Err(error) => of("token", Err(error.into())),
        Ok(_) if unsealed.contains(&reference) => warning(
            "token",
            format!("`{reference}` is kept and not sealed; the next start of `serve` seals it"),
        ),
        Ok(_) => good("token", format!("`{reference}` is kept, sealed")),
    };
    vault.kept().into_iter().map(one).collect()
}

fn installable(config: &Config) -> bool {
    config.slack.as_ref().is_some_and(|slack| slack.install.is_some())
}

fn loopback(config: &Config) -> Vec<Finding> {
    let warn = |origin: &String| {
        warning(
            "egress",
            format!(
                "guests may reach {origin} on this machine: take it off `[egress] loopback` if nothing needs it"
            ),
        )
    };
    config.egress.loopback.iter().map(warn).collect()
}

/// Whether the models that are named are there.
fn models(config: &Config, plugins: &component::Plugins) -> Vec<Finding> {
    let one = |(setting, name): (String, &str)| {
        let there = plugins.models().iter().any(|model| model.name == *name);
        anyhow::ensure!(there, "{setting} is `{name}`, and no configured plugin offers that model");
        Ok(format!("`{name}` is offered"))
    };
    config.models_named().map(|named| of("model", one(named))).collect()
}

/// Grants that no tool and no model answers to: they are harmless, and mostly a slip of the pen.
fn unheld_grants(config: &Config, plugins: &component::Plugins) -> Vec<Finding> {
    let tools = plugins.tools().into_iter().map(|tool| tool.name.clone());
    let names: Vec<String> =
        tools.chain(plugins.models().into_iter().map(|model| model.name.clone())).collect();
    let covers = |grant: &String| {
        grant.starts_with("record:") || names.iter().any(|name| fold::seat::gives(grant, name))
    };
    let warn = |seat: &str, grant: &String| {
        warning(
            "seats",
            format!("the grant `{grant}` of `{seat}` names nothing that a configured plugin offers"),
        )
    };
    let seats = config.seats.iter();
    seats
        .flat_map(|seat| {
            seat.grants.iter().filter(|grant| !covers(grant)).map(|grant| warn(&seat.name, grant))
        })
        .collect()
}
