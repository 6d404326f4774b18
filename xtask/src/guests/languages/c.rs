//! C: bindings from the WIT, the compiler and C library that `ziglang` brings from PyPI, and then a component like
//! those of Rust.

use std::fs;
use std::path::Path;
use std::process::Command;

use wit_bindgen_core::{Files, wit_parser::Resolve};

use super::{Absent, Work, built, from_pypi, python_in};
use crate::guests::component;
use crate::stop::Stop;

pub(super) fn tools(work: &Work) -> Result<(), Absent> {
    from_pypi(work)
}

pub(super) fn build(work: &Work) -> Result<Vec<u8>, Stop> {
    let folder = work.folder.join("bindings");
    fs::create_dir_all(&folder).map_err(|e| Stop::because(folder.display(), e))?;
    for (name, bytes) in bindings(&work.wit)? {
        let path = folder.join(&name);
        fs::write(&path, bytes).map_err(|e| Stop::because(path.display(), e))?;
    }
    let output = work.folder.join("tool.wasm");
    let mut compiler = Command::new(python_in(work));
    // A library that is called, and has no beginning of its own.
    compiler.args(["-m", "ziglang", "cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-Os", "-I"]);
    compiler.arg(&folder).arg(folder.join("tool.c")).arg(work.sources.join("tool.c"));
    compiler.arg(folder.join("tool_component_type.o")).arg("-o").arg(&output);
    for cache in ["ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"] {
        compiler.env(cache, work.folder.join("cache"));
    }
    let module = built(&mut compiler, &output)?;
    component::encode(&module).map_err(|e| Stop::because("the guest in c", e))
}

/// The bindings of the world of tools, by file name.
pub(super) fn bindings(wit: &Path) -> Result<Vec<(String, Vec<u8>)>, Stop> {
    let wrong = |e: &dyn std::fmt::Display| Stop::because(wit.display(), e);
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit).map_err(|e| wrong(&format!("{e:#}")))?;
    let world = resolve.select_world(&[package], Some("tool")).map_err(|e| wrong(&format!("{e:#}")))?;
    let mut files = Files::default();
    let mut generator = wit_bindgen_c::Opts::default().build();
    generator.generate(&mut resolve, world, &mut files).map_err(|e| wrong(&format!("{e:#}")))?;
    Ok(files.iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect())
}
