//! A guest that imports an interface nobody knows. It must not load, and the reason must name the interface.
//!
//! It has no `plugin.toml`, since a plugin that imports so much would not be built; whoever loads it puts a
//! manifest in.
#![cfg(target_arch = "wasm32")]

mod bindings {
    #![allow(missing_docs, unsafe_code, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit/host", "../../../wit/tool", "wit"],
        world: "acme:beam/stranger",
        generate_all,
    });

    use super::Stranger;
    export!(Stranger);
}

use bindings::acme::beam::teleport;
use bindings::chancery::types::types::Failure;
use bindings::exports::chancery::tool::tools::{Definition, Guest, ToolCall};

struct Stranger;

impl Guest for Stranger {
    fn definitions() -> Vec<Definition> {
        vec![Definition {
            name: "stranger.beam".to_owned(),
            description: "For tests alone.".to_owned(),
            input_schema: r#"{"type": "object"}"#.to_owned(),
            output_schema: r#"{"type": "object"}"#.to_owned(),
        }]
    }

    fn call(call: ToolCall) -> Result<String, Failure> {
        Ok(teleport::beam(&call.input))
    }
}
