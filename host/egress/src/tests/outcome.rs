//! What ends in between, and whether the request had left: on this rests what is known of an effect.

use super::{Case, OK, SECRET, Silent, read_request, serve, untouched};
use crate::Refused;
use proptest::prelude::*;
use rustls::pki_types::CertificateDer;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::Instant;

#[tokio::test]
async fn a_silent_server_times_out_after_the_request_left() {
    let (origin, _served) = serve("", true).await;
    let mut case = Case::get(&origin);
    case.limits.head_ms = 50;
    let refused = case.refused().await;
    assert!(
        matches!(refused, Refused::TimedOut { during: "waiting for the answer", left: true }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_body_that_stalls_times_out() {
    let (origin, _served) = serve("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", true).await;
    let mut case = Case::get(&origin);
    case.limits.idle_ms = 50;
    let refused = case.refused().await;
    assert!(matches!(refused, Refused::TimedOut { during: "reading the answer", left: true }), "{refused:?}");
}

#[tokio::test]
async fn the_deadline_ends_a_body_that_never_stalls_and_never_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let _served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        while stream.write_all(b"drip").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let mut case = Case::get(&origin);
    case.deadline_ms = 150;
    let begun = Instant::now();
    let refused = case.refused().await;
    assert!(matches!(refused, Refused::TimedOut { left: true, .. }), "{refused:?}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_in_time_means_nothing_left() {
    let mut case = Case::get("http://localhost:9");
    case.resolve = Arc::new(Silent);
    case.deadline_ms = 50;
    let refused = case.refused().await;
    assert!(
        matches!(refused, Refused::TimedOut { during: "resolving the name", left: false }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_connection_dropped_after_the_request_was_read_means_it_left() {
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-le", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"] {
        let (origin, served) = serve(answer, false).await;
        let refused = Case::get(&origin).refused().await;
        assert!(matches!(refused, Refused::Broken { left: true, .. }), "{answer:?}: {refused:?}");
        assert!(served.await.unwrap().starts_with("GET /page "));
    }
}

#[tokio::test]
async fn a_refused_connection_means_nothing_left() {
    let (origin, listener) = untouched().await;
    drop(listener);
    let refused = Case::get(&origin).refused().await;
    assert!(matches!(refused, Refused::ConnectFailed { .. }) && !refused.request_left(), "{refused:?}");
}

#[tokio::test]
async fn a_handshake_without_tls_on_the_other_side_means_nothing_left() {
    let (origin, listener) = untouched().await;
    let _served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        read_request(&mut stream).await;
    });
    let refused = Case::get(&origin.replace("http:", "https:")).refused().await;
    assert!(matches!(refused, Refused::ConnectFailed { .. }) && !refused.request_left(), "{refused:?}");
}

/// A server for one TLS connection under a certificate for `name`; joining it gives the name that the other
/// side asked for and what it sent, if it shook hands.
async fn serve_tls(name: &str) -> (String, CertificateDer<'static>, JoinHandle<Option<(String, String)>>) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let cryptography = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        rustls::ServerConfig::builder_with_provider(cryptography).with_safe_default_protocol_versions();
    let config =
        config.unwrap().with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.ok()?;
        let asked = stream.get_ref().1.server_name().unwrap_or_default().to_owned();
        let request = read_request(&mut stream).await;
        stream.write_all(OK.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        Some((asked, request))
    });
    (origin, cert.der().clone(), served)
}

#[tokio::test]
async fn over_tls_the_name_asked_for_is_the_routes() {
    let (origin, certificate, served) = serve_tls("localhost").await;
    let mut case = Case::get(&origin);
    case.request = case.request.header("Host", "evil.test");
    case.trusted = Some(certificate);
    assert_eq!(case.send().await.unwrap().body, "hi");
    let (asked, request) = served.await.unwrap().unwrap();
    assert_eq!(asked, "localhost");
    assert!(request.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{request}");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_or_for_another_name_means_nothing_left() {
    for (name, trusts) in [("localhost", false), ("other.example", true)] {
        let (origin, certificate, served) = serve_tls(name).await;
        let mut case = Case::get(&origin);
        case.trusted = trusts.then_some(certificate);
        let refused = case.refused().await;
        assert!(matches!(refused, Refused::ConnectFailed { .. }) && !refused.request_left(), "{refused:?}");
        assert_eq!(served.await.unwrap(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_the_other_side_says_it_is_an_answer_or_the_request_had_left(
        head in "(HTTP/1.1 [1-5][0-9]{2} \\PC{0,5}\r\n)?(([a-z-]{1,20}|content-length|transfer-encoding): ?[ -~]{0,9}\r\n){0,4}(\r\n)?",
        body: Vec<u8>,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (origin, _served) = serve([head.into_bytes(), body].concat(), false).await;
            let left = match Case::get(&origin).send().await {
                Ok(sent) => sent.left,
                Err(refused) => refused.request_left(),
            };
            assert!(left);
        });
    }
}
