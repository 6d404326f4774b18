//! A set as files: policies, and the cases they must decide. Names are checked here, because `policy export`
//! writes files of these names.
//!
//! Always holds: a file is one of the two, or the set does not load; a name is one folder deep at most where it
//! says so, and never leads out of where it is written. Deliberately absent: reading a folder.

use super::case::Case;
use super::{PolicyError, Problem};
use event::PolicyText;
pub use fold::authority::{ORGANISATION_PREFIX, is_organisation};

/// The most files of one set: a thousand policies with a case each way, and room.
pub const SET_FILES_MAX: usize = 5_000;

/// What a file of a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Cedar policies.
    Policies,
    /// A case that must be allowed.
    Allows,
    /// A case that must be denied.
    Denies,
}

/// What the file `name` is; nothing when no file of a set has such a name.
#[must_use]
pub fn file_kind(name: &str) -> Option<FileKind> {
    let parts: Vec<&str> = name.split('/').collect();
    match parts.as_slice() {
        [file] if plain(file, ".cedar") => Some(FileKind::Policies),
        ["cases", "ALLOW", file] if plain(file, ".json") => Some(FileKind::Allows),
        ["cases", "DENY", file] if plain(file, ".json") => Some(FileKind::Denies),
        _ => None,
    }
}

fn plain(file: &str, ending: &str) -> bool {
    let stem = file.strip_suffix(ending).unwrap_or_default();
    !stem.is_empty()
        && !stem.starts_with('.')
        && stem.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Tells policies and cases apart, and reads the cases.
///
/// # Errors
/// Every file that is neither, or the first case that does not parse.
pub(super) fn told_apart(files: &[PolicyText]) -> Result<(Vec<PolicyText>, Vec<Case>), PolicyError> {
    let fault = |file: &str, message: String| {
        PolicyError::Texts(vec![Problem { file: file.to_owned(), line: 1, column: 1, message }])
    };
    if files.len() > SET_FILES_MAX {
        return Err(fault(
            "",
            format!("a set has at most {SET_FILES_MAX} files, and this has {}", files.len()),
        ));
    }
    let (mut policies, mut cases) = (Vec::new(), Vec::new());
    for file in files {
        match file_kind(&file.name) {
            Some(FileKind::Policies) => policies.push(file.clone()),
            Some(FileKind::Allows | FileKind::Denies) => cases.push(Case::parse(&file.name, &file.text)?),
            None => {
                let message = "a file of a set is called `NAME.cedar`, `cases/ALLOW/NAME.json` or \
                    `cases/DENY/NAME.json`, and NAME is letters, digits, `-`, `_` and `.`";
                return Err(fault(&file.name, message.to_owned()));
            }
        }
    }
    Ok((policies, cases))
}

#[cfg(test)]
mod tests {
    use super::{FileKind, file_kind};

    #[test]
    fn a_name_that_leads_elsewhere_is_no_file_of_a_set() {
        for name in [
            "",
            ".cedar",
            "../a.cedar",
            "/a.cedar",
            "b/a.cedar",
            "cases/a.json",
            "cases/ALLOW/../a.json",
            "cases/MAYBE/a.json",
            "cases/ALLOW/.a.json",
            "cases\\ALLOW\\a.json",
            "a.cedar\0",
            "a b.cedar",
            "cases/ALLOW/b/a.json",
            "a.cedar/",
        ] {
            assert_eq!(file_kind(name), None, "{name:?}");
        }
        assert_eq!(file_kind("seat.cedar"), Some(FileKind::Policies));
        assert_eq!(file_kind("cases/DENY/a.json"), Some(FileKind::Denies));
    }
}
