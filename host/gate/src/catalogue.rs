//! What can be called: the tools and models of the plugins that are loaded, as their components and
//! manifests describe them. `component` implements [`Catalogue`]; the gate only asks.

use event::{Digest, Handle, Route};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a tool may do outside. Declared in the manifest, granted by the operator; it binds the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing: sends GET and HEAD only, or exactly what the grant calls a read.
    Read,
    /// Prepares something that nobody sees yet.
    Draft,
    /// Changes something of the office's own.
    Write,
    /// Reaches people or systems outside.
    External,
    /// Cannot be taken back.
    Destructive,
    /// Changes who may do what.
    Privileged,
    /// Its manifest does not say: each call is judged by itself ([`crate::Classifier`]). No call has this class.
    #[serde(skip)]
    Undeclared,
}

impl EffectClass {
    /// Whether a call of this class is an effect: intended before, and once.
    #[must_use]
    pub fn is_effect(self) -> bool {
        self != Self::Read
    }

    /// Every class that a call can have, in order.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Draft, Self::Write, Self::External, Self::Destructive, Self::Privileged];

    /// The class of a call of such a tool as long as nobody judged it: the one that waits for a person's yes.
    #[must_use]
    pub fn assumed(self) -> Self {
        if self == Self::Undeclared { Self::Privileged } else { self }
    }

    /// What a tool was offered as, by [`EffectClass::word`].
    #[must_use]
    pub fn offered(word: &str) -> Option<Self> {
        if word == Self::Undeclared.word() { Some(Self::Undeclared) } else { Self::of_word(word) }
    }

    /// The class of a word that a call can have.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }

    /// The word policies and manifests use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Draft => "draft",
            Self::Write => "write",
            Self::External => "external",
            Self::Destructive => "destructive",
            Self::Privileged => "privileged",
            Self::Undeclared => "undeclared",
        }
    }
}

/// How the manifest says what a call touches: JSON pointers into its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touches {
    /// The origin of the URL at this pointer.
    OriginOf(String),
    /// The destination made of the strings at these pointers, joined by `:`.
    Destination(Vec<String>),
    /// The plugin itself.
    #[serde(skip)]
    Plugin,
}

/// What one call touches: the resource that policies speak of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// An origin in normal form, such as `https://api.example.com`, and whether a route of the plugin's grant
    /// reaches it.
    Origin {
        /// Scheme, host and, when not the default, port.
        origin: String,
        /// Whether the operator granted the plugin a route there.
        granted: bool,
    },
    /// Where something is sent, such as `slack:C01`.
    Destination(String),
    /// A model by its full name.
    Model(String),
    /// The plugin itself.
    Plugin(String),
}

impl Resource {
    /// The resource as people read it.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Origin { origin, .. } => origin,
            Self::Destination(text) | Self::Model(text) | Self::Plugin(text) => text,
        }
    }
}

/// One tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// `family.verb`.
    pub name: String,
    /// The plugin that offers it.
    pub plugin: String,
    /// Digest of the component.
    pub digest: Digest,
    /// For a model.
    pub description: String,
    /// JSON Schema of the input.
    pub input_schema: Value,
    /// JSON Schema of the output.
    pub output_schema: Value,
    /// What it may do outside.
    pub effect: EffectClass,
    /// What a call touches.
    pub touches: Touches,
    /// Its key on the price list; nothing when calling it costs nothing.
    pub price_key: Option<String>,
    /// Whether white space in its arguments is part of what they say: a file, a program. Else two calls that differ
    /// in it alone are one effect.
    pub exact: bool,
    /// Whether its plugin can read back whether a call of it happened, by [`recall_tool`].
    pub recall: bool,
}

/// The tool by which a plugin reads back its effects: a read, made by the host alone.
#[must_use]
pub fn recall_tool(plugin: &str) -> String {
    format!("{plugin}.recall")
}

/// [`recall_tool`] of `plugin` as it is offered. The host's own: what it takes and gives is the same for every
/// plugin.
#[must_use]
pub fn recall_spec(plugin: &str, digest: &Digest) -> ToolSpec {
    let text = json!({"type": "string"});
    ToolSpec {
        name: recall_tool(plugin),
        plugin: plugin.to_owned(),
        digest: digest.clone(),
        description: "Look whether an effect happened. For the host alone.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "tool": text, "key": text, "input": {"type": "object"}, "around_ms": {"type": "integer"},
                "team": text,
            },
            "required": ["tool", "key", "input", "around_ms"],
            "additionalProperties": false,
        }),
        output_schema: json!({
            "type": "object",
            "properties": {"found": {}, "absent": {"const": true}, "cannot_say": text},
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": false,
        }),
        effect: EffectClass::Read,
        touches: Touches::Plugin,
        price_key: None,
        exact: false,
        recall: false,
    }
}

impl ToolSpec {
    /// The family: what stands before the first `.`.
    #[must_use]
    pub fn family(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

/// One model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSpec {
    /// `plugin/name`.
    pub name: String,
    /// The plugin that offers it.
    pub plugin: String,
    /// Digest of the component.
    pub digest: Digest,
    /// Tokens that fit, input and output together.
    pub window_tokens: u32,
    /// The most it may write in one response.
    pub output_tokens_max: u32,
    /// Its key on the price list.
    pub price_key: String,
    /// The media types of images and files that it takes; text it takes anyway.
    pub media: Vec<String>,
}

/// What can be called now.
pub trait Catalogue: Send + Sync {
    /// Every tool, in order of name.
    fn tools(&self) -> Vec<Arc<ToolSpec>>;

    /// Every model, in order of name.
    fn models(&self) -> Vec<Arc<ModelSpec>>;

    /// The tools that policies may name: those that can be called, and those of components that were revoked, so that
    /// a set which names one of these still loads.
    fn named(&self) -> Vec<Arc<ToolSpec>> {
        self.tools()
    }

    /// Another number whenever what can be called became another.
    fn revision(&self) -> u64 {
        0
    }

    /// One tool by name.
    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    /// One model by full name.
    fn model(&self, name: &str) -> Option<Arc<ModelSpec>> {
        self.models().into_iter().find(|model| model.name == name)
    }

    /// The longest that a call of a tool or model may take, in milliseconds; nothing where that is not limited or not
    /// known, and then what costs by the second is not bought.
    fn call_ms_max(&self, _name: &str) -> Option<u64> {
        None
    }

    /// The routes the operator granted to a plugin; none when nothing was granted.
    fn routes(&self, plugin: &str) -> Vec<Route>;

    /// Where people connect an account that takes the place of `credential`, as they call that service; nothing where
    /// nobody can.
    fn service(&self, _credential: &str) -> Option<String> {
        None
    }

    /// What of the office a call of `tool` is given: what the tool asks for, as far as the operator granted it to its
    /// plugin, which then has no route. Nothing for most tools.
    fn handles(&self, _tool: &str) -> Vec<Handle> {
        Vec::new()
    }

    /// What a call of `tool` with `input` touches.
    ///
    /// # Errors
    /// A sentence for a model and a person when the arguments do not say: the pointer is missing, the URL is
    /// not one that may ever be reached.
    fn resource(&self, tool: &ToolSpec, input: &Value) -> Result<Resource, String>;

    /// Whether `input` has the shape the tool takes.
    ///
    /// # Errors
    /// A sentence that names the place and what was wanted there.
    fn check_input(&self, tool: &ToolSpec, input: &Value) -> Result<(), String>;
}
