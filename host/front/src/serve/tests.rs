//! The front as Slack meets it: signed requests through the real router, over a real record.

mod cases;
mod deliveries;
mod payloads;
mod signature;

use super::{Front, router};
use crate::slack::verify::{SIGNATURE_HEADER, TIMESTAMP_HEADER};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use event::{
    Actor, ConnectionIdentified, DeliveryClassified, Event, EventId, Expected, Fact, GlobalPosition, Label,
    PrincipalId, Proposed, SeatId, StreamName, Timestamp,
};
use hmac::{Hmac, KeyInit, Mac};
use record::{Clock, Record, SystemClock};
use serde_json::Value;
use sha2::Sha256;
use std::path::PathBuf;
use std::sync::Arc;
use tower::ServiceExt;
use vault::{SigningKeys, Source};

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const SECRETS: [&str; 2] = ["the new secret", "the old secret"];
const EVENTS_MAX: usize = 10_000;

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        NOW
    }
}

/// One office's front with its record in a folder of its own.
struct Desk {
    _folder: tempfile::TempDir,
    path: PathBuf,
    record: Record,
    router: Router,
}

/// What came back.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

fn host() -> PrincipalId {
    PrincipalId::parse("system_host").unwrap()
}

fn desk_seat() -> SeatId {
    SeatId::parse("seat_desk").unwrap()
}

fn own() -> ConnectionIdentified {
    ConnectionIdentified {
        source: "slack".into(),
        team: "T1".into(),
        user: "U0BOT".into(),
        bot: "B0BOT".into(),
        app: "A0BOT".into(),
    }
}

fn keys(folder: &std::path::Path) -> SigningKeys {
    let sources = SECRETS.iter().enumerate().map(|(i, secret)| {
        let path = folder.join(format!("secret-{i}"));
        std::fs::write(&path, secret).unwrap();
        Source::File(path)
    });
    SigningKeys::load(&sources.collect::<Vec<_>>()).unwrap()
}

fn routes(record: &Record, folder: &std::path::Path) -> Router {
    let keys = Some(keys(folder).into());
    router(Front {
        record: record.clone(),
        host: host(),
        keys,
        installs: None,
        clock: Arc::new(StoppedClock),
        journal: None,
        sockets: Vec::new(),
    })
}

impl Desk {
    /// A front whose office is known to Slack as [`own`].
    async fn open() -> Self {
        Self::open_as(own()).await
    }

    async fn open_as(own: ConnectionIdentified) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.sqlite");
        let record = Record::open_sqlite(&path, Arc::new(SystemClock)).await.unwrap();
        let record = record.with_keyring(vault::Keyring::in_memory(1));
        let identified = Proposed {
            id: EventId::derived(&["own"]),
            actor: Actor { principal: host(), seat: None },
            cause: None,
            label: Label::host(),
            fact: own.into(),
        };
        record.append(StreamName::new("connection", "slack"), Expected::Any, vec![identified]).await.unwrap();
        let router = routes(&record, folder.path());
        Self { _folder: folder, path, record, router }
    }

    /// Posts a body that Slack signed now.
    async fn post(&self, body: impl Into<Vec<u8>>) -> Answer {
        self.send(signed(body, &[])).await
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        send(&self.router, request).await
    }

    async fn healthz(&self) -> Value {
        let request = Request::get("/healthz").body(Body::empty()).unwrap();
        serde_json::from_str(&self.send(request).await.body).unwrap()
    }

    /// Everything on the record but who the office is.
    async fn events(&self) -> Vec<Event> {
        self.record.read_all(GlobalPosition(1), EVENTS_MAX).await.unwrap()
    }

    /// What each delivery was found to ask, after following the record to its end.
    async fn classes(&self) -> Vec<DeliveryClassified> {
        while converse::step(&self.record, &host(), &desk_seat(), &converse::Manner::default()).await.unwrap()
            > 0
        {}
        let class = |event: Event| match event.fact {
            Fact::DeliveryClassified(class) => Some(class),
            _ => None,
        };
        self.events().await.into_iter().filter_map(class).collect()
    }
}

async fn send(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    Answer { status: head.status, headers: head.headers, body: String::from_utf8(body.to_vec()).unwrap() }
}

fn signature(secret: &str, seconds: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("v0:{seconds}:").as_bytes());
    mac.update(body);
    format!("v0={}", hex::encode(mac.finalize().into_bytes()))
}

fn request(body: Vec<u8>, headers: &[(&str, &str)]) -> Request<Body> {
    let json = body.first() == Some(&b'{');
    let media = if json { "application/json" } else { "application/x-www-form-urlencoded" };
    let request = Request::post("/slack/events").header("content-type", media);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(body)).unwrap()
}

/// A request that Slack signed now, with these headers besides.
fn signed(body: impl Into<Vec<u8>>, headers: &[(&str, &str)]) -> Request<Body> {
    let body = body.into();
    let seconds = NOW.0 / 1_000;
    let (seconds_text, signature) = (seconds.to_string(), signature(SECRETS[0], seconds, &body));
    let mut all = vec![(TIMESTAMP_HEADER, seconds_text.as_str()), (SIGNATURE_HEADER, signature.as_str())];
    all.extend_from_slice(headers);
    request(body, &all)
}

#[tokio::test]
async fn whoever_watches_sees_how_far_the_journal_is_behind_and_why() {
    let desk = Desk::open().await;
    assert_eq!(desk.healthz().await.get("journal"), None);
    let (tell, status) = tokio::sync::watch::channel(record::Status::default());
    let clock = Arc::new(StoppedClock);
    let front = Front {
        record: desk.record.clone(),
        host: host(),
        keys: None,
        clock,
        journal: Some(status),
        sockets: Vec::new(),
        installs: None,
    };
    let router = router(front);
    let seen = async || {
        let request = Request::get("/healthz").body(Body::empty()).unwrap();
        let health: Value = serde_json::from_str(&send(&router, request).await.body).unwrap();
        health["journal"].clone()
    };
    let (head, _) = desk.record.head().await.unwrap();
    let nothing_written = serde_json::json!({"lines_behind": head, "pushes_behind": null, "problem": null});
    assert_eq!(seen().await, nothing_written);
    tell.send_modify(|status| {
        status.written = head;
        status.pushes = true;
        status.push_problem = Some("the remote does not answer".into());
    });
    let behind = seen().await;
    assert_eq!((&behind["lines_behind"], &behind["pushes_behind"]), (&0.into(), &serde_json::json!(head)));
    assert_eq!(behind["problem"], "the remote does not answer");
}
