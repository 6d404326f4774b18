//! From a core module to a component, and what a component shows of itself.

use wasm_encoder::{ComponentSection, CustomSection};
use wit_component::{ComponentEncoder, DecodedWasm, decode};

/// The custom section that holds a plugin's manifest, as it stands in `plugin.toml`.
const MANIFEST_SECTION: &str = "chancery:manifest";

/// What a component asks for and offers, as full interface names such as `chancery:host/log@0.1.0`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surface {
    /// What it imports.
    pub imports: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
}

/// Turns a module with its WIT sections into a component, and validates it.
pub fn encode(module: &[u8]) -> Result<Vec<u8>, String> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|encoder| encoder.encode())
        .map_err(|e| format!("it does not make a component: {e:#}"))
}

/// Reads what a component imports and exports.
pub fn surface(component: &[u8]) -> Result<Surface, String> {
    match decode(component).map_err(|e| format!("the component cannot be read back: {e:#}"))? {
        DecodedWasm::Component(resolve, world) => {
            let world = resolve.worlds.get(world).ok_or("the component has no world")?;
            let names = |keys: Vec<_>| keys.into_iter().map(|key| resolve.name_world_key(key)).collect();
            Ok(Surface {
                imports: names(world.imports.keys().collect()),
                exports: names(world.exports.keys().collect()),
            })
        }
        DecodedWasm::WitPackage(..) => Err("it is a package of interfaces, not a component".to_owned()),
    }
}

/// Appends the manifest to a component.
pub fn embed(mut component: Vec<u8>, manifest: &str) -> Vec<u8> {
    let section = CustomSection { name: MANIFEST_SECTION.into(), data: manifest.as_bytes().into() };
    section.append_to_component(&mut component);
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest component: magic number, version and layer.
    const EMPTY: [u8; 8] = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

    #[test]
    fn a_manifest_is_appended_as_one_custom_section_that_a_reader_skips() {
        let component = embed(EMPTY.to_vec(), "name = \"web\"");
        let (head, section) = component.split_at(EMPTY.len());
        assert_eq!(head, EMPTY);
        // Section id 0, its length, the length of the name, the name, the text.
        assert_eq!(section[..3], [0, 30, 17]);
        assert_eq!(&section[3..20], MANIFEST_SECTION.as_bytes());
        assert_eq!(&section[20..], b"name = \"web\"");
        assert_eq!(surface(&component), Ok(Surface::default()));
    }

    #[test]
    fn what_is_no_module_does_not_make_a_component() {
        assert!(encode(b"not wasm").unwrap_err().contains("does not make a component"));
        assert!(surface(b"not wasm").is_err());
    }
}
