//! Loading sets, deciding, and the policies of the repository.

use super::{Case, Decision, Outline, PolicyError, PolicySet, digest, run_cases};
use crate::catalogue::{EffectClass, ModelSpec, Resource, ToolSpec, Touches};
use crate::entities::{Asked, Flow, OriginKind};
use event::{Digest, Integrity, PolicyText, SeatCreated, SeatId};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn tool(name: &str, effect: EffectClass, touches: Touches, input_schema: Value) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        name: name.into(),
        plugin: name.split('.').next().unwrap().into(),
        digest: Digest::of(name.as_bytes()),
        description: String::new(),
        input_schema,
        output_schema: json!({}),
        effect,
        touches,
        price_key: None,
    })
}

fn tools() -> Vec<Arc<ToolSpec>> {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let post = object(
        json!({"channel": {"type": "string"}, "thread": {"type": ["string", "null"]}, "text": {"type": "string"}}),
        json!(["channel", "text"]),
    );
    vec![
        tool(
            "web.fetch",
            EffectClass::Read,
            Touches::OriginOf("/url".into()),
            object(json!({"url": {"type": "string"}}), json!(["url"])),
        ),
        tool("slack.post", EffectClass::External, Touches::Destination(vec!["/channel".into()]), post.clone()),
        tool("slack.react", EffectClass::External, Touches::Destination(vec!["/channel".into()]), post.clone()),
        tool("slack.identity", EffectClass::Read, Touches::Plugin, json!({})),
        tool("terminal.say", EffectClass::External, Touches::Destination(vec!["/session".into()]), post),
    ]
}

fn models() -> Vec<Arc<ModelSpec>> {
    vec![Arc::new(ModelSpec {
        name: "scripted/story".into(),
        plugin: "scripted".into(),
        digest: Digest::of(b"scripted"),
        window_tokens: 8_000,
        output_tokens_max: 1_000,
        price_key: "scripted/story".into(),
    })]
}

pub(super) fn seat(role: &str) -> SeatCreated {
    SeatCreated {
        seat: SeatId::parse("seat_front-desk").unwrap(),
        role: role.into(),
        department: None,
        line: None,
        grants: Vec::new(),
    }
}

pub(super) fn text(name: &str, text: &str) -> PolicyText {
    PolicyText { name: name.into(), text: text.into() }
}

fn policies_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies")
}

fn shipped_texts() -> Vec<PolicyText> {
    ["duty.cedar", "forbid.cedar", "seat.cedar"]
        .map(|name| text(name, &std::fs::read_to_string(policies_folder().join(name)).unwrap()))
        .into()
}

fn shipped() -> PolicySet {
    PolicySet::load(&shipped_texts(), &tools(), &models()).unwrap()
}

fn load(policy: &str) -> Result<PolicySet, PolicyError> {
    PolicySet::load(&[text("a.cedar", policy)], &tools(), &models())
}

fn problems(policy: &str) -> Vec<String> {
    match load(policy) {
        Err(PolicyError::Texts(problems)) => problems.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

/// One request, owned, to be changed field by field.
#[derive(Clone)]
pub(super) struct Wish {
    pub(super) seat: SeatCreated,
    pub(super) tool: &'static str,
    pub(super) plugin: &'static str,
    pub(super) resource: Resource,
    pub(super) input: Value,
    pub(super) granted_text: Vec<String>,
}

impl Wish {
    /// An assistant fetches a page of `origin`.
    fn fetch(origin: &str, granted: bool) -> Self {
        Self {
            seat: seat("assistant"),
            tool: "web.fetch",
            plugin: "web",
            resource: Resource::Origin { origin: origin.into(), granted },
            input: json!({"url": format!("{origin}/page")}),
            granted_text: vec!["http://127.0.0.1:4801".into()],
        }
    }

    pub(super) fn put(&self, set: &PolicySet) -> Decision {
        set.decide(&Asked {
            seat: &self.seat,
            line: &[],
            tool: self.tool,
            resource: &self.resource,
            plugin: self.plugin,
            input: &self.input,
            effect: EffectClass::Read,
            origin_kind: OriginKind::Step,
            flow: Flow::Unknown,
            integrity: Integrity::Unknown,
            granted_text: self.granted_text.clone(),
        })
    }
}

#[test]
fn the_shipped_policies_decide_every_shipped_case_as_it_says() {
    let mut cases = Vec::new();
    for folder in ["ALLOW", "DENY"] {
        for entry in std::fs::read_dir(policies_folder().join("cases").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            cases.push(Case::parse(&name, &std::fs::read_to_string(&path).unwrap()).unwrap());
        }
    }
    let set = PolicySet::load_with_cases(&shipped_texts(), &tools(), &models(), &cases);
    let set = set.unwrap_or_else(|error| match error {
        PolicyError::Cases(failed) => panic!("{}", failed.iter().map(|f| format!("{f}\n")).collect::<String>()),
        other => panic!("{other}"),
    });
    let decided: Vec<String> = run_cases(&set, &cases).into_iter().flat_map(|result| result.expected.1).collect();
    for Outline { id, .. } in set.outlines() {
        assert!(decided.contains(id), "no case is decided by `{id}`");
    }
}

#[test]
fn a_set_whose_cases_fail_does_not_load() {
    let case = r#"{"seat": {"seat": "seat_a", "role": "stranger"}, "action": "slack.identity", "plugin": "slack",
        "resource": {"plugin": "slack"}, "input": {}, "because": ["nobody"],
        "context": {"origin_kind": "step", "flow": "ok", "integrity": "trusted", "effect": "read"}}"#;
    let cases = [Case::parse("ALLOW/a.json", case).unwrap(), Case::parse("DENY/b.json", case).unwrap()];
    match PolicySet::load_with_cases(&shipped_texts(), &tools(), &models(), &cases) {
        Err(PolicyError::Cases(failed)) => assert_eq!(failed.len(), 2, "the second denies for another reason"),
        other => panic!("{other:?}"),
    }
    for (name, text) in [("ALLOW/a.json", "{}"), ("a.json", case), ("MAYBE/a.json", case)] {
        assert!(matches!(Case::parse(name, text), Err(PolicyError::Case { .. })), "{name}");
    }
}

#[test]
fn a_no_says_what_was_missing_and_what_would_be_allowed() {
    let set = shipped();
    let allowed = Wish::fetch("http://127.0.0.1:4801", true);
    assert_eq!(
        allowed.put(&set).reason,
        "policy allowed `web.fetch` on `http://127.0.0.1:4801`: `assistant-fetches` permits it"
    );
    let denied = Wish::fetch("https://intranet.example.com", false).put(&set);
    assert_eq!(
        denied.reason,
        "policy denied `web.fetch` on `https://intranet.example.com`: `granted-origins-only` forbids it (only an \
         origin that the operator granted to the plugin may be reached); the operator granted \
         `http://127.0.0.1:4801`"
    );
    assert_eq!((denied.allowed, denied.policies), (false, vec!["granted-origins-only".to_owned()]));
    let stranger = Wish { seat: seat("stranger"), ..allowed }.put(&set);
    assert_eq!(
        stranger.reason,
        "policy denied `web.fetch` on `http://127.0.0.1:4801`: no policy permits it for role `stranger`; permitted \
         is: an assistant fetches pages from the origins that the operator granted (`assistant-fetches`)"
    );
    assert_eq!((stranger.allowed, stranger.policies), (false, vec![]));
    let off = Wish { granted_text: Vec::new(), ..Wish::fetch("https://a.example", false) };
    let reason = off.put(&load("").unwrap()).reason;
    assert!(reason.ends_with("role `assistant`; the operator granted the plugin `web` no origin"), "{reason}");
}

#[test]
fn an_empty_set_an_unknown_action_and_another_plugin_are_denied() {
    let fetch = Wish::fetch("https://a.example", true);
    let empty = PolicySet::load(&[], &tools(), &models()).unwrap();
    assert!(!fetch.put(&empty).allowed);
    let all = load("@id(\"all\") permit (principal, action, resource);").unwrap();
    assert!(fetch.put(&all).allowed);
    for (n, wish) in [
        Wish { tool: "web.delete", ..fetch.clone() },
        Wish { plugin: "slack", ..fetch.clone() },
        Wish { tool: "slack.post", ..fetch.clone() },
        Wish { tool: "slack.post", plugin: "slack", ..fetch.clone() },
        Wish { resource: Resource::Destination("C01".into()), ..fetch.clone() },
        Wish { tool: "infer", resource: Resource::Model("other/model".into()), plugin: "other", ..fetch.clone() },
    ]
    .iter()
    .enumerate()
    {
        let decision = wish.put(&all);
        assert!(!decision.allowed && decision.policies.is_empty(), "{n}: {decision:?}");
    }
}

#[test]
fn arguments_decide_by_their_own_types_and_undeclared_ones_do_not_deny() {
    let set = load(
        r#"@id("short") permit (principal, action == Action::"slack.post", resource)
               when { context.input.channel == "C01" && !(context.input has thread) };
           @id("who") permit (principal, action == Action::"slack.identity", resource);"#,
    )
    .unwrap();
    let post = Wish {
        tool: "slack.post",
        plugin: "slack",
        resource: Resource::Destination("C01".into()),
        ..Wish::fetch("", true)
    };
    for (allowed, input) in [
        (true, json!({"channel": "C01", "text": "a"})),
        (true, json!({"channel": "C01", "text": "a", "thread": null, "blocks": [{"type": "rule"}]})),
        (false, json!({"channel": "C01", "text": "a", "thread": "1"})),
        (false, json!({"channel": "C01"})),
        (false, json!({"channel": ["C01"], "text": "a"})),
    ] {
        let decision = Wish { input: input.clone(), ..post.clone() }.put(&set);
        assert_eq!(decision.allowed, allowed, "{input}: {decision:?}");
    }
    let identity = Wish { tool: "slack.identity", resource: Resource::Plugin("slack".into()), ..post };
    assert!(Wish { input: json!({"any": 1.5}), ..identity }.put(&set).allowed);
    let unseen: Vec<_> = set.omitted().iter().map(|o| (o.tool.as_str(), o.pointer.as_str())).collect();
    assert_eq!(unseen, [("slack.identity", "")]);
}

#[test]
fn every_fault_has_a_file_a_line_and_a_column() {
    assert_eq!(problems("permit (principal, action,\n  resource) when { x y };")[0].split(": ").next(), Some("a.cedar:2:22"));
    let nameless = problems("@id(\"a\") permit (principal, action, resource);\n\n  permit (principal, action, resource);");
    assert_eq!(nameless, ["a.cedar:3:3: a policy needs an annotation `@id(\"…\")` that names it"]);
    let twice = problems("@id(\"a\") permit (principal, action, resource);\n@id(\"a\") forbid (principal, action, resource);");
    assert_eq!(twice, ["a.cedar:2:1: `@id` was taken at a.cedar:1:1: "]);
    let template = problems("@id(\"a\")\npermit (principal == ?principal, action, resource);");
    assert_eq!(template, ["a.cedar:1:1: templates are not supported; write the principal and resource out"]);
    assert!(matches!(
        PolicySet::load(&[text("a.cedar", ""), text("a.cedar", "")], &tools(), &models()),
        Err(PolicyError::Texts(problems)) if problems.len() == 1
    ));
}

#[test]
fn what_strict_validation_finds_does_not_load() {
    for (condition, said) in [
        ("principal in Role::\"a\", action == Action::\"web.delete\", resource) when { true", "web.delete"),
        ("principal, action == Action::\"web.fetch\", resource) when { context.input.uri == \"\"", "uri"),
        ("principal, action == Action::\"slack.post\", resource) when { context.input.thread == \"\"", "thread"),
        ("principal, action, resource) when { context.flow == Flow::\"voilates\"", "voilates"),
        ("principal, action, resource) when { context.flow == \"violates\"", "String"),
        ("principal, action, resource) when { Seat::\"seat_b\".role == \"lead\"", "literal"),
        ("principal, action, resource) when { 1 == 2", "false"),
        ("principal, action == Action::\"web.fetch\", resource is Destination) when { true", "apply"),
    ] {
        let found = problems(&format!("@id(\"a\") forbid ({condition} }};"));
        assert!(found.iter().any(|problem| problem.contains(said)), "{condition}: {found:?}");
    }
}

#[test]
fn a_decision_looks_only_at_the_policies_of_its_action() {
    let set = load(
        r#"@id("any") forbid (principal, action, resource) when { context.flow == Flow::"violates" };
           @id("one") permit (principal, action == Action::"web.fetch", resource);
           @id("two") permit (principal, action in [Action::"slack.post", Action::"web.fetch"], resource);
           @id("other") permit (principal, action in Action::"terminal.say", resource);"#,
    )
    .unwrap();
    let of = |action: &str| set.actions[action].outlines.iter().map(|o| o.id.as_str()).collect::<Vec<_>>();
    assert_eq!(of("web.fetch"), ["any", "one", "two"]);
    assert_eq!(of("slack.post"), ["any", "two"]);
    assert_eq!(of("terminal.say"), ["any", "other"]);
    assert_eq!(of("infer"), ["any"]);
    assert_eq!(Wish::fetch("https://a.example", true).put(&set).policies, ["one", "two"]);
}

#[test]
fn the_digest_names_the_files_in_any_order() {
    let (a, b) = (text("a.cedar", "one"), text("b.cedar", "two"));
    assert_eq!(digest(&[a.clone(), b.clone()]), digest(&[b.clone(), a.clone()]));
    for other in [vec![a.clone()], vec![text("a.cedar", "two"), text("b.cedar", "one")], vec![text("a.cedaro", "ne"), b.clone()]] {
        assert_ne!(digest(&other), digest(&[a.clone(), b.clone()]));
    }
    assert_eq!(shipped().digest(), &digest(&shipped_texts()));
}
