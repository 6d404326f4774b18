//! The way out: what a guest asks for, what leaves, and what the host writes down about it.

use super::kit::{Kit, READ_AT, TOKEN, component, granted, kit, output, route, small};
use super::server::{Manner, Server};
use event::{Digest, Route, RoutePath};
use gate::{Reached, Reading};
use serde_json::{Value, json};

const METHODS: &[&str] = &["GET", "POST", "PUT"];

/// Hands over `hostile` with `routes`, and loopback open to the server.
async fn towards(server: &Server, routes: Vec<Route>) -> Kit {
    kit(small(), &[component("hostile")], &[granted(routes)], &[&server.origin]).await
}

async fn answers() -> Server {
    Server::start(Manner::Answers("a page")).await
}

fn error(reached: Reached) -> String {
    output(reached).get("error").and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn what_was_granted_goes_out_and_what_was_read_is_written_down() {
    let server = answers().await;
    let kit = towards(&server, vec![route(METHODS, &server.origin, "/", None)]).await;
    let reached = kit.call("hostile.fetch", json!({"url": format!("{}/a?b=c", server.origin)})).await;
    let reading = Reading {
        method: "GET".to_owned(),
        address: format!("{}/a?b=c", server.origin),
        status: 200,
        sha256: Digest::of(b"a page"),
        bytes: 6,
        read_at: READ_AT,
    };
    assert_eq!((&reached.readings, reached.request_sent), (&vec![reading], true));
    assert_eq!(output(reached), json!({"status": 200, "body": "a page"}));
    assert!(server.requests()[0].starts_with("get /a?b=c http/1.1"), "{:?}", server.requests());
}

#[tokio::test]
async fn what_was_not_granted_never_leaves() {
    let server = answers().await;
    let kit = towards(&server, vec![route(&["GET"], &server.origin, "/open", None)]).await;
    for url in ["/secret", "/opened", "/open/../secret", "/open/%2e%2e/secret"]
        .map(|path| format!("{}{path}", server.origin))
    {
        let reached = kit.call("hostile.fetch", json!({"url": url})).await;
        assert_eq!((reached.request_sent, reached.readings.len()), (false, 0), "{url}");
        assert!(!error(reached).is_empty(), "{url}");
    }
    for url in ["https://example.com/", "http://169.254.169.254/", "http://127.0.0.1:1/", "https://10.0.0.1/"]
    {
        let reached = kit.call("hostile.push", json!({"url": url})).await;
        assert!(!reached.request_sent && !error(reached).is_empty(), "{url}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn of_a_whole_path_nothing_near_it_leaves() {
    let server = answers().await;
    let whole = |path: &str| Route {
        path: RoutePath::Whole(path.to_owned()),
        ..route(&["GET"], &server.origin, "/", None)
    };
    let kit = towards(&server, vec![whole("/me/drafts"), whole("/me/drafts/*")]).await;
    let asked = |path: &str| kit.call("hostile.fetch", json!({"url": format!("{}{path}", server.origin)}));
    for path in ["/me/drafts?q=1", "/me/./drafts", "/me/drafts/7", "/me/drafts/7/../8"] {
        assert!(asked(path).await.request_sent, "{path}");
    }
    let sent = server.requests().len();
    for path in [
        "/me/drafts/",
        "/me/drafts/7/send",
        "/me/drafts/7%2Fsend",
        "/me/drafts/7%252Fsend",
        "/me/drafts%2F7",
        "/me/drafts/..",
        "/me/drafts/7;x=1",
        "/ME/drafts",
        "//me/drafts",
    ] {
        let reached = asked(path).await;
        assert!(!reached.request_sent && !error(reached).is_empty(), "{path}");
    }
    assert_eq!(server.requests().len(), sent);
}

#[tokio::test]
async fn a_read_posts_nothing_unless_exactly_that_was_granted() {
    let server = answers().await;
    let routes =
        vec![route(METHODS, &server.origin, "/", None), route(&["POST"], &server.origin, "/auth.test", None)];
    let kit = towards(&server, routes).await;
    let send = |tool, method: &str, path: &str| {
        let input = json!({"url": format!("{}{path}", server.origin), "method": method, "body": "text"});
        kit.call(tool, input)
    };
    for (method, path) in
        [("POST", "/other"), ("PUT", "/auth.test"), ("POST", "/auth.test/x"), ("CONNECT", "/auth.test")]
    {
        let reached = send("hostile.fetch", method, path).await;
        assert!(!reached.request_sent, "{method} {path}");
        assert!(error(reached).contains("HttpRequestDenied"), "{method} {path}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
    assert_eq!(output(send("hostile.fetch", "POST", "/auth.test").await).get("status"), Some(&json!(200)));
    assert_eq!(output(send("hostile.push", "POST", "/other").await).get("status"), Some(&json!(200)));
    let requests = server.requests();
    assert!(
        requests[0].starts_with("post /auth.test ") && requests[1].starts_with("post /other "),
        "{requests:?}"
    );
    assert!(requests[1].ends_with("\r\n\r\ntext"), "{requests:?}");
}

#[tokio::test]
async fn a_guests_own_credentials_are_dropped_and_the_granted_one_is_put_in() {
    let server = answers().await;
    let routes = vec![
        route(&["GET"], &server.origin, "/plain", None),
        route(&["GET"], &server.origin, "/with", Some("hostile.token")),
    ];
    let kit = towards(&server, routes).await;
    let headers = json!({"Authorization": "Bearer stolen", "Cookie": "stolen", "X-Api-Key": "stolen", "X-Other": "kept"});
    for path in ["/plain", "/with"] {
        output(
            kit.call("hostile.fetch", json!({"url": format!("{}{path}", server.origin), "headers": headers}))
                .await,
        );
    }
    let requests = server.requests();
    assert!(
        requests.iter().all(|request| !request.contains("stolen") && request.contains("x-other: kept")),
        "{requests:?}"
    );
    assert!(!requests[0].contains("authorization"), "{requests:?}");
    assert!(requests[1].contains(&format!("authorization: bearer {TOKEN}")), "{requests:?}");
}

#[tokio::test]
async fn a_guest_knows_whether_a_credential_is_there_and_never_what_it_is() {
    let server = answers().await;
    let kit = towards(&server, vec![route(&["GET"], &server.origin, "/", Some("hostile.token"))]).await;
    let asked =
        |name: &str| kit.call("hostile.echo", json!({"text": "hi", "setting": "colour", "credential": name}));
    let lent = json!({"text": "hi", "key": "", "setting": "\"red\"", "credential": true});
    assert_eq!(output(asked("hostile.token").await), lent);
    assert_eq!(output(asked("other.token").await).get("credential"), Some(&json!(false)));
    let bare = towards(&server, vec![route(&["GET"], &server.origin, "/", None)]).await;
    let unnamed = bare.call("hostile.echo", json!({"credential": "hostile.token"})).await;
    assert_eq!(output(unnamed).get("credential"), Some(&json!(false)), "no granted route names it");
}

#[tokio::test]
async fn a_call_has_so_many_requests_and_no_more() {
    let server = answers().await;
    let kit = towards(&server, vec![route(&["GET"], &server.origin, "/", None)]).await;
    let reached = kit.call("hostile.fetch", json!({"url": server.origin, "times": 10})).await;
    assert_eq!((server.requests().len(), reached.readings.len()), (3, 3));
    assert!(error(reached).contains("HttpRequestDenied"));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let server = Server::start(Manner::Redirects("/elsewhere")).await;
    let kit = towards(&server, vec![route(&["GET"], &server.origin, "/", None)]).await;
    assert_eq!(
        output(kit.call("hostile.fetch", json!({"url": server.origin})).await).get("status"),
        Some(&json!(302))
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_request_that_surely_did_not_leave_is_told_from_one_that_may_have() {
    let server = Server::start(Manner::HangsUp).await;
    let kit = towards(&server, vec![route(METHODS, &server.origin, "/", None)]).await;
    let hung_up = kit.call("hostile.push", json!({"url": server.origin, "method": "POST"})).await;
    assert!(hung_up.request_sent && hung_up.readings.is_empty());
    let gone = { Server::start(Manner::IsSilent).await.origin.clone() };
    let gone_kit = super::kit::kit(
        small(),
        &[component("hostile")],
        &[granted(vec![route(METHODS, &gone, "/", None)])],
        &[&gone],
    )
    .await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let nobody = gone_kit.call("hostile.push", json!({"url": gone, "method": "POST"})).await;
    assert!(!nobody.request_sent, "{nobody:?}");
    assert!(error(nobody).contains("ConnectionRefused"));
}

#[tokio::test]
async fn a_request_nobody_waited_for_counts_as_sent() {
    let server = Server::start(Manner::IsSilent).await;
    let mut pool = small();
    pool.tools.wall_ms = 600;
    let routes = vec![route(METHODS, &server.origin, "/", None)];
    let kit = kit(pool, &[component("hostile")], &[granted(routes)], &[&server.origin]).await;
    let timed_out = kit.call("hostile.push", json!({"url": server.origin, "method": "POST"})).await;
    assert!(timed_out.request_sent);
    let soon = kit.call("hostile.push", json!({"url": server.origin, "first_byte_ms": 100})).await;
    assert!(soon.request_sent);
    assert!(error(soon).contains("Timeout"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_sent_is_said_only_of_what_never_arrives() {
    let server = answers().await;
    let kit = towards(&server, vec![route(METHODS, &server.origin, "/", None)]).await;
    for n in 0..30 {
        // The guest answers while its request may be on the way.
        let url = format!("{}/{n}", server.origin);
        let left = kit.call("hostile.push", json!({"url": url, "leave": true})).await;
        let said = left.request_sent;
        assert_eq!(output(left), json!({"left": true}));
        if !said {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            let arrived = server.requests().iter().any(|request| request.contains(&format!("get /{n} ")));
            assert!(!arrived, "request {n} arrived");
        }
    }
}

/// Whether a request left is the hook's to say: a guest that sends, and then says that nothing left, is not believed.
#[tokio::test]
async fn a_guest_that_lies_about_what_left_is_not_asked() {
    let server = answers().await;
    let kit = towards(&server, vec![route(METHODS, &server.origin, "/", None)]).await;
    let lie = json!({"url": server.origin, "method": "POST", "body": "words", "claim": "not-sent"});
    let reached = kit.call("hostile.push", lie).await;
    assert!(reached.outcome.is_err(), "that is what it says");
    assert!(reached.request_sent && reached.readings.len() == 1, "and that is what happened: {reached:?}");
    let refused = json!({"url": "http://127.0.0.1:1/", "method": "POST", "claim": "not-sent"});
    assert!(!kit.call("hostile.push", refused).await.request_sent, "here it is right");
}
