//! `[telemetry]`: where traces go, when they go anywhere.

use super::Config;
use anyhow::{Context, Result, ensure};
use egress::{Origin, Target, judge_url};
use serde::Deserialize;

/// What the protocol puts behind a collector's address for traces.
const PATH: &str = "/v1/traces";

/// The exporter of traces. Without this section there is none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetryConfig {
    /// The collector's address without the path of traces: `http://127.0.0.1:4318` on this machine, `https://…` elsewhere.
    pub otlp: String,
    /// The credential that the collector wants, by reference.
    pub credential: Option<String>,
    /// What the traces are filed under: `service.name`.
    #[serde(default = "service")]
    pub service: String,
}

fn service() -> String {
    "chancery".to_owned()
}

impl TelemetryConfig {
    /// The address that traces are posted to.
    ///
    /// # Errors
    /// Why it is none.
    pub fn url(&self) -> Result<Target> {
        let url = format!("{}{PATH}", self.otlp.trim_end_matches('/'));
        judge_url(&url, self.loopback()?.as_slice()).with_context(|| {
            format!(
                "`telemetry.otlp` is `{}`, and traces go to `http://127.0.0.1:PORT` (or `localhost`) on this machine, or \
                 to `https://` and a public name",
                self.otlp.escape_debug()
            )
        })
    }

    /// The collector's origin, when it is on this machine.
    ///
    /// # Errors
    /// When the address is none.
    pub fn loopback(&self) -> Result<Option<Origin>> {
        let authority = self.otlp.split_once("://").map_or("", |(_, rest)| rest);
        let host = authority.split('/').next().unwrap_or_default();
        let scheme = self.otlp.split("://").next().unwrap_or_default();
        let origin = Origin::parse(&format!("{scheme}://{host}"))
            .with_context(|| format!("`telemetry.otlp` is `{}`", self.otlp.escape_debug()))?;
        Ok(Some(origin).filter(Origin::names_loopback))
    }

    pub(super) fn check(&self, config: &Config) -> Result<()> {
        self.url()?;
        ensure!(!self.service.trim().is_empty(), "`telemetry.service` is empty");
        if let Some(credential) = &self.credential {
            ensure!(
                config.credentials.contains_key(credential),
                "`telemetry.credential` is `{}`, and `[credentials]` has no such entry",
                credential.escape_debug()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::TelemetryConfig;

    fn of(otlp: &str) -> TelemetryConfig {
        TelemetryConfig { otlp: otlp.to_owned(), credential: None, service: "chancery".to_owned() }
    }

    #[test]
    fn traces_go_to_this_machine_or_over_tls_to_a_public_name_and_nowhere_else() {
        for (otlp, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
            ("https://otlp.example.com", "https://otlp.example.com/v1/traces"),
            ("https://otlp.example.com/otlp", "https://otlp.example.com/otlp/v1/traces"),
        ] {
            assert_eq!(of(otlp).url().map(|url| url.to_string()).ok().as_deref(), Some(url), "{otlp}");
        }
        for otlp in [
            "http://otlp.example.com",
            "http://10.0.0.1:4318",
            "https://10.0.0.1",
            "127.0.0.1:4318",
            "grpc://127.0.0.1:4317",
            "",
        ] {
            assert!(of(otlp).url().is_err(), "{otlp}");
        }
    }
}
