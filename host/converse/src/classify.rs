//! The ladder: what a delivery asks, decided by its first rung that applies.
//!
//! Order (the drop ladder this office follows): what can no longer be read, the office itself and other programs, subtypes that nobody
//! said, messages to somebody else, people from outside, then what addresses the office, then what is only
//! emoji. What is left was said to everyone.

use crate::arrival::{Arrival, EVENT_CALLBACK, SOURCE_TERMINAL};
use crate::click::BLOCK_ACTIONS;
use crate::form::{SHORTCUT, VIEW_SUBMISSION};
use crate::manner::Manner;
use crate::notation::{is_emoji_only, mentions};
use crate::readable::readable;
use crate::reason::Reason;
use crate::shortcut::MESSAGE_ACTION;
use event::{ConnectionIdentified, PlaceKind};

/// What `arrival` asks, and why. Pure: the same delivery always gets the same answer.
///
/// `mentions_office` is what the record says about the message it carries, by any of its deliveries; `own` is
/// who the office is on Slack, without which no message there is answered; `manner` says by which names it is called
/// and whether programs may talk with it.
#[must_use]
pub fn classify(
    arrival: &Arrival<'_>,
    mentions_office: bool,
    own: Option<&ConnectionIdentified>,
    manner: &Manner,
) -> Reason {
    if arrival.delivery.payload.value().is_none() {
        return Reason::Erased;
    }
    if arrival.delivery.source == SOURCE_TERMINAL {
        return Reason::Terminal;
    }
    if arrival.delivery.kind == BLOCK_ACTIONS {
        return arrival.of_click(own);
    }
    if arrival.delivery.kind == MESSAGE_ACTION {
        return arrival.of_shortcut(own);
    }
    if matches!(arrival.delivery.kind.as_str(), SHORTCUT | VIEW_SUBMISSION) {
        return arrival.of_form(own);
    }
    if arrival.delivery.kind != EVENT_CALLBACK {
        return of_kind(&arrival.delivery.kind);
    }
    match own {
        None if arrival.is_message() => Reason::IdentityUnknown,
        Some(own) if arrival.is_message() => of_message(arrival, mentions_office, own, manner),
        own => of_event(arrival, own),
    }
}

fn of_message(
    arrival: &Arrival<'_>,
    mentions_office: bool,
    own: &ConnectionIdentified,
    manner: &Manner,
) -> Reason {
    let sender = arrival.sender();
    if sender.is_office(own) {
        return Reason::OwnMessage;
    }
    if sender.is_program && !(sender.is_slack() && arrival.takes_back()) {
        return of_program(arrival, own, manner);
    }
    match arrival.delivery.subtype.as_str() {
        _ if arrival.takes_back() => return Reason::Deletion,
        "message_changed" if arrival.leaves_text() => return Reason::EditWithoutNews,
        "message_changed" => return Reason::Edit,
        _ if !arrival.is_said() => return Reason::UnsupportedSubtype,
        _ => {}
    }
    let Some(place) = arrival.place() else { return Reason::IncompleteMessage };
    if sender.user.is_empty() || place.topic().is_none() {
        return Reason::IncompleteMessage;
    }
    let direct = place.kind == PlaceKind::Im;
    if !mentions_office && !direct && arrival.leads_with_another(own) {
        return Reason::AddressedToAnother;
    }
    if arrival.is_outside(own) {
        return Reason::ExternalPerson;
    }
    let addressed = of_address(arrival, mentions_office, direct, manner);
    if addressed.is_some() && manner.asks_a_drill(arrival.text()) {
        return Reason::Drill;
    }
    match addressed {
        Some(reason) => reason,
        None if is_emoji_only(arrival.text()) => Reason::EmojiOnly,
        None => Reason::ChannelMessage,
    }
}

/// How a message addresses the office, when it does.
fn of_address(arrival: &Arrival<'_>, mentions_office: bool, direct: bool, manner: &Manner) -> Option<Reason> {
    let reason = if mentions_office {
        Reason::Mention
    } else if direct && arrival.is_in_assistant_view() {
        Reason::AssistantThread
    } else if direct {
        Reason::DirectMessage
    } else if manner.is_called(&readable(arrival.text())) {
        Reason::NameCalled
    } else {
        return None;
    };
    Some(reason)
}

/// A program is heard where the operator lets programs talk with the office, and only when this very message mentions
/// it: a thread it took part in is no leave, and neither is a card or a file.
fn of_program(arrival: &Arrival<'_>, own: &ConnectionIdentified, manner: &Manner) -> Reason {
    let said = matches!(arrival.delivery.subtype.as_str(), "" | "bot_message");
    let sits = arrival.place().is_some_and(|place| place.topic().is_some());
    let heard = manner.hops_max > 0 && said && sits && !arrival.is_outside(own);
    let is_slack = arrival.sender().is_slack();
    if heard && !is_slack && mentions(arrival.text(), &own.user) {
        Reason::BotMention
    } else {
        Reason::BotMessage
    }
}

/// Deliveries that are not event callbacks, by their outer type.
fn of_kind(kind: &str) -> Reason {
    match kind {
        "url_verification" => Reason::UrlVerification,
        "ssl_check" => Reason::SslCheck,
        "app_rate_limited" => Reason::RateLimited,
        "slash_command" => Reason::SlashCommand,
        "interactive_message" => Reason::BlockAction,
        "block_suggestion" | "dialog_suggestion" => Reason::OptionRequest,
        "dialog_submission" => Reason::ViewSubmission,
        "view_closed" | "dialog_cancellation" => Reason::ViewDismissal,
        "workflow_step_edit" => Reason::Workflow,
        "hello" | "disconnect" => Reason::ConnectionNotice,
        _ => Reason::UnknownType,
    }
}

/// Events that are no message, by their type.
fn of_event(arrival: &Arrival<'_>, own: Option<&ConnectionIdentified>) -> Reason {
    let reason = of_event_type(&arrival.delivery.event);
    // That the office itself joined a channel is worth knowing; what else it does, it knows.
    let by_office = own.is_some_and(|own| arrival.sender().is_office(own));
    let an_act =
        matches!(reason, Reason::Reaction | Reason::File | Reason::Pin | Reason::Star | Reason::LinkShared);
    if by_office && an_act { Reason::OwnAct } else { reason }
}

fn of_event_type(event: &str) -> Reason {
    match event {
        "" => Reason::EmptyEvent,
        "reaction_added" | "reaction_removed" => Reason::Reaction,
        "member_joined_channel" | "member_left_channel" => Reason::Membership,
        "app_home_opened" => Reason::AppHome,
        "link_shared" => Reason::LinkShared,
        "message_metadata_posted" | "message_metadata_updated" | "message_metadata_deleted" => {
            Reason::MessageMetadata
        }
        "assistant_thread_started" => Reason::AssistantOpened,
        "assistant_thread_context_changed" | "app_context_changed" => Reason::AssistantView,
        "agent_session_stopped" | "agent_session_title_changed" => Reason::AssistantView,
        "call_rejected" | "user_huddle_changed" => Reason::Call,
        "function_executed" => Reason::Workflow,
        "app_installed"
        | "app_uninstalled"
        | "app_uninstalled_team"
        | "app_deleted"
        | "app_requested"
        | "tokens_revoked" => Reason::InstallationChange,
        "email_domain_changed" | "emoji_changed" | "invite_requested" => Reason::DirectoryChange,
        "goodbye" => Reason::ConnectionNotice,
        _ => of_event_family(event),
    }
}

/// Families whose members Slack adds to: the first prefix that fits, the narrower before the wider.
fn of_event_family(event: &str) -> Reason {
    const FAMILIES: &[(&str, Reason)] = &[
        ("team_access_", Reason::InstallationChange),
        ("user_resource_", Reason::InstallationChange),
        ("resources_", Reason::InstallationChange),
        ("scope_", Reason::InstallationChange),
        ("grid_migration_", Reason::InstallationChange),
        ("workflow_", Reason::Workflow),
        ("file_", Reason::File),
        ("pin_", Reason::Pin),
        ("star_", Reason::Star),
        ("channel_", Reason::ConversationChange),
        ("group_", Reason::ConversationChange),
        ("im_", Reason::ConversationChange),
        ("mpim_", Reason::ConversationChange),
        ("shared_channel_", Reason::ConversationChange),
        ("team_", Reason::DirectoryChange),
        ("user_", Reason::DirectoryChange),
        ("subteam_", Reason::DirectoryChange),
        ("dnd_", Reason::DirectoryChange),
    ];
    let fits = |(prefix, _): &&(&str, Reason)| event.starts_with(prefix);
    FAMILIES.iter().find(fits).map_or(Reason::UnknownType, |(_, reason)| *reason)
}

#[cfg(test)]
mod tests;
