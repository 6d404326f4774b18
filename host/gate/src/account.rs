//! Whose account a call uses, and whether what was read with somebody's is about to be told to others.
//!
//! Always holds: a person's account is used only for a call that this person asked for, and never for one that the office
//! makes unasked, by a seat that they let use it;
//! what was read with it is theirs, whatever it is read together with, and goes nowhere but to them unless they said
//! where else. Deliberately absent: what opens an account (`vault`), and whether a call may use one (policy).

use crate::admit::component;
use crate::call::{Call, Payload};
use crate::catalogue::{Catalogue, EffectClass, Resource};
use event::{
    AccountConnected, Audience, DisclosureSet, PrincipalId, PrincipalKind, Route, account_reference,
};
use fold::Projection;
use fold::disclosure::{DisclosureRow, Disclosures};
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

/// The account that a call would be made with if whoever asked for it had connected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The reference by which routes name it.
    pub credential: String,
    /// Where it is connected, as people call it.
    pub service: String,
    /// Who asked.
    pub owner: PrincipalId,
}

impl Lacking {
    /// What is missing and who can help it, for a model and a person.
    #[must_use]
    pub fn reason(&self, tool: &str) -> String {
        format!(
            "`{tool}` goes with an account of {} at `{}`, and none is connected: {}",
            self.owner,
            self.service,
            how_to_connect(&self.service)
        )
    }
}

/// How somebody connects an account at `service`.
#[must_use]
pub fn how_to_connect(service: &str) -> String {
    format!(
        "they alone connect it, with `/chancery connect {service}` in Slack or at the terminal with `chancery account \
         connect {service}`, and are asked where nobody else reads"
    )
}

/// The accounts that one call may use, and where what is theirs may be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// The account that whoever asked could connect for it. They may have one that opens nothing any more.
    connectable: Option<Lacking>,
    /// Owners by credential, where somebody connected an account.
    accounts: BTreeMap<String, PrincipalId>,
    /// Destinations by person.
    disclosed: BTreeMap<PrincipalId, BTreeSet<String>>,
    /// Whether somebody was asked in this turn to let others be told what is theirs, and did not.
    refused: bool,
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
        let persons = persons(call);
        let asked = asked_in(call).filter(|_| !persons.is_empty());
        let disclosures = persons.into_iter().map(|owner| setting::disclosure(&owner));
        let settings = accounts.chain(disclosures).map(|key| RowKey::new(Settings.name(), key));
        settings.chain(asked).collect()
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
            let lacking = connectable(call, catalogue, rows, &credential);
            own.connectable = own.connectable.or(lacking);
            if let Some(owner) = connected {
                own.accounts.insert(credential, owner);
            }
        }
        let asked: Option<DisclosureRow> = asked_in(call)
            .filter(|_| !persons(call).is_empty())
            .and_then(|RowKey { projection, key }| rows.state(projection, &key));
        own.refused = asked.is_some_and(|asked| asked.refused);
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

    /// The account that whoever asked could connect for the call, whether or not they have one that opens nothing any
    /// more.
    #[must_use]
    pub fn connectable(&self) -> Option<&Lacking> {
        self.connectable.as_ref()
    }

    /// The account that the call lacks, when it is made with none of whoever asked.
    #[must_use]
    pub fn lacking(&self) -> Option<&Lacking> {
        self.connectable().filter(|_| self.person().is_none())
    }

    /// Whether somebody was asked in this turn to let others be told what is theirs, and did not: they are asked no more.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refused
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

    /// The persons with whose accounts something was read that the call would tell to others, and who let that be told
    /// there to nobody.
    pub(crate) fn untold(
        &self,
        call: &Call,
        resource: &Resource,
        effect: EffectClass,
    ) -> BTreeSet<PrincipalId> {
        if !effect.is_effect() {
            return BTreeSet::new();
        }
        let to = resource.text();
        let is_draft_of = |owner: &PrincipalId| effect == EffectClass::Draft && self.person() == Some(owner);
        let disclosed =
            |owner: &PrincipalId| self.disclosed.get(owner).is_some_and(|known| known.contains(to));
        let is_told = |owner: &PrincipalId| {
            is_draft_of(owner)
                || disclosed(owner)
                || is_themselves(owner, call, resource)
                // What the host does by itself for what was done there, such as showing a card, asks for nobody.
                || (call.asker.as_ref().is_none_or(|asker| asker == owner) && is_own_place(call, resource))
        };
        persons(call).into_iter().filter(|owner| !is_told(owner)).collect()
    }
}

/// Whether the destination is `owner` by the name they have in the workspace of the call, so that it reaches nobody else:
/// a person of a service is named `person_<service>.<workspace>.<name>`.
fn is_themselves(owner: &PrincipalId, call: &Call, resource: &Resource) -> bool {
    let (Resource::Destination(to), Some(workspace)) = (resource, call.workspace()) else { return false };
    let to = to.rsplit(':').next().unwrap_or(to);
    !to.is_empty() && owner.as_str().ends_with(&format!(".{workspace}.{to}"))
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

/// The account that whoever asked could connect in place of `credential`; nothing where they have one that this seat may
/// not use, since another would be no help, and in a drill.
fn connectable(call: &Call, catalogue: &dyn Catalogue, rows: &Rows, credential: &str) -> Option<Lacking> {
    let owner = asked_by(call).filter(|_| !call.drill)?;
    let has: Option<AccountConnected> = rows.state(Settings.name(), &setting::account(credential, &owner));
    if has.is_some_and(|has| !has.seats.is_empty() && !has.seats.contains(&call.seat)) {
        return None;
    }
    let service = catalogue.service(credential)?;
    Some(Lacking { credential: credential.to_owned(), service, owner })
}

/// Where it stands what was answered, in the turn of the call, by those whose it was.
fn asked_in(call: &Call) -> Option<RowKey> {
    call.origin.turn().map(|turn| RowKey::new(Disclosures.name(), turn.as_str()))
}

/// The person who asked for the call.
fn asked_by(call: &Call) -> Option<PrincipalId> {
    call.asker.clone().filter(|asker| !call.unasked && asker.kind() == PrincipalKind::Person)
}

/// Who may own the account that the call uses, in order: who asked, then the organisation.
fn candidates(call: &Call) -> impl Iterator<Item = PrincipalId> {
    asked_by(call).into_iter().chain([PrincipalId::organisation()])
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

    /// Whether the call tells nobody what is another's.
    fn is_fine(own: &Own, call: &Call, destination: &str, effect: EffectClass) -> bool {
        own.untold(call, &to(destination), effect).is_empty()
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
            let call = call(asker, &audiences);
            let fine = is_fine(&own, &call, destination, EffectClass::External);
            assert_eq!(fine, !violates, "{asker:?} {audiences:?} {destination}");
        }
    }

    #[test]
    fn a_message_to_oneself_in_ones_own_workspace_tells_nobody_else() {
        let of = |asker: Option<&str>, team: &str| {
            let alice = Audience::Principal(person("slack.T1.U1"));
            let input = Payload::Tool(json!({ "team": team }));
            Call { payload: input, ..call(asker, &[channel("C1"), alice]) }
        };
        for (asker, team, destination, violates) in [
            (None, "T1", "U1", false),
            (Some("bob"), "T1", "U1", false),
            (None, "T2", "U1", true),
            (None, "", "U1", true),
            (None, "T1", "U2", true),
            (None, "T1", "1", true),
            (None, "T1", "", true),
        ] {
            let fine = is_fine(&Own::default(), &of(asker, team), destination, EffectClass::External);
            assert_eq!(fine, !violates, "{asker:?} {team} {destination}");
        }
    }

    #[test]
    fn reading_something_unknown_beside_it_makes_it_no_less_ones_own() {
        let mut mixed = call(Some("alice"), &[channel("C1"), Audience::Principal(person("alice"))]);
        mixed.label = mixed.label.join(&Label::unknown());
        assert!(!is_fine(&Own::default(), &mixed, "C1", EffectClass::External));
        let mut direct = call(Some("alice"), &[channel("D1"), Audience::Principal(person("alice"))]);
        direct.label = direct.label.join(&Label::unknown());
        assert!(is_fine(&Own::default(), &direct, "D1", EffectClass::External));
    }

    #[test]
    fn a_draft_in_ones_own_mailbox_tells_nobody() {
        let own =
            Own { accounts: BTreeMap::from([("mail.token".to_owned(), person("alice"))]), ..Own::default() };
        let read = call(Some("alice"), &[channel("C1"), Audience::Principal(person("alice"))]);
        assert!(is_fine(&own, &read, "bob@example.com", EffectClass::Draft));
        assert!(!is_fine(&own, &read, "bob@example.com", EffectClass::External));
        let both =
            call(Some("alice"), &[Audience::Principal(person("bob")), Audience::Principal(person("alice"))]);
        assert!(!is_fine(&own, &both, "bob@example.com", EffectClass::Draft));
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
