//! Connecting an account from a private card in Slack: a link for one person, the service, and back to this office.
//!
//! Nothing is kept in between. A ticket, and the state that goes through the service, are texts that only this office
//! can make and read, each for ten minutes. Always holds: an account is connected to the person whom the ticket was made
//! for, by the browser that pressed the button under it, and the page says whose account it will be before that: who
//! talks somebody else into opening their own link has to talk them past it.

use super::browser::{Drawn, asking};
use super::{ASK_MS_MAX, stream};
use crate::config::{Config, ServiceConfig};
use crate::seed;
use anyhow::{Context, Result, anyhow, ensure};
use egress::{Egress, Shown};
use event::{AccountConnected, Digest, Fact, PrincipalId};
use front::accounts::{Begun, Came, Connecting};
use record::{Clock, Record};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use url::form_urlencoded;
use vault::{AccountRef, Accounts, Secret};

/// How long a link counts, in milliseconds.
const LINK_MS: i64 = 10 * 60 * 1_000;
/// Where browsers come back to.
const CALLBACK: &str = "/account/callback";

/// What a ticket says.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ticket {
    service: String,
    person: PrincipalId,
    until: i64,
}

/// What goes through the service as `state`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    ticket: Ticket,
    verifier: String,
    /// The digest of what the browser has in its cookie.
    cookie: Digest,
}

/// Connects accounts by links.
pub struct Linked {
    url: String,
    services: Vec<ServiceConfig>,
    accounts: Accounts,
    egress: Egress,
    record: Record,
    clock: Arc<dyn Clock>,
}

impl Linked {
    /// What connects accounts in this office; nothing where people's browsers do not reach it.
    ///
    /// # Errors
    /// When the way out cannot be made, or the record was opened without keys.
    pub fn of(config: &Config, record: &Record, clock: Arc<dyn Clock>) -> Result<Option<Self>> {
        let Some(url) = &config.accounts.url else { return Ok(None) };
        Ok(Some(Self {
            url: url.trim_end_matches('/').to_owned(),
            services: config.services.clone(),
            accounts: super::accounts(config, record)?,
            egress: super::way_out(config, record)?,
            record: record.clone(),
            clock,
        }))
    }

    /// The link by which `person` connects an account at the service that people call `name`.
    ///
    /// # Errors
    /// When there is no such service, or the system gives no randomness.
    pub fn link(&self, name: &str, person: &PrincipalId) -> Result<String> {
        let service = self.service(name)?;
        service.by_browser().with_context(|| format!("`{name}` is connected by a token, at the terminal"))?;
        let until = self.clock.now().plus_ms(LINK_MS).0;
        let ticket = Ticket { service: name.to_owned(), person: person.clone(), until };
        Ok(format!("{}/account/{}", self.url, self.accounts.ticket(&serde_json::to_string(&ticket)?)?))
    }

    fn service(&self, name: &str) -> Result<&ServiceConfig> {
        let named = self.services.iter().find(|service| service.name == name);
        named.with_context(|| format!("there is no service `{name}`"))
    }

    fn ticket(&self, text: &str) -> Option<Ticket> {
        let ticket: Ticket = serde_json::from_str(&self.accounts.opened(text)?).ok()?;
        (ticket.until > self.clock.now().0).then_some(ticket)
    }

    fn begun(&self, text: &str) -> Option<Begun> {
        let ticket = self.ticket(text)?;
        let service = self.service(&ticket.service).ok()?.clone();
        let (drawn, cookie) = (Drawn::new().ok()?, super::browser::drawn().ok()?);
        let state = State { ticket, verifier: drawn.verifier.clone(), cookie: Digest::of(cookie.as_bytes()) };
        let state = self.accounts.ticket(&serde_json::to_string(&state).ok()?).ok()?;
        let address = asking(&service, &self.redirect(), &Drawn { state, ..drawn }).ok()?;
        Some(Begun { address: address.into(), cookie, secure: self.url.starts_with("https://") })
    }

    fn redirect(&self) -> String {
        format!("{}{CALLBACK}", self.url)
    }

    async fn came(&self, query: &str, cookie: &str) -> Result<String> {
        let one = |name: &str| {
            let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(known, _)| known == name);
            let first = values.next().map(|(_, value)| value.into_owned());
            // Said twice, it could be read as either.
            first.filter(|_| values.next().is_none())
        };
        let over = || anyhow!("This link is none, or its ten minutes are over. Ask for another.");
        let state = one("state").and_then(|state| self.accounts.opened(&state)).ok_or_else(over)?;
        let state: State = serde_json::from_str(&state).map_err(|_| over())?;
        let in_time = state.ticket.until > self.clock.now().0;
        ensure!(in_time && state.cookie == Digest::of(cookie.as_bytes()), over());
        let code = one("code").and_then(Secret::given);
        let code = code.context("The service gave no access: nothing is connected.")?;
        let service = self.service(&state.ticket.service)?;
        let by = service.by_browser().context("This service is not connected in a browser.")?;
        let verifier = Secret::given(state.verifier).ok_or_else(over)?;
        let redirect = self.redirect();
        let shown = Shown::Code { code: &code, verifier: &verifier, redirect: &redirect };
        let deadline = Instant::now() + Duration::from_millis(ASK_MS_MAX);
        let given = self.egress.ask_token(by.token, &service.client(), &shown, deadline).await;
        let given = given.map_err(|error| {
            tracing::warn!(service = service.name, %error, "an account was not connected");
            anyhow!("The service gave no token: nothing is connected. Ask for another link.")
        })?;
        self.keep(service, state.ticket.person, given).await?;
        Ok(format!("Connected. What I read with your account at {} is told to nobody but you.", service.name))
    }

    async fn keep(&self, service: &ServiceConfig, person: PrincipalId, given: egress::Granted) -> Result<()> {
        let account = AccountRef { credential: service.credential.clone(), owner: person.clone() };
        let lasts = given.lasts_ms.and_then(|ms| i64::try_from(ms).ok());
        let ends_at = lasts.map(|ms| self.clock.now().plus_ms(ms).0);
        self.accounts.keep(&account, &given.access, given.refresh.as_ref(), ends_at)?;
        let fact = AccountConnected {
            credential: account.credential,
            owner: person.clone(),
            by: person.clone(),
            seats: BTreeSet::new(),
            scopes: given.scopes,
        };
        let append =
            seed::append_of(seed::fresh_event_id()?, seed::host(), stream(&person), Fact::from(fact));
        self.record.append_all(vec![append]).await?;
        Ok(())
    }
}

impl Connecting for Linked {
    fn about(&self, ticket: &str) -> Option<String> {
        let ticket = self.ticket(ticket)?;
        Some(format!(
            "This connects an account at {} to {}. Go on only if that is you: whoever it is asks this office to use your \
             account.",
            ticket.service,
            named(&ticket.person)
        ))
    }

    fn begin(&self, ticket: &str) -> Option<Begun> {
        self.begun(ticket)
    }

    fn back<'a>(
        &'a self,
        query: &'a str,
        cookie: &'a str,
    ) -> Pin<Box<dyn Future<Output = Came> + Send + 'a>> {
        Box::pin(async move {
            match self.came(query, cookie).await {
                Ok(said) => Came { well: true, said },
                Err(error) => Came { well: false, said: error.to_string() },
            }
        })
    }
}

/// A person as a page calls them.
fn named(person: &PrincipalId) -> String {
    match person.as_str().strip_prefix("person_slack.").and_then(|rest| rest.split_once('.')) {
        Some((team, user)) => format!("the member {user} of the Slack workspace {team}"),
        None => person.to_string(),
    }
}
