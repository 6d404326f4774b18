//! A guest that looks at everything WASI has and says what it found: environment, arguments, folders, clocks,
//! random numbers, sockets, names, standard output. Linked and inert is what it must find.
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
mod look;

use bindings::chancery::types::types::Failure;
use bindings::exports::chancery::tool::tools::{Definition, Guest, ToolCall};

struct Wasi;

impl Guest for Wasi {
    fn definitions() -> Vec<Definition> {
        vec![Definition {
            name: "wasi.look".to_owned(),
            description: "For tests alone.".to_owned(),
            input_schema: r#"{"type": "object"}"#.to_owned(),
            output_schema: r#"{"type": "object"}"#.to_owned(),
        }]
    }

    fn call(_: ToolCall) -> Result<String, Failure> {
        Ok(look::around().to_string())
    }
}
