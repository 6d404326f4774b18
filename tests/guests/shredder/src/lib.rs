//! A tool that destroys, as far as the host can tell: what it says that it did cannot be taken back. It reaches
//! nothing; that it ran is on the record.
#![cfg(target_arch = "wasm32")]

use guest::{Call, Definition, Failure, Host, Tools};
use serde_json::{Value, json};

guest::bindings::export!(Shredder with_types_in guest::bindings);

struct Shredder;

impl Tools for Shredder {
    fn definitions() -> Vec<Definition> {
        let page = json!({
            "type": "object",
            "properties": { "page": { "type": "string" } },
            "required": ["page"],
            "additionalProperties": false,
        });
        vec![Definition {
            name: "shredder.erase",
            description: "Erase a page for good.",
            input_schema: page.clone(),
            output_schema: page,
        }]
    }

    fn call(call: &Call, _host: &dyn Host) -> Result<Value, Failure> {
        match call.tool.as_str() {
            "shredder.erase" => Ok(call.input.clone()),
            _ => Err(call.unknown()),
        }
    }
}
