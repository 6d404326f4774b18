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

impl Audience {
    /// Whether only one person belongs to it: it is that person, a direct message of Slack, or a terminal.
    #[must_use]
    pub fn is_of_one(&self) -> bool {
        match self {
            Self::Principal(_) | Self::Terminal(_) => true,
            Self::SlackChannel { channel, .. } => channel.starts_with('D'),
            Self::Operators => false,
        }
    }
}

/// Who may read. `Within` of no audience is everyone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readers {
    /// Not known: nobody may be assumed to.
    Unknown,
    /// Whoever belongs to each of these audiences; everyone when there is none.
    Within(BTreeSet<Audience>),
    /// Not known, and at most whoever belongs to each of these, which are one person's each: what is one's own does
    /// not become less so by being read together with something that nobody knows.
    UnknownWithin(BTreeSet<Audience>),
}

impl Readers {
    /// The audiences that every reader belongs to, as far as they are known.
    #[must_use]
    pub fn audiences(&self) -> Option<&BTreeSet<Audience>> {
        match self {
            Self::Unknown => None,
            Self::Within(known) | Self::UnknownWithin(known) => Some(known),
        }
    }

    /// The readers of what was made from both.
    fn join(&self, other: &Self) -> Self {
        let both: BTreeSet<Audience> =
            [self, other].into_iter().filter_map(Self::audiences).flatten().cloned().collect();
        if matches!((self, other), (Self::Within(_), Self::Within(_))) {
            return Self::Within(both);
        }
        let own: BTreeSet<Audience> = both.into_iter().filter(Audience::is_of_one).collect();
        if own.is_empty() { Self::Unknown } else { Self::UnknownWithin(own) }
    }
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
        let readers = self.readers.join(&other.readers);
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
    use crate::PrincipalId;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn label() -> impl Strategy<Value = Label> {
        let person = |n: u8| PrincipalId::parse(&format!("person_{n}")).unwrap();
        let own = (0_u8..4).prop_map(move |n| Audience::Principal(person(n)));
        let channel = |n: u8| Audience::SlackChannel { team: "T1".into(), channel: format!("C{n}") };
        let audience = prop_oneof![own.clone(), (0_u8..4).prop_map(channel)];
        let readers = prop_oneof![
            Just(Readers::Unknown),
            proptest::collection::btree_set(audience, 0..4).prop_map(Readers::Within),
            proptest::collection::btree_set(own, 1..4).prop_map(Readers::UnknownWithin),
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
                (Readers::Unknown | Readers::UnknownWithin(_), after) => {
                    prop_assert!(!matches!(after, Readers::Within(_)), "what is not known stays so");
                }
                (Readers::Within(_), Readers::Unknown | Readers::UnknownWithin(_)) => {}
            }
            let own = |readers: &Readers| -> BTreeSet<Audience> {
                readers.audiences().into_iter().flatten().filter(|one| one.is_of_one()).cloned().collect()
            };
            prop_assert!(own(&joined.readers).is_superset(&own(&a.readers)), "what is one's own stays so");
        }
    }
}
