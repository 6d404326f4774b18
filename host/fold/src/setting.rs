//! What is in force: the newest policy set, price list, budgets, plugins, grants, seats and identities.

use crate::projection::{Projection, Row, decode};
use event::{Digest, Event, Fact};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// One row for each thing that has a newest statement. Keys are built by the functions of this module; the
/// value is the body of the newest fact.
pub struct Settings;

/// Key of the policy set in force ([`event::PolicyApplied`]).
pub const POLICY: &str = "policy";
/// Key of which policies count ([`InForce`]): small, because every decision reads it.
pub const IN_FORCE: &str = "policy/in-force";
/// Key of the names of every plugin that was ever installed, in order.
pub const PLUGINS: &str = "plugins";
/// Key of the price list in force ([`event::PricesListed`]).
pub const PRICES: &str = "prices";

/// Which policies count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// The set that was applied last; its texts stand under [`POLICY`].
    pub set: Option<Digest>,
    /// The permits that count no more, in any set.
    pub revoked: BTreeSet<String>,
}

/// Key of a budget ([`event::BudgetSet`]).
#[must_use]
pub fn budget(name: &str) -> String {
    format!("budget/{name}")
}

/// Key of an installed plugin ([`event::PluginInstalled`]).
#[must_use]
pub fn plugin(name: &str) -> String {
    format!("plugin/{name}")
}

/// Key of a plugin's grant ([`event::PluginGranted`]).
#[must_use]
pub fn grant(plugin: &str) -> String {
    format!("grant/{plugin}")
}

/// Key of a plugin whose grant was taken back ([`event::PluginRevoked`]), until it is granted anew.
#[must_use]
pub fn ungranted(plugin: &str) -> String {
    format!("ungranted/{plugin}")
}

/// Key of a version of a plugin that waits ([`event::PluginProposed`]), until one is installed or the plugin removed.
#[must_use]
pub fn waiting(plugin: &str) -> String {
    format!("waiting/{plugin}")
}

/// Key of a component that is never run again ([`event::ComponentRevoked`]).
#[must_use]
pub fn revoked_component(digest: &event::Digest) -> String {
    format!("revoked-component/{digest}")
}

/// Key of a seat ([`event::SeatCreated`]).
#[must_use]
pub fn seat(seat: &event::SeatId) -> String {
    format!("seat/{seat}")
}

/// Key of a seat's holder ([`event::SeatHeld`]).
#[must_use]
pub fn holder(seat: &event::SeatId) -> String {
    format!("holder/{seat}")
}

/// Key of who the office is in the workspace of a service that it came into first ([`event::ConnectionIdentified`]).
#[must_use]
pub fn connection(source: &str) -> String {
    format!("connection/{source}")
}

/// Key of who the office is in one workspace of a service ([`event::ConnectionIdentified`]), as long as it is there.
#[must_use]
pub fn connection_in(source: &str, team: &str) -> String {
    format!("connection/{source}/{team}")
}

/// Key of how the office came into a workspace ([`event::ConnectionInstalled`]), as long as it is there.
#[must_use]
pub fn installation(source: &str, team: &str) -> String {
    format!("installation/{source}/{team}")
}

/// Key of a permit that counts no more ([`event::PolicyRevoked`]).
#[must_use]
pub fn revoked(policy: &str) -> String {
    format!("revoked/{policy}")
}

/// Key of a proposed policy set ([`event::PolicyProposed`]).
#[must_use]
pub fn proposal(digest: &event::Digest) -> String {
    format!("proposal/{digest}")
}

/// Key of a channel's mode ([`event::ModeSet`]); `channel` is `T1:C1`.
#[must_use]
pub fn mode(channel: &str) -> String {
    format!("mode/{channel}")
}

/// Key of a muted thread ([`event::TopicMuted`]), as long as it is muted.
#[must_use]
pub fn muted(topic: &event::Topic) -> String {
    format!("muted/{topic}")
}

/// Key of the accounts that are connected, as [`account`] names them, in order.
pub const ACCOUNTS: &str = "accounts";

/// Key of an account ([`event::AccountConnected`]), as long as it is connected.
#[must_use]
pub fn account(credential: &str, owner: &event::PrincipalId) -> String {
    format!("account/{credential}/{owner}")
}

/// Key of where may be told what was read with a person's accounts ([`event::DisclosureSet`]).
#[must_use]
pub fn disclosure(owner: &event::PrincipalId) -> String {
    format!("disclosure/{owner}")
}

/// Key of the emoji that a workspace made itself ([`event::EmojiListed`]).
#[must_use]
pub fn emoji(team: &str) -> String {
    format!("emoji/{team}")
}

/// The row that `fact` writes, when it puts something in force: its key and what it then holds; nothing held
/// means that the row goes.
#[must_use]
pub fn stated(fact: &Fact) -> Option<(String, Option<Value>)> {
    key(fact).map(|key| (key, holds(fact)))
}

fn holds(fact: &Fact) -> Option<Value> {
    match fact {
        Fact::SeatVacated(_)
        | Fact::PluginRevoked(_)
        | Fact::PluginRemoved(_)
        | Fact::TopicUnmuted(_)
        | Fact::AccountDisconnected(_)
        | Fact::ConnectionEnded(_) => None,
        // States hold strings, integers, lists and maps keyed by strings: always expressible.
        Fact::SeatChanged(body) => Some(serde_json::to_value(&body.now).unwrap_or(Value::Null)),
        other => Some(other.body()),
    }
}

fn key(fact: &Fact) -> Option<String> {
    match fact {
        Fact::PolicyApplied(_) => Some(POLICY.to_owned()),
        Fact::PricesListed(_) => Some(PRICES.to_owned()),
        Fact::BudgetSet(body) => Some(budget(&body.budget)),
        Fact::PluginInstalled(body) => Some(plugin(&body.plugin)),
        Fact::PluginGranted(body) => Some(grant(&body.plugin)),
        Fact::SeatCreated(body) => Some(seat(&body.seat)),
        Fact::SeatChanged(body) => Some(seat(&body.now.seat)),
        Fact::SeatHeld(body) => Some(holder(&body.seat)),
        Fact::SeatVacated(body) => Some(holder(&body.seat)),
        Fact::PolicyProposed(body) => Some(proposal(&body.digest)),
        Fact::PolicyRevoked(body) => Some(revoked(&body.policy)),
        Fact::PluginRevoked(body) => Some(grant(&body.plugin)),
        Fact::ConnectionIdentified(body) => Some(connection_in(&body.source, &body.team)),
        Fact::ConnectionInstalled(body) => Some(installation(&body.source, &body.team)),
        Fact::ConnectionEnded(body) => Some(connection_in(&body.source, &body.team)),
        Fact::PluginProposed(body) => Some(waiting(&body.version.plugin)),
        Fact::PluginRemoved(body) => Some(plugin(&body.plugin)),
        Fact::ComponentRevoked(body) => Some(revoked_component(&body.digest)),
        Fact::ModeSet(body) => Some(mode(&body.channel)),
        Fact::TopicMuted(body) => Some(muted(&body.topic)),
        Fact::TopicUnmuted(body) => Some(muted(&body.topic)),
        Fact::EmojiListed(body) => Some(emoji(&body.team)),
        Fact::AccountConnected(body) => Some(account(&body.credential, &body.owner)),
        Fact::AccountDisconnected(body) => Some(account(&body.credential, &body.owner)),
        Fact::DisclosureSet(body) => Some(disclosure(&body.owner)),
        _ => None,
    }
}

/// The rows that a fact writes beside the one it is the statement of.
fn beside(fact: &Fact) -> Vec<String> {
    match fact {
        Fact::PolicyApplied(_) | Fact::PolicyRevoked(_) => vec![IN_FORCE.to_owned()],
        Fact::PluginInstalled(body) => vec![PLUGINS.to_owned(), waiting(&body.plugin)],
        Fact::PluginGranted(body) => vec![ungranted(&body.plugin)],
        Fact::ConnectionIdentified(body) => vec![connection(&body.source)],
        Fact::ConnectionEnded(body) => {
            vec![connection(&body.source), installation(&body.source, &body.team)]
        }
        Fact::PluginRevoked(body) => vec![ungranted(&body.plugin)],
        // Nothing of it stays in force: one that is installed anew begins anew.
        Fact::PluginRemoved(body) => {
            vec![grant(&body.plugin), ungranted(&body.plugin), waiting(&body.plugin)]
        }
        Fact::AccountConnected(_) | Fact::AccountDisconnected(_) => vec![ACCOUNTS.to_owned()],
        _ => Vec::new(),
    }
}

fn evolve_beside(key: &str, row: Option<Row>, fact: &Fact) -> Option<Row> {
    let row = row.as_ref();
    match fact {
        Fact::PolicyApplied(body) => {
            let in_force: InForce = decode(row).unwrap_or_default();
            Some(Row::of(&InForce { set: Some(body.digest.clone()), ..in_force }, None))
        }
        Fact::PolicyRevoked(body) => {
            let mut in_force: InForce = decode(row).unwrap_or_default();
            in_force.revoked.insert(body.policy.clone());
            Some(Row::of(&in_force, None))
        }
        Fact::PluginInstalled(body) if key == PLUGINS => {
            let mut names: BTreeSet<String> = decode(row).unwrap_or_default();
            names.insert(body.plugin.clone());
            Some(Row::of(&names, None))
        }
        Fact::PluginRevoked(_) => Some(Row::holding(fact.body(), None)),
        Fact::AccountConnected(body) => {
            let mut names: BTreeSet<String> = decode(row).unwrap_or_default();
            names.insert(account(&body.credential, &body.owner));
            Some(Row::of(&names, None))
        }
        Fact::AccountDisconnected(body) => {
            let mut names: BTreeSet<String> = decode(row).unwrap_or_default();
            names.remove(&account(&body.credential, &body.owner));
            Some(Row::of(&names, None))
        }
        // The first workspace stays the first, whatever comes beside it.
        Fact::ConnectionIdentified(body) => match first_of(row) {
            Some(first) if first != body.team => row.cloned(),
            _ => Some(Row::holding(fact.body(), None)),
        },
        Fact::ConnectionEnded(body) if key == connection(&body.source) => {
            row.filter(|row| first_of(Some(row)).as_ref() != Some(&body.team)).cloned()
        }
        _ => None,
    }
}

/// The workspace that a row of [`connection`] is about.
fn first_of(row: Option<&Row>) -> Option<String> {
    decode::<event::ConnectionIdentified>(row).map(|first| first.team)
}

impl Projection for Settings {
    fn name(&self) -> &'static str {
        "setting"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        key(&event.fact).into_iter().chain(beside(&event.fact)).collect()
    }

    fn evolve(&self, key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        if beside(&event.fact).iter().any(|written| written == key) {
            return evolve_beside(key, row, &event.fact);
        }
        holds(&event.fact).map(|value| Row::holding(value, None))
    }
}

#[cfg(test)]
mod tests {
    use super::{Settings, connection, connection_in, installation};
    use crate::projection::{Projection, Row, decode};
    use event::{
        Actor, ConnectionEnded, ConnectionIdentified, ConnectionInstalled, Digest, Event, EventId, Fact,
        GlobalPosition, Label, Position, PrincipalId, StreamName, Timestamp,
    };
    use std::collections::BTreeMap;

    fn told(facts: Vec<Fact>) -> BTreeMap<String, Row> {
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        for fact in facts {
            let event = Event {
                global_position: GlobalPosition(1),
                stream: StreamName::new("connection", "slack"),
                position: Position(1),
                id: EventId::derived(&["e"]),
                at: Timestamp(1),
                actor: Actor { principal: PrincipalId::host(), seat: None },
                cause: None,
                label: Label::host(),
                fact,
                digest: Digest::of(b"d"),
                chain: Digest::of(b"c"),
            };
            for key in Settings.keys(&event) {
                if let Some(row) = Settings.evolve(&key, rows.remove(&key), &event) {
                    rows.insert(key, row);
                }
            }
        }
        rows
    }

    fn identified(team: &str, user: &str) -> Fact {
        let [source, bot, app] = ["slack", "B1", "A1"].map(str::to_owned);
        ConnectionIdentified { source, team: team.to_owned(), user: user.to_owned(), bot, app }.into()
    }

    fn ended(team: &str) -> Fact {
        ConnectionEnded { source: "slack".to_owned(), team: team.to_owned(), reason: "x".to_owned() }.into()
    }

    fn user(rows: &BTreeMap<String, Row>, key: &str) -> Option<String> {
        decode::<ConnectionIdentified>(rows.get(key)).map(|own| own.user)
    }

    #[test]
    fn each_workspace_has_a_row_and_the_first_stays_the_first_until_it_is_gone() {
        let installed = ConnectionInstalled {
            source: "slack".to_owned(),
            team: "T2".to_owned(),
            app: "A1".to_owned(),
            by: "U1".to_owned(),
            scopes: Vec::new(),
            expires_at: None,
        };
        let both = vec![identified("T1", "U1A"), installed.into(), identified("T2", "U2A")];
        let rows = told(both.clone());
        assert_eq!(user(&rows, &connection("slack")).as_deref(), Some("U1A"));
        assert_eq!(user(&rows, &connection_in("slack", "T2")).as_deref(), Some("U2A"));
        let again = told([both.clone(), vec![identified("T1", "U1B")]].concat());
        assert_eq!(user(&again, &connection("slack")).as_deref(), Some("U1B"), "the same workspace anew");
        let without = told([both.clone(), vec![ended("T2")]].concat());
        assert_eq!(user(&without, &connection("slack")).as_deref(), Some("U1A"));
        for gone in [connection_in("slack", "T2"), installation("slack", "T2")] {
            assert!(!without.contains_key(&gone), "{gone}");
        }
        let other = told([both, vec![ended("T1")]].concat());
        assert_eq!(user(&other, &connection("slack")), None);
        assert_eq!(user(&other, &connection_in("slack", "T2")).as_deref(), Some("U2A"));
    }
}
