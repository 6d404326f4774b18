//! The schema that policies are checked against: the entity types of the host, and one action for each tool,
//! typed by the tool's own JSON Schema.
//!
//! Always holds: it is made from the tools that are loaded and from nothing else, so a policy that speaks of a
//! tool or an argument that does not exist does not load. Deliberately absent: reading a schema from outside;
//! the entity types are what [`crate::entities`] builds and are part of the program.

mod shape;

pub use shape::SHAPE_DEPTH_MAX;
pub(crate) use shape::{Field, Scalar, Shape};

use crate::catalogue::{ToolSpec, Touches};
use cedar_policy::Schema;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The entity types, with what each means.
pub const BASE: &str = include_str!("../../../policies/schema.cedarschema");

/// The action of asking a model. No tool may have this name.
pub const INFER: &str = "infer";

/// The action of answering for a call that waits for a person's yes. No tool may have this name.
pub const APPROVE: &str = "approve";

/// What every context holds besides the arguments. The host states these; no model, plugin or argument can.
const FACTS: &str = "    origin_kind: OriginKind,
    flow: Flow,
    integrity: Integrity,
    effect: Effect,
    // What the call would be made with, and the person whose account that is: empty when it is nobody's.
    account: Account,
    account_of: String,
    // Whether the operator granted the plugin a route there; true for what is no origin.
    granted: Bool,
    // Whether a person said yes to exactly this call.
    approved: Bool,
";

/// A place in a tool's arguments that policies cannot see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// The tool.
    pub tool: String,
    /// JSON pointer into its arguments; `*` stands for members without fixed names.
    pub pointer: String,
    /// Why.
    pub why: String,
}

/// Why there is no schema.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Two tools have one name, or a tool is called `infer` or `approve`: policies could not tell them apart.
    #[error("the tool name `{0}` is already taken; remove one of the plugins that offer it")]
    Taken(String),
    /// The text does not parse: a fault of this host, not of a policy.
    #[error("the generated policy schema does not parse: {0}")]
    Text(String),
}

/// The schema and what it was made of.
#[derive(Clone, Debug)]
pub(crate) struct Generated {
    /// In Cedar's schema language, for people.
    pub(crate) text: String,
    /// The same, parsed.
    pub(crate) schema: Schema,
    /// The visible arguments of each action.
    pub(crate) inputs: BTreeMap<String, Shape>,
    /// What each action touches.
    pub(crate) touches: BTreeMap<String, Touched>,
    /// What policies cannot see.
    pub(crate) omitted: Vec<Omitted>,
}

/// The entity type of what an action touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    Origin,
    Destination,
    Plugin,
    Model,
}

impl Touched {
    fn word(self) -> &'static str {
        match self {
            Self::Origin => "Origin",
            Self::Destination => "Destination",
            Self::Plugin => "Plugin",
            Self::Model => "Model",
        }
    }
}

impl From<&Touches> for Touched {
    fn from(touches: &Touches) -> Self {
        match touches {
            Touches::OriginOf(_) => Self::Origin,
            Touches::Destination(_) => Self::Destination,
            Touches::Plugin => Self::Plugin,
        }
    }
}

/// Makes the schema for `tools`, and `infer`.
///
/// # Errors
/// [`SchemaError`], when two tools share a name or the text does not parse.
pub(crate) fn generate(tools: &[Arc<ToolSpec>]) -> Result<Generated, SchemaError> {
    let own = [(INFER.to_owned(), infer_input()), (APPROVE.to_owned(), approve_input())];
    let mut inputs = BTreeMap::from(own);
    let mut text = format!("{BASE}\n// Asking a model.\n");
    let own = [(INFER.to_owned(), Touched::Model), (APPROVE.to_owned(), Touched::Plugin)];
    let mut touches = BTreeMap::from(own);
    write_action(&mut text, INFER, Touched::Model, &infer_input());
    text.push_str(
        "// Answering for a call that waits for a person's yes; the context is that of the call.\n",
    );
    write_action(&mut text, APPROVE, Touched::Plugin, &approve_input());
    let mut omitted = Vec::new();
    let mut sorted: Vec<&ToolSpec> = tools.iter().map(Arc::as_ref).collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    for tool in sorted {
        let (input, unseen) = Shape::of_input(&tool.input_schema);
        let touched = Touched::from(&tool.touches);
        write_action(&mut text, &tool.name, touched, &input);
        touches.insert(tool.name.clone(), touched);
        omitted.extend(unseen.into_iter().map(|unseen| Omitted {
            tool: tool.name.clone(),
            pointer: unseen.pointer,
            why: unseen.why.to_owned(),
        }));
        if inputs.insert(tool.name.clone(), input).is_some() {
            return Err(SchemaError::Taken(tool.name.clone()));
        }
    }
    let (schema, _) = Schema::from_cedarschema_str(&text).map_err(|e| SchemaError::Text(e.to_string()))?;
    Ok(Generated { text, schema, inputs, touches, omitted })
}

/// What policies see of a request to a model: never the conversation, which is long and says nothing about
/// who may ask.
fn infer_input() -> Shape {
    let field = |scalar| Field { shape: Shape::One(scalar), required: true, nullable: false };
    Shape::Record(BTreeMap::from([
        ("model".to_owned(), field(Scalar::Text)),
        ("output_tokens_max".to_owned(), field(Scalar::Whole)),
    ]))
}

/// What policies see of a call that waits for a yes: which tool, and who wants it.
fn approve_input() -> Shape {
    let field = || Field { shape: Shape::One(Scalar::Text), required: true, nullable: false };
    let names = ["tool", "resource", "asker", "asker_role"];
    Shape::Record(names.map(|name| (name.to_owned(), field())).into())
}

fn write_action(out: &mut String, name: &str, resource: Touched, input: &Shape) {
    out.push_str("action ");
    out.push_str(&shape::quoted(name));
    out.push_str(" appliesTo {\n  principal: [Seat],\n  resource: [");
    out.push_str(resource.word());
    out.push_str("],\n  context: {\n    input: ");
    input.write(out, 4);
    out.push_str(",\n");
    out.push_str(FACTS);
    out.push_str("  },\n};\n");
}

#[cfg(test)]
mod tests {
    use super::{SchemaError, generate};
    use crate::catalogue::{EffectClass, ToolSpec, Touches};
    use event::Digest;
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn tool(name: &str, input_schema: Value) -> Arc<ToolSpec> {
        Arc::new(ToolSpec {
            name: name.into(),
            plugin: "web".into(),
            digest: Digest::of(b"web"),
            description: String::new(),
            input_schema,
            output_schema: json!({}),
            effect: EffectClass::Read,
            touches: Touches::OriginOf("/url".into()),
            price_key: None,
            exact: false,
            recall: false,
        })
    }

    #[test]
    fn each_tool_becomes_one_action_with_its_own_arguments() {
        let schema = json!({"type": "object", "required": ["url"], "properties": {
            "url": {"type": "string"}, "range": {"type": "object", "properties": {"from": {"type": "integer"}}}}});
        let made = generate(&[tool("web.fetch", schema)]).unwrap();
        let expected = r#"action "web.fetch" appliesTo {
  principal: [Seat],
  resource: [Origin],
  context: {
    input: {
      "range"?: {
        "from"?: Long,
      },
      "url": String,
    },
    origin_kind: OriginKind,"#;
        assert!(made.text.contains(expected), "{}", made.text);
        let actions: Vec<String> = made.schema.actions().map(|a| a.id().unescaped().to_owned()).collect();
        assert_eq!(actions.len(), 3, "{actions:?}");
        assert_eq!(made.inputs.keys().collect::<Vec<_>>(), ["approve", "infer", "web.fetch"]);
    }

    #[test]
    fn hostile_names_stay_names() {
        let name = "a\"] }; entity Evil; action \"b\\\n\u{202e}\u{0}";
        let made =
            generate(&[tool(name, json!({"type": "object", "properties": {(name): {"type": "string"}}}))]);
        let made = made.unwrap();
        assert!(made.schema.actions().any(|action| action.id().unescaped() == name));
        assert!(made.schema.entity_types().all(|kind| kind.basename() != "Evil"));
    }

    #[test]
    fn a_name_that_is_taken_is_named() {
        for names in [["web.fetch", "web.fetch"], ["infer", "web.fetch"]] {
            let tools = names.map(|name| tool(name, json!({})));
            assert!(matches!(generate(&tools), Err(SchemaError::Taken(name)) if name == names[0]));
        }
    }
}
