//! Sealing and opening one value under the keys of all its persons.
//!
//! The keys are joined by a chain of HMACs in order of the persons' ids, so that whoever lacks one knows nothing. The
//! nonce is an HMAC over what is sealed and where it stands: the same words in the same field give the same bytes, and
//! no nonce ever meets two texts. The cipher is XChaCha20-Poly1305, which takes a nonce of that length.
//!
//! Sealed, in base64: a version, the ids of the keys, the nonce, the ciphertext with its tag.

use super::Opened;
use super::about::About;
use super::error::KeyringError;
use super::key::{ID_BYTES, KEY_BYTES, Key, VERSION, ids};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use event::PrincipalId;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

const NONCE_BYTES: usize = 24;
/// The block of SHA-256, to which HMAC pads its key with zeros (RFC 2104).
const BLOCK_BYTES: usize = 64;

type Bytes32 = Zeroizing<[u8; KEY_BYTES]>;

/// What the keys of some persons come to.
struct Joined {
    nonce: Bytes32,
    cipher: Bytes32,
}

fn mac(key: &[u8; KEY_BYTES], parts: &[&[u8]]) -> Bytes32 {
    let mut block = Zeroizing::new([0; BLOCK_BYTES]);
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let mut mac = <Hmac<Sha256> as KeyInit>::new((&*block).into());
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    let mut made = mac.finalize().into_bytes();
    let kept = Zeroizing::new(made.into());
    made.fill(0);
    kept
}

fn joined(keys: &[(&PrincipalId, &Key)]) -> Joined {
    let mut chain: Bytes32 = Zeroizing::new([0; KEY_BYTES]);
    for (subject, key) in keys {
        chain = mac(&key.bytes, &[b"join", subject.as_str().as_bytes(), &*chain]);
    }
    Joined { nonce: mac(&chain, &[b"nonce"]), cipher: mac(&chain, &[b"cipher"]) }
}

/// What is vouched for beside the text: where it stands, whose it is, and under which keys.
fn beside(keys: &[(&PrincipalId, &Key)], about: &About<'_>) -> Vec<u8> {
    let About { stream, event, kind, field } = about;
    let mut beside = Vec::new();
    let mut part = |bytes: &[u8]| {
        beside.extend((bytes.len() as u64).to_be_bytes());
        beside.extend(bytes);
    };
    [*stream, event, kind, field].iter().for_each(|text| part(text.as_bytes()));
    for (subject, key) in keys {
        part(subject.as_str().as_bytes());
        part(&key.id.0);
    }
    beside
}

/// Seals `plain`.
pub(super) fn seal(
    keys: &[(&PrincipalId, &Key)],
    about: &About<'_>,
    plain: &[u8],
) -> Result<String, KeyringError> {
    let (joined, beside) = (joined(keys), beside(keys, about));
    let drawn = mac(&joined.nonce, &[&beside, plain]);
    let mut nonce = [0; NONCE_BYTES];
    for (to, from) in nonce.iter_mut().zip(drawn.iter()) {
        *to = *from;
    }
    let cipher = XChaCha20Poly1305::new((&*joined.cipher).into());
    let text = cipher
        .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: &beside })
        .map_err(|_| KeyringError::TooLong)?;
    let mut sealed = vec![VERSION];
    keys.iter().for_each(|(_, key)| sealed.extend(key.id.0));
    sealed.extend(nonce);
    sealed.extend(text);
    Ok(STANDARD_NO_PAD.encode(sealed))
}

/// Opens what [`seal`] made.
pub(super) fn open(
    keys: &[(&PrincipalId, &Key)],
    about: &About<'_>,
    sealed: &str,
) -> Result<Opened, KeyringError> {
    let sealed = STANDARD_NO_PAD.decode(sealed).map_err(|_| KeyringError::Changed)?;
    let (head, rest) = sealed.split_at_checked(1 + keys.len() * ID_BYTES).ok_or(KeyringError::Changed)?;
    let under = ids(head).ok_or(KeyringError::Changed)?;
    if !under.iter().eq(keys.iter().map(|(_, key)| &key.id)) {
        return Ok(Opened::Erased);
    }
    let (nonce, text) = rest.split_at_checked(NONCE_BYTES).ok_or(KeyringError::Changed)?;
    let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| KeyringError::Changed)?;
    let cipher = XChaCha20Poly1305::new((&*joined(keys).cipher).into());
    let plain = cipher
        .decrypt(&XNonce::from(nonce), Payload { msg: text, aad: &beside(keys, about) })
        .map_err(|_| KeyringError::Changed)?;
    Ok(Opened::Plain(Zeroizing::new(plain)))
}

#[cfg(test)]
mod tests {
    use super::super::key::{ID_BYTES, KEY_BYTES, Key};
    use super::{About, KeyringError, Opened, open, seal};
    use event::PrincipalId;
    use zeroize::Zeroizing;

    const HERE: About<'static> =
        About { stream: "a-1", event: "evt_1", kind: "turn.ended", field: "summary" };

    fn key(byte: u8) -> Key {
        Key::of(&Zeroizing::new([byte; ID_BYTES + KEY_BYTES]))
    }

    #[test]
    fn whoever_lacks_one_of_the_keys_learns_nothing_with_the_others() {
        let persons = ["person_a", "person_b", "person_c"].map(|name| PrincipalId::parse(name).unwrap());
        let keys = [key(1), key(2), key(3)];
        let with = |keys: &[Key; 3]| -> Result<Opened, KeyringError> {
            let pairs: Vec<_> = persons.iter().zip(keys).collect();
            let right: Vec<_> = persons.iter().zip([key(1), key(2), key(3)]).collect();
            let right: Vec<_> = right.iter().map(|(person, key)| (*person, key)).collect();
            open(&pairs, &HERE, &seal(&right, &HERE, b"hello")?)
        };
        assert!(matches!(with(&keys), Ok(Opened::Plain(_))));
        for lacking in 0..3 {
            let mut guessed = keys.clone();
            // The id is known to everyone: it stands in the sealed value.
            guessed[lacking] = Key { id: keys[lacking].id, bytes: key(9).bytes.clone() };
            assert!(matches!(with(&guessed), Err(KeyringError::Changed)), "{lacking}");
        }
    }
}
