//! Versions of one plugin for tests: the same component under manifests that differ.

use crate::office::{guests, repository};
use std::path::{Path, PathBuf};

/// The component of the guest `name` without its manifest, which is its last section.
fn bare(name: &str) -> Vec<u8> {
    let bytes = std::fs::read(guests().join(format!("{name}.wasm"))).unwrap();
    let section = component::SECTION.as_bytes();
    let at = bytes.windows(section.len()).rposition(|window| window == section).unwrap();
    let content = bytes.len() - at + 1;
    // The id, the length in LEB128, and the length of the name in one byte.
    let length_bytes = if content < 128 { 1 } else { 2 };
    bytes[..at - 1 - length_bytes - 1].to_vec()
}

/// The manifest of the guest `name`.
pub fn manifest(name: &str) -> String {
    std::fs::read_to_string(repository().join(format!("tests/guests/{name}/plugin.toml"))).unwrap()
}

/// The guest `name` under another manifest.
pub fn version(name: &str, manifest: &str) -> Vec<u8> {
    component::embed(&bare(name), manifest).unwrap()
}

/// Writes it to `path`.
pub fn write(path: &Path, name: &str, manifest: &str) -> PathBuf {
    std::fs::write(path, version(name, manifest)).unwrap();
    path.to_path_buf()
}
