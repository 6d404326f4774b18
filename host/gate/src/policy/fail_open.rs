//! Cedar skips a policy whose evaluation errs, so a forbid that errs would not forbid. Here every known way to
//! make one err must end in a no: those that strict validation cannot see, and those that it can, evaluated
//! without it.

use super::tests::{seat, text, tool};
use super::{Answer, Asked, Decision, Flow, OriginKind, PolicyError, PolicySet, judge};
use crate::account::AccountKind;
use crate::catalogue::{EffectClass, Resource, Touches};
use cedar_policy::{Authorizer, Context, Entities, PolicySet as CedarSet, Request, RestrictedExpression};
use event::Integrity;
use serde_json::{Value, json};

/// Permits all, and forbids `when` the condition holds.
fn guarded(condition: &str) -> String {
    format!(
        "@id(\"all\") permit (principal, action, resource);
         @id(\"guard\") forbid (principal, action == Action::\"pay.send\", resource) when {{ {condition} }};"
    )
}

fn load(condition: &str) -> Result<PolicySet, PolicyError> {
    let schema = json!({"type": "object", "required": ["host"], "properties": {
        "host": {"type": "string"}, "amount": {"type": "integer"}, "sum": {"type": "string"}}});
    let pay = tool("pay.send", EffectClass::External, Touches::Plugin, schema);
    PolicySet::valid(&[text("a.cedar", &guarded(condition))], &[pay], &[])
}

fn decide(set: &PolicySet, input: &Value) -> Decision {
    set.decide(&Asked {
        seat: &seat("assistant"),
        line: &[],
        tool: "pay.send",
        resource: &Resource::Plugin("pay".into()),
        plugin: "pay",
        input,
        effect: EffectClass::External,
        origin_kind: OriginKind::Step,
        flow: Flow::Ok,
        integrity: Integrity::Trusted,
        account: AccountKind::None,
        account_of: String::new(),
        approved: false,
        granted_text: Vec::new(),
    })
}

#[test]
fn a_strictly_valid_forbid_that_overflows_denies() {
    let max = i64::MAX;
    for (condition, amount) in [
        ("context.input has amount && context.input.amount * 2 > 100", max),
        ("context.input has amount && context.input.amount + 1 > 100", max),
        ("context.input has amount && context.input.amount - 1 > 100", i64::MIN),
        ("context.input has amount && -context.input.amount > 100", i64::MIN),
    ] {
        let set = load(condition).unwrap();
        let decision = decide(&set, &json!({"host": "a", "amount": amount}));
        assert!(!decision.allowed, "{condition}");
        assert_eq!(decision.policies, ["guard"], "the policy that erred says no");
        assert_eq!(decision.errors.len(), 1);
        assert!(
            decision.reason.contains("cannot be evaluated counts as a no: policy `guard`"),
            "{}",
            decision.reason
        );
        assert!(decide(&set, &json!({"host": "a", "amount": 1})).allowed, "{condition}");
    }
}

#[test]
fn a_permit_that_errs_denies_too_though_another_permits() {
    let set = load("false || (context.input has amount && context.input.amount * 2 > 100)").unwrap();
    assert!(!decide(&set, &json!({"host": "a", "amount": i64::MAX})).allowed);
    let permit = "@id(\"b\") permit (principal, action == Action::\"pay.send\", resource)
        when { context.input has amount && context.input.amount * 2 > 100 };
        @id(\"all\") permit (principal, action, resource);";
    let schema = json!({"type": "object", "properties": {"amount": {"type": "integer"}}});
    let pay = tool("pay.send", EffectClass::External, Touches::Plugin, schema);
    let set = PolicySet::valid(&[text("a.cedar", permit)], &[pay], &[]).unwrap();
    let decision = decide(&set, &json!({"amount": i64::MAX}));
    assert_eq!((decision.allowed, decision.policies), (false, vec!["b".to_owned()]));
}

#[test]
fn strict_validation_rejects_every_forbid_that_could_err_otherwise() {
    for condition in [
        // An attribute that may be missing, and one that does not exist.
        "context.input.amount > 100",
        "context.amnt > 100",
        "principal.clearance > 1",
        // A wrong type.
        "context.input.host in [\"evil.example\"]",
        "context.input.host > 1",
        "context.input.host.contains(\"evil\")",
        // Extension functions on what may not parse.
        "ip(context.input.host).isLoopback()",
        "ip(\"x\").isLoopback()",
        "decimal(context.input.host).greaterThan(decimal(\"1.0\"))",
        "datetime(\"not a day\") < datetime(\"2026-01-01\")",
        // An attribute of an entity that no request is about.
        "Seat::\"seat_b\".role == \"lead\"",
        "Seat::\"seat_b\" in Role::\"lead\"",
    ] {
        assert!(matches!(load(condition), Err(PolicyError::Texts(_))), "{condition}");
    }
}

/// Without any schema, as if validation had been passed by.
fn unvalidated(condition: &str, entities: &Entities) -> Answer {
    let policies: CedarSet = guarded(condition).parse().unwrap();
    let input = RestrictedExpression::new_record([
        ("host".to_owned(), RestrictedExpression::new_string("evil.example".into())),
        ("amnt".to_owned(), RestrictedExpression::new_long(100_000)),
    ]);
    let context = Context::from_pairs([("input".to_owned(), input.unwrap())]).unwrap();
    let uid = |text: &str| text.parse().unwrap();
    let request =
        Request::new(uid("Seat::\"a\""), uid("Action::\"pay.send\""), uid("Plugin::\"pay\""), context, None)
            .unwrap();
    judge(&Authorizer::new(), &request, &policies, entities)
}

#[test]
fn whatever_errs_denies_even_where_validation_was_passed_by() {
    for condition in [
        "context.input.amount > 100",
        "context.input.host in [\"evil.example\"]",
        "context.input.host > 1",
        "context.input.amnt * 9223372036854775807 > 100",
        "ip(context.input.host).isLoopback()",
        "ip(\"x\").isLoopback()",
        "decimal(context.input.host).greaterThan(decimal(\"1.0\"))",
        "datetime(context.input.host) < datetime(\"2026-01-01\")",
        "duration(context.input.host) < duration(\"1h\")",
        // Entities that are not in the store.
        "principal.role == \"lead\"",
        "resource.effect",
        "Seat::\"seat_b\".role == \"lead\"",
    ] {
        let answer = unvalidated(condition, &Entities::empty());
        assert!(!answer.allowed && !answer.errors.is_empty(), "{condition}: {answer:?}");
    }
    assert!(
        unvalidated("context.input.amnt > 100000", &Entities::empty()).allowed,
        "what does not err is decided"
    );
}

#[test]
fn a_day_that_overflows_and_a_store_without_its_entities_deny_though_strictly_valid() {
    let late =
        "datetime(\"9999-12-31\").offset(duration(\"9223372036854775807ms\")) > datetime(\"2026-01-01\")";
    let set = load(late).unwrap();
    let decision = decide(&set, &json!({"host": "a"}));
    assert_eq!(
        (decision.allowed, decision.policies, decision.errors.len()),
        (false, vec!["guard".to_owned()], 1)
    );
    // The set is valid and the request is validated; only the store lacks what the forbid looks at.
    let set = load("principal.role == \"lead\"").unwrap();
    let action = &set.actions["pay.send"];
    let asker = seat("lead");
    let input = json!({"host": "a"});
    let resource = Resource::Plugin("pay".into());
    let asked = Asked {
        seat: &asker,
        line: &[],
        tool: "pay.send",
        resource: &resource,
        plugin: "pay",
        input: &input,
        effect: EffectClass::External,
        origin_kind: OriginKind::Step,
        flow: Flow::Ok,
        integrity: Integrity::Trusted,
        account: AccountKind::None,
        account_of: String::new(),
        approved: false,
        granted_text: Vec::new(),
    };
    let (request, entities) = set.request(&asked, action).unwrap();
    let with = judge(&set.authorizer, &request, &action.for_all, &entities);
    let without = judge(&set.authorizer, &request, &action.for_all, &Entities::empty());
    assert_eq!((with.allowed, with.errors.len()), (false, 0), "the forbid sees the role");
    assert_eq!((without.allowed, without.errors.len()), (false, 1), "and errs where it cannot");
}

mod fuzz {
    //! Whatever is malformed: nothing allows, nothing panics.

    use super::super::tests::{ids, load_files, shipped_texts, text, tool, tools, wish};
    use super::super::{Case, PolicySet, outlines};
    use crate::catalogue::{EffectClass, Touches};
    use proptest::prelude::*;
    use serde_json::Value;

    /// Bits of policies, in any order.
    fn soup() -> impl Strategy<Value = String> {
        let bit = proptest::sample::select(vec![
            "permit",
            "forbid",
            "(",
            ")",
            "{",
            "}",
            "[",
            "]",
            ";",
            ",",
            "@id(\"a\")",
            "@id(\"b\")",
            "@id(\"\")",
            "principal",
            "action",
            "resource",
            "context",
            "==",
            "in",
            "is",
            "has",
            "like",
            "&&",
            "||",
            "!",
            "if",
            "then",
            "else",
            "when",
            "unless",
            "true",
            "false",
            "1",
            "-",
            "*",
            "9223372036854775807",
            "\"",
            "\"x\"",
            "Role::\"a\"",
            "Action::\"web.fetch\"",
            ".",
            "?principal",
            "ip(\"x\")",
            "decimal(\"1.0\")",
            "//",
            "\n",
            "\u{0}",
            "é",
            "\\",
            "context.input",
            ".url",
            "contains",
        ]);
        proptest::collection::vec(bit, 0..40).prop_map(|bits| bits.join(" "))
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-z_]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = proptest::sample::select(vec![
                "type",
                "properties",
                "required",
                "items",
                "additionalProperties",
                "enum",
                "url",
                "$ref",
                "anyOf",
                "__entity",
                "__extn",
                "id",
                "fn",
                "arg",
            ]);
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(key, inner, 0..4).prop_map(|members| {
                    Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn bits_of_policies_do_not_panic_and_do_not_undo_a_no(bits in soup()) {
            let forbid = "@id(\"no\") forbid (principal, action, resource);";
            let files = [text("a.cedar", &bits), text("b.cedar", forbid)];
            if let Ok(set) = load_files(&files) {
                prop_assert!(!wish("https://a.example", true).put(&set).allowed);
            }
            let _ = outlines(&files);
        }

        #[test]
        fn a_policy_cut_anywhere_allows_no_more_than_the_whole(cut in any::<proptest::sample::Index>()) {
            let whole = shipped_texts();
            let seat = whole.iter().find(|file| file.name == "seat.cedar").unwrap();
            let at = (0..=cut.index(seat.text.len())).rev().find(|at| seat.text.is_char_boundary(*at)).unwrap();
            let files: Vec<_> = whole.iter().map(|file| {
                if file.name == "seat.cedar" { text("seat.cedar", &seat.text[..at]) } else { file.clone() }
            }).collect();
            if let Ok(set) = load_files(&files) {
                prop_assert!(!wish("https://a.example", false).put(&set).allowed);
                prop_assert!(set.outlines().all(|one| whole.iter().any(|file| file.text.contains(&one.id))));
            }
        }

        #[test]
        fn whatever_a_tool_calls_its_schema_its_arguments_are_asked_or_denied(
            schema in json_value(), input in json_value(), name in "\\PC{0,12}",
        ) {
            let mut all = tools();
            let odd = format!("odd.{name}");
            all.push(tool(&odd, EffectClass::Write, Touches::Plugin, schema));
            let Ok(set) = PolicySet::load(&shipped_texts(), &all, &[], &ids(&[])) else { return Ok(()) };
            let mut question = wish("", true).question();
            question.tool = odd;
            question.plugin = "odd".to_owned();
            question.resource = crate::catalogue::Resource::Plugin("odd".to_owned());
            question.input = input;
            prop_assert!(!question.decided_by(&set).allowed, "no policy speaks of it");
            let _ = question.explained_by(&set);
        }

        #[test]
        fn whatever_stands_in_a_case_it_is_read_or_named(body in json_value(), folder in "(cases/)?(ALLOW|DENY|x)/a.json") {
            if let Err(error) = Case::parse(&folder, &body.to_string()) {
                prop_assert!(error.to_string().contains(&folder));
            }
            let files = [text("a.cedar", ""), text(&folder, &body.to_string())];
            prop_assert!(load_files(&files).is_err(), "no such case can hold");
        }
    }
}
