//! Money as integers: nano-US-dollars. One cent is 10,000,000; the largest amount is about 9.2 billion dollars.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// An amount in billionths of a US dollar. In JSON it is a decimal string, because a JSON number above
/// 2^53-1 does not survive every reader (RFC 7493, section 2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NanoUsd(pub i64);

impl NanoUsd {
    /// Nothing at all. Never a stand-in for an amount that is not known.
    pub const ZERO: Self = Self(0);

    /// The sum, or nothing when it does not fit.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference (may be negative), or nothing when it does not fit.
    #[must_use]
    pub fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The amount `count` times, or nothing when it does not fit.
    #[must_use]
    pub fn times(self, count: u64) -> Option<Self> {
        i64::try_from(count).ok().and_then(|n| self.0.checked_mul(n)).map(Self)
    }

    /// Reads `12`, `12.5` or `0.000000001` as dollars: digits, then at most nine decimals, no sign.
    #[must_use]
    pub fn from_dollars(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || part.len() > 9 || !digits(whole) || !digits(part) {
            return None;
        }
        let whole: i64 = whole.parse().ok()?;
        let part: i64 = format!("{part:0<9}").parse().ok()?;
        whole.checked_mul(1_000_000_000)?.checked_add(part).map(Self)
    }
}

impl fmt::Display for NanoUsd {
    /// As dollars, with at least two decimals and no more than are needed: `$0.50`, `$0.000012`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let all = self.0.unsigned_abs();
        let part = format!("{:09}", all % 1_000_000_000);
        let kept = part.trim_end_matches('0').len().max(2);
        write!(f, "{sign}${}.{}", all / 1_000_000_000, part.get(..kept).unwrap_or(&part))
    }
}

impl Serialize for NanoUsd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for NanoUsd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map(Self)
            .map_err(|_| serde::de::Error::custom(format!("`{text}` is not an amount in nano-USD")))
    }
}

#[cfg(test)]
mod tests {
    use super::NanoUsd;

    #[test]
    fn dollars_are_read_exactly_or_not_at_all() {
        assert_eq!(NanoUsd::from_dollars("12.5"), Some(NanoUsd(12_500_000_000)));
        assert_eq!(NanoUsd::from_dollars("0.000000001"), Some(NanoUsd(1)));
        for wrong in ["", ".5", "-1", "1e3", "0.0000000001", "1,000", "99999999999999"] {
            assert_eq!(NanoUsd::from_dollars(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_amount_is_shown_as_money_and_kept_as_a_string() {
        assert_eq!(NanoUsd(500_000_000).to_string(), "$0.50");
        assert_eq!(NanoUsd(-12_345).to_string(), "-$0.000012345");
        let text = serde_json::to_string(&NanoUsd(7)).unwrap();
        assert_eq!(text, "\"7\"");
        assert_eq!(serde_json::from_str::<NanoUsd>(&text).unwrap(), NanoUsd(7));
        assert!(serde_json::from_str::<NanoUsd>("7").is_err());
    }
}
