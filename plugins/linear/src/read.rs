//! What is read: the teams, the issues of a team, one issue with its comments.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::Api;
use crate::documents;

/// How many entries a page of issues has.
pub const PAGE_MAX: u32 = 50;
/// Longest description or comment that is given whole, in characters.
pub const BODY_CHARS_MAX: usize = 10_000;
/// Longest name of a team or issue, in bytes: an identifier is a few letters, a number is a few digits, a UUID has 36.
const NAME_BYTES_MAX: usize = 64;

/// A list that is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    team: String,
    #[serde(default)]
    title_contains: Option<String>,
    #[serde(default)]
    state: State,
    #[serde(default)]
    after: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    #[default]
    Open,
    Ended,
    All,
}

/// One issue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct One {
    issue: String,
}

/// The teams.
pub fn teams(api: &Api<'_>) -> Result<Value, Failure> {
    let teams = all_teams(api)?;
    let team = |team: &Value| json!({"key": text(team.get("key")), "name": text(team.get("name"))});
    Ok(json!({"teams": teams.iter().map(team).collect::<Vec<_>>()}))
}

fn all_teams(api: &Api<'_>) -> Result<Vec<Value>, Failure> {
    let data = api.run(documents::TEAMS, &json!({}))?;
    nodes(data.pointer("/teams/nodes"))
}

/// The team that is called `key`, as Linear names it.
///
/// # Errors
/// [`Kind::NotFound`] with the keys there are.
pub fn team_id(api: &Api<'_>, key: &str) -> Result<String, Failure> {
    let teams = all_teams(api)?;
    let named = |team: &&Value| text(team.get("key")).eq_ignore_ascii_case(key);
    match teams.iter().find(named).map(|team| text(team.get("id"))) {
        Some(id) if !id.is_empty() => Ok(id),
        _ => {
            let keys: Vec<String> =
                teams.iter().map(|team| format!("`{}`", text(team.get("key")))).take(20).collect();
            let message = format!("no team has the key `{key}`; there are {}", keys.join(", "));
            Err(Failure::new(Kind::NotFound, message))
        }
    }
}

/// The issues of a team.
pub fn issues(api: &Api<'_>, list: &List) -> Result<Value, Failure> {
    let team = team_id(api, &list.team)?;
    let filter = match &list.title_contains {
        Some(words) => json!({"title": {"contains": words}}),
        None => Value::Null,
    };
    let data = api.run(
        documents::ISSUES,
        &json!({"team": team, "first": PAGE_MAX, "after": list.after, "filter": filter}),
    )?;
    let found = data.pointer("/team/issues").cloned().unwrap_or_default();
    let listed = nodes(found.get("nodes"))?;
    let wanted = |issue: &&Value| match list.state {
        State::All => true,
        State::Open => !has_ended(issue),
        State::Ended => has_ended(issue),
    };
    let more = found.pointer("/pageInfo/hasNextPage") == Some(&Value::Bool(true));
    let mut said = Map::new();
    said.insert("issues".to_owned(), listed.iter().filter(wanted).map(line).collect());
    if let Some(after) = found.pointer("/pageInfo/endCursor").and_then(Value::as_str).filter(|_| more) {
        said.insert("next".to_owned(), after.into());
    }
    Ok(said.into())
}

/// Kinds of states that Linear counts as ended.
fn has_ended(issue: &Value) -> bool {
    matches!(text(issue.pointer("/state/type")).as_str(), "completed" | "canceled" | "duplicate")
}

/// One issue with its first comments.
pub fn issue(api: &Api<'_>, one: &One) -> Result<Value, Failure> {
    let found = found_issue(api, &one.issue)?;
    let comment = |comment: &Value| {
        let (body, cut) = cut(&text(comment.get("body")));
        json!({"author": text(comment.pointer("/user/displayName")), "at": text(comment.get("createdAt")), "body": body,
            "cut": cut})
    };
    let comments = nodes(found.pointer("/comments/nodes"))?;
    let states = nodes(found.pointer("/team/states/nodes"))?;
    let (description, cut) = cut(&text(found.get("description")));
    let mut said = line(&found);
    if let Value::Object(fields) = &mut said {
        fields.insert("description".to_owned(), description.into());
        fields.insert("cut".to_owned(), cut.into());
        fields.insert("comments".to_owned(), comments.iter().map(comment).collect());
        let names = states.iter().map(|state| Value::from(text(state.get("name"))));
        fields.insert("states".to_owned(), names.collect());
    }
    Ok(said)
}

/// One issue as Linear gives it.
///
/// # Errors
/// [`Kind::NotFound`] where there is none, [`Kind::InvalidInput`] for what is no name of one.
pub fn found_issue(api: &Api<'_>, name: &str) -> Result<Value, Failure> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(plain) {
        return Err(Failure::new(Kind::InvalidInput, "an issue is named like `ENG-123`"));
    }
    let mut data = api.run(documents::ISSUE, &json!({"id": name}))?;
    match data.get_mut("issue").map(Value::take) {
        Some(issue @ Value::Object(_)) => Ok(issue),
        _ => Err(Failure::new(Kind::NotFound, format!("Linear shows no issue `{name}`"))),
    }
}

/// What every list says of an issue.
fn line(issue: &Value) -> Value {
    let labels = issue.pointer("/labels/nodes").and_then(Value::as_array).into_iter().flatten();
    json!({
        "issue": text(issue.get("identifier")),
        "title": text(issue.get("title")),
        "state": text(issue.pointer("/state/name")),
        "priority": text(issue.get("priorityLabel")),
        "assignee": text(issue.pointer("/assignee/displayName")),
        "labels": labels.map(|label| text(label.get("name"))).collect::<Vec<_>>(),
        "at": text(issue.get("createdAt")),
        "changed_at": text(issue.get("updatedAt")),
        "url": text(issue.get("url")),
    })
}

/// As much of a text as is given, and whether it went on.
fn cut(whole: &str) -> (String, bool) {
    let kept: String = whole.chars().take(BODY_CHARS_MAX).collect();
    let cut = kept.len() < whole.len();
    (kept, cut)
}

pub(crate) fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(crate) fn nodes(value: Option<&Value>) -> Result<Vec<Value>, Failure> {
    match value {
        Some(Value::Array(entries)) => Ok(entries.clone()),
        _ => Err(Failure::new(Kind::NotFound, "Linear gave no list where one was asked for")),
    }
}
