//! Whoever asks for what goes with their own account, and has none, is asked to connect it: alone, once, and never for
//! what nobody asked for.

use super::{OWN_ALONE, tells};
use event::{AccountWanted, DeniedBy, Event, Fact};
use serde_json::{Value, json};
use tests::Kit;
use tests::emulate::{ask, free_port};
use tests::office::guests;
use tests::slack::{buttons, message};

/// Lets the front desk read Linear with whatever account there is.
const ANY: &str = "@id(\"assistant-linear\")\n@reason(\"an assistant reads Linear\")\n\
    permit (principal in Role::\"assistant\", action == Action::\"linear.issues\", resource in Plugin::\"linear\");\n";

/// An office that knows where people have accounts at Linear, and whom nobody gave one; `more` is put into its
/// configuration. Nothing of it is ever reached.
async fn kit(policy: &str, more: &str) -> Kit {
    let mut kit = Kit::new().await;
    kit.port = free_port();
    tells(&mut kit, policy);
    std::fs::write(kit.folder().join("office-secret"), "the-applications-own-secret").unwrap();
    kit.more = format!(
        r#"[[plugin]]
name = "linear"
file = "{file}"
settings = {{ api = "https://linear.example" }}
[[plugin.route]]
methods = ["POST"]
origin = "https://linear.example"
path_prefix = "/graphql"
credential = "linear.token"
[[account]]
name = "linear"
credential = "linear.token"
authorize = "https://linear.example/oauth/authorize"
token = "https://linear.example/oauth/token"
client_id = "office"
client_secret = "office.secret"
scopes = ["read"]
[credentials."office.secret"]
file = "office-secret"
{more}
"#,
        file = guests().join("linear.wasm").display(),
    );
    kit
}

fn with_url(kit: &mut Kit) {
    kit.more += &format!("[accounts]\nurl = \"http://127.0.0.1:{}\"\n", kit.port);
}

fn asks(n: usize, user: &str) -> Value {
    let ts = format!("170000000{n}.000100");
    message(&format!("Ev{n}"), "C01GEN", user, &ts, "<@U0BOT> what is there?")
}

fn wanted(events: &[Event]) -> Vec<AccountWanted> {
    let of = |event: &Event| match &event.fact {
        Fact::AccountWanted(body) => Some(body.clone()),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// Where the one button of a private card leads.
fn link(whisper: &Value) -> String {
    let buttons = buttons(whisper);
    assert_eq!(buttons.len(), 1, "{whisper}");
    buttons[0]["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn who_asks_for_what_goes_with_an_account_they_lack_is_asked_alone_and_once() {
    let mut kit = kit(OWN_ALONE, "").await;
    with_url(&mut kit);
    let office = kit.open().await;
    for n in 1..=2 {
        office.deliver(&asks(n, "U01BOB")).await;
        office.until_turns_ended(n).await;
    }
    office.deliver(&asks(3, "U01ALICE")).await;
    office.until_turns_ended(3).await;
    // Cards are shown in the order in which they are wanted, so none of Bob's comes after Alice's.
    let shown = |_: &[Event]| kit.slack.whispers().iter().any(|whisper| whisper["user"] == "U01ALICE");
    let events = office.until("Alice is asked", shown).await;
    let denied: Vec<DeniedBy> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::CallDenied(body) => Some(body.by),
            _ => None,
        })
        .collect();
    assert_eq!(denied, [DeniedBy::Account; 3]);
    let wanted = wanted(&events);
    let of: Vec<(&str, &str)> = wanted.iter().map(|one| (one.owner.as_str(), one.service.as_str())).collect();
    let (alice, bob) = ("person_slack.T01TEST.U01ALICE", "person_slack.T01TEST.U01BOB");
    assert_eq!(of, [(bob, "linear"), (bob, "linear"), (alice, "linear")]);
    let whispers = kit.slack.whispers();
    let seen: Vec<(&Value, &Value, &Value)> = whispers
        .iter()
        .map(|whisper| (&whisper["user"], &whisper["channel"], &whisper["thread_ts"]))
        .collect();
    let at = |user: &str, ts: &str| (json!(user), json!("C01GEN"), json!(ts));
    let expected = [at("U01BOB", "1700000001.000100"), at("U01ALICE", "1700000003.000100")];
    assert_eq!(seen, expected.iter().map(|(a, b, c)| (a, b, c)).collect::<Vec<_>>());
    for (whisper, person) in whispers.iter().zip(["U01BOB", "U01ALICE"]) {
        let page = ask(&link(whisper), None, &[]).await;
        assert!(page.status == 200 && page.body.contains(person), "{}", page.body);
    }
    // Nothing of it stands where others read.
    let posts = kit.slack.posts();
    assert!(
        posts.iter().all(|post| buttons(post).is_empty() && !post.to_string().contains("/account/")),
        "{posts:?}"
    );
    office.stop().await;
}

#[tokio::test]
async fn a_call_that_policy_lets_pass_and_no_account_is_there_for_fails_by_that_name_and_asks_too() {
    // No address where browsers reach it: then the card says what to run.
    let kit = kit(ANY, "").await;
    let office = kit.open().await;
    office.deliver(&asks(1, "U01BOB")).await;
    office.until_turns_ended(1).await;
    let events = office.until("Bob is asked", |_| !kit.slack.whispers().is_empty()).await;
    let failed = |event: &Event| matches!(&event.fact, Fact::StepEnded(step) if step.output.json()["failed"] == json!({"no_account": "linear"}));
    assert!(events.iter().any(failed), "the model is told by kind");
    assert_eq!(wanted(&events).len(), 1);
    let whisper = kit.slack.whispers().remove(0);
    assert!(buttons(&whisper).is_empty(), "{whisper}");
    assert!(whisper.to_string().contains("chancery account connect linear"), "{whisper}");
    office.stop().await;
}

#[tokio::test]
async fn nobody_is_asked_to_connect_anything_for_what_nobody_asked_for() {
    let converse = "[converse]\nmodel = \"scripted/story\"\nmode = \"proactive\"";
    let mut kit = kit(OWN_ALONE, converse).await;
    with_url(&mut kit);
    let scores = "usefulness = 90, confidence = 20, urgency = 60, noise = 0, interruption_cost = 10, \
                  investigation_value = 95, reaction_fit = 0, answered = false, for_others = false";
    kit.script = format!(
        "[[rule]]\nwhen = [\"weigh\", \"strange\"]\n[[rule.step]]\ncall = {{ tool = \"score\", input = {{ {scores} }} }}\n{}",
        super::TELLS
    );
    let office = kit.open().await;
    office.deliver(&message("Ev1", "C01", "U01BOB", "1.000001", "strange figures since noon")).await;
    office.until_turns_ended(1).await;
    assert!(
        wanted(&office.events().await).is_empty(),
        "nobody's account is used unasked, so none is missing"
    );
    // The same person asks: what the turn before had shown would stand before it.
    office.deliver(&asks(2, "U01BOB")).await;
    let events = office.until("Bob is asked", |_| !kit.slack.whispers().is_empty()).await;
    assert_eq!(wanted(&events).len(), 1);
    let whispers = kit.slack.whispers();
    let thread = &whispers[0]["thread_ts"];
    assert_eq!((whispers.len(), thread), (1, &json!("1700000002.000100")), "{whispers:?}");
    office.stop().await;
}
