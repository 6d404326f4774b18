//! Whose words a delivery holds: of who sent it, of those whose messages it quotes, and, where a program's message
//! stands in it, of those whose words that program may repeat.
//!
//! The office's own answers come back as deliveries of a program. What they repeat is found by where they stand: the
//! record knows who spoke there.

use crate::arrival::{Arrival, SOURCE_SLACK, SOURCE_TERMINAL, is_plain, teams_of};
use crate::sender::Sender;
use event::{ConnectionIdentified, Place, PrincipalId};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most persons whose words one delivery is said to hold: a message quotes a few, and each has a key.
pub const PERSONS_MAX: usize = 64;

/// Whose words a delivery holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whose {
    /// Persons whom it names as having said something in it.
    pub persons: BTreeSet<PrincipalId>,
    /// Where programs said something in it: keys of [`fold::message::Speakers`], whose persons it may repeat.
    pub echoes: BTreeSet<String>,
}

/// Whose words `arrival` holds. `own` is who the office is on Slack: some senders show its messages as a user's.
#[must_use]
pub fn whose(arrival: &Arrival<'_>, own: Option<&ConnectionIdentified>) -> Whose {
    let mut whose = Whose::default();
    let payload = arrival.delivery.payload.json();
    if arrival.delivery.source == SOURCE_TERMINAL {
        let person = payload.get("person").and_then(Value::as_str);
        whose.persons.extend(person.and_then(|person| PrincipalId::parse(person).ok()));
        return whose;
    }
    let look = Look { arrival, own };
    look.utterance(arrival.subject(), &mut whose);
    look.within(payload, &mut whose);
    while whose.persons.len() > PERSONS_MAX {
        whose.persons.pop_last();
    }
    whose
}

struct Look<'a> {
    arrival: &'a Arrival<'a>,
    own: Option<&'a ConnectionIdentified>,
}

impl Look<'_> {
    /// Every message in `value`, however deep: payload nesting is bounded where it is parsed.
    fn within(&self, value: &Value, whose: &mut Whose) {
        match value {
            Value::Object(fields) => {
                if ["text", "blocks"].iter().any(|key| fields.contains_key(*key)) {
                    self.utterance(value, whose);
                }
                fields.values().for_each(|value| self.within(value, whose));
            }
            Value::Array(items) => items.iter().for_each(|item| self.within(item, whose)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Who said or did `subject`.
    fn utterance(&self, subject: &Value, whose: &mut Whose) {
        let sender = Sender::of(subject);
        if sender.is_program || self.own.is_some_and(|own| sender.is_office(own)) {
            whose.echoes.extend(self.places(subject));
            return;
        }
        let text = |key: &str| subject.get(key).and_then(Value::as_str);
        let user = Some(sender.user).filter(|user| !user.is_empty()).or_else(|| text("author_id"));
        let Some(user) = user.filter(|user| is_plain(user)) else { return };
        let team = teams_of(subject).find(|team| is_plain(team)).unwrap_or(self.arrival.team());
        whose.persons.extend(PrincipalId::parse(&format!("person_{SOURCE_SLACK}.{team}.{user}")).ok());
    }

    /// The topic that a program's message stands in, and the conversation, where that is a direct message.
    fn places(&self, message: &Value) -> Vec<String> {
        let text = |key: &str| message.get(key).and_then(Value::as_str).filter(|ts| is_plain(ts));
        let Some(channel) = self.arrival.channel() else { return Vec::new() };
        let kind = self.arrival.place_kind(channel);
        let place = |ts: &str| Place {
            kind,
            team: self.arrival.team().to_owned(),
            channel: channel.to_owned(),
            ts: ts.to_owned(),
            thread_ts: text("thread_ts").map(str::to_owned),
        };
        let place = place(text("ts").unwrap_or("0"));
        let topic = place.topic().map(|topic| topic.as_str().to_owned());
        topic.into_iter().chain([fold::message::conversation(&place)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::whose;
    use crate::Arrival;
    use crate::fixture::own;
    use event::DeliveryReceived;
    use serde_json::{Value, json};

    fn of(kind: &str, payload: Value) -> (Vec<String>, Vec<String>) {
        let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let delivery = DeliveryReceived {
            source: "slack".into(),
            kind: kind.into(),
            event: text("/event/type").into(),
            subtype: text("/event/subtype").into(),
            external_id: String::new(),
            retry: 0,
            payload: payload.clone().into(),
        };
        let whose = whose(&Arrival::of(&delivery), Some(&own()));
        let persons = whose.persons.iter().map(|person| person.as_str().to_owned()).collect();
        (persons, whose.echoes.into_iter().collect())
    }

    #[test]
    fn a_message_is_of_its_author_and_of_those_it_quotes() {
        let payload = json!({"team_id": "T1", "event": {"type": "message", "channel": "C1", "ts": "1.0",
            "user": "U1", "text": "look", "attachments": [{"author_id": "U2", "text": "what U2 said"}]}});
        assert_eq!(of("event_callback", payload).0, ["person_slack.T1.U1", "person_slack.T1.U2"]);
    }

    #[test]
    fn an_answer_of_the_office_that_comes_back_is_of_those_who_spoke_there() {
        let message = |more: Value| {
            let mut event =
                json!({"type": "message", "channel": "D1", "channel_type": "im", "ts": "2.0", "text": "x"});
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            of("event_callback", json!({"team_id": "T1", "event": event}))
        };
        for program in [json!({"user": "U0BOT"}), json!({"bot_id": "B1"}), json!({"subtype": "bot_message"})]
        {
            let (persons, echoes) = message(program);
            assert_eq!((persons, echoes), (vec![], vec!["T1:D1".to_owned(), "slack:T1:D1:2.0".to_owned()]));
        }
        let (_, echoes) = message(json!({"user": "U0BOT", "thread_ts": "1.0"}));
        assert!(echoes.contains(&"slack:T1:D1:1.0".to_owned()), "{echoes:?}");
    }

    #[test]
    fn a_click_is_of_who_clicked_and_of_what_the_clicked_message_repeats() {
        let payload = json!({"type": "block_actions", "team": {"id": "T1"}, "user": {"id": "U1", "team_id": "T1"},
            "channel": {"id": "C1"}, "message": {"bot_id": "B1", "text": "x", "ts": "3.0", "thread_ts": "1.0"}});
        let (persons, echoes) = of("block_actions", payload);
        assert_eq!(persons, ["person_slack.T1.U1"]);
        assert!(echoes.contains(&"slack:T1:C1:1.0".to_owned()), "{echoes:?}");
    }
}
