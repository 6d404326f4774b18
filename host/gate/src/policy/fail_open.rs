//! Cedar skips a policy whose evaluation errs, so a forbid that errs would not forbid. Here every known way to
//! make one err must end in a no: those that strict validation cannot see, and those that it can, evaluated
//! without it.

use super::tests::{seat, text, tool};
use super::{Answer, Asked, Decision, Flow, OriginKind, PolicyError, PolicySet, judge};
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
