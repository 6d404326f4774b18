//! What can be called at the door: the tools of the shipped policies, harmless and destructive, and one model.

use super::{CALL_MS_MAX, MODEL, OUTPUT_TOKENS_MAX};
use event::{Digest, Handle, Route};
use gate::{Catalogue, EffectClass, ModelSpec, Resource, ToolSpec, Touches};
use serde_json::{Value, json};
use std::sync::Arc;

/// The office's own verbs, and what each is given.
const OFFICE: [(&str, EffectClass, Handle); 8] = [
    ("office.said", EffectClass::Read, Handle::Place),
    ("office.seats", EffectClass::Read, Handle::Seat),
    ("office.turns", EffectClass::Read, Handle::Seat),
    ("office.budgets", EffectClass::Read, Handle::Purse),
    ("office.waiting", EffectClass::Read, Handle::Agenda),
    ("office.look-again", EffectClass::Write, Handle::Wishes),
    ("office.ask", EffectClass::Write, Handle::Wishes),
    ("office.answer", EffectClass::Write, Handle::Wishes),
];

/// The tools: `slack.post` of an effect class, `slack.identity` and `terminal.say`.
pub struct Shelf {
    pub post: EffectClass,
    pub component: Digest,
}

impl Catalogue for Shelf {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        let text = json!({"type": "string"});
        let spec = |name: &str, effect, touches, properties: Value| {
            Arc::new(ToolSpec {
                name: name.to_owned(),
                plugin: name.split('.').next().unwrap().to_owned(),
                digest: self.component.clone(),
                description: String::new(),
                input_schema: json!({"type": "object", "properties": properties}),
                output_schema: json!({}),
                effect,
                touches,
                price_key: None,
                exact: false,
                recall: false,
            })
        };
        let to = |pointer: &str| Touches::Destination(vec![pointer.to_owned()]);
        let card = |name: &str| spec(name, EffectClass::External, to("/channel"), json!({"channel": text}));
        let can_recall = |spec: Arc<ToolSpec>| Arc::new(ToolSpec { recall: true, ..spec.as_ref().clone() });
        let mut tools = vec![
            card("slack.card"),
            card("slack.card-update"),
            card("slack.ask"),
            card("slack.ask-update"),
            card("slack.complete"),
            card("slack.progress"),
            card("slack.progress-change"),
            card("slack.progress-end"),
            card("slack.status"),
            card("slack.assistant-thread"),
            card("slack.whisper"),
            Arc::new(gate::recall_spec("slack", &self.component)),
            spec("slack.emoji", EffectClass::Read, Touches::Plugin, json!({})),
            spec("slack.file", EffectClass::Read, Touches::Plugin, json!({"file": text})),
            spec("slack.home", EffectClass::External, to("/user"), json!({"user": text})),
            spec("slack.form", EffectClass::External, to("/user"), json!({"user": text})),
            spec("slack.begin", EffectClass::External, to("/to"), json!({"to": text, "text": text})),
            spec("slack.identity", EffectClass::Read, Touches::Plugin, json!({})),
            can_recall(spec("slack.post", self.post, to("/channel"), json!({"channel": text, "text": text}))),
            spec("slack.react", EffectClass::External, to("/channel"), json!({"channel": text})),
            spec("terminal.say", EffectClass::Write, to("/session"), json!({"session": text, "text": text})),
            spec("web.fetch", EffectClass::Read, Touches::OriginOf("/url".into()), json!({"url": text})),
        ];
        tools.extend(OFFICE.map(|(name, effect, _)| spec(name, effect, Touches::Plugin, json!({}))));
        tools
    }

    fn models(&self) -> Vec<Arc<ModelSpec>> {
        vec![Arc::new(ModelSpec {
            name: MODEL.to_owned(),
            plugin: "scripted".to_owned(),
            digest: self.component.clone(),
            window_tokens: 1_000_000,
            output_tokens_max: OUTPUT_TOKENS_MAX,
            price_key: MODEL.to_owned(),
            media: Vec::new(),
        })]
    }

    fn call_ms_max(&self, _name: &str) -> Option<u64> {
        Some(CALL_MS_MAX)
    }

    fn routes(&self, _plugin: &str) -> Vec<Route> {
        Vec::new()
    }

    fn handles(&self, tool: &str) -> Vec<Handle> {
        OFFICE.iter().filter(|(name, ..)| *name == tool).map(|(.., handle)| *handle).collect()
    }

    fn resource(&self, tool: &ToolSpec, input: &Value) -> Result<Resource, String> {
        match &tool.touches {
            Touches::Destination(pointers) => {
                let at = |pointer: &String| input.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
                let parts: Option<Vec<String>> = pointers.iter().map(at).collect();
                parts.map(|parts| Resource::Destination(parts.join(":"))).ok_or("no destination".to_owned())
            }
            _ => Ok(Resource::Plugin(tool.plugin.clone())),
        }
    }

    fn check_input(&self, _tool: &ToolSpec, _input: &Value) -> Result<(), String> {
        Ok(())
    }
}
