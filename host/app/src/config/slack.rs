//! `[slack]`: how what people say in Slack reaches the office, and how the office comes into a workspace.

use super::{Config, LiveConfig, SecretSource};
use anyhow::{Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where Slack asks a person whether the app may be installed.
const AUTHORIZE: &str = "https://slack.com/oauth/v2/authorize";
/// The most apps that are one workspace's own: every request is held against each of their secrets.
const OWN_APPS_MAX: usize = 32;

/// Slack, and the workspaces there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackConfig {
    /// The signing secret, and during a rotation the one before it. Only a socket does without.
    #[serde(default)]
    pub signing_secrets: Vec<SecretSource>,
    /// Whether deliveries come over a connection that the office opens (Socket Mode), with `slack.app-token`.
    #[serde(default)]
    pub socket: bool,
    /// Workspaces in which an app of their own is installed.
    #[serde(default, rename = "workspace")]
    pub workspaces: Vec<WorkspaceConfig>,
    /// How it is installed over Slack's own pages; nobody can install it so when absent.
    pub install: Option<InstallConfig>,
    /// What people see while the office works, and as it answers.
    #[serde(default)]
    pub live: LiveConfig,
}

/// A workspace with an app of its own, which comes over HTTP, over a socket, or over both. Its token is the credential
/// `slack.bot-token@T…`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceConfig {
    /// The workspace, `T…`.
    pub team: String,
    /// The signing secret of that app, and during a rotation the one before it. Only a socket does without.
    #[serde(default)]
    pub signing_secrets: Vec<SecretSource>,
    /// Whether its deliveries come over a connection that the office opens, with `slack.app-token@T…`.
    #[serde(default)]
    pub socket: bool,
}

/// How the office is installed over Slack's own pages. The client's secret is the credential `slack.client-secret`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallConfig {
    /// The app, as Slack's pages call it.
    pub client_id: String,
    /// Where people's browsers reach this office.
    pub url: String,
    /// The workspaces it may be installed in, by id: anybody may come to the page, and whoever comes first is nobody.
    pub workspaces: BTreeSet<String>,
    /// Slack's page.
    #[serde(default = "authorize")]
    pub authorize: String,
}

fn authorize() -> String {
    AUTHORIZE.to_owned()
}

impl Config {
    /// The apps whose deliveries come over a connection that the office opens: nothing for the office's one app, a
    /// workspace for one of its own.
    #[must_use]
    pub fn sockets(&self) -> Vec<Option<String>> {
        let Some(slack) = &self.slack else { return Vec::new() };
        let own = slack.workspaces.iter().filter(|one| one.socket).map(|one| Some(one.team.clone()));
        slack.socket.then_some(None).into_iter().chain(own).collect()
    }
}

impl SlackConfig {
    /// Whether it can be meant.
    ///
    /// # Errors
    /// The setting that cannot.
    pub(super) fn check(&self) -> Result<()> {
        self.live.check()?;
        ensure!(
            self.workspaces.len() <= OWN_APPS_MAX,
            "`[[slack.workspace]]` stands there {} times: at most {OWN_APPS_MAX}",
            self.workspaces.len()
        );
        let mut teams = BTreeSet::new();
        for workspace in &self.workspaces {
            let team = &workspace.team;
            ensure!(
                is_team(team),
                "`[[slack.workspace]] team` is `{team}`: a workspace is its id, such as T0123ABCD"
            );
            ensure!(
                workspace.socket || !workspace.signing_secrets.is_empty(),
                "the workspace `{team}` has an app of its own that could not be told from another: give it \
                 `signing_secrets`, or `socket = true`"
            );
            ensure!(teams.insert(team), "the workspace `{team}` stands in `[[slack.workspace]]` twice");
        }
        self.install.as_ref().map_or(Ok(()), InstallConfig::check)
    }

    /// Every place of a signing secret.
    pub(super) fn secrets_mut(&mut self) -> impl Iterator<Item = &mut SecretSource> {
        let own = self.workspaces.iter_mut().flat_map(|workspace| workspace.signing_secrets.iter_mut());
        self.signing_secrets.iter_mut().chain(own)
    }

    /// The signing secrets of apps that are one workspace's own, by that.
    pub fn own_secrets(&self) -> BTreeMap<&str, &[SecretSource]> {
        let signs = self.workspaces.iter().filter(|one| !one.signing_secrets.is_empty());
        signs.map(|one| (one.team.as_str(), one.signing_secrets.as_slice())).collect()
    }

    /// The workspaces with an app of their own that signs nothing.
    pub fn unsigned(&self) -> BTreeSet<String> {
        let unsigned = self.workspaces.iter().filter(|one| one.signing_secrets.is_empty());
        unsigned.map(|one| one.team.clone()).collect()
    }
}

impl InstallConfig {
    fn check(&self) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        ensure!(
            !self.client_id.is_empty() && self.client_id.chars().all(plain),
            "`[slack.install] client_id` is the Client ID of the app, such as 12345.67890 (Basic Information)"
        );
        ensure!(
            self.url.starts_with("https://") || self.is_plain(),
            "`[slack.install] url` is `{}`: browsers reach the office at an https:// address",
            self.url
        );
        ensure!(
            !self.workspaces.is_empty(),
            "`[slack.install] workspaces` is empty: name the workspaces it may be installed in, by id"
        );
        let wrong = self.workspaces.iter().find(|team| !is_team(team));
        ensure!(
            wrong.is_none(),
            "`[slack.install] workspaces` has `{}`: a workspace is its id, such as T0123ABCD",
            wrong.map_or("", String::as_str)
        );
        Ok(())
    }

    /// Whether browsers come over plain HTTP: on this machine alone.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
            .iter()
            .any(|own| self.url.starts_with(own))
    }
}

/// Whether `text` is a workspace's id.
pub(super) fn is_team(text: &str) -> bool {
    let rest = text.strip_prefix('T').unwrap_or_default();
    (2..=31).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::SlackConfig;

    fn read(text: &str) -> Result<SlackConfig, String> {
        let config: SlackConfig = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        config.check().map(|()| config).map_err(|error| error.to_string())
    }

    const INSTALL: &str =
        "[install]\nclient_id = \"1.2\"\nurl = \"https://office.example.com\"\nworkspaces = [\"T01AB\"]";

    #[test]
    fn nobody_installs_it_where_the_operator_named_no_workspace() {
        assert_eq!(read(INSTALL).unwrap().install.unwrap().authorize, "https://slack.com/oauth/v2/authorize");
        for (from, to, said) in [
            ("[\"T01AB\"]", "[]", "is empty"),
            ("\"T01AB\"", "\"*\"", "such as T0123ABCD"),
            ("\"T01AB\"", "\"acme\"", "such as T0123ABCD"),
            ("https://", "http://", "https:// address"),
            ("1.2", "1.2&x=", "Client ID"),
        ] {
            let error = read(&INSTALL.replace(from, to)).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(read(&INSTALL.replace("https://office.example.com", "http://127.0.0.1:4900")).is_ok());
    }

    #[test]
    fn a_workspace_has_one_app_of_its_own() {
        let one = "[[workspace]]\nteam = \"T01AB\"\nsigning_secrets = [{ env = \"A\" }]\n";
        assert_eq!(read(one).unwrap().own_secrets().len(), 1);
        assert!(read(&one.repeat(2)).unwrap_err().contains("twice"));
        assert!(read(&one.replace("T01AB", "acme")).unwrap_err().contains("a workspace is its id"));
    }
}
