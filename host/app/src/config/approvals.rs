//! `[approvals]`: how long a call waits for a person's yes.

use anyhow::{Result, bail};
use gate::approval::{WAIT_MS, WAIT_MS_MAX};
use gate::{ApprovalTimes, EffectClass};
use serde::Deserialize;
use std::collections::BTreeMap;

/// How long a call waits for a person's yes; no answer by then is a no.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalsConfig {
    /// For every class that is not named, in milliseconds; a quarter of an hour by default.
    pub wait_ms: Option<i64>,
    /// By effect class, such as `destructive = 86400000`.
    #[serde(default)]
    pub by_class: BTreeMap<EffectClass, i64>,
}

impl ApprovalsConfig {
    /// The same, checked.
    ///
    /// # Errors
    /// The setting that is no time to wait.
    pub fn times(&self) -> Result<ApprovalTimes> {
        let all = self.by_class.iter().map(|(class, ms)| (format!("by_class.{}", class.word()), *ms));
        for (name, ms) in all.chain(self.wait_ms.map(|ms| ("wait_ms".to_owned(), ms))) {
            if !(1..=WAIT_MS_MAX).contains(&ms) {
                bail!("`[approvals] {name} = {ms}` is not a time to wait: 1 to {WAIT_MS_MAX} milliseconds");
            }
        }
        Ok(ApprovalTimes { wait_ms: self.wait_ms.unwrap_or(WAIT_MS), by_class: self.by_class.clone() })
    }
}
