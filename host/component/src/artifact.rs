//! A plugin's file before it is compiled: its digest, its manifest, and the interfaces it imports.
//!
//! Reading one runs nothing and compiles nothing, so a file that nobody granted anything can be looked at.

use crate::manifest::{DirectoryEntry, MANIFEST_BYTES_MAX, Manifest, ManifestError, RouteEntry, SECTION};
use event::{Digest, DirectoryAsked, Route};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use wasmparser::{Encoding, Parser, Payload};

/// Largest component: interpreters of Python come to about 20 MiB.
pub const COMPONENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most interfaces a component imports, and most it exports: all of WASI and ours are under fifty.
pub const IMPORTS_MAX: usize = 200;

/// What is wrong with a plugin's file.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Not a WebAssembly component.
    #[error("not a WebAssembly component: {reason}")]
    NotAComponent {
        /// What the parser says.
        reason: String,
    },
    /// A component, but one without a manifest, or with several.
    #[error(
        "it has {found} custom sections `{SECTION}` and needs one: build it with `chancery plugin build`, which puts its plugin.toml in"
    )]
    NoManifest {
        /// How many.
        found: usize,
    },
    /// It has a manifest already, and another was to be put in.
    #[error("it has a manifest already, so that of `{plugin}` is not put in: build it without")]
    Manifested {
        /// The plugin of the manifest that was to be put in.
        plugin: String,
    },
    /// Its manifest does not do.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Larger than anything that would be compiled.
    #[error(
        "it is larger than {COMPONENT_BYTES_MAX} bytes, or imports or exports more than {IMPORTS_MAX} interfaces"
    )]
    TooLarge,
}

/// A plugin's file, read.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// SHA-256 of the whole file.
    pub digest: Digest,
    /// Its manifest.
    pub manifest: Manifest,
    /// The interfaces it imports, such as `wasi:io/poll@0.2.6`, in its own order.
    pub imports: Vec<String>,
    /// The interfaces and functions it exports, in its own order.
    pub exports: Vec<String>,
    pub(crate) bytes: Arc<[u8]>,
}

impl Artifact {
    /// Reads a plugin's file.
    ///
    /// # Errors
    /// [`ArtifactError`] when it is no component, or its manifest is missing or wrong.
    pub fn read(bytes: Vec<u8>) -> Result<Self, ArtifactError> {
        if bytes.len() > COMPONENT_BYTES_MAX {
            return Err(ArtifactError::TooLarge);
        }
        let Sections { manifest, imports, exports } = sections(&bytes)?;
        Ok(Self {
            digest: Digest::of(&bytes),
            manifest: Manifest::parse(&manifest)?,
            imports,
            exports,
            bytes: bytes.into(),
        })
    }

    /// Reads the plugin in the file at `path`. A component that carries no manifest takes the one beside it, in a
    /// file of the same name that ends in `.toml`, and is then what it would be with that text put in: the digest
    /// covers both, so that a changed manifest is a changed plugin.
    ///
    /// # Errors
    /// As [`Artifact::read`]. A manifest that stands both inside and beside is the one inside.
    pub fn read_beside(bytes: Vec<u8>, path: &Path) -> Result<Self, ArtifactError> {
        match Self::read(bytes.clone()) {
            Err(ArtifactError::NoManifest { found: 0 }) => {
                let beside = fs::read(path.with_extension("toml")).ok();
                let beside = beside.filter(|text| text.len() <= MANIFEST_BYTES_MAX);
                Self::read(
                    beside
                        .map(|text| with_manifest(bytes, &text))
                        .ok_or(ArtifactError::NoManifest { found: 0 })?,
                )
            }
            read => read,
        }
    }

    /// What the record says of it once it is installed.
    #[must_use]
    pub fn installed(&self) -> event::PluginInstalled {
        event::PluginInstalled {
            plugin: self.manifest.name.clone(),
            version: self.manifest.version.clone(),
            digest: self.digest.clone(),
            world: self.manifest.world.word().to_owned(),
            tools: self.manifest.offers(),
            offers: Vec::new(),
            source: String::new(),
            asks: Vec::new(),
            imports: Vec::new(),
            directories: Vec::new(),
            graphql_reads: Vec::new(),
            signed_by: None,
            handles: Vec::new(),
        }
    }

    /// The whole file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The ways out its manifest asks for, as facts.
    #[must_use]
    pub fn asks(&self) -> Vec<Route> {
        let route = |asked: &RouteEntry| Route {
            methods: asked.methods.clone(),
            origin: asked.origin.clone(),
            path: asked.path.clone(),
            credential: asked.credential.clone(),
        };
        self.manifest.routes.iter().map(route).collect()
    }

    /// The folders its manifest asks for, as facts.
    #[must_use]
    pub fn directories(&self) -> Vec<DirectoryAsked> {
        let asked = |asked: &DirectoryEntry| DirectoryAsked { at: asked.at.clone(), write: asked.write };
        self.manifest.directories.iter().map(asked).collect()
    }
}

/// Puts a manifest into a component, as its one custom section of that name.
///
/// # Errors
/// [`ArtifactError`] when the component is none, has a manifest already, or the manifest does not do.
pub fn embed(component: &[u8], manifest: &str) -> Result<Vec<u8>, ArtifactError> {
    let parsed = Manifest::parse(manifest.as_bytes())?;
    match sections(component) {
        Err(ArtifactError::NoManifest { found: 0 }) => {}
        Err(error) => return Err(error),
        Ok(_) => return Err(ArtifactError::Manifested { plugin: parsed.name }),
    }
    Ok(with_manifest(component.to_vec(), manifest.as_bytes()))
}

/// `component` with a manifest put in, as one custom section at its end.
pub(crate) fn with_manifest(mut component: Vec<u8>, manifest: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    length(SECTION.len(), &mut content);
    content.extend_from_slice(SECTION.as_bytes());
    content.extend_from_slice(manifest);
    // A custom section has the id 0.
    component.push(0);
    length(content.len(), &mut component);
    component.extend_from_slice(&content);
    component
}

/// A length in LEB128, as WebAssembly writes it.
fn length(mut rest: usize, out: &mut Vec<u8>) {
    loop {
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        out.push(if rest == 0 { low } else { low | 0x80 });
        if rest == 0 {
            return;
        }
    }
}

/// What the sections of the outermost component say.
struct Sections {
    manifest: Vec<u8>,
    imports: Vec<String>,
    exports: Vec<String>,
}

/// The manifest's bytes and the names of the imports, both of the outermost component alone: what is nested
/// in it speaks for itself and not for the plugin.
fn sections(bytes: &[u8]) -> Result<Sections, ArtifactError> {
    let wrong = |reason: String| ArtifactError::NotAComponent { reason };
    let (mut depth, mut manifests) = (0_usize, Vec::new());
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| wrong(error.to_string()))? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(wrong("it is a core module; build it as a component".to_owned()));
            }
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 1 && section.name() == SECTION => {
                manifests.push(section.data().to_vec());
            }
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    imports.push(import.map_err(|error| wrong(error.to_string()))?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    exports.push(export.map_err(|error| wrong(error.to_string()))?.name.name.to_owned());
                }
            }
            _ => {}
        }
        if imports.len() > IMPORTS_MAX || exports.len() > IMPORTS_MAX {
            return Err(ArtifactError::TooLarge);
        }
    }
    let found = manifests.len();
    match manifests.pop() {
        Some(manifest) if found == 1 => Ok(Sections { manifest, imports, exports }),
        _ => Err(ArtifactError::NoManifest { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Artifact, ArtifactError, embed};
    use crate::manifest::SECTION;
    use proptest::prelude::*;

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    const MODULE: &[u8] = b"\0asm\x01\0\0\0";
    const MANIFEST: &str = "name = \"a\"\nversion = \"1\"\nworld = \"chancery:tool@0.1.0\"\ndescription = \"d\"\n\
                            [[tool]]\nname = \"a.b\"\neffect = \"read\"\n";

    /// One section: its id, its length in LEB128, its content.
    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![id];
        let mut rest = content.len();
        loop {
            let low = u8::try_from(rest & 0x7f).unwrap();
            rest >>= 7;
            out.push(if rest == 0 { low } else { low | 0x80 });
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(content);
        out
    }

    fn custom(name: &str, data: &str) -> Vec<u8> {
        let mut content = vec![u8::try_from(name.len()).unwrap()];
        content.extend_from_slice(name.as_bytes());
        content.extend_from_slice(data.as_bytes());
        section(0, &content)
    }

    #[test]
    fn the_manifest_of_the_outermost_component_counts() {
        // Section 1 of a component holds a core module.
        let nested = section(1, &[MODULE, &custom(SECTION, "name = \"liar\"")].concat());
        let bytes = [COMPONENT, &nested, &custom(SECTION, MANIFEST)].concat();
        let artifact = Artifact::read(bytes.clone()).unwrap();
        assert_eq!(artifact.manifest.name, "a");
        assert_eq!(artifact.digest, event::Digest::of(&bytes));
        assert_eq!(artifact.installed().tools, ["a.b"]);
        let nested_alone = [COMPONENT, &nested].concat();
        assert!(matches!(Artifact::read(nested_alone), Err(ArtifactError::NoManifest { found: 0 })));
    }

    #[test]
    fn a_manifest_is_put_in_once_and_read_back() {
        let whole = embed(COMPONENT, MANIFEST).unwrap();
        assert_eq!(whole, [COMPONENT, &custom(SECTION, MANIFEST)].concat());
        assert_eq!(Artifact::read(whole.clone()).unwrap().manifest.name, "a");
        assert!(matches!(embed(&whole, MANIFEST), Err(ArtifactError::Manifested { .. })));
        assert!(matches!(embed(COMPONENT, "name = 1"), Err(ArtifactError::Manifest(_))));
        assert!(matches!(embed(MODULE, MANIFEST), Err(ArtifactError::NotAComponent { .. })));
    }

    #[test]
    fn one_manifest_no_more_and_no_fewer() {
        let twice = [COMPONENT, &custom(SECTION, MANIFEST), &custom(SECTION, MANIFEST)].concat();
        assert!(matches!(Artifact::read(twice), Err(ArtifactError::NoManifest { found: 2 })));
        let error = Artifact::read(COMPONENT.to_vec()).unwrap_err();
        assert!(error.to_string().contains("chancery:manifest"), "{error}");
    }

    #[test]
    fn what_is_no_component_is_said_to_be_none() {
        for bytes in [b"".to_vec(), b"#!/bin/sh".to_vec(), COMPONENT[..5].to_vec(), MODULE.to_vec()] {
            assert!(matches!(Artifact::read(bytes), Err(ArtifactError::NotAComponent { .. })));
        }
        let cut = [COMPONENT, &custom(SECTION, MANIFEST)].concat();
        assert!(Artifact::read(cut[..cut.len() - 3].to_vec()).is_err());
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_are_they_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            at in 0_usize..300,
            to in any::<u8>(),
        ) {
            let _ = Artifact::read(bytes.clone());
            let _ = Artifact::read([COMPONENT, &bytes].concat());
            let mut changed = [COMPONENT, &custom(SECTION, MANIFEST)].concat();
            if let Some(byte) = changed.get_mut(at) {
                *byte = to;
            }
            if let Ok(artifact) = Artifact::read(changed.clone()) {
                prop_assert_eq!(artifact.digest, event::Digest::of(&changed));
            }
        }
    }
}
