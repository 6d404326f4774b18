//! What is read: lists of issues and pull requests, one issue with its comments, one file.

use guest::http::encoded;
use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::repository::{Repository, encoded_path};

/// How many entries a page of a list has.
pub const PAGE_MAX: u32 = 50;
/// How many comments come with an issue: the first ones.
pub const COMMENTS_MAX: usize = 50;
/// Longest body of an issue or comment that is given whole, in characters.
pub const BODY_CHARS_MAX: usize = 10_000;
/// Longest file that is given whole, in characters.
pub const FILE_CHARS_MAX: usize = 200_000;

/// A list that is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    repository: Repository,
    #[serde(default)]
    state: State,
    #[serde(default = "first")]
    page: u32,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    #[default]
    Open,
    Closed,
    All,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::All => "all",
        }
    }
}

fn first() -> u32 {
    1
}

/// One issue or pull request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct One {
    repository: Repository,
    number: u64,
}

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    repository: Repository,
    path: String,
    #[serde(default, rename = "ref")]
    at: Option<String>,
}

/// Issues, newest first; pull requests are not among them.
pub fn issues(api: &Api<'_>, list: &List) -> Result<Value, Failure> {
    let entries = listed(api, "issues", list)?;
    let issues = entries.iter().filter(|entry| entry.get("pull_request").is_none_or(Value::is_null));
    Ok(json!({"issues": issues.map(line).collect::<Vec<_>>(), "more": more(&entries)}))
}

/// Pull requests, newest first.
pub fn pulls(api: &Api<'_>, list: &List) -> Result<Value, Failure> {
    let entries = listed(api, "pulls", list)?;
    let pull = |entry: &Value| {
        let mut pull = line(entry);
        let branch = |side: &str| text(entry.pointer(&format!("/{side}/ref")));
        if let Value::Object(fields) = &mut pull {
            fields.insert("from".to_owned(), branch("head").into());
            fields.insert("into".to_owned(), branch("base").into());
            fields.insert("draft".to_owned(), (entry.get("draft") == Some(&Value::Bool(true))).into());
        }
        pull
    };
    Ok(json!({"pulls": entries.iter().map(pull).collect::<Vec<_>>(), "more": more(&entries)}))
}

fn listed(api: &Api<'_>, what: &str, list: &List) -> Result<Vec<Value>, Failure> {
    let List { repository, state, page } = list;
    let query = format!("state={}&per_page={PAGE_MAX}&page={page}", state.word());
    array(api.get(&format!("/repos/{repository}/{what}?{query}"))?)
}

fn more(entries: &[Value]) -> bool {
    entries.len() >= PAGE_MAX as usize
}

/// One issue or pull request with its first comments.
pub fn issue(api: &Api<'_>, one: &One) -> Result<Value, Failure> {
    let at = format!("/repos/{}/issues/{}", one.repository, one.number);
    let found = api.get(&at)?;
    let comments = array(api.get(&format!("{at}/comments?per_page={COMMENTS_MAX}"))?)?;
    let comment = |entry: &Value| {
        let (body, cut) = body(entry);
        json!({"author": author(entry), "at": text(entry.get("created_at")), "body": body, "cut": cut})
    };
    let (text_of, cut) = body(&found);
    let mut said = line(&found);
    if let Value::Object(fields) = &mut said {
        fields.insert("body".to_owned(), text_of.into());
        fields.insert("cut".to_owned(), cut.into());
        fields.insert("comments".to_owned(), comments.iter().take(COMMENTS_MAX).map(comment).collect());
    }
    Ok(said)
}

/// One file as text.
pub fn file(api: &Api<'_>, file: &File) -> Result<Value, Failure> {
    let at = file.at.as_ref().map(|at| format!("?ref={}", encoded(at))).unwrap_or_default();
    let path = encoded_path(&file.path)?;
    let (bytes, cut) = api.bytes(&format!("/repos/{}/contents/{path}{at}", file.repository))?;
    if bytes.contains(&0) {
        return Err(Failure::new(Kind::Malformed, format!("`{}` is not a text", file.path)));
    }
    let whole = String::from_utf8_lossy(&bytes);
    let text: String = whole.chars().take(FILE_CHARS_MAX).collect();
    let truncated = cut || text.len() < whole.len();
    Ok(json!({"path": file.path, "text": text, "truncated": truncated}))
}

/// What every list says of an issue or pull request.
fn line(entry: &Value) -> Value {
    let labels = entry.get("labels").and_then(Value::as_array).into_iter().flatten();
    json!({
        "number": entry.get("number").and_then(Value::as_u64).unwrap_or(0),
        "title": text(entry.get("title")),
        "state": text(entry.get("state")),
        "author": author(entry),
        "labels": labels.map(|label| text(label.get("name"))).collect::<Vec<_>>(),
        "at": text(entry.get("created_at")),
        "url": text(entry.get("html_url")),
    })
}

fn author(entry: &Value) -> String {
    text(entry.pointer("/user/login"))
}

/// The body, and whether it was cut.
fn body(entry: &Value) -> (String, bool) {
    let whole = text(entry.get("body"));
    let kept: String = whole.chars().take(BODY_CHARS_MAX).collect();
    let cut = kept.len() < whole.len();
    (kept, cut)
}

pub(crate) fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(crate) fn array(value: Value) -> Result<Vec<Value>, Failure> {
    match value {
        Value::Array(entries) => Ok(entries),
        _ => Err(Failure::new(Kind::Malformed, "GitHub answered no list where one was asked for")),
    }
}
