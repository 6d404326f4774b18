//! What is written: an issue, a change of one, a comment.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::{Api, Said};
use crate::read::{found_issue, nodes, team_id, text};
use crate::{documents, name};

/// An issue to open.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewIssue {
    pub team: String,
    pub title: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub priority: Option<u8>,
    #[serde(default)]
    pub assignee: Option<String>,
}

/// A change of an issue: what is absent stays as it is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub issue: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub state: Option<String>,
    #[serde(default)]
    pub priority: Option<u8>,
    #[serde(default)]
    pub assignee: Option<String>,
}

/// A comment to write.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewComment {
    pub issue: String,
    pub body: String,
}

/// Opens an issue.
pub fn open(api: &Api<'_>, new: &NewIssue, key: &str) -> Result<Value, Failure> {
    let mut input = Map::new();
    input.insert("teamId".to_owned(), team_id(api, &new.team)?.into());
    input.insert("title".to_owned(), new.title.as_str().into());
    input.insert("description".to_owned(), new.description.as_str().into());
    if let Some(priority) = new.priority {
        input.insert("priority".to_owned(), priority.into());
    }
    if let Some(email) = &new.assignee {
        input.insert("assigneeId".to_owned(), user_id(api, email)?.into());
    }
    let data = named(api, documents::ISSUE_CREATE, input, key)?;
    Ok(opened(&succeeded(&data, "issueCreate", "issue")?))
}

/// Changes an issue.
pub fn change(api: &Api<'_>, change: &Change) -> Result<Value, Failure> {
    let issue = found_issue(api, &change.issue)?;
    let mut input = Map::new();
    if let Some(title) = &change.title {
        input.insert("title".to_owned(), title.as_str().into());
    }
    if let Some(description) = &change.description {
        input.insert("description".to_owned(), description.as_str().into());
    }
    if let Some(priority) = change.priority {
        input.insert("priority".to_owned(), priority.into());
    }
    if let Some(state) = &change.state {
        input.insert("stateId".to_owned(), state_id(&issue, state)?.into());
    }
    if let Some(email) = &change.assignee {
        input.insert("assigneeId".to_owned(), user_id(api, email)?.into());
    }
    if input.is_empty() {
        return Err(Failure::new(Kind::InvalidInput, "nothing is to be changed: name at least one field"));
    }
    let id = text(issue.get("id"));
    let data = api.run(documents::ISSUE_UPDATE, &json!({"id": id, "input": input}))?;
    Ok(opened(&succeeded(&data, "issueUpdate", "issue")?))
}

/// Comments on an issue.
pub fn comment(api: &Api<'_>, new: &NewComment, key: &str) -> Result<Value, Failure> {
    let issue = found_issue(api, &new.issue)?;
    let mut input = Map::new();
    input.insert("issueId".to_owned(), text(issue.get("id")).into());
    input.insert("body".to_owned(), new.body.as_str().into());
    let data = named(api, documents::COMMENT_CREATE, input, key)?;
    Ok(commented(&succeeded(&data, "commentCreate", "comment")?))
}

/// Makes something new under the name that follows from the effect's. A server that takes no such name says so before
/// it does anything, and is asked without: what was made there is found again by what it says.
fn named(api: &Api<'_>, document: &str, mut input: Map<String, Value>, key: &str) -> Result<Value, Failure> {
    input.insert("id".to_owned(), name::uuid(key).into());
    match api.try_run(document, &json!({"input": input}))? {
        Said::Data(data) => Ok(data),
        Said::UnknownField => {
            input.remove("id");
            api.run(document, &json!({"input": input}))
        }
    }
}

/// What the mutation `field` made, if it says that it did.
fn succeeded(data: &Value, field: &str, made: &str) -> Result<Value, Failure> {
    let payload = data.get(field).cloned().unwrap_or_default();
    match (payload.get("success"), payload.get(made)) {
        (Some(Value::Bool(true)), Some(thing @ Value::Object(_))) => Ok(thing.clone()),
        _ => Err(Failure::new(Kind::Malformed, format!("Linear does not say that `{field}` worked"))),
    }
}

fn state_id(issue: &Value, name: &str) -> Result<String, Failure> {
    let states = nodes(issue.pointer("/team/states/nodes"))?;
    let named = |state: &&Value| text(state.get("name")).eq_ignore_ascii_case(name);
    states.iter().find(named).map(|state| text(state.get("id"))).ok_or_else(|| {
        let names: Vec<String> =
            states.iter().map(|state| format!("`{}`", text(state.get("name")))).collect();
        let message = format!("the team of the issue has no state `{name}`; it has {}", names.join(", "));
        Failure::new(Kind::NotFound, message)
    })
}

fn user_id(api: &Api<'_>, email: &str) -> Result<String, Failure> {
    let data = api.run(documents::USERS, &json!({"email": email}))?;
    let users = nodes(data.pointer("/users/nodes"))?;
    // A server that filters otherwise than it was asked to would hand the issue to a stranger.
    let own = |user: &&Value| text(user.get("email")).eq_ignore_ascii_case(email);
    match users.iter().find(own).map(|user| text(user.get("id"))) {
        Some(id) if !id.is_empty() => Ok(id),
        _ => Err(Failure::new(Kind::NotFound, format!("nobody in Linear has the address `{email}`"))),
    }
}

pub(crate) fn opened(issue: &Value) -> Value {
    json!({"issue": text(issue.get("identifier")), "url": text(issue.get("url"))})
}

pub(crate) fn commented(comment: &Value) -> Value {
    json!({"comment": text(comment.get("id"))})
}
