//! The ladder, rung by rung, on payloads as small as the rung needs.

use super::{classify, of_event_type};
use crate::{Arrival, Manner, Reason};
use event::{ConnectionIdentified, DeliveryReceived};
use serde_json::{Value, json};

fn own() -> ConnectionIdentified {
    ConnectionIdentified {
        source: "slack".into(),
        team: "T1".into(),
        user: "U0BOT".into(),
        bot: "B0BOT".into(),
        app: "A0BOT".into(),
    }
}

fn delivery(payload: Value) -> DeliveryReceived {
    let text =
        |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    DeliveryReceived {
        source: "slack".into(),
        kind: text("/type"),
        event: text("/event/type"),
        subtype: text("/event/subtype"),
        external_id: String::new(),
        retry: 0,
        payload: payload.into(),
    }
}

/// An event callback of our workspace whose event is a person's message in a channel, changed by `change`.
fn message(change: Value) -> Value {
    let mut event = json!({"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": "1.0", "text": "hello"});
    for (key, value) in change.as_object().unwrap() {
        event[key] = value.clone();
    }
    json!({"type": "event_callback", "team_id": "T1", "api_app_id": "A0BOT", "event": event})
}

fn reason(payload: Value) -> Reason {
    let delivery = delivery(payload);
    let arrival = Arrival::of(&delivery);
    classify(&arrival, arrival.names_office(Some(&own())), Some(&own()), &Manner::default())
}

#[test]
fn each_rung_of_the_ladder_decides_what_it_is_for() {
    let rich = |user: &str| json!([{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "user", "user_id": user}]}]}]);
    for (change, expected) in [
        (json!({"user": "U0BOT"}), Reason::OwnMessage),
        (json!({"user": "U7", "bot_id": "B0BOT"}), Reason::OwnMessage),
        (json!({"user": "U7", "app_id": "A0BOT"}), Reason::OwnMessage),
        (json!({"user": null, "bot_profile": {"app_id": "A0BOT"}}), Reason::OwnMessage),
        (json!({"bot_id": "B7"}), Reason::BotMessage),
        (json!({"bot_id": "B7", "text": "<@U0BOT> hi"}), Reason::BotMessage),
        (json!({"subtype": "bot_message", "user": null}), Reason::BotMessage),
        (json!({"user": "USLACK"}), Reason::BotMessage),
        (json!({"user_profile": {"is_bot": true}}), Reason::BotMessage),
        (json!({"subtype": "channel_join"}), Reason::UnsupportedSubtype),
        (json!({"subtype": "huddle_thread"}), Reason::UnsupportedSubtype),
        (json!({"subtype": "never_seen", "text": "<@U0BOT> hi"}), Reason::UnsupportedSubtype),
        (json!({"subtype": "message_replied"}), Reason::UnsupportedSubtype),
        (json!({"channel": null}), Reason::IncompleteMessage),
        (json!({"ts": null}), Reason::IncompleteMessage),
        (json!({"ts": "<!here>"}), Reason::IncompleteMessage),
        (json!({"user": null}), Reason::IncompleteMessage),
        (json!({"text": "<@U2> can you look?"}), Reason::AddressedToAnother),
        (json!({"text": "<@U2> can <@U0BOT> look?"}), Reason::Mention),
        (json!({"text": "can <@U2> look?"}), Reason::ChannelMessage),
        (json!({"user_team": "T2"}), Reason::ExternalPerson),
        (json!({"source_team": "T2", "text": "<@U0BOT> hi"}), Reason::ExternalPerson),
        (json!({"user_profile": {"team": "T2"}}), Reason::ExternalPerson),
        (json!({"team": "T2"}), Reason::ExternalPerson),
        (json!({"user_team": "T1", "team": "T2"}), Reason::ChannelMessage),
        (
            json!({"user_profile": {"is_ultra_restricted": true}, "text": "<@U0BOT> hi"}),
            Reason::ExternalPerson,
        ),
        (json!({"user_profile": {"is_stranger": true}, "channel_type": "im"}), Reason::ExternalPerson),
        (json!({"text": "<@U0BOT> hi"}), Reason::Mention),
        (json!({"text": "hi <@U0BOT|chancery>"}), Reason::Mention),
        (json!({"text": "hi", "blocks": rich("U0BOT")}), Reason::Mention),
        (json!({"text": "hi", "blocks": rich("U2")}), Reason::ChannelMessage),
        (json!({"text": "&lt;@U0BOT&gt; hi"}), Reason::ChannelMessage),
        (json!({"text": "ask chancery or @chancery or U0BOT"}), Reason::ChannelMessage),
        (json!({"type": "app_mention", "channel_type": null}), Reason::Mention),
        (json!({"channel_type": "im", "channel": "D1"}), Reason::DirectMessage),
        (json!({"channel_type": null, "channel": "D1"}), Reason::DirectMessage),
        (json!({"channel_type": "im", "text": "<@U2> said so"}), Reason::DirectMessage),
        (json!({"channel_type": "im", "text": ":wave:"}), Reason::DirectMessage),
        (json!({"channel_type": "im", "assistant_thread": {"action_token": "x"}}), Reason::AssistantThread),
        (json!({"text": ":wave: :tada:"}), Reason::EmojiOnly),
        (json!({"text": "<@U0BOT> :wave:"}), Reason::Mention),
        (json!({"text": ""}), Reason::ChannelMessage),
        (json!({"subtype": "file_share"}), Reason::ChannelMessage),
        (json!({"subtype": "thread_broadcast", "thread_ts": "0.5"}), Reason::ChannelMessage),
        (json!({"subtype": "me_message"}), Reason::ChannelMessage),
        (json!({"channel_type": "mpim"}), Reason::ChannelMessage),
        (json!({"channel_type": "group"}), Reason::ChannelMessage),
    ] {
        assert_eq!(reason(message(change.clone())), expected, "{change}");
    }
}

#[test]
fn an_edit_is_context_unless_nothing_was_said_or_a_program_said_it() {
    let edit = |message_now: Value, previous: Value| {
        reason(message(
            json!({"subtype": "message_changed", "user": null, "message": message_now, "previous_message": previous}),
        ))
    };
    let said = |text: &str| json!({"type": "message", "user": "U1", "text": text, "ts": "1.0"});
    assert_eq!(edit(said("b"), said("a")), Reason::Edit);
    assert_eq!(edit(said("<@U0BOT> b"), said("a")), Reason::Edit);
    assert_eq!(edit(said("a"), said("a")), Reason::EditWithoutNews);
    assert_eq!(edit(said("a"), Value::Null), Reason::Edit);
    let by = |key: &str, id: &str| {
        let mut message = said("b");
        message[key] = json!(id);
        message
    };
    assert_eq!(edit(by("bot_id", "B0BOT"), said("a")), Reason::OwnMessage);
    assert_eq!(edit(by("user", "U0BOT"), said("a")), Reason::OwnMessage);
    assert_eq!(edit(by("bot_id", "B7"), said("a")), Reason::BotMessage);
    let deleted = json!({"subtype": "message_deleted", "user": null, "previous_message": said("a"), "deleted_ts": "1.0"});
    assert_eq!(reason(message(deleted)), Reason::Deletion);
}

#[test]
fn a_shared_channel_is_outside_whoever_speaks_and_so_is_another_installation() {
    let mut shared = message(json!({"text": "<@U0BOT> hi", "user_team": "T1"}));
    for (flag, expected) in [
        (json!(true), Reason::ExternalPerson),
        (json!("true"), Reason::ExternalPerson),
        (json!(1), Reason::ExternalPerson),
        (json!(false), Reason::Mention),
        (Value::Null, Reason::Mention),
    ] {
        shared["is_ext_shared_channel"] = flag.clone();
        assert_eq!(reason(shared.clone()), expected, "{flag}");
    }
    shared["authorizations"] = json!([{"team_id": "T2"}]);
    assert_eq!(reason(shared), Reason::ExternalPerson);
}

#[test]
fn the_receiving_app_in_the_envelope_is_not_the_sender() {
    assert_eq!(
        reason(message(json!({"text": "<@U0BOT> hi"}))),
        Reason::Mention,
        "api_app_id is ours in every delivery"
    );
}

#[test]
fn a_member_of_the_organisation_may_carry_its_enterprise_as_team() {
    let mut payload = message(json!({"text": "<@U0BOT> hi", "user_team": "E1"}));
    assert_eq!(reason(payload.clone()), Reason::ExternalPerson);
    payload["authorizations"] = json!([{"team_id": "T1", "enterprise_id": "E1"}]);
    assert_eq!(reason(payload), Reason::Mention);
}

#[test]
fn without_knowing_who_the_office_is_no_message_is_answered() {
    let delivery = delivery(message(json!({"channel_type": "im", "channel": "D1"})));
    assert_eq!(classify(&Arrival::of(&delivery), true, None, &Manner::default()), Reason::IdentityUnknown);
}

#[test]
fn what_is_no_message_asks_nothing_and_says_what_it_is() {
    for (kind, expected) in [
        ("url_verification", Reason::UrlVerification),
        ("ssl_check", Reason::SslCheck),
        ("app_rate_limited", Reason::RateLimited),
        ("slash_command", Reason::SlashCommand),
        ("block_actions", Reason::BlockAction),
        ("block_suggestion", Reason::OptionRequest),
        ("view_submission", Reason::ViewSubmission),
        ("view_closed", Reason::ViewDismissal),
        ("shortcut", Reason::Shortcut),
        ("message_action", Reason::Shortcut),
        ("", Reason::UnknownType),
        ("brand_new", Reason::UnknownType),
    ] {
        // A message inside anything but an event callback is quoted, not said.
        let payload =
            json!({"type": kind, "event": {"type": "message", "channel": "D1", "user": "U1", "ts": "1.0"}});
        assert_eq!(reason(payload), expected, "{kind}");
    }
    for (event, expected) in [
        ("reaction_added", Reason::Reaction),
        ("member_joined_channel", Reason::Membership),
        ("app_home_opened", Reason::AppHome),
        ("assistant_thread_started", Reason::AssistantOpened),
        ("message_metadata_posted", Reason::MessageMetadata),
        ("tokens_revoked", Reason::InstallationChange),
        ("app_uninstalled", Reason::InstallationChange),
        ("team_access_revoked", Reason::InstallationChange),
        ("team_rename", Reason::DirectoryChange),
        ("user_huddle_changed", Reason::Call),
        ("user_change", Reason::DirectoryChange),
        ("channel_id_changed", Reason::ConversationChange),
        ("file_shared", Reason::File),
        ("function_executed", Reason::Workflow),
        ("", Reason::EmptyEvent),
        ("brand_new", Reason::UnknownType),
    ] {
        assert_eq!(of_event_type(event), expected, "{event}");
    }
}

#[test]
fn what_the_office_did_itself_is_told_apart_but_its_joining_is_kept() {
    let by = |event: &str, user: &str| {
        reason(json!({"type": "event_callback", "team_id": "T1", "event": {"type": event, "user": user}}))
    };
    assert_eq!(by("reaction_added", "U0BOT"), Reason::OwnAct);
    assert_eq!(by("reaction_added", "U1"), Reason::Reaction);
    assert_eq!(by("member_joined_channel", "U0BOT"), Reason::Membership);
}

#[test]
fn only_what_is_said_to_the_office_and_answers_to_its_cards_are_explicit() {
    let explicit: Vec<_> =
        Reason::ALL.iter().filter(|r| r.class() == event::Class::Explicit).map(|r| r.word()).collect();
    assert_eq!(
        explicit,
        [
            "bot-mention",
            "terminal",
            "drill",
            "mention",
            "name-called",
            "assistant-thread",
            "direct-message",
            "approval-answer",
            "effect-answer",
            "form-question",
            "message-shortcut"
        ]
    );
}

#[test]
fn a_drill_is_asked_for_by_what_addresses_the_office_and_by_nothing_else() {
    let manner = Manner { drills: vec!["drill".into()], ..Manner::default() };
    for (change, expected) in [
        (json!({"text": "<@U0BOT> drill: erase it"}), Reason::Drill),
        (json!({"text": "drill: erase it", "channel": "D1", "channel_type": "im"}), Reason::Drill),
        (json!({"text": "<@U0BOT> what is a drill: tell me"}), Reason::Mention),
        (json!({"text": "drill: everybody out"}), Reason::ChannelMessage),
        (json!({"text": "<@U0BOT> drill: erase it", "bot_id": "B7"}), Reason::BotMessage),
    ] {
        assert_eq!(reason_in(&manner, message(change.clone())), expected, "{change}");
    }
}

fn reason_in(manner: &Manner, payload: Value) -> Reason {
    let delivery = delivery(payload);
    let arrival = Arrival::of(&delivery);
    classify(&arrival, arrival.names_office(Some(&own())), Some(&own()), manner)
}

#[test]
fn a_name_that_is_called_wakes_and_a_name_that_is_told_does_not() {
    let manner = Manner { names: vec!["Chancery".into()], ..Manner::default() };
    for (text, expected) in [
        ("chancery, ayúdanos", Reason::NameCalled),
        ("ask chancery about it", Reason::ChannelMessage),
        ("<@U2> chancery, look", Reason::AddressedToAnother),
        ("<@U0BOT> chancery, look", Reason::Mention),
    ] {
        assert_eq!(reason_in(&manner, message(json!({"text": text}))), expected, "{text}");
    }
}

#[test]
fn another_program_is_heard_only_when_this_message_mentions_the_office_and_the_operator_allows_it() {
    let allowed = Manner { hops_max: 3, ..Manner::default() };
    for (change, expected) in [
        (json!({"bot_id": "B7", "text": "<@U0BOT> hi"}), Reason::BotMention),
        (
            json!({"bot_id": "B7", "subtype": "bot_message", "user": null, "text": "<@U0BOT> hi"}),
            Reason::BotMention,
        ),
        (json!({"bot_id": "B7", "text": "hi", "thread_ts": "0.5"}), Reason::BotMessage),
        (json!({"bot_id": "B7", "text": "&lt;@U0BOT&gt; hi"}), Reason::BotMessage),
        (json!({"bot_id": "B7", "text": "<@U0BOT> hi", "user_team": "T2"}), Reason::BotMessage),
        (json!({"bot_id": "B7", "text": "<@U0BOT> hi", "subtype": "file_share"}), Reason::BotMessage),
        (json!({"bot_id": "B0BOT", "text": "<@U0BOT> hi"}), Reason::OwnMessage),
        (json!({"user": "USLACKBOT", "text": "<@U0BOT> hi"}), Reason::BotMessage),
    ] {
        assert_eq!(reason_in(&allowed, message(change.clone())), expected, "{change}");
        assert_ne!(reason_in(&Manner::default(), message(change)), Reason::BotMention);
    }
}
