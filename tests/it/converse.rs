//! When the office speaks unasked: people talk, a small model weighs, and the record and Slack show what came of it.

use event::{Choice, Class, Event, Fact, TriageDecided, TurnEnding};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tests::office::Office;
use tests::slack::{app_mention, message};
use tests::{Kit, host};

const CHANNEL: &str = "C01";

/// The seven figures and two yes-or-noes as a line of the script.
fn scores(figures: [u8; 7], more: &str) -> String {
    let names = [
        "usefulness",
        "confidence",
        "urgency",
        "noise",
        "interruption_cost",
        "investigation_value",
        "reaction_fit",
    ];
    let mut line = String::new();
    for (name, figure) in names.iter().zip(figures) {
        write!(line, "{name} = {figure}, ").unwrap();
    }
    format!("{line}answered = false, for_others = false{more}")
}

/// A script in which a message with `word` is weighed so; whoever is woken by one says what stands behind it.
fn script(rules: &[(&str, String, &str)]) -> String {
    let mut script = String::new();
    for (word, scores, _) in rules {
        write!(
            script,
            "[[rule]]\nwhen = [\"weigh\", \"{word}\"]\n[[rule.step]]\ncall = {{ tool = \"score\", input = {{ {scores} }} }}\n"
        )
        .unwrap();
    }
    for (word, _, finish) in rules {
        write!(script, "[[rule]]\nwhen = [\"{word}\"]\n[[rule.step]]\nfinish = {{ {finish} }}\n").unwrap();
    }
    script
}

const SAYS: &str = "outcome = \"answered\", text = \"The runbook says so.\"";
const SILENT: &str = "outcome = \"silent\"";
const USEFUL: [u8; 7] = [95, 95, 80, 0, 10, 20, 0];
const BANTER: [u8; 7] = [0, 80, 0, 60, 70, 0, 10];
const GOOD_NEWS: [u8; 7] = [5, 90, 0, 10, 20, 0, 95];
const UNSURE: [u8; 7] = [90, 20, 60, 0, 10, 95, 0];

fn all_rules() -> String {
    script(&[
        ("deploy", scores(USEFUL, ""), SAYS),
        ("banter", scores(BANTER, ""), SAYS),
        ("shipped", scores(GOOD_NEWS, ", emoji = \":Party_Parrot:\""), SAYS),
        ("strange", scores(UNSURE, ""), SILENT),
        ("broken", "usefulness = 900".to_owned(), SAYS),
    ])
}

async fn kit(more: &str) -> Kit {
    let mut kit = Kit::new().await;
    kit.script = all_rules();
    kit.more = format!("\n[converse]\nmodel = \"scripted/story\"\n{more}\n");
    kit
}

fn decisions(events: &[Event]) -> Vec<TriageDecided> {
    let of = |event: &Event| match &event.fact {
        Fact::TriageDecided(body) => Some(body.clone()),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

async fn until_decided(office: &Office, count: usize) -> Vec<Event> {
    office.until(&format!("{count} decisions"), |events| decisions(events).len() >= count).await
}

fn calls_of_models(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(&event.fact, Fact::CallAdmitted(b) if b.tool.contains('/'))).count()
}

#[tokio::test]
async fn a_useful_word_is_said_unasked_and_banter_is_left_alone() {
    let kit = kit("mode = \"proactive\"").await;
    let office = kit.open().await;
    // In another channel: the model is shown what was said before in the same one, and a script knows words alone.
    office.deliver(&message("Ev1", "C09", "U01ALICE", "1.000001", "banter banter")).await;
    office.deliver(&message("Ev2", CHANNEL, "U01ALICE", "2.000001", "how did we deploy last time?")).await;
    let events = office.until_turns_ended(1).await;
    let mut decided = decisions(&events);
    decided.sort_by_key(|one| one.choice);
    assert_eq!(decided.iter().map(|one| one.choice).collect::<Vec<_>>(), [Choice::Pass, Choice::Answer]);
    assert!(decided.iter().all(|one| one.class == Class::Passive && one.scores.is_some()));
    let posts = kit.slack.posts();
    assert_eq!(posts.len(), 1);
    assert_eq!(posts[0]["thread_ts"], "2.000001", "it hangs under what it is about");
    let held = events.iter().filter(|event| matches!(event.fact, Fact::HoldSettled(_))).count();
    assert!(held >= 3, "two weighings and a turn are paid like any call: {held}");
    office.stop().await;
}

#[tokio::test]
async fn a_quiet_channel_costs_nothing_and_one_that_is_set_otherwise_speaks() {
    let kit = kit("mode = \"proactive\"\n[converse.channels]\nC02 = \"quiet\"").await;
    let office = kit.open().await;
    office.deliver(&message("Ev1", "C02", "U01ALICE", "1.000001", "how did we deploy?")).await;
    let events = until_decided(&office, 1).await;
    let decided = decisions(&events).remove(0);
    assert_eq!((decided.choice, decided.reason.as_str()), (Choice::Pass, "quiet-channel"));
    assert_eq!(calls_of_models(&events), 0);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mode_that_the_owner_sets_counts_before_the_file_and_is_explained_and_replayed() {
    let kit = kit("mode = \"quiet\"").await;
    let office = kit.open().await;
    let config = kit.folder().join("chancery.toml");
    let channel = format!("{}:{CHANNEL}", tests::slack::TEAM);
    let set =
        host::run(&config, &["converse", "mode", &channel, "eager", "--reason", "the team asked for it"]);
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    office.deliver(&message("Ev1", CHANNEL, "U01ALICE", "1.000001", "how did we deploy last time?")).await;
    office.until_turns_ended(1).await;
    let explained = host::run(&config, &["converse", "explain", "C01:1.000001"]);
    let text = String::from_utf8(explained.stdout).unwrap();
    for wanted in
        ["passive: channel-message", "decided      answer", "mode         eager", "0.45·95", "all 0/24"]
    {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    let replayed = host::run(&config, &["converse", "replay", "--mode", "quiet"]);
    let text = String::from_utf8(replayed.stdout).unwrap();
    assert!(text.contains("answer (scores) → pass (quiet-channel)"), "{text}");
    let same = host::run(&config, &["converse", "replay", "--mode", "eager"]);
    let text = String::from_utf8(same.stdout).unwrap();
    assert!(text.contains("1 messages, 0 would be decided otherwise"), "{text}");
    let modes = String::from_utf8(host::run(&config, &["converse", "modes"]).stdout).unwrap();
    assert!(modes.contains("eager") && modes.contains("the team asked for it"), "{modes}");
    office.stop().await;
}

#[tokio::test]
async fn good_news_gets_an_emoji_that_the_workspace_has_and_no_words() {
    let kit = kit("mode = \"reserved\"").await;
    let office = kit.open().await;
    office
        .until("the emoji are known", |events| events.iter().any(|e| matches!(e.fact, Fact::EmojiListed(_))))
        .await;
    office.deliver(&message("Ev1", CHANNEL, "U01ALICE", "1.000001", "we shipped it")).await;
    office
        .until("the emoji was put", |events| {
            events.iter().any(|event| matches!(event.fact, Fact::EffectSent(_)))
        })
        .await;
    let put = kit.slack.reactions();
    assert_eq!(put, [json!({"channel": CHANNEL, "timestamp": "1.000001", "name": "party-parrot"})]);
    assert!(kit.slack.posts().is_empty());
    office.stop().await;
}

#[tokio::test]
async fn an_investigation_that_finds_nothing_says_nothing_and_gives_its_slot_back() {
    let kit = kit("mode = \"proactive\"").await;
    let office = kit.open().await;
    office.deliver(&message("Ev1", CHANNEL, "U01ALICE", "1.000001", "strange figures since noon")).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(decisions(&events)[0].choice, Choice::Investigate);
    let offered: Vec<&Value> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::StepStarted(body) => body.input.json().get("offered"),
            _ => None,
        })
        .collect();
    assert_eq!(offered, [&json!(["web.fetch", "finish"])], "what reads, and nothing else");
    let ended = |event: &Event| matches!(&event.fact, Fact::TurnEnded(b) if b.ending == TurnEnding::Silent);
    assert!(events.iter().any(ended));
    assert!(kit.slack.posts().is_empty() && kit.slack.reactions().is_empty());
    let key = format!("{}:{CHANNEL}", tests::slack::TEAM);
    let row = office.built.record.row("channel", &key).await.unwrap();
    let row: fold::channel::ChannelRow = fold::decode(row.as_ref()).unwrap();
    let spent = row.spent(office.built.now());
    assert_eq!((spent.investigating, spent.investigations, spent.all), (0, 0, 0));
    office.stop().await;
}

#[tokio::test]
async fn whoever_asks_is_answered_whatever_the_model_thinks_or_fails_to_say() {
    let kit = kit("mode = \"quiet\"").await;
    let office = kit.open().await;
    for (n, text) in ["<@U0BOT> banter", "<@U0BOT> broken", "<@U0BOT> anything else"].iter().enumerate() {
        let channel = format!("C1{n}");
        office
            .deliver(&app_mention(&format!("Ev{n}"), &channel, "U01ALICE", &format!("{n}.000001"), text))
            .await;
    }
    let events = office.until_turns_ended(3).await;
    let mut found: Vec<(Choice, String)> =
        decisions(&events).into_iter().map(|one| (one.choice, one.reason)).collect();
    found.sort();
    let all = |reasons: [&str; 3]| reasons.map(|reason| (Choice::Answer, reason.to_owned())).to_vec();
    assert_eq!(found, all(["asked", "malformed-scores", "malformed-scores"]));
    assert_eq!(kit.slack.posts().len(), 3);
    office.stop().await;
}

#[tokio::test]
async fn a_light_mention_gets_an_emoji_and_no_turn() {
    let kit = kit("").await;
    let office = kit.open().await;
    office.deliver(&app_mention("Ev1", CHANNEL, "U01ALICE", "1.000001", "<@U0BOT> shipped, thank you")).await;
    let events = office
        .until("the emoji was put", |events| {
            events.iter().any(|event| matches!(event.fact, Fact::EffectSent(_)))
        })
        .await;
    assert_eq!((decisions(&events)[0].choice, decisions(&events)[0].reason.as_str()), (Choice::Ack, "light"));
    assert!(!events.iter().any(|event| matches!(event.fact, Fact::TurnOpened(_))));
    assert_eq!(kit.slack.reactions().len(), 1);
    office.stop().await;
}

fn reaction(event_id: &str, kind: &str, ts: &str) -> Value {
    let mut payload = message(event_id, CHANNEL, "U02BOB", "9.000001", "");
    payload["event"] = json!({"type": kind, "user": "U02BOB", "reaction": "no_bell", "item_user": "U01ALICE",
        "item": {"type": "message", "channel": CHANNEL, "ts": ts}, "event_ts": "9.000002"});
    payload
}

#[tokio::test]
async fn a_thread_that_somebody_muted_by_an_emoji_hears_nothing_unasked_until_that_is_taken_off() {
    let kit = kit("mode = \"eager\"").await;
    let office = kit.open().await;
    office.deliver(&message("Ev1", CHANNEL, "U01ALICE", "1.000001", "banter")).await;
    until_decided(&office, 1).await;
    office.deliver(&reaction("Ev2", "reaction_added", "1.000001")).await;
    office.until("it is muted", |events| events.iter().any(|e| matches!(e.fact, Fact::TopicMuted(_)))).await;
    let reply = |event_id: &str, ts: &str| {
        let mut payload = message(event_id, CHANNEL, "U01ALICE", ts, "and how did we deploy?");
        payload["event"]["thread_ts"] = json!("1.000001");
        payload
    };
    office.deliver(&reply("Ev3", "2.000001")).await;
    let events = until_decided(&office, 2).await;
    assert_eq!(decisions(&events)[1].reason, "muted");
    office.deliver(&reaction("Ev4", "reaction_removed", "1.000001")).await;
    office.until("it is not", |events| events.iter().any(|e| matches!(e.fact, Fact::TopicUnmuted(_)))).await;
    office.deliver(&reply("Ev5", "3.000001")).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(decisions(&events)[2].choice, Choice::Answer);
    office.stop().await;
}

#[tokio::test]
async fn two_programs_stop_talking_after_as_many_answers_as_the_operator_allows_and_nobody_is_mentioned() {
    let kit = kit("program_hops_max = 2\nweighs_asked = false").await;
    let office = kit.open().await;
    for n in 1..=4 {
        let mut said =
            message(&format!("Ev{n}"), CHANNEL, "U0OTHER", &format!("{n}.000001"), "<@U0BOT> banter");
        said["event"]["bot_id"] = json!("B0OTHER");
        said["event"]["thread_ts"] = json!("1.000001");
        office.deliver(&said).await;
        let events = until_decided(&office, n).await;
        let answers = decisions(&events).iter().filter(|one| one.choice == Choice::Answer).count();
        office.until_turns_ended(answers).await;
    }
    let events = office.events().await;
    let choices: Vec<Choice> = decisions(&events).iter().map(|one| one.choice).collect();
    assert_eq!(choices, [Choice::Answer, Choice::Answer, Choice::Pass, Choice::Pass]);
    assert_eq!(kit.slack.posts().len(), 2);
    assert!(!kit.slack.posts().iter().any(|post| post.to_string().contains("<@")));
    office.stop().await;
}

fn slash(user: &str, text: &str, trigger: &str) -> Value {
    json!({"type": "slash_command", "command": "/chancery", "text": text, "team_id": tests::slack::TEAM,
        "channel_id": CHANNEL, "user_id": user, "trigger_id": trigger, "is_enterprise_install": "false"})
}

#[tokio::test]
async fn the_owner_sets_a_mode_with_the_slash_command_and_whoever_else_uses_it_is_told() {
    let mut kit = kit("mode = \"reserved\"").await;
    kit.owner = format!("person_slack.{}.U01ALICE", tests::slack::TEAM);
    let office = kit.open().await;
    for (n, (user, text)) in
        [("U02BOB", "mode eager"), ("U01ALICE", "mode quiet"), ("U02BOB", "mode"), ("U02BOB", "")]
            .into_iter()
            .enumerate()
    {
        office.deliver(&slash(user, text, &format!("{n}.x"))).await;
        let sent = |event: &&Event| matches!(event.fact, Fact::EffectSent(_));
        office.until("it was told", |events| events.iter().filter(sent).count() > n).await;
    }
    let said: Vec<String> =
        kit.slack.whispers().iter().map(|whisper| whisper["text"].as_str().unwrap().to_owned()).collect();
    for (said, wanted) in said.iter().zip(["nothing has changed", "`quiet`", "`quiet`", "mention me"]) {
        assert!(said.contains(wanted), "{said}");
    }
    let events = office.events().await;
    let set = events.iter().filter(|event| matches!(event.fact, Fact::ModeSet(_))).count();
    assert_eq!((set, said.len()), (1, 4));
    office.stop().await;
}

fn home(event_id: &str, user: &str) -> Value {
    let mut payload = message(event_id, "D01", user, "9.000001", "");
    payload["event"] = json!({"type": "app_home_opened", "user": user, "channel": "D01", "tab": "home",
        "event_ts": "9.000001"});
    payload
}

#[tokio::test]
async fn the_home_tab_shows_the_owner_what_the_purse_holds_and_nobody_else() {
    let mut kit = kit("mode = \"reserved\"").await;
    kit.owner = format!("person_slack.{}.U01ALICE", tests::slack::TEAM);
    let office = kit.open().await;
    for (n, user) in ["U01ALICE", "U02BOB"].into_iter().enumerate() {
        office.deliver(&home(&format!("Ev{n}"), user)).await;
        let sent = |event: &&Event| matches!(event.fact, Fact::EffectSent(_));
        office.until("it was published", |events| events.iter().filter(sent).count() > n).await;
    }
    let homes = kit.slack.homes();
    let of = |user: &str| homes.iter().find(|home| home["user_id"] == user).unwrap()["view"].to_string();
    assert!(of("U01ALICE").contains("organisation-day") && of("U01ALICE").contains("*reserved*"));
    assert!(!of("U02BOB").contains("organisation-day") && of("U02BOB").contains("*reserved*"));
    office.stop().await;
}

#[tokio::test]
async fn whoever_asks_sees_at_once_that_it_was_seen_where_the_operator_wants_that() {
    let kit = kit("weighs_asked = false\nseen = \"eyes\"").await;
    let office = kit.open().await;
    office.deliver(&app_mention("Ev1", CHANNEL, "U01ALICE", "1.000001", "<@U0BOT> banter")).await;
    let sent = |event: &&Event| matches!(event.fact, Fact::EffectSent(_));
    office.until("an emoji and an answer", |events| events.iter().filter(sent).count() == 2).await;
    assert_eq!(kit.slack.reactions(), [json!({"channel": CHANNEL, "timestamp": "1.000001", "name": "eyes"})]);
    assert_eq!(kit.slack.posts().len(), 1);
    office.stop().await;
}

#[tokio::test]
async fn a_message_is_weighed_once_however_often_the_record_is_followed() {
    let kit = kit("mode = \"proactive\"").await;
    let office = kit.open().await;
    office.deliver(&message("Ev1", CHANNEL, "U01ALICE", "1.000001", "banter")).await;
    let before = until_decided(&office, 1).await;
    office.built.record.set_cursor("triage", event::GlobalPosition(0)).await.unwrap();
    office.stop().await;
    let office = kit.open().await;
    office.deliver(&message("Ev2", CHANNEL, "U01ALICE", "2.000001", "banter again")).await;
    let after = until_decided(&office, 2).await;
    assert_eq!((calls_of_models(&before), calls_of_models(&after)), (1, 2));
    office.stop().await;
}
