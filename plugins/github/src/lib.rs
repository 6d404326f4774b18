//! GitHub: issues, pull requests and files are read; issues are opened and commented on.
//!
//! Each tool is one request, or two where an issue comes with its comments. What is written carries the effect's name
//! in a comment that GitHub does not show, so that it can be found again when nobody heard whether it arrived.
//! What is read was written by strangers. Absent on purpose: merging, closing, deleting, and whatever changes code.

mod api;
mod definitions;
mod read;
mod repository;
mod write;

use guest::http::Outgoing;
use guest::{Call, Definition, Effect, Failure, Host, Memory, Tools};
use serde_json::Value;

use api::Api;

#[cfg(target_arch = "wasm32")]
guest::bindings::export!(GitHub with_types_in guest::bindings);

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct GitHub;

impl Tools for GitHub {
    fn definitions() -> Vec<Definition> {
        definitions::all()
    }

    fn call(call: &Call, host: &dyn Host) -> Result<Value, Failure> {
        let api = Api::open(host, &Outgoing)?;
        match call.tool.as_str() {
            "github.issues" => read::issues(&api, &call.read()?),
            "github.issue" => read::issue(&api, &call.read()?),
            "github.pulls" => read::pulls(&api, &call.read()?),
            "github.file" => read::file(&api, &call.read()?),
            "github.issue-open" => write::open(&api, &call.read()?, &call.key),
            "github.comment" => write::comment(&api, &call.read()?, &call.key),
            _ => Err(call.unknown()),
        }
    }

    fn recall(effect: &Effect, host: &dyn Host) -> Result<Memory, Failure> {
        let api = Api::open(host, &Outgoing)?;
        match effect.tool.as_str() {
            "github.issue-open" => write::recall_issue(&api, &effect.read()?, &effect.key),
            "github.comment" => write::recall_comment(&api, &effect.read()?, &effect.key),
            other => Ok(Memory::CannotSay(format!("`{other}` is not read back"))),
        }
    }
}

#[cfg(test)]
mod tests;
