//! Labels: who may read a thing, and whether it may be trusted. Both are three-valued, and *unknown* is
//! never public and never trusted.
//!
//! Readers are kept as the audiences a reader must belong to, all of them: joining two labels is the union
//! of their audiences, which is the intersection of their readers, and no membership list is frozen into
//! an event. Whether one audience lies within another is asked of the directory, not of a label.

use crate::PrincipalId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A group of readers, named and not listed, so that it stays true when members come and go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// One principal.
    Principal(PrincipalId),
    /// Whoever is a member of this Slack conversation.
    SlackChannel {
        /// The workspace, `T…`.
        team: String,
        /// The conversation, `C…`, `G…` or `D…`.
        channel: String,
    },
    /// Whoever sits at this terminal session.
    Terminal(String),
    /// The operators of this office.
    Operators,
}

/// Who may read. `Within` of no audience is everyone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readers {
    /// Not known: nobody may be assumed to.
    Unknown,
    /// Whoever belongs to each of these audiences; everyone when there is none.
    Within(BTreeSet<Audience>),
}

/// Whether content may be trusted as instruction. Ordered: the join takes the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    /// Written by someone outside the office, or derived from such.
    Untrusted,
    /// Not known; treated as untrusted by every check.
    Unknown,
    /// Written by the host or by a principal of this office.
    Trusted,
}

/// Who may read, and whether it is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Who may read.
    pub readers: Readers,
    /// Whether it may be trusted.
    pub integrity: Integrity,
}

impl Label {
    /// Nothing is known: the label of what no rule speaks of.
    #[must_use]
    pub fn unknown() -> Self {
        Self { readers: Readers::Unknown, integrity: Integrity::Unknown }
    }

    /// What the host itself states, for operators alone.
    #[must_use]
    pub fn host() -> Self {
        Self::within(Audience::Operators, Integrity::Trusted)
    }

    /// Everyone may read it and nobody vouches for it: a page of the web.
    #[must_use]
    pub fn public_untrusted() -> Self {
        Self { readers: Readers::Within(BTreeSet::new()), integrity: Integrity::Untrusted }
    }

    /// Readable by one audience.
    #[must_use]
    pub fn within(audience: Audience, integrity: Integrity) -> Self {
        Self { readers: Readers::Within(BTreeSet::from([audience])), integrity }
    }

    /// The label of what was made from both: readers intersect, integrity is the lower.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let readers = match (&self.readers, &other.readers) {
            (Readers::Within(a), Readers::Within(b)) => Readers::Within(a.union(b).cloned().collect()),
            _ => Readers::Unknown,
        };
        Self { readers, integrity: self.integrity.min(other.integrity) }
    }

    /// The join of all of them; trusted and for everyone when there are none.
    #[must_use]
    pub fn join_all<'a>(labels: impl IntoIterator<Item = &'a Self>) -> Self {
        let nothing = Self { readers: Readers::Within(BTreeSet::new()), integrity: Integrity::Trusted };
        labels.into_iter().fold(nothing, |all, one| all.join(one))
    }
}

#[cfg(test)]
mod tests {
    use super::{Audience, Integrity, Label, Readers};
    use proptest::prelude::*;

    fn label() -> impl Strategy<Value = Label> {
        let audience = (0_u8..4).prop_map(|n| Audience::Terminal(n.to_string()));
        let readers = prop_oneof![
            Just(Readers::Unknown),
            proptest::collection::btree_set(audience, 0..4).prop_map(Readers::Within)
        ];
        let integrity =
            prop_oneof![Just(Integrity::Untrusted), Just(Integrity::Unknown), Just(Integrity::Trusted)];
        (readers, integrity).prop_map(|(readers, integrity)| Label { readers, integrity })
    }

    proptest! {
        #[test]
        fn joining_is_a_semilattice(a in label(), b in label(), c in label()) {
            prop_assert_eq!(a.join(&b), b.join(&a));
            prop_assert_eq!(a.join(&b).join(&c), a.join(&b.join(&c)));
            prop_assert_eq!(a.join(&a), a);
        }

        #[test]
        fn joining_never_widens_and_never_lifts(a in label(), b in label()) {
            let joined = a.join(&b);
            prop_assert!(joined.integrity <= a.integrity);
            match (&a.readers, &joined.readers) {
                (Readers::Within(before), Readers::Within(after)) => prop_assert!(after.is_superset(before)),
                (Readers::Unknown, after) => prop_assert_eq!(after, &Readers::Unknown),
                (_, Readers::Unknown) => {}
            }
        }
    }
}
