//! Tools and models as the record knows them, so that a decision of the past can be told without any plugin.
//!
//! Always holds: a tool that was recorded as policies see it makes the same schema as the tool itself. A plugin that
//! was recorded without that, by an older host, is named as missing. Deliberately absent: descriptions and output
//! schemas, which policies do not see.

use crate::catalogue::{EffectClass, ModelSpec, ToolSpec, Touches};
use event::{PluginInstalled, ToolOffered};
use serde_json::Value;
use std::sync::Arc;

const ORIGIN: &str = "origin";
const DESTINATION: &str = "destination";
const PLUGIN: &str = "plugin";

/// What was installed, as far as the record says.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The tools.
    pub tools: Vec<Arc<ToolSpec>>,
    /// The models; of these policies see only name and plugin.
    pub models: Vec<Arc<ModelSpec>>,
    /// Tools of which the record says only the name.
    pub missing: Vec<String>,
}

/// `tool` as the record keeps it.
#[must_use]
pub fn offered(tool: &ToolSpec) -> ToolOffered {
    let (touches, at) = match &tool.touches {
        Touches::OriginOf(pointer) => (ORIGIN, vec![pointer.clone()]),
        Touches::Destination(pointers) => (DESTINATION, pointers.clone()),
        Touches::Plugin => (PLUGIN, Vec::new()),
    };
    let exact = event::inexact(&tool.input_schema).is_none();
    ToolOffered {
        name: tool.name.clone(),
        effect: tool.effect.word().to_owned(),
        touches: touches.to_owned(),
        at,
        input_schema: if exact { tool.input_schema.clone() } else { Value::Null },
    }
}

impl Known {
    /// What `installed` offered.
    #[must_use]
    pub fn of(installed: &[PluginInstalled]) -> Self {
        let mut known = Self::default();
        for plugin in installed {
            if plugin.world == "model" {
                known.models.extend(plugin.tools.iter().map(|name| Arc::new(model(plugin, name))));
                continue;
            }
            for name in &plugin.tools {
                let offered = plugin.offers.iter().find(|offered| offered.name == *name);
                match offered.and_then(|offered| tool(plugin, offered)) {
                    Some(tool) => known.tools.push(Arc::new(tool)),
                    None => known.missing.push(name.clone()),
                }
            }
        }
        known
    }

    /// One tool by name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// One model by full name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&Arc<ModelSpec>> {
        self.models.iter().find(|model| model.name == name)
    }
}

fn tool(plugin: &PluginInstalled, offered: &ToolOffered) -> Option<ToolSpec> {
    let touches = match (offered.touches.as_str(), offered.at.as_slice()) {
        (ORIGIN, [pointer]) => Touches::OriginOf(pointer.clone()),
        (DESTINATION, pointers) => Touches::Destination(pointers.to_vec()),
        (PLUGIN, _) => Touches::Plugin,
        _ => return None,
    };
    Some(ToolSpec {
        name: offered.name.clone(),
        plugin: plugin.plugin.clone(),
        digest: plugin.digest.clone(),
        description: String::new(),
        input_schema: offered.input_schema.clone(),
        output_schema: Value::Null,
        effect: EffectClass::offered(&offered.effect)?,
        touches,
        price_key: None,
        exact: false,
        recall: false,
    })
}

fn model(plugin: &PluginInstalled, name: &str) -> ModelSpec {
    ModelSpec {
        name: name.to_owned(),
        plugin: plugin.plugin.clone(),
        digest: plugin.digest.clone(),
        window_tokens: 0,
        output_tokens_max: 0,
        price_key: String::new(),
        media: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, offered};
    use crate::policy::PolicySet;
    use crate::policy::tests::{models, shipped, shipped_files, tools};
    use event::{Digest, PluginInstalled};

    #[test]
    fn what_the_record_keeps_of_the_tools_makes_the_same_schema() {
        let plugins = ["web", "slack", "terminal", "office"].map(|plugin| PluginInstalled {
            plugin: plugin.into(),
            version: "1".into(),
            digest: Digest::of(plugin.as_bytes()),
            world: "tool".into(),
            tools: tools()
                .iter()
                .filter(|tool| tool.plugin == plugin)
                .map(|tool| tool.name.clone())
                .collect(),
            offers: tools().iter().filter(|tool| tool.plugin == plugin).map(|tool| offered(tool)).collect(),
            source: String::new(),
            asks: Vec::new(),
            imports: Vec::new(),
            directories: Vec::new(),
            graphql_reads: Vec::new(),
            signed_by: None,
            handles: Vec::new(),
        });
        let known = Known::of(&plugins);
        assert!(known.missing.is_empty());
        let set = PolicySet::valid(&shipped_files(), &known.tools, &models()).unwrap();
        assert_eq!(set.schema_text(), shipped().schema_text());
        let bare = plugins.map(|plugin| PluginInstalled { offers: Vec::new(), ..plugin });
        assert_eq!(Known::of(&bare).missing.len(), tools().len(), "an older record names them and no more");
    }
}
