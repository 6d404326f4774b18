//! What can be called: the tools and models of the plugins that are loaded, as their components and
//! manifests describe them. `component` implements [`Catalogue`]; the gate only asks.

use event::{Digest, Route};
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
}

impl EffectClass {
    /// Whether a call of this class is an effect: intended before, and once.
    #[must_use]
    pub fn is_effect(self) -> bool {
        self != Self::Read
    }

    /// Every class, in order.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Draft, Self::Write, Self::External, Self::Destructive, Self::Privileged];

    /// The class of a word.
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
