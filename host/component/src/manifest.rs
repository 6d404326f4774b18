//! The manifest: what a plugin says about itself and asks for.
//!
//! It is one TOML text in the component's custom section `chancery:manifest`, so that it is covered by the
//! component's digest. It is read strictly: a key nobody knows, a name out of form, a route that could never
//! be granted is an error that names it. What is asked for here is granted by the operator, or not.
//!
//! A manifest cannot ask for loopback: only the operator opens the way to the host's own machine.

mod route;

use event::{Digest, Handle};
use gate::{EffectClass, Sees, Touches};
pub use route::RouteEntry;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;

/// The custom section a manifest stands in.
pub const SECTION: &str = "chancery:manifest";
/// Longest manifest: a hundred tools with routes come to a tenth of it.
pub const MANIFEST_BYTES_MAX: usize = 64 * 1024;
/// Longest name of a plugin, tool or model: it stands in log lines, policies and prices.
pub const NAME_BYTES_MAX: usize = 64;
/// Longest description of a plugin: one line in a list.
pub const SUMMARY_BYTES_MAX: usize = 400;
/// The origin that stands for any the operator grants.
pub const ANY_ORIGIN: &str = "*";

/// Which world a component is for: what it exports, and what the host lends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum World {
    /// It offers tools.
    #[serde(rename = "chancery:tool@0.1.0")]
    Tool,
    /// It offers tools, and is of no world of ours: its exported functions are the tools.
    #[serde(rename = "plain")]
    Plain,
    /// It offers models.
    #[serde(rename = "chancery:model@0.1.0")]
    Model,
    /// It offers nothing: it looks at calls and may add a no.
    #[serde(rename = "chancery:guard@0.1.0")]
    Guard,
}

impl World {
    /// One word: `tool`, `plain`, `model` or `guard`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Plain => "plain",
            Self::Model => "model",
            Self::Guard => "guard",
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            ours => write!(f, "chancery:{}@0.1.0", ours.word()),
        }
    }
}

/// A plugin's manifest, checked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The plugin, such as `web`.
    pub name: String,
    /// Its version, as it states it.
    pub version: String,
    /// Its world.
    pub world: World,
    /// One line for an operator.
    pub description: String,
    /// The tools it offers; none in the world of models.
    #[serde(default, rename = "tool")]
    pub tools: Vec<ToolEntry>,
    /// The models it offers; none in the world of tools.
    #[serde(default, rename = "model")]
    pub models: Vec<ModelEntry>,
    /// The ways out it asks for.
    #[serde(default, rename = "route")]
    pub routes: Vec<RouteEntry>,
    /// Whether it works in several workspaces of one service, each with a token of its own: a call in the workspace `T1`
    /// goes with the credential `reference@T1`, and one in none with `reference`.
    #[serde(default)]
    pub workspaces: bool,
    /// SHA-256, in hexadecimal, of each document of GraphQL that its reads send.
    #[serde(default)]
    graphql_reads: Vec<String>,
    /// The folders it asks for.
    #[serde(default, rename = "directory")]
    pub directories: Vec<DirectoryEntry>,
    /// The calls a guard sees; nothing said means all of them.
    #[serde(default)]
    sees: Option<Sees>,
}

/// What a manifest says of one tool.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolEntry {
    /// `family.verb`.
    pub name: String,
    /// What it may do outside; nothing said means that each call is judged by itself.
    #[serde(default = "undeclared")]
    pub effect: EffectClass,
    /// The exported function that is this tool, where its name does not say it: in the world `plain` alone.
    #[serde(default)]
    pub function: Option<String>,
    /// When to use it and what comes back, for a model: in the world `plain` alone, others say it themselves.
    #[serde(default)]
    pub description: Option<String>,
    /// What a call touches; nothing said means the plugin itself.
    #[serde(default)]
    touches: Option<Touches>,
    /// Its key on the price list, when calling it costs money.
    #[serde(default)]
    pub price_key: Option<String>,
    /// Whether white space in its arguments is part of what they say.
    #[serde(default)]
    pub exact: bool,
    /// Whether the plugin can read back whether a call happened.
    #[serde(default)]
    pub recall: bool,
    /// What of the office it asks for.
    #[serde(default)]
    pub handles: Vec<Handle>,
}

fn undeclared() -> EffectClass {
    EffectClass::Undeclared
}

impl ToolEntry {
    /// What a call touches.
    #[must_use]
    pub fn touches(&self) -> Touches {
        self.touches.clone().unwrap_or(Touches::Plugin)
    }
}

/// What a manifest says of one model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// Its name within the plugin.
    pub name: String,
    /// Its key on the price list.
    pub price_key: String,
    /// The media types of images and files that it takes, such as `image/png`; text it takes anyway.
    #[serde(default)]
    pub media: Vec<String>,
}

/// A folder that is asked for, as the guest names it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectoryEntry {
    /// Its name to the guest, such as `/notes`.
    pub at: String,
    /// Whether it writes there.
    #[serde(default)]
    pub write: bool,
}

/// What is wrong with a manifest. Whoever built the plugin mends it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not one UTF-8 text within the limit.
    #[error("the manifest is not UTF-8 text of at most {MANIFEST_BYTES_MAX} bytes")]
    Text,
    /// Not the TOML a manifest is: a missing, unknown or ill-typed key.
    #[error("line {line} of the manifest: {reason}")]
    Toml {
        /// The line, from 1.
        line: usize,
        /// What the parser says; names the key.
        reason: String,
    },
    /// A name that is out of form or stands there twice.
    #[error("`{name}` in the manifest is not {wanted}")]
    Name {
        /// The name.
        name: String,
        /// What would be one.
        wanted: &'static str,
    },
    /// A description that is not one line.
    #[error("the description in the manifest is not one line of 1 to {SUMMARY_BYTES_MAX} bytes")]
    Description,
    /// A world without what it is for, or with what another is for.
    #[error("a plugin of world `{world}` has one [[{world}]] or more, and no other")]
    Offers {
        /// The world.
        world: &'static str,
    },
    /// A function or a description of a tool that says them itself.
    #[error(
        "`function` and `description` of tool `{tool}` are for the world `plain`; others define their tools"
    )]
    PlainAlone {
        /// The tool.
        tool: String,
    },
    /// A guard that offers or asks for something.
    #[error("a guard looks at calls and has no [[{key}]]")]
    Guard {
        /// The key.
        key: &'static str,
    },
    /// A list of calls to see, in a manifest that is no guard's, or one that names none.
    #[error("`[sees]` is for guards, and names `effects`, `tools` or `models = true`")]
    Sees,
    /// A read, or a plain function, that would be read back.
    #[error("`{tool}` has no `recall`: it is a read, or its component is of no world that can read back")]
    Recall {
        /// The tool.
        tool: String,
    },
    /// Handles where none are given, or beside a way out.
    #[error("`handles` of `{tool}`: {reason}")]
    Handles {
        /// The tool.
        tool: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A JSON pointer that is none.
    #[error("`{pointer}` of tool `{tool}` is not a JSON pointer such as `/url`")]
    Pointer {
        /// The tool.
        tool: String,
        /// The text.
        pointer: String,
    },
    /// A route that could never be granted.
    #[error("the route to `{origin}` cannot be granted: {reason}")]
    Route {
        /// Its origin.
        origin: String,
        /// Why.
        reason: String,
    },
    /// A document of GraphQL that is named by something else than its digest.
    #[error(
        "`{text}` in `graphql_reads` is not the SHA-256 of a document: 64 digits, lower-case hexadecimal"
    )]
    Operation {
        /// The text.
        text: String,
    },
    /// A folder out of form.
    #[error("the folder `{at}` in the manifest is not a name such as `/notes`, there once")]
    Directory {
        /// Its name.
        at: String,
    },
    /// A route to the host's own machine.
    #[error(
        "a manifest cannot ask for loopback, and this one asks for `{origin}`: only the operator can open it"
    )]
    Loopback {
        /// The origin.
        origin: String,
    },
}

impl Manifest {
    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// The first thing found wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MANIFEST_BYTES_MAX);
        let text = text.ok_or(ManifestError::Text)?;
        let manifest: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
            ManifestError::Toml { line, reason: error.message().replace('\n', " ") }
        })?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The credentials it asks for, by reference.
    #[must_use]
    pub fn credentials(&self) -> BTreeSet<&str> {
        self.routes.iter().filter_map(|route| route.credential.as_deref()).collect()
    }

    /// The documents of GraphQL that its reads send, by digest.
    #[must_use]
    pub fn operations(&self) -> Vec<Digest> {
        self.graphql_reads.iter().filter_map(|text| Digest::parse(text)).collect()
    }

    /// What it offers: tools by name, models by full name, and the tool by which the host reads back its effects.
    #[must_use]
    pub fn offers(&self) -> Vec<String> {
        let models = self.models.iter().map(|model| format!("{}/{}", self.name, model.name));
        let recall = self.recalls().then(|| gate::recall_tool(&self.name));
        self.tools.iter().map(|tool| tool.name.clone()).chain(recall).chain(models).collect()
    }

    /// What of the office its tools ask for, each once.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        let all: BTreeSet<Handle> = self.tools.iter().flat_map(|tool| tool.handles.iter().copied()).collect();
        all.into_iter().collect()
    }

    /// Whether it can read back an effect of any of its tools.
    #[must_use]
    pub fn recalls(&self) -> bool {
        self.tools.iter().any(|tool| tool.recall)
    }

    /// The calls it sees, if it is a guard.
    #[must_use]
    pub fn sees(&self) -> Sees {
        self.sees.clone().unwrap_or_else(Sees::everything)
    }

    fn check(&self) -> Result<(), ManifestError> {
        named(&self.name, is_word, "a plugin's name: lower-case letters, digits and hyphens")?;
        named(&self.version, is_version, "a version such as `0.1.0`")?;
        let line = (1..=SUMMARY_BYTES_MAX).contains(&self.description.len());
        if !line || self.description.chars().any(char::is_control) {
            return Err(ManifestError::Description);
        }
        let offers = match self.world {
            World::Tool | World::Plain => !self.tools.is_empty() && self.models.is_empty(),
            World::Model => !self.models.is_empty() && self.tools.is_empty(),
            World::Guard => return self.check_guard(),
        };
        if !offers {
            let world = if self.world == World::Plain { World::Tool } else { self.world };
            return Err(ManifestError::Offers { world: world.word() });
        }
        if let Some(tool) = self.tools.iter().find(|tool| tool.recall && self.world == World::Plain) {
            return Err(ManifestError::Recall { tool: tool.name.clone() });
        }
        let told = |tool: &&ToolEntry| tool.function.is_some() || tool.description.is_some();
        if let Some(tool) = self.tools.iter().find(told).filter(|_| self.world != World::Plain) {
            return Err(ManifestError::PlainAlone { tool: tool.name.clone() });
        }
        if self.sees.is_some() {
            return Err(ManifestError::Sees);
        }
        self.tools.iter().try_for_each(check_tool)?;
        self.tools.iter().try_for_each(|tool| self.check_handles(tool))?;
        for model in &self.models {
            named(&model.name, is_model, "a model's name: lower-case letters, digits, hyphens and dots")?;
        }
        let offers = self.offers();
        let twice =
            offers.iter().enumerate().find(|(n, name)| offers.iter().take(*n).any(|other| other == *name));
        if let Some((_, name)) = twice {
            return Err(ManifestError::Name { name: name.clone(), wanted: "named once" });
        }
        if let Some(text) = self.graphql_reads.iter().find(|text| Digest::parse(text).is_none()) {
            return Err(ManifestError::Operation { text: text.chars().take(NAME_BYTES_MAX).collect() });
        }
        let mut names = BTreeSet::new();
        for DirectoryEntry { at, .. } in &self.directories {
            if !is_folder(at) || !names.insert(at) {
                return Err(ManifestError::Directory { at: at.chars().take(NAME_BYTES_MAX).collect() });
            }
        }
        self.routes.iter().try_for_each(RouteEntry::check)
    }

    /// What reads the office's own record has no way to tell it outside, and what changes nothing has nothing to wish.
    fn check_handles(&self, tool: &ToolEntry) -> Result<(), ManifestError> {
        if tool.handles.is_empty() {
            return Ok(());
        }
        let reason = if self.world != World::Tool {
            "they are for the world of tools"
        } else if !self.routes.is_empty() || !self.directories.is_empty() {
            "a plugin that is given the office's own asks for no route and no folder"
        } else if tool.effect == EffectClass::Undeclared {
            "a tool that is given the office's own declares its `effect`"
        } else if tool.effect == EffectClass::Read && tool.handles.contains(&Handle::Wishes) {
            "a read wishes nothing"
        } else {
            return Ok(());
        };
        Err(ManifestError::Handles { tool: tool.name.clone(), reason })
    }

    fn check_guard(&self) -> Result<(), ManifestError> {
        let asked = [
            ("tool", self.tools.len()),
            ("model", self.models.len()),
            ("route", self.routes.len()),
            ("directory", self.directories.len()),
        ];
        if let Some((key, _)) = asked.into_iter().find(|(_, count)| *count > 0) {
            return Err(ManifestError::Guard { key });
        }
        let sees = self.sees();
        if sees.is_blind() {
            return Err(ManifestError::Sees);
        }
        let is = |pattern: &str| is_tool(pattern) || pattern.strip_suffix(".*").is_some_and(is_word);
        sees.tools
            .iter()
            .try_for_each(|tool| named(tool, is, "a tool such as `web.fetch`, or a family such as `web.*`"))
    }
}

fn check_tool(tool: &ToolEntry) -> Result<(), ManifestError> {
    named(&tool.name, is_tool, "a tool's name: `family.verb` in lower-case letters, digits and hyphens")?;
    if tool.recall && !tool.effect.is_effect() {
        return Err(ManifestError::Recall { tool: tool.name.clone() });
    }
    let pointers = match tool.touches() {
        Touches::OriginOf(pointer) => vec![pointer],
        Touches::Destination(pointers) => pointers,
        Touches::Plugin => return Ok(()),
    };
    let wrong = pointers.iter().find(|pointer| !is_pointer(pointer));
    if pointers.is_empty() || wrong.is_some() {
        let pointer = wrong.cloned().unwrap_or_default();
        return Err(ManifestError::Pointer { tool: tool.name.clone(), pointer });
    }
    Ok(())
}

fn named(name: &str, is: fn(&str) -> bool, wanted: &'static str) -> Result<(), ManifestError> {
    if name.len() <= NAME_BYTES_MAX && is(name) {
        Ok(())
    } else {
        Err(ManifestError::Name { name: name.chars().take(NAME_BYTES_MAX).collect(), wanted })
    }
}

fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(plain)
}

fn is_tool(text: &str) -> bool {
    text.split_once('.').is_some_and(|(family, verb)| is_word(family) && is_word(verb))
}

fn is_model(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(|part| !part.is_empty() && is_word(&format!("m{part}")))
}

/// An absolute name of plain parts: no part is empty, `.` or `..`.
fn is_folder(text: &str) -> bool {
    let plain =
        |part: &str| !part.is_empty() && !matches!(part, "." | "..") && !part.chars().any(char::is_control);
    text.len() <= NAME_BYTES_MAX && text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(plain))
}

fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+'))
}

fn is_pointer(text: &str) -> bool {
    let mut rest = text.split('~').skip(1);
    text.starts_with('/') && rest.all(|after| after.starts_with(['0', '1']))
}

#[cfg(test)]
mod tests;
