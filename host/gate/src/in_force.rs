//! Which policies are in force: the record's set as this host can load it, without what was revoked.
//!
//! Always holds: a decision is made with the set the record names, as soon as the record names it, or, when that
//! set does not load beside the tools of this host, with the last one that did; in both without every permit that
//! was revoked by then. A host that starts has no last one, and does not start. Deliberately absent: applying,
//! proposing, revoking: those are facts that others append.

use crate::pass::{Gate, GateError};
use crate::policy::PolicySet;
use event::{PluginGranted, PluginRevoked, PolicyApplied};
use fold::Projection;
use fold::setting::{self, InForce, Settings};
use record::Rows;
use std::sync::{Arc, PoisonError};

/// The set that decides, and what the record said when it was loaded.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    stated: InForce,
    /// Which tools it was loaded beside.
    revision: u64,
    set: Arc<PolicySet>,
    /// Why it is not the set that the record names.
    trouble: Option<Arc<str>>,
}

impl Gate {
    /// The policy set that decides now.
    pub(crate) async fn policy(&self) -> Result<Arc<PolicySet>, GateError> {
        let stated = self.setting(setting::IN_FORCE).await?;
        self.policy_in_force(stated).await
    }

    /// The policy set that decides where the record says `stated`. Loads only when that is something else than the
    /// last time.
    pub(crate) async fn policy_in_force(&self, stated: Option<InForce>) -> Result<Arc<PolicySet>, GateError> {
        let stated = match stated {
            Some(stated) => stated,
            // A record of before there was this row: its rows are still those of then.
            None => {
                let applied: Option<PolicyApplied> = self.setting(setting::POLICY).await?;
                InForce { set: applied.map(|applied| applied.digest), ..InForce::default() }
            }
        };
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner).clone();
        let revision = self.parts.catalogue.revision();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.stated == stated && kept.revision == revision) {
            return Ok(kept.set.clone());
        }
        let applied: PolicyApplied = self.setting(setting::POLICY).await?.ok_or(GateError::NoPolicy)?;
        let now = self.load((stated, revision), &applied, kept)?;
        let set = now.set.clone();
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = Some(now);
        Ok(set)
    }

    fn load(
        &self,
        (stated, revision): (InForce, u64),
        applied: &PolicyApplied,
        kept: Option<Kept>,
    ) -> Result<Kept, GateError> {
        let catalogue = &self.parts.catalogue;
        let is_same = |kept: &&Kept| *kept.set.digest() == applied.digest && kept.revision == revision;
        let same = kept.as_ref().filter(is_same);
        let loaded = match same {
            // Only what is revoked changed.
            Some(kept) => kept.set.without(&stated.revoked),
            None => PolicySet::load(&applied.files, &catalogue.named(), &catalogue.models(), &stated.revoked),
        };
        match (loaded, kept) {
            (Ok(set), _) => Ok(Kept { stated, revision, set: Arc::new(set), trouble: None }),
            (Err(error), None) => Err(GateError::Policy(error)),
            (Err(error), Some(kept)) => {
                let trouble = format!(
                    "the policy set {} does not load on this host, which goes on with {}: {error}",
                    applied.digest.short(),
                    kept.set.digest().short()
                );
                tracing::error!(
                    "{trouble}; apply a set that fits its tools, or give it the tools the set names"
                );
                let set = kept.set.without(&stated.revoked).map_err(GateError::Policy)?;
                Ok(Kept { stated, revision, set: Arc::new(set), trouble: Some(trouble.into()) })
            }
        }
    }

    /// Why the set that decides is not the one the record names; nothing when it is.
    #[must_use]
    pub fn policy_trouble(&self) -> Option<Arc<str>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().and_then(|kept| kept.trouble.clone())
    }
}

/// Why `plugin`, which has routes, may use none of those it was loaded with; nothing when it may.
pub(crate) fn no_grant(rows: &Rows, plugin: &str, component: &event::Digest) -> Option<String> {
    match rows.state::<PluginGranted>(Settings.name(), &setting::grant(plugin)) {
        Some(granted) if granted.digest == *component => None,
        Some(_) => Some(format!("the grant of the plugin `{plugin}` is for another version of it")),
        None => {
            let revoked: Option<PluginRevoked> = rows.state(Settings.name(), &setting::ungranted(plugin));
            let why = revoked.map_or_else(
                || "it holds no grant".to_owned(),
                |revoked| format!("its grant was revoked: {}", revoked.reason),
            );
            Some(format!(
                "the plugin `{plugin}` reaches nothing, because {why}; the operator gives it anew with \
                 `chancery plugin grant {plugin}`"
            ))
        }
    }
}
