//! Which policies and cases name a tool: without the tool, a set that has them does not load.

use super::files::{FileKind, file_kind};
use super::text::{Problem, readings};
use crate::policy::Case;
use event::PolicyText;

/// The ids of the policies in `files` that name one of `tools`, and the cases that put a call of one, in the order of
/// the files. A policy about every action names none.
///
/// # Errors
/// Every fault of reading.
pub fn naming(files: &[PolicyText], tools: &[String]) -> Result<Vec<String>, Vec<Problem>> {
    let all = readings(files)?;
    let names =
        |read: &&super::text::Read| read.is_particular() && tools.iter().any(|tool| read.speaks_of(tool));
    let mut named: Vec<String> = all.iter().filter(names).map(|read| read.outline.id.clone()).collect();
    let cases = files
        .iter()
        .filter(|file| matches!(file_kind(&file.name), Some(FileKind::Allows | FileKind::Denies)));
    // A case that does not parse keeps its set from loading with these tools too.
    let read = cases.filter_map(|file| Case::parse(&file.name, &file.text).ok().map(|case| (file, case)));
    let about = read.filter(|(_, case)| tools.contains(&case.question().tool));
    named.extend(about.map(|(file, _)| file.name.clone()));
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::naming;
    use crate::policy::tests::shipped_files;

    #[test]
    fn policies_and_cases_that_name_a_tool_are_named() {
        let named = naming(&shipped_files(), &["web.fetch".to_owned()]).unwrap();
        assert!(named.contains(&"assistant-fetches".to_owned()), "{named:?}");
        assert!(
            named.contains(&"cases/ALLOW/assistant-fetches-a-granted-origin.json".to_owned()),
            "{named:?}"
        );
        // It is about every action, and loads without any one of them.
        assert!(!named.contains(&"consequential-asks".to_owned()), "{named:?}");
        assert!(!named.contains(&"assistant-posts".to_owned()), "{named:?}");
        assert_eq!(naming(&shipped_files(), &["shelf.read".to_owned()]).unwrap(), Vec::<String>::new());
    }
}
