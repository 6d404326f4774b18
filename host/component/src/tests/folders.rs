//! A folder that was granted: what may be read is read, what may be written is written, and nothing leads out of it.

use super::kit::{Kit, digest, kit, output, small, with_manifest};
use super::load::refused;
use event::{Directory, PluginGranted};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const MANIFEST: &str = "name = \"wasi\"\nversion = \"0.1.0\"\nworld = \"chancery:tool@0.1.0\"\ndescription = \"d\"\n\
                        [[tool]]\nname = \"wasi.look\"\neffect = \"read\"\n[[tool]]\nname = \"wasi.folder\"\neffect = \"read\"\n\
                        [[directory]]\nat = \"/notes\"\nwrite = true\n";

/// A folder with files, and beside it one file that is nobody's business; links in the folder point there.
fn laid_out() -> tempfile::TempDir {
    let around = tempfile::tempdir().unwrap();
    let inside = around.path().join("notes");
    std::fs::create_dir_all(inside.join("deep")).unwrap();
    for (path, text) in [
        ("notes/inside.txt", "inside"),
        ("notes/deep/er.txt", "deeper"),
        ("notes/movable.txt", "movable"),
        ("notes/removable.txt", "removable"),
        ("outside.txt", "outside"),
    ] {
        std::fs::write(around.path().join(path), text).unwrap();
    }
    std::os::unix::fs::symlink("../outside.txt", inside.join("escape")).unwrap();
    std::os::unix::fs::symlink(around.path(), inside.join("away")).unwrap();
    around
}

/// What the guest says that came of all it tried in the folder.
async fn tried(around: &Path, write: bool) -> Value {
    let (_folder, path) = with_manifest("wasi", MANIFEST);
    let kit: Kit = kit(small(), std::slice::from_ref(&path), &[grant(&path, around, write)], &[]).await;
    output(kit.call("wasi.folder", json!({})).await)
}

fn grant(path: &Path, around: &Path, write: bool) -> PluginGranted {
    let directory =
        Directory { at: "/notes".to_owned(), path: around.join("notes").to_str().unwrap().to_owned(), write };
    PluginGranted {
        plugin: "wasi".to_owned(),
        digest: digest(path),
        routes: Vec::new(),
        settings: BTreeMap::new(),
        directories: vec![directory],
        reason: String::new(),
        handles: Vec::new(),
    }
}

#[tokio::test]
async fn a_folder_that_was_not_asked_for_stops_the_start() {
    let around = laid_out();
    for (from, to) in [("write = true\n", ""), ("/notes", "/other")] {
        let (_folder, path) = with_manifest("wasi", &MANIFEST.replace(from, to));
        let said =
            refused(std::slice::from_ref(&path), &[grant(&path, around.path(), true)]).await.to_string();
        assert!(said.contains("granted the folder `/notes` to be written"), "{said}");
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn nothing_led_out(said: &Value, around: &Path) {
    for path in [
        "../outside.txt",
        "deep/../../outside.txt",
        "/etc/passwd",
        "escape",
        "away/outside.txt",
        "through it",
    ] {
        assert!(!["outside", "done"].contains(&said[path].as_str().unwrap()), "{path}: {said}");
        assert!(said[path].as_str().unwrap().contains("ErrorCode"), "{path}: {said}");
    }
    assert_ne!(said["out"], "done");
    assert_eq!(files(around), ["notes", "outside.txt"]);
    assert_eq!(std::fs::read_to_string(around.join("outside.txt")).unwrap(), "outside");
}

#[tokio::test]
async fn a_folder_granted_to_be_read_is_read_and_not_changed_in_any_way() {
    let around = laid_out();
    let notes = around.path().join("notes");
    let before = files(&notes);
    let said = tried(around.path(), false).await;
    assert_eq!(
        (&said["at"], &said["inside.txt"], &said["deep/er.txt"]),
        (&json!("/notes"), &json!("inside"), &json!("deeper"))
    );
    nothing_led_out(&said, around.path());
    for deed in [
        "truncate while reading",
        "open to write",
        "create",
        "write",
        "folder",
        "rename",
        "link",
        "symlink",
        "size",
        "remove",
    ] {
        assert_ne!(said[deed], "done", "{deed}: {said}");
    }
    assert_eq!(files(&notes), before);
    assert_eq!(std::fs::read_to_string(notes.join("inside.txt")).unwrap(), "inside");
}

#[tokio::test]
async fn a_folder_granted_to_be_written_is_changed_within_and_nowhere_else() {
    let around = laid_out();
    let said = tried(around.path(), true).await;
    nothing_led_out(&said, around.path());
    for deed in ["open to write", "create", "write", "folder", "rename", "remove"] {
        assert_eq!(said[deed], "done", "{deed}: {said}");
    }
    let notes = around.path().join("notes");
    assert_eq!(std::fs::read_to_string(notes.join("written.txt")).unwrap(), "by the guest");
    assert_eq!(std::fs::read_to_string(notes.join("moved.txt")).unwrap(), "movable");
    assert!(notes.join("made").is_dir() && !notes.join("removable.txt").exists());
}

#[tokio::test]
async fn a_folder_that_is_gone_is_no_folder_and_nothing_else() {
    let around = laid_out();
    std::fs::remove_dir_all(around.path().join("notes")).unwrap();
    assert_eq!(tried(around.path(), true).await, json!({"folders": 0}));
}
