//! Slack as a destination: messages, reactions, the cards of calls that wait for a yes, Homes and forms, and who the bot
//! is.
//!
//! Every message is composed in one place ([`message`]), where text is text and a mention is made by its
//! constructor alone; ids are types ([`ids`]), so nothing else reaches the API. The bot's token is put into
//! the request by the host, under this guest, which never sees it.
//!
//! Absent on purpose: reading channels for what people say and receiving events (the host's front does), and retries.
//! History is read for one thing: whether a message of the office's own is there ([`recall`]). Files are read by id
//! ([`file`]).

mod api;
mod ask;
mod card;
mod definitions;
mod errors;
mod file;
mod form;
mod home;
mod ids;
mod long;
mod markdown;
mod message;
mod mrkdwn;
mod progress;
mod recall;
mod stream;
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
        "slack.post" | "slack.card" | "slack.ask" | "slack.progress" => {
            recall::message(effect, &Api::open(host, wire)?)
        }
        "slack.begin" if effect.read::<form::Begin>()?.place().is_some() => {
            recall::message(effect, &Api::open(host, wire)?)
        }
        "slack.begin" => {
            Ok(Memory::CannotSay("which conversation are a person's direct messages, nobody said".to_owned()))
        }
        other => Ok(Memory::CannotSay(format!("`{other}` leaves nothing that says which effect it was"))),
    }
}

fn answer(call: &Call, host: &dyn Host, wire: &dyn Wire) -> Result<Value, Failure> {
    let mut call = call.clone();
    if let Some(input) = call.input.as_object_mut() {
        input.remove(definitions::TEAM);
    }
    match call.tool.as_str() {
        "slack.post" => tools::post(call.read()?, &call.key, &Api::open(host, wire)?),
        "slack.card" => tools::card(call.read()?, &call.key, &Api::open(host, wire)?),
        "slack.complete" => stream::complete(call.read()?, &Api::open(host, wire)?),
        "slack.ask" => ask::ask(call.read()?, &call.key, &Api::open(host, wire)?),
        "slack.ask-update" => ask::answered(call.read()?, &Api::open(host, wire)?),
        "slack.progress" => progress::line(call.read()?, &call.key, &Api::open(host, wire)?),
        "slack.progress-change" => progress::changed(call.read()?, &Api::open(host, wire)?),
        "slack.progress-end" => progress::ended(call.read()?, &Api::open(host, wire)?),
        "slack.status" => progress::status(call.read()?, &Api::open(host, wire)?),
        "slack.assistant-thread" => progress::assistant_thread(call.read()?, &Api::open(host, wire)?),
        "slack.card-update" => tools::card_update(call.read()?, &Api::open(host, wire)?),
        "slack.whisper" => tools::whisper(call.read()?, &Api::open(host, wire)?),
        "slack.react" => tools::react(call.read()?, &Api::open(host, wire)?),
        "slack.home" => home::publish(&call.read()?, &call.key, &Api::open(host, wire)?),
        "slack.form" => form::open(&call.read()?, &Api::open(host, wire)?),
        "slack.begin" => form::begin(&call.read()?, &call.key, &Api::open(host, wire)?),
        "slack.emoji" => tools::emoji(call.read()?, &Api::open(host, wire)?),
        "slack.file" => file::read(&call.read()?, &Api::open(host, wire)?),
        "slack.identity" => tools::identity(call.read()?, &Api::open(host, wire)?),
        _ => Err(call.unknown()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use guest::Level;
    use guest::http::{Ask, Reply};
    use serde_json::json;

    use super::*;

    /// What Slack says to one request.
    #[derive(Debug, Clone)]
    pub enum Told {
        /// This, with status 200.
        Ok(Value),
        /// That it does not, for this reason.
        No(&'static str),
        /// To wait.
        Wait,
        /// Nothing: the connection broke.
        Lost,
    }

    /// Slack, saying one thing after the other; and what it was asked, by method.
    struct Scripted {
        told: RefCell<Vec<Told>>,
        asked: RefCell<Vec<(String, Value)>>,
    }

    impl Wire for Scripted {
        fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
            let method = ask.address.to_string().rsplit('/').next().unwrap().to_owned();
            self.asked
                .borrow_mut()
                .push((method.clone(), serde_json::from_slice(&ask.body).unwrap_or_default()));
            assert!(!self.told.borrow().is_empty(), "nobody expects {method}");
            let (status, body) = match self.told.borrow_mut().remove(0) {
                Told::Ok(body) => (200, body),
                Told::No(code) => (200, json!({"ok": false, "error": code})),
                Told::Wait => (429, json!({"ok": false, "error": "ratelimited"})),
                Told::Lost => return Err(Failure::new(guest::Kind::Unavailable, "the connection broke")),
            };
            let headers = vec![("retry-after".to_owned(), b"30".to_vec())];
            Ok(Reply { status, headers, body: body.to_string().into_bytes(), cut: false })
        }
    }

    /// Slack, saying the same to whatever it is asked.
    pub struct Always(pub Told);

    impl Always {
        /// As [`asked_of`].
        pub fn asked_of(self, call: Call) -> (Result<Value, Failure>, Vec<(String, Value)>) {
            let wire = Scripted { told: RefCell::new(vec![self.0; 64]), asked: RefCell::default() };
            let output = answer(&call, &Office, &wire);
            (output, wire.asked.into_inner())
        }
    }

    struct Office;

    impl Host for Office {
        fn setting(&self, _key: &str) -> Option<Value> {
            None
        }

        fn credential_exists(&self, _reference: &str) -> bool {
            true
        }

        fn log(&self, _level: Level, _line: &str) {}
    }

    /// A call of `tool`, as the effect `effect_1`.
    pub fn call(tool: &str, input: Value) -> Call {
        Call { tool: tool.to_owned(), input, key: "effect_1".to_owned() }
    }

    /// What comes of `call` when Slack says all of `told`, and what Slack was asked.
    pub fn asked_of(call: Call, told: &[Told]) -> (Result<Value, Failure>, Vec<(String, Value)>) {
        let wire = Scripted { told: RefCell::new(told.to_vec()), asked: RefCell::default() };
        let output = answer(&call, &Office, &wire);
        assert!(wire.told.borrow().is_empty(), "never asked: {:?}", wire.told.borrow());
        (output, wire.asked.into_inner())
    }

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
