//! A guest that looks at everything WASI has and says what it found: environment, arguments, folders, clocks,
//! random numbers, sockets, names, standard output. Linked and inert is what it must find. In a folder that it was
//! granted it tries everything that folders let one do.
//!
//! It has no `plugin.toml`, since no plugin of this repository imports so much; whoever loads it puts a
//! manifest in.
#![cfg(target_arch = "wasm32")]

mod bindings {
    #![allow(missing_docs, unsafe_code, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit/host", "../../../wit/tool"],
        world: "chancery:tool/tool",
        generate_all,
    });

    use super::Wasi;
    export!(Wasi);
}
mod folder;
mod look;

use bindings::chancery::types::types::Failure;
use bindings::exports::chancery::tool::tools::{Definition, Guest, ToolCall};

struct Wasi;

impl Guest for Wasi {
    fn definitions() -> Vec<Definition> {
        let definition = |name: &str| Definition {
            name: name.to_owned(),
            description: "For tests alone.".to_owned(),
            input_schema: r#"{"type": "object"}"#.to_owned(),
            output_schema: r#"{"type": "object"}"#.to_owned(),
        };
        ["wasi.look", "wasi.folder"].map(definition).to_vec()
    }

    fn call(call: ToolCall) -> Result<String, Failure> {
        match call.tool.as_str() {
            "wasi.folder" => Ok(folder::tried().to_string()),
            _ => Ok(look::around().to_string()),
        }
    }
}
