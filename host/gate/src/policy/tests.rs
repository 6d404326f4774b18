//! Deciding, and the policies of the repository; what the other tests here are made of.

use super::{Case, Decision, Flow, OriginKind, PolicyError, PolicySet, Question, run_cases};
use crate::catalogue::{EffectClass, ModelSpec, Resource, ToolSpec, Touches};
use crate::model::{InferRequest, Message, Part, Role};
use crate::schema::INFER;
use event::{Digest, Integrity, PolicyText, SeatCreated, SeatId};
use serde_json::{Value, json};
use std::collections::BTreeSet;
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
        exact: false,
        recall: false,
    })
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Tools with the arguments of the plugins of this repository.
pub(super) fn tools() -> Vec<Arc<ToolSpec>> {
    let text = json!({"type": "string"});
    let mention = json!({"type": "array", "items": {"type": "string"}});
    let fetch = object(json!({"url": text, "max_bytes": {"type": "integer"}}), &["url"]);
    let post = object(
        json!({"channel": text, "thread_ts": text, "text": text, "mention": mention}),
        &["channel", "text"],
    );
    let react = object(json!({"channel": text, "ts": text, "emoji": text}), &["channel", "ts", "emoji"]);
    let say = object(json!({"session": text, "text": text, "mention": mention}), &["session", "text"]);
    let to = |pointer: &str| Touches::Destination(vec![pointer.into()]);
    let card = |more: Value, required: &str| {
        let mut properties = json!({"channel": text, "approval": text, "title": text, "arguments": text,
            "digest": text, "fields": {"type": "array", "items": {"type": "object"}}});
        properties.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object(properties, &["channel", "approval", "title", "arguments", "digest", required])
    };
    let shown = card(json!({"thread_ts": text, "until": text, "mention": mention}), "until");
    let changed = card(json!({"ts": text, "state": text}), "ts");
    let ask = |more: Value, required: &[&str]| {
        let mut properties = json!({"channel": text, "thread_ts": text, "ts": text, "title": text, "quoted": text,
            "fields": {"type": "array", "items": {"type": "object"}}});
        properties.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object(properties, required)
    };
    let choices = json!({"about": text, "text": text, "mention": mention,
        "choices": {"type": "array", "items": {"type": "object"}}});
    let complete = json!({"channel": text, "thread_ts": text, "ts": text, "text": text, "effect": text,
        "shown": {"type": "integer"}});
    let prompts = json!({"channel": text, "thread_ts": text, "title": text,
        "prompts": {"type": "array", "items": {"type": "object"}}});
    let line = |required: &[&str]| {
        object(json!({"channel": text, "thread_ts": text, "ts": text, "text": text}), required)
    };
    let whisper = object(
        json!({"channel": text, "thread_ts": text, "user": text, "text": text}),
        &["channel", "user", "text"],
    );
    vec![
        Arc::new(crate::catalogue::recall_spec("slack", &Digest::of(b"slack.recall"))),
        tool("web.fetch", EffectClass::Read, Touches::OriginOf("/url".into()), fetch),
        tool("slack.post", EffectClass::External, to("/channel"), post),
        tool("slack.card", EffectClass::External, to("/channel"), shown),
        tool("slack.card-update", EffectClass::External, to("/channel"), changed),
        tool("slack.whisper", EffectClass::External, to("/channel"), whisper),
        tool("slack.react", EffectClass::External, to("/channel"), react),
        tool("slack.identity", EffectClass::Read, Touches::Plugin, object(json!({}), &[])),
        tool("slack.file", EffectClass::Read, Touches::Plugin, object(json!({"file": text}), &["file"])),
        tool("slack.emoji", EffectClass::Read, Touches::Plugin, object(json!({}), &[])),
        tool(
            "slack.home",
            EffectClass::External,
            to("/user"),
            object(json!({"user": text, "parts": {"type": "array", "items": {"type": "object"}}}), &["user"]),
        ),
        tool(
            "slack.form",
            EffectClass::External,
            to("/user"),
            object(
                json!({"user": text, "trigger": text, "name": text, "title": text, "submit": text, "words": text,
                    "place": text, "hint": text}),
                &["user", "trigger"],
            ),
        ),
        tool(
            "slack.begin",
            EffectClass::External,
            to("/to"),
            object(json!({"to": text, "user": text, "text": text}), &["to", "text"]),
        ),
        tool("slack.ask", EffectClass::External, to("/channel"), ask(choices, &["channel", "about"])),
        tool("slack.ask-update", EffectClass::External, to("/channel"), ask(json!({"state": text}), &["ts"])),
        tool("slack.complete", EffectClass::External, to("/channel"), object(complete, &["channel"])),
        tool("slack.progress", EffectClass::External, to("/channel"), line(&["channel", "text"])),
        tool(
            "slack.progress-change",
            EffectClass::External,
            to("/channel"),
            line(&["channel", "ts", "text"]),
        ),
        tool("slack.progress-end", EffectClass::External, to("/channel"), line(&["channel", "ts"])),
        tool("slack.status", EffectClass::External, to("/channel"), line(&["channel", "thread_ts", "text"])),
        tool("slack.assistant-thread", EffectClass::External, to("/channel"), object(prompts, &["channel"])),
        tool("terminal.say", EffectClass::Write, to("/session"), say),
    ]
    .into_iter()
    .chain(office())
    .collect()
}

/// The office's own verbs.
fn office() -> impl Iterator<Item = Arc<ToolSpec>> {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let said = object(json!({"find": text, "before": number, "limit": number}), &[]);
    let ask =
        object(json!({"seat": text, "wanted": text, "minutes": number}), &["seat", "wanted", "minutes"]);
    let answer = object(json!({"request": text, "answer": text}), &["request", "answer"]);
    let reads = [
        ("office.said", said),
        ("office.seats", object(json!({}), &[])),
        ("office.turns", object(json!({"limit": number}), &[])),
        ("office.budgets", object(json!({}), &[])),
        ("office.waiting", object(json!({}), &[])),
    ];
    let writes = [
        ("office.look-again", object(json!({"minutes": number}), &["minutes"])),
        ("office.ask", ask),
        ("office.answer", answer),
    ];
    let reads = reads.into_iter().map(|(name, schema)| (name, EffectClass::Read, schema));
    let writes = writes.into_iter().map(|(name, schema)| (name, EffectClass::Write, schema));
    reads.chain(writes).map(|(name, effect, schema)| tool(name, effect, Touches::Plugin, schema))
}

pub(super) fn models() -> Vec<Arc<ModelSpec>> {
    vec![Arc::new(ModelSpec {
        name: "scripted/story".into(),
        plugin: "scripted".into(),
        digest: Digest::of(b"scripted"),
        window_tokens: 8_000,
        output_tokens_max: 1_000,
        price_key: "scripted/story".into(),
        media: Vec::new(),
    })]
}

pub(super) fn seat(role: &str) -> SeatCreated {
    SeatCreated {
        seat: SeatId::parse("seat_front-desk").unwrap(),
        role: role.into(),
        department: None,
        line: None,
        grants: Vec::new(),
        accountabilities: Vec::new(),
        stands_in: None,
    }
}

pub(super) fn text(name: &str, text: &str) -> PolicyText {
    PolicyText { name: name.into(), text: text.into() }
}

fn policies_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies")
}

pub(super) fn shipped_texts() -> Vec<PolicyText> {
    ["approve.cedar", "duty.cedar", "forbid.cedar", "seat.cedar"]
        .map(|name| text(name, &std::fs::read_to_string(policies_folder().join(name)).unwrap()))
        .into()
}

/// The whole shipped set: policies and cases.
pub(super) fn shipped_files() -> Vec<PolicyText> {
    let mut files = shipped_texts();
    for folder in ["ALLOW", "DENY"] {
        for entry in std::fs::read_dir(policies_folder().join("cases").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("cases/{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            files.push(text(&name, &std::fs::read_to_string(&path).unwrap()));
        }
    }
    files
}

pub(super) fn shipped() -> PolicySet {
    load_files(&shipped_texts()).unwrap()
}

pub(super) fn load(policy: &str) -> Result<PolicySet, PolicyError> {
    load_files(&[text("a.cedar", policy)])
}

pub(super) fn load_files(files: &[PolicyText]) -> Result<PolicySet, PolicyError> {
    PolicySet::load(files, &tools(), &models(), &BTreeSet::new())
}

pub(super) fn ids(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// An assistant fetches a page of `origin`.
pub(super) fn wish(origin: &str, granted: bool) -> Wish {
    Wish::fetch(origin, granted)
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

    pub(super) fn question(&self) -> Question {
        Question {
            seat: self.seat.clone(),
            line: Vec::new(),
            tool: self.tool.to_owned(),
            resource: self.resource.clone(),
            plugin: self.plugin.to_owned(),
            input: self.input.clone(),
            effect: EffectClass::Read,
            origin_kind: OriginKind::Step,
            flow: Flow::Unknown,
            integrity: Integrity::Unknown,
            account: crate::account::AccountKind::None,
            account_of: String::new(),
            approved: false,
            granted_text: self.granted_text.clone(),
        }
    }

    pub(super) fn put(&self, set: &PolicySet) -> Decision {
        self.question().decided_by(set)
    }
}

#[test]
fn the_shipped_policies_decide_every_shipped_case_as_it_says() {
    let set = load_files(&shipped_files()).unwrap_or_else(|error| match error {
        PolicyError::Cases(failed) => {
            panic!("{}", failed.iter().map(|f| format!("{f}\n")).collect::<String>())
        }
        other => panic!("{other}"),
    });
    let decided: Vec<String> =
        run_cases(&set, set.cases()).into_iter().flat_map(|result| result.expected.1).collect();
    assert!(!decided.is_empty());
    for outline in set.outlines() {
        assert!(decided.contains(&outline.id), "no case is decided by `{}`", outline.id);
    }
}

#[test]
fn a_set_whose_cases_fail_does_not_load() {
    let case = r#"{"seat": {"seat": "seat_a", "role": "stranger"}, "action": "slack.identity", "plugin": "slack",
        "resource": {"plugin": "slack"}, "input": {}, "because": ["nobody"],
        "context": {"origin_kind": "step", "flow": "ok", "integrity": "trusted", "effect": "read"}}"#;
    let mut files = shipped_texts();
    files.extend([text("cases/ALLOW/a.json", case), text("cases/DENY/b.json", case)]);
    match load_files(&files) {
        Err(PolicyError::Cases(failed)) => {
            assert_eq!(failed.len(), 2, "the second denies for another reason")
        }
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
         is: the owner tries a tool by hand (`owner-tries`), or an assistant fetches pages from the origins that the operator granted (`assistant-fetches`)"
    );
    assert_eq!((stranger.allowed, stranger.policies), (false, vec![]));
    let off = Wish { granted_text: Vec::new(), ..Wish::fetch("https://a.example", false) };
    let reason = off.put(&load("").unwrap()).reason;
    assert!(
        reason.ends_with("role `assistant`; the operator granted the plugin `web` no origin"),
        "{reason}"
    );
}

#[test]
fn an_empty_set_an_unknown_action_and_another_plugin_are_denied() {
    let fetch = Wish::fetch("https://a.example", true);
    let empty = load_files(&[]).unwrap();
    assert!(!fetch.put(&empty).allowed);
    let all = load("@id(\"all\") permit (principal, action, resource);").unwrap();
    assert!(fetch.put(&all).allowed);
    for (n, wish) in [
        Wish { tool: "web.delete", ..fetch.clone() },
        Wish { plugin: "slack", ..fetch.clone() },
        Wish { tool: "slack.post", ..fetch.clone() },
        Wish { tool: "slack.post", plugin: "slack", ..fetch.clone() },
        Wish { resource: Resource::Destination("C01".into()), ..fetch.clone() },
        Wish {
            tool: "infer",
            resource: Resource::Model("other/model".into()),
            plugin: "other",
            ..fetch.clone()
        },
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
    let note = json!({"type": "object", "required": ["to"], "properties": {
        "to": {"type": "string"}, "thread": {"type": ["string", "null"]}, "weight": {"type": "number"}}});
    let tools = [
        tool("note.put", EffectClass::Write, Touches::Plugin, note),
        tool("note.any", EffectClass::Write, Touches::Plugin, json!({})),
    ];
    let policies = r#"
        @id("short") permit (principal, action == Action::"note.put", resource)
            when { context.input.to == "C01" && !(context.input has thread) };
        @id("any") permit (principal, action == Action::"note.any", resource);"#;
    let set = PolicySet::valid(&[text("a.cedar", policies)], &tools, &[]).unwrap();
    for (allowed, tool, input) in [
        (true, "note.put", json!({"to": "C01"})),
        (true, "note.put", json!({"to": "C01", "thread": null, "weight": 0.5, "more": [{"type": "rule"}]})),
        (false, "note.put", json!({"to": "C01", "thread": "1"})),
        (false, "note.put", json!({"thread": "1"})),
        (false, "note.put", json!({"to": ["C01"]})),
        (true, "note.any", json!({"anything": 1.5})),
    ] {
        let resource = Resource::Plugin("note".into());
        let wish = Wish { tool, plugin: "note", resource, input, ..Wish::fetch("", true) };
        let decision = wish.put(&set);
        assert_eq!(decision.allowed, allowed, "{tool} {}: {decision:?}", wish.input);
    }
    let unseen: Vec<_> = set.omitted().iter().map(|o| (o.tool.as_str(), o.pointer.as_str())).collect();
    assert_eq!(unseen, [("note.any", ""), ("note.put", "/weight")]);
    let shipped = shipped();
    let unseen: Vec<_> = shipped.omitted().iter().map(|o| (o.tool.as_str(), o.pointer.as_str())).collect();
    assert_eq!(
        unseen,
        [
            ("slack.ask", "/choices"),
            ("slack.ask", "/fields"),
            ("slack.ask-update", "/fields"),
            ("slack.assistant-thread", "/prompts"),
            ("slack.card", "/fields"),
            ("slack.card-update", "/fields"),
            ("slack.home", "/parts"),
            ("slack.recall", "/input/*"),
        ],
        "all else is seen"
    );
}

#[test]
fn a_model_is_asked_for_by_name_and_the_conversation_is_not_looked_at() {
    let request = InferRequest {
        model: "scripted/story".into(),
        system: "Answer briefly.".into(),
        messages: vec![Message { role: Role::User, parts: vec![Part::Text("Hello".into())] }],
        tools: Vec::new(),
        output_tokens_max: 500,
    };
    let wish = Wish {
        tool: INFER,
        plugin: "scripted",
        resource: Resource::Model("scripted/story".into()),
        input: serde_json::to_value(request).unwrap(),
        ..Wish::fetch("", true)
    };
    assert_eq!(wish.put(&shipped()).policies, ["assistant-infers"]);
    let short = "@id(\"short\") permit (principal, action == Action::\"infer\", resource)
        when { context.input.output_tokens_max < 500 };";
    assert!(!wish.put(&load(short).unwrap()).allowed);
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
fn a_revoked_permit_counts_in_no_set_and_a_forbid_cannot_be_taken_out() {
    let set = shipped();
    let granted = wish("https://a.example", true);
    assert!(granted.put(&set).allowed);
    let revoked = ids(&["assistant-fetches", "granted-origins-only", "no-such-policy"]);
    let without = PolicySet::load(&shipped_files(), &tools(), &models(), &revoked).unwrap();
    assert_eq!(
        without.revoked(),
        &ids(&["assistant-fetches"]),
        "the cases still speak of the set as written"
    );
    let decision = granted.put(&without);
    assert!(!decision.allowed && decision.policies.is_empty(), "{decision:?}");
    assert_eq!(wish("https://a.example", false).put(&without).policies, ["granted-origins-only"]);
    assert!(granted.put(&without.without(&BTreeSet::new()).unwrap()).allowed);
}

#[test]
fn a_policy_of_another_role_is_not_even_looked_at_and_decides_the_same() {
    let set = load(
        "@id(\"a\") permit (principal in Role::\"a\", action == Action::\"web.fetch\", resource);
         @id(\"b\") permit (principal in Role::\"b\", action == Action::\"web.fetch\", resource);
         @id(\"c\") permit (principal is Seat in Role::\"b\", action, resource);
         @id(\"d\") permit (principal in Seat::\"seat_front-desk\", action == Action::\"web.fetch\", resource)
         when { context.input.url like \"*x\" };",
    )
    .unwrap();
    let of = |role: &str, page: &str| {
        let input = json!({"url": format!("https://a.example/{page}")});
        Wish { seat: seat(role), input, ..wish("https://a.example", true) }.put(&set).policies
    };
    assert_eq!(of("a", "y"), ["a"]);
    assert_eq!(of("b", "y"), ["b", "c"]);
    assert_eq!(of("c", "y"), [] as [&str; 0]);
    assert_eq!(of("c", "x"), ["d"]);
}
