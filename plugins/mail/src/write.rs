//! What is written: a draft, a message.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::address::MailAddress;
use crate::api::Api;
use crate::compose::{Answers, Composed, raw};
use crate::message::{header, text};
use crate::read::head;

/// Most people that read a message beside the one it is to.
pub const CC_MAX: usize = 20;

/// A message to write.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    pub to: MailAddress,
    #[serde(default)]
    cc: Vec<MailAddress>,
    subject: String,
    body: String,
    #[serde(default)]
    answers: Option<String>,
}

/// Keeps a draft.
pub fn draft(api: &Api<'_>, new: &New, key: &str) -> Result<Value, Failure> {
    let answer = api.post("/drafts", &json!({"message": message(api, new, key)?}))?;
    let id = text(answer.get("id"));
    match id.is_empty() {
        true => Err(Failure::new(Kind::Malformed, "Gmail does not say how the draft is called")),
        false => Ok(json!({"draft": id})),
    }
}

/// Sends a message.
pub fn send(api: &Api<'_>, new: &New, key: &str) -> Result<Value, Failure> {
    let answer = api.post("/messages/send", &message(api, new, key)?)?;
    match said(&answer) {
        said if said.pointer("/message") == Some(&Value::from("")) => {
            Err(Failure::new(Kind::Malformed, "Gmail does not say how the message is called"))
        }
        said => Ok(said),
    }
}

/// What a call of `mail.send` gives.
pub fn said(message: &Value) -> Value {
    json!({"message": text(message.get("id")), "thread": text(message.get("threadId"))})
}

fn message(api: &Api<'_>, new: &New, key: &str) -> Result<Value, Failure> {
    if new.cc.len() > CC_MAX {
        let message = format!("at most {CC_MAX} people read a message beside the one it is to");
        return Err(Failure::new(Kind::InvalidInput, message));
    }
    let answers = match &new.answers {
        Some(id) => Some(answered(&head(api, id, &["Message-ID", "References"])?)),
        None => None,
    };
    let composed = Composed {
        to: &new.to,
        cc: &new.cc,
        subject: &new.subject,
        body: &new.body,
        answers: answers.as_ref(),
        key,
    };
    let mut message = Map::new();
    message.insert("raw".to_owned(), raw(&composed).into());
    if let Some(answers) = answers.filter(|answers| !answers.thread.is_empty()) {
        message.insert("threadId".to_owned(), answers.thread.into());
    }
    Ok(message.into())
}

fn answered(message: &Value) -> Answers {
    Answers {
        thread: text(message.get("threadId")),
        message_id: header(message, "Message-ID"),
        references: header(message, "References"),
    }
}
