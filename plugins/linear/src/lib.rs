//! Linear: teams and issues are read; issues are opened, changed and commented on.
//!
//! All of it is GraphQL at one address, so what a reading tool may send is held to its documents by digest. What is
//! opened or written gets a name that follows from the effect's, so that it can be found again when nobody heard
//! whether it arrived. What is read was written by others. Absent on purpose: deleting, archiving, and whatever
//! changes teams, members or webhooks.

mod api;
mod definitions;
mod documents;
mod name;
mod read;
mod recall;
mod write;

use guest::http::Outgoing;
use guest::{Call, Definition, Effect, Failure, Host, Memory, Tools};
use serde_json::Value;

use api::Api;

#[cfg(target_arch = "wasm32")]
guest::bindings::export!(Linear with_types_in guest::bindings);

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Linear;

impl Tools for Linear {
    fn definitions() -> Vec<Definition> {
        definitions::all()
    }

    fn call(call: &Call, host: &dyn Host) -> Result<Value, Failure> {
        let api = Api::open(host, &Outgoing)?;
        match call.tool.as_str() {
            "linear.teams" => read::teams(&api),
            "linear.issues" => read::issues(&api, &call.read()?),
            "linear.issue" => read::issue(&api, &call.read()?),
            "linear.issue-open" => write::open(&api, &call.read()?, &call.key),
            "linear.issue-change" => write::change(&api, &call.read()?),
            "linear.comment" => write::comment(&api, &call.read()?, &call.key),
            _ => Err(call.unknown()),
        }
    }

    fn recall(effect: &Effect, host: &dyn Host) -> Result<Memory, Failure> {
        let api = Api::open(host, &Outgoing)?;
        match effect.tool.as_str() {
            "linear.issue-open" => recall::opened(&api, &effect.read()?, &effect.key),
            "linear.issue-change" => recall::changed(&api, &effect.read()?),
            "linear.comment" => recall::commented_on(&api, &effect.read()?, &effect.key),
            other => Ok(Memory::CannotSay(format!("`{other}` is not read back"))),
        }
    }
}

#[cfg(test)]
mod tests;
