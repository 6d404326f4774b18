//! Plugins made from nothing: each template builds as it is, says what it is, and runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tests::Kit;
use tests::host::{binary, run};

/// `chancery` in an empty folder, without any configuration.
fn bare(folder: &Path, arguments: &[&str]) -> (bool, String) {
    said(
        Command::new(binary())
            .current_dir(folder)
            .env_remove("CARGO_TARGET_DIR")
            .env("CHANCERY_CONFIG", "none.toml")
            .args(arguments)
            .output()
            .unwrap(),
    )
}

fn said(output: Output) -> (bool, String) {
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
}

fn shell(folder: &Path, line: &str, missing: &str) {
    let ran = Command::new("sh").current_dir(folder).args(["-c", line]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "`{line}` did not work, and this test needs {missing}: {said}");
}

/// Makes one, lets `prepare` get what its language needs, builds, inspects, installs and calls it.
async fn made(lang: &str, prepare: impl Fn(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (well, text) = bare(folder.path(), &["plugin", "new", "hello", "--lang", lang]);
    assert!(well && text.contains("hello.greet"), "{text}");
    let plugin = folder.path().join("hello");
    prepare(&plugin);
    let (well, text) = bare(folder.path(), &["plugin", "build", "hello"]);
    assert!(well && text.contains("hello.wasm"), "{text}");
    let (well, inspected) = bare(folder.path(), &["plugin", "inspect", "hello/hello.wasm"]);
    assert!(well, "{inspected}");
    let kit = Kit::new().await;
    let config = kit.write();
    let file: PathBuf = plugin.join("hello.wasm");
    let (well, text) = said(run(&config, &["plugin", "install", file.to_str().unwrap()]));
    assert!(well, "{text}");
    let (well, text) =
        said(run(&config, &["plugin", "call", "hello.greet", "--args", "{\"name\": \"Ada\"}"]));
    assert!(well && text.contains("\"greeting\": \"Hello, Ada.\""), "{text}");
    let (well, text) = said(run(&config, &["plugin", "call", "hello.greet", "--args", "{}"]));
    assert!(!well && text.contains("name"), "{text}");
    inspected
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_in_rust_is_made_built_inspected_and_called() {
    let inspected = made("rust", |_| {}).await;
    for wanted in [
        "hello 0.1.0: Greets whoever is named.",
        "hello.greet            reads, and changes nothing",
        "takes  name (string): Whom to greet.",
        "no way out: it reaches nothing",
    ] {
        assert!(inspected.contains(wanted), "{wanted}\n{inspected}");
    }
    assert!(!inspected.contains("wasi:"), "{inspected}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_in_javascript_is_made_built_inspected_and_called() {
    let npm = |folder: &Path| {
        shell(folder, "npm install --no-audit --no-fund", "Node 20 with npm, and the npm registry")
    };
    let inspected = made("js", npm).await;
    assert!(
        inspected.contains("wasi:http (2)") && inspected.contains("only by the ways it is granted"),
        "{inspected}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_in_python_is_made_built_inspected_and_called() {
    let pip = |folder: &Path| {
        let line = "python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt";
        shell(folder, line, "Python 3.10 with venv and pip, and the Python package index");
    };
    made("python", pip).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_building_lacks_is_named_with_the_command_that_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    for (lang, wanted) in [("js", "npm install"), ("python", "pip install -r requirements.txt")] {
        let (well, _) = bare(folder.path(), &["plugin", "new", &format!("made-{lang}"), "--lang", lang]);
        assert!(well);
        let (well, text) = bare(folder.path(), &["plugin", "build", &format!("made-{lang}")]);
        assert!(!well && text.contains(wanted), "{text}");
    }
    let (well, text) = bare(folder.path(), &["plugin", "build", "."]);
    assert!(!well && text.contains("plugin.toml"), "{text}");
    std::fs::write(folder.path().join("plugin.toml"), "name = \"x\"\n").unwrap();
    let (well, text) = bare(folder.path(), &["plugin", "build", "."]);
    assert!(!well && text.contains("of the manifest"), "{text}");
}
