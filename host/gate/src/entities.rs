//! One request as policies see it: who asks, what is touched, and what stands above them.
//!
//! Always holds: every entity of a request is in its store, with everything it is in, before a policy is
//! evaluated. An entity that is missing makes a policy err, and Cedar skips a policy that errs, so a forbid
//! would not forbid. What cannot be built whole is not asked at all ([`CannotAsk`]), which is a no.
//! Deliberately absent: JSON. Entities and contexts are built value by value, so that no argument can become
//! an entity (`{"__entity": …}` would).

use crate::account::AccountKind;
use crate::catalogue::{EffectClass, Resource};
use cedar_policy::{Entities, Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression, Schema};
use event::{Integrity, Origin, SeatCreated};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

pub use fold::authority::LINE_SEATS_MAX;

/// One call, as it is put to the policies. The host states all of it; of the model's making are only the
/// arguments.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Who asks.
    pub seat: &'a SeatCreated,
    /// The seats above it, nearest first: all of them, or the call is denied.
    pub line: &'a [&'a SeatCreated],
    /// The tool, or [`crate::schema::INFER`].
    pub tool: &'a str,
    /// What it touches.
    pub resource: &'a Resource,
    /// The plugin that offers the tool or model.
    pub plugin: &'a str,
    /// The arguments, as [`crate::Call::input`] has them.
    pub input: &'a Value,
    /// What the tool may do outside.
    pub effect: EffectClass,
    /// What the call is made for.
    pub origin_kind: OriginKind,
    /// What flow found.
    pub flow: Flow,
    /// The integrity of what the asker has read.
    pub integrity: Integrity,
    /// What it would be made with.
    pub account: AccountKind,
    /// The person whose account that is; empty when it is nobody's.
    pub account_of: String,
    /// Whether a person said yes to exactly this call.
    pub approved: bool,
    /// The origins the operator granted the plugin, for the reason of a no. Decides nothing.
    pub granted_text: Vec<String>,
}

/// What a call is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// A step of a turn.
    Step,
    /// Something the host does for an event, outside any turn.
    Duty,
}

impl OriginKind {
    /// The word policies use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Duty => "duty",
        }
    }
}

impl From<&Origin> for OriginKind {
    fn from(origin: &Origin) -> Self {
        match origin {
            Origin::Step { .. } => Self::Step,
            Origin::Duty { .. } => Self::Duty,
            Origin::Child { of, .. } => Self::from(of.as_ref()),
        }
    }
}

/// Whether every reader of where a call sends to may read all it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// Each of them may.
    Ok,
    /// One of them may not.
    Violates,
    /// One of them may not, and whoever it was read for said yes to this very call.
    Disclosed,
    /// It could not be told. Never the same as [`Flow::Ok`].
    Unknown,
}

impl Flow {
    /// The word policies use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Violates => "violates",
            Self::Disclosed => "disclosed",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a call cannot be put to the policies at all. Always a no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotAsk(pub(crate) String);

/// Names `id` of entity type `kind`. The types are words of this crate, so only a fault of the host fails here.
pub(crate) fn uid(kind: &str, id: &str) -> Result<EntityUid, CannotAsk> {
    let kind: EntityTypeName = kind.parse().map_err(|_| CannotAsk(format!("`{kind}` is no entity type")))?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}

/// Who asks, what is touched, and the store in which both stand with everything they are in.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) principal: EntityUid,
    pub(crate) resource: EntityUid,
    pub(crate) entities: Entities,
}

/// Builds the store for exactly this request on top of `action`, which holds the action and nothing else.
///
/// # Errors
/// When the line is not whole, or an entity does not fit the schema.
pub(crate) fn store(asked: &Asked<'_>, action: &Entities, schema: &Schema) -> Result<Store, CannotAsk> {
    let mut all = line_entities(asked)?;
    let (principal, seat) = seat_entities(asked, &all)?;
    all.extend(seat);
    let (resource, touched) = resource_entities(asked.resource, asked.plugin)?;
    all.extend(touched);
    let named: Vec<EntityUid> = all.iter().map(Entity::uid).collect();
    let entities = action.clone().add_entities(all, Some(schema)).map_err(|e| CannotAsk(e.to_string()))?;
    match named.iter().find_map(|uid| missing(&entities, uid)) {
        Some(uid) => Err(CannotAsk(format!("`{uid}` is not in the store"))),
        None => Ok(Store { principal, resource, entities }),
    }
}

/// The first of `uid` and what it is in that the store lacks.
fn missing(entities: &Entities, uid: &EntityUid) -> Option<EntityUid> {
    if entities.get(uid).is_none() {
        return Some(uid.clone());
    }
    entities.ancestors(uid)?.find(|above| entities.get(above).is_none()).cloned()
}

/// The seats above the asker. They stand in nothing: were they in their roles, everyone below would be too.
fn line_entities(asked: &Asked<'_>) -> Result<Vec<Entity>, CannotAsk> {
    if asked.line.len() > LINE_SEATS_MAX {
        return Err(CannotAsk(format!("more than {LINE_SEATS_MAX} seats stand above `{}`", asked.seat.seat)));
    }
    let mut next = asked.seat.line.as_ref();
    let mut line = Vec::with_capacity(asked.line.len());
    for above in asked.line {
        if next != Some(&above.seat) {
            return Err(CannotAsk(format!(
                "`{}` is not the next in the line of `{}`",
                above.seat, asked.seat.seat
            )));
        }
        line.push(seat(above, HashSet::new())?);
        next = above.line.as_ref();
    }
    match next {
        Some(absent) => {
            Err(CannotAsk(format!("`{absent}` in the line of `{}` is not known", asked.seat.seat)))
        }
        None => Ok(line),
    }
}

fn seat_entities(asked: &Asked<'_>, line: &[Entity]) -> Result<(EntityUid, Vec<Entity>), CannotAsk> {
    let role = uid("Role", &asked.seat.role)?;
    let department = asked.seat.department.as_ref().map(|name| uid("Department", name)).transpose()?;
    let mut parents: HashSet<EntityUid> = line.iter().map(Entity::uid).collect();
    parents.insert(role.clone());
    parents.extend(department.clone());
    let seat = seat(asked.seat, parents)?;
    let above = std::iter::once(role).chain(department);
    let all = above.map(|uid| Entity::new_no_attrs(uid, HashSet::new())).chain([seat.clone()]).collect();
    Ok((seat.uid(), all))
}

fn seat(seat: &SeatCreated, parents: HashSet<EntityUid>) -> Result<Entity, CannotAsk> {
    let role = RestrictedExpression::new_string(seat.role.clone());
    let attributes = HashMap::from([("role".to_owned(), role)]);
    Entity::new(uid("Seat", seat.seat.as_str())?, attributes, parents).map_err(|e| CannotAsk(e.to_string()))
}

fn resource_entities(resource: &Resource, plugin: &str) -> Result<(EntityUid, Vec<Entity>), CannotAsk> {
    let above = uid("Plugin", plugin)?;
    let plugin_entity = Entity::new_no_attrs(above.clone(), HashSet::new());
    let kind = match resource {
        Resource::Origin { .. } => "Origin",
        Resource::Destination(_) => "Destination",
        Resource::Model(_) => "Model",
        Resource::Plugin(name) if name == plugin => return Ok((above, vec![plugin_entity])),
        Resource::Plugin(name) => {
            return Err(CannotAsk(format!("the plugin `{plugin}` may not act on the plugin `{name}`")));
        }
    };
    let touched = uid(kind, resource.text())?;
    let entity = Entity::new_no_attrs(touched.clone(), HashSet::from([above]));
    Ok((touched, vec![plugin_entity, entity]))
}

#[cfg(test)]
mod tests {
    use super::{Asked, CannotAsk, Flow, OriginKind, Store, store, uid};
    use crate::account::AccountKind;
    use crate::catalogue::{EffectClass, Resource};
    use crate::schema;
    use cedar_policy::Entities;
    use event::{Integrity, SeatCreated, SeatId};
    use serde_json::Value;

    fn seat(id: &str, role: &str, line: Option<&str>) -> SeatCreated {
        SeatCreated {
            seat: SeatId::parse(id).unwrap(),
            role: role.into(),
            department: Some("research".into()),
            line: line.map(|id| SeatId::parse(id).unwrap()),
            grants: Vec::new(),
            accountabilities: Vec::new(),
            stands_in: None,
        }
    }

    fn build(asker: &SeatCreated, line: &[&SeatCreated], resource: &Resource) -> Result<Store, CannotAsk> {
        let asked = Asked {
            seat: asker,
            line,
            tool: schema::INFER,
            resource,
            plugin: "web",
            input: &Value::Null,
            effect: EffectClass::Read,
            origin_kind: OriginKind::Step,
            flow: Flow::Unknown,
            integrity: Integrity::Unknown,
            account: AccountKind::None,
            account_of: String::new(),
            approved: false,
            granted_text: Vec::new(),
        };
        store(&asked, &Entities::empty(), &schema::generate(&[]).unwrap().schema)
    }

    #[test]
    fn a_seat_is_in_its_role_its_department_and_its_whole_line_but_in_no_role_of_its_line() {
        let asker = seat("seat_a", "assistant", Some("seat_b"));
        let lead = seat("seat_b", "lead", Some("seat_c"));
        let head = seat("seat_c", "head", None);
        let origin = Resource::Origin { origin: "https://a.example".into(), granted: true };
        let built = build(&asker, &[&lead, &head], &origin).unwrap();
        let within =
            |kind: &str, id: &str| built.entities.is_ancestor_of(&uid(kind, id).unwrap(), &built.principal);
        for (kind, id) in
            [("Role", "assistant"), ("Department", "research"), ("Seat", "seat_b"), ("Seat", "seat_c")]
        {
            assert!(within(kind, id), "{kind} {id}");
        }
        assert!(!within("Role", "lead") && !within("Role", "head"));
        assert!(built.entities.is_ancestor_of(&uid("Plugin", "web").unwrap(), &built.resource));
    }

    #[test]
    fn a_line_with_a_gap_a_stranger_or_a_ring_is_not_asked() {
        let asker = seat("seat_a", "assistant", Some("seat_b"));
        let lead = seat("seat_b", "lead", Some("seat_c"));
        let ring = seat("seat_b", "lead", Some("seat_a"));
        let stranger = seat("seat_x", "lead", None);
        let model = Resource::Model("scripted/story".into());
        for line in
            [&[][..], &[&lead][..], &[&stranger][..], &[&ring, &asker][..], &[&ring, &asker, &ring][..]]
        {
            assert!(build(&asker, line, &model).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_plugin_acts_on_itself_alone() {
        let asker = seat("seat_a", "system", None);
        assert!(build(&asker, &[], &Resource::Plugin("web".into())).is_ok());
        assert!(build(&asker, &[], &Resource::Plugin("slack".into())).is_err());
    }
}
