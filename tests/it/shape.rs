//! The shape of the code: what imports what, who owns each heavy dependency, how a file opens, and whether the
//! pages tell the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tests::office::repository;

/// Each heavy dependency and the only crates of the host that may name it.
const OWNERS: &[(&str, &[&str])] = &[
    ("rusqlite", &["record"]),
    ("sqlx", &["record"]),
    ("cedar-policy", &["gate"]),
    ("wasmtime", &["component"]),
    ("wasmtime-wasi", &["component"]),
    ("wasmtime-wasi-http", &["component"]),
    ("cap-std", &["component"]),
    ("axum", &["front"]),
    ("tokio-tungstenite", &["front"]),
    ("rustls", &["egress"]),
    ("tokio-rustls", &["egress"]),
    ("clap", &["app"]),
    // A budget's day ends at the same moment on every host: one crate knows time zones, with one bundled database.
    ("jiff", &["fold"]),
    ("hmac", &["vault"]),
    ("chacha20poly1305", &["vault"]),
];

/// Edges that the picture in `docs/architecture.md` does not have, though the order would allow them.
const FORBIDDEN_EDGES: &[(&str, &str)] = &[
    ("turn", "component"),
    ("turn", "egress"),
    ("gate", "egress"),
    ("gate", "vault"),
    ("front", "turn"),
    ("front", "egress"),
    ("converse", "turn"),
];

/// Lines a file may have, its own tests included.
const FILE_LINES_MAX: usize = 500;

fn manifest(path: &Path) -> toml::Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// The crates of the host in the order of the root manifest.
fn members() -> Vec<String> {
    let root = manifest(&repository().join("Cargo.toml"));
    let members = root["workspace"]["members"].as_array().unwrap();
    members.iter().filter_map(|member| member.as_str()?.strip_prefix("host/").map(str::to_owned)).collect()
}

fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = manifest(&repository().join("host").join(name).join("Cargo.toml"));
    manifest
        .get("dependencies")
        .and_then(toml::Value::as_table)
        .map(|table| table.keys().cloned().collect())
        .unwrap_or_default()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn host_sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    sources(&repository().join("host"), &mut found);
    assert!(found.len() > 50, "the host's sources were not found");
    found
}

#[test]
fn a_crate_imports_only_crates_above_it() {
    let order = members();
    assert_eq!(order.first().map(String::as_str), Some("event"));
    for (place, name) in order.iter().enumerate() {
        for dependency in dependencies(name) {
            if let Some(at) = order.iter().position(|other| *other == dependency) {
                assert!(at < place, "`{name}` imports `{dependency}`, which stands below it");
                assert!(
                    !FORBIDDEN_EDGES.contains(&(name.as_str(), dependency.as_str())),
                    "`{name}` must not import `{dependency}`"
                );
            }
        }
    }
}

#[test]
fn each_heavy_dependency_has_one_owner() {
    let by_crate: BTreeMap<String, BTreeSet<String>> =
        members().into_iter().map(|name| (name.clone(), dependencies(&name))).collect();
    for (dependency, owners) in OWNERS {
        for (name, dependencies) in &by_crate {
            assert!(
                !dependencies.contains(*dependency) || owners.contains(&name.as_str()),
                "`{name}` depends on `{dependency}`, which belongs to {owners:?}"
            );
        }
    }
}

#[test]
fn no_socket_leaves_the_host_but_through_egress() {
    for path in host_sources() {
        let inside = path.strip_prefix(repository().join("host")).unwrap();
        if inside.starts_with("egress") || path.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for outward in
            ["TcpStream::connect", "UdpSocket", "UnixStream::connect", "hyper::client", "lookup_host"]
        {
            let is_tests = path.file_name().is_some_and(|name| name == "tests.rs");
            assert!(is_tests || !code.contains(outward), "{} uses `{outward}`", inside.display());
        }
    }
}

#[test]
fn the_value_of_a_secret_is_asked_for_in_egress_alone() {
    for path in host_sources() {
        let inside = path.strip_prefix(repository().join("host")).unwrap();
        let asks = std::fs::read_to_string(&path).unwrap().contains(".expose()");
        assert!(!asks || inside.starts_with("vault") || inside.starts_with("egress"), "{}", inside.display());
    }
}

#[test]
fn every_file_says_what_it_is_and_stays_readable() {
    for path in host_sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} does not say what it is", path.display());
        let lines = text.lines().count();
        assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
    }
}

#[test]
fn the_glossary_lists_every_event_kind_and_no_other() {
    let glossary = std::fs::read_to_string(repository().join("docs/glossary.md")).unwrap();
    let section = glossary.split("## Event kinds").nth(1).unwrap();
    let listed: BTreeSet<&str> = section
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains('.') && !word.contains('/'))
        .collect();
    let known: BTreeSet<&str> = event::Fact::KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(listed, known);
}

/// The page that lists every reason; written anew when `CHANCERY_WRITE_DOCS` is set.
#[test]
fn the_page_of_reasons_lists_every_reason_as_the_code_has_it() {
    let mut page = "# Reasons\n\nEvery delivery gets exactly one class and one reason, on the record as `delivery.classified`. \
        The first rung that fits is the answer.\n\n| reason | class | means |\n|---|---|---|\n"
        .to_owned();
    for reason in converse::Reason::ALL {
        let class = format!("{:?}", reason.class()).to_lowercase();
        page.push_str(&format!("| `{}` | {class} | {} |\n", reason.word(), reason.meaning()));
    }
    let path = repository().join("docs/reasons.md");
    if std::env::var_os("CHANCERY_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, page, "docs/reasons.md is not as the code: run this test with CHANCERY_WRITE_DOCS=1");
}

#[test]
fn the_host_names_no_vendor_of_models() {
    for path in host_sources() {
        let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for vendor in ["anthropic", "openai", "gemini", "mistral"] {
            assert!(!text.contains(vendor), "{} names `{vendor}`", path.display());
        }
    }
}

#[test]
fn every_test_that_the_pages_of_threads_and_of_slack_name_is_there() {
    let page = |name: &str| std::fs::read_to_string(repository().join("docs").join(name)).unwrap();
    let page = page("threads.md") + &page("slack.md") + &page("converse.md");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let named: BTreeSet<&str> = rows
        .flat_map(|row| row.split('`').skip(1).step_by(2))
        .filter(|word| word.len() > 20 && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        .collect();
    let mut paths = host_sources();
    sources(&repository().join("tests"), &mut paths);
    sources(&repository().join("plugins"), &mut paths);
    let texts: Vec<String> = paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let is_absent = |name: &&&str| !texts.iter().any(|text| text.contains(&format!("fn {name}(")));
    let missing: Vec<&&str> = named.iter().filter(is_absent).collect();
    assert!(named.len() > 25 && missing.is_empty(), "{missing:?}");
}
