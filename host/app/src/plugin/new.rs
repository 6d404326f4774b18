//! `chancery plugin new`: a folder with one tool that builds and runs as it is.
//!
//! Always holds: nothing that exists is written over; the WIT is that of this host.

use super::args::Language;
use anyhow::{Context, Result, ensure};
use component::Manifest;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// One file of a template: where it stands, and its text before the name is put in.
type File = (&'static str, &'static str);

const MANIFEST: &str = include_str!("../../templates/plugin.toml");
const README: &str = include_str!("../../templates/README.md");
/// The same in every language. A folder of WIT holds its own package, and those it needs under `deps`.
const COMMON: [File; 5] = [
    ("plugin.toml", MANIFEST),
    (".gitignore", include_str!("../../templates/gitignore")),
    ("wit/tool.wit", include_str!("../../../../wit/tool/tool.wit")),
    ("wit/deps/chancery-host/host.wit", include_str!("../../../../wit/host/host.wit")),
    ("wit/deps/chancery-types/types.wit", include_str!("../../../../wit/types/types.wit")),
];
const RUST: [File; 2] = [
    ("Cargo.toml", include_str!("../../templates/rust/Cargo.toml.in")),
    ("src/lib.rs", include_str!("../../templates/rust/lib.rs.in")),
];
const JS: [File; 2] = [
    ("package.json", include_str!("../../templates/js/package.json.in")),
    ("plugin.js", include_str!("../../templates/js/plugin.js.in")),
];
const PYTHON: [File; 2] = [
    ("requirements.txt", include_str!("../../templates/python/requirements.txt.in")),
    ("app.py", include_str!("../../templates/python/app.py.in")),
];

impl Language {
    fn files(self) -> &'static [File] {
        match self {
            Self::Rust => &RUST,
            Self::Js => &JS,
            Self::Python => &PYTHON,
        }
    }

    /// What building needs, where the tool stands, and what asks the network.
    fn words(self) -> [(&'static str, &'static str); 3] {
        let (needs, source, http) = match self {
            Self::Rust => (
                "Rust (https://rustup.rs) and once `rustup target add wasm32-unknown-unknown`.",
                "src/lib.rs",
                "the crate `wasip2`, module `http`",
            ),
            Self::Js => {
                ("Node 20 or newer with npm, and once `npm install` in this folder.", "plugin.js", "`fetch`")
            }
            Self::Python => (
                "Python 3.10 or newer, and once\n\n    python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
                "app.py",
                "`wasi:http/outgoing-handler`, which `wit/` then must import",
            ),
        };
        [("needs", needs), ("source", source), ("http", http)]
    }
}

/// Writes a new plugin into the folder `name`.
///
/// # Errors
/// When the name is none, or the folder is there already.
pub fn write(name: &str, language: Language) -> Result<ExitCode> {
    write_into(Path::new(name), name, language)?;
    println!("{name}/ is a plugin with one tool, `{name}.greet`");
    println!("chancery plugin build {name}      and then README.md in it says how to install it");
    Ok(ExitCode::SUCCESS)
}

fn write_into(folder: &Path, name: &str, language: Language) -> Result<()> {
    let put = |text: &str| text.replace("{{name}}", name);
    Manifest::parse(put(MANIFEST).as_bytes())
        .with_context(|| format!("`{}` is no name of a plugin", name.escape_debug()))?;
    ensure!(!folder.exists(), "`{}` is there already: nothing is written over", folder.display());
    let mut readme = README.to_owned();
    for (key, words) in language.words() {
        readme = readme.replace(&format!("{{{{{key}}}}}"), words);
    }
    let files = COMMON.iter().chain(language.files()).map(|(path, text)| (*path, put(text)));
    for (path, text) in files.chain([("README.md", put(&readme))]) {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("`{}` cannot be made", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("`{}` cannot be written", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Language, write_into};
    use component::Manifest;

    #[test]
    fn every_template_is_whole_and_its_manifest_is_one() {
        for language in [Language::Rust, Language::Js, Language::Python] {
            let folder = tempfile::tempdir().unwrap();
            let made = folder.path().join("shelf");
            write_into(&made, "shelf", language).unwrap();
            let mut left = vec![made.clone()];
            while let Some(path) = left.pop() {
                if path.is_dir() {
                    left.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!text.contains("{{"), "{}", path.display());
            }
            let manifest = Manifest::parse(&std::fs::read(made.join("plugin.toml")).unwrap()).unwrap();
            assert_eq!(manifest.offers(), ["shelf.greet"]);
            assert!(write_into(&made, "shelf", language).unwrap_err().to_string().contains("there already"));
        }
    }

    #[test]
    fn a_name_that_no_plugin_can_have_makes_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["", "Shelf", "../shelf", "shelf\"\nworld = \"x", "a b"] {
            assert!(write_into(&folder.path().join("made"), name, Language::Rust).is_err(), "{name}");
        }
        assert!(!folder.path().join("made").exists());
    }
}
