//! An answer that is handed on as it comes.

use super::{Case, SECRET, serve};
use crate::{Refused, Times};
use event::Digest;
use std::time::Duration;
use tokio::time::Instant;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream; charset=utf-8\r\n\r\n";

fn all(deadline: Instant) -> Times {
    Times { deadline, first_byte: None, between_bytes: None }
}

#[tokio::test]
async fn a_stream_of_events_comes_in_whole_lines_and_has_the_digest_of_all_of_it() {
    let body = "data: one\n\ndata: two\n\nno line";
    let (origin, _served) = serve(format!("{HEAD}{body}"), false).await;
    let (pieces, digest) = Case::get(&origin).flow(all).await;
    assert_eq!(pieces, ["data: one\n\ndata: two\n\n", "no line"]);
    assert_eq!(digest.unwrap(), Digest::of(body.as_bytes()));
}

#[tokio::test]
async fn every_other_answer_comes_whole() {
    for head in
        ["HTTP/1.1 200 OK\r\ncontent-type: text/html", "HTTP/1.1 429 No\r\ncontent-type: text/event-stream"]
    {
        let (origin, _served) = serve(format!("{head}\r\ncontent-length: 2\r\n\r\nhi"), false).await;
        let (pieces, digest) = Case::get(&origin).flow(all).await;
        assert_eq!((pieces, digest.unwrap()), (vec!["whole".to_owned()], Digest::of(b"hi")));
    }
}

#[tokio::test]
async fn a_secret_in_a_stream_is_refused_with_the_line_it_stands_in() {
    let escaped = SECRET.replace('/', "\\/");
    for (body, before) in [
        (format!("data: fine\n\ndata: {SECRET}\n\n"), ""),
        (format!("data: {SECRET}"), ""),
        (format!("data: \"{escaped}\"\n"), ""),
    ] {
        let (origin, _served) = serve(format!("{HEAD}{body}"), false).await;
        let (pieces, ended) = Case::get(&origin).flow(all).await;
        let refused = ended.unwrap_err();
        assert!(
            matches!(&refused, Refused::SecretInResponse { reference } if reference == "key"),
            "{refused}"
        );
        assert_eq!(pieces.concat(), before);
        assert!(refused.request_left());
    }
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-key: {SECRET}\r\n\r\ndata: x\n\n");
    let (origin, _served) = serve(head, false).await;
    assert!(matches!(Case::get(&origin).flow(all).await.1, Err(Refused::SecretInResponse { .. })));
}

#[tokio::test]
async fn a_stream_ends_where_a_limit_is() {
    let long = format!("{HEAD}data: {}\n\n", "x".repeat(20));
    let (origin, _served) = serve(long, true).await;
    let mut case = Case::get(&origin);
    case.limits.body_bytes_max = 10;
    let refused = case.flow(all).await.1.unwrap_err();
    assert!(matches!(refused, Refused::BodyTooLarge { bytes_max: 10 }), "{refused}");

    let coded = HEAD.replace("\r\n\r\n", "\r\ncontent-encoding: gzip\r\n\r\n");
    let (origin, _served) = serve(format!("{coded}data: x\n\n"), false).await;
    assert!(matches!(Case::get(&origin).flow(all).await.1, Err(Refused::Encoded { .. })));
}

#[tokio::test]
async fn silence_is_waited_for_as_long_as_the_caller_likes_and_no_longer_than_the_host() {
    let short = Some(Duration::from_millis(50));
    let (origin, _served) = serve(format!("{HEAD}data: x\n\n"), true).await;
    let between = |deadline| Times { between_bytes: short, ..all(deadline) };
    let (pieces, ended) = Case::get(&origin).flow(between).await;
    assert!(matches!(ended, Err(Refused::TimedOut { left: true, .. })), "{ended:?}");
    assert_eq!(pieces, ["data: x\n\n"]);

    let (origin, _served) = serve(format!("{HEAD}data: x\n\n"), true).await;
    let mut case = Case::get(&origin);
    case.limits.idle_ms = 50;
    let longer = |deadline| Times { between_bytes: Some(Duration::from_secs(60)), ..all(deadline) };
    assert!(matches!(case.flow(longer).await.1, Err(Refused::TimedOut { left: true, .. })));

    let (origin, _served) = serve("", true).await;
    let first = |deadline| Times { first_byte: short, ..all(deadline) };
    assert!(matches!(Case::get(&origin).flow(first).await.1, Err(Refused::TimedOut { left: true, .. })));
}
