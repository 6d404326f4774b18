//! A set as a folder: `*.cedar`, and the cases under `cases/ALLOW` and `cases/DENY`. Input and export, never what
//! is in force.

use crate::seed::read_text;
use anyhow::{Context, Result, bail, ensure};
use event::PolicyText;
use gate::policy::{SET_FILES_MAX, file_kind};
use std::path::{Path, PathBuf};

/// The folders of a set below its own, and how the names of their files end.
const FOLDERS: &[(&str, &str)] = &[("", ".cedar"), ("cases/ALLOW", ".json"), ("cases/DENY", ".json")];

/// The files of the set in `folder`, in order of name.
///
/// # Errors
/// When it cannot be read or holds no policy.
pub fn files(folder: &Path) -> Result<Vec<PolicyText>> {
    let mut files = Vec::new();
    for (below, ending) in FOLDERS {
        let inside = folder.join(below);
        if !below.is_empty() && !inside.is_dir() {
            continue;
        }
        for path in listing(&inside, ending)? {
            let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let name = if below.is_empty() { file } else { format!("{below}/{file}") };
            ensure!(
                files.len() < SET_FILES_MAX,
                "`{}` holds more than {SET_FILES_MAX} files",
                folder.display()
            );
            files.push(PolicyText { name, text: read_text(&path)? });
        }
    }
    if !files.iter().any(|file| file.name.ends_with(".cedar")) {
        bail!("`{}` holds no *.cedar file: without a policy nothing is permitted", folder.display());
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn listing(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read the policy folder `{}`", folder.display());
    let entries = std::fs::read_dir(folder).with_context(cannot)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .with_context(cannot)?;
    paths.retain(|path| path.is_file() && path.to_string_lossy().ends_with(ending));
    Ok(paths)
}

/// Writes `files` into `folder`, which must be empty or not there: what is exported is the set and nothing else.
///
/// # Errors
/// When the folder holds something, a name is no file of a set, or a file cannot be written.
pub fn write(folder: &Path, files: &[PolicyText]) -> Result<()> {
    if folder.exists() {
        let mut entries =
            std::fs::read_dir(folder).with_context(|| format!("cannot write into `{}`", folder.display()))?;
        ensure!(entries.next().is_none(), "`{}` is not empty: name a new folder", folder.display());
    }
    for file in files {
        ensure!(file_kind(&file.name).is_some(), "`{}` is no file of a policy set", file.name.escape_debug());
        let path = folder.join(&file.name);
        let cannot = || format!("cannot write `{}`", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(cannot)?;
        std::fs::write(&path, &file.text).with_context(cannot)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{files, write};
    use event::PolicyText;
    use std::path::Path;

    #[test]
    fn what_is_exported_reads_as_the_same_set_and_overwrites_nothing() {
        let shipped = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies")).unwrap();
        assert!(shipped.iter().any(|file| file.name.starts_with("cases/DENY/")));
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("out");
        write(&to, &shipped).unwrap();
        assert_eq!(files(&to).unwrap(), shipped);
        assert!(write(&to, &shipped).unwrap_err().to_string().contains("is not empty"));
        let escape = [PolicyText { name: "../out.cedar".into(), text: String::new() }];
        assert!(write(&folder.path().join("more"), &escape).is_err());
    }
}
