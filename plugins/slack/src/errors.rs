//! What the error codes of the Web API mean, and what to do about each.
//!
//! A code nobody knows here is passed on as it is: Slack adds new ones.

use guest::{Failure, Kind};
use serde_json::Value;

/// The longest code that is repeated, in characters.
const CODE_CHARS_MAX: usize = 64;
/// The longest list of scopes that is repeated, in characters: a bot may hold dozens.
const SCOPES_CHARS_MAX: usize = 1_000;

/// The code of an answer that says `"ok": false`, with anything odd left out.
pub fn code_of(body: &Value) -> String {
    let code = plain(body.get("error"), CODE_CHARS_MAX);
    if code.is_empty() { "unknown_error".to_owned() } else { code }
}

/// The failure that stands for such an answer to `method`.
pub fn failure_of(method: &str, body: &Value) -> Failure {
    let code = code_of(body);
    let (kind, what) = match code.as_str() {
        "missing_scope" => return missing_scope(method, body),
        "not_in_channel" | "channel_is_limited_access" => {
            (Kind::NotAllowed, "the app is not in the channel: someone there has to invite it (/invite)")
        }
        "invalid_auth" | "not_authed" | "account_inactive" | "token_revoked" | "token_expired" => (
            Kind::NotAllowed,
            "Slack does not take the token: put the bot token of an installed app into the vault",
        ),
        "not_allowed_token_type" => {
            (Kind::NotAllowed, "the token is of the wrong kind: use a bot token (xoxb-…)")
        }
        "is_archived" => (Kind::NotAllowed, "the channel is archived: an admin can bring it back"),
        "restricted_action"
        | "restricted_action_read_only_channel"
        | "restricted_action_thread_only_channel"
        | "restricted_action_non_threadable_channel"
        | "restricted_action_thread_locked" => {
            (Kind::NotAllowed, "the channel's settings do not let the app post so")
        }
        "access_denied"
        | "no_permission"
        | "ekm_access_denied"
        | "org_login_required"
        | "team_access_not_granted"
        | "enterprise_is_restricted"
        | "two_factor_setup_required" => {
            (Kind::NotAllowed, "the workspace does not allow this to the app: ask an admin")
        }
        "user_not_in_channel" => {
            (Kind::NotAllowed, "that person is not in the channel, and would not see it")
        }
        "cant_update_message" | "edit_window_closed" => {
            (Kind::NotAllowed, "the message is not the app's to change, or no longer")
        }
        "channel_not_found" => {
            (Kind::NotFound, "there is no such channel for the app: a private one has to invite it first")
        }
        "thread_not_found" | "message_not_found" | "cannot_reply_to_message" | "bad_timestamp" => {
            (Kind::NotFound, "there is no such message: it may have been deleted")
        }
        "user_not_found" | "team_not_found" | "no_item_specified" => {
            (Kind::NotFound, "there is no such thing")
        }
        "expired_trigger_id"
        | "exchanged_trigger_id"
        | "invalid_trigger_id"
        | "trigger_expired"
        | "trigger_exchanged" => {
            (Kind::NotFound, "what opens a form counts once, for three seconds: use the shortcut again")
        }
        "invalid_name" | "no_reaction" => (Kind::InvalidInput, "there is no such emoji in the workspace"),
        "msg_too_long"
        | "msg_blocks_too_long"
        | "too_many_attachments"
        | "too_many_emoji"
        | "too_many_reactions"
        | "metadata_too_large" => (Kind::TooLarge, "it is more than Slack takes"),
        "no_text"
        | "invalid_blocks"
        | "invalid_blocks_format"
        | "invalid_arguments"
        | "invalid_arg_name"
        | "invalid_json"
        | "json_not_object"
        | "invalid_post_type"
        | "invalid_metadata_format" => (Kind::InvalidInput, "Slack does not understand the request"),
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
            (Kind::Unavailable, "Slack has trouble of its own")
        }
        _ => (Kind::Other("slack"), "Slack says no"),
    };
    Failure::new(kind, format!("{method}: {what} (`{code}`)"))
}

fn missing_scope(method: &str, body: &Value) -> Failure {
    let scopes = |key| {
        let scopes = plain(body.get(key), SCOPES_CHARS_MAX);
        if scopes.is_empty() { "nothing Slack names".to_owned() } else { scopes }
    };
    let message = format!(
        "{method}: the app lacks a scope (`missing_scope`). Needed: {}; provided: {}. Add what is needed under \
         OAuth & Permissions, then install the app again",
        scopes("needed"),
        scopes("provided")
    );
    Failure::new(Kind::NotAllowed, message)
}

/// A word of Slack's, fit to stand in a sentence: letters, digits and what codes and scopes are joined with.
fn plain(value: Option<&Value>, chars_max: usize) -> String {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | ',');
    value.and_then(Value::as_str).unwrap_or_default().chars().filter(is_part).take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn codes_fall_into_the_kinds_a_caller_reacts_to() {
        for (code, kind) in [
            ("channel_not_found", Kind::NotFound),
            ("thread_not_found", Kind::NotFound),
            ("not_in_channel", Kind::NotAllowed),
            ("invalid_auth", Kind::NotAllowed),
            ("is_archived", Kind::NotAllowed),
            ("msg_blocks_too_long", Kind::TooLarge),
            ("invalid_blocks", Kind::InvalidInput),
            ("internal_error", Kind::Unavailable),
            ("something_new", Kind::Other("slack")),
        ] {
            let failure = failure_of("chat.postMessage", &json!({"ok": false, "error": code}));
            assert_eq!(failure.kind, kind, "{code}");
            assert!(failure.message.contains(&format!("(`{code}`)")), "{}", failure.message);
        }
    }

    #[test]
    fn a_missing_scope_is_named_with_what_there_is() {
        let body = json!({"ok": false, "error": "missing_scope", "needed": "chat:write", "provided": "users:read,a.b"});
        let failure = failure_of("chat.postMessage", &body);
        assert_eq!(failure.kind, Kind::NotAllowed);
        assert!(
            failure.message.contains("Needed: chat:write; provided: users:read,a.b"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn a_code_of_any_shape_is_made_plain() {
        assert_eq!(code_of(&json!({"error": "<!here>\nx"})), "herex");
        assert_eq!(code_of(&json!({"error": "x".repeat(999)})).len(), CODE_CHARS_MAX);
        for body in [json!({}), json!({"error": 7}), json!({"error": ""}), json!({"error": "<>"})] {
            assert_eq!(code_of(&body), "unknown_error", "{body}");
        }
    }
}
