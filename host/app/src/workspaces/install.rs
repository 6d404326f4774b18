//! Installing the office in a workspace: a person goes to Slack's page and comes back with a code, which is exchanged for
//! that workspace's token.
//!
//! Always holds: only a workspace that the configuration names is taken, whoever comes and whenever; a state is good once,
//! for nine minutes and for the browser it was given to; the token goes from the exchange to the folder of tokens and
//! stands nowhere else; what is turned away is given back to Slack. Whoever installs the office gets nothing by it: the
//! owner stands in the configuration.

use super::{Known, SOURCE, end, identify, refresh_of, token_of};
use crate::config::InstallConfig;
use crate::socket::{Sockets, exact_route};
use crate::wire::Office;
use crate::{seed, slack};
use anyhow::{Context, Result};
use bytes::Bytes;
use egress::{Asking, Offer, TokenGiven, TokenRefused};
use event::{ConnectionInstalled, Digest, EventId, Expected, PrincipalId, Proposed, StreamName};
use front::slack::install::{Begun, CALLBACK_PATH, Ended, INSTALL_PATH, Installs, Returned};
use serde_json::Value;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// The credential with the app's client secret.
pub(crate) const CLIENT_SECRET: &str = "slack.client-secret";
/// What the marks of states are made for.
const PURPOSE: &str = "chancery install";
/// How long a person has at Slack, in milliseconds.
const STATE_MS_MAX: i64 = 540_000;
/// How long a state that was used is known, in milliseconds: the longest a lease lasts, and longer than a state is good.
const USED_MS: i64 = record::LEASE_TTL_MS_MAX;
/// How long the exchange may take, in milliseconds: a person waits.
const EXCHANGE_MS_MAX: u64 = 20_000;
/// Under which a token is held until it is given back.
const UNWANTED: &str = "slack.unwanted-token";

/// What installs the office, when its configuration says how.
///
/// # Errors
/// When the client's secret is not there.
pub fn installs(office: &Arc<Office>) -> Result<Option<Arc<dyn Installs>>> {
    let slack = office.config.slack.as_ref();
    let Some(install) = slack.and_then(|slack| slack.install.clone()) else { return Ok(None) };
    office.hands.vault().get(CLIENT_SECRET).context("`[slack.install]`")?;
    Ok(Some(Arc::new(Installer { office: office.clone(), install })))
}

/// Where a person begins, for whoever starts the office.
#[must_use]
pub fn address(install: &InstallConfig) -> String {
    format!("{}{INSTALL_PATH}", install.url.trim_end_matches('/'))
}

/// Where Slack sends people back to.
#[must_use]
pub fn redirect(install: &InstallConfig) -> String {
    format!("{}{CALLBACK_PATH}", install.url.trim_end_matches('/'))
}

struct Installer {
    office: Arc<Office>,
    install: InstallConfig,
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Installs for Installer {
    fn begin(&self) -> Answer<'_, std::result::Result<Begun, String>> {
        Box::pin(async move { self.begun().map_err(|error| format!("{error:#}")) })
    }

    fn finish(&self, returned: Returned) -> Answer<'_, Ended> {
        Box::pin(async move {
            self.finished(returned).await.unwrap_or_else(|error| {
                tracing::error!(error = format!("{error:#}"), "an installation could not be finished");
                Ended::Later("It could not be finished; the office's log says why. Begin again.".to_owned())
            })
        })
    }
}

impl Installer {
    fn begun(&self) -> Result<Begun> {
        let (nonce, cookie) = (random()?, random()?);
        let head = format!("{}.{nonce}", self.office.now().0);
        let mark = self.office.hands.vault().mark(CLIENT_SECRET, PURPOSE, &format!("{head}.{cookie}"))?;
        let scopes: Vec<&str> = slack::scopes().collect();
        let mut location = Url::parse(&self.install.authorize).context("`[slack.install] authorize`")?;
        location
            .query_pairs_mut()
            .append_pair("client_id", &self.install.client_id)
            .append_pair("scope", &scopes.join(","))
            .append_pair("redirect_uri", &redirect(&self.install))
            .append_pair("state", &format!("{head}.{mark}"));
        let (seconds, plain) = (STATE_MS_MAX / 1_000, self.install.is_plain());
        Ok(Begun { location: location.into(), cookie, seconds, plain })
    }

    async fn finished(&self, returned: Returned) -> Result<Ended> {
        if !self.is_ours(&returned)? {
            return Ok(not("This did not begin here, or too long ago, or in another browser. Begin again."));
        }
        // Never given back: a state that was used stays used until it is too old.
        let used = format!("install/{}", Digest::of(returned.state.as_bytes()));
        if self.office.record.lease(&used, &self.office.node, USED_MS).await?.is_none() {
            return Ok(not("This was used before. Begin again."));
        }
        if !returned.error.is_empty() || returned.code.is_empty() {
            return Ok(not("Slack gave nothing for the office: whoever was asked there did not allow it."));
        }
        let given = match self.exchanged(&returned.code).await {
            Ok(given) => given,
            Err(TokenRefused::No { code, .. }) => {
                tracing::warn!(code, "Slack did not take the code of an installation");
                return Ok(not("Slack did not take what it gave. Begin again."));
            }
            Err(error) => return Err(error.into()),
        };
        match self.wanted(&given.rest) {
            Ok(team) => self.keep(&team, given).await,
            Err(why) => {
                tracing::warn!(why, "an installation was turned away");
                // Slack may have given the very token that the office works with there.
                let team = given.rest.pointer("/team/id").and_then(Value::as_str).unwrap_or_default();
                let is_there = self.office.config.credentials.contains_key(&token_of(team))
                    || converse::own_in(&self.office.record, SOURCE, team).await?.is_some();
                if !is_there {
                    self.give_back(given).await;
                }
                Ok(not(&why))
            }
        }
    }

    /// Whether the state is one of this office's, given to this browser not long ago.
    fn is_ours(&self, returned: &Returned) -> Result<bool> {
        let Some((head, mark)) = returned.state.rsplit_once('.') else { return Ok(false) };
        let issued = head.split('.').next().and_then(|ms| ms.parse::<i64>().ok());
        let age_ms = issued.map(|ms| self.office.now().since_ms(event::Timestamp(ms)));
        let vault = self.office.hands.vault();
        let marked = vault.is_mark(CLIENT_SECRET, PURPOSE, &format!("{head}.{}", returned.cookie), mark)?;
        Ok(marked && age_ms.is_some_and(|age_ms| (0..=STATE_MS_MAX).contains(&age_ms)))
    }

    async fn exchanged(&self, code: &str) -> Result<TokenGiven, TokenRefused> {
        let address = format!("{}oauth.v2.access", Sockets::api_of(&self.office.config));
        let asking =
            Asking { address: &address, client_id: &self.install.client_id, client_secret: CLIENT_SECRET };
        let redirect = redirect(&self.install);
        let deadline = Instant::now() + Duration::from_millis(EXCHANGE_MS_MAX);
        self.office
            .hands
            .egress()
            .token(asking, Offer::Code { code, redirect_uri: &redirect }, deadline)
            .await
    }

    /// The workspace that was installed in, when it is one that is wanted, with a token of a bot.
    fn wanted(&self, said: &Value) -> std::result::Result<String, String> {
        let text = |pointer: &str| said.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let org_wide =
            !matches!(said.get("is_enterprise_install"), None | Some(Value::Null | Value::Bool(false)));
        let team = text("/team/id");
        if org_wide || team.is_empty() {
            return Err(
                "The office is installed in one workspace at a time, not in a whole organisation.".to_owned()
            );
        }
        if !self.install.workspaces.contains(team) {
            return Err("The office is not for this workspace: its operator did not name it.".to_owned());
        }
        let configured = self.office.config.credentials.contains_key(&token_of(team));
        if configured {
            return Err("The token of this workspace stands in the office's configuration.".to_owned());
        }
        if !matches!(text("/token_type"), "" | "bot") || text("/bot_user_id").is_empty() {
            return Err("Slack gave a token that is not a bot's.".to_owned());
        }
        Ok(team.to_owned())
    }

    async fn keep(&self, team: &str, given: TokenGiven) -> Result<Ended> {
        let (vault, now) = (self.office.hands.vault(), self.office.now());
        match given.refresh {
            Some(refresh) => vault.keep(&refresh_of(team), refresh)?,
            // What an installation before this one left would not be good for this one's token.
            None => vault.forget(&refresh_of(team))?,
        }
        vault.keep(&token_of(team), given.access)?;
        let text = |pointer: &str| given.rest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let scopes: BTreeSet<String> = text("/scope")
            .split(',')
            .map(str::trim)
            .filter(|one| !one.is_empty())
            .map(str::to_owned)
            .collect();
        let installed = ConnectionInstalled {
            source: SOURCE.to_owned(),
            team: team.to_owned(),
            app: text("/app_id").to_owned(),
            by: text("/authed_user/id").to_owned(),
            scopes: scopes.iter().cloned().collect(),
            expires_at: given.expires_in_s.map(|seconds| now.plus_ms(seconds.saturating_mul(1_000))),
        };
        let id = seed::fresh_event_id()?;
        self.state(id.clone(), installed).await?;
        match identify(&self.office, &id, Some(team)).await? {
            Known::Now => {
                let missing = slack::lacking(&scopes).collect();
                Ok(Ended::Installed { team: team.to_owned(), missing })
            }
            Known::Before => Ok(Ended::Installed { team: team.to_owned(), missing: Vec::new() }),
            Known::Not { problem, is_no } => {
                tracing::error!(
                    team,
                    problem,
                    "it was installed, and Slack does not say who the office is there"
                );
                end(
                    &self.office,
                    team,
                    "Slack did not say who the office is there",
                    (id.as_str(), Some(&id)),
                    is_no,
                )
                .await?;
                Ok(not("Slack does not take the token that it just gave. Begin again."))
            }
        }
    }

    async fn state(&self, id: EventId, installed: ConnectionInstalled) -> Result<()> {
        let event = Proposed {
            id,
            actor: event::Actor { principal: PrincipalId::host(), seat: None },
            cause: None,
            label: event::Label::host(),
            fact: installed.into(),
        };
        self.office.record.append(StreamName::new("connection", SOURCE), Expected::Any, vec![event]).await?;
        Ok(())
    }

    /// Tells Slack that a token is not wanted, so that nobody has it. That is all that can be done about it.
    async fn give_back(&self, given: TokenGiven) {
        let vault = self.office.hands.vault();
        let revoked = async {
            let reference = format!("{UNWANTED}.{}", random()?);
            vault.keep(&reference, given.access)?;
            let url = format!("{}auth.revoke", Sockets::api_of(&self.office.config));
            let route = exact_route("POST", &url, Some(reference.clone())).context("`api` is no address")?;
            let request = http::Request::post(&url).body(Bytes::new())?;
            let deadline = Instant::now() + Duration::from_millis(EXCHANGE_MS_MAX);
            let sent = self.office.hands.egress().send(request, &[route], deadline).await;
            vault.forget(&reference)?;
            sent.map(drop).map_err(anyhow::Error::from)
        };
        if let Err(error) = revoked.await {
            tracing::warn!(error = format!("{error:#}"), "a token that is not wanted was not given back");
        }
    }
}

fn not(why: &str) -> Ended {
    Ended::Not(why.to_owned())
}

/// 128 bits that nobody can guess, in hexadecimal.
fn random() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).context("the system gives no randomness")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
