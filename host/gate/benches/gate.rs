//! How long the pure half of the gate takes, beside Cedar alone: ratios, because a machine's figures say little
//! about another's.
//!
//! Prints one JSON object a line; `cargo xtask bench gate` reads them. Every figure is the median over batches, all
//! variants taken in turn, so that a busy moment falls on each of them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what it measures is made here, and a wrong one ends it"
)]

use cedar_policy::{
    Authorizer, Context, Decision as CedarDecision, Entities, Entity, PolicySet as CedarSet, Request,
};
use event::{Digest, EventId, Label, Origin, PolicyText, Route, SeatCreated, SeatId, Timestamp, TurnId};
use gate::admit::{Facts, admit};
use gate::policy::{Asked, Flow, OriginKind, PolicySet};
use gate::{Call, Catalogue, EffectClass, ModelSpec, Payload, Resource, ToolSpec, Touches, Verdict};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Calls of one batch, whose mean is one sample.
const BATCH: u32 = 200;
/// Samples whose median is the figure.
const SAMPLES: usize = 201;
/// The tools of the office.
const TOOLS: usize = 50;
/// The roles that policies name.
const ROLES: usize = 20;

/// Tools and one granted origin, in memory.
struct Shelf(Vec<Arc<ToolSpec>>);

impl Catalogue for Shelf {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.0.clone()
    }

    fn models(&self) -> Vec<Arc<ModelSpec>> {
        Vec::new()
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.0.iter().find(|tool| tool.name == name).cloned()
    }

    fn routes(&self, _plugin: &str) -> Vec<Route> {
        vec![Route {
            methods: vec!["GET".to_owned()],
            origin: "https://docs.example.com".to_owned(),
            path: event::RoutePath::every(),
            credential: None,
        }]
    }

    fn resource(&self, _tool: &ToolSpec, _input: &Value) -> Result<Resource, String> {
        Ok(Resource::Origin { origin: "https://docs.example.com".to_owned(), granted: true })
    }

    fn check_input(&self, _tool: &ToolSpec, input: &Value) -> Result<(), String> {
        if input.is_object() { Ok(()) } else { Err("not an object".to_owned()) }
    }
}

fn tools() -> Vec<Arc<ToolSpec>> {
    let schema = json!({"type": "object", "required": ["url"], "properties": {
        "url": {"type": "string"}, "max_bytes": {"type": "integer"}}});
    let tool = |n: usize| {
        Arc::new(ToolSpec {
            name: format!("web.t{n}"),
            plugin: "web".to_owned(),
            digest: Digest::of(b"web"),
            description: String::new(),
            input_schema: schema.clone(),
            output_schema: json!({}),
            effect: EffectClass::Read,
            touches: Touches::OriginOf("/url".to_owned()),
            price_key: None,
            exact: false,
            recall: false,
        })
    };
    (0..TOOLS).map(tool).collect()
}

/// `count` policies as an office has them: four noes for everybody, the rest each for one tool and one role.
fn texts(count: usize) -> Vec<PolicyText> {
    let mut text = String::from(
        r#"@id("n0") forbid (principal, action, resource is Origin) unless { context.granted };
@id("n1") forbid (principal, action, resource) when { context.effect == Effect::"destructive" } unless { context.approved };
@id("n2") forbid (principal, action, resource) when { context.flow == Flow::"violates" };
@id("n3") forbid (principal in Role::"system", action, resource) unless { context.origin_kind == OriginKind::"duty" };
"#,
    );
    for n in 4..count {
        let (tool, role) = ((n - 4) % TOOLS, (n - 4) / TOOLS % ROLES);
        text.push_str(&format!(
            "@id(\"p{n}\") @reason(\"role r{role} uses tool {tool}\") permit (principal in Role::\"r{role}\", \
             action == Action::\"web.t{tool}\", resource in Plugin::\"web\") when {{ context.granted }};\n"
        ));
    }
    vec![PolicyText { name: "a.cedar".to_owned(), text }]
}

fn seat() -> SeatCreated {
    SeatCreated {
        seat: SeatId::parse("seat_front-desk").unwrap(),
        role: "r0".to_owned(),
        department: None,
        line: None,
        grants: vec!["web.*".to_owned()],
        accountabilities: Vec::new(),
        stands_in: None,
    }
}

fn call() -> Call {
    Call {
        origin: Origin::Step { turn: TurnId::derived(&["bench"]), step: 1, attempt: 1 },
        seat: seat().seat,
        tool: "web.t0".to_owned(),
        topic: None,
        asker: None,
        unasked: false,
        goal: None,
        payload: Payload::Tool(json!({"url": "https://docs.example.com/guide"})),
        label: Label::public_untrusted(),
        of: BTreeSet::new(),
        cause: EventId::derived(&["bench"]),
        fence: None,
        within: Vec::new(),
        drill: false,
    }
}

/// Cedar alone: a request and a store that stand, and three policies.
fn bare() -> impl FnMut() {
    let policies: CedarSet = r#"
        permit (principal in Role::"r0", action == Action::"web.t0", resource in Plugin::"web") when { context.granted };
        forbid (principal, action, resource is Origin) unless { context.granted };
        forbid (principal in Role::"system", action, resource);"#
        .parse()
        .unwrap();
    let uid = |text: &str| text.parse::<cedar_policy::EntityUid>().unwrap();
    let inside = |text: &str, above: &str| Entity::new_no_attrs(uid(text), HashSet::from([uid(above)]));
    let alone = |text: &str| Entity::new_no_attrs(uid(text), HashSet::new());
    let entities = Entities::from_entities(
        [
            inside("Seat::\"a\"", "Role::\"r0\""),
            alone("Role::\"r0\""),
            inside("Origin::\"o\"", "Plugin::\"web\""),
            alone("Plugin::\"web\""),
        ],
        None,
    )
    .unwrap();
    let granted = ("granted".to_owned(), cedar_policy::RestrictedExpression::new_bool(true));
    let context = Context::from_pairs([granted]).unwrap();
    let request =
        Request::new(uid("Seat::\"a\""), uid("Action::\"web.t0\""), uid("Origin::\"o\""), context, None);
    let (request, authorizer) = (request.unwrap(), Authorizer::new());
    move || {
        let response = authorizer.is_authorized(black_box(&request), &policies, &entities);
        assert_eq!(response.decision(), CedarDecision::Allow);
    }
}

/// Cedar's own share of an admission: the typed context, validation, the decision.
fn decide(count: usize) -> impl FnMut() {
    let set = PolicySet::load(&texts(count), &tools(), &[], &BTreeSet::new()).unwrap();
    let (seat, input) = (seat(), json!({"url": "https://docs.example.com/guide"}));
    let resource = Resource::Origin { origin: "https://docs.example.com".to_owned(), granted: true };
    move || {
        let decision = set.decide(black_box(&Asked {
            seat: &seat,
            line: &[],
            tool: "web.t0",
            resource: &resource,
            plugin: "web",
            input: &input,
            effect: EffectClass::Read,
            origin_kind: OriginKind::Step,
            flow: Flow::Unknown,
            integrity: event::Integrity::Untrusted,
            account: gate::AccountKind::None,
            account_of: String::new(),
            approved: false,
            granted_text: Vec::new(),
        }));
        assert!(decision.allowed);
    }
}

/// The whole pure half, with the office's rows in memory.
fn whole(count: usize) -> impl FnMut() {
    let shelf = Shelf(tools());
    let set = PolicySet::load(&texts(count), &shelf.0, &[], &BTreeSet::new()).unwrap();
    let (seat, call) = (seat(), call());
    move || {
        let verdict = admit(
            black_box(&call),
            &Facts {
                seat: Some(&seat),
                line: &[],
                catalogue: &shelf,
                policy: &set,
                no_grant: None,
                prices: None,
                refusals: &[],
                approval: None,
                ahead: None,
                own: &gate::Own::default(),
                class: None,
                said_no: None,
                budgets: &[],
                headroom: 3,
                at: Timestamp(0),
            },
        );
        assert!(matches!(verdict, Verdict::Admitted(_)));
    }
}

/// What is measured: its name, how many policies it has, and one call of it.
type Variant = (&'static str, usize, Box<dyn FnMut()>);

fn main() {
    let mut all: Vec<Variant> = vec![("bare", 3, Box::new(bare()))];
    for count in [10, 100, 1_000] {
        all.push(("decide", count, Box::new(decide(count))));
        all.push(("admit", count, Box::new(whole(count))));
    }
    let mut samples: Vec<Vec<f64>> = vec![Vec::with_capacity(SAMPLES); all.len()];
    for _ in 0..SAMPLES {
        for ((_, _, run), samples) in all.iter_mut().zip(&mut samples) {
            let began = Instant::now();
            for _ in 0..BATCH {
                run();
            }
            samples.push(began.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
        }
    }
    for ((name, policies, _), samples) in all.iter().zip(&mut samples) {
        samples.sort_by(f64::total_cmp);
        println!("{}", json!({"name": name, "policies": policies, "p50_ns": samples[SAMPLES / 2].round()}));
    }
}
