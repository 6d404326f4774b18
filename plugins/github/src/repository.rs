//! A repository's name, and a path within one: what may stand in an address.

use guest::http::encoded;
use guest::{Failure, Kind};
use serde::Deserialize;
use std::fmt;

/// Longest name of an owner or a repository: GitHub's own limit is 100 characters.
const NAME_BYTES_MAX: usize = 100;
/// Longest path of a file.
const PATH_BYTES_MAX: usize = 1_000;

/// `owner/name`, checked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Repository(String);

impl TryFrom<String> for Repository {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain = |part: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            !part.is_empty()
                && part.len() <= NAME_BYTES_MAX
                && !matches!(part, "." | "..")
                && part.bytes().all(known)
        };
        match text.split_once('/') {
            Some((owner, name)) if plain(owner) && plain(name) => Ok(Self(text)),
            _ => Err("a repository is named `owner/name`".to_owned()),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path of a file, as it stands in an address.
///
/// # Errors
/// [`Kind::InvalidInput`] for one that is not within the repository.
pub fn encoded_path(path: &str) -> Result<String, Failure> {
    let parts: Vec<&str> = path.split('/').collect();
    let wrong = |part: &&str| part.is_empty() || matches!(*part, "." | "..");
    if path.len() > PATH_BYTES_MAX || parts.iter().any(wrong) {
        let message = "the path of a file is like `src/lib.rs`: no part is empty, `.` or `..`";
        return Err(Failure::new(Kind::InvalidInput, message));
    }
    Ok(parts.iter().map(|part| encoded(part)).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_lead_elsewhere_is_none() {
        for name in ["octocat/hello-world", "my-org/.github", "a/b_c"] {
            assert!(Repository::try_from(name.to_owned()).is_ok(), "{name}");
        }
        for name in
            ["", "a", "a/", "/b", "a/b/c", "../x", "a/..", "a/b?x=1", "a/b#c", "a b/c", "a/%2e%2e", "ä/b"]
        {
            assert!(Repository::try_from(name.to_owned()).is_err(), "{name}");
        }
    }

    #[test]
    fn a_path_stays_within_its_repository() {
        assert_eq!(encoded_path("docs/a b.md"), Ok("docs/a%20b.md".to_owned()));
        for path in ["", "/etc", "a//b", "../a", "a/./b", "a/..", &"a".repeat(1_001)] {
            assert!(encoded_path(path).is_err(), "{path}");
        }
    }
}
