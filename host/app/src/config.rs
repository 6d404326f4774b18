//! The operator's file: every setting, its default and its ceiling.
//!
//! One TOML file. An unknown key or a wrong value stops the start with file, line and column. Every value can
//! be overridden by an environment variable named after its path: `CHANCERY_LISTEN__ADDRESS`,
//! `CHANCERY_PURSE__DAY`. Secrets are never values here: they are references to a variable or a file.

pub mod accounts;
mod approvals;
mod converse;
mod credential;
mod live;
mod models;
mod overrides;
mod plugins;
pub mod purse;
mod slack;
mod steering;
mod telemetry;
mod vault;

pub use self::converse::ConverseConfig;
pub use accounts::{AccountsConfig, ServiceConfig};
pub use approvals::ApprovalsConfig;
pub use credential::CredentialConfig;
pub use live::{LiveConfig, Progress, PromptConfig, Streams};
pub use models::{ModelConfig, Profile};
use overrides::override_one;
pub(crate) use overrides::placed;
pub use plugins::PluginsConfig;
pub use purse::{BudgetConfig, PurseConfig};
pub use slack::{InstallConfig, SlackConfig, WorkspaceConfig};
pub use steering::SteeringConfig;
pub use telemetry::TelemetryConfig;
pub use vault::VaultConfig;

use crate::place::{At, Place};
use anyhow::{Context, Result, bail};
use event::Handle;
pub use seats::SeatConfig;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What environment variables that override the file start with.
pub const ENV_PREFIX: &str = "CHANCERY_";
/// Variables with that prefix that are not settings.
const ENV_NOT_SETTINGS: &[&str] = &[
    "CHANCERY_BIN",
    "CHANCERY_CONFIG",
    "CHANCERY_DAY",
    "CHANCERY_GUESTS",
    "CHANCERY_LOG",
    "CHANCERY_TEST_POSTGRES",
    "CHANCERY_WASM_BY",
    "CHANCERY_WRITE_DOCS",
];

/// The longest name of an office, in characters: it stands in every request to a model.
const NAME_CHARS_MAX: usize = 100;

/// Everything an operator sets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The office itself.
    pub office: OfficeConfig,
    /// Where the record is kept.
    pub record: Place,
    /// Where the keys of persons are kept.
    #[serde(default)]
    pub vault: VaultConfig,
    /// Where the accounts are kept that people connect.
    #[serde(default)]
    pub accounts: AccountsConfig,
    /// The services where people have them.
    #[serde(default, rename = "account")]
    pub services: Vec<ServiceConfig>,
    /// Where the record's journal is written; nowhere when absent.
    pub journal: Option<JournalConfig>,
    /// Where traces go; nowhere when absent.
    pub telemetry: Option<TelemetryConfig>,
    /// Where the host listens.
    #[serde(default)]
    pub listen: ListenConfig,
    /// The Slack workspace, when there is one.
    pub slack: Option<SlackConfig>,
    /// Credentials by reference.
    #[serde(default)]
    pub credentials: BTreeMap<String, CredentialConfig>,
    /// The way out.
    #[serde(default)]
    pub egress: EgressSection,
    /// The purse. An office without one does not start.
    pub purse: PurseConfig,
    /// Budgets beside those of the purse: of a seat, a channel, a person, a goal.
    #[serde(default, rename = "budget")]
    pub budgets: Vec<BudgetConfig>,
    /// How long a call waits for a person's yes.
    #[serde(default)]
    pub approvals: ApprovalsConfig,
    /// Who may stop a running turn.
    #[serde(default)]
    pub steering: SteeringConfig,
    /// When the office speaks unasked.
    #[serde(default)]
    pub converse: ConverseConfig,
    /// Where the policy files lie.
    pub policies: PathBuf,
    /// The price list.
    pub prices: PathBuf,
    /// Where compiled guests are kept between starts; a folder beside the record's file by default, or beside this
    /// one where the record is no file.
    pub cache: Option<PathBuf>,
    /// The seats of the first office: they are put on the record once.
    #[serde(default, rename = "seat")]
    pub seats: Vec<SeatConfig>,
    /// The file that says them instead.
    #[serde(rename = "seats")]
    pub seats_from: Option<PathBuf>,
    /// The plugins that this file names.
    #[serde(default, rename = "plugin")]
    pub plugins: Vec<PluginConfig>,
    /// What holds for all plugins, and for those that a command installs.
    #[serde(default, rename = "plugins")]
    pub installs: PluginsConfig,
    /// Which model does what.
    #[serde(default, rename = "model")]
    pub models: Vec<ModelConfig>,
}

/// The office itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfficeConfig {
    /// Its name, as its model is told.
    pub name: String,
    /// The person above the software, `person_…`: whoever runs `chancery` with this file acts as this person, in the
    /// seat `seat_owner`.
    #[serde(default = "owner")]
    pub owner: String,
    /// The seat that answers people.
    #[serde(default = "front_desk")]
    pub front_desk: String,
    /// The model that seat thinks with, such as `scripted/story`; or the `[[model]]` for `main`.
    #[serde(default)]
    pub model: String,
    /// The most steps of one turn.
    #[serde(default = "steps_max")]
    pub steps_max: u32,
    /// How long one turn may work, in milliseconds; waiting for a person's yes is no work.
    #[serde(default = "turn_ms_max")]
    pub turn_ms_max: u64,
    /// Families of tools that a model sees once it has asked for them, such as `sandbox`.
    #[serde(default)]
    pub hidden_families: Vec<String>,
    /// Whether this host does a drill: every effect is captured, and none is sent.
    #[serde(default)]
    pub drill: bool,
    /// The most turns that run at once.
    #[serde(default = "turns_max")]
    pub turns_max: usize,
    /// How long the right to run a turn lasts without renewal, in milliseconds: after a host died, its turns go on
    /// when this time has passed.
    #[serde(default = "lease_ms")]
    pub lease_ms: i64,
}

/// The seed's sixty seconds: a host that is only slow renews three times within it.
fn lease_ms() -> i64 {
    60_000
}

fn owner() -> String {
    "person_operator".to_owned()
}

fn front_desk() -> String {
    "seat_front-desk".to_owned()
}

fn steps_max() -> u32 {
    turn::STEPS_MAX_DEFAULT
}

fn turn_ms_max() -> u64 {
    turn::WORK_MS_MAX_DEFAULT
}

fn turns_max() -> usize {
    8
}

/// The record as text: written beside the office, and pushed to a git remote when there is one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalConfig {
    /// Its folder; it is made when it is not there.
    pub folder: PathBuf,
    /// The git repository it is pushed to, as `git push` takes it. Never with a password in it.
    pub remote: Option<String>,
    /// The branch there; nothing else may be on it.
    #[serde(default = "journal_branch")]
    pub branch: String,
}

fn journal_branch() -> String {
    "journal".to_owned()
}

impl JournalConfig {
    /// Where it is pushed.
    ///
    /// # Errors
    /// What is wrong with `remote` or `branch`.
    pub fn remote(&self) -> Result<Option<record::Remote>> {
        let remote = self.remote.as_ref().map(|url| record::Remote::new(url, &self.branch)).transpose();
        remote.map_err(|why| anyhow::anyhow!("`[journal]`: {why}"))
    }
}

/// Where the host listens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenConfig {
    /// Address and port; port 0 takes a free one.
    #[serde(default = "local_address")]
    pub address: SocketAddr,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self { address: local_address() }
    }
}

fn local_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 4900))
}

/// Where a secret is found. Never the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// In this environment variable.
    Env(String),
    /// In this file.
    File(PathBuf),
}

impl<'de> Deserialize<'de> for SecretSource {
    /// Reads `{ env = "NAME" }` or `{ file = "PATH" }`. Whatever stands there instead may be a secret and is never
    /// repeated in an error.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let wrong = || {
            let wanted =
                "a secret does not belong here; say where it is: { env = \"NAME\" } or { file = \"PATH\" }";
            serde::de::Error::custom(wanted)
        };
        let value = toml::Value::deserialize(deserializer)?;
        let table = value.as_table().filter(|table| table.len() == 1).ok_or_else(wrong)?;
        let at = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        at("env").map(Self::Env).or_else(|| at("file").map(|path| Self::File(path.into()))).ok_or_else(wrong)
    }
}

/// The way out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EgressSection {
    /// Exact origins on this machine that may be reached, such as `http://127.0.0.1:3900`. Only the operator
    /// can name one: never a manifest, a policy or a message.
    #[serde(default)]
    pub loopback: Vec<String>,
}

/// A plugin and what the operator grants it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginConfig {
    /// Its name, as its manifest says.
    pub name: String,
    /// The component.
    pub file: PathBuf,
    /// Where it may go.
    #[serde(default, rename = "route")]
    pub routes: Vec<RouteConfig>,
    /// Folders it may see.
    #[serde(default, rename = "directory")]
    pub directories: Vec<DirectoryConfig>,
    /// What of the office its calls may be given.
    #[serde(default)]
    pub handles: Vec<Handle>,
    /// Its settings, as the guest reads them.
    #[serde(default)]
    pub settings: BTreeMap<String, toml::Value>,
    /// Settings whose value is the text of a file.
    #[serde(default)]
    pub settings_from: BTreeMap<String, PathBuf>,
}

/// One folder that a plugin may see.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectoryConfig {
    /// Its name to the plugin, as its manifest asks.
    pub at: String,
    /// The folder.
    pub path: PathBuf,
    /// Whether the plugin may write there.
    #[serde(default)]
    pub write: bool,
}

/// One way out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// HTTP methods.
    pub methods: Vec<String>,
    /// Scheme, host and port.
    pub origin: String,
    /// The whole path; `*` stands for one segment, `**` at the end for one or more.
    pub path: Option<String>,
    /// What the path must start with, instead; every path where neither is said.
    pub path_prefix: Option<String>,
    /// The credential that is put into requests on this route.
    pub credential: Option<String>,
}

impl Config {
    /// Reads the file at `path` and lets `environment` override it.
    ///
    /// # Errors
    /// One line that names the file and the place, or the variable, and what is wrong with it.
    pub fn read(path: &Path, environment: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!("cannot read the configuration `{}`: copy docs/chancery.example.toml there, or name another with --config", path.display())
        })?;
        // Reading the plain text first gives every mistake its line; the second reading adds the environment.
        toml::from_str::<Self>(&text).map_err(|error| placed(path, &text, &error))?;
        let mut table: toml::Table =
            text.parse().with_context(|| format!("`{}` is not TOML", path.display()))?;
        let mut named = Vec::new();
        for (name, value) in environment {
            if override_one(&mut table, &name, &value)? {
                named.push(name);
            }
        }
        let mut config: Self = table.try_into().map_err(|error: toml::de::Error| {
            anyhow::anyhow!(
                "the environment ({}) does not fit the configuration: {}",
                named.join(", "),
                error.message()
            )
        })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        config.anchor(folder);
        config.read_seats()?;
        config.read_models()?;
        config.check()?;
        Ok(config)
    }

    /// Makes every relative path one beside the file.
    fn anchor(&mut self, folder: &Path) {
        let anchor = |path: &mut PathBuf| *path = folder.join(&*path);
        if let Some(keys) = &self.vault.keys {
            self.record.keys.clone_from(keys);
        }
        self.record.anchor(folder);
        if matches!(self.record.at, At::Postgres(_)) {
            self.cache.get_or_insert_with(|| PathBuf::from("chancery.cache"));
        }
        anchor(&mut self.policies);
        anchor(&mut self.prices);
        self.cache.iter_mut().chain(&mut self.seats_from).for_each(anchor);
        self.installs.place(&self.record.at);
        self.accounts.place(&self.record.at, folder);
        self.installs.folder.iter_mut().chain([&mut self.installs.lock]).for_each(anchor);
        self.journal.iter_mut().for_each(|journal| anchor(&mut journal.folder));
        for plugin in &mut self.plugins {
            anchor(&mut plugin.file);
            plugin.settings_from.values_mut().for_each(anchor);
            plugin.directories.iter_mut().for_each(|directory| anchor(&mut directory.path));
        }
        self.vault.tokens.iter_mut().for_each(anchor);
        let secrets = self.slack.iter_mut().flat_map(|slack| slack.secrets_mut());
        let credentials = self.credentials.values_mut().map(|credential| &mut credential.source);
        for source in secrets.chain(credentials) {
            if let SecretSource::File(path) = source {
                anchor(path);
            }
        }
    }

    fn check(&self) -> Result<()> {
        self.check_purse()?;
        let name = &self.office.name;
        if name.trim().is_empty()
            || name.chars().count() > NAME_CHARS_MAX
            || name.chars().any(char::is_control)
        {
            bail!("`office.name` is one line of 1 to {NAME_CHARS_MAX} characters: every model is told it");
        }
        let steps = 2..=turn::STEPS_MAX_CEILING;
        if !steps.contains(&self.office.steps_max) {
            bail!(
                "`office.steps_max` is {}: a turn takes between 2 and {} steps",
                self.office.steps_max,
                steps.end()
            );
        }
        if !(10_000..=86_400_000).contains(&self.office.turn_ms_max) {
            bail!(
                "`office.turn_ms_max` is {}: a turn works between 10000 and 86400000 milliseconds",
                self.office.turn_ms_max
            );
        }
        if !(1..=256).contains(&self.office.turns_max) {
            bail!("`office.turns_max` is {}: between 1 and 256 turns run at once", self.office.turns_max);
        }
        if !(3_000..=600_000).contains(&self.office.lease_ms) {
            bail!(
                "`office.lease_ms` is {}: a lease lasts between 3000 and 600000 milliseconds",
                self.office.lease_ms
            );
        }
        self.steering.named()?;
        self.check_accounts()?;
        self.slack.as_ref().map_or(Ok(()), SlackConfig::check)?;
        if let Some(journal) = &self.journal {
            journal.remote()?;
            vault::apart("vault.keys", &self.record.keys, &journal.folder)?;
            vault::apart("vault.tokens", &self.tokens_folder(), &journal.folder)?;
        }
        let mut names = std::collections::BTreeSet::new();
        if let Some(twice) = self.plugins.iter().find(|plugin| !names.insert(&plugin.name)) {
            bail!("the plugin `{}` is configured twice", twice.name);
        }
        let mut names = std::collections::BTreeSet::new();
        if let Some(twice) = self.seats.iter().find(|seat| !names.insert(&seat.name)) {
            bail!("the seat `{}` is configured twice", twice.name);
        }
        self.installs.check(&self.credentials)?;
        self.telemetry.as_ref().map_or(Ok(()), |telemetry| telemetry.check(self))?;
        self.manner()?;
        self.owner().map(drop)
    }

    /// Where compiled guests are kept.
    #[must_use]
    pub fn cache_folder(&self) -> PathBuf {
        match (&self.cache, &self.record.at) {
            (Some(cache), _) => cache.clone(),
            (None, At::Sqlite(path)) => path.with_extension("cache"),
            // Reading the file has set it.
            (None, At::Postgres(_)) => PathBuf::from("chancery.cache"),
        }
    }
}

mod seats;
#[cfg(test)]
mod tests;
