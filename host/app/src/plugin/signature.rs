//! Signatures: minisign's, over the whole file, by a key that the operator trusts.
//!
//! Always holds: a signature that is there and not good stops whoever looks, also where none is required: it says
//! that the file is not what somebody signed. Deliberately absent: signing (`minisign -S` does it), and any trust in
//! a key but that the operator named it.

use crate::config::PluginsConfig;
use anyhow::{Result, anyhow, bail};
use minisign_verify::{PublicKey, Signature};
use std::path::{Path, PathBuf};

/// What a signature's file is called: the component's name with this after it, as minisign writes it.
pub const ENDING: &str = "minisig";
/// Longest signature: minisign's are under 400 bytes, with a comment of any sane length.
pub const SIGNATURE_BYTES_MAX: usize = 8 * 1024;

/// What a signature came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signed {
    /// There is none.
    Not,
    /// It is good, and by this key.
    By(String),
    /// It is by no key that is trusted here.
    Stranger,
    /// It is by a trusted key, and of another file.
    Altered,
    /// It is no signature.
    Malformed,
}

/// One public key.
///
/// # Errors
/// When the text is none.
pub fn key(text: &str) -> Result<PublicKey> {
    PublicKey::from_base64(text.trim()).map_err(|_| {
        anyhow!(
            "`{}` is not a minisign public key: it is the second line of the file that `minisign -G` made",
            text.escape_debug()
        )
    })
}

/// Looks at `signature`, the text of a minisign file, over `bytes`.
#[must_use]
pub fn examine(keys: &[String], bytes: &[u8], signature: Option<&str>) -> Signed {
    let Some(text) = signature else { return Signed::Not };
    let Ok(signature) = Signature::decode(text) else { return Signed::Malformed };
    let mut found = Signed::Stranger;
    for named in keys {
        let Ok(key) = key(named) else { continue };
        match key.verify(bytes, &signature, false) {
            Ok(()) => return Signed::By(named.trim().to_owned()),
            Err(minisign_verify::Error::UnexpectedKeyId) => {}
            Err(_) => found = Signed::Altered,
        }
    }
    found
}

/// The key that signed `bytes`; nothing when nobody did and nobody must.
///
/// # Errors
/// Why it may not be run here, and what to do next.
pub fn check(
    config: &PluginsConfig,
    named: &str,
    bytes: &[u8],
    signature: Option<&str>,
) -> Result<Option<String>> {
    match examine(&config.keys, bytes, signature) {
        Signed::By(key) => Ok(Some(key)),
        Signed::Not if !config.require_signatures => Ok(None),
        Signed::Not => bail!(
            "{named} is not signed, and `[plugins] require_signatures` is set: sign it with `minisign -S`, and keep the \
             signature beside it as `….{ENDING}`"
        ),
        // Without keys nobody's signature says anything.
        Signed::Stranger if config.keys.is_empty() && !config.require_signatures => Ok(None),
        Signed::Stranger => bail!(
            "{named} is signed by a key that is not among `[plugins] keys`: find out whose it is, and add the key if you \
             trust it"
        ),
        Signed::Altered => bail!(
            "{named} is not the file that was signed: it was altered after, or the signature belongs to another; get \
             both again from whoever made them"
        ),
        Signed::Malformed => bail!("the signature of {named} is not one that minisign made"),
    }
}

/// Where the signature of the file at `path` stands.
#[must_use]
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ENDING);
    name.into()
}

/// The signature beside the file at `path`, if there is one.
///
/// # Errors
/// When there is one and it cannot be read.
pub fn read_beside(path: &Path) -> Result<Option<String>> {
    let path = beside(path);
    if !path.exists() {
        return Ok(None);
    }
    crate::seed::read_text(&path).map(Some)
}
