//! Slack as a destination: messages, reactions, the cards of calls that wait for a yes, and who the bot is.
//!
//! Every message is composed in one place ([`message`]), where text is text and a mention is made by its
//! constructor alone; ids are types ([`ids`]), so nothing else reaches the API. The bot's token is put into
//! the request by the host, under this guest, which never sees it.
//!
//! Absent on purpose: reading channels for what people say and receiving events (the host's front does), and retries.
//! History is read for one thing: whether a message of the office's own is there ([`recall`]). Files are read by id
//! ([`file`]).

mod api;
mod card;
mod definitions;
mod errors;
mod file;
mod ids;
mod long;
mod markdown;
mod message;
mod mrkdwn;
mod recall;
mod text;
mod tools;

use guest::http::{Outgoing, Wire};
use guest::{Call, Definition, Effect, Failure, Host, Memory, Tools};
use serde_json::Value;

use api::Api;

#[cfg(target_arch = "wasm32")]
guest::bindings::export!(Slack with_types_in guest::bindings);

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Slack;

impl Tools for Slack {
    fn definitions() -> Vec<Definition> {
        definitions::all()
    }

    fn call(call: &Call, host: &dyn Host) -> Result<Value, Failure> {
        answer(call, host, &Outgoing)
    }

    fn recall(effect: &Effect, host: &dyn Host) -> Result<Memory, Failure> {
        recalled(effect, host, &Outgoing)
    }
}

fn recalled(effect: &Effect, host: &dyn Host, wire: &dyn Wire) -> Result<Memory, Failure> {
    match effect.tool.as_str() {
        "slack.post" | "slack.card" => recall::message(effect, &Api::open(host, wire)?),
        other => Ok(Memory::CannotSay(format!("`{other}` leaves nothing that says which effect it was"))),
    }
}

fn answer(call: &Call, host: &dyn Host, wire: &dyn Wire) -> Result<Value, Failure> {
    match call.tool.as_str() {
        "slack.post" => tools::post(call.read()?, &call.key, &Api::open(host, wire)?),
        "slack.card" => tools::card(call.read()?, &call.key, &Api::open(host, wire)?),
        "slack.card-update" => tools::card_update(call.read()?, &Api::open(host, wire)?),
        "slack.whisper" => tools::whisper(call.read()?, &Api::open(host, wire)?),
        "slack.react" => tools::react(call.read()?, &Api::open(host, wire)?),
        "slack.home" => tools::home(call.read()?, &Api::open(host, wire)?),
        "slack.emoji" => tools::emoji(call.read()?, &Api::open(host, wire)?),
        "slack.file" => file::read(&call.read()?, &Api::open(host, wire)?),
        "slack.identity" => tools::identity(call.read()?, &Api::open(host, wire)?),
        _ => Err(call.unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_the_tools_that_are_defined_and_no_other() {
        let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
        let tools = manifest["tool"].as_array().unwrap();
        let mut asked: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let mut defined: Vec<&str> = Slack::definitions().iter().map(|tool| tool.name).collect();
        asked.sort_unstable();
        defined.sort_unstable();
        assert_eq!(asked, defined);
    }
}
