//! `chancery slack`: the manifest of the app as this office needs it, and what is missing at Slack before it can work.
//!
//! One table says which scope is for what; the manifest asks for these and no others, and `doctor` compares them with
//! what the token was granted, by name. Nothing is posted and nobody is looked up.

use crate::config::{Config, PromptConfig, RouteConfig};
use crate::doctor::Weight::{Fatal, Good, Warning};
use crate::doctor::{self, Finding, Weight};
use crate::socket::{Sockets, TOKEN as APP_TOKEN};
use crate::wire;
use crate::workspaces::{self, TOKEN};
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use clap::Subcommand;
use event::{Route, RoutePath};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long Slack may take to say who the token is, in milliseconds.
const ASK_MS_MAX: u64 = 15_000;
/// The longest name of an app, in characters. Source: Slack's manifest reference.
const NAME_CHARS_MAX: usize = 35;

/// Each scope of the bot, and what it is for.
const SCOPES: &[(&str, &str)] = &[
    ("app_mentions:read", "hear who mentions the office"),
    ("channels:history", "hear what is said in public channels it is in"),
    ("groups:history", "hear what is said in private channels it is in"),
    ("im:history", "hear direct messages"),
    ("mpim:history", "hear direct messages of several people"),
    ("reactions:read", "hear the emoji that mute a thread"),
    ("chat:write", "answer"),
    ("reactions:write", "acknowledge with an emoji"),
    ("emoji:read", "know the emoji of the workspace"),
    ("commands", "take the slash command"),
    ("files:read", "read files that came with messages"),
    ("files:write", "give what is longer than a message as a file"),
    ("assistant:write", "suggest what may be asked in a thread of the assistant view, and name the thread"),
];

/// The scopes that the office is installed with.
pub(crate) fn scopes() -> impl Iterator<Item = &'static str> {
    SCOPES.iter().map(|(scope, _)| *scope)
}

/// What the office cannot do with what was granted, a sentence for each scope that is missing.
pub(crate) fn lacking(granted: &BTreeSet<String>) -> impl Iterator<Item = String> {
    let missing = SCOPES.iter().filter(|(scope, _)| !granted.contains(*scope));
    missing.map(|(scope, what)| {
        format!("`{scope}` is missing: the office cannot {what}. Install the app again from its manifest")
    })
}

/// What is delivered, each with the scope above that allows it.
const EVENTS: &[&str] = &[
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "assistant_thread_started",
    "emoji_changed",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "reaction_added",
    "reaction_removed",
    "tokens_revoked",
];

/// The Slack app of this office.
#[derive(Debug, Subcommand)]
pub enum SlackCommand {
    /// Print the app's manifest as JSON: paste it at api.slack.com/apps, "Create New App", "From a manifest".
    Manifest {
        /// Where Slack reaches this office, such as `https://office.example.com`; not needed with a socket.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
    },
    /// Ask Slack who the token is and compare its scopes with the manifest; exits 1 when something is missing.
    Doctor,
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: SlackCommand) -> Result<ExitCode> {
    match command {
        SlackCommand::Manifest { url } => {
            println!("{}", serde_json::to_string_pretty(&manifest(config, url.as_deref())?)?);
            Ok(ExitCode::SUCCESS)
        }
        SlackCommand::Doctor => {
            let findings = examined(config).await?;
            Ok(if doctor::told(&findings) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// The manifest of the app.
///
/// # Errors
/// When it needs an address and has none.
pub fn manifest(config: &Config, url: Option<&str>) -> Result<Value> {
    let socket = config.slack.as_ref().is_some_and(|slack| slack.socket);
    let request = match url {
        Some(url) if url.starts_with("https://") => {
            json!({ "request_url": format!("{}/slack/events", url.trim_end_matches('/')) })
        }
        Some(url) => bail!(
            "`{}` is not where Slack can reach this office: it is an https:// address",
            url.escape_debug()
        ),
        None if socket => json!({}),
        None => bail!(
            "say with `--url https://…` where Slack reaches this office, or set `socket = true` in `[slack]`"
        ),
    };
    let mut command = request.clone();
    if let Some(fields) = command.as_object_mut() {
        if let Some(url) = fields.remove("request_url") {
            fields.insert("url".to_owned(), url);
        }
        fields.insert("command".to_owned(), json!("/chancery"));
        fields.insert("description".to_owned(), json!("How readily the office speaks here"));
        fields.insert("usage_hint".to_owned(), json!("mode [quiet|reserved|proactive|eager]"));
    }
    let mut events = request.clone();
    let mut interactivity = request;
    if let (Some(events), Some(interactivity)) = (events.as_object_mut(), interactivity.as_object_mut()) {
        events.insert("bot_events".to_owned(), json!(EVENTS));
        interactivity.insert("is_enabled".to_owned(), json!(true));
    }
    let prompt = |prompt: &PromptConfig| json!({ "title": prompt.title, "message": prompt.message });
    let prompts: Vec<Value> = config.slack.iter().flat_map(|slack| &slack.live.prompts).map(prompt).collect();
    // Where Slack sends people back to who install it over its pages.
    let install = config.slack.as_ref().and_then(|slack| slack.install.as_ref());
    let redirects: Vec<String> = install.iter().map(|install| workspaces::redirect(install)).collect();
    let name: String = config.office.name.chars().take(NAME_CHARS_MAX).collect();
    let mut oauth = json!({ "scopes": { "bot": scopes().collect::<Vec<_>>() } });
    if let Some(fields) = oauth.as_object_mut().filter(|_| !redirects.is_empty()) {
        fields.insert("redirect_urls".to_owned(), json!(redirects));
    }
    Ok(json!({
        "display_information": { "name": name, "description": "An office that an organisation of agents works in" },
        "features": {
            "bot_user": { "display_name": name, "always_online": true },
            "slash_commands": [command],
            "shortcuts": [
                shortcut("message", "Ask about this", converse::SHORTCUT_ASK, "Has the office answer a message, in its thread"),
                shortcut("message", "Try it as a drill", converse::SHORTCUT_DRILL, "Shows what the office would do, and does nothing"),
                shortcut("global", "Ask me something", converse::form::FORM_QUESTION, "Asks the office anything, from anywhere"),
            ],
            "assistant_view": { "assistant_description": "Ask the office anything", "suggested_prompts": prompts },
            "app_home": { "home_tab_enabled": true, "messages_tab_enabled": true, "messages_tab_read_only_enabled": false },
        },
        "oauth_config": oauth,
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": false,
            "socket_mode_enabled": socket,
            "token_rotation_enabled": false,
        },
    }))
}

/// A shortcut: of the kind `message` it stands in the menu of a message, of the kind `global` among all shortcuts.
fn shortcut(kind: &str, name: &str, callback_id: &str, description: &str) -> Value {
    json!({ "name": name, "type": kind, "callback_id": callback_id, "description": description })
}

async fn examined(config: &Config) -> Result<Vec<Finding>> {
    let slack = config.slack.as_ref().context("there is no `[slack]` in the configuration")?;
    let mut findings = Vec::new();
    let mut found = |weight, part, text: String| findings.push(Finding { weight, part, text });
    let has = |reference: &str| config.credentials.contains_key(reference);
    match (slack.socket, slack.signing_secrets.len()) {
        (true, _) if has(APP_TOKEN) => found(Good, "socket", format!("opened with `{APP_TOKEN}`")),
        (true, _) => found(Fatal, "socket", format!("`{APP_TOKEN}` is not in `[credentials]`")),
        (false, 0) => {
            found(Fatal, "signing", "`slack.signing_secrets` is empty: Slack could not be told apart".into())
        }
        (false, count) => found(Good, "signing", format!("{count} signing secrets")),
    }
    let plugin = config.plugins.iter().find(|plugin| plugin.name == "slack");
    let files = plugin.is_some_and(|plugin| plugin.routes.iter().any(takes_files));
    if !files {
        let text = "no route to https://files.slack.com/upload/: long texts are posted in several messages";
        found(Warning, "files", text.to_owned());
    }
    let vault = wire::vault(config);
    let mut tokens: Vec<String> = vault.has(TOKEN).then(|| TOKEN.to_owned()).into_iter().collect();
    tokens.extend(workspaces::others(&vault).iter().map(|team| workspaces::token_of(team)));
    if tokens.is_empty() {
        match &slack.install {
            Some(install) => {
                let text = format!(
                    "the office is in no workspace yet: install it at {}",
                    workspaces::address(install)
                );
                found(Warning, "token", text);
            }
            None => found(Fatal, "token", format!("`{TOKEN}` is not in `[credentials]`")),
        }
    }
    for token in tokens {
        examine_token(config, &token, &mut found).await;
    }
    Ok(findings)
}

/// Who one token is, and what it was granted.
async fn examine_token(config: &Config, token: &str, found: &mut impl FnMut(Weight, &'static str, String)) {
    match who(config, token).await {
        Ok((answer, granted)) => {
            let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
            let weight = if text("bot_id") == "?" { Fatal } else { Good };
            let team = text("team_id");
            found(weight, "token", format!("{} in {team}", text("user_id")));
            match granted {
                Some(granted) => {
                    lacking(&granted).for_each(|lack| found(Fatal, "scope", format!("{team}: {lack}")));
                    found(Good, "scopes", format!("{} granted in {team}", granted.len()));
                }
                None => found(Warning, "scopes", format!("Slack does not say which were granted in {team}")),
            }
        }
        Err(error) => found(Fatal, "token", format!("`{token}`: {error:#}")),
    }
}

/// Whether a route leads to where Slack takes files.
fn takes_files(route: &RouteConfig) -> bool {
    let path = route.path.as_ref().or(route.path_prefix.as_ref());
    path.is_some_and(|path| path.starts_with("/upload/"))
}

/// Who the token is, and its scopes where Slack says them.
async fn who(config: &Config, token: &str) -> Result<(Value, Option<BTreeSet<String>>)> {
    let sockets = Sockets::of(config, Arc::new(egress::SystemResolver), None)?;
    let url = format!("{}auth.test", sockets.api());
    let route = Route {
        methods: vec!["GET".to_owned()],
        origin: crate::socket::origin_of(&url)
            .context("the setting `api` of the plugin `slack` is no address")?,
        path: RoutePath::every(),
        credential: Some(token.to_owned()),
    };
    let deadline = Instant::now() + Duration::from_millis(ASK_MS_MAX);
    let request = http::Request::get(&url).body(Bytes::new())?;
    let sent = sockets.egress().send(request, &[route], deadline).await?;
    let answer: Value = serde_json::from_slice(&sent.body).unwrap_or_default();
    if answer.get("ok").and_then(Value::as_bool) != Some(true) {
        let code = answer.get("error").and_then(Value::as_str).unwrap_or("no answer of Slack's");
        bail!(
            "Slack says `{}`: put the bot token (xoxb-…) of an installed app into `{token}`",
            code.escape_debug()
        );
    }
    let scopes = sent.headers.get("x-oauth-scopes").and_then(|value| value.to_str().ok());
    let scopes = scopes.map(|scopes| scopes.split(',').map(|scope| scope.trim().to_owned()).collect());
    Ok((answer, scopes))
}

#[cfg(test)]
mod tests {
    use super::{EVENTS, SCOPES, manifest};
    use crate::Config;
    use serde_json::json;
    use std::path::Path;

    fn config(socket: bool) -> Config {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/chancery.example.toml");
        let mut config = Config::read(&path, []).unwrap();
        config.slack.as_mut().unwrap().socket = socket;
        config
    }

    #[test]
    fn the_manifest_asks_for_what_the_office_uses_and_names_where_slack_reaches_it() {
        let made = manifest(&config(false), Some("https://office.example.com/")).unwrap();
        let settings = &made["settings"];
        assert_eq!(settings["event_subscriptions"]["request_url"], "https://office.example.com/slack/events");
        assert_eq!(settings["interactivity"]["is_enabled"], json!(true));
        assert_eq!(made["oauth_config"]["scopes"]["bot"].as_array().unwrap().len(), SCOPES.len());
        let has = |scope: &str| SCOPES.iter().any(|(one, _)| *one == scope);
        for event in EVENTS.iter().filter_map(|event| event.strip_prefix("message.")) {
            assert!(has(&format!("{event}:history")), "{event}");
        }
        let shortcuts = made["features"]["shortcuts"].as_array().unwrap();
        assert!(shortcuts.iter().all(|one| one["name"].as_str().unwrap().len() < 24));
        let kinds: Vec<&str> = shortcuts.iter().map(|one| one["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["message", "message", "global"]);
        assert_eq!(shortcuts[2]["callback_id"], "chancery.question");
        assert_eq!(shortcuts[0]["callback_id"], "chancery.ask");
        assert!(has("assistant:write") && made["features"]["assistant_view"].is_object());
        let socket = manifest(&config(true), None).unwrap();
        assert_eq!(socket["settings"]["socket_mode_enabled"], json!(true));
        assert!(socket["settings"]["event_subscriptions"].get("request_url").is_none());
        assert!(manifest(&config(false), None).is_err());
        assert!(manifest(&config(false), Some("http://office.example.com")).is_err());
    }
}
