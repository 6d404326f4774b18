//! `[accounts]` and `[[account]]`: where the accounts are kept that people connect, and at which services.

use super::Config;
use crate::place::At;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most services: more than any office connects, and an end to looking through them.
const SERVICES_MAX: usize = 100;

/// Where accounts are kept.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountsConfig {
    /// Their folder, each sealed under its owner's key; beside the record's file by default, or beside this one where
    /// the record is no file. Every host of one record uses the same.
    pub folder: Option<PathBuf>,
    /// Where people's browsers reach this office, such as `https://office.example.com`: with it they connect accounts from
    /// Slack, by `/chancery connect SERVICE`.
    pub url: Option<String>,
}

impl AccountsConfig {
    /// Says where the folder is when the file does not, and makes a relative one a folder beside the file.
    pub(super) fn place(&mut self, record: &At, folder: &Path) {
        let beside = match record {
            // Anchored already, and anchoring an absolute path changes nothing.
            At::Sqlite(path) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).with_extension("accounts")
            }
            At::Postgres(_) => PathBuf::from("chancery.accounts"),
        };
        let place = self.folder.get_or_insert(beside);
        *place = folder.join(&*place);
    }
}

/// A service where people, or the organisation, have accounts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceConfig {
    /// What people call it, such as `linear`.
    pub name: String,
    /// The reference by which routes of plugins name its accounts, such as `linear.token`.
    pub credential: String,
    /// Where a person's browser asks for a code. Without it an account is connected by a token that is typed.
    pub authorize: Option<String>,
    /// Where the code becomes a token, and an old token a new one.
    pub token: Option<String>,
    /// Where a token is taken back, if anywhere.
    pub revoke: Option<String>,
    /// What the service calls this office's application.
    pub client_id: Option<String>,
    /// The credential that proves it, by reference; an application without one has PKCE alone.
    pub client_secret: Option<String>,
    /// What is asked for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// What this service wants in the address beside that, such as `access_type = "offline"`.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The port of this machine that the browser comes back to, where the service must know it before; any free one
    /// when absent.
    pub redirect_port: Option<u16>,
}

/// How an account is had from a browser.
#[derive(Clone, Copy, Debug)]
pub struct ByBrowser<'a> {
    /// Where to ask for a code.
    pub authorize: &'a str,
    /// Where to ask for a token.
    pub token: &'a str,
    /// What the application is called.
    pub client_id: &'a str,
}

impl ServiceConfig {
    /// How an account is had from a browser; nothing where only a token can be typed.
    #[must_use]
    pub fn by_browser(&self) -> Option<ByBrowser<'_>> {
        Some(ByBrowser {
            authorize: self.authorize.as_deref()?,
            token: self.token.as_deref()?,
            client_id: self.client_id.as_deref()?,
        })
    }

    /// The application, as `egress` is told of it.
    #[must_use]
    pub fn client(&self) -> egress::Client {
        egress::Client { id: self.client_id.clone().unwrap_or_default(), secret: self.client_secret.clone() }
    }
}

impl Config {
    /// The folder of accounts.
    #[must_use]
    pub fn accounts_folder(&self) -> PathBuf {
        // Reading the file has set it.
        self.accounts.folder.clone().unwrap_or_else(|| PathBuf::from("chancery.accounts"))
    }

    /// The service that people call `name`.
    ///
    /// # Errors
    /// When there is none, with those there are.
    pub fn service(&self, name: &str) -> Result<&ServiceConfig> {
        self.services.iter().find(|service| service.name == name).with_context(|| {
            let names: Vec<String> =
                self.services.iter().map(|service| format!("`{}`", service.name)).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("no `[[account]]` of the configuration is called `{name}`; there are {there}")
        })
    }

    pub(super) fn check_accounts(&self) -> Result<()> {
        ensure!(self.services.len() <= SERVICES_MAX, "more than {SERVICES_MAX} `[[account]]`");
        if let Some(url) = &self.accounts.url {
            ensure!(
                url.starts_with("https://")
                    || url.starts_with("http://127.0.0.1")
                    || url.starts_with("http://localhost"),
                "`accounts.url` is `{url}`: it is an https:// address, or one of this machine"
            );
        }
        // A workspace is no person: `slack.bot-token@T0123ABCD` is the token there.
        let of_nobody = |name: &&String| {
            name.split_once('@').is_some_and(|(plain, of)| plain.is_empty() || !super::slack::is_team(of))
        };
        if let Some(name) = self.credentials.keys().find(of_nobody) {
            bail!(
                "the credential `{name}` has an `@`, which stands before whose account one is, or before the id of a \
                 workspace: name it otherwise"
            );
        }
        let (mut names, mut credentials) = (BTreeSet::new(), BTreeSet::new());
        for service in &self.services {
            let about = || format!("the `[[account]]` `{}`", service.name);
            let plain = |text: &str| {
                let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
                !text.is_empty() && text.len() <= 64 && text.bytes().all(known)
            };
            let lower = !service.name.bytes().any(|byte| byte.is_ascii_uppercase());
            ensure!(
                lower && plain(&service.name) && names.insert(&service.name),
                "{}: `name` is letters, digits and `.-_`, and no other's",
                about()
            );
            ensure!(
                plain(&service.credential) && credentials.insert(&service.credential),
                "{}: `credential` is letters, digits and `.-_`, and no other's",
                about()
            );
            let addresses = [&service.authorize, &service.token, &service.revoke];
            if let Some(wrong) = addresses
                .into_iter()
                .flatten()
                .find(|text| !(text.starts_with("https://") || text.starts_with("http://")))
            {
                bail!("{}: `{wrong}` is no address", about());
            }
            let said = [&service.authorize, &service.token, &service.client_id].map(Option::is_some);
            ensure!(
                said.iter().all(|is| *is) || said.iter().all(|is| !*is),
                "{}: `authorize`, `token` and `client_id` are said together or not at all",
                about()
            );
            if let Some(reference) = &service.client_secret {
                ensure!(
                    self.credentials.contains_key(reference),
                    "{}: `client_secret` is `{reference}`, which `[credentials]` does not have: it is a reference, never a value",
                    about()
                );
            }
        }
        if let Some(journal) = &self.journal {
            super::vault::apart("accounts.folder", &self.accounts_folder(), &journal.folder)
                .context("`[accounts] folder` is in the folder of the journal")?;
        }
        Ok(())
    }
}
