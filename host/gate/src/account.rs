//! Whose account a call uses, and whether what was read with somebody's is about to be told to others.
//!
//! Always holds: a person's account is used only for a call that this person asked for, by a seat that they let use it;
//! what was read with it is theirs, whatever it is read together with, and goes nowhere but to them unless they said
//! where else. Deliberately absent: what opens an account (`vault`), and whether a call may use one (policy).

use crate::admit::component;
use crate::call::{Call, Payload};
use crate::catalogue::{Catalogue, EffectClass, Resource};
use crate::entities::Flow;
use event::{
    AccountConnected, Audience, DisclosureSet, PrincipalId, PrincipalKind, Route, account_reference,
};
use fold::Projection;
use fold::setting::{self, Settings};
use record::{RowKey, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// What a call would be made with, as policies name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// Nothing: it needs no account.
    None,
    /// What the organisation has.
    Organisation,
    /// An account of the person who asked.
    Personal,
}

impl AccountKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Organisation, Self::Personal];

    /// The word policies use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Organisation => "organisation",
            Self::Personal => "personal",
        }
    }
}

/// The accounts that one call may use, and where what is theirs may be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Owners by credential, where somebody connected an account.
    accounts: BTreeMap<String, PrincipalId>,
    /// Destinations by person.
    disclosed: BTreeMap<PrincipalId, BTreeSet<String>>,
}

impl Own {
    /// Where the rows are that say so.
    pub(crate) fn places(call: &Call, catalogue: &dyn Catalogue) -> Vec<RowKey> {
        let owners: Vec<PrincipalId> = candidates(call).collect();
        let of_one = |credential: &String| -> Vec<String> {
            owners.iter().map(|owner| setting::account(credential, owner)).collect()
        };
        let accounts = credentials(call, catalogue);
        let accounts = accounts.iter().flat_map(of_one);
        let disclosures = persons(call).into_iter().map(|owner| setting::disclosure(&owner));
        accounts.chain(disclosures).map(|key| RowKey::new(Settings.name(), key)).collect()
    }

    /// What the rows say.
    pub(crate) fn of(call: &Call, catalogue: &dyn Catalogue, rows: &Rows) -> Self {
        let mut own = Self::default();
        for credential in credentials(call, catalogue) {
            let connected = candidates(call).find(|owner| {
                let row: Option<AccountConnected> =
                    rows.state(Settings.name(), &setting::account(&credential, owner));
                row.is_some_and(|row| row.seats.is_empty() || row.seats.contains(&call.seat))
            });
            if let Some(owner) = connected {
                own.accounts.insert(credential, owner);
            }
        }
        for owner in persons(call) {
            let row: Option<DisclosureSet> = rows.state(Settings.name(), &setting::disclosure(&owner));
            if let Some(row) = row {
                own.disclosed.insert(owner, row.destinations);
            }
        }
        own
    }

    /// The person whose account the call would use, if it would use one.
    #[must_use]
    pub fn person(&self) -> Option<&PrincipalId> {
        self.accounts.values().find(|owner| owner.kind() == PrincipalKind::Person)
    }

    /// What a call on `routes` would be made with.
    #[must_use]
    pub fn kind(&self, routes: &[Route]) -> AccountKind {
        match self.person() {
            Some(_) => AccountKind::Personal,
            None if routes.iter().any(|route| route.credential.is_some()) => AccountKind::Organisation,
            None => AccountKind::None,
        }
    }

    /// The same routes, each with the account that it uses.
    pub(crate) fn on(&self, mut routes: Vec<Route>) -> Vec<Route> {
        for credential in routes.iter_mut().filter_map(|route| route.credential.as_mut()) {
            if let Some(owner) = self.accounts.get(credential.as_str()) {
                *credential = account_reference(credential, owner);
            }
        }
        routes
    }

    /// Whether the call would tell somebody what was read with another's account. What else flow would have to know is
    /// not known.
    pub(crate) fn flow(&self, call: &Call, resource: &Resource, effect: EffectClass) -> Flow {
        let owners = persons(call);
        if owners.is_empty() || !effect.is_effect() {
            return Flow::Unknown;
        }
        let to = resource.text();
        let is_draft_of = |owner: &PrincipalId| effect == EffectClass::Draft && self.person() == Some(owner);
        let disclosed =
            |owner: &PrincipalId| self.disclosed.get(owner).is_some_and(|known| known.contains(to));
        let is_told = |owner: &PrincipalId| {
            is_draft_of(owner)
                || disclosed(owner)
                // What the host does by itself for what was done there, such as showing a card, asks for nobody.
                || (call.asker.as_ref().is_none_or(|asker| asker == owner) && is_own_place(call, resource))
        };
        if owners.iter().all(is_told) { Flow::Unknown } else { Flow::Violates }
    }
}

/// Whether this is where the person who asked speaks with the office alone: the one such place of all that was read.
fn is_own_place(call: &Call, resource: &Resource) -> bool {
    let Resource::Destination(to) = resource else { return false };
    let to = to.rsplit(':').next().unwrap_or(to);
    let places: Vec<&str> = call
        .label
        .readers
        .audiences()
        .into_iter()
        .flatten()
        .filter(|audience| audience.is_of_one())
        .filter_map(|audience| match audience {
            Audience::Terminal(session) => Some(session.as_str()),
            Audience::SlackChannel { channel, .. } => Some(channel.as_str()),
            Audience::Principal(_) | Audience::Operators => None,
        })
        .collect();
    !places.is_empty() && places.iter().all(|place| *place == to)
}

/// The persons with whose accounts something was read that the call may repeat.
fn persons(call: &Call) -> BTreeSet<PrincipalId> {
    let audiences = call.label.readers.audiences().into_iter().flatten();
    let person = |audience: &Audience| match audience {
        Audience::Principal(owner) if owner.kind() == PrincipalKind::Person => Some(owner.clone()),
        _ => None,
    };
    audiences.filter_map(person).collect()
}

/// Who may own the account that the call uses, in order: who asked, then the organisation.
fn candidates(call: &Call) -> impl Iterator<Item = PrincipalId> {
    let asker = call.asker.clone().filter(|asker| asker.kind() == PrincipalKind::Person);
    asker.into_iter().chain([PrincipalId::organisation()])
}

/// The credentials that routes of the called plugin name, each once. A model is asked with what the organisation has: it
/// is told what the office read, and what it answers is nobody's own.
fn credentials(call: &Call, catalogue: &dyn Catalogue) -> BTreeSet<String> {
    if matches!(call.payload, Payload::Infer(_)) {
        return BTreeSet::new();
    }
    let Some((plugin, _)) = component(call, catalogue) else { return BTreeSet::new() };
    catalogue.routes(&plugin).into_iter().filter_map(|route| route.credential).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use event::{EventId, Integrity, Label, SeatId};
    use serde_json::json;

    fn person(name: &str) -> PrincipalId {
        PrincipalId::parse(&format!("person_{name}")).unwrap()
    }

    fn call(asker: Option<&str>, audiences: &[Audience]) -> Call {
        let seat = SeatId::parse("seat_a").unwrap();
        let event = EventId::derived(&["a"]);
        let label = audiences
            .iter()
            .map(|audience| Label::within(audience.clone(), Integrity::Untrusted))
            .fold(Label::join_all([]), |all, one| all.join(&one));
        Call {
            asker: asker.map(person),
            label,
            ..Call::duty(seat, (&event, "x", 1), "slack.post", Payload::Tool(json!({})))
        }
    }

    fn channel(name: &str) -> Audience {
        Audience::SlackChannel { team: "T1".to_owned(), channel: name.to_owned() }
    }

    fn to(text: &str) -> Resource {
        Resource::Destination(text.to_owned())
    }

    #[test]
    fn what_is_ones_own_goes_to_oneself_alone_unless_one_said_where_else() {
        let own = Own {
            disclosed: BTreeMap::from([(person("bob"), BTreeSet::from(["C2".to_owned()]))]),
            ..Own::default()
        };
        let (alice, bob) = (Audience::Principal(person("alice")), Audience::Principal(person("bob")));
        for (asker, audiences, destination, violates) in [
            (Some("alice"), vec![channel("C1")], "C1", false),
            (Some("alice"), vec![channel("C1"), alice.clone()], "C1", true),
            (Some("alice"), vec![channel("D1"), alice.clone()], "D1", false),
            (Some("alice"), vec![channel("D1"), alice.clone()], "T1:D1", false),
            (Some("alice"), vec![channel("D1"), alice.clone()], "D2", true),
            (Some("alice"), vec![channel("D1"), channel("D2"), alice.clone()], "D2", true),
            (Some("bob"), vec![channel("D1"), alice.clone()], "D1", true),
            (None, vec![channel("D1"), alice.clone()], "D1", false),
            (None, vec![channel("C1"), alice.clone()], "C1", true),
            (Some("alice"), vec![Audience::Terminal("main".to_owned()), alice.clone()], "main", false),
            (Some("bob"), vec![channel("C2"), bob.clone()], "C2", false),
            (Some("bob"), vec![channel("C2"), bob.clone(), alice.clone()], "C2", true),
        ] {
            let flow = own.flow(&call(asker, &audiences), &to(destination), EffectClass::External);
            assert_eq!(flow == Flow::Violates, violates, "{asker:?} {audiences:?} {destination}");
        }
    }

    #[test]
    fn reading_something_unknown_beside_it_makes_it_no_less_ones_own() {
        let mut mixed = call(Some("alice"), &[channel("C1"), Audience::Principal(person("alice"))]);
        mixed.label = mixed.label.join(&Label::unknown());
        assert_eq!(Own::default().flow(&mixed, &to("C1"), EffectClass::External), Flow::Violates);
        let mut direct = call(Some("alice"), &[channel("D1"), Audience::Principal(person("alice"))]);
        direct.label = direct.label.join(&Label::unknown());
        assert_eq!(Own::default().flow(&direct, &to("D1"), EffectClass::External), Flow::Unknown);
    }

    #[test]
    fn a_draft_in_ones_own_mailbox_tells_nobody() {
        let own =
            Own { accounts: BTreeMap::from([("mail.token".to_owned(), person("alice"))]), ..Own::default() };
        let read = call(Some("alice"), &[channel("C1"), Audience::Principal(person("alice"))]);
        assert_eq!(own.flow(&read, &to("bob@example.com"), EffectClass::Draft), Flow::Unknown);
        assert_eq!(own.flow(&read, &to("bob@example.com"), EffectClass::External), Flow::Violates);
        let both =
            call(Some("alice"), &[Audience::Principal(person("bob")), Audience::Principal(person("alice"))]);
        assert_eq!(own.flow(&both, &to("bob@example.com"), EffectClass::Draft), Flow::Violates);
    }

    #[test]
    fn a_route_names_the_account_it_uses() {
        let own =
            Own { accounts: BTreeMap::from([("mail.token".to_owned(), person("alice"))]), ..Own::default() };
        let route = |credential: Option<&str>| Route {
            methods: vec!["GET".to_owned()],
            origin: "https://a.example".to_owned(),
            path: event::RoutePath::every(),
            credential: credential.map(str::to_owned),
        };
        let routes = own.on(vec![route(Some("mail.token")), route(Some("other.token")), route(None)]);
        let named: Vec<Option<&str>> = routes.iter().map(|route| route.credential.as_deref()).collect();
        assert_eq!(named, [Some("mail.token@person_alice"), Some("other.token"), None]);
        assert_eq!(own.kind(&routes), AccountKind::Personal);
        assert_eq!(Own::default().kind(&[route(Some("x"))]), AccountKind::Organisation);
        assert_eq!(Own::default().kind(&[route(None)]), AccountKind::None);
    }
}
