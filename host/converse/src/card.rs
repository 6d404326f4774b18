//! What the card of a call that waits says, in Slack and at a terminal: the same words for both.
//!
//! Always holds: a card is made of what was asked and of nothing else, so whoever composes it twice composes the
//! same; it names the call's exact arguments and their digest. Deliberately absent: how it looks, which is the
//! tool's, and whether anybody may answer, which is the gate's.

use crate::arrival::SOURCE_SLACK;
use crate::live::place;
use crate::reply::TOOL_SLACK;
use event::{ApprovalAsked, Fact, PrincipalId, ReplyTo};
use serde_json::{Value, json};

/// The tool that shows a card.
pub const TOOL_CARD: &str = "slack.card";
/// The tool that changes a card to what was decided.
pub const TOOL_CARD_UPDATE: &str = "slack.card-update";
/// The tool that tells one person something.
pub const TOOL_WHISPER: &str = "slack.whisper";

/// Where the card of a call goes: the thread that is answered, when that is in Slack.
#[must_use]
pub fn destination(reply_to: &ReplyTo) -> Option<Value> {
    (reply_to.tool == TOOL_SLACK).then(|| place(&reply_to.destination))
}

/// Where a card is shown to one person alone, when they are a member of a workspace: a direct message of the office's.
#[must_use]
pub fn direct(person: &PrincipalId) -> Option<Value> {
    let (team, user) = person.as_str().strip_prefix(&format!("person_{SOURCE_SLACK}."))?.split_once('.')?;
    Some(json!({ "team": team, "channel": user }))
}

/// Arguments of [`TOOL_CARD`]: `destination` is where ([`destination`]), `arguments` the exact arguments as harmless
/// JSON text, `mention` the Slack users who are asked.
#[must_use]
pub fn asking(asked: &ApprovalAsked, arguments: &str, destination: &Value, mention: &[String]) -> Value {
    let mut input = said(asked, arguments);
    join(&mut input, destination);
    join(&mut input, &json!({ "until": until(asked) }));
    if !mention.is_empty() {
        join(&mut input, &json!({ "mention": mention }));
    }
    input
}

/// Arguments of [`TOOL_CARD_UPDATE`] for the card that stands at `ts` of `channel`.
#[must_use]
pub fn decided(asked: &ApprovalAsked, arguments: &str, channel: &str, ts: &str, state: &str) -> Value {
    let mut input = said(asked, arguments);
    let title = format!("Decided: {}", asked.tool);
    join(&mut input, &json!({ "channel": channel, "ts": ts, "state": state, "title": title }));
    input
}

/// `input` with whoever its `state` begins with named as Slack names its members, where they are one of the workspace
/// that it is for.
#[must_use]
pub fn by_member(mut input: Value, by: Option<&PrincipalId>) -> Value {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let named = by.and_then(|by| {
        let member = format!("person_{SOURCE_SLACK}.{}.", text("team")?);
        let state = text("state")?.strip_prefix(by.as_str())?.trim_start();
        Some(json!({ "by": by.as_str().strip_prefix(&member)?, "state": state }))
    });
    if let Some(named) = named {
        join(&mut input, &named);
    }
    input
}

/// Arguments of [`TOOL_WHISPER`].
#[must_use]
pub fn whisper(channel: &str, thread_ts: Option<&str>, user: &str, text: &str) -> Value {
    let mut input = json!({ "channel": channel, "user": user, "text": text });
    if let Some(thread) = thread_ts {
        join(&mut input, &json!({ "thread_ts": thread }));
    }
    input
}

/// `input` of [`TOOL_WHISPER`], with a button that opens `url`.
#[must_use]
pub fn with_link(mut input: Value, label: &str, url: &str) -> Value {
    join(&mut input, &json!({ "link": { "label": label, "url": url } }));
    input
}

/// `input`, for the workspace that `earlier` was for: what is said about a message goes where the message went.
#[must_use]
pub fn where_it_was(input: Value, earlier: Option<&Value>) -> Value {
    match earlier.and_then(|earlier| earlier.get("team")).and_then(Value::as_str) {
        Some(team) => in_workspace(input, team),
        None => input,
    }
}

/// `input`, for the workspace `team`.
#[must_use]
pub fn in_workspace(mut input: Value, team: &str) -> Value {
    join(&mut input, &json!({ "team": team }));
    input
}

/// How an approval was decided, in one sentence; nothing for a fact that decides none. `given_by` is who had said yes
/// to a call that was made.
#[must_use]
pub fn outcome(fact: &Fact, given_by: Option<&PrincipalId>) -> Option<String> {
    Some(match fact {
        Fact::ApprovalGiven(body) => format!("{} said yes. It runs once.", body.by),
        Fact::ApprovalDenied(body) => match body.reason.text().trim().trim_end_matches('.') {
            "" => format!("{} said no. It does not run.", body.by),
            reason => format!("{} said no: {reason}. It does not run.", body.by),
        },
        Fact::ApprovalExpired(_) => "Nobody answered in time, which is a no. It does not run.".to_owned(),
        Fact::ApprovalSpent(_) => match given_by {
            Some(by) => format!("{by} said yes, and the call was made."),
            None => "Somebody said yes, and the call was made.".to_owned(),
        },
        _ => return None,
    })
}

/// The card as lines of text, for a terminal.
#[must_use]
pub fn text(asked: &ApprovalAsked, arguments: &str) -> String {
    let lines = fields(asked).map(|(name, value)| format!("  {name}: {value}"));
    let arguments: Vec<String> = arguments.lines().map(|line| format!("    {line}")).collect();
    format!("{}\n{}\n{}\n  {}", title(asked), lines.join("\n"), arguments.join("\n"), until(asked))
}

fn said(asked: &ApprovalAsked, arguments: &str) -> Value {
    let field = |(name, value): (&str, String)| json!({ "name": name, "value": value });
    json!({
        "approval": asked.approval,
        "title": title(asked),
        "fields": fields(asked).map(field),
        "arguments": arguments,
        "digest": asked.content,
    })
}

fn title(asked: &ApprovalAsked) -> String {
    match asked.discloses {
        Some(_) => format!("May this be told? It was read with your account: {}", asked.tool),
        None => format!("This waits for a yes: {}", asked.tool),
    }
}

fn fields(asked: &ApprovalAsked) -> [(&'static str, String); 4] {
    [
        ("Tool", format!("{} ({})", asked.tool, asked.effect)),
        ("Touches", asked.resource.text().to_owned()),
        ("Wanted by", asked.seat.to_string()),
        ("Why a person is asked", why(asked.reason.text())),
    ]
}

/// A no of policy as the reason of a question: the card names the call already, and one policy's own words say more than
/// its name.
fn why(reason: &str) -> String {
    let no = reason.strip_prefix("policy denied ").and_then(|rest| rest.split_once("`: "));
    let why = no.map_or(reason, |(_, why)| why);
    let one = why.strip_prefix('`').and_then(|rest| rest.split_once("` forbids it ("));
    match one.and_then(|(id, because)| Some((id, because.strip_suffix(')')?))) {
        Some((id, because)) if !because.contains('`') => format!("{because} ({id})"),
        _ => why.to_owned(),
    }
}

fn until(asked: &ApprovalAsked) -> String {
    // Seconds are enough for a person; a moment prints with milliseconds.
    let moment = asked.expires_at.to_string();
    let seconds = moment.get(..19).unwrap_or(&moment).replace('T', " ");
    format!("Until {seconds} UTC; no answer is a no.")
}

/// Puts the members of `more` into `input`; both are objects.
fn join(input: &mut Value, more: &Value) {
    if let (Value::Object(input), Value::Object(more)) = (input, more) {
        input.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::{asking, by_member, decided, destination, direct, outcome, text};
    use event::{
        ApprovalAsked, ApprovalDenied, ApprovalExpired, ApprovalId, Audience, Digest, Fact, Origin,
        PrincipalId, ReplyTo, SeatId, Timestamp, TurnId,
    };
    use serde_json::json;

    fn asked() -> ApprovalAsked {
        ApprovalAsked {
            approval: ApprovalId::parse("approval_1").unwrap(),
            origin: Origin::Step { turn: TurnId::derived(&["t"]), step: 2, attempt: 1 },
            seat: SeatId::parse("seat_front-desk").unwrap(),
            topic: None,
            tool: "shredder.erase".into(),
            resource: "C01".to_owned().into(),
            input: json!({"page": "a"}).into(),
            content: Digest::of(b"x"),
            component: Digest::of(b"y"),
            effect: "destructive".into(),
            policies: vec!["consequential-asks".into()],
            reason: "what cannot be taken back waits".to_owned().into(),
            discloses: None,
            expires_at: Timestamp(1_796_057_279_123),
        }
    }

    #[test]
    fn a_card_goes_to_the_thread_that_is_answered_and_says_what_was_asked() {
        let here = json!({"channel": "C01", "thread_ts": "1.0"});
        let slack = ReplyTo {
            tool: "slack.post".into(),
            destination: here.clone(),
            audience: Audience::SlackChannel { team: "T1".into(), channel: "C01".into() },
        };
        assert_eq!(destination(&slack), Some(here.clone()));
        assert_eq!(destination(&ReplyTo { tool: "terminal.say".into(), ..slack }), None);
        let input = asking(&asked(), "{}", &here, &["U1".to_owned()]);
        assert_eq!(
            input,
            json!({
                "channel": "C01", "thread_ts": "1.0", "approval": "approval_1",
                "title": "This waits for a yes: shredder.erase",
                "fields": [
                    {"name": "Tool", "value": "shredder.erase (destructive)"},
                    {"name": "Touches", "value": "C01"},
                    {"name": "Wanted by", "value": "seat_front-desk"},
                    {"name": "Why a person is asked", "value": "what cannot be taken back waits"},
                ],
                "arguments": "{}", "digest": Digest::of(b"x"), "mention": ["U1"],
                "until": "Until 2026-11-30 16:47:59 UTC; no answer is a no.",
            })
        );
    }

    #[test]
    fn only_a_member_of_a_workspace_is_asked_alone_in_slack() {
        let of = |text: &str| direct(&PrincipalId::parse(text).unwrap());
        assert_eq!(of("person_slack.T1.U1"), Some(json!({"team": "T1", "channel": "U1"})));
        assert_eq!((of("person_operator"), of("person_slack.T1")), (None, None));
    }

    #[test]
    fn a_decided_card_says_the_same_and_how_it_was_decided() {
        let by = PrincipalId::parse("person_slack.T1.U1").unwrap();
        let (approval, origin) = (asked().approval, asked().origin);
        let seat = SeatId::parse("seat_owner").ok();
        let denied = |reason: &str| {
            let (approval, origin, by, seat) = (approval.clone(), origin.clone(), by.clone(), seat.clone());
            Fact::from(ApprovalDenied { approval, origin, by, seat, reason: reason.to_owned().into() })
        };
        let said = |fact: &Fact| outcome(fact, None).unwrap();
        assert_eq!(said(&denied("")), "person_slack.T1.U1 said no. It does not run.");
        assert_eq!(said(&denied("not now")), "person_slack.T1.U1 said no: not now. It does not run.");
        let expired: Fact = ApprovalExpired { approval, origin }.into();
        assert!(said(&expired).contains("in time"));
        assert_eq!(outcome(&Fact::ApprovalAsked(asked()), None), None);
        let input = decided(&asked(), "{}", "C01", "2.0", "x");
        assert_eq!(
            (&input["ts"], &input["state"], &input["arguments"]),
            (&json!("2.0"), &json!("x"), &json!("{}"))
        );
        assert!(input.get("until").is_none());
    }

    #[test]
    fn why_a_person_is_asked_is_what_the_policy_says() {
        for (reason, why) in [
            (
                "policy denied `a.b` on `C01: x`: `consequential-asks` forbids it (what goes waits)",
                "what goes waits (consequential-asks)",
            ),
            (
                "policy denied `a.b` on `x`: `a` forbids it (y) and `b` forbids it (z)",
                "`a` forbids it (y) and `b` forbids it (z)",
            ),
            (
                "`a.b` does not declare what it may do outside",
                "`a.b` does not declare what it may do outside",
            ),
        ] {
            assert_eq!(super::why(reason), why);
        }
    }

    #[test]
    fn who_decided_is_named_as_a_member_of_their_own_workspace_alone() {
        let by = PrincipalId::parse("person_slack.T1.U1").unwrap();
        let of = |team: &str, state: &str| by_member(json!({"team": team, "state": state}), Some(&by));
        let said = "person_slack.T1.U1 said yes. It runs once.";
        assert_eq!(of("T1", said), json!({"team": "T1", "by": "U1", "state": "said yes. It runs once."}));
        for (team, state) in [("T2", said), ("T1", "Nobody answered.")] {
            assert_eq!(of(team, state), json!({"team": team, "state": state}));
        }
    }

    #[test]
    fn at_a_terminal_it_is_lines() {
        let lines = text(&asked(), "{\n  \"page\": \"a\"\n}");
        assert!(lines.starts_with("This waits for a yes: shredder.erase\n  Tool: "), "{lines}");
        assert!(
            lines.contains("\n      \"page\": \"a\"\n") && lines.ends_with("no answer is a no."),
            "{lines}"
        );
    }
}
