//! Who the office is where a delivery came from: in each workspace it has a user, a bot and a name of its own.
//!
//! Always holds: a delivery of a workspace that the office is not in is never read as one of a workspace it is in. What
//! stands for it then is the office's first workspace, to which everything in such a delivery is outside.

use crate::arrival::{Arrival, is_plain};
use event::ConnectionIdentified;
use fold::setting;
use record::{Error, Record};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a payload names the organisation, for an office that is installed in a whole one.
const ORGANISATIONS: [&str; 4] =
    ["/authorizations/0/enterprise_id", "/enterprise_id", "/enterprise/id", "/team/enterprise_id"];

/// The rows of `setting` that may say who the office is to `arrival`: the first that is there does.
#[must_use]
pub fn own_keys(arrival: &Arrival<'_>) -> Vec<String> {
    let source = arrival.delivery.source.as_str();
    let payload = arrival.delivery.payload.json();
    let organisations = ORGANISATIONS.iter().filter_map(|at| payload.pointer(at)?.as_str());
    let mut keys: Vec<String> = Vec::new();
    for team in [arrival.team()].into_iter().chain(organisations).filter(|team| is_plain(team)) {
        let key = setting::connection_in(source, team);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.push(setting::connection(source));
    keys
}

/// Who the office is to `arrival`, by what `row` finds under a key.
#[must_use]
pub fn own_of(keys: &[String], row: impl Fn(&str) -> Option<Value>) -> Option<ConnectionIdentified> {
    keys.iter().find_map(|key| serde_json::from_value(row(key)?).ok())
}

/// Who the office is to `arrival`.
///
/// # Errors
/// As the record's.
pub async fn own(record: &Record, arrival: &Arrival<'_>) -> Result<Option<ConnectionIdentified>, Error> {
    let mut rows = BTreeMap::new();
    let keys = own_keys(arrival);
    for key in &keys {
        if let Some(row) = record.row("setting", key).await? {
            rows.insert(key.clone(), Arc::unwrap_or_clone(row.value));
            break;
        }
    }
    Ok(own_of(&keys, |key| rows.get(key).cloned()))
}

/// Who the office is in the workspace `team` of `source`; nothing where it is not.
///
/// # Errors
/// As the record's.
pub async fn own_in(
    record: &Record,
    source: &str,
    team: &str,
) -> Result<Option<ConnectionIdentified>, Error> {
    let row = record.row("setting", &setting::connection_in(source, team)).await?;
    if let Some(own) = fold::decode::<ConnectionIdentified>(row.as_ref()) {
        return Ok(Some(own));
    }
    // Rows of before there was one for each workspace.
    let first = record.row("setting", &setting::connection(source)).await?;
    Ok(fold::decode::<ConnectionIdentified>(first.as_ref()).filter(|first| first.team == team))
}

#[cfg(test)]
mod tests {
    use super::{own_keys, own_of};
    use crate::Arrival;
    use crate::classify::classify;
    use crate::manner::Manner;
    use crate::reason::Reason;
    use event::DeliveryReceived;
    use serde_json::{Value, json};

    fn delivery(payload: Value) -> DeliveryReceived {
        DeliveryReceived {
            source: "slack".into(),
            kind: "event_callback".into(),
            event: "message".into(),
            subtype: String::new(),
            external_id: String::new(),
            retry: 0,
            payload: payload.into(),
        }
    }

    fn rows(key: &str) -> Option<Value> {
        let own = |team: &str, user: &str| json!({"source": "slack", "team": team, "user": user, "bot": "", "app": "A1"});
        match key {
            "connection/slack" | "connection/slack/T1" => Some(own("T1", "U1BOT")),
            "connection/slack/T2" => Some(own("T2", "U2BOT")),
            "connection/slack/E1" => Some(own("E1", "U3BOT")),
            _ => None,
        }
    }

    fn reason(team: Value, text: &str) -> (String, Reason) {
        let mut payload = json!({"event": {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U9",
            "ts": "1.0", "text": text}});
        payload.as_object_mut().unwrap().extend(team.as_object().unwrap().clone());
        let delivery = delivery(payload);
        let arrival = Arrival::of(&delivery);
        let own = own_of(&own_keys(&arrival), rows);
        let mentions = arrival.names_office(own.as_ref());
        let reason = classify(&arrival, mentions, own.as_ref(), &Manner::default());
        (own.map(|own| own.team).unwrap_or_default(), reason)
    }

    #[test]
    fn in_each_workspace_the_office_is_called_by_the_name_it_has_there() {
        for (team, text, wanted) in [
            ("T1", "<@U1BOT> hello", Reason::Mention),
            ("T2", "<@U2BOT> hello", Reason::Mention),
            // In the other workspace that name is somebody else's.
            ("T1", "<@U2BOT> hello", Reason::AddressedToAnother),
            ("T2", "<@U1BOT> hello", Reason::AddressedToAnother),
            ("T1", "see <@U2BOT>", Reason::ChannelMessage),
        ] {
            let authorised = json!({"team_id": "T7", "authorizations": [{"team_id": team}]});
            for stated in [json!({"team_id": team}), authorised] {
                assert_eq!(reason(stated, text), (team.to_owned(), wanted), "{team} {text}");
            }
        }
    }

    #[test]
    fn a_workspace_that_the_office_is_not_in_is_outside_to_all_of_them() {
        for stated in [
            json!({"team_id": "T3"}),
            json!({"team_id": "T1", "authorizations": [{"team_id": "T3"}]}),
            json!({}),
            json!({"team_id": "<!here>"}),
            // Installed in a whole organisation: which of its workspaces this is nobody here knows.
            json!({"team_id": "T3", "authorizations": [{"team_id": null, "enterprise_id": "E1"}]}),
            json!({"team_id": "T3", "enterprise_id": "E2", "authorizations": [{"team_id": null, "is_enterprise_install": true}]}),
        ] {
            for text in ["<@U1BOT> hello", "<@U2BOT> hello", "<@U3BOT> hello", "hello"] {
                let (_, reason) = reason(stated.clone(), text);
                let outside = [Reason::ExternalPerson, Reason::AddressedToAnother];
                assert!(outside.contains(&reason), "{stated} {text}: {reason:?}");
            }
        }
    }
}
