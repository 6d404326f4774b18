//! The world `chancery:tool/tool-that-recalls` for Rust: generated bindings, and every [`Tools`] as its export.
//!
//! A plugin ends with `guest::bindings::export!(Plugin with_types_in guest::bindings);` and has no other
//! line that knows the component model.
#![allow(missing_docs, unsafe_code, reason = "the generated bindings")]

use serde_json::Value;

use crate::{Failure, Kind, Level, Tools};

wit_bindgen::generate!({
    path: ["../../wit/types", "../../wit/host", "../../wit/tool"],
    world: "chancery:tool/tool-that-recalls",
    generate_all,
    pub_export_macro: true,
});

use chancery::host::{credentials, log, settings};
use chancery::types::types::{Failure as WireFailure, FailureKind};
use exports::chancery::tool::recalls;
use exports::chancery::tool::tools::{Definition, Guest, ToolCall};

impl<T: Tools> Guest for T {
    fn definitions() -> Vec<Definition> {
        T::definitions()
            .into_iter()
            .map(|tool| Definition {
                name: tool.name.to_owned(),
                description: tool.description.to_owned(),
                input_schema: tool.input_schema.to_string(),
                output_schema: tool.output_schema.to_string(),
            })
            .collect()
    }

    fn call(call: ToolCall) -> Result<String, WireFailure> {
        let input: Value = serde_json::from_str(&call.input).map_err(|e| WireFailure {
            kind: FailureKind::InvalidInput,
            message: format!("the input of `{}` is not JSON: {e}", call.tool),
            retry_after_ms: None,
        })?;
        let call = crate::Call { tool: call.tool, input, key: call.key };
        T::call(&call, &Lent).map(|output| output.to_string()).map_err(WireFailure::from)
    }
}

impl<T: Tools> recalls::Guest for T {
    fn recall(effect: recalls::Effect) -> Result<recalls::Memory, WireFailure> {
        let recalls::Effect { tool, input, key, around_ms } = effect;
        let input: Value = serde_json::from_str(&input).map_err(|e| WireFailure {
            kind: FailureKind::InvalidInput,
            message: format!("what `{tool}` was called with is not JSON: {e}"),
            retry_after_ms: None,
        })?;
        let effect = crate::Effect { tool, input, key, around_ms };
        Ok(match T::recall(&effect, &Lent)? {
            crate::Memory::Found(reference) => recalls::Memory::Found(reference.to_string()),
            crate::Memory::Absent => recalls::Memory::Absent,
            crate::Memory::CannotSay(why) => recalls::Memory::CannotSay(why),
        })
    }
}

/// The imports of the world, as the plain [`crate::Host`].
struct Lent;

impl crate::Host for Lent {
    fn setting(&self, key: &str) -> Option<Value> {
        settings::get(key).and_then(|json| serde_json::from_str(&json).ok())
    }

    fn credential_exists(&self, reference: &str) -> bool {
        credentials::exists(reference)
    }

    fn log(&self, level: Level, line: &str) {
        let level = match level {
            Level::Debug => log::Level::Debug,
            Level::Info => log::Level::Info,
            Level::Warn => log::Level::Warn,
        };
        log::write(level, line);
    }
}

impl From<Failure> for WireFailure {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            Kind::InvalidInput => FailureKind::InvalidInput,
            Kind::NotFound => FailureKind::NotFound,
            Kind::NotAllowed => FailureKind::NotAllowed,
            Kind::RateLimited => FailureKind::RateLimited,
            Kind::Unavailable => FailureKind::Unavailable,
            Kind::TooLarge => FailureKind::TooLarge,
            Kind::Malformed => FailureKind::Malformed,
            Kind::Other(word) => FailureKind::Other(word.to_owned()),
        };
        Self { kind, message: failure.message, retry_after_ms: failure.retry_after_ms }
    }
}
