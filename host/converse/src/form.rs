//! The form in which a person asks the office something from anywhere in Slack: who wants it, and what came back.
//!
//! What came back is taken as a message of whoever sent it, in the place they chose; the office first puts it there, so
//! that it stands where its answer does. Read strictly: a person of this workspace by ids, a place that is an id, words
//! that somebody wrote. Deliberately absent: whether the office is in that place, which Slack says when it speaks there.

use crate::arrival::{Arrival, SOURCE_SLACK, is_plain};
use crate::click::member;
use crate::notation::escaped;
use crate::reason::Reason;
use crate::sender::Sender;
use event::{
    Author, ConnectionIdentified, DeliveryReceived, MessageReceived, Personal, Place, PlaceKind, PrincipalId,
};
use serde_json::{Value, json};

/// [`DeliveryReceived::kind`] of a shortcut that is used on no message.
pub(crate) const SHORTCUT: &str = "shortcut";
/// [`DeliveryReceived::kind`] of a form that was sent.
pub(crate) const VIEW_SUBMISSION: &str = "view_submission";
/// `callback_id` of the shortcut and of the form that it opens.
pub const FORM_QUESTION: &str = "chancery.question";
/// The tool that opens the form.
pub const TOOL_FORM: &str = "slack.form";
/// The tool that puts what was asked where it is to be answered.
pub const TOOL_BEGIN: &str = "slack.begin";
/// How long Slack lets a form be opened after the shortcut was used, in milliseconds.
pub const TRIGGER_MS: i64 = 3_000;
/// The most of somebody's words that is taken, in characters: what the form lets them write.
const WORDS_CHARS_MAX: usize = 3_000;

/// Somebody who wants the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Who, in Slack.
    pub user: String,
    /// What Slack gave to open it with.
    pub trigger: String,
}

/// What somebody asks with the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Who.
    pub by: PrincipalId,
    /// The same, as Slack names them.
    pub user: String,
    /// What they wrote, as they wrote it.
    pub words: String,
    /// Where it is to be answered; in their direct messages when they did not say.
    pub channel: Option<String>,
}

/// Who wants the form, when `delivery` is the shortcut that opens it.
///
/// # Errors
/// The rung that stopped it: another shortcut, a program, somebody from outside, an office that does not know itself.
pub fn wanted(delivery: &DeliveryReceived, own: Option<&ConnectionIdentified>) -> Result<Wanted, Reason> {
    let payload = delivery.payload.json();
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
    if delivery.kind != SHORTCUT || text("/callback_id") != Some(FORM_QUESTION) {
        return Err(Reason::Shortcut);
    }
    let (_, user) = person(payload, own)?;
    let is_trigger = |trigger: &&str| trigger.split('.').all(is_plain) && trigger.len() <= 200;
    let trigger = text("/trigger_id").filter(is_trigger).ok_or(Reason::IncompleteMessage)?;
    Ok(Wanted { user, trigger: trigger.to_owned() })
}

/// What is asked, when `delivery` is the form.
///
/// # Errors
/// As [`wanted`].
pub fn question(delivery: &DeliveryReceived, own: Option<&ConnectionIdentified>) -> Result<Question, Reason> {
    let payload = delivery.payload.json();
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
    if delivery.kind != VIEW_SUBMISSION || text("/view/callback_id") != Some(FORM_QUESTION) {
        return Err(Reason::ViewSubmission);
    }
    let (by, user) = person(payload, own)?;
    // The plugin that draws the form writes the same names of blocks and elements.
    let words = text("/view/state/values/words/form.words/value").unwrap_or_default().trim();
    let place = payload.pointer("/view/state/values/place/form.place/selected_conversation");
    let channel = match place {
        None | Some(Value::Null) => None,
        Some(Value::String(channel)) if is_plain(channel) => Some(channel.clone()),
        Some(_) => return Err(Reason::IncompleteMessage),
    };
    if words.is_empty() {
        return Err(Reason::IncompleteMessage);
    }
    Ok(Question { by, user, words: words.chars().take(WORDS_CHARS_MAX).collect(), channel })
}

fn person(payload: &Value, own: Option<&ConnectionIdentified>) -> Result<(PrincipalId, String), Reason> {
    let sender = Sender::of(payload);
    let team = member(payload, &sender, own.ok_or(Reason::IdentityUnknown)?)?;
    let user = Some(sender.user).filter(|user| is_plain(user)).ok_or(Reason::IncompleteMessage)?;
    let by = PrincipalId::parse(&format!("person_{SOURCE_SLACK}.{team}.{user}"));
    Ok((by.map_err(|_| Reason::IncompleteMessage)?, user.to_owned()))
}

/// The arguments of the call that opens the form of this office.
#[must_use]
pub fn form(wanted: &Wanted, office: &str) -> Value {
    json!({
        "user": wanted.user, "trigger": wanted.trigger, "name": FORM_QUESTION,
        "title": format!("Ask {office}"),
        "submit": "Ask",
        "words": "What do you want to ask?",
        "place": "Where should I answer?",
        "hint": "Leave it empty and I answer you alone, in our direct messages. In a channel, everybody there reads \
                 your question and my answer.",
    })
}

/// The arguments of the call that puts a question where it is to be answered.
#[must_use]
pub fn begin(question: &Question) -> Value {
    let quoted: Vec<String> = question.words.lines().map(|line| format!("> {line}")).collect();
    let quoted = quoted.join("\n");
    match &question.channel {
        Some(channel) => {
            json!({ "to": channel, "user": question.user, "text": format!("asks:\n\n{quoted}") })
        }
        None => json!({ "to": question.user, "text": format!("You asked:\n\n{quoted}") }),
    }
}

/// The arguments of the call that tells whoever asked, alone, that it could not be asked there, with their words.
#[must_use]
pub fn regret(question: &Question, why: &str) -> Value {
    let quoted: Vec<String> = question.words.lines().map(|line| format!("> {line}")).collect();
    // What a tool says begins with the method and ends with Slack's code for it.
    let why = why.strip_prefix("chat.postMessage: ").unwrap_or(why);
    let why = why.split_once(" (`").map_or(why, |(why, _)| why);
    let text =
        format!("I could not ask this there: {why}. Nobody there has seen it.\n\n{}", quoted.join("\n"));
    json!({ "to": question.user, "text": text })
}

/// The question as a message of whoever asked it, once it stands at `ts` of `channel` in `team`.
///
/// What stands there is the office's own message, and its answer is put under it. In direct messages it is not: they
/// are one conversation.
#[must_use]
pub fn message(question: &Question, team: &str, channel: &str, ts: &str) -> Option<MessageReceived> {
    let is_direct = channel.starts_with('D');
    let place = Place {
        kind: if is_direct { PlaceKind::Im } else { PlaceKind::Unknown },
        team: team.to_owned(),
        channel: channel.to_owned(),
        // Right behind what the office posted: under that `ts` the post itself comes back.
        ts: format!("{ts}1"),
        thread_ts: (!is_direct).then(|| ts.to_owned()),
    };
    let plain = [&place.team, &place.channel, &place.ts].into_iter().all(|part| is_plain(part));
    (plain && place.topic().is_some()).then(|| MessageReceived {
        text: Personal::of(escaped(&question.words), [question.by.clone()]),
        author: Author { principal: Some(question.by.clone()), external: question.user.clone(), bot: false },
        place,
        mentions_office: true,
        subtype: String::new(),
    })
}

impl Arrival<'_> {
    /// What a shortcut without a message, or a form, asks.
    pub(crate) fn of_form(&self, own: Option<&ConnectionIdentified>) -> Reason {
        if self.delivery.kind == SHORTCUT {
            return wanted(self.delivery, own).map_or_else(|reason| reason, |_| Reason::FormWanted);
        }
        question(self.delivery, own).map_or_else(|reason| reason, |_| Reason::FormQuestion)
    }
}

#[cfg(test)]
mod tests {
    use super::{begin, form, message, question, regret, wanted};
    use crate::fixture::own;
    use crate::{Arrival, Manner, Reason, classify, reply_to};
    use event::DeliveryReceived;
    use serde_json::{Value, json};

    fn shortcut() -> Value {
        json!({"type": "shortcut", "callback_id": "chancery.question", "trigger_id": "1.2.abc", "action_ts": "9.5",
            "team": {"id": "T1"}, "user": {"id": "U1", "team_id": "T1"}})
    }

    fn submission() -> Value {
        json!({"type": "view_submission", "team": {"id": "T1"}, "user": {"id": "U1", "team_id": "T1"},
            "view": {"id": "V1", "type": "modal", "callback_id": "chancery.question", "state": {"values": {
                "words": {"form.words": {"type": "plain_text_input", "value": " Why?\n<!here> & so on "}},
                "place": {"form.place": {"type": "conversations_select", "selected_conversation": "C1"}}}}}})
    }

    fn delivery(payload: Value) -> DeliveryReceived {
        DeliveryReceived {
            source: "slack".into(),
            kind: payload["type"].as_str().unwrap().into(),
            event: String::new(),
            subtype: String::new(),
            external_id: String::new(),
            retry: 0,
            payload: payload.into(),
        }
    }

    fn reason(payload: Value) -> Reason {
        classify(&Arrival::of(&delivery(payload)), false, Some(&own()), &Manner::default())
    }

    #[test]
    fn the_shortcut_opens_the_form_for_whoever_used_it() {
        let found = wanted(&delivery(shortcut()), Some(&own())).unwrap();
        assert_eq!((found.user.as_str(), found.trigger.as_str()), ("U1", "1.2.abc"));
        assert_eq!(reason(shortcut()), Reason::FormWanted);
        assert_eq!(form(&found, "Chancery")["title"], "Ask Chancery");
    }

    #[test]
    fn what_is_sent_is_a_message_of_whoever_sent_it_under_what_the_office_posts() {
        let found = question(&delivery(submission()), Some(&own())).unwrap();
        assert_eq!(reason(submission()), Reason::FormQuestion);
        assert_eq!(
            begin(&found),
            json!({"to": "C1", "user": "U1", "text": "asks:\n\n> Why?\n> <!here> & so on"})
        );
        let told = regret(&found, "chat.postMessage: the app is not there (`not_in_channel`)");
        assert!(
            told["text"].as_str().unwrap().starts_with("I could not ask this there: the app is not there. ")
        );
        assert!(told["text"].as_str().unwrap().ends_with("> Why?\n> <!here> & so on"));
        let said = message(&found, "T1", "C1", "7.000001").unwrap();
        assert_eq!(said.text.text(), "Why?\n&lt;!here&gt; &amp; so on");
        assert_eq!(
            (said.author.principal.as_ref().unwrap().as_str(), said.mentions_office),
            ("person_slack.T1.U1", true)
        );
        assert_eq!(said.place.key(), "T1:C1:7.0000011", "not the key of what the office posted");
        let reply = reply_to(&said.place).unwrap();
        assert_eq!(reply.destination, json!({"team": "T1", "channel": "C1", "thread_ts": "7.000001"}));
    }

    #[test]
    fn without_a_place_it_is_answered_in_direct_messages_and_in_no_thread() {
        let mut alone = submission();
        alone["view"]["state"]["values"]["place"]["form.place"]["selected_conversation"] = Value::Null;
        let found = question(&delivery(alone), Some(&own())).unwrap();
        assert_eq!(begin(&found)["to"], "U1");
        let reply = reply_to(&message(&found, "T1", "D1", "7.0").unwrap().place).unwrap();
        assert_eq!(reply.destination, json!({"team": "T1", "channel": "D1"}));
    }

    #[test]
    fn from_outside_of_a_program_or_odd_it_asks_nothing() {
        for (pointer, value, of_shortcut, of_form) in [
            ("/team/id", json!("T2"), Reason::ExternalPerson, Reason::ExternalPerson),
            ("/user/team_id", json!("T2"), Reason::ExternalPerson, Reason::ExternalPerson),
            ("/user/id", json!("U0BOT"), Reason::OwnAct, Reason::OwnAct),
            ("/user/id", json!("<!here>"), Reason::IncompleteMessage, Reason::IncompleteMessage),
        ] {
            for (mut payload, expected) in [(shortcut(), of_shortcut), (submission(), of_form)] {
                *payload.pointer_mut(pointer).unwrap() = value.clone();
                assert_eq!(reason(payload), expected, "{pointer}");
            }
        }
        let values = "/view/state/values";
        for (pointer, value, expected) in [
            ("/view/callback_id".to_owned(), json!("other"), Reason::ViewSubmission),
            (format!("{values}/words/form.words/value"), json!(" \n"), Reason::IncompleteMessage),
            (
                format!("{values}/place/form.place/selected_conversation"),
                json!("<!here>"),
                Reason::IncompleteMessage,
            ),
        ] {
            let mut payload = submission();
            *payload.pointer_mut(&pointer).unwrap() = value;
            assert_eq!(reason(payload), expected, "{pointer}");
        }
        for (key, value, expected) in [
            ("callback_id", json!("other"), Reason::Shortcut),
            ("trigger_id", json!("a b"), Reason::IncompleteMessage),
        ] {
            let mut payload = shortcut();
            payload[key] = value;
            assert_eq!(reason(payload), expected, "{key}");
        }
        assert_eq!(wanted(&delivery(shortcut()), None), Err(Reason::IdentityUnknown));
    }
}
