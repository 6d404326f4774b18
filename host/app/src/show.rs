//! Events and turns as people read them in a terminal.
//!
//! Everything that came from outside is printed with its control characters made visible: a message cannot
//! move the cursor or forge a line.

use event::{Event, Fact, StreamName, TurnId};
use front::visible::steers;

/// The most characters of one text on one line.
const TEXT_CHARS_MAX: usize = 160;

/// One event on one line: position, time, kind, stream, and what it says.
#[must_use]
pub fn line(event: &Event) -> String {
    format!(
        "{:>6}  {}  {:<24} {}  [{}]",
        event.global_position,
        event.at,
        event.fact.kind(),
        summary(&event.fact),
        event.stream
    )
}

/// `text` on one line, safe to print, cut at [`TEXT_CHARS_MAX`].
#[must_use]
pub fn short(text: &str) -> String {
    let mut shown = one_line(&text.chars().take(TEXT_CHARS_MAX).collect::<String>());
    if text.chars().count() > TEXT_CHARS_MAX {
        shown.push('…');
    }
    shown
}

/// `text` with control characters and those that steer a terminal written out; all else stays. Doing it twice
/// is doing it once.
pub(crate) fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || steers(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// A JSON text that means the same and is safe to print: what steers a terminal stands as `\uXXXX`.
#[must_use]
pub fn printable_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || steers(c) {
            // JSON writes characters beyond the first plane as two units.
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// What a fact says, shortly.
#[must_use]
pub fn summary(fact: &Fact) -> String {
    let said = office(fact)
        .or_else(|| conversation(fact))
        .or_else(|| turn(fact))
        .or_else(|| approval(fact))
        .unwrap_or_else(|| call(fact));
    // Whatever a kind forgets to shorten is made safe here.
    one_line(&said)
}

fn office(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::NodeStarted(b) => format!("{} runs chancery {}", b.node, b.version),
        Fact::SeatCreated(b) => format!("{} in role {} may call {}", b.seat, b.role, b.grants.join(", ")),
        Fact::SeatChanged(b) => format!(
            "{} in role {} may call {}: {}",
            b.now.seat,
            b.now.role,
            b.now.grants.join(", "),
            short(&b.reason)
        ),
        Fact::SeatHeld(b) => format!("{} is held by {}", b.seat, b.principal),
        Fact::SeatVacated(b) => format!("{} is vacant: {}", b.seat, short(&b.reason)),
        Fact::PolicyProposed(b) => {
            format!("set {} instead of {}: {}", b.digest.short(), b.base.short(), short(&b.reason))
        }
        Fact::PolicyRevoked(b) => format!("`{}` counts no more: {}", short(&b.policy), short(&b.reason)),
        Fact::PluginRevoked(b) => format!("{} may reach nothing: {}", b.plugin, short(&b.reason)),
        Fact::RefusalRaised(b) => {
            let until = b.lifts_at.map_or_else(String::new, |at| format!(" until {at}"));
            format!("{} is refused{until}: {}", b.subject, short(&b.reason))
        }
        Fact::RefusalLifted(b) => format!("{} is refused no more: {}", b.subject, short(&b.reason)),
        Fact::PolicyApplied(b) => {
            let names: Vec<&str> = b.files.iter().map(|file| file.name.as_str()).collect();
            format!("set {} of {}", b.digest.short(), names.join(", "))
        }
        Fact::PricesListed(b) => format!("list {} of {} prices", b.digest.short(), b.prices.len()),
        Fact::BudgetSet(b) => {
            let why = if b.reason.is_empty() { String::new() } else { format!(": {}", short(&b.reason)) };
            format!("{} is {}{why}", b.budget, b.limit)
        }
        Fact::PluginInstalled(b) if b.world == "guard" => {
            format!("{} {} {} guards the door", b.plugin, b.version, b.digest.short())
        }
        Fact::PluginInstalled(b) => {
            format!("{} {} {} offers {}", b.plugin, b.version, b.digest.short(), b.tools.join(", "))
        }
        Fact::PluginGranted(b) if !b.handles.is_empty() => {
            let handles: Vec<&str> = b.handles.iter().map(|handle| handle.word()).collect();
            format!("{} is given the office's {}", b.plugin, handles.join(", "))
        }
        Fact::PluginGranted(b) => {
            let routes: Vec<String> =
                b.routes.iter().map(|r| format!("{} {}{}", r.methods.join("/"), r.origin, r.path)).collect();
            format!(
                "{} may reach {}",
                b.plugin,
                if routes.is_empty() { "nothing".into() } else { routes.join(", ") }
            )
        }
        Fact::PluginProposed(b) => {
            let (plugin, digest) = (&b.version.plugin, b.version.digest.short());
            format!("{plugin} {} {digest} waits: {}", b.version.version, short(&b.more.join("; ")))
        }
        Fact::PluginRemoved(b) => format!("{} is no longer there: {}", b.plugin, short(&b.reason)),
        Fact::ComponentRevoked(b) => {
            format!("{} of {} is never run again: {}", b.digest.short(), b.plugin, short(&b.reason))
        }
        Fact::CallTried(b) => format!("{} tries {} in {}", b.by, b.tool, b.seat),
        Fact::SubjectShredded(b) => {
            format!("{} is erased with {}: {}", b.subject, b.keys.join(", "), short(&b.reason))
        }
        Fact::ConnectionIdentified(b) => format!("on {} {} the office is {}", b.source, b.team, b.user),
        Fact::ConnectionInstalled(b) => {
            let ends = b.expires_at.map_or_else(String::new, |at| format!(", for now until {at}"));
            format!("in {} {} by {}{ends}", b.source, short(&b.team), short(&b.by))
        }
        Fact::ConnectionRenewed(b) => {
            let ends = b.expires_at.map_or_else(|| "for good".to_owned(), |at| format!("until {at}"));
            format!("{} {} {ends}", b.source, short(&b.team))
        }
        Fact::ConnectionEnded(b) => format!("{} {}: {}", b.source, short(&b.team), short(&b.reason)),
        _ => return None,
    })
}

fn conversation(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::DeliveryReceived(b) => {
            let retry = if b.retry > 0 { format!(" (retry {})", b.retry) } else { String::new() };
            format!("{} {} {} {}{retry}", b.source, short(&b.kind), short(&b.event), short(&b.subtype))
        }
        Fact::DeliveryClassified(b) => format!("{:?}: {}", b.class, b.reason).to_lowercase(),
        Fact::MessageReceived(b) => {
            let author =
                b.author.principal.as_ref().map_or(b.author.external.as_str(), event::PrincipalId::as_str);
            format!("{} in {}: \"{}\"", short(author), short(&b.place.channel), short(b.text.text()))
        }
        Fact::MessageMerged(b) => format!("{} via {}", b.message, short(&b.via)),
        Fact::MessageEdited(b) => format!("{} says now: \"{}\"", b.message, short(b.text.text())),
        Fact::MessageDeleted(b) => format!("{} in {}", b.message, short(&b.place.channel)),
        Fact::TriageDecided(b) => {
            format!("{} about {} in {} ({}): {}", b.choice, b.message, short(&b.channel), b.mode, b.reason)
        }
        Fact::ModeSet(b) => format!("{} is {}: {}", short(&b.channel), b.mode, short(&b.reason)),
        Fact::TopicMuted(b) => format!("{} by {}", b.topic, b.by),
        Fact::TopicUnmuted(b) => format!("{} by {}", b.topic, b.by),
        Fact::AccountConnected(b) => format!("{} of {}", short(&b.credential), b.owner),
        Fact::AccountDisconnected(b) => {
            format!("{} of {}: {}", short(&b.credential), b.owner, short(&b.reason))
        }
        Fact::AccountWanted(b) => format!("{} of {} for {}", short(&b.service), b.owner, short(&b.tool)),
        Fact::DisclosureSet(b) => format!("{} to {} destinations", b.owner, b.destinations.len()),
        Fact::EmojiListed(b) => format!("{} of {}", b.names.len(), short(&b.team)),
        _ => return None,
    })
}

/// In which seat somebody answered; of what is their own they answer in none.
fn in_seat(seat: Option<&event::SeatId>) -> String {
    seat.map_or_else(|| " for what is theirs".to_owned(), |seat| format!(" as {seat}"))
}

fn approval(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::ApprovalAsked(b) => format!(
            "{} {} wants {} on {} by {}: {}",
            b.approval,
            b.seat,
            short(&b.tool),
            short(b.resource.text()),
            b.expires_at,
            short(b.reason.text())
        ),
        Fact::ApprovalGiven(b) => format!("{} yes by {}{}", b.approval, b.by, in_seat(b.seat.as_ref())),
        Fact::ApprovalDenied(b) => {
            format!("{} no by {}{}: {}", b.approval, b.by, in_seat(b.seat.as_ref()), short(b.reason.text()))
        }
        Fact::ApprovalExpired(b) => format!("{} nobody answered in time", b.approval),
        Fact::ApprovalGivenAhead(b) => {
            format!(
                "{} may {} on {}, says {}: {}",
                b.seat,
                short(&b.tool),
                short(b.resource.text()),
                b.by,
                short(b.reason.text())
            )
        }
        Fact::ApprovalWithdrawn(b) => {
            format!("{} must ask again for {}: {}", b.seat, short(&b.tool), short(b.reason.text()))
        }
        Fact::ApprovalSpent(b) => format!("{} used by {}", b.approval, b.origin),
        _ => return None,
    })
}

fn turn(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::RequestAsked(b) => {
            format!("{} asks {} by {}: {}", b.asker, b.holder, b.due_at, short(b.wanted.text()))
        }
        Fact::RequestAnswered(b) => format!("{} answers {}: {}", b.by, b.asker, short(b.answer.text())),
        Fact::RequestLapsed(b) => format!("{} did not answer {}", b.holder, b.asker),
        Fact::MomentSet(b) => format!("{} looks at {} again at {}", b.seat, b.topic, b.at),
        Fact::MomentPassed(b) => format!("{} looks at {} again", b.seat, b.topic),
        Fact::TurnOpened(b) => {
            let asked = b.asked.as_ref().map_or_else(String::new, |asked| format!(" for {asked}"));
            let drill = if b.drill { ", a drill" } else { "" };
            format!("{}{asked} about {} with {}{drill}", b.seat, b.topic, b.model)
        }
        Fact::TurnEnded(b) => format!("{:?} {}", b.ending, short(b.summary.text())),
        Fact::TurnSteered(b) => {
            let by = b.by.as_ref().map_or("somebody", event::PrincipalId::as_str);
            format!("{} {:?} by {by}: {}", b.turn, b.steering, short(&b.reason)).to_lowercase()
        }
        Fact::InboxDrained(b) => format!("{} taken up before step {}", b.items.len(), b.before_step),
        Fact::FinishAccepted(b) => format!("the finish of step {} with {} taken up", b.step, b.revision),
        Fact::StepStarted(b) => {
            format!("{}.{} {} {}", b.step, b.attempt, short(&b.tool), short(&b.input.to_string()))
        }
        Fact::StepEnded(b) => {
            format!("{}.{} {:?} {}", b.step, b.attempt, b.outcome, short(&b.output.to_string()))
        }
        _ => return None,
    })
}

fn call(fact: &Fact) -> String {
    match fact {
        Fact::CallAdmitted(b) => {
            format!("{} on {} by {}", short(&b.tool), short(b.resource.text()), b.policies.join(", "))
        }
        Fact::CallDenied(b) => {
            format!("{} on {}: {}", short(&b.tool), short(b.resource.text()), short(b.reason.text()))
        }
        Fact::CallClassified(b) => {
            let class = b.class.as_deref().unwrap_or("unknown, so a person is asked");
            format!("{} is {class}: {}", short(&b.tool), short(b.why.text()))
        }
        Fact::CallRefused(b) => format!("{} for {}: {}", short(&b.tool), b.subject, short(&b.reason)),
        Fact::HoldTaken(b) => {
            let accounts: Vec<String> = b.accounts.iter().map(event::Account::key).collect();
            format!("{} for {} on {}", b.amount, b.price_key, accounts.join(", "))
        }
        Fact::HoldStarted(b) => b.hold.to_string(),
        Fact::HoldSettled(b) => {
            format!(
                "{} of {} ({} in, {} out)",
                b.charged, b.held, b.usage.input_tokens, b.usage.output_tokens
            )
        }
        Fact::HoldReleased(b) => format!("{}: {}", b.held, short(&b.reason)),
        Fact::HoldLeftUnknown(b) => format!("{} counts in full: {}", b.held, short(&b.reason)),
        Fact::EffectIntended(b) => format!("{} {}", short(&b.tool), short(&b.input.to_string())),
        Fact::EffectSent(b) => short(&b.reference.to_string()),
        Fact::EffectFailed(b) => short(b.reason.text()),
        Fact::EffectLeftUnknown(b) => short(b.reason.text()),
        Fact::EffectCaptured(b) => {
            format!("{} {} (a drill: not sent)", short(&b.tool), short(&b.input.to_string()))
        }
        Fact::EffectRecalled(_) | Fact::EffectStated(_) => crate::effect::told(fact),
        Fact::ReceiptRecorded(b) => {
            format!(
                "{} {} -> {}, {} bytes, sha256 {}",
                b.method,
                short(b.address.text()),
                b.status,
                b.bytes,
                b.sha256.short()
            )
        }
        // Every other kind is told by one of the functions above.
        other => other.kind().to_owned(),
    }
}

/// The stream of one turn.
#[must_use]
pub fn turn_stream(turn: &TurnId) -> StreamName {
    StreamName::new("turn", turn)
}

#[cfg(test)]
mod tests {
    use super::{one_line, printable_json, short, summary};
    use event::DeliveryReceived;
    use front::visible::steers;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn a_text_from_outside_cannot_move_the_cursor_or_forge_a_line() {
        let shown = short("a\n\u{1b}[2J\u{202e}b\rc\u{9b}");
        assert!(shown.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{shown}");
        assert!(short(&"é".repeat(500)).ends_with('…'));
    }

    #[test]
    fn no_field_of_a_delivery_steers_the_terminal_or_fills_it() {
        let hostile = "\u{0}\u{85}\u{2028}\u{202e}\u{e0041}".to_owned() + &"x".repeat(10_000);
        let delivery = DeliveryReceived {
            source: "slack".to_owned(),
            kind: hostile.clone(),
            event: hostile.clone(),
            subtype: hostile.clone(),
            external_id: hostile,
            retry: 0,
            payload: json!({}).into(),
        };
        let said = summary(&delivery.into());
        assert!(!said.chars().any(|c| c.is_control() || steers(c)), "{said}");
        assert!(said.len() < 1_000, "{}", said.len());
    }

    proptest! {
        #[test]
        fn one_line_is_one_line_and_doing_it_twice_changes_nothing(text in any::<String>()) {
            let shown = one_line(&text);
            prop_assert!(!shown.chars().any(|c| c.is_control() || steers(c)));
            prop_assert_eq!(one_line(&shown), shown);
        }

        #[test]
        fn json_for_a_terminal_is_the_same_json(text in "[\\PC\u{0}-\u{1f}\u{7f}-\u{9f}\u{202e}\u{2028}\u{e0041}\"]{0,20}") {
            let value = json!({"a": [text.clone()], text: 1});
            let shown = printable_json(&value.to_string());
            prop_assert!(!shown.chars().any(|c| c.is_control() || steers(c)));
            prop_assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        }
    }
}
