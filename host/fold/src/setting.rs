//! What is in force: the newest policy set, price list, budgets, plugins, grants, seats and identities.

use crate::projection::{Projection, Row};
use event::{Event, Fact};
use serde_json::Value;

/// One row for each thing that has a newest statement. Keys are built by the functions of this module; the
/// value is the body of the newest fact.
pub struct Settings;

/// Key of the policy set in force ([`event::PolicyApplied`]).
pub const POLICY: &str = "policy";
/// Key of the price list in force ([`event::PricesListed`]).
pub const PRICES: &str = "prices";

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

/// Key of who the office is on a service ([`event::ConnectionIdentified`]).
#[must_use]
pub fn connection(source: &str) -> String {
    format!("connection/{source}")
}

/// The row that `fact` writes, when it puts something in force: its key and what it then holds.
#[must_use]
pub fn stated(fact: &Fact) -> Option<(String, Value)> {
    key(fact).map(|key| (key, fact.body()))
}

fn key(fact: &Fact) -> Option<String> {
    match fact {
        Fact::PolicyApplied(_) => Some(POLICY.to_owned()),
        Fact::PricesListed(_) => Some(PRICES.to_owned()),
        Fact::BudgetSet(body) => Some(budget(&body.budget)),
        Fact::PluginInstalled(body) => Some(plugin(&body.plugin)),
        Fact::PluginGranted(body) => Some(grant(&body.plugin)),
        Fact::SeatCreated(body) => Some(seat(&body.seat)),
        Fact::SeatHeld(body) => Some(holder(&body.seat)),
        Fact::ConnectionIdentified(body) => Some(connection(&body.source)),
        _ => None,
    }
}

impl Projection for Settings {
    fn name(&self) -> &'static str {
        "setting"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        key(&event.fact).into_iter().collect()
    }

    fn evolve(&self, _key: &str, _row: Option<Row>, event: &Event) -> Option<Row> {
        Some(Row { value: event.fact.body(), rank: None })
    }
}
