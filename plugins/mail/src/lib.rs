//! Mail, by Gmail's API: a mailbox is searched and read, drafts are prepared, plain text is sent.
//!
//! What is sent or prepared carries the effect's name in its `Message-ID` and in a header of its own, so that it can be
//! found again when nobody heard whether it arrived: Gmail may give a message another `Message-ID`. What is read was
//! written by strangers. Absent on purpose: nothing is deleted, moved or marked; HTML and files are not sent.

mod address;
mod api;
mod attachment;
mod compose;
mod definitions;
mod message;
mod read;
mod recall;
mod write;

use guest::http::Outgoing;
use guest::{Call, Definition, Effect, Failure, Host, Memory, Tools};
use serde_json::Value;

use api::Api;

#[cfg(target_arch = "wasm32")]
guest::bindings::export!(Mail with_types_in guest::bindings);

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Mail;

impl Tools for Mail {
    fn definitions() -> Vec<Definition> {
        definitions::all()
    }

    fn call(call: &Call, host: &dyn Host) -> Result<Value, Failure> {
        let api = Api::open(host, &Outgoing)?;
        match call.tool.as_str() {
            "mail.search" => read::search(&api, &call.read()?),
            "mail.read" => read::read(&api, &call.read()?),
            "mail.attachment" => attachment::read(&api, &call.read()?),
            "mail.draft" => write::draft(&api, &call.read()?, &call.key),
            "mail.send" => write::send(&api, &call.read()?, &call.key),
            _ => Err(call.unknown()),
        }
    }

    fn recall(effect: &Effect, host: &dyn Host) -> Result<Memory, Failure> {
        let api = Api::open(host, &Outgoing)?;
        match effect.tool.as_str() {
            "mail.draft" => recall::drafted(&api, &effect.key),
            "mail.send" => recall::sent(&api, &effect.read()?, &effect.key, effect.around_ms),
            other => Ok(Memory::CannotSay(format!("`{other}` is not read back"))),
        }
    }
}

#[cfg(test)]
mod tests;
