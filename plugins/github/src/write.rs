//! What is written: an issue, a comment. Each carries the effect's name where GitHub keeps it and does not show it.

use guest::{Failure, Memory};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::read::{array, text};
use crate::repository::Repository;

/// How many of the newest entries are looked through for one that was written.
pub const LOOKED_THROUGH_MAX: usize = 100;

/// An issue to open.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewIssue {
    repository: Repository,
    title: String,
    #[serde(default)]
    body: String,
}

/// A comment to write.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewComment {
    repository: Repository,
    number: u64,
    body: String,
}

/// Opens an issue.
pub fn open(api: &Api<'_>, new: &NewIssue, key: &str) -> Result<Value, Failure> {
    let body = json!({"title": new.title, "body": marked(&new.body, key)});
    Ok(opened(&api.post(&format!("/repos/{}/issues", new.repository), &body)?))
}

/// Writes a comment on an issue or pull request.
pub fn comment(api: &Api<'_>, new: &NewComment, key: &str) -> Result<Value, Failure> {
    let at = format!("/repos/{}/issues/{}/comments", new.repository, new.number);
    Ok(written(&api.post(&at, &json!({"body": marked(&new.body, key)}))?))
}

/// Looks for an issue that carries `key` among the newest.
pub fn recall_issue(api: &Api<'_>, new: &NewIssue, key: &str) -> Result<Memory, Failure> {
    let query = format!("state=all&sort=created&direction=desc&per_page={LOOKED_THROUGH_MAX}");
    let entries = array(api.get(&format!("/repos/{}/issues?{query}", new.repository))?)?;
    Ok(found(&entries, key, opened))
}

/// Looks for a comment that carries `key` on its issue.
pub fn recall_comment(api: &Api<'_>, new: &NewComment, key: &str) -> Result<Memory, Failure> {
    let at =
        format!("/repos/{}/issues/{}/comments?per_page={LOOKED_THROUGH_MAX}", new.repository, new.number);
    Ok(found(&array(api.get(&at)?)?, key, written))
}

fn found(entries: &[Value], key: &str, said: fn(&Value) -> Value) -> Memory {
    let mark = mark(key);
    match entries.iter().find(|entry| text(entry.get("body")).contains(&mark)) {
        Some(entry) => Memory::Found(said(entry)),
        // A whole page without it says nothing of the pages behind it.
        None if entries.len() >= LOOKED_THROUGH_MAX => {
            Memory::CannotSay(format!("it is not among the {LOOKED_THROUGH_MAX} that were looked through"))
        }
        None => Memory::Absent,
    }
}

fn opened(entry: &Value) -> Value {
    json!({"number": entry.get("number").and_then(Value::as_u64).unwrap_or(0), "url": text(entry.get("html_url"))})
}

fn written(entry: &Value) -> Value {
    json!({"url": text(entry.get("html_url"))})
}

/// The effect's name in a comment of HTML: GitHub's Markdown keeps it and shows nothing.
fn mark(key: &str) -> String {
    let plain: String = key.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
    format!("<!-- chancery {plain} -->")
}

fn marked(body: &str, key: &str) -> String {
    format!("{body}\n\n{}", mark(key))
}
