//! Slack over a connection that the office opens: a whole office and, beside it, Slack's own client, before the same
//! other side.

use event::Fact;
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use tests::python::python;
use tests::slack::{TEAM, TOKEN, app_mention, from_team};
use tests::socket::{APP_TOKEN, Socket};
use tests::{Kit, host};

fn envelope(id: &str, payload: Value) -> Value {
    json!({"type": "events_api", "envelope_id": id, "payload": payload, "accepts_response_payload": false,
        "retry_attempt": 0, "retry_reason": ""})
}

#[tokio::test]
async fn a_mention_over_the_socket_is_acknowledged_and_answered_and_a_renewed_connection_loses_nothing() {
    let socket = Socket::serve().await;
    let mut kit = Kit::new().await;
    kit.slack.set_sockets(&socket);
    kit.loopback.push(socket.origin.clone());
    kit.slack_more = "socket = true".to_owned();
    let office = kit.open().await;
    socket.until("a connection", |socket| socket.connections().0 == 1).await;
    socket.say(1, &envelope("a", app_mention("Ev1", "C01", "U01ALICE", "1.000001", "<@U0BOT> hello")));
    socket.until("an acknowledgement", |socket| socket.acknowledged() == ["a"]).await;
    office.until_turns_ended(1).await;
    assert_eq!(kit.slack.posts().len(), 1);
    socket.say(1, &json!({"type": "disconnect", "reason": "warning", "debug_info": {"host": "applink-1"}}));
    socket.until("a second connection beside the first", |socket| socket.connections() == (2, 2)).await;
    socket.say(2, &envelope("b", app_mention("Ev2", "C01", "U01ALICE", "2.000001", "<@U0BOT> hello")));
    socket.say(1, &envelope("c", app_mention("Ev2", "C01", "U01ALICE", "2.000001", "<@U0BOT> hello")));
    let events = office.until_turns_ended(2).await;
    let deliveries = events.iter().filter(|event| matches!(event.fact, Fact::DeliveryReceived(_))).count();
    socket.until("both acknowledged", |socket| socket.acknowledged().len() == 3).await;
    assert_eq!((deliveries, kit.slack.posts().len()), (2, 2), "one delivery, though it came over both");
    socket.hang_up(1);
    assert!(!format!("{events:?}").contains(APP_TOKEN));
    office.stop().await;
    socket.until("every connection ended", |socket| socket.connections().1 == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_app_has_a_socket_of_its_own_which_speaks_for_its_own_workspaces_alone() {
    const OTHER: &str = "T02OTHER";
    const OTHER_TOKEN: &str = "xoxb-other-token-0123456789";
    const OTHER_APP_TOKEN: &str = "xapp-1-A02OTHER-0123456789";
    let (one, other) = (Socket::serve().await, Socket::serve().await);
    let mut kit = Kit::new().await;
    kit.slack.set_sockets(&one);
    kit.slack.set_socket_of(OTHER_APP_TOKEN, &other);
    kit.slack.installs.join(OTHER, OTHER_TOKEN);
    kit.loopback.extend([one.origin.clone(), other.origin.clone()]);
    for (file, value) in [("other-token", OTHER_TOKEN), ("other-app-token", OTHER_APP_TOKEN)] {
        std::fs::write(kit.folder().join(file), value).unwrap();
    }
    kit.credentials = format!(
        "\"slack.bot-token@{OTHER}\" = {{ file = \"other-token\" }}\n\"slack.app-token@{OTHER}\" = {{ file = \
         \"other-app-token\" }}\n"
    );
    kit.slack_more = format!("socket = true\n[[slack.workspace]]\nteam = \"{OTHER}\"\nsocket = true\n");
    let office = kit.open().await;
    for socket in [&one, &other] {
        socket.until("a connection", |socket| socket.connections().0 == 1).await;
    }
    let asks = |id: &str, team: &str| {
        let user = if team == OTHER { tests::installs::Member::of(OTHER).user } else { "U0BOT".to_owned() };
        let ts = format!("{}.000001", id.len());
        from_team(app_mention(id, "C01", "U01ALICE", &ts, &format!("<@{user}> hello")), team)
    };
    // Each of the other's: neither recorded nor acknowledged, and signed by the first app neither.
    one.say(1, &envelope("x", asks("Ev1", OTHER)));
    other.say(1, &envelope("y", asks("Ev22", TEAM)));
    assert_eq!(office.deliver(&asks("Ev333", OTHER)).await, 401);
    one.say(1, &envelope("a", asks("Ev4444", TEAM)));
    other.say(1, &envelope("b", asks("Ev55555", OTHER)));
    let events = office.until_turns_ended(2).await;
    one.until("an acknowledgement", |socket| socket.acknowledged() == ["a"]).await;
    other.until("an acknowledgement", |socket| socket.acknowledged() == ["b"]).await;
    let deliveries = events.iter().filter(|event| matches!(event.fact, Fact::DeliveryReceived(_))).count();
    let posts = (kit.slack.posts_with(TOKEN).len(), kit.slack.posts_with(OTHER_TOKEN).len());
    assert_eq!((deliveries, posts), (2, (1, 1)));
    office.stop().await;
    let config = kit.write();
    std::fs::remove_file(kit.folder().join("other-app-token")).unwrap();
    let doctor = String::from_utf8(host::run(&config, &["doctor"]).stdout).unwrap();
    assert!(doctor.contains("`slack.app-token@T02OTHER` is missing"), "{doctor}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_names_the_scopes_that_the_token_lacks_and_what_each_is_for() {
    let kit = Kit::new().await;
    let config = kit.write();
    let output = host::run(&config, &["slack", "doctor"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success());
    assert!(text.contains("U0BOT in T01TEST"), "{text}");
    assert!(
        text.contains("`emoji:read` is missing: the office cannot know the emoji of the workspace"),
        "{text}"
    );
    assert!(!text.contains("`chat:write` is missing"), "{text}");
}

const CLIENT: &str = r#"
import sys, time
from slack_sdk.web import WebClient
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse
client = SocketModeClient(app_token=sys.argv[1], web_client=WebClient(token="xoxb-test", base_url=sys.argv[2]))
def take(client, request):
    print(request.type, request.envelope_id, request.payload["event"]["type"], flush=True)
    client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
client.socket_mode_request_listeners.append(take)
client.connect()
sys.stdin.read()
client.close()
"#;

/// Slack's own client takes what the other side of these tests says, acknowledges it, and comes back when it is told to:
/// so what the office is tested against is not only our reading of Slack.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slacks_own_client_takes_the_other_side_of_these_tests_for_slack() {
    let python = tokio::task::spawn_blocking(python).await.unwrap();
    let socket = Socket::serve().await;
    let mut client = Command::new(&python)
        .args(["-c", CLIENT, APP_TOKEN, &format!("{}/api/", socket.api)])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    socket.until("the client's connection", |socket| socket.connections().0 >= 1).await;
    assert_eq!(socket.tokens()[0], format!("Bearer {APP_TOKEN}"));
    socket.say(1, &envelope("a", app_mention("Ev1", "C01", "U01ALICE", "1.000001", "<@U0BOT> hello")));
    socket.until("its acknowledgement", |socket| socket.acknowledged() == ["a"]).await;
    socket.say(
        1,
        &json!({"type": "disconnect", "reason": "refresh_requested", "debug_info": {"host": "applink-1"}}),
    );
    socket.until("its second connection", |socket| socket.connections().0 >= 2).await;
    socket.say(2, &envelope("b", app_mention("Ev2", "C01", "U01ALICE", "2.000001", "<@U0BOT> hello")));
    socket.until("its second acknowledgement", |socket| socket.acknowledged() == ["a", "b"]).await;
    drop(client.stdin.take());
    client.kill().unwrap();
    client.wait().unwrap();
}
