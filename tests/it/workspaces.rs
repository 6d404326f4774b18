//! The office in several workspaces: each with its token, its name and its people; how it comes into one, and what is left
//! when it is removed.

mod sealed;

use event::{Event, Fact, TurnEnding};
use record::Clock;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tests::installs::{CLIENT_ID, CLIENT_SECRET, Member};
use tests::office::Office;
use tests::slack::{SECRET, TEAM, TOKEN, app_mention, from_team, message, signed};
use tests::visit::{Visit, visit};
use tests::{Kit, host};

/// The second workspace.
const OTHER: &str = "T02OTHER";
/// Its token.
const OTHER_TOKEN: &str = "xoxb-other-token-0123456789";

/// An office in two workspaces by its configuration.
async fn in_two() -> Kit {
    let mut kit = Kit::new().await;
    kit.slack.installs.join(OTHER, OTHER_TOKEN);
    std::fs::write(kit.folder().join("other-token"), OTHER_TOKEN).unwrap();
    kit.credentials = format!("\"slack.bot-token@{OTHER}\" = {{ file = \"other-token\" }}\n");
    kit
}

/// A mention of the office in `team`, by the name it has there.
fn mention(event_id: &str, team: &str, ts: &str) -> Value {
    if team == TEAM {
        return app_mention(event_id, "C01", "U01ALICE", ts, "<@U0BOT> hello");
    }
    let text = format!("<@{}> hello", Member::of(team).user);
    from_team(app_mention(event_id, "C01", "U01ALICE", ts, &text), team)
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

#[tokio::test]
async fn each_workspace_is_answered_with_its_own_token_and_under_the_name_it_knows() {
    let kit = in_two().await;
    let office = kit.open().await;
    // The same channel, moment and person: in another workspace they are others.
    office.deliver(&mention("Ev1", TEAM, "1.000001")).await;
    office.deliver(&mention("Ev2", OTHER, "1.000001")).await;
    // The office's name in one workspace is a stranger's in the other.
    let stranger = format!("<@{}> hello", Member::of(OTHER).user);
    office.deliver(&message("Ev3", "C01", "U01ALICE", "2.000001", &stranger)).await;
    office.deliver(&from_team(message("Ev4", "C01", "U01ALICE", "2.000001", "<@U0BOT> hello"), OTHER)).await;
    office.until_turns_ended(2).await;
    let events = office.until_classified().await;
    assert_eq!((count(&events, "message.received"), count(&events, "turn.opened")), (4, 2));
    let reasons: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::DeliveryClassified(body) => Some(body.reason.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(reasons.iter().filter(|reason| **reason == "addressed-to-another").count(), 2, "{reasons:?}");
    for token in [TOKEN, OTHER_TOKEN] {
        let posts = kit.slack.posts_with(token);
        assert_eq!(posts.len(), 1, "{token}");
        assert_eq!(posts[0]["thread_ts"], "1.000001");
        assert!(posts[0].get("team").is_none(), "{}", posts[0]);
    }
    assert!(!format!("{events:?}").contains(OTHER_TOKEN));
    office.stop().await;
}

#[tokio::test]
async fn an_answer_for_a_workspace_without_a_token_never_goes_with_anothers() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    office.deliver(&mention("Ev1", OTHER, "1.000001")).await;
    let events = office.until_classified().await;
    assert_eq!(count(&events, "turn.opened"), 0);
    // Even where somebody asks for it by name.
    let seat = event::SeatId::parse("seat_system").unwrap();
    let input = json!({"team": OTHER, "channel": "C01", "user": "U01ALICE", "text": "hello"});
    let call =
        gate::Call::duty(seat, (&events[0].id, "test", 1), "slack.whisper", gate::Payload::Tool(input));
    let passed = office.built.gate.pass(call, None).await.unwrap();
    let told = format!("{passed:?}");
    assert!(matches!(passed, gate::Passed::Failed { .. }) && told.contains("no token for Slack"), "{told}");
    assert!(kit.slack.posts().is_empty() && kit.slack.whispers().is_empty());
    office.stop().await;
}

#[tokio::test]
async fn the_secret_of_one_workspaces_own_app_does_not_speak_for_another() {
    let mut kit = in_two().await;
    std::fs::write(kit.folder().join("other-secret"), "other-signing-secret").unwrap();
    kit.slack_more = format!(
        "[[slack.workspace]]\nteam = \"{OTHER}\"\nsigning_secrets = [{{ file = \"other-secret\" }}]\n"
    );
    let office = kit.open().await;
    let send = async |payload: &Value, secret: &str| {
        let body = payload.to_string();
        let headers = signed(secret, record::SystemClock.now().0 / 1_000, &body);
        tests::office::post(&office.url, &headers, body).await.unwrap()
    };
    assert_eq!(send(&mention("Ev1", OTHER, "1.000001"), SECRET).await, 401);
    assert_eq!(send(&mention("Ev2", TEAM, "1.000001"), "other-signing-secret").await, 401);
    assert_eq!(send(&mention("Ev3", OTHER, "1.000001"), "other-signing-secret").await, 200);
    assert_eq!(send(&mention("Ev4", TEAM, "1.000001"), SECRET).await, 200);
    let events = office.until_turns_ended(2).await;
    assert_eq!(count(&events, "delivery.received"), 2);
    office.stop().await;
}

/// An office that is installed over Slack's pages, in `workspaces` alone, at an address that its tests come to.
async fn installable(workspaces: &[&str]) -> Kit {
    let mut kit = Kit::new().await;
    std::fs::write(kit.folder().join("client-secret"), CLIENT_SECRET).unwrap();
    kit.credentials = "\"slack.client-secret\" = { file = \"client-secret\" }\n".to_owned();
    kit.slack_more = format!(
        "[slack.install]\nclient_id = \"{CLIENT_ID}\"\nurl = \"http://127.0.0.1:1\"\nworkspaces = {workspaces:?}\n\
         authorize = \"{}/oauth/v2/authorize\"\n",
        kit.slack.origin
    );
    kit
}

/// A person in a browser: to the office, to Slack's page, which says yes, and back. What they come back with.
async fn to_slack_and_back(office: &Office) -> (String, String) {
    let Visit { status, location, cookie, .. } = visit(&office.url, "/slack/install", "").await;
    assert_eq!(status, 302);
    let (origin, path) = split(&location);
    let back = visit(&origin, &path, "").await;
    assert_eq!(back.status, 302, "{}", back.body);
    (split(&back.location).1, cookie)
}

fn split(address: &str) -> (String, String) {
    let (scheme, rest) = address.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    (format!("{scheme}://{authority}"), format!("/{path}"))
}

#[tokio::test]
async fn it_is_installed_over_slacks_pages_once_for_each_state_and_its_token_stands_nowhere() {
    let kit = installable(&[OTHER]).await;
    let office = kit.open().await;
    kit.slack.installs.next(OTHER);
    kit.slack.installs.withhold("emoji:read");
    let (path, cookie) = to_slack_and_back(&office).await;
    // Another browser, a state of nobody, and no cookie at all get nothing and use nothing up.
    let forged = path.replace("state=", "state=1");
    for (path, cookie) in [(&path, ""), (&path, "chancery_install=00"), (&forged, cookie.as_str())] {
        let refused = visit(&office.url, path, cookie).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
    }
    assert!(kit.slack.installs.exchanges().is_empty());
    let done = visit(&office.url, &path, &cookie).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert!(done.body.contains(OTHER) && done.body.contains("`emoji:read` is missing"), "{}", done.body);
    let again = visit(&office.url, &path, &cookie).await;
    assert!(again.status == 403 && again.body.contains("used before"), "{}", again.body);
    assert_eq!(kit.slack.installs.exchanges().len(), 1);

    office.deliver(&mention("Ev1", OTHER, "1.000001")).await;
    let events = office.until_turns_ended(1).await;
    let given = kit.slack.installs.given();
    let token = given.iter().find(|token| token.starts_with("xoxb-T02OTHER")).unwrap();
    assert_eq!(kit.slack.posts_with(token).len(), 1);
    let installed = events.iter().find_map(|event| match &event.fact {
        Fact::ConnectionInstalled(body) => Some(body.clone()),
        _ => None,
    });
    let installed = installed.unwrap();
    assert_eq!((installed.team.as_str(), installed.by.as_str()), (OTHER, "U01ADMIN"));
    // Whoever installs it is nobody here: the owner stands in the configuration.
    let owner = events.iter().any(|event| format!("{event:?}").contains("person_slack.T02OTHER.U01ADMIN"));
    assert!(!owner);
    let told = format!("{events:?}");
    assert!(given.iter().all(|token| !told.contains(token.as_str())) && !told.contains(CLIENT_SECRET));
    office.stop().await;

    // It is still there after a restart.
    let office = kit.open().await;
    office.deliver(&mention("Ev2", OTHER, "2.000001")).await;
    office.until_turns_ended(2).await;
    assert_eq!(kit.slack.posts_with(token).len(), 2);
    office.stop().await;
}

#[tokio::test]
async fn a_workspace_that_the_operator_did_not_name_and_a_whole_organisation_are_turned_away_and_given_back()
{
    let kit = installable(&[OTHER]).await;
    let office = kit.open().await;
    for (team, twist, said) in [
        ("T03STRANGER", json!({}), "did not name it"),
        (OTHER, json!({"is_enterprise_install": true}), "a whole organisation"),
        (OTHER, json!({"team": null, "enterprise": {"id": "E01"}}), "a whole organisation"),
        (OTHER, json!({"token_type": "user"}), "not a bot&#39;s"),
        // The office is there already, by another token or by this very one: that is not given back.
        (TEAM, json!({}), "did not name it"),
    ] {
        kit.slack.installs.next(team);
        kit.slack.installs.twist(twist.clone());
        let (path, cookie) = to_slack_and_back(&office).await;
        let refused = visit(&office.url, &path, &cookie).await;
        let said = said.replace("&#39;", "'");
        assert!(refused.status == 403 && refused.body.contains(&said), "{twist}: {}", refused.body);
    }
    assert_eq!(kit.slack.installs.revoked().len(), 4);
    let events = office.events().await;
    assert_eq!(count(&events, "connection.installed"), 0);
    assert!(office.built.hands.vault().kept().is_empty());
    office.stop().await;
}

/// A clock that goes on by itself and can be moved.
struct Moved(AtomicI64);

impl Clock for Moved {
    fn now(&self) -> event::Timestamp {
        record::SystemClock.now().plus_ms(self.0.load(Ordering::Relaxed))
    }
}

#[tokio::test]
async fn a_token_that_ends_is_exchanged_before_and_one_that_cannot_be_ends_its_workspace_alone() {
    let kit = installable(&[OTHER]).await;
    kit.slack.installs.rotate(43_200);
    let clock = Arc::new(Moved(AtomicI64::new(0)));
    let ports = app::Ports { clock: clock.clone(), resolver: Arc::new(egress::SystemResolver) };
    let office = kit.open_with(ports).await;
    kit.slack.installs.next(OTHER);
    let (path, cookie) = to_slack_and_back(&office).await;
    assert_eq!(visit(&office.url, &path, &cookie).await.status, 200);
    let first = kit.slack.installs.given().into_iter().find(|token| token.starts_with("xoxe.xoxb")).unwrap();
    assert_eq!(count(&office.events().await, "connection.renewed"), 0);

    // Eleven of its twelve hours have passed.
    clock.0.store(11 * 3_600_000, Ordering::Relaxed);
    let events =
        office.until("the token was exchanged", |events| count(events, "connection.renewed") == 1).await;
    let exchanges = kit.slack.installs.exchanges();
    assert_eq!(exchanges.len(), 2);
    assert!(
        exchanges[1].contains("grant_type=refresh_token&refresh_token=xoxe-1-refresh-1"),
        "{}",
        exchanges[1]
    );
    let token = "xoxe.xoxb-1-T02OTHER-2";
    let told = format!("{events:?}");
    assert!(!told.contains(&first) && !told.contains(token) && !told.contains("xoxe-1-refresh"));
    let seat = event::SeatId::parse("seat_system").unwrap();
    let says = async |step: u32| {
        let input = json!({"team": OTHER, "channel": "C01", "user": "U01ALICE", "text": "hello"});
        let cause = (&events[0].id, "test", step);
        let call = gate::Call::duty(seat.clone(), cause, "slack.whisper", gate::Payload::Tool(input));
        office.built.gate.pass(call, None).await.unwrap()
    };
    assert!(matches!(says(1).await, gate::Passed::Done { .. }));
    assert!(kit.slack.tokens().contains(&format!("Bearer {token}")));

    // Slack takes nothing any more, and the token ends.
    kit.slack.installs.remove(OTHER);
    clock.0.store(30 * 3_600_000, Ordering::Relaxed);
    let events = office.until("it ended", |events| count(events, "connection.ended") == 1).await;
    assert!(
        matches!(says(2).await, gate::Passed::Refused(refusal) if refusal.reason.contains("its token ended"))
    );
    assert_eq!(count(&events, "connection.renewed"), 1);
    assert!(!office.built.hands.vault().has(&format!("slack.bot-token@{OTHER}")));
    office.stop().await;
}

/// Slack says that something happened to the installation in `team`.
fn lost(event_id: &str, team: &str, kind: &str, more: Value) -> Value {
    let mut payload = from_team(message(event_id, "C01", "U01ALICE", "9.000001", ""), team);
    payload["event"] = json!({"type": kind, "event_ts": "9.000001"});
    payload["event"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_that_removed_it_goes_silent_and_the_others_live_on_until_it_is_installed_again() {
    let kit = installable(&[OTHER]).await;
    let office = kit.open().await;
    kit.slack.installs.next(OTHER);
    let (path, cookie) = to_slack_and_back(&office).await;
    assert_eq!(visit(&office.url, &path, &cookie).await.status, 200);

    // A person took back a token of theirs; a late word of an earlier removal: the office's token is good.
    let mine = json!({"tokens": {"oauth": ["U01ALICE"], "bot": []}});
    office.deliver(&lost("Ev1", OTHER, "tokens_revoked", mine)).await;
    office.deliver(&lost("Ev2", OTHER, "app_uninstalled", json!({}))).await;
    office.deliver(&mention("Ev3", OTHER, "1.000001")).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(count(&events, "connection.ended"), 0);

    kit.slack.installs.remove(OTHER);
    let own = Member::of(OTHER).user;
    let tokens = json!({"tokens": {"oauth": [], "bot": [own]}});
    office.deliver(&lost("Ev4", OTHER, "tokens_revoked", tokens)).await;
    office.deliver(&lost("Ev5", OTHER, "app_uninstalled", json!({}))).await;
    office.until("it ended", |events| count(events, "connection.ended") == 1).await;
    office.deliver(&mention("Ev6", OTHER, "2.000001")).await;
    office.deliver(&mention("Ev7", TEAM, "2.000001")).await;
    let events = office.until_turns_ended(2).await;
    assert_eq!((count(&events, "turn.opened"), kit.slack.posts_with(TOKEN).len()), (2, 1));
    assert_eq!(kit.slack.posts().len(), 2, "one before it was removed, and one where it still is");
    // What somebody wants done there is refused, with the reason.
    let seat = event::SeatId::parse("seat_system").unwrap();
    let input = json!({"team": OTHER, "channel": "C01", "user": "U01ALICE", "text": "hello"});
    let call =
        gate::Call::duty(seat, (&events[0].id, "test", 1), "slack.whisper", gate::Payload::Tool(input));
    let passed = office.built.gate.pass(call, None).await.unwrap();
    assert!(
        matches!(&passed, gate::Passed::Refused(no) if no.subject == format!("workspace:{OTHER}")),
        "{passed:?}"
    );
    let config = kit.folder().join("chancery.toml");
    let list = String::from_utf8(host::run(&config, &["refusal", "list"]).stdout).unwrap();
    assert!(
        list.contains(&format!("workspace:{OTHER}")) && list.contains("its token was taken back"),
        "{list}"
    );
    assert!(!office.built.hands.vault().has(&format!("slack.bot-token@{OTHER}")));

    // Installed again, it speaks again.
    let (path, cookie) = to_slack_and_back(&office).await;
    assert_eq!(visit(&office.url, &path, &cookie).await.status, 200);
    office.deliver(&mention("Ev8", OTHER, "3.000001")).await;
    let events = office.until_turns_ended(3).await;
    let answered =
        |event: &&Event| matches!(&event.fact, Fact::TurnEnded(b) if b.ending == TurnEnding::Answered);
    assert_eq!(events.iter().filter(answered).count(), 3);
    office.stop().await;
}

#[tokio::test]
async fn an_office_starts_while_one_of_its_workspaces_is_lost_and_is_silent_there() {
    let kit = in_two().await;
    kit.slack.installs.remove(OTHER);
    let office = kit.open().await;
    office.deliver(&mention("Ev1", OTHER, "1.000001")).await;
    office.deliver(&mention("Ev2", TEAM, "1.000001")).await;
    let events = office.until_turns_ended(1).await;
    office.until_classified().await;
    assert_eq!(count(&events, "turn.opened"), 1);
    assert_eq!((kit.slack.posts().len(), kit.slack.posts_with(TOKEN).len()), (1, 1));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_office_that_is_in_no_workspace_starts_and_is_in_one_once_somebody_has_installed_it() {
    let kit = installable(&[OTHER]).await;
    let config = kit.write();
    let text = std::fs::read_to_string(&config).unwrap();
    let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("\"slack.bot-token\"")).collect();
    std::fs::write(&config, without.join("\n")).unwrap();
    let doctor = host::run(&config, &["doctor"]);
    assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));
    let running = tests::Host::serve(&config).await;
    kit.slack.installs.next(OTHER);
    let begun = visit(&running.url, "/slack/install", "").await;
    let (origin, path) = split(&begun.location);
    let back = visit(&origin, &path, "").await;
    let done = visit(&running.url, &split(&back.location).1, &begun.cookie).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(tests::office::deliver(&running.url, &mention("Ev1", OTHER, "1.000001")).await, 200);
    let began = std::time::Instant::now();
    while kit.slack.posts().is_empty() {
        assert!(began.elapsed().as_secs() < 60, "nobody was answered");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let said = host::run(&config, &["slack", "doctor"]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains(&format!("{} in {OTHER}", Member::of(OTHER).user)), "{said}");
}
