//! An answer that is seen to grow: one message, begun, added to and ended, and one effect however often Slack is called.
//!
//! Always: the whole text is here, and was let through, before its first piece leaves; every piece is a block that
//! [`crate::message`] composed, so what holds of a message holds of a piece; each block carries the effect's name, and
//! the message carries it in its metadata once it is whole, so [`crate::recall`] tells a whole one from one that broke
//! off. Once something stands in Slack nothing of it is posted again: what is missing is put into the same message by an
//! edit, and where Slack takes no edit, it follows in the thread. Whatever cannot be ended here is said to be unfinished,
//! with how much of it stands, and [`complete`] ends it later.
//!
//! Not streamed: what is short, what mentions somebody, and what holds an address, since a stream cannot be told to
//! unfold nothing. Source: docs.slack.dev/reference/methods/chat.startStream.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::{Api, Said};
use crate::ids::{ChannelId, EffectKey, TeamId, Ts, UserId};
use crate::message::{self, Message, body, in_thread, named};
use crate::text::Untrusted;

/// The fewest pieces that are worth a stream: below, the message is there at once.
const PIECES_MIN: usize = 3;
/// The most calls that add to a stream. Slack takes a hundred a minute of a workspace.
const APPENDS_MAX: usize = 6;
/// What an address has in it.
const ADDRESS: &str = "://";
/// Somebody took the message away.
const GONE: &str = "(`message_not_found`)";

/// Who sees a stream as it grows; in a channel everybody else sees it once it is whole.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipient {
    user: UserId,
    team: TeamId,
}

/// One streamed message: where it stands, and what it is to say.
struct Streamed<'a> {
    channel: &'a ChannelId,
    thread: &'a Ts,
    ts: Ts,
    text: Untrusted<'a>,
    sections: Vec<Value>,
    /// The effect whose name its blocks carry.
    key: &'a EffectKey,
    /// How many of the sections surely stand there.
    shown: usize,
    /// Whether more of them may.
    doubtful: bool,
}

/// Streams `message` to `to`: what `slack.post` gives back, or nothing when it is to be posted as it is.
///
/// # Errors
/// When nobody knows whether the stream began.
pub fn post(message: &Message, to: &Recipient, api: &Api) -> Result<Option<Value>, Failure> {
    let Some((thread, sections)) = message.thread.zip(sections(message)) else { return Ok(None) };
    let size = sections.len().div_ceil(APPENDS_MAX + 2);
    let (first, rest) = sections.split_at_checked(size).unwrap_or((&sections, &[]));
    let start = json!({
        "channel": message.channel.as_str(),
        "thread_ts": thread.as_str(),
        "recipient_user_id": to.user.as_str(),
        "recipient_team_id": to.team.as_str(),
        "chunks": chunks(first),
    });
    let answer = match api.ask("chat.startStream", &start)? {
        Said::Done(answer) => answer,
        // Nothing stands: the same words go as they always did.
        Said::No(_) => return Ok(None),
    };
    let ts = answer.get("ts").and_then(Value::as_str).and_then(|ts| Ts::try_from(ts.to_owned()).ok());
    let ts = ts.ok_or_else(|| {
        Failure::new(Kind::Malformed, "Slack began the message and does not say where: look in the thread")
    })?;
    let rest = rest.to_vec();
    let mut streamed = Streamed {
        channel: message.channel,
        thread,
        ts,
        text: message.text,
        shown: first.len(),
        sections,
        key: message.key,
        doubtful: false,
    };
    let ends = streamed.add(&rest, size, api);
    if ends && streamed.stop(api) { Ok(Some(streamed.whole())) } else { Ok(Some(streamed.edit(api))) }
}

/// The pieces, where the message is one that is streamed.
fn sections(message: &Message) -> Option<Vec<Value>> {
    if !message.mentions.is_empty() {
        return None;
    }
    let texts = message::streamed(message.text)?;
    let sections = blocks(&texts, message.key);
    let plain = !message.text.raw().contains(ADDRESS);
    (plain && sections.len() >= PIECES_MIN).then_some(sections)
}

/// The blocks of `texts`, each named after the effect and its place in it.
fn blocks(texts: &[String], key: &EffectKey) -> Vec<Value> {
    let named = |(n, text): (usize, &String)| {
        let mut block = message::section(text);
        if let Some(fields) = block.as_object_mut() {
            fields.insert("block_id".to_owned(), json!(format!("{}.{n}", key.as_str())));
        }
        block
    };
    texts.iter().enumerate().map(named).collect()
}

fn chunks(sections: &[Value]) -> Value {
    json!([{ "type": "blocks", "blocks": sections }])
}

impl Streamed<'_> {
    /// Adds all of `rest` but its last pieces, which [`Streamed::stop`] adds; whether the stream can be ended so.
    fn add(&mut self, rest: &[Value], size: usize, api: &Api) -> bool {
        let mut pieces = rest.chunks(size).peekable();
        while let Some(piece) = pieces.next().filter(|_| pieces.peek().is_some()) {
            let more =
                json!({ "channel": self.channel.as_str(), "ts": self.ts.as_str(), "chunks": chunks(piece) });
            match api.ask("chat.appendStream", &more) {
                Ok(Said::Done(_)) => self.shown += piece.len(),
                // The rest may still come with the end.
                Ok(Said::No(failure)) => return failure.kind == Kind::RateLimited,
                Err(_) => {
                    self.doubtful = true;
                    return false;
                }
            }
        }
        true
    }

    /// Ends the stream with what is missing; whether Slack says that the message is whole.
    fn stop(&mut self, api: &Api) -> bool {
        let missing = self.sections.get(self.shown..).unwrap_or_default();
        let mut end = self.at();
        if !missing.is_empty() {
            end.insert("chunks".to_owned(), chunks(missing));
        }
        named(&mut end, self.key);
        match api.ask("chat.stopStream", &Value::Object(end)) {
            Ok(Said::Done(_)) => true,
            Ok(Said::No(_)) => false,
            Err(_) => {
                self.doubtful = true;
                false
            }
        }
    }

    /// Puts the whole into the message by an edit; where that cannot be, what is missing follows in the thread.
    fn edit(&self, api: &Api) -> Value {
        // A stream that has not ended takes no edit, and one that has takes no end: whatever it answers is fine.
        drop(api.ask("chat.stopStream", &Value::Object(self.at())));
        let mut whole = body(self.channel, message::fallback("", self.text), self.sections.clone());
        whole.insert("ts".to_owned(), json!(self.ts.as_str()));
        named(&mut whole, self.key);
        match api.ask("chat.update", &Value::Object(whole)) {
            Ok(Said::Done(_)) => self.whole(),
            // It is not ours to bring back.
            Ok(Said::No(failure)) if failure.message.contains(GONE) => self.whole(),
            Ok(Said::No(failure)) if failure.kind != Kind::RateLimited && !self.doubtful => self.follow(api),
            _ => self.unfinished(),
        }
    }

    /// Posts what is missing into the thread.
    fn follow(&self, api: &Api) -> Value {
        let missing = self.sections.get(self.shown..).unwrap_or_default().to_vec();
        if missing.is_empty() {
            return self.whole();
        }
        let text = missing.iter().filter_map(|block| block.pointer("/text/text")?.as_str());
        let text = message::cut_fallback(&text.collect::<Vec<_>>().join("\n\n"));
        let mut post = body(self.channel, text, missing);
        in_thread(&mut post, Some(self.thread));
        named(&mut post, self.key);
        match api.ask("chat.postMessage", &Value::Object(post)) {
            Ok(Said::Done(_)) => self.output("rest", json!({ "messages": 2, "of": 2 })),
            _ => self.unfinished(),
        }
    }

    fn at(&self) -> Map<String, Value> {
        Map::from_iter([
            ("channel".to_owned(), json!(self.channel.as_str())),
            ("ts".to_owned(), json!(self.ts.as_str())),
        ])
    }

    fn whole(&self) -> Value {
        let mut output = self.at();
        output.insert("thread_ts".to_owned(), json!(self.thread.as_str()));
        Value::Object(output)
    }

    fn unfinished(&self) -> Value {
        self.output("unfinished", json!({ "shown": self.shown, "of": self.sections.len() }))
    }

    fn output(&self, name: &str, value: Value) -> Value {
        let mut output = self.whole();
        if let Some(fields) = output.as_object_mut() {
            fields.insert(name.to_owned(), value);
        }
        output
    }
}

/// The input of `slack.complete`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    channel: ChannelId,
    thread_ts: Ts,
    ts: Ts,
    text: String,
    effect: String,
    shown: usize,
}

/// Ends a message that broke off.
///
/// # Errors
/// [`Kind::InvalidInput`] when it is no message that is streamed; [`Kind::Unavailable`] when Slack does not take its end.
pub fn complete(input: Complete, api: &Api) -> Result<Value, Failure> {
    let text = Untrusted::new(&input.text);
    let key = EffectKey::parse(&input.effect)?;
    let texts = message::streamed(text)
        .ok_or_else(|| Failure::new(Kind::InvalidInput, "`text` is not one that is streamed"))?;
    let sections = blocks(&texts, &key);
    let streamed = Streamed {
        channel: &input.channel,
        thread: &input.thread_ts,
        ts: input.ts,
        text,
        shown: input.shown.min(sections.len()),
        sections,
        key: &key,
        doubtful: false,
    };
    let output = streamed.edit(api);
    match output.get("unfinished") {
        Some(_) => Err(Failure::new(Kind::Unavailable, "Slack did not take the end of the message")),
        None => Ok(output),
    }
}

#[cfg(test)]
mod tests;
