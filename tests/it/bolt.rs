//! Slack's own library for JavaScript takes the other side of these tests for Slack: the exchange of codes and refresh
//! tokens, signatures, retries, clicks, and the frames of a socket. So what the office is tested against is not only our
//! reading of Slack.

use record::Clock;
use serde_json::{Value, json};
use tests::Slack;
use tests::bolt::Bolt;
use tests::installs::Member;
use tests::slack::views::{global_shortcut, submission, uses_home};
use tests::slack::{SECRET, TEAM, TOKEN, app_mention, form, from_team, signed};
use tests::socket::{APP_TOKEN, Socket};
use tests::visit::visit;

/// A workspace of its own.
const OTHER: &str = "T02OTHER";

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Sends a signed request to Bolt, as Slack does: the status.
async fn send(url: &str, body: String, content_type: &str, more: &[(&str, String)]) -> u16 {
    let mut headers = signed(SECRET, record::SystemClock.now().0 / 1_000, &body).to_vec();
    headers.extend(more.iter().map(|(name, value)| {
        let name: &'static str = match *name {
            "x-slack-retry-num" => "x-slack-retry-num",
            _ => "x-slack-retry-reason",
        };
        (name, value.clone())
    }));
    tests::office::post_as(url, content_type, &headers, body).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slacks_library_is_installed_by_the_other_side_of_these_tests_and_takes_its_events_and_retries() {
    let slack = Slack::serve().await;
    slack.installs.next(OTHER);
    // An hour is less than the two before which Bolt exchanges a token: the first event makes it do so.
    slack.installs.rotate(3_600);
    let port = free_port().to_string();
    let mut bolt = Bolt::start(&["http", &slack.origin, &port]).await;
    let own = format!("http://127.0.0.1:{port}");

    let begun = visit(&own, "/slack/install", "").await;
    assert_eq!(begun.status, 302, "{}", begun.body);
    let path = |address: &str| format!("/{}", address.splitn(4, '/').nth(3).unwrap());
    let back = visit(&slack.origin, &path(&begun.location), "").await;
    let done = visit(&own, &path(&back.location), &begun.cookie).await;
    assert_eq!(done.status, 200, "{}", done.body);
    let installed = bolt.says("installed").await;
    assert!(
        installed.starts_with(&format!("installed {OTHER} {} U01ADMIN true ends", Member::of(OTHER).user)),
        "{installed}"
    );

    let text = format!("<@{}> hello", Member::of(OTHER).user);
    let mention = |event_id: &str, ts: &str| {
        from_team(app_mention(event_id, "C01", "U01ALICE", ts, &text), OTHER).to_string()
    };
    assert_eq!(send(&own, mention("Ev1", "1.000001"), "application/json", &[]).await, 200);
    // To say who it is it asks with the old token or the new, and before it answers it has exchanged the token.
    let exchanged = bolt.says("installed").await;
    assert!(exchanged.ends_with("-2") && !installed.ends_with("-2"), "{exchanged}");
    let heard = bolt.says("mention").await;
    assert_eq!(heard, format!("mention {OTHER} {} {text} retry=0 first", Member::of(OTHER).user));
    let exchanges = slack.installs.exchanges();
    assert!(exchanges[1].contains("grant_type=refresh_token"), "{exchanges:?}");

    let retry = [("x-slack-retry-num", "1".to_owned()), ("x-slack-retry-reason", "http_timeout".to_owned())];
    assert_eq!(send(&own, mention("Ev1", "1.000001"), "application/json", &retry).await, 200);
    // Its one token ends within two hours too, so it is exchanged each time.
    bolt.says("installed").await;
    assert!(bolt.says("mention").await.ends_with("retry=1 http_timeout"));

    let click = click();
    assert_eq!(send(&own, form(&click), "application/x-www-form-urlencoded", &[]).await, 200);
    bolt.says("installed").await;
    assert_eq!(bolt.says("click").await, "click U01ALICE approval_0123");

    // What Slack did not sign it does not take.
    let body = mention("Ev2", "2.000001");
    let headers = signed("another secret", record::SystemClock.now().0 / 1_000, &body);
    assert_eq!(tests::office::post(&own, &headers, body).await, Some(401));
}

/// The same, of the other workspace.
fn of_other(mut payload: Value) -> Value {
    payload["team"]["id"] = json!(OTHER);
    payload["user"]["team_id"] = json!(OTHER);
    payload
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slacks_library_opens_a_form_and_takes_what_is_sent_with_it() {
    let slack = Slack::serve().await;
    slack.installs.next(OTHER);
    let port = free_port().to_string();
    let mut bolt = Bolt::start(&["http", &slack.origin, &port]).await;
    let own = format!("http://127.0.0.1:{port}");
    let begun = visit(&own, "/slack/install", "").await;
    let path = |address: &str| format!("/{}", address.splitn(4, '/').nth(3).unwrap());
    let back = visit(&slack.origin, &path(&begun.location), "").await;
    visit(&own, &path(&back.location), &begun.cookie).await;
    bolt.says("installed").await;
    let sends = async |payload: Value| {
        assert_eq!(send(&own, form(&payload), "application/x-www-form-urlencoded", &[]).await, 200);
    };
    // What opens a form counts once.
    let shortcut = of_other(global_shortcut("U01ALICE", "chancery.question", &slack.trigger()));
    sends(shortcut.clone()).await;
    assert_eq!(bolt.says("shortcut").await, "shortcut U01ALICE chancery.question");
    sends(shortcut).await;
    assert_eq!(bolt.says("shortcut").await, "shortcut U01ALICE exchanged_trigger_id");
    let view = slack.forms().remove(0);
    sends(of_other(submission("U01ALICE", &view, "why?", Some("C01")))).await;
    assert_eq!(bolt.says("asked").await, "asked U01ALICE why? C01");
    let menu = json!({"type": "static_select", "action_id": "home.mode"});
    let block = json!({"type": "section", "block_id": "4/C01/effect_1", "accessory": menu});
    let home = json!({"user_id": "U01ALICE", "view": {"type": "home", "blocks": [block]}});
    let option =
        json!({"selected_option": {"text": {"type": "plain_text", "text": "Eager"}, "value": "eager"}});
    sends(of_other(uses_home(&home, "home.mode", &option))).await;
    assert_eq!(bolt.says("home").await, "home home 4/C01/effect_1 eager");
}

/// A click of somebody in the other workspace.
fn click() -> Value {
    let button = json!({"type": "button", "action_id": "approval.yes", "value": "approval_0123",
        "text": {"type": "plain_text", "text": "Yes"}});
    let message =
        json!({"text": "a card", "blocks": [{"type": "actions", "elements": [button]}], "channel": "C01"});
    tests::slack::click(&("1.000001".to_owned(), message), "U01ALICE", "approval.yes", |payload| {
        payload["team"]["id"] = json!(OTHER);
        payload["user"]["team_id"] = json!(OTHER);
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slacks_library_reads_the_frames_of_the_socket_and_comes_back_when_it_is_told_to() {
    let (slack, socket) = (Slack::serve().await, Socket::serve().await);
    slack.set_sockets(&socket);
    let mut bolt = Bolt::start(&["socket", &slack.origin, TOKEN, APP_TOKEN]).await;
    socket.until("its connection", |socket| socket.connections().0 >= 1).await;
    assert!(slack.tokens().contains(&format!("Bearer {APP_TOKEN}")));
    let envelope = |id: &str, ts: &str, retry: u32| {
        json!({"type": "events_api", "envelope_id": id, "accepts_response_payload": false, "retry_attempt": retry,
            "retry_reason": if retry > 0 { "timeout" } else { "" },
            "payload": app_mention(&format!("Ev{ts}"), "C01", "U01ALICE", ts, "<@U0BOT> hello")})
    };
    socket.say(1, &envelope("a", "1.000001", 0));
    assert_eq!(bolt.says("mention").await, format!("mention {TEAM} U0BOT <@U0BOT> hello retry=0 first"));
    socket.until("its acknowledgement", |socket| socket.acknowledged() == ["a"]).await;
    socket.say(1, &envelope("b", "1.000001", 1));
    assert!(bolt.says("mention").await.ends_with("retry=1 timeout"));
    socket.say(
        1,
        &json!({"type": "disconnect", "reason": "refresh_requested", "debug_info": {"host": "applink-1"}}),
    );
    socket.until("its second connection", |socket| socket.connections().0 >= 2).await;
    socket.say(2, &envelope("c", "2.000001", 0));
    bolt.says("mention").await;
    socket.until("all of them acknowledged", |socket| socket.acknowledged() == ["a", "b", "c"]).await;
    // It acknowledges first, and answers then.
    let began = std::time::Instant::now();
    while slack.posts_with(TOKEN).len() < 3 {
        assert!(began.elapsed().as_secs() < 60, "{:?}", slack.posts());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let posts = slack.posts_with(TOKEN);
    assert_eq!(posts[0]["thread_ts"], "1.000001");
}
