//! A tool plugin as plain values: `chancery:tool` without the component model.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Failure, Kind};

/// What a tool plugin is. [`crate::bindings`] exports any implementation as a component.
pub trait Tools {
    /// The tools on offer. Asked once, when the plugin is loaded, with nothing granted.
    fn definitions() -> Vec<Definition>;

    /// Makes one admitted call, in a fresh instance.
    ///
    /// # Errors
    /// Whatever kept the deed from being done, as data for the host and the model.
    fn call(call: &Call, host: &dyn Host) -> Result<Value, Failure>;

    /// Looks whether an effect happened, for the tools whose manifest entry says `recall = true`.
    ///
    /// # Errors
    /// Whatever kept it from looking; the host takes it for [`Memory::CannotSay`].
    fn recall(effect: &Effect, _host: &dyn Host) -> Result<Memory, Failure> {
        Ok(Memory::CannotSay(format!("`{}` is not read back", effect.tool)))
    }
}

/// An effect of which nobody knows whether it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The tool that was called.
    pub tool: String,
    /// The input it was called with.
    pub input: Value,
    /// The name it was called with.
    pub key: String,
    /// When, in milliseconds since 1970.
    pub around_ms: u64,
}

impl Effect {
    /// The input as `T`.
    ///
    /// # Errors
    /// [`Kind::InvalidInput`], naming what does not fit.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_value(self.input.clone())
            .map_err(|e| Failure::new(Kind::InvalidInput, format!("`{}` never took that: {e}", self.tool)))
    }
}

/// What reading back says.
#[derive(Debug, Clone, PartialEq)]
pub enum Memory {
    /// It happened; what the call would have given.
    Found(Value),
    /// Everything was looked through, and it is not there now.
    Absent,
    /// That cannot be told, for this reason.
    CannotSay(String),
}

/// One tool, as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// `family.verb`; one that the manifest names.
    pub name: &'static str,
    /// When to use it and what comes back, for a model.
    pub description: &'static str,
    /// JSON Schema (2020-12) of the input: an object.
    pub input_schema: Value,
    /// JSON Schema (2020-12) of the output.
    pub output_schema: Value,
}

/// One call, admitted by the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Input that fits the schema.
    pub input: Value,
    /// The name of the effect, the same for every try of the same deed. Empty for a read.
    pub key: String,
}

impl Call {
    /// The input as `T`.
    ///
    /// # Errors
    /// [`Kind::InvalidInput`], naming what does not fit.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_value(self.input.clone()).map_err(|e| {
            Failure::new(Kind::InvalidInput, format!("the input is not what `{}` takes: {e}", self.tool))
        })
    }

    /// What to answer to a call of a tool that the plugin does not have.
    pub fn unknown(&self) -> Failure {
        Failure::new(Kind::NotFound, format!("this plugin has no tool `{}`", self.tool))
    }
}

/// What the host lends every guest.
pub trait Host {
    /// The operator's setting under `key`, if there is one.
    fn setting(&self, key: &str) -> Option<Value>;

    /// Whether a granted route names this credential and the vault has a value for it.
    fn credential_exists(&self, reference: &str) -> bool;

    /// Writes a line to the operator's log.
    fn log(&self, level: Level, line: &str);
}

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For whoever works on the plugin.
    Debug,
    /// What happened.
    Info,
    /// Something an operator should look at.
    Warn,
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Input {
        count: u8,
    }

    fn call(input: Value) -> Call {
        Call { tool: "shelf.count".to_owned(), input, key: String::new() }
    }

    #[test]
    fn an_input_that_fits_is_read() {
        assert_eq!(call(json!({"count": 3})).read::<Input>(), Ok(Input { count: 3 }));
    }

    #[test]
    fn an_input_that_does_not_fit_says_which_tool_and_what() {
        let failure = call(json!({"count": 3, "colour": "red"})).read::<Input>().unwrap_err();
        assert_eq!(failure.kind, Kind::InvalidInput);
        assert!(failure.message.contains("`shelf.count`"), "{}", failure.message);
        assert!(failure.message.contains("colour"), "{}", failure.message);
    }
}
