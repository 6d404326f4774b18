//! Requests made up to find out where two sets differ: every role with every tool that a differing policy speaks of,
//! and every fact that a policy of either set speaks of, in every state.
//!
//! Always holds: the same sets give the same requests in the same order; names, texts and numbers that the policies
//! compare with are among the arguments, each at its place in turn; a tool of which both sets say the same is left out,
//! as both decide it alike. Deliberately absent: proof. Where the product is larger than what was asked for, it is
//! walked in equal strides.

use super::PolicySet;
use super::question::Question;
use super::text::Read;
use crate::account::AccountKind;
use crate::catalogue::{EffectClass, Resource};
use crate::entities::{Flow, OriginKind};
use crate::schema::{APPROVE, Field, Scalar, Shape, Touched};
use event::{Integrity, SeatCreated, SeatId};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The most requests made up for one comparison: some seconds of work.
pub const QUESTIONS_MAX: usize = 20_000;
/// The most askers, resources and arguments of one tool that are tried: beyond this the product explodes.
const EACH_MAX: usize = 24;
/// What stands for a text, and for a name that no policy knows.
const SAMPLE: &str = "sample";

/// Requests that `old` and `new`, loaded for the same tools, may answer differently, at most `most`; `seats` are those
/// of the office.
#[must_use]
pub fn questions(old: &PolicySet, new: &PolicySet, seats: &[SeatCreated], most: usize) -> Vec<Question> {
    let words = Words::of(&[old, new]);
    let differ = differing(old, new);
    let askers = askers(&words, seats);
    let facts = facts(&words);
    let mut shapes = Vec::new();
    for (tool, action) in
        old.actions.iter().filter(|(tool, _)| differ.iter().any(|read| read.speaks_of(tool)))
    {
        let resources = resources(old, tool, action.touches, &words);
        let inputs = old.generated.inputs.get(tool).map(|shape| inputs(shape, &words)).unwrap_or_default();
        shapes.push((tool, resources, inputs));
    }
    let product = |(_, resources, inputs): &(&String, Vec<(String, Resource)>, Vec<Value>)| {
        resources.len() * inputs.len() * askers.len() * facts.len()
    };
    let all: usize = shapes.iter().map(product).sum();
    let picked: Vec<usize> = strides(all, most).collect();
    let mut made = Vec::with_capacity(picked.len());
    for index in picked {
        let mut index = index;
        for shape in &shapes {
            let here = product(shape);
            if index < here {
                made.extend(question(shape, &askers, &facts, index));
                break;
            }
            index -= here;
        }
    }
    made
}

fn question(
    (tool, resources, inputs): &(&String, Vec<(String, Resource)>, Vec<Value>),
    askers: &[(SeatCreated, Vec<SeatCreated>)],
    facts: &[Facts],
    index: usize,
) -> Option<Question> {
    let (facts, index) = (facts.get(index % facts.len())?, index / facts.len());
    let ((seat, line), index) = (askers.get(index % askers.len())?, index / askers.len());
    let ((plugin, resource), index) = (resources.get(index % resources.len())?, index / resources.len());
    let input = inputs.get(index)?;
    Some(Question {
        seat: seat.clone(),
        line: line.clone(),
        tool: (*tool).clone(),
        resource: resource.clone(),
        plugin: plugin.clone(),
        input: input.clone(),
        effect: facts.effect,
        origin_kind: facts.origin_kind,
        flow: facts.flow,
        integrity: facts.integrity,
        account: facts.account,
        account_of: facts.account_of.clone(),
        approved: facts.approved,
        granted_text: Vec::new(),
    })
}

/// The policies that one of the two sets evaluates and the other does not, or not so.
fn differing<'a>(old: &'a PolicySet, new: &'a PolicySet) -> Vec<&'a Read> {
    let counts = |set: &'a PolicySet| {
        let all = set.read.iter().filter(|read| !set.revoked.contains(&read.outline.id));
        all.map(|read| ((read.outline.id.as_str(), &read.written), read)).collect::<Vec<_>>()
    };
    let (before, after) = (counts(old), counts(new));
    let lacks = |others: &[((&str, &Value), &Read)], one: &(&str, &Value)| {
        others.iter().all(|(other, _)| other != one)
    };
    let gone = before.iter().filter(|(one, _)| lacks(&after, one));
    let come = after.iter().filter(|(one, _)| lacks(&before, one));
    gone.chain(come).map(|(_, read)| *read).collect()
}

/// At most `most` of the numbers below `all`, each once, spread over all of them.
fn strides(all: usize, most: usize) -> impl Iterator<Item = usize> {
    // The golden section spreads evenly. A step that shares a factor with `all` would leave whole roles out.
    let golden = (all as f64 * 0.618_033_988_749_895) as usize;
    let step = if all <= most { 1 } else { (golden.max(1)..).find(|step| gcd(*step, all) == 1).unwrap_or(1) };
    (0..all.min(most)).scan(0_usize, move |at, _| {
        let index = *at;
        *at = (*at + step) % all.max(1);
        Some(index)
    })
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What the host states beside the arguments.
#[derive(Clone)]
struct Facts {
    effect: EffectClass,
    origin_kind: OriginKind,
    flow: Flow,
    integrity: Integrity,
    account: AccountKind,
    account_of: String,
    approved: bool,
}

fn facts(words: &Words) -> Vec<Facts> {
    let speaks = |word: &str| words.texts.iter().any(|text| text.contains(word));
    let effects = if speaks("effect") { &EffectClass::ALL[..] } else { &[EffectClass::External] };
    let kinds =
        if speaks("origin_kind") { &[OriginKind::Step, OriginKind::Duty][..] } else { &[OriginKind::Step] };
    let flows = if speaks("flow") {
        &[Flow::Ok, Flow::Violates, Flow::Disclosed, Flow::Unknown][..]
    } else {
        &[Flow::Unknown]
    };
    let integrities = if speaks("integrity") {
        &[Integrity::Trusted, Integrity::Untrusted, Integrity::Unknown][..]
    } else {
        &[Integrity::Unknown]
    };
    let approvals = if speaks("approved") { &[false, true][..] } else { &[false] };
    let accounts = accounts(words, speaks("account"));
    let mut all = Vec::new();
    for effect in effects {
        for origin_kind in kinds {
            for flow in flows {
                for integrity in integrities {
                    let each = accounts.iter().flat_map(|one| approvals.iter().map(move |yes| (one, *yes)));
                    all.extend(each.map(|((account, account_of), approved)| Facts {
                        effect: *effect,
                        origin_kind: *origin_kind,
                        flow: *flow,
                        integrity: *integrity,
                        account: *account,
                        account_of: account_of.clone(),
                        approved,
                    }));
                }
            }
        }
    }
    all
}

/// The accounts a call may be made with: each kind, and of persons those that are named and one that is not.
fn accounts(words: &Words, spoken_of: bool) -> Vec<(AccountKind, String)> {
    let mut all = vec![(AccountKind::None, String::new())];
    if spoken_of {
        all.push((AccountKind::Organisation, String::new()));
        let named = words.strings.iter().filter(|text| text.starts_with("person_")).take(EACH_MAX).cloned();
        all.extend(named.chain([SOMEBODY.to_owned()]).map(|person| (AccountKind::Personal, person)));
    }
    all
}

/// A person whom no policy names.
const SOMEBODY: &str = "person_nobody-named";

/// What the policies of all sets speak of.
#[derive(Default)]
struct Words {
    texts: Vec<String>,
    /// Entities that are named, as type and id.
    entities: BTreeSet<(String, String)>,
    strings: BTreeSet<String>,
    numbers: BTreeSet<i64>,
}

impl Words {
    fn of(sets: &[&PolicySet]) -> Self {
        let mut words = Self::default();
        for read in sets.iter().flat_map(|set| set.read.iter()) {
            words.add(read);
        }
        words
    }

    fn add(&mut self, read: &Read) {
        let named = read.policy.entity_literals();
        self.entities
            .extend(named.iter().map(|uid| (uid.type_name().to_string(), uid.id().unescaped().to_owned())));
        self.texts.push(read.policy.to_cedar().unwrap_or_default());
        if let Some(conditions) = read.written.get("conditions") {
            self.literals(conditions);
        }
    }

    fn literals(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                match members.get("Value") {
                    Some(Value::String(text)) => _ = self.strings.insert(text.clone()),
                    Some(Value::Number(number)) => {
                        let around = number.as_i64().into_iter();
                        self.numbers
                            .extend(around.flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]));
                    }
                    _ => {}
                }
                if let Some(Value::Array(pattern)) = members.get("pattern") {
                    self.strings.insert(matching(pattern));
                }
                members.values().for_each(|member| self.literals(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.literals(item)),
            _ => {}
        }
    }

    fn named(&self, kind: &str) -> Vec<String> {
        let of_kind = self.entities.iter().filter(|(of, _)| of == kind);
        of_kind.map(|(_, id)| id.clone()).take(EACH_MAX).collect()
    }
}

/// A text that a pattern matches.
fn matching(pattern: &[Value]) -> String {
    let part = |part: &Value| part.get("Literal").and_then(Value::as_str).unwrap_or(SAMPLE).to_owned();
    pattern.iter().map(part).collect()
}

fn askers(words: &Words, seats: &[SeatCreated]) -> Vec<(SeatCreated, Vec<SeatCreated>)> {
    let mut roles: BTreeSet<String> = words.named("Role").into_iter().collect();
    roles.extend(seats.iter().map(|seat| seat.role.clone()));
    roles.insert("nobody".to_owned());
    let mut departments: Vec<Option<String>> = vec![None];
    departments.extend(words.named("Department").into_iter().map(Some));
    let named: Vec<SeatId> = words.named("Seat").iter().filter_map(|id| SeatId::parse(id).ok()).collect();
    let mut all = Vec::new();
    let Ok(sample) = SeatId::parse("seat_sample") else { return all };
    for role in &roles {
        for department in &departments {
            all.push((created(&sample, role, department.clone(), None), Vec::new()));
        }
        for seat in &named {
            all.push((created(seat, role, None, None), Vec::new()));
            let above = created(seat, "nobody", None, None);
            all.push((created(&sample, role, None, Some(seat.clone())), vec![above]));
        }
    }
    all.truncate(EACH_MAX * 4);
    all
}

fn created(seat: &SeatId, role: &str, department: Option<String>, line: Option<SeatId>) -> SeatCreated {
    SeatCreated {
        seat: seat.clone(),
        role: role.to_owned(),
        department,
        line,
        grants: Vec::new(),
        accountabilities: Vec::new(),
        stands_in: None,
    }
}

fn resources(set: &PolicySet, tool: &str, kind: Touched, words: &Words) -> Vec<(String, Resource)> {
    let plugin = set.actions.get(tool).and_then(|action| action.plugin.clone()).unwrap_or_default();
    let ids = |kind: &str, sample: &str| {
        let mut ids = words.named(kind);
        ids.push(sample.to_owned());
        ids
    };
    let plugins = || {
        let mut plugins: BTreeSet<String> =
            set.actions.values().filter_map(|action| action.plugin.clone()).collect();
        plugins.extend(set.models.values().cloned());
        plugins
    };
    match kind {
        Touched::Origin => {
            let each = ids("Origin", "https://sample.example").into_iter();
            let both = each.flat_map(|origin| {
                [true, false].map(|granted| Resource::Origin { origin: origin.clone(), granted })
            });
            both.map(|origin| (plugin.clone(), origin)).take(EACH_MAX).collect()
        }
        Touched::Destination => ids("Destination", SAMPLE)
            .into_iter()
            .map(|id| (plugin.clone(), Resource::Destination(id)))
            .take(EACH_MAX)
            .collect(),
        Touched::Model => {
            let known = set.models.iter().take(EACH_MAX);
            known.map(|(name, plugin)| (plugin.clone(), Resource::Model(name.clone()))).collect()
        }
        Touched::Plugin if tool == APPROVE => {
            plugins().into_iter().map(|name| (name.clone(), Resource::Plugin(name))).take(EACH_MAX).collect()
        }
        Touched::Plugin => vec![(plugin.clone(), Resource::Plugin(plugin))],
    }
}

/// Arguments: one of the least, one with everything, and each member varied alone.
fn inputs(shape: &Shape, words: &Words) -> Vec<Value> {
    let Shape::Record(fields) = shape else { return vec![json!({})] };
    let least = record(fields, false);
    let most = record(fields, true);
    let mut all = vec![Value::Object(least.clone())];
    if most != least {
        all.push(Value::Object(most.clone()));
    }
    for (name, field) in fields {
        for value in values(&field.shape, words) {
            let mut varied = least.clone();
            varied.insert(name.clone(), value);
            all.push(Value::Object(varied));
        }
    }
    all.dedup();
    all.truncate(EACH_MAX);
    all
}

fn record(fields: &std::collections::BTreeMap<String, Field>, optional: bool) -> Map<String, Value> {
    let wanted = fields.iter().filter(|(_, field)| optional || field.required);
    wanted.map(|(name, field)| (name.clone(), sample(&field.shape))).collect()
}

fn sample(shape: &Shape) -> Value {
    match shape {
        Shape::One(Scalar::Text) => json!(SAMPLE),
        Shape::One(Scalar::Whole) => json!(0),
        Shape::One(Scalar::Truth) => json!(false),
        Shape::Set(scalar) => json!([sample(&Shape::One(*scalar))]),
        Shape::Record(fields) => Value::Object(record(fields, true)),
    }
}

fn values(shape: &Shape, words: &Words) -> Vec<Value> {
    match shape {
        Shape::One(Scalar::Text) => words.strings.iter().map(|text| json!(text)).take(EACH_MAX).collect(),
        Shape::One(Scalar::Whole) => {
            let ends = [i64::MIN, i64::MAX];
            words.numbers.iter().copied().take(EACH_MAX).chain(ends).map(|n| json!(n)).collect()
        }
        Shape::One(Scalar::Truth) => vec![json!(true)],
        Shape::Set(Scalar::Text) => {
            let each = words.strings.iter().map(|text| json!([text])).take(EACH_MAX);
            each.chain([json!([])]).collect()
        }
        Shape::Set(_) => vec![json!([])],
        Shape::Record(fields) => {
            let inner = fields.iter().flat_map(|(name, field)| {
                values(&field.shape, words).into_iter().map(move |value| {
                    let mut varied = record(fields, false);
                    varied.insert(name.clone(), value);
                    Value::Object(varied)
                })
            });
            inner.take(EACH_MAX).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::strides;
    use std::collections::BTreeSet;

    #[test]
    fn a_walk_in_strides_meets_each_place_once_and_every_remainder() {
        for (all, most) in [(0, 5), (7, 10), (360, 100), (72 * 5 * 60, 2_000), (1_000_003, 500)] {
            let met: Vec<usize> = strides(all, most).collect();
            assert_eq!(met.len(), all.min(most));
            assert_eq!(met.iter().collect::<BTreeSet<_>>().len(), met.len(), "{all}");
            assert!(met.iter().all(|index| *index < all));
            if most > 500 {
                assert_eq!(met.iter().map(|index| index % 360).collect::<BTreeSet<_>>().len(), 360);
            }
        }
    }
}
