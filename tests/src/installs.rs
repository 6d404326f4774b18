//! The other side of installing an app: Slack's page, the exchange of codes and refresh tokens, and which token is whose.
//!
//! That it plays as Slack does is shown by Slack's own library for JavaScript, which the tests put before it too.

use axum::Json;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// What Slack calls the app.
pub const CLIENT_ID: &str = "1234567890.1234567890";
/// The app's secret; nothing but an exchange may ever hold it.
pub const CLIENT_SECRET: &str = "client-secret-0123456789abcdef";
/// Every scope that the office asks for.
const SCOPES: &str = "app_mentions:read,channels:history,groups:history,im:history,mpim:history,reactions:read,\
    chat:write,reactions:write,emoji:read,commands,files:write";

/// A workspace, and the office's user there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// `T…`.
    pub team: String,
    /// The office's user, `U…`.
    pub user: String,
    /// Its bot, `B…`.
    pub bot: String,
}

impl Member {
    /// The office in `team`, where each has another user.
    pub fn of(team: &str) -> Self {
        Self { team: team.to_owned(), user: format!("U{team}BOT"), bot: format!("B{team}BOT") }
    }
}

#[derive(Default)]
struct Inner {
    /// Whose a token is.
    members: BTreeMap<String, Member>,
    /// Tokens that are good no more.
    dead: BTreeSet<String>,
    /// What a code is exchanged for.
    codes: BTreeMap<String, Value>,
    /// Whose a refresh token is; each is good once.
    refresh: BTreeMap<String, Member>,
    /// The workspace that the next person installs in.
    next: Option<String>,
    /// Whether tokens end.
    rotates: bool,
    /// For how long a token is good, in seconds.
    expires_in: i64,
    /// Scopes that are not granted.
    withheld: BTreeSet<String>,
    /// What the answer of the next exchange has besides.
    twist: Option<Value>,
    /// Whether exchanges are answered at all.
    silent: bool,
    exchanges: Vec<String>,
    revoked: Vec<String>,
    made: usize,
}

/// The installations of a Slack.
#[derive(Clone, Default)]
pub struct Installs(Arc<Mutex<Inner>>);

impl Installs {
    /// Lets `token` be that of the office in `team`.
    pub fn join(&self, team: &str, token: &str) {
        self.0.lock().unwrap().members.insert(token.to_owned(), Member::of(team));
    }

    /// The next person installs the app in `team`.
    pub fn next(&self, team: &str) {
        self.0.lock().unwrap().next = Some(team.to_owned());
    }

    /// Tokens end after `seconds` from now on.
    pub fn rotate(&self, seconds: i64) {
        let mut inner = self.0.lock().unwrap();
        (inner.rotates, inner.expires_in) = (true, seconds);
    }

    /// Withholds a scope.
    pub fn withhold(&self, scope: &str) {
        self.0.lock().unwrap().withheld.insert(scope.to_owned());
    }

    /// Puts these fields into the answer of the next exchange.
    pub fn twist(&self, fields: Value) {
        self.0.lock().unwrap().twist = Some(fields);
    }

    /// Answers no exchange, or all again.
    pub fn set_silent(&self, silent: bool) {
        self.0.lock().unwrap().silent = silent;
    }

    /// Takes back every token of `team`.
    pub fn remove(&self, team: &str) {
        let mut inner = self.0.lock().unwrap();
        let gone: Vec<String> = inner
            .members
            .iter()
            .filter(|(_, member)| member.team == team)
            .map(|(token, _)| token.clone())
            .collect();
        inner.dead.extend(gone);
        inner.refresh.retain(|_, member| member.team != team);
    }

    /// Whose `bearer` is, as the header has it; nothing for a token that nobody named here.
    pub fn member(&self, headers: &HeaderMap) -> Option<Member> {
        self.0.lock().unwrap().members.get(&bearer(headers)).cloned()
    }

    /// Whether the token in the header is good no more.
    pub fn is_dead(&self, headers: &HeaderMap) -> bool {
        self.0.lock().unwrap().dead.contains(&bearer(headers))
    }

    /// Every scope that is granted.
    pub fn scopes(&self) -> String {
        let inner = self.0.lock().unwrap();
        SCOPES.split(',').filter(|scope| !inner.withheld.contains(*scope)).collect::<Vec<_>>().join(",")
    }

    /// The bodies of exchanges that came, codes and refresh tokens in them.
    pub fn exchanges(&self) -> Vec<String> {
        self.0.lock().unwrap().exchanges.clone()
    }

    /// The tokens that were given back.
    pub fn revoked(&self) -> Vec<String> {
        self.0.lock().unwrap().revoked.clone()
    }

    /// Every token that was ever given, of both kinds.
    pub fn given(&self) -> Vec<String> {
        let inner = self.0.lock().unwrap();
        let refresh = (1..=inner.made).map(|n| format!("xoxe-1-refresh-{n}"));
        inner.members.keys().cloned().chain(refresh).collect()
    }

    /// Lets the next person install it with `scope`: the code they come back with.
    fn allow(&self) -> String {
        let scopes = self.scopes();
        let mut inner = self.0.lock().unwrap();
        let team = inner.next.clone().unwrap_or_else(|| "T01TEST".to_owned());
        let code = format!("code-{}", inner.codes.len() + 1);
        let answer = inner.answer(&Member::of(&team), &scopes);
        inner.codes.insert(code.clone(), answer);
        code
    }

    /// The addresses.
    pub(crate) fn routes(&self) -> Router {
        Router::new()
            .route("/oauth/v2/authorize", get(authorize))
            .route("/api/oauth.v2.access", post(access))
            .route("/api/auth.revoke", any(revoke))
            .with_state(self.clone())
    }
}

impl Inner {
    /// What a bot's token comes with.
    fn answer(&mut self, member: &Member, scopes: &str) -> Value {
        self.made += 1;
        let kind = if self.rotates { "xoxe.xoxb-1" } else { "xoxb" };
        let token = format!("{kind}-{}-{}", member.team, self.made);
        self.members.insert(token.clone(), member.clone());
        let mut answer = json!({
            "ok": true, "access_token": token, "token_type": "bot", "scope": scopes, "bot_user_id": member.user,
            "app_id": "A01APP", "team": {"name": "Some workspace", "id": member.team}, "enterprise": null,
            "authed_user": {"id": "U01ADMIN"}, "is_enterprise_install": false,
        });
        if self.rotates {
            let refresh = format!("xoxe-1-refresh-{}", self.made);
            self.refresh.insert(refresh.clone(), member.clone());
            answer["refresh_token"] = json!(refresh);
            answer["expires_in"] = json!(self.expires_in);
        }
        answer
    }
}

fn bearer(headers: &HeaderMap) -> String {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.strip_prefix("Bearer ").unwrap_or_default().to_owned()
}

/// The fields of a query or a form.
pub(crate) fn fields(text: &str) -> BTreeMap<String, String> {
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            match byte {
                b'+' => bytes.push(b' '),
                b'%' => {
                    let hex: Vec<u8> = rest.by_ref().take(2).collect();
                    bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
                }
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).unwrap()
    };
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// Slack's page, on which somebody says yes at once.
async fn authorize(State(installs): State<Installs>, RawQuery(query): RawQuery) -> Response {
    let asked = fields(query.as_deref().unwrap_or_default());
    if asked.get("client_id").map(String::as_str) != Some(CLIENT_ID) {
        return (StatusCode::BAD_REQUEST, "invalid_client_id").into_response();
    }
    let back = format!("{}?code={}&state={}", asked["redirect_uri"], installs.allow(), asked["state"]);
    (StatusCode::FOUND, [(header::LOCATION, back)]).into_response()
}

async fn access(State(installs): State<Installs>, headers: HeaderMap, body: String) -> Response {
    let no = |error: &str| Json(json!({"ok": false, "error": error})).into_response();
    let asked = fields(&body);
    let scopes = installs.scopes();
    let mut inner = installs.0.lock().unwrap();
    inner.exchanges.push(body);
    if inner.silent {
        return (StatusCode::BAD_GATEWAY, "<html>").into_response();
    }
    // In the header, as the protocol prefers it, or in the body, as Slack's own libraries do.
    let basic = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let wanted = format!("Basic {}", base64(format!("{CLIENT_ID}:{CLIENT_SECRET}").as_bytes()));
    let in_body = asked.get("client_id").map(String::as_str) == Some(CLIENT_ID)
        && asked.get("client_secret").map(String::as_str) == Some(CLIENT_SECRET);
    if basic != Some(wanted.as_str()) && !in_body {
        return no("bad_client_secret");
    }
    let refresh = asked.get("grant_type").map(String::as_str) == Some("refresh_token");
    let answer = if refresh {
        match inner.refresh.remove(&asked["refresh_token"]) {
            Some(member) => inner.answer(&member, &scopes),
            None => return no("invalid_refresh_token"),
        }
    } else {
        match asked.get("code").and_then(|code| inner.codes.remove(code)) {
            Some(answer) => answer,
            None => return no("invalid_code"),
        }
    };
    let mut answer = answer;
    if let Some(Value::Object(twist)) = inner.twist.take() {
        answer.as_object_mut().unwrap().extend(twist);
    }
    Json(answer).into_response()
}

async fn revoke(State(installs): State<Installs>, headers: HeaderMap) -> Response {
    let token = bearer(&headers);
    let mut inner = installs.0.lock().unwrap();
    inner.dead.insert(token.clone());
    inner.revoked.push(token);
    Json(json!({"ok": true, "revoked": true})).into_response()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let all =
            chunk.iter().fold(0_u32, |all, byte| (all << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for n in 0..4 {
            let letter = char::from(LETTERS[(all >> (18 - 6 * n)) as usize & 63]);
            text.push(if n <= chunk.len() { letter } else { '=' });
        }
    }
    text
}
