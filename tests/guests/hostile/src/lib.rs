//! A guest that does what no plugin should: spins, grows, recurses, floods, lies, and tries every door. Tests of
//! `component` and of the office call it and look at what became of everybody else.
//!
//! `hostile.echo` is the one well-behaved tool: the neighbour that must not notice.
#![cfg(target_arch = "wasm32")]

mod tools;
mod way_out;

use chancery::types::types::Failure;
use exports::chancery::tool::tools::{Definition, Guest, ToolCall};

mod bindings {
    #![allow(missing_docs, unsafe_code, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit/host", "../../../wit/tool"],
        world: "chancery:tool/tool",
        generate_all,
    });

    use super::Hostile;
    export!(Hostile);
}
use bindings::{chancery, exports};

/// Takes anything, and says that it gives an object.
const ANYTHING: &str = r#"{"type": "object"}"#;
/// What `hostile.lie` says that it gives.
const TRUTH: &str =
    r#"{"type": "object", "required": ["truth"], "properties": {"truth": {"type": "boolean"}}}"#;

struct Hostile;

impl Guest for Hostile {
    fn definitions() -> Vec<Definition> {
        let names = [
            "echo", "spin", "hog", "recurse", "open", "wait", "flood", "dirt", "search", "lie", "fetch",
            "push",
        ];
        let definition = |name: &str| Definition {
            name: format!("hostile.{name}"),
            description: "For tests alone.".to_owned(),
            input_schema: ANYTHING.to_owned(),
            output_schema: if name == "lie" { TRUTH } else { ANYTHING }.to_owned(),
        };
        names.map(definition).to_vec()
    }

    fn call(call: ToolCall) -> Result<String, Failure> {
        tools::call(&call)
    }
}
