//! Forms and Homes on the other side: what opens a form counts once and for three seconds, a view keeps within Slack's
//! limits or is refused, and what people use on one comes back as Slack sends it.

use super::{BOT_USER, Shared, TEAM, note_token, said};
use axum::Router;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a trigger counts.
const TRIGGER: Duration = Duration::from_secs(3);
/// The most that a view holds, in bytes and in blocks.
const VIEW_BYTES_MAX: usize = 250_000;
const BLOCKS_MAX: usize = 100;

#[derive(Default)]
pub(super) struct Views {
    /// When each trigger was given; nothing once it was used.
    triggers: BTreeMap<String, Option<Instant>>,
    /// The forms that were opened.
    forms: Vec<Value>,
    /// Channels that the bot is not in.
    pub(super) absent: BTreeSet<String>,
}

impl super::Slack {
    /// What opens a form, good once and for three seconds.
    pub fn trigger(&self) -> String {
        let mut inner = self.inner.lock().unwrap();
        let trigger = format!("17000.{}.abc", inner.views.triggers.len());
        inner.views.triggers.insert(trigger.clone(), Some(Instant::now()));
        trigger
    }

    /// The forms that were opened, as their views.
    pub fn forms(&self) -> Vec<Value> {
        self.inner.lock().unwrap().views.forms.clone()
    }

    /// The bot is not in `channel`.
    pub fn set_absent(&self, channel: &str) {
        self.inner.lock().unwrap().views.absent.insert(channel.to_owned());
    }
}

pub(super) fn routes(router: Router<Arc<Mutex<super::Inner>>>) -> Router<Arc<Mutex<super::Inner>>> {
    router.route("/api/views.publish", post(publish)).route("/api/views.open", post(open))
}

fn answer(code: Result<Value, &str>) -> Response {
    match code {
        Ok(view) => axum::Json(json!({"ok": true, "view": view})).into_response(),
        Err(code) => axum::Json(json!({"ok": false, "error": code})).into_response(),
    }
}

/// Slack's own libraries send a view as JSON within a form.
fn view_of(body: &Value) -> Value {
    match &body["view"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        view => view.clone(),
    }
}

async fn publish(state: Shared, headers: HeaderMap, body: String) -> Response {
    let inner = &state.0;
    note_token(inner, &headers);
    let mut body = said(&body);
    let view = view_of(&body);
    if let Some(code) = problem(&view) {
        return answer(Err(code));
    }
    body["view"] = view;
    inner.lock().unwrap().homes.push(body);
    answer(Ok(json!({"id": "V0HOME"})))
}

async fn open(state: Shared, headers: HeaderMap, body: String) -> Response {
    let inner = &state.0;
    note_token(inner, &headers);
    let body = said(&body);
    let view = view_of(&body);
    let mut inner = inner.lock().unwrap();
    let trigger = body["trigger_id"].as_str().unwrap_or_default();
    let given = match inner.views.triggers.get(trigger) {
        None => return answer(Err("invalid_trigger_id")),
        Some(None) => return answer(Err("exchanged_trigger_id")),
        Some(Some(given)) => *given,
    };
    if given.elapsed() > TRIGGER {
        return answer(Err("expired_trigger_id"));
    }
    if let Some(code) = problem(&view) {
        return answer(Err(code));
    }
    inner.views.triggers.insert(trigger.to_owned(), None);
    inner.views.forms.push(view.clone());
    let mut opened = view;
    opened["id"] = json!(format!("V0FORM{}", inner.views.forms.len()));
    answer(Ok(opened))
}

/// Why Slack does not take a view. The limits are those of its reference.
fn problem(view: &Value) -> Option<&'static str> {
    let chars = |value: &Value| value.as_str().map_or(0, |text| text.encode_utf16().count());
    let blocks = view["blocks"].as_array()?;
    let mut names = BTreeSet::new();
    let unique = blocks.iter().filter_map(|block| block["block_id"].as_str()).all(|name| names.insert(name));
    let named = names.iter().all(|name| name.len() <= 255);
    let within = blocks.iter().all(|block| {
        let max = if block["type"] == "header" { 150 } else { 3_000 };
        chars(&block["text"]["text"]) <= max && block["elements"].as_array().is_none_or(|all| all.len() <= 25)
    });
    let titled = ["title", "submit", "close"].iter().all(|title| chars(&view[title]["text"]) <= 24);
    let is_form = view["type"] == "modal" && chars(&view["title"]["text"]) > 0;
    if blocks.len() > BLOCKS_MAX || view.to_string().len() > VIEW_BYTES_MAX {
        return Some("view_too_large");
    }
    let fits = unique && named && within && titled && (is_form || view["type"] == "home");
    (!fits).then_some("invalid_arguments")
}

fn of_user(user: &str) -> Value {
    json!({"id": user, "username": user.to_lowercase(), "name": user.to_lowercase(), "team_id": TEAM})
}

/// The event that `user` opened their Home.
pub fn opens_home(event_id: &str, user: &str) -> Value {
    let mut payload = super::message(event_id, "D01", user, "9.000001", "");
    payload["event"] = json!({"type": "app_home_opened", "user": user, "channel": "D01", "tab": "home",
        "event_ts": "9.000001"});
    payload
}

/// What `user` does with the element `action` of a published Home. `with` says what was chosen.
pub fn uses_home(home: &Value, action: &str, with: &Value) -> Value {
    let blocks = home["view"]["blocks"].as_array().unwrap();
    let elements = |block: &Value| {
        let of = block["elements"].as_array().cloned().unwrap_or_default();
        of.into_iter().chain([block["accessory"].clone()]).collect::<Vec<_>>()
    };
    let found = blocks.iter().find_map(|block| {
        let is = |element: &Value| element["action_id"].as_str().is_some_and(|id| id.starts_with(action));
        elements(block).into_iter().find(is).map(|element| (block.clone(), element))
    });
    let (block, element) = found.unwrap_or_else(|| panic!("no `{action}` on {home}"));
    let mut used = json!({"type": element["type"], "action_id": element["action_id"], "block_id": block["block_id"],
        "value": element["value"], "action_ts": "1700000300.000001"});
    used.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    let user = home["user_id"].as_str().unwrap();
    json!({
        "type": "block_actions", "api_app_id": "A01APP", "team": {"id": TEAM, "domain": "test"}, "user": of_user(user),
        "enterprise": null, "is_enterprise_install": false,
        "container": {"type": "view", "view_id": "V0HOME"},
        "view": {"id": "V0HOME", "type": "home", "team_id": TEAM, "app_id": "A01APP", "bot_id": "B0BOT",
            "blocks": blocks, "private_metadata": "", "callback_id": "", "hash": "1.abc",
            "state": {"values": {}}},
        "trigger_id": format!("17000.{action}.{with}"),
        "actions": [used],
    })
}

/// That `user` used the shortcut `callback_id` on no message.
pub fn global_shortcut(user: &str, callback_id: &str, trigger: &str) -> Value {
    json!({"type": "shortcut", "callback_id": callback_id, "trigger_id": trigger, "action_ts": "1700000310.000001",
        "team": {"id": TEAM, "domain": "test"}, "user": of_user(user), "enterprise": null,
        "is_enterprise_install": false})
}

/// That `user` sent the form `view` with these words, for `channel` where one was chosen.
pub fn submission(user: &str, view: &Value, words: &str, channel: Option<&str>) -> Value {
    json!({
        "type": "view_submission", "api_app_id": "A01APP", "team": {"id": TEAM, "domain": "test"},
        "user": of_user(user), "enterprise": null, "is_enterprise_install": false,
        "trigger_id": "17000.submitted.abc", "response_urls": [],
        "view": {"id": "V0FORM", "type": "modal", "team_id": TEAM, "app_id": "A01APP", "bot_id": "B0BOT",
            "callback_id": view["callback_id"], "blocks": view["blocks"], "title": view["title"],
            "hash": "1700000311.abc", "private_metadata": "", "root_view_id": "V0FORM",
            "state": {"values": {
                "words": {"form.words": {"type": "plain_text_input", "value": words}},
                "place": {"form.place": {"type": "conversations_select", "selected_conversation": channel}}}}},
    })
}

/// What Slack sends back of a message that the office posted as number `n`.
pub fn echo(n: usize, post: &Value) -> Value {
    let ts = super::ts_of(n);
    let mut payload =
        super::message(&format!("EvEcho{n}"), post["channel"].as_str().unwrap(), BOT_USER, &ts, "");
    payload["event"]["text"] = post["text"].clone();
    payload["event"]["bot_id"] = json!("B0BOT");
    payload["event"]["app_id"] = json!("A01APP");
    payload["event"]["thread_ts"] = post["thread_ts"].clone();
    payload
}
