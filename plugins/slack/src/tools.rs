//! The tools: typed input, one call of the API, typed output.

use guest::{Failure, Kind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::{Api, Said};
use crate::card::{Card, Field, Place, compose_card, compose_decided};
use crate::ids::{ApprovalId, ChannelId, Destination, EffectKey, Emoji, Ts, UserId, is_emoji};
use crate::long::{self, Posted};
use crate::message::{Link, Message, compose_whisper};
use crate::recall::{self, Stands};
use crate::stream::{self, Recipient};
use crate::text::{Mention, Untrusted};

/// The input of `slack.post`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Post {
    channel: ChannelId,
    thread_ts: Option<Ts>,
    text: String,
    #[serde(default)]
    mention: Vec<UserId>,
    stream: Option<Recipient>,
}

/// Posts a message: as one that is seen to grow where that is wanted and it is one that can, else as it is.
///
/// # Errors
/// See [`long::post`] and [`placed`].
pub fn post(input: Post, key: &str, api: &Api) -> Result<Value, Failure> {
    let mentions = mentions(input.mention);
    let message = Message {
        channel: &input.channel,
        thread: input.thread_ts.as_ref(),
        mentions: &mentions,
        text: Untrusted::new(&input.text),
        key: &EffectKey::parse(key)?,
    };
    if let Some(to) = &input.stream
        && let Some(output) = stream::post(&message, to, api)?
    {
        return Ok(output);
    }
    let Posted { mut output, rest } = long::post(&message, api)?;
    if let (Some(fields), Some(rest)) = (output.as_object_mut(), rest) {
        fields.insert("rest".to_owned(), rest);
    }
    Ok(output)
}

/// Each of them once.
pub fn mentions(users: Vec<UserId>) -> Vec<Mention> {
    let mut asked: Vec<UserId> = Vec::new();
    for user in users {
        if !asked.contains(&user) {
            asked.push(user);
        }
    }
    asked.into_iter().map(Mention::new).collect()
}

/// What was posted, where it was to stand: in `thread`, if it was to be a reply. A reply whose thread is gone, which Slack
/// puts into the channel instead, is taken back: nobody there has asked for it. An answer that leaves out where it stands
/// proves nothing: then it is read back, and what is not found in the channel stays.
///
/// # Errors
/// [`Kind::Malformed`] when the answer does not name the message; [`Kind::NotFound`] when it was taken back.
pub fn placed(answer: &Value, thread: Option<&Ts>, api: &Api) -> Result<Value, Failure> {
    let mut output = posted(answer, thread.is_some())?;
    let Some(thread) = thread.filter(|_| output.get("thread_ts").is_some_and(Value::is_null)) else {
        return Ok(output);
    };
    let text = |key: &str| output.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (channel, ts) = (text("channel"), text("ts"));
    match recall::stands(&channel, &ts, thread, api) {
        Stands::InThread => {
            if let Some(fields) = output.as_object_mut() {
                fields.insert("thread_ts".to_owned(), json!(thread.as_str()));
            }
            Ok(output)
        }
        Stands::InChannel => taken_back(output, &json!({ "channel": channel, "ts": ts }), api),
        // Perhaps it cannot be read, perhaps it is not shown yet: the output says that nobody knows.
        Stands::Unknown => Ok(output),
    }
}

fn taken_back(output: Value, at: &Value, api: &Api) -> Result<Value, Failure> {
    match api.ask("chat.delete", at) {
        Ok(Said::Done(_)) => {
            let message = "the message that this was a reply to is gone, and Slack put it into the channel: it was \
                           taken back";
            Err(Failure::new(Kind::NotFound, message))
        }
        // It stands there, and the output says so.
        Ok(Said::No(_)) | Err(_) => Ok(output),
    }
}

/// What Slack says it posted, and not what was asked: a reply to a deleted message may have gone to the
/// channel. `thread_ts` is null where a reply was asked for and Slack does not say that it is one, and absent where none
/// was asked and none is there.
fn posted(answer: &Value, in_thread: bool) -> Result<Value, Failure> {
    let text = |path: &str| answer.pointer(path).and_then(Value::as_str);
    let (Some(channel), Some(ts)) = (text("/channel"), text("/ts")) else {
        let message =
            "Slack posted the message and does not say where: look in the channel before posting again";
        return Err(Failure::new(Kind::Malformed, message));
    };
    let mut output = json!({ "channel": channel, "ts": ts });
    let thread = text("/message/thread_ts");
    if let Some(fields) = output.as_object_mut().filter(|_| in_thread || thread.is_some()) {
        fields.insert("thread_ts".to_owned(), json!(thread));
    }
    Ok(output)
}

/// The input of `slack.card`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewCard {
    channel: Destination,
    thread_ts: Option<Ts>,
    approval: ApprovalId,
    title: String,
    #[serde(default)]
    fields: Vec<Field>,
    arguments: String,
    digest: String,
    until: String,
    #[serde(default)]
    mention: Vec<UserId>,
}

/// Posts the card of a call that waits.
///
/// # Errors
/// See [`compose_card`] and [`Api::send`]; [`Kind::Malformed`] when the answer does not name the message.
pub fn card(input: NewCard, key: &str, api: &Api) -> Result<Value, Failure> {
    let NewCard { channel, thread_ts, approval, title, fields, arguments, digest, until, mention } = input;
    let (mentions, channel) = (mentions(mention), channel.into());
    let place = Place { channel: &channel, thread: thread_ts.as_ref(), mentions: &mentions };
    let card = Card { approval, title, fields, arguments, digest };
    let body = compose_card(&card, &place, &until, &EffectKey::parse(key)?)?;
    placed(&api.send("chat.postMessage", &body)?, thread_ts.as_ref(), api)
}

/// The input of `slack.card-update`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecidedCard {
    channel: ChannelId,
    ts: Ts,
    approval: ApprovalId,
    title: String,
    #[serde(default)]
    fields: Vec<Field>,
    arguments: String,
    digest: String,
    state: String,
    /// Whom the state is of: named before it.
    by: Option<UserId>,
}

/// Changes a card to what was decided.
///
/// # Errors
/// See [`compose_decided`] and [`Api::send`].
pub fn card_update(input: DecidedCard, api: &Api) -> Result<Value, Failure> {
    let DecidedCard { channel, ts, approval, title, fields, arguments, digest, state, by } = input;
    let card = Card { approval, title, fields, arguments, digest };
    let by = by.map(Mention::new);
    api.send("chat.update", &compose_decided(&card, (&channel, &ts), &state, by.as_ref())?)?;
    Ok(json!({ "channel": channel.as_str(), "ts": ts.as_str() }))
}

/// The input of `slack.whisper`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Whisper {
    channel: ChannelId,
    thread_ts: Option<Ts>,
    user: UserId,
    text: String,
    link: Option<Link>,
}

/// Says something that one person sees.
///
/// # Errors
/// See [`compose_whisper`] and [`Api::send`].
pub fn whisper(input: Whisper, api: &Api) -> Result<Value, Failure> {
    let text = Untrusted::new(&input.text);
    let (thread, link) = (input.thread_ts.as_ref(), input.link.as_ref());
    let body = compose_whisper(&input.channel, thread, &input.user, text, link)?;
    api.send("chat.postEphemeral", &body)?;
    Ok(json!({ "channel": input.channel.as_str(), "user": input.user.as_str() }))
}

/// The input of `slack.react`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct React {
    channel: ChannelId,
    ts: Ts,
    emoji: Emoji,
}

/// Puts an emoji on a message. One that is there already is what was wanted.
///
/// # Errors
/// See [`Api::send`].
pub fn react(input: React, api: &Api) -> Result<Value, Failure> {
    let (channel, ts, emoji) = (input.channel.as_str(), input.ts.as_str(), input.emoji.as_str());
    let body = json!({ "channel": channel, "timestamp": ts, "name": emoji });
    api.ensure("reactions.add", &body, "already_reacted")?;
    Ok(json!({ "channel": channel, "ts": ts, "emoji": emoji }))
}

/// The input of `slack.identity`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {}

/// Who the bot is.
#[derive(Debug, Serialize)]
struct Bot<'a> {
    team: &'a str,
    bot_user: &'a str,
    bot: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<&'a str>,
    name: &'a str,
    /// What the token was granted, where Slack says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
}

/// Asks Slack who the token belongs to.
///
/// # Errors
/// See [`Api::get`]; [`Kind::NotAllowed`] when it belongs to a person, [`Kind::Malformed`] when the answer
/// leaves something out.
pub fn identity(_: Identity, api: &Api) -> Result<Value, Failure> {
    let (answer, scopes) = api.get_with_scopes("auth.test")?;
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let needed = |key: &str| {
        text(key).ok_or_else(|| {
            Failure::new(Kind::Malformed, format!("Slack's answer to auth.test has no `{key}`"))
        })
    };
    let person = || Failure::new(Kind::NotAllowed, "the token belongs to a person: use a bot token (xoxb-…)");
    let bot = Bot {
        team: needed("team_id")?,
        bot_user: needed("user_id")?,
        bot: text("bot_id").ok_or_else(person)?,
        app: text("app_id"),
        name: needed("user")?,
        scopes,
    };
    serde_json::to_value(bot)
        .map_err(|e| Failure::new(Kind::Malformed, format!("the identity is not JSON: {e}")))
}

/// The names of the emoji that the workspace made itself, in order.
///
/// # Errors
/// See [`Api::get`].
pub fn emoji(_: Identity, api: &Api) -> Result<Value, Failure> {
    let answer = api.get("emoji.list")?;
    let names = answer.get("emoji").and_then(Value::as_object).into_iter().flat_map(|all| all.keys());
    let mut names: Vec<&str> = names.map(String::as_str).filter(|name| is_emoji(name)).collect();
    names.sort_unstable();
    Ok(json!({ "names": names }))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use guest::http::{Ask, Method, Reply, Wire};
    use guest::{Call, Host, Level};

    use super::*;
    use crate::answer;
    use crate::tests::{Told, asked_of};

    /// Answers every request alike, and keeps what was asked.
    struct Canned {
        status: u16,
        body: Value,
        asked: RefCell<Vec<Ask>>,
    }

    impl Wire for Canned {
        fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
            self.asked.borrow_mut().push(ask.clone());
            let body = self.body.to_string().into_bytes();
            Ok(Reply { status: self.status, headers: Vec::new(), body, cut: false })
        }
    }

    struct Office {
        api: Option<Value>,
        token: bool,
    }

    impl Host for Office {
        fn setting(&self, key: &str) -> Option<Value> {
            self.api.clone().filter(|_| key == "api")
        }

        fn credential_exists(&self, reference: &str) -> bool {
            self.token && reference == "slack.bot-token"
        }

        fn log(&self, _level: Level, _line: &str) {}
    }

    const OFFICE: Office = Office { api: None, token: true };

    fn canned(body: Value) -> Canned {
        Canned { status: 200, body, asked: RefCell::default() }
    }

    fn call(tool: &str, input: Value) -> Call {
        Call { tool: tool.to_owned(), input, key: "effect_1".to_owned() }
    }

    #[test]
    fn a_post_is_one_request_without_a_token_of_ours() {
        let wire =
            canned(json!({"ok": true, "channel": "C012", "ts": "2.0", "message": {"thread_ts": "1.0"}}));
        let input =
            json!({"channel": "C012", "thread_ts": "1.0", "text": "Hello", "mention": ["U012", "U012"]});
        let output = answer(&call("slack.post", input), &OFFICE, &wire);
        assert_eq!(output, Ok(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"})));
        let asked = wire.asked.into_inner();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].method, Method::Post);
        assert_eq!(asked[0].address.to_string(), "https://slack.com/api/chat.postMessage");
        assert_eq!(asked[0].headers, [("content-type", "application/json; charset=utf-8")]);
        let body: Value = serde_json::from_slice(&asked[0].body).unwrap();
        assert_eq!(body["text"], "<@U012> Hello");
        assert_eq!(body["metadata"]["event_payload"], json!({"key": "effect_1"}));
    }

    #[test]
    fn a_reply_is_taken_back_only_where_it_is_found_in_the_channel() {
        let reply = json!({"channel": "C012", "thread_ts": "1.0", "text": "Hello"});
        let there = json!({"channel": "C012", "ts": "2.0", "thread_ts": null});
        let known = json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"});
        let page = |messages: Value| Told::Ok(json!({"ok": true, "messages": messages, "has_more": false}));
        let in_thread =
            || page(json!([{"ts": "1.0", "thread_ts": "1.0"}, {"ts": "2.0", "thread_ts": "1.0"}]));
        let in_channel = || page(json!([{"ts": "2.0", "text": "Hello"}]));
        let none = || page(json!([]));
        // Whatever the answer of the post leaves out.
        for silent in [
            json!({"ok": true, "channel": "C012", "ts": "2.0"}),
            json!({"ok": true, "channel": "C012", "ts": "2.0", "message": {"text": "Hello"}}),
        ] {
            for (read, output) in [
                (vec![in_thread()], Ok(known.clone())),
                (vec![none(), none()], Ok(there.clone())),
                (vec![Told::No("missing_scope")], Ok(there.clone())),
                (vec![Told::Lost], Ok(there.clone())),
                (vec![none(), Told::Wait], Ok(there.clone())),
                // Shown in the channel too, and a reply all the same.
                (vec![none(), page(json!([{"ts": "2.0", "thread_ts": "1.0"}]))], Ok(known.clone())),
                (
                    vec![Told::No("thread_not_found"), in_channel(), Told::Ok(json!({"ok": true}))],
                    Err(Kind::NotFound),
                ),
                (vec![none(), in_channel(), Told::No("cant_delete_message")], Ok(there.clone())),
                (vec![none(), in_channel(), Told::Lost], Ok(there.clone())),
            ] {
                let deletes = read.len() == 3;
                let told: Vec<Told> = [Told::Ok(silent.clone())].into_iter().chain(read).collect();
                let (came, asked) = asked_of(call("slack.post", reply.clone()), &told);
                assert_eq!(came.map_err(|failure| failure.kind), output, "{told:?}");
                let deleted = ("chat.delete".to_owned(), json!({"channel": "C012", "ts": "2.0"}));
                assert_eq!(asked.last() == Some(&deleted), deletes, "{asked:?}");
            }
        }
        let wire = canned(json!({"ok": true, "channel": "C012", "ts": "2.0"}));
        let top =
            answer(&call("slack.post", json!({"channel": "C012", "text": "Hello"})), &OFFICE, &wire).unwrap();
        assert_eq!(top, json!({"channel": "C012", "ts": "2.0"}));
    }

    #[test]
    fn a_name_in_place_of_an_id_is_invalid_and_never_sent() {
        let wire = canned(json!({"ok": true}));
        for input in [
            json!({"channel": "#general", "text": "Hello"}),
            json!({"channel": "C012", "text": "Hello", "mention": ["here"]}),
            json!({"channel": "C012", "text": "Hello", "mention": ["U012> <!channel"]}),
            json!({"channel": "C012", "text": "Hello", "thread_ts": "now"}),
            json!({"channel": "C012", "text": "Hello", "unfurl_links": true}),
        ] {
            let failure = answer(&call("slack.post", input.clone()), &OFFICE, &wire).unwrap_err();
            assert_eq!(failure.kind, Kind::InvalidInput, "{input}");
        }
        assert!(wire.asked.into_inner().is_empty());
    }

    #[test]
    fn without_a_token_the_failure_says_what_is_missing() {
        let wire = canned(json!({"ok": true}));
        let office = Office { api: None, token: false };
        let failure = answer(&call("slack.identity", json!({})), &office, &wire).unwrap_err();
        assert_eq!(failure.kind, Kind::NotAllowed);
        assert!(failure.message.contains("`slack.bot-token`"), "{}", failure.message);
        assert!(wire.asked.into_inner().is_empty());
    }

    #[test]
    fn the_operator_may_put_the_api_elsewhere() {
        for base in ["http://127.0.0.1:3900/api", "http://127.0.0.1:3900/api/"] {
            let wire = canned(
                json!({"ok": true, "team_id": "T1", "user_id": "U1", "bot_id": "B1", "user": "brain"}),
            );
            let office = Office { api: Some(json!(base)), token: true };
            let output = answer(&call("slack.identity", json!({})), &office, &wire);
            assert_eq!(output, Ok(json!({"team": "T1", "bot_user": "U1", "bot": "B1", "name": "brain"})));
            let asked = wire.asked.into_inner();
            assert_eq!(asked[0].address.to_string(), "http://127.0.0.1:3900/api/auth.test");
            assert_eq!((asked[0].method, asked[0].body.len()), (Method::Get, 0));
        }
        for bad in [json!(7), json!("slack.com/api/"), json!("ftp://slack.com/")] {
            let office = Office { api: Some(bad), token: true };
            let failure =
                answer(&call("slack.identity", json!({})), &office, &canned(json!({}))).unwrap_err();
            assert_eq!(failure.kind, Kind::Other("misconfigured"));
        }
    }

    #[test]
    fn the_workspace_chooses_the_token_and_says_nothing_to_slack() {
        let wire = canned(json!({"ok": true, "channel": "C012", "ts": "2.0"}));
        let input = json!({"team": "T012", "channel": "C012", "text": "Hello"});
        answer(&call("slack.post", input), &OFFICE, &wire).unwrap();
        let sent: Value = serde_json::from_slice(&wire.asked.into_inner()[0].body).unwrap();
        assert!(!sent.to_string().contains("T012"), "{sent}");
        for tool in crate::definitions::all() {
            assert_eq!(tool.input_schema["properties"]["team"]["type"], "string", "{}", tool.name);
        }
    }

    #[test]
    fn the_emoji_of_a_workspace_are_names_and_nothing_else() {
        let wire = canned(json!({"ok": true, "emoji": {"party-parrot": "https://x.example/p.gif",
            "shipit": "alias:squirrel", "<!here>": "x", "Übel": "x"}}));
        let output = answer(&call("slack.emoji", json!({})), &OFFICE, &wire);
        assert_eq!(output, Ok(json!({"names": ["party-parrot", "shipit"]})));
        assert_eq!(wire.asked.into_inner()[0].method, Method::Get);
    }

    #[test]
    fn the_token_of_a_person_is_not_allowed() {
        let wire = canned(json!({"ok": true, "team_id": "T1", "user_id": "U1", "user": "alice"}));
        let failure = answer(&call("slack.identity", json!({})), &OFFICE, &wire).unwrap_err();
        assert_eq!(failure.kind, Kind::NotAllowed);
    }

    #[test]
    fn a_reaction_that_is_there_already_is_done() {
        let input = json!({"channel": "C012", "ts": "1.0", "emoji": "eyes"});
        for body in [json!({"ok": true}), json!({"ok": false, "error": "already_reacted"})] {
            let wire = canned(body);
            let output = answer(&call("slack.react", input.clone()), &OFFICE, &wire);
            assert_eq!(output, Ok(input.clone()));
            let sent: Value = serde_json::from_slice(&wire.asked.into_inner()[0].body).unwrap();
            assert_eq!(sent, json!({"channel": "C012", "timestamp": "1.0", "name": "eyes"}));
        }
        let wire = canned(json!({"ok": false, "error": "message_not_found"}));
        assert_eq!(answer(&call("slack.react", input), &OFFICE, &wire).unwrap_err().kind, Kind::NotFound);
    }
}
