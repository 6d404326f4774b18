//! Checking Slack's request signatures, version 0, without showing the signing secret to anyone.
//!
//! Source of the rule: "Verifying requests from Slack", docs.slack.dev. The signature is
//! `v0=` and the hexadecimal HMAC-SHA256 of `v0:{timestamp}:{body}`, over the raw body before any parsing.
//! Beyond that page, a timestamp from the future is refused too, and two secrets are accepted while one is
//! being replaced. The time it takes does not depend on the secrets. Deliberately absent: the deprecated
//! verification token.

use crate::{Secret, Source, VaultError};
use event::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

/// How far a request's time may be from ours, either way, in milliseconds: Slack's five minutes.
pub const SIGNATURE_AGE_MS_MAX: i64 = 300_000;

/// How many secrets may be valid at once: the new one, and the old one for the day Slack still accepts it.
pub const SIGNING_SECRETS_MAX: usize = 2;

/// Longest timestamp in decimal digits: enough for 300 million years.
const TIMESTAMP_DIGITS_MAX: usize = 16;

/// Why a request is not believed to come from Slack. Each is answered with 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Sent more than five minutes ago: a replay, or this host's clock is ahead.
    #[error("the signed timestamp is more than five minutes old")]
    Stale,
    /// Sent more than five minutes from now: this host's clock is behind, or the sender's is ahead.
    #[error("the signed timestamp is more than five minutes ahead")]
    Future,
    /// A header does not have its form.
    #[error("the timestamp or the signature is not well formed")]
    Malformed,
    /// No secret gives this signature.
    #[error("the signature does not match")]
    Mismatch,
}

/// The signing secrets in use.
pub struct SigningKeys(Vec<Secret>);

impl SigningKeys {
    /// Reads one secret, or two during a rotation.
    ///
    /// # Errors
    /// [`VaultError::SigningSecrets`] when there are none or too many; otherwise as for a credential, under
    /// the name `signing secret 1` or `2`. One empty secret refuses all: it would let anyone sign.
    pub fn load(sources: &[Source]) -> Result<Self, VaultError> {
        if sources.is_empty() || sources.len() > SIGNING_SECRETS_MAX {
            return Err(VaultError::SigningSecrets(sources.len()));
        }
        let read = |(i, source): (usize, &Source)| source.read(&format!("signing secret {}", i + 1));
        sources.iter().enumerate().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether `body` was signed with one of these secrets within five minutes of `now`. Takes the raw values
    /// of the headers `X-Slack-Request-Timestamp` (seconds) and `X-Slack-Signature`, and the raw body.
    ///
    /// # Errors
    /// The first of [`SignatureError`] that applies: malformed, then the time, then the signature.
    pub fn verify_v0(
        &self,
        timestamp_header: &str,
        signature_header: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<(), SignatureError> {
        let sent = seconds(timestamp_header).ok_or(SignatureError::Malformed)?;
        let given = signature(signature_header).ok_or(SignatureError::Malformed)?;
        let age_ms = now.since_ms(Timestamp(sent.saturating_mul(1_000)));
        if age_ms > SIGNATURE_AGE_MS_MAX {
            return Err(SignatureError::Stale);
        }
        if age_ms < -SIGNATURE_AGE_MS_MAX {
            return Err(SignatureError::Future);
        }
        // Every secret is tried, so that the time taken does not say which one matched.
        let any = self
            .0
            .iter()
            .fold(Choice::from(0), |any, key| any | matches(key, timestamp_header, body, &given));
        if any.into() { Ok(()) } else { Err(SignatureError::Mismatch) }
    }
}

/// Decimal digits alone: a sign or a space is somebody else's reading of a number.
fn seconds(text: &str) -> Option<i64> {
    let plain = text.len() <= TIMESTAMP_DIGITS_MAX && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

fn signature(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text.strip_prefix("v0=")?, &mut bytes).ok()?;
    Some(bytes)
}

fn matches(key: &Secret, timestamp: &str, body: &[u8], given: &[u8; 32]) -> Choice {
    // HMAC takes a key of any length; a key it did not take matches nothing.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.bytes()) else { return Choice::from(0) };
    mac.update(b"v0:");
    mac.update(timestamp.as_bytes());
    mac.update(b":");
    mac.update(body);
    mac.finalize().into_bytes().as_slice().ct_eq(given)
}

#[cfg(test)]
mod tests {
    use super::{SignatureError, SigningKeys};
    use crate::{Secret, Source, VaultError};
    use event::Timestamp;
    use proptest::prelude::*;
    use zeroize::Zeroizing;

    // Slack's own test vector: `SlackSignatureTest.java` of java-slack-sdk.
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const SENT: &str = "1531420618";
    const BODY: &[u8] = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&\
        channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&\
        command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F\
        397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const SIGNATURE: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    const NOW: Timestamp = Timestamp(1_531_420_618_000);

    fn keys(values: &[&str]) -> SigningKeys {
        let key = |v: &&str| Secret::new(Zeroizing::new((*v).to_owned())).unwrap();
        SigningKeys(values.iter().map(key).collect())
    }

    #[test]
    fn slacks_own_vector_verifies() {
        assert_eq!(keys(&[SECRET]).verify_v0(SENT, SIGNATURE, BODY, NOW), Ok(()));
    }

    #[test]
    fn either_secret_of_a_rotation_verifies() {
        for pair in [[SECRET, "another"], ["another", SECRET]] {
            assert_eq!(keys(&pair).verify_v0(SENT, SIGNATURE, BODY, NOW), Ok(()));
        }
        assert_eq!(
            keys(&["one", "two"]).verify_v0(SENT, SIGNATURE, BODY, NOW),
            Err(SignatureError::Mismatch)
        );
    }

    #[test]
    fn five_minutes_count_in_both_directions() {
        let at = |ms| keys(&[SECRET]).verify_v0(SENT, SIGNATURE, BODY, NOW.plus_ms(ms));
        assert_eq!(at(300_000), Ok(()));
        assert_eq!(at(-300_000), Ok(()));
        assert_eq!(at(300_001), Err(SignatureError::Stale));
        assert_eq!(at(-300_001), Err(SignatureError::Future));
    }

    #[test]
    fn headers_without_their_form_are_malformed_and_never_a_panic() {
        let keys = keys(&[SECRET]);
        for sent in
            ["", " 1531420618", "+1531420618", "-1", "1531420618.0", "abc", "99999999999999999999", "١"]
        {
            assert_eq!(
                keys.verify_v0(sent, SIGNATURE, BODY, NOW),
                Err(SignatureError::Malformed),
                "{sent:?}"
            );
        }
        for signature in
            ["", "v0=", "v1=00", &SIGNATURE[3..], &SIGNATURE[..66], "v0=zz", &format!("{SIGNATURE}00")]
        {
            assert_eq!(
                keys.verify_v0(SENT, signature, BODY, NOW),
                Err(SignatureError::Malformed),
                "{signature:?}"
            );
        }
    }

    #[test]
    fn no_secret_an_empty_one_or_three_refuse_to_load() {
        assert!(matches!(SigningKeys::load(&[]), Err(VaultError::SigningSecrets(0))));
        let set = Source::Env("CARGO_PKG_NAME".to_owned());
        let three = vec![set.clone(); 3];
        assert!(matches!(SigningKeys::load(&three), Err(VaultError::SigningSecrets(3))));
        let empty = tempfile::NamedTempFile::new().unwrap();
        let error = SigningKeys::load(&[set.clone(), Source::File(empty.path().to_owned())]).err().unwrap();
        assert!(error.to_string().contains("`signing secret 2` is missing"), "{error}");
        assert!(SigningKeys::load(&[set]).is_ok());
    }

    proptest! {
        #[test]
        fn changing_any_byte_of_the_body_breaks_the_signature(at in 0..BODY.len(), to in any::<u8>()) {
            let mut body = BODY.to_vec();
            let same = body[at] == to;
            body[at] = to;
            let got = keys(&[SECRET]).verify_v0(SENT, SIGNATURE, &body, NOW);
            prop_assert_eq!(got, if same { Ok(()) } else { Err(SignatureError::Mismatch) });
        }

        #[test]
        fn no_header_panics_or_verifies_by_luck(sent in ".*", signature in ".*", body: Vec<u8>, now: i64) {
            prop_assert!(keys(&[SECRET]).verify_v0(&sent, &signature, &body, Timestamp(now)).is_err());
        }
    }
}
