//! The tools a turn may see: what its seat was granted, without those that answers go out by, and `finish`.
//!
//! Tools come in families. Those that the office hides, and those that would not fit the budget of schemas, are shown
//! once the model has asked for them with `enable_tools`. Names never change and the order only grows at its end, so
//! that a provider's cache keeps what it has.

use crate::compact::json_bytes;
use crate::finish::{FINISH, offer};
use crate::manner::Manner;
use crate::next::Offer;
use event::SeatCreated;
use fold::seat::holds_grant;
use gate::{Catalogue, ToolOffer, ToolSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the host's own tool that shows more tools. It is no step: by itself it does nothing.
pub const ENABLE_TOOLS: &str = "enable_tools";

/// What the descriptions and schemas of the tools shown at first may come to, in tokens: a tenth of a small window.
pub const SCHEMA_TOKENS_MAX: usize = 6_000;

/// Families that one call of `enable_tools` may name.
const FAMILIES_MAX: usize = 16;

/// What is on offer in one step.
pub(crate) struct OnOffer {
    pub tools: Vec<ToolOffer>,
    /// Families that are there and not shown, in order of name.
    pub hidden: Vec<String>,
    /// What descriptions and schemas come to, in tokens.
    pub schema_tokens: usize,
}

/// What is on offer to `seat`: the families shown at first in order of name, `finish`, `enable_tools` where there is
/// something to enable, then the families of `enabled` in their order. A grant is not yet a permission: policy decides
/// each call.
pub(crate) fn on_offer(
    catalogue: &dyn Catalogue,
    seat: &SeatCreated,
    withheld: &[&str],
    hides: &[String],
    (which, enabled): (Offer, &[String]),
    manner: Manner,
) -> OnOffer {
    if which == Offer::FinishOnly {
        return counted(vec![offer()], Vec::new());
    }
    let mut families: BTreeMap<String, Vec<Arc<ToolSpec>>> = BTreeMap::new();
    for tool in catalogue.tools() {
        let may = holds_grant(seat, &tool.name) && !withheld.contains(&tool.name.as_str());
        if may && manner.offers(tool.effect) && tool.name != FINISH && tool.name != ENABLE_TOOLS {
            families.entry(tool.family().to_owned()).or_default().push(tool);
        }
    }
    families.values_mut().for_each(|tools| tools.sort_by(|a, b| a.name.cmp(&b.name)));
    let later = later(&families, hides);
    let shown = families.iter().filter(|(family, _)| !later.contains(family));
    let mut tools: Vec<ToolOffer> = shown.flat_map(|(_, tools)| tools).map(|tool| offered(tool)).collect();
    tools.push(offer());
    if !later.is_empty() {
        tools.push(enable(&later, &families));
    }
    let asked_for = enabled.iter().filter(|family| later.contains(family));
    tools.extend(asked_for.filter_map(|family| families.get(family)).flatten().map(|tool| offered(tool)));
    let hidden = later.into_iter().filter(|family| !enabled.contains(family)).collect();
    counted(tools, hidden)
}

fn counted(tools: Vec<ToolOffer>, hidden: Vec<String>) -> OnOffer {
    let schema_tokens = tools.iter().map(tokens).sum();
    OnOffer { tools, hidden, schema_tokens }
}

/// The families that are not shown at first, in order of name.
fn later(families: &BTreeMap<String, Vec<Arc<ToolSpec>>>, hides: &[String]) -> Vec<String> {
    let mut left = SCHEMA_TOKENS_MAX;
    let mut later = Vec::new();
    for (family, tools) in families {
        let needs: usize = tools.iter().map(|tool| tokens(&offered(tool))).sum();
        if hides.contains(family) || needs > left {
            later.push(family.clone());
        } else {
            left = left.saturating_sub(needs);
        }
    }
    later
}

fn tokens(tool: &ToolOffer) -> usize {
    let bytes = tool.name.len() + tool.description.len() + json_bytes(&tool.input_schema);
    crate::compact::tokens_of(bytes)
}

fn offered(tool: &ToolSpec) -> ToolOffer {
    ToolOffer {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
    }
}

/// It names every family that was not shown at first, also once it is enabled: the same text in every step.
fn enable(later: &[String], families: &BTreeMap<String, Vec<Arc<ToolSpec>>>) -> ToolOffer {
    let listed: Vec<String> = later
        .iter()
        .filter_map(|family| {
            let names: Vec<&str> = families.get(family)?.iter().map(|tool| tool.name.as_str()).collect();
            Some(format!("`{family}` ({})", names.join(", ")))
        })
        .collect();
    ToolOffer {
        name: ENABLE_TOOLS.to_owned(),
        description: format!(
            "Shows you more tools, by family, from the next step on. There are: {}. Ask only for what you need.",
            listed.join("; ")
        ),
        input_schema: json!({
            "type": "object",
            "properties": {"families": {
                "type": "array", "items": {"type": "string", "enum": later}, "minItems": 1, "maxItems": FAMILIES_MAX,
            }},
            "required": ["families"],
            "additionalProperties": false,
        }),
    }
}

/// The families that a call of `enable_tools` names.
pub(crate) fn families(input: &Value) -> impl Iterator<Item = &str> {
    let named = input.get("families").and_then(Value::as_array).into_iter().flatten();
    named.filter_map(Value::as_str).take(FAMILIES_MAX)
}
