//! Budgets: which there are, who set each last, and which of them a call is held on.
//!
//! A call's budgets follow from who spends and what about, by name; nothing is searched. Whatever a call brings
//! about (a child, a script, a retry) has the same seat, topic, asker and goal, so it draws on the same budgets:
//! there is no allowance of its own.

use crate::projection::{Projection, Row, decode};
use event::{
    AppliesTo, BudgetSet, Event, Fact, Period, PrincipalId, PrincipalKind, SeatId, Timestamp, Topic,
};
use serde::{Deserialize, Serialize};

/// One budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetRow {
    /// As it stands.
    pub set: BudgetSet,
    /// When it was set last.
    pub since: Timestamp,
    /// As the host set it last, from the operator's file: only another amount there sets it anew, so that a start
    /// does not undo what a person raised since.
    pub configured: Option<BudgetSet>,
}

/// The rows under a budget's name, ranked so that all of them can be listed. Holds [`BudgetRow`]s.
pub struct Budgets;

impl Projection for Budgets {
    fn name(&self) -> &'static str {
        "budget"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::BudgetSet(body) => vec![body.budget.clone()],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let Fact::BudgetSet(body) = &event.fact else { return row };
        let before = decode::<BudgetRow>(row.as_ref());
        let configured = match event.actor.principal.kind() {
            PrincipalKind::System => Some(body.clone()),
            PrincipalKind::Person | PrincipalKind::Agent => before.and_then(|before| before.configured),
        };
        let after = BudgetRow { set: body.clone(), since: event.at, configured };
        Some(Row::of(&after, Some(event.at.0)))
    }
}

/// Who spends, and what about: all that says which budgets a call is held on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spending<'a> {
    /// The seat that asks.
    pub seat: &'a SeatId,
    /// What the call is about.
    pub topic: Option<&'a Topic>,
    /// The person who woke the turn.
    pub asker: Option<&'a PrincipalId>,
    /// The goal the call is made for.
    pub goal: Option<&'a str>,
}

impl Spending<'_> {
    /// The names of the budgets that are in play where they are set: the organisation's first, nine at most.
    #[must_use]
    pub fn budgets(&self) -> Vec<String> {
        let seat = AppliesTo::Seat(self.seat.clone());
        let channel = self.topic.and_then(channel_of).map(AppliesTo::Channel);
        let person = self.asker.cloned().map(AppliesTo::Person);
        let whose = [Some(AppliesTo::Organisation), Some(seat), channel, person];
        let periodic = whose.into_iter().flatten();
        let mut names: Vec<String> =
            periodic.flat_map(|of| [Period::Day, Period::Month].map(|period| of.budget(period))).collect();
        names.extend(self.goal.map(|goal| AppliesTo::Goal(goal.to_owned()).budget(Period::Lifetime)));
        names
    }
}

/// The channel a topic belongs to, such as `slack:T01:C01`; nothing for a topic that is no conversation.
#[must_use]
pub fn channel_of(topic: &Topic) -> Option<String> {
    let parts: Vec<&str> = topic.as_str().splitn(4, ':').collect();
    match parts.as_slice() {
        [source @ ("slack" | "terminal"), team, channel, _] => Some(format!("{source}:{team}:{channel}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Spending, channel_of};
    use event::{PrincipalId, SeatId, Topic};

    #[test]
    fn the_budgets_of_a_call_follow_from_who_spends_and_what_about() {
        let (seat, topic) = (SeatId::parse("seat_desk").unwrap(), Topic::parse("slack:T1:C1:1.0").unwrap());
        let asker = PrincipalId::parse("person_slack.T1.U1").unwrap();
        let all = Spending { seat: &seat, topic: Some(&topic), asker: Some(&asker), goal: Some("g1") };
        assert_eq!(
            all.budgets(),
            [
                "organisation-day",
                "organisation-month",
                "seat:seat_desk-day",
                "seat:seat_desk-month",
                "channel:slack:T1:C1-day",
                "channel:slack:T1:C1-month",
                "person:person_slack.T1.U1-day",
                "person:person_slack.T1.U1-month",
                "goal:g1",
            ]
        );
        let alone = Spending { seat: &seat, topic: None, asker: None, goal: None };
        assert_eq!(alone.budgets().len(), 4);
    }

    #[test]
    fn only_a_conversation_has_a_channel() {
        let topic = |text: &str| Topic::parse(text).unwrap();
        assert_eq!(channel_of(&topic("slack:T1:C1:1.0")).as_deref(), Some("slack:T1:C1"));
        assert_eq!(channel_of(&topic("terminal:local:main:7")).as_deref(), Some("terminal:local:main"));
        assert_eq!(channel_of(&topic("item:T1:C1:1.0")), None);
        assert_eq!(channel_of(&topic("slack:T1:C1")), None);
    }
}
