//! Slack's Socket Mode: the way there, through egress, for the client in `front`.
//!
//! The app-level token goes into one request, `apps.connections.open`, under egress like any credential; the address
//! that comes back is a ticket for one connection, which goes to Slack's own hosts or to an origin of this machine that
//! the operator named.

use crate::config::Config;
use crate::wire;
use anyhow::Result;
use bytes::Bytes;
use egress::{Egress, Resolve};
use event::{Route, RoutePath};
use front::slack::socket::{Door, DoorError, Opened};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The credential that opens connections of the office's one app.
pub const TOKEN: &str = "slack.app-token";

/// The credential that opens connections of an app: of the one that is the workspace `team`'s own, or of the office's.
#[must_use]
pub fn token_of(team: Option<&str>) -> String {
    team.map_or_else(|| TOKEN.to_owned(), |team| format!("{TOKEN}@{team}"))
}

/// Where Slack's API is, unless the setting `api` of the plugin `slack` says otherwise.
const API: &str = "https://slack.com/api/";
/// The method that gives the address of a connection.
const METHOD: &str = "apps.connections.open";
/// How long it may take to ask for an address and to connect, in milliseconds.
const OPEN_MS_MAX: u64 = 20_000;
/// Where connections of Slack's go.
const HOST_SUFFIX: &str = ".slack.com";

/// The way to Slack's sockets.
pub struct Sockets {
    egress: Egress,
    api: String,
    loopback: Vec<String>,
    token: String,
}

impl Sockets {
    /// The way that `config` says, for the app of the workspace `team`, or for the office's one.
    ///
    /// # Errors
    /// When egress cannot be set up.
    pub fn of(config: &Config, resolver: Arc<dyn Resolve>, team: Option<&str>) -> Result<Self> {
        Ok(Self {
            egress: wire::egress(config, resolver, Arc::new(wire::vault(config)), egress::STARTING_LIMITS)?,
            api: Self::api_of(config),
            loopback: config.egress.loopback.clone(),
            token: token_of(team),
        })
    }

    /// Where the Web API is by `config`.
    #[must_use]
    pub fn api_of(config: &Config) -> String {
        let plugin = config.plugins.iter().find(|plugin| plugin.name == "slack");
        let api = plugin.and_then(|plugin| plugin.settings.get("api")).and_then(toml::Value::as_str);
        let slash = if api.unwrap_or(API).ends_with('/') { "" } else { "/" };
        format!("{}{slash}", api.unwrap_or(API))
    }

    /// The base of the Web API.
    #[must_use]
    pub fn api(&self) -> &str {
        &self.api
    }

    /// The way out.
    #[must_use]
    pub fn egress(&self) -> &Egress {
        &self.egress
    }

    /// The address of a new connection.
    async fn address(&self, deadline: Instant) -> Result<String, DoorError> {
        let url = format!("{}{METHOD}", self.api);
        let request = http::Request::post(&url).body(Bytes::new()).map_err(|e| later(e.to_string()))?;
        let route = exact_route("POST", &url, Some(self.token.clone()))
            .ok_or_else(|| later("the setting `api` is no address"))?;
        let sent = self.egress.send(request, &[route], deadline).await.map_err(|e| later(e.to_string()))?;
        let wait = sent.headers.get("retry-after").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let answer: Value = serde_json::from_slice(&sent.body).unwrap_or_default();
        let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match (answer.get("ok").and_then(Value::as_bool), text("error").as_str()) {
            (Some(true), _) => Ok(text("url")),
            (
                _,
                code @ ("invalid_auth"
                | "not_authed"
                | "token_revoked"
                | "account_inactive"
                | "not_allowed_token_type"
                | "missing_scope"
                | "forbidden_team"),
            ) => Err(DoorError::Shut(format!(
                "Slack does not open a connection with `{}` (`{code}`): it is the app-level token, xapp-…, with \
                 the scope connections:write",
                self.token
            ))),
            (_, code) => Err(DoorError::Later {
                why: format!("{METHOD} was answered with status {} and `{code}`", sent.status.as_u16()),
                wait_ms: wait.map(|seconds| seconds.saturating_mul(1_000)),
            }),
        }
    }

    async fn opened(&self) -> Result<Opened, DoorError> {
        let deadline = Instant::now() + Duration::from_millis(OPEN_MS_MAX);
        let address = self.address(deadline).await?;
        let web = address.replacen("wss://", "https://", 1).replacen("ws://", "http://", 1);
        let route = exact_route("GET", &web, None).filter(|route| self.is_slacks(&route.origin));
        let route = route.ok_or_else(|| later("Slack named an address that is not its own"))?;
        let dialled = self.egress.dial(&web, &[route], deadline).await.map_err(|e| later(e.to_string()))?;
        Ok(Opened { stream: Box::new(dialled), address })
    }

    /// Whether a connection may go to `origin`: to Slack's own hosts, or to this machine where the operator says so.
    fn is_slacks(&self, origin: &str) -> bool {
        let host = origin.strip_prefix("https://").unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default();
        host.ends_with(HOST_SUFFIX)
            || self.loopback.iter().any(|listed| listed.trim_end_matches('/') == origin)
    }
}

impl Door for Sockets {
    fn open(&self) -> Pin<Box<dyn Future<Output = Result<Opened, DoorError>> + Send + '_>> {
        Box::pin(self.opened())
    }
}

/// Scheme, host and port of an address.
#[must_use]
pub fn origin_of(url: &str) -> Option<String> {
    exact_route("GET", url, None).map(|route| route.origin)
}

fn later(why: impl Into<String>) -> DoorError {
    DoorError::Later { why: why.into(), wait_ms: None }
}

/// The route for exactly this method and the path of `url`.
pub(crate) fn exact_route(method: &str, url: &str, credential: Option<String>) -> Option<Route> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.split('?').next().unwrap_or_default();
    Some(Route {
        methods: vec![method.to_owned()],
        origin: format!("{scheme}://{authority}"),
        path: RoutePath::Whole(format!("/{path}")),
        credential,
    })
}

#[cfg(test)]
mod tests {
    use super::exact_route;

    #[test]
    fn the_route_is_that_of_the_address_and_no_wider() {
        let route = exact_route("GET", "https://wss-primary.slack.com/link/?ticket=a/b", None).unwrap();
        assert_eq!((route.origin.as_str(), route.path.text()), ("https://wss-primary.slack.com", "/link/"));
    }
}
