//! What holds for every plugin of this repository, checked on the finished component.

use std::path::Path;

use toml::Table;

use super::component::Surface;
use super::list::Guest;

/// What any guest may import.
const OF_THE_HOST: [&str; 2] = ["chancery:host/", "chancery:types/"];
/// What a guest may import besides when its manifest asks for a route.
const OF_A_ROUTE: [&str; 3] = ["wasi:http/", "wasi:io/", "wasi:clocks/"];

/// The manifest is TOML, and its name and version are those of the crate.
pub fn check_manifest(manifest: &str, guest: &Guest) -> Result<(), String> {
    let table = parse(manifest)?;
    for (key, of_crate) in [("name", &guest.name), ("version", &guest.version)] {
        let value = text(&table, key)?;
        if value != of_crate {
            return Err(format!(
                "plugin.toml says {key} `{value}` and its crate `{of_crate}`: make them the same"
            ));
        }
    }
    Ok(())
}

/// The component imports only what its manifest lets it need, and exports the world it names.
pub fn check_surface(manifest: &str, surface: &Surface) -> Result<(), String> {
    let table = parse(manifest)?;
    let asks_a_route = table.contains_key("route");
    let allowed = OF_THE_HOST.iter().chain(OF_A_ROUTE.iter().filter(|_| asks_a_route));
    let is_allowed = |import: &&String| allowed.clone().any(|prefix| import.starts_with(prefix));
    if let Some(import) = surface.imports.iter().find(|import| !is_allowed(import)) {
        return Err(format!("it imports `{import}`, which a plugin with its manifest has no use for"));
    }
    let world = text(&table, "world")?;
    if world == "plain" {
        return if surface.exports.is_empty() { Err("it exports nothing".to_owned()) } else { Ok(()) };
    }
    let (package, version) =
        world.split_once('@').ok_or_else(|| format!("world `{world}` has no version"))?;
    let of_world = |export: &String| {
        export.split_once('@').is_some_and(|(interface, at)| {
            at == version && interface.strip_prefix(package).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    if surface.exports.iter().any(of_world) {
        Ok(())
    } else {
        Err(format!("it exports nothing of `{world}`"))
    }
}

/// The component names no folder of the machine it was built on.
pub fn check_no_folder<'a>(component: &[u8], folders: impl Iterator<Item = &'a Path>) -> Result<(), String> {
    for folder in folders {
        let name = folder.as_os_str().as_encoded_bytes();
        if !name.is_empty() && component.windows(name.len()).any(|window| window == name) {
            return Err(format!("it names the folder `{}` of this machine", folder.display()));
        }
    }
    Ok(())
}

fn parse(manifest: &str) -> Result<Table, String> {
    manifest.parse().map_err(|e| format!("plugin.toml: {e}"))
}

fn text<'a>(table: &'a Table, key: &str) -> Result<&'a str, String> {
    table.get(key).and_then(|value| value.as_str()).ok_or_else(|| format!("plugin.toml has no `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHOUT_ROUTE: &str = "name = \"web\"\nversion = \"0.1.0\"\nworld = \"chancery:tool@0.1.0\"\n";
    const WITH_ROUTE: &str = "name = \"web\"\nversion = \"0.1.0\"\nworld = \"chancery:tool@0.1.0\"\n[[route]]\nmethods = [\"GET\"]\n";

    fn surface(imports: &[&str], exports: &[&str]) -> Surface {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Surface { imports: owned(imports), exports: owned(exports) }
    }

    fn guest(name: &str) -> Guest {
        Guest {
            name: name.to_owned(),
            package: format!("plugin-{name}"),
            version: "0.1.0".to_owned(),
            manifest: None,
            folders: Vec::new(),
        }
    }

    #[test]
    fn http_is_for_a_plugin_that_asks_for_a_route() {
        let surface =
            surface(&["chancery:host/log@0.1.0", "wasi:http/types@0.2.12"], &["chancery:tool/tools@0.1.0"]);
        assert_eq!(check_surface(WITH_ROUTE, &surface), Ok(()));
        let refused = check_surface(WITHOUT_ROUTE, &surface).unwrap_err();
        assert!(refused.contains("wasi:http/types@0.2.12"), "{refused}");
    }

    #[test]
    fn ambient_wasi_is_for_no_plugin() {
        for import in
            ["wasi:cli/environment@0.2.12", "wasi:filesystem/types@0.2.12", "chancery:hostile/log@0.1.0"]
        {
            let surface = surface(&[import], &["chancery:tool/tools@0.1.0"]);
            assert!(check_surface(WITH_ROUTE, &surface).is_err(), "{import}");
        }
    }

    #[test]
    fn a_component_exports_the_world_that_its_manifest_names() {
        for export in
            ["chancery:model/inference@0.1.0", "chancery:tool/tools@0.2.0", "chancery:toolbox/tools@0.1.0"]
        {
            let refused = check_surface(WITHOUT_ROUTE, &surface(&[], &[export])).unwrap_err();
            assert!(refused.contains("chancery:tool@0.1.0"), "{refused}");
        }
    }

    #[test]
    fn a_manifest_has_the_name_and_version_of_its_crate() {
        assert_eq!(check_manifest(WITH_ROUTE, &guest("web")), Ok(()));
        assert!(check_manifest(WITH_ROUTE, &guest("slack")).unwrap_err().contains("name `web`"));
        assert!(check_manifest("name = ", &guest("web")).is_err());
    }

    #[test]
    fn a_folder_of_this_machine_is_found_in_the_bytes() {
        let folders = [Path::new("/home/someone"), Path::new("")];
        assert!(check_no_folder(b"..../home/someone/src/lib.rs", folders.into_iter()).is_err());
        assert_eq!(check_no_folder(b"..../chancery/src/lib.rs", folders.into_iter()), Ok(()));
    }
}
