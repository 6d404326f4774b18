//! Components that export plain typed functions and no world of ours: each function that the manifest names is a
//! tool, and its schemas are read from its types.
//!
//! Always holds: what has no exact likeness in JSON is refused when the plugin loads, never guessed in a call; an
//! answer is held to its type, its schema and its limits like any other; an error that a function gives is the
//! call's failure. Deliberately absent: resources, streams, futures and maps, and functions that run beside their
//! caller. A plain function is told no name of its effect, so a deed of one cannot be told from its repetition by
//! the other side.

mod call;
mod shape;
mod value;

use crate::engine::Engine;
use crate::load_error::LoadError;
use crate::manifest::{Manifest, ToolEntry};
use crate::offer::{Ready, ReadyTool, ready_tool_of};
use event::Digest;
use shape::Shapes;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, Type};

/// Most functions of one component that are looked at: far above what a list of tools can hold.
const FUNCTIONS_MAX: usize = 500;

/// One exported function: how it is found in an instance, what it takes and what it gives.
pub(crate) struct Function {
    index: ComponentExportIndex,
    params: Vec<(String, Type)>,
    gives: Option<Type>,
}

/// One tool that is a plain function.
pub(crate) struct PlainTool {
    pub(crate) ready: Arc<ReadyTool>,
    pub(crate) function: Arc<Function>,
}

/// The functions that the manifest names, as tools.
pub(crate) fn ready_plain(
    engine: &Engine,
    component: &Component,
    manifest: &Manifest,
    digest: &Digest,
) -> Result<Ready, LoadError> {
    let other_world =
        |source| LoadError::OtherWorld { plugin: manifest.name.clone(), world: manifest.world, source };
    let pre = engine.linkers.tool.instantiate_pre(component).map_err(other_world)?;
    let wrong = |reason| LoadError::Definitions { plugin: manifest.name.clone(), reason };
    let exported = exported(engine, component).map_err(wrong)?;
    let mut tools = BTreeMap::new();
    for entry in &manifest.tools {
        let tool = plain_tool(manifest, digest, entry, &exported).map_err(wrong)?;
        tools.insert(entry.name.clone(), Arc::new(tool));
    }
    Ok(Ready::Plain { pre, tools })
}

type Exported = BTreeMap<String, (ComponentExportIndex, ComponentFunc)>;

/// Every exported function by its full name: `add`, or `acme:sums/sums@1.0.0#add` within an interface. Methods and
/// constructors of resources are none: their names stand in brackets.
fn exported(engine: &Engine, component: &Component) -> Result<Exported, String> {
    let engine = &engine.wasmtime;
    let mut found = Exported::new();
    let mut add = |name: String, index: Option<ComponentExportIndex>, function: ComponentFunc| {
        let index = index.ok_or_else(|| format!("its export `{name}` cannot be found"))?;
        found.insert(name, (index, function));
        if found.len() > FUNCTIONS_MAX {
            return Err(format!("it exports more than {FUNCTIONS_MAX} functions"));
        }
        Ok(())
    };
    for (name, export) in component.component_type().exports(engine) {
        match export.ty {
            ComponentItem::ComponentFunc(function) if !name.contains('[') => {
                add(name.to_owned(), component.get_export_index(None, name), function)?;
            }
            ComponentItem::ComponentInstance(interface) => {
                let within = component.get_export_index(None, name);
                for (inner, export) in interface.exports(engine) {
                    let ComponentItem::ComponentFunc(function) = export.ty else { continue };
                    if !inner.contains('[') {
                        let index = component.get_export_index(within.as_ref(), inner);
                        add(format!("{name}#{inner}"), index, function)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn plain_tool(
    manifest: &Manifest,
    digest: &Digest,
    entry: &ToolEntry,
    exported: &Exported,
) -> Result<PlainTool, String> {
    let (full, (index, typed)) = named(entry, exported)?;
    let no_tool =
        |reason: String| format!("the function `{full}` cannot be the tool `{}`: {reason}", entry.name);
    if typed.async_() {
        return Err(no_tool("it runs beside its caller".to_owned()));
    }
    let params: Vec<(String, Type)> = typed.params().map(|(name, ty)| (name.to_owned(), ty)).collect();
    let gives = typed.results().next();
    let mut shapes = Shapes::new();
    let input =
        shapes.object(params.iter().map(|(name, ty)| (name.as_str(), ty.clone()))).map_err(no_tool)?;
    let output = shapes.answer(gives.as_ref()).map_err(no_tool)?;
    let ready = ready_tool_of(manifest, digest, entry, described(entry, full), &input, &output)?;
    let function = Function { index: *index, params, gives };
    Ok(PlainTool { ready: Arc::new(ready), function: Arc::new(function) })
}

/// The function that is this tool: the one its entry names, or the only one called like the tool.
fn named<'e>(
    entry: &ToolEntry,
    exported: &'e Exported,
) -> Result<(&'e String, &'e (ComponentExportIndex, ComponentFunc)), String> {
    if let Some(function) = &entry.function {
        let found = exported.get_key_value(function);
        return found.ok_or_else(|| {
            format!(
                "the tool `{}` is to be `{function}`, which it does not export; {}",
                entry.name,
                listed(exported)
            )
        });
    }
    let verb = entry.name.split_once('.').map_or(entry.name.as_str(), |(_, verb)| verb);
    let called = |full: &&String| full.rsplit('#').next() == Some(verb);
    let mut found = exported.keys().filter(called);
    match (found.next(), found.next()) {
        (Some(full), None) => exported.get_key_value(full).ok_or_else(String::new),
        (None, _) => {
            Err(format!("no function `{verb}` is there for the tool `{}`; {}", entry.name, listed(exported)))
        }
        (Some(one), Some(other)) => Err(format!(
            "`{one}` and `{other}` could both be the tool `{}`: say which with `function = \"{one}\"`",
            entry.name
        )),
    }
}

/// Most names in one account of what is exported: enough to see a slip.
const NAMES_MAX: usize = 8;

fn listed(exported: &Exported) -> String {
    let names: Vec<&str> = exported.keys().take(NAMES_MAX).map(String::as_str).collect();
    match names.len() {
        0 => "it exports no function".to_owned(),
        _ => format!("it exports `{}`", names.join("`, `")),
    }
}

/// What the manifest says of the tool, or what is known of it without.
fn described(entry: &ToolEntry, full: &str) -> String {
    entry.description.clone().unwrap_or_else(|| format!("The function `{full}`."))
}
