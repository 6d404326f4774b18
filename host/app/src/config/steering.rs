//! Who may stop a running turn or put another wish in its place.

use anyhow::{Context, Result};
use event::PrincipalId;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Whoever asked may, and the owner; these may too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteeringConfig {
    /// Principals, such as `person_slack.T01.U01`.
    #[serde(default)]
    pub also: Vec<String>,
}

impl SteeringConfig {
    /// Those that are named.
    ///
    /// # Errors
    /// The first that is no principal.
    pub fn named(&self) -> Result<BTreeSet<PrincipalId>> {
        let read = |name: &String| {
            PrincipalId::parse(name).with_context(|| format!("`{name}` in `steering.also` is no principal"))
        };
        self.also.iter().map(read).collect()
    }
}
