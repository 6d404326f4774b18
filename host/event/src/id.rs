//! Typed ids: a prefix that says what is named, then either a moment and entropy (minted, sortable) or a
//! digest of what the thing came from (derived, so that naming it twice gives one name).

use crate::{Digest, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Text that is not an id of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct IdError {
    text: String,
    wanted: &'static str,
}

impl IdError {
    pub(crate) fn of(text: &str, wanted: &'static str) -> Self {
        Self { text: text.to_owned(), wanted }
    }
}

/// Longest id, in bytes: fits every index and a log line.
pub const ID_BYTES_MAX: usize = 200;

const BASE32: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The lowest `5 * chars` bits of `value` as Crockford base32, most significant first.
fn base32(value: u128, chars: u32) -> String {
    let digit = |i: u32| BASE32.get((value >> (5 * (chars - 1 - i)) & 31) as usize).copied().unwrap_or(b'0');
    (0..chars).map(|i| char::from(digit(i))).collect()
}

fn plain(text: &str) -> bool {
    let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':');
    !text.is_empty() && text.len() <= ID_BYTES_MAX && text.bytes().all(ok)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// A new name: 48 bits of time, then 80 bits of `entropy`, so that names sort by age.
            #[must_use]
            pub fn mint(at: Timestamp, entropy: [u8; 10]) -> Self {
                let mut bytes = [0_u8; 16];
                let (time, rest) = bytes.split_at_mut(6);
                for (to, from) in time.iter_mut().zip(at.0.max(0).to_be_bytes().into_iter().skip(2)) {
                    *to = from;
                }
                rest.copy_from_slice(&entropy);
                Self(format!(concat!($prefix, "_{}"), base32(u128::from_be_bytes(bytes), 26)))
            }

            /// The one name of what `parts` describe: the same parts always give the same name.
            #[must_use]
            pub fn derived(parts: &[&str]) -> Self {
                let parts: Vec<&[u8]> = parts.iter().map(|p| p.as_bytes()).collect();
                let digest = Digest::of_parts(&parts);
                Self(format!(concat!($prefix, "_{}"), digest.as_str().get(..26).unwrap_or_default()))
            }

            /// Reads an id of this kind.
            ///
            /// # Errors
            /// When the prefix is another, or the rest is empty, too long or not plain ASCII.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                Self::try_from(text.to_owned())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                match text.strip_prefix(concat!($prefix, "_")) {
                    Some(rest) if plain(rest) => Ok(Self(text)),
                    _ => Err(IdError { text, wanted: concat!("an id that starts with `", $prefix, "_`") }),
                }
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

id!(/// Names one event. An event with a derived id can be appended again and stays one event.
    EventId, "evt");
id!(/// Names one bounded run of a seat.
    TurnId, "turn");
id!(/// Names a seat.
    SeatId, "seat");
id!(/// Names what one seat asks of another.
    RequestId, "req");
id!(/// Names money set aside for one call.
    HoldId, "hold");
id!(/// Names one change outside, by its meaning and content.
    EffectId, "effect");
id!(/// Names what one read left behind.
    ReceiptId, "receipt");
id!(/// Names one call that waits, or waited, for a person's yes.
    ApprovalId, "approval");
id!(/// Names one standing no.
    RefusalId, "refusal");

/// What kind of principal acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrincipalKind {
    /// Someone outside the host: a member of the workspace, a user at the terminal.
    Person,
    /// A holder of seats that thinks with a model.
    Agent,
    /// The host itself, in one of its parts.
    System,
}

/// Someone who can act: `person_slack.T01.U02`, `agent_chancery`, `system_host`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PrincipalId(String);

impl PrincipalId {
    /// Reads a principal.
    ///
    /// # Errors
    /// When the text does not start with `person_`, `agent_` or `system_`, or the rest is not plain.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        Self::try_from(text.to_owned())
    }

    /// The host itself.
    #[must_use]
    pub fn host() -> Self {
        Self("system_host".to_owned())
    }

    /// The organisation itself: it owns the accounts that are nobody's in particular.
    #[must_use]
    pub fn organisation() -> Self {
        Self("system_organisation".to_owned())
    }

    /// The gate: it states what came of calls.
    #[must_use]
    pub fn gate() -> Self {
        Self("system_gate".to_owned())
    }

    /// What kind of principal this is, read from its prefix.
    #[must_use]
    pub fn kind(&self) -> PrincipalKind {
        match self.0.split('_').next() {
            Some("person") => PrincipalKind::Person,
            Some("agent") => PrincipalKind::Agent,
            _ => PrincipalKind::System,
        }
    }

    /// The principal as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for PrincipalId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        let rest = ["person_", "agent_", "system_"].iter().find_map(|p| text.strip_prefix(p));
        match rest {
            Some(rest) if plain(rest) => Ok(Self(text)),
            _ => Err(IdError { text, wanted: "a principal (`person_…`, `agent_…` or `system_…`)" }),
        }
    }
}

impl From<PrincipalId> for String {
    fn from(id: PrincipalId) -> Self {
        id.0
    }
}

/// The subject behind a chain of causes: one Slack thread, one terminal session. `slack:T01:C01:1700000000.000100`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Topic(String);

impl Topic {
    /// Reads a topic: plain ASCII, at most [`ID_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// When the text is empty, too long, or holds anything but letters, digits, `.`, `-`, `_` and `:`.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        Self::try_from(text.to_owned())
    }

    /// The topic as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The workspace it stands in, such as `T01`; nothing for what is said on this machine, and for what no place was
    /// ever the root of.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        let mut parts = self.0.split(':');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("slack"), Some(team), Some(_)) if !team.is_empty() => Some(team),
            _ => None,
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Topic {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        if plain(&text) { Ok(Self(text)) } else { Err(IdError { text, wanted: "a topic" }) }
    }
}

impl From<Topic> for String {
    fn from(topic: Topic) -> Self {
        topic.0
    }
}

#[cfg(test)]
mod tests {
    use super::{EventId, PrincipalId, PrincipalKind, TurnId};
    use crate::Timestamp;

    #[test]
    fn minted_ids_sort_by_time_and_read_back() {
        let early = TurnId::mint(Timestamp(1_000), [255; 10]);
        let late = TurnId::mint(Timestamp(1_001), [0; 10]);
        assert!(early < late);
        assert_eq!(TurnId::parse(late.as_str()), Ok(late.clone()));
        assert_eq!(late.as_str().len(), "turn_".len() + 26);
        assert!(EventId::parse(late.as_str()).is_err());
    }

    #[test]
    fn a_derived_id_depends_on_where_the_parts_end() {
        assert_eq!(EventId::derived(&["a", "b"]), EventId::derived(&["a", "b"]));
        assert_ne!(EventId::derived(&["ab", ""]), EventId::derived(&["a", "b"]));
    }

    #[test]
    fn a_principal_says_what_it_is() {
        assert_eq!(PrincipalId::parse("person_slack.T1.U1").unwrap().kind(), PrincipalKind::Person);
        assert_eq!(PrincipalId::parse("system_host").unwrap().kind(), PrincipalKind::System);
        for wrong in ["U1", "person_", "person_<@U1>", "seat_x", "agent_a b"] {
            assert!(PrincipalId::parse(wrong).is_err(), "{wrong}");
        }
    }
}
