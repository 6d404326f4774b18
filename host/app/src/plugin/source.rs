//! Where a plugin comes from: a file, an address, or a reference to a registry; and the digest it is pinned by.
//!
//! Always holds: what a person wrote is read in one way only, and what is kept of it on the record has no digest in
//! it, so that an update can ask the same place again.

use anyhow::{Context, Result, bail};
use event::Digest;
use oci_spec::distribution::Reference;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What a digest is written after.
const PIN: &str = "@sha256:";
/// What a reference to a registry starts with.
const OCI: &str = "oci://";

/// Where a plugin comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A file of this machine.
    File(PathBuf),
    /// An `https` address, or `http` on a loopback origin that the configuration opens.
    Url(String),
    /// A reference to a registry.
    Registry(Reference),
}

/// A source, and what it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Pinned {
    /// Where it comes from.
    pub source: Source,
    /// The digest it is pinned by: of the component, or for a registry of the manifest.
    pub pin: Option<Digest>,
}

impl FromStr for Pinned {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (place, pin) = match text.rsplit_once(PIN) {
            None => (text, None),
            Some((place, digits)) => {
                let pin = Digest::parse(digits)
                    .with_context(|| format!("what follows `{PIN}` is not 64 hexadecimal digits"))?;
                (place, Some(pin))
            }
        };
        if place.is_empty() || place.chars().any(char::is_control) {
            bail!("name a file, an `https://` address, or a reference `{OCI}registry/repository:tag`");
        }
        let source = if let Some(reference) = place.strip_prefix(OCI) {
            Source::Registry(registry(reference)?)
        } else if place.starts_with("https://") || place.starts_with("http://") {
            Source::Url(place.to_owned())
        } else if let Some((scheme, _)) = place.split_once("://") {
            bail!(
                "`{}` is no place a plugin comes from: `https://`, `{OCI}` or a file",
                scheme.escape_debug()
            );
        } else {
            Source::File(place.into())
        };
        Ok(Self { source, pin })
    }
}

/// A reference with its registry written out: one without would silently mean somebody's registry.
fn registry(text: &str) -> Result<Reference> {
    let host = text.split('/').next().unwrap_or_default();
    if !text.contains('/') || !(host.contains('.') || host.contains(':') || host == "localhost") {
        bail!(
            "`{OCI}{}` names no registry: write `{OCI}registry.example/repository:tag`",
            text.escape_debug()
        );
    }
    Reference::from_str(text)
        .map_err(|error| anyhow::anyhow!("`{OCI}{}` is not a reference: {error}", text.escape_debug()))
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Url(url) => f.write_str(url),
            Self::Registry(reference) => write!(f, "{OCI}{reference}"),
        }
    }
}

impl Source {
    /// The same, so that it means the same from another folder.
    #[must_use]
    pub fn absolute(self) -> Self {
        match self {
            Self::File(path) => Self::File(std::path::absolute(&path).unwrap_or(path)),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pinned, Source};
    use event::Digest;

    #[test]
    fn a_source_is_read_in_one_way_and_its_digest_apart() {
        let digits = Digest::of(b"x");
        for (text, shown) in [
            ("shelf.wasm", "shelf.wasm"),
            ("./a/shelf.wasm", "./a/shelf.wasm"),
            ("https://a.example/shelf.wasm", "https://a.example/shelf.wasm"),
            ("oci://127.0.0.1:5000/team/shelf:1.0", "oci://127.0.0.1:5000/team/shelf:1.0"),
            ("oci://ghcr.io/team/shelf", "oci://ghcr.io/team/shelf:latest"),
        ] {
            let read: Pinned = text.parse().unwrap();
            assert_eq!((read.source.to_string().as_str(), read.pin), (shown, None));
            let pinned: Pinned = format!("{text}@sha256:{digits}").parse().unwrap();
            assert_eq!((pinned.source.to_string().as_str(), pinned.pin), (shown, Some(digits.clone())));
        }
    }

    #[test]
    fn what_is_no_source_says_what_would_be_one() {
        for text in [
            "",
            "ftp://a.example/x",
            "oci://shelf:1",
            "oci://team/shelf:1",
            "oci://a.example/UPPER",
            "a@sha256:12",
            "oci://",
        ] {
            let error = format!("{:#}", text.parse::<Pinned>().unwrap_err());
            assert!(!error.is_empty() && !error.contains('\n'), "{text}: {error}");
        }
        assert!("x://y".parse::<Pinned>().is_err());
        assert!(matches!("x".parse::<Pinned>().unwrap().source, Source::File(_)));
    }
}
