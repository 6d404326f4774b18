//! Where an answer goes and how what was said is labelled: both follow from the place alone.

use event::{Audience, Author, Integrity, Label, Place, PlaceKind, ReplyTo};
use serde_json::json;

/// The tool that sends into Slack.
pub const TOOL_SLACK: &str = "slack.post";
/// The tool that speaks at a terminal.
pub const TOOL_TERMINAL: &str = "terminal.say";

/// Whoever can read what is said at `place`.
fn audience(place: &Place) -> Audience {
    match place.kind {
        PlaceKind::Terminal => Audience::Terminal(place.channel.clone()),
        _ => Audience::SlackChannel { team: place.team.clone(), channel: place.channel.clone() },
    }
}

/// Where an answer to what was said at `place` goes: its thread in a channel, always under the thread's first
/// message; the conversation itself in a direct message, unless the message hangs in a thread; the session
/// at a terminal. Nothing when the place cannot be named.
#[must_use]
pub fn reply_to(place: &Place) -> Option<ReplyTo> {
    if place.channel.is_empty() {
        return None;
    }
    if place.kind == PlaceKind::Terminal {
        let destination = json!({ "session": place.channel });
        return Some(ReplyTo { tool: TOOL_TERMINAL.to_owned(), destination, audience: audience(place) });
    }
    let root = match (&place.thread_ts, place.kind) {
        (Some(root), _) => Some(root),
        // A direct message is one conversation; a thread for each line would hide it.
        (None, PlaceKind::Im) => None,
        (None, _) => Some(&place.ts),
    };
    let destination = match root {
        Some(root) if root.is_empty() => return None,
        Some(root) => json!({ "team": place.team, "channel": place.channel, "thread_ts": root }),
        None => json!({ "team": place.team, "channel": place.channel }),
    };
    Some(ReplyTo { tool: TOOL_SLACK.to_owned(), destination, audience: audience(place) })
}

/// The label of what `author` said at `place`: readable by whoever reads there.
///
/// Programs and people from outside are untrusted. Everyone else is *unknown*, which every check treats as
/// untrusted: a seat at a keyboard or an account in the workspace does not say whether its words may be
/// taken as instruction, and nothing here knows yet who may instruct the office. `Trusted` is kept for
/// what the host itself states.
#[must_use]
pub fn label_of(place: &Place, author: &Author, outside: bool) -> Label {
    let integrity = if outside || author.bot { Integrity::Untrusted } else { Integrity::Unknown };
    Label::within(audience(place), integrity)
}

#[cfg(test)]
mod tests {
    use super::{label_of, reply_to};
    use event::{Audience, Author, Integrity, Label, Place, PlaceKind};
    use serde_json::json;

    fn place(kind: PlaceKind, thread: Option<&str>) -> Place {
        let channel = if kind == PlaceKind::Terminal { "main" } else { "C1" };
        Place {
            kind,
            team: "T1".into(),
            channel: channel.into(),
            ts: "2.0".into(),
            thread_ts: thread.map(Into::into),
        }
    }

    #[test]
    fn an_answer_hangs_under_the_threads_first_message_and_never_under_a_reply() {
        for (kind, thread, destination) in [
            (PlaceKind::Channel, None, json!({"team": "T1", "channel": "C1", "thread_ts": "2.0"})),
            (PlaceKind::Channel, Some("1.0"), json!({"team": "T1", "channel": "C1", "thread_ts": "1.0"})),
            (PlaceKind::Unknown, None, json!({"team": "T1", "channel": "C1", "thread_ts": "2.0"})),
            (PlaceKind::Im, None, json!({"team": "T1", "channel": "C1"})),
            (PlaceKind::Im, Some("1.0"), json!({"team": "T1", "channel": "C1", "thread_ts": "1.0"})),
        ] {
            let reply = reply_to(&place(kind, thread)).unwrap();
            assert_eq!((reply.tool.as_str(), reply.destination), ("slack.post", destination));
            assert_eq!(reply.audience, Audience::SlackChannel { team: "T1".into(), channel: "C1".into() });
        }
    }

    #[test]
    fn a_terminal_is_answered_in_its_session() {
        let reply = reply_to(&place(PlaceKind::Terminal, Some("0"))).unwrap();
        assert_eq!((reply.tool.as_str(), reply.destination), ("terminal.say", json!({"session": "main"})));
        assert_eq!(reply.audience, Audience::Terminal("main".into()));
    }

    #[test]
    fn nobodys_words_are_trusted_as_instruction() {
        let author = |bot| Author { principal: None, external: "U1".into(), bot };
        let here = place(PlaceKind::Channel, None);
        let within = |integrity| {
            Label::within(Audience::SlackChannel { team: "T1".into(), channel: "C1".into() }, integrity)
        };
        assert_eq!(label_of(&here, &author(false), false), within(Integrity::Unknown));
        assert_eq!(label_of(&here, &author(false), true), within(Integrity::Untrusted));
        assert_eq!(label_of(&here, &author(true), false), within(Integrity::Untrusted));
    }
}
