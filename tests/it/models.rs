//! Real model plugins against servers on this machine: what leaves, what an answer becomes, and what every way to go
//! wrong costs. No test here reaches a provider.

use event::{Fact, NanoUsd, Origin, StepOutcome, TurnEnding, TurnId};
use gate::{
    Call, FailureKind, InferRequest, Message, Output, Part, Passed, Payload, Role, ToolCall, ToolOffer,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tests::office::guests;
use tests::provider::{Play, chat, data, error, event, messages, responses, stream_head, whole};
use tests::slack::app_mention;
use tests::{Kit, Office, Provider};

mod changed;
mod faults;
mod files;
mod oracle;
mod real;
mod stop;
mod story;

/// What the key is worth.
const KEY: &str = "sk-not-a-key-0123456789-but-as-long";

/// Which API a test speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Messages,
    Chat,
    Responses,
}

const APIS: [Api; 3] = [Api::Messages, Api::Chat, Api::Responses];

impl Api {
    fn model(self) -> &'static str {
        match self {
            Self::Messages => "anthropic/claude-opus-5-5",
            Self::Chat | Self::Responses => "openai/gpt-6.2-sol",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
        }
    }

    /// An answer of one text and perhaps one call, as this API streams it.
    pub fn answer(self, text: &str, call: Option<(&str, &str, &str)>) -> Vec<Play> {
        match self {
            Self::Messages => {
                let mut blocks = vec![json!({"text": text})];
                blocks.extend(call.map(|(id, name, input)| json!({"call": name, "id": id, "input": input})));
                messages(&blocks, if call.is_some() { "tool_use" } else { "end_turn" })
            }
            Self::Chat => chat(
                text,
                &call.into_iter().collect::<Vec<_>>(),
                if call.is_some() { "tool_calls" } else { "stop" },
            ),
            Self::Responses => {
                let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
                let mut items = vec![json!({"type": "message", "id": "msg_1", "role": "assistant",
                    "status": "completed", "content": content})];
                items.extend(call.map(|(id, name, input)| {
                    json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": input,
                        "status": "completed"})
                }));
                responses(&items, "completed", &json!({}))
            }
        }
    }
}

/// An office whose model is one of `api`, at `provider`; `settings` are more of the plugin's.
pub async fn kit(api: Api, provider: &Provider, settings: &str) -> Kit {
    let mut kit = Kit::new().await;
    std::fs::write(kit.folder().join("key"), KEY).unwrap();
    kit.model = api.model().to_owned();
    kit.loopback.push(provider.origin.clone());
    let (plugin, header, base) = match api {
        Api::Messages => ("anthropic", "header = \"x-api-key\"\n", provider.origin.clone()),
        _ => ("openai", "", format!("{}/v1", provider.origin)),
    };
    let spoken = if api == Api::Chat { "api = \"chat\", " } else { "" };
    let file = guests().join(format!("{plugin}.wasm"));
    write!(
        kit.more,
        "[credentials.\"{plugin}.api-key\"]\nfile = \"key\"\n{header}[[plugin]]\nname = \"{plugin}\"\nfile = \"{}\"\n\
         settings = {{ {spoken}base_url = \"{base}\"{settings} }}\n[[plugin.route]]\nmethods = [\"POST\"]\n\
         origin = \"{}\"\npath_prefix = \"{}\"\ncredential = \"{plugin}.api-key\"\n",
        file.display(),
        provider.origin,
        api.path(),
    )
    .unwrap();
    kit
}

fn asked(api: Api, text: &str) -> InferRequest {
    InferRequest {
        model: api.model().to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![Message { role: Role::User, parts: vec![Part::Text(text.to_owned())] }],
        tools: vec![ToolOffer {
            name: "web.fetch".to_owned(),
            description: "Reads a page.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"url": {"type": "string"}}}),
        }],
        output_tokens_max: 1_000,
    }
}

/// A call of the model, as step `step` of a turn that no loop runs.
async fn call(office: &Office, request: InferRequest, step: u32) -> Call {
    let events = office.events().await;
    Call {
        origin: Origin::Step { turn: TurnId::parse("turn_of-a-test").unwrap(), step, attempt: 1 },
        seat: office.built.front_desk.clone(),
        tool: request.model.clone(),
        topic: None,
        asker: None,
        unasked: false,
        goal: None,
        payload: Payload::from(request),
        label: event::Label::host(),
        of: BTreeSet::new(),
        cause: events.last().unwrap().id.clone(),
        fence: None,
        within: Vec::new(),
        drill: false,
    }
}

/// How the newest hold ended: its word, and what it counts.
async fn hold(office: &Office) -> (&'static str, NanoUsd) {
    let events = office.events().await;
    let ends = events.iter().filter_map(|event| match &event.fact {
        Fact::HoldSettled(body) => Some(("settled", body.charged)),
        Fact::HoldReleased(_) => Some(("released", NanoUsd::ZERO)),
        Fact::HoldLeftUnknown(body) => Some(("unknown", body.held)),
        _ => None,
    });
    let taken = events.iter().filter(|event| event.fact.kind() == "hold.taken").count();
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends.len(), taken, "each hold has one end");
    *ends.last().unwrap()
}

/// What 100 + 60 cached + 40 written tokens in and 30 out cost on the list: the figures of every answer played here.
fn price(api: Api) -> NanoUsd {
    // Dollars a million are nano-dollars times a thousand for one.
    match api {
        Api::Messages => NanoUsd(100 * 4_000 + 60 * 200 + 40 * 5_000 + 30 * 20_000),
        _ => NanoUsd(100 * 2_000 + 60 * 100 + 40 * 2_500 + 30 * 10_000),
    }
}
