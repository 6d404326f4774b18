//! What goes out, and what comes back.

use super::{Case, OK, SECRET, assert_untouched, serve, untouched};
use crate::{Injection, Refused, STARTING_LIMITS};
use base64::Engine as _;
use event::Digest;
use http::{Method, Request};

#[tokio::test]
async fn an_answer_comes_back_whole_with_its_digest_and_without_cookies() {
    let answer = "HTTP/1.1 404 Not Found\r\nx-a: b\r\nset-cookie: s=1\r\nconnection: close\r\ncontent-length: 5\r\n\r\nwhole";
    let (origin, _served) = serve(answer, false).await;
    let sent = Case::get(&origin).send().await.unwrap();
    assert_eq!((sent.status.as_u16(), &sent.body[..], sent.left), (404, &b"whole"[..], true));
    assert_eq!(sent.sha256, Digest::of(b"whole"));
    assert_eq!((sent.method, sent.address), (Method::GET, format!("{origin}/page")));
    let names: Vec<_> = sent.headers.keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names, ["x-a", "content-length"]);
}

#[tokio::test]
async fn the_credential_replaces_whatever_the_guest_set() {
    let (origin, served) = serve(OK, false).await;
    let mut case = Case::get(&origin);
    case.request = Request::post(format!("{origin}/page/../page?q=1"))
        .header("Authorization", "Bearer attackers-own-key")
        .header("Cookie", "session=attackers")
        .header("X-Api-Key", "attackers-own-key")
        .header("Host", "evil.test")
        .header("Accept-Encoding", "gzip")
        .header("Connection", "close, X-Hop")
        .header("X-Hop", "1")
        .header("X-Honest", "yes");
    case.body = "body";
    let sent = case.send().await.unwrap();
    let request = served.await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().collect();
    assert_eq!(lines.remove(0), "POST /page?q=1 HTTP/1.1");
    lines.sort_unstable();
    let bearer = format!("authorization: Bearer {SECRET}");
    let host = format!("host: {}", origin.strip_prefix("http://").unwrap());
    assert_eq!(lines, ["accept-encoding: identity", &bearer, "content-length: 4", &host, "x-honest: yes"]);
    assert_eq!(body, "body");
    assert!(!sent.address.contains(SECRET));
}

#[tokio::test]
async fn a_credential_can_have_a_header_of_its_own() {
    let (origin, served) = serve(OK, false).await;
    let mut case = Case::get(&origin);
    case.injections.insert("key".to_owned(), Injection::Header("x-api-key".parse().unwrap()));
    case.send().await.unwrap();
    let request = served.await.unwrap();
    assert!(
        request.contains(&format!("x-api-key: {SECRET}\r\n")) && !request.contains("authorization"),
        "{request}"
    );
}

#[tokio::test]
async fn a_password_goes_out_with_its_user_and_is_known_again_in_what_comes_back() {
    let (origin, served) = serve(OK, false).await;
    let basic = Injection::Basic { user: "bot".to_owned() };
    let mut case = Case::get(&origin);
    case.injections.insert("key".to_owned(), basic.clone());
    case.send().await.unwrap();
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("bot:{SECRET}"));
    let request = served.await.unwrap();
    assert!(request.contains(&format!("authorization: Basic {pair}\r\n")), "{request}");
    let echo = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{pair}", pair.len());
    let (origin, _served) = serve(echo, false).await;
    let mut case = Case::get(&origin);
    case.injections.insert("key".to_owned(), basic);
    assert!(matches!(case.refused().await, Refused::SecretInResponse { .. }));
}

#[tokio::test]
async fn a_route_without_a_credential_injects_none() {
    let (origin, served) = serve(OK, false).await;
    let mut case = Case::get(&origin);
    case.routes[0].credential = None;
    case.request = case.request.header("Authorization", "Bearer attackers-own-key");
    case.send().await.unwrap();
    assert!(!served.await.unwrap().contains("authorization"));
}

#[tokio::test]
async fn a_secret_that_comes_back_is_refused_however_it_is_written() {
    let encoded = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!("Bearer {SECRET}"));
    let body = |text: &str| format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len());
    for answer in [
        body(&format!("your key was {SECRET}.")),
        body(&format!("{{\"auth\":\"{encoded}\"}}")),
        body("{\"auth\":\"s3cret\\/of+the.host\"}"),
        "HTTP/1.1 302 Found\r\nlocation: /?key=s3cret%2fof%2bthe.host\r\ncontent-length: 0\r\n\r\n"
            .to_owned(),
        format!("HTTP/1.1 200 OK\r\nset-cookie: k={SECRET}\r\ncontent-length: 0\r\n\r\n"),
    ] {
        let (origin, _served) = serve(answer, false).await;
        let refused = Case::get(&origin).refused().await;
        assert!(
            matches!(&refused, Refused::SecretInResponse { reference } if reference == "key"),
            "{refused}"
        );
        assert!(refused.request_left() && !format!("{refused:?}").contains(SECRET));
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let (elsewhere, listener) = untouched().await;
    let answer =
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {elsewhere}/page\r\ncontent-length: 0\r\n\r\n");
    let (origin, _served) = serve(answer, false).await;
    let mut case = Case::get(&origin);
    case.loopback.push(elsewhere.clone());
    let sent = case.send().await.unwrap();
    assert_eq!(sent.status.as_u16(), 307);
    assert_eq!(sent.headers["location"], format!("{elsewhere}/page"));
    assert_untouched(listener).await;
}

#[tokio::test]
async fn a_body_over_the_cap_is_refused_whether_announced_or_not() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nlonger than ten",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nlonger\r\n6\r\n than \r\n",
    ] {
        let (origin, _served) = serve(answer, true).await;
        let mut case = Case::get(&origin);
        case.limits.body_bytes_max = 10;
        let refused = case.refused().await;
        assert!(
            matches!(refused, Refused::BodyTooLarge { bytes_max: 10 }) && refused.request_left(),
            "{refused}"
        );
    }
    let (origin, _served) = serve("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nexactly 10", false).await;
    let mut case = Case::get(&origin);
    case.limits.body_bytes_max = 10;
    assert_eq!(case.send().await.unwrap().body, "exactly 10");
}

#[tokio::test]
async fn an_answer_that_cannot_be_looked_through_is_refused() {
    for coding in
        ["content-encoding: gzip", "content-encoding: identity, br", "transfer-encoding: gzip, chunked"]
    {
        let body = if coding.starts_with('t') { "2\r\nhi\r\n0\r\n\r\n" } else { "hi" };
        let (origin, _served) = serve(format!("HTTP/1.1 200 OK\r\n{coding}\r\n\r\n{body}"), false).await;
        let refused = Case::get(&origin).refused().await;
        assert!(
            matches!(refused, Refused::Encoded { .. }) && refused.request_left(),
            "{coding}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_with_an_endless_head_or_a_new_protocol_is_broken() {
    let endless = format!("HTTP/1.1 200 OK\r\nx-long: {}", "x".repeat(2 * STARTING_LIMITS.head_bytes_max));
    let switched = "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n".to_owned();
    for answer in [endless, switched, "SSH-2.0-server\r\n".to_owned()] {
        let (origin, _served) = serve(answer, true).await;
        let refused = Case::get(&origin).refused().await;
        assert!(matches!(refused, Refused::Broken { left: true, .. }), "{refused:?}");
    }
}
