//! What is believed to be Slack's, and what the rest is answered.

use super::{Desk, NOW, SECRETS, request, signature, signed};
use crate::serve::BODY_BYTES_MAX;
use crate::slack::verify::{SIGNATURE_HEADER, TIMESTAMP_HEADER};
use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode};
use hyper::body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

const BODY: &str =
    r#"{"type":"event_callback","team_id":"T1","event_id":"Ev1","event":{"type":"app_home_opened"}}"#;

async fn status(desk: &Desk, secret: &str, seconds_from_now: i64) -> StatusCode {
    let seconds = NOW.0 / 1_000 + seconds_from_now;
    let (at, signature) = (seconds.to_string(), signature(secret, seconds, BODY.as_bytes()));
    desk.send(request(BODY.into(), &[(TIMESTAMP_HEADER, &at), (SIGNATURE_HEADER, &signature)])).await.status
}

#[tokio::test]
async fn only_what_slack_signed_within_five_minutes_is_recorded() {
    let desk = Desk::open().await;
    for (secret, seconds) in [("somebody else's", 0), ("x", 0), (SECRETS[0], -301), (SECRETS[0], 301)] {
        assert_eq!(status(&desk, secret, seconds).await, StatusCode::UNAUTHORIZED, "{secret} {seconds}");
    }
    assert!(desk.events().await.is_empty());
    for (secret, seconds) in [(SECRETS[0], 300), (SECRETS[1], -300)] {
        assert_eq!(status(&desk, secret, seconds).await, StatusCode::OK, "{secret} {seconds}");
    }
    assert_eq!(desk.events().await.len(), 1, "the second was the same delivery");
    let health = desk.healthz().await;
    let rejections = &health["rejections"];
    assert_eq!((&rejections["wrong-signature"], &rejections["stale-timestamp"]), (&2.into(), &1.into()));
    assert_eq!((&rejections["future-timestamp"], &health["accepted"]), (&1.into(), &1.into()));
    assert_eq!(health["duplicates"], 1);
}

#[tokio::test]
async fn headers_that_are_missing_repeated_or_no_number_are_401_and_never_an_error_of_ours() {
    let desk = Desk::open().await;
    let seconds = NOW.0 / 1_000;
    let (at, right) = (seconds.to_string(), signature(SECRETS[0], seconds, BODY.as_bytes()));
    let (at, right) = ((TIMESTAMP_HEADER, at.as_str()), (SIGNATURE_HEADER, right.as_str()));
    for headers in [
        vec![],
        vec![at],
        vec![right],
        vec![(TIMESTAMP_HEADER, "soon"), right],
        vec![(TIMESTAMP_HEADER, ""), right],
        vec![at, (SIGNATURE_HEADER, "v0=zz")],
        vec![at, right, right],
        vec![at, at, right],
    ] {
        let answer = desk.send(request(BODY.into(), &headers)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{headers:?}");
        assert!(answer.headers.get("x-slack-no-retry").is_none());
    }
    assert!(desk.events().await.is_empty());
    assert_eq!(desk.healthz().await["rejections"]["malformed-signature"], 8);
}

#[tokio::test]
async fn a_body_over_the_cap_is_413_before_its_signature_is_looked_at() {
    let desk = Desk::open().await;
    let large = vec![b'{'; BODY_BYTES_MAX + 1];
    let announced = request(b"{}".to_vec(), &[("content-length", "1048577")]);
    let half = Bytes::from(vec![b'{'; BODY_BYTES_MAX / 2]);
    let unannounced = Pieces(vec![half.clone(), half.clone(), half]);
    let unannounced = Request::post("/slack/events").body(Body::new(unannounced)).unwrap();
    for request in [request(large, &[]), announced, unannounced] {
        let answer = desk.send(request).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(answer.headers["x-slack-no-retry"], "1");
    }
    let fits = signed(vec![b'{'; BODY_BYTES_MAX], &[]);
    assert_eq!(
        desk.send(fits).await.status,
        StatusCode::BAD_REQUEST,
        "as large as allowed, signed, and no JSON"
    );
}

#[tokio::test]
async fn what_is_signed_and_unreadable_is_400_once_and_leaves_only_a_count() {
    let desk = Desk::open().await;
    let deep = format!("{}1{}", "{\"a\":".repeat(110), "}".repeat(110));
    for body in ["{not json", "payload=%7B", "payload=%5B%5D", "hello", "", &deep] {
        let answer = desk.post(body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(answer.headers["x-slack-no-retry"], "1");
    }
    assert!(desk.events().await.is_empty());
    assert_eq!(desk.healthz().await["rejections"]["unparsable"], 6);
}

#[tokio::test]
async fn other_methods_and_other_places_do_not_exist() {
    let desk = Desk::open().await;
    let get = Request::get("/slack/events").body(Body::empty()).unwrap();
    assert_eq!(desk.send(get).await.status, StatusCode::METHOD_NOT_ALLOWED);
    let post = Request::post("/slack").body(Body::empty()).unwrap();
    assert_eq!(desk.send(post).await.status, StatusCode::NOT_FOUND);
}

/// A body of unknown length, piece by piece.
struct Pieces(Vec<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop().map(|piece| Ok(Frame::data(piece))))
    }
}
