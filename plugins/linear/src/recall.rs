//! Whether something was written, as Linear shows it now. Only reads.

use guest::{Failure, Kind, Memory};
use serde_json::{Value, json};

use crate::api::Api;
use crate::read::{found_issue, nodes, team_id, text};
use crate::write::{Change, NewComment, NewIssue, commented, opened as said_of};
use crate::{documents, name};

/// How many entries one look sees.
const LOOKED_THROUGH_MAX: usize = 50;

/// Looks for an issue by the name it was given, and then for one that says the same: a server that takes no names has
/// given it another.
pub fn opened(api: &Api<'_>, new: &NewIssue, key: &str) -> Result<Memory, Failure> {
    match found_issue(api, &name::uuid(key)) {
        Ok(issue) => return Ok(Memory::Found(said_of(&issue))),
        Err(failure) if failure.kind == Kind::NotFound => {}
        Err(failure) => return Err(failure),
    }
    let team = team_id(api, &new.team)?;
    let data = api.run(documents::SAME_TITLE, &json!({"team": team, "title": new.title}))?;
    let entries = nodes(data.pointer("/team/issues/nodes"))?;
    let same = |entry: &&Value| text(entry.get("description")).trim() == new.description.trim();
    Ok(match entries.iter().find(same) {
        Some(issue) => Memory::CannotSay(format!(
            "`{}` says the same and may be it, or another's: Linear did not keep the name it was given",
            text(issue.get("identifier"))
        )),
        None if entries.len() >= LOOKED_THROUGH_MAX => Memory::CannotSay(beyond()),
        None => Memory::Absent,
    })
}

/// Looks whether the issue is now as it was to become. When it is not, somebody may have changed it since.
pub fn changed(api: &Api<'_>, change: &Change) -> Result<Memory, Failure> {
    let issue = found_issue(api, &change.issue)?;
    let is = |wanted: &Option<String>, pointer: &str| {
        wanted.as_ref().is_none_or(|wanted| text(issue.pointer(pointer)).trim() == wanted.trim())
    };
    let state = change
        .state
        .as_ref()
        .is_none_or(|state| text(issue.pointer("/state/name")).eq_ignore_ascii_case(state));
    let assignee = change
        .assignee
        .as_ref()
        .is_none_or(|email| text(issue.pointer("/assignee/email")).eq_ignore_ascii_case(email));
    let priority = change
        .priority
        .is_none_or(|wanted| priority_of(&text(issue.get("priorityLabel"))).is_none_or(|is| is == wanted));
    let as_wished = is(&change.title, "/title")
        && is(&change.description, "/description")
        && state
        && assignee
        && priority;
    Ok(match as_wished {
        true => Memory::Found(said_of(&issue)),
        false => Memory::CannotSay(
            "the issue is not now as it was to become, and somebody may have changed it since".to_owned(),
        ),
    })
}

/// Linear's words for its five priorities; nothing for a word of a workspace's own.
fn priority_of(label: &str) -> Option<u8> {
    Some(match label.to_ascii_lowercase().as_str() {
        "no priority" | "none" => 0,
        "urgent" => 1,
        "high" => 2,
        "medium" | "normal" => 3,
        "low" => 4,
        _ => return None,
    })
}

/// Looks for a comment by the name it was given, and then for one that says the same.
pub fn commented_on(api: &Api<'_>, new: &NewComment, key: &str) -> Result<Memory, Failure> {
    let issue = found_issue(api, &new.issue)?;
    let comments = nodes(issue.pointer("/comments/nodes"))?;
    let own = name::uuid(key);
    if let Some(comment) = comments.iter().find(|comment| text(comment.get("id")) == own) {
        return Ok(Memory::Found(commented(comment)));
    }
    let same = |comment: &&Value| text(comment.get("body")).trim() == new.body.trim();
    Ok(match comments.iter().any(|comment| same(&comment)) {
        true => Memory::CannotSay(
            "a comment says the same and may be it, or another's: Linear did not keep the name it was given"
                .to_owned(),
        ),
        false if comments.len() >= LOOKED_THROUGH_MAX => Memory::CannotSay(beyond()),
        false => Memory::Absent,
    })
}

fn beyond() -> String {
    format!("it is not among the {LOOKED_THROUGH_MAX} that were looked through")
}
