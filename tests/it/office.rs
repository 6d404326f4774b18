//! The office's own verbs in a whole office: the model asks, the plugin uses the handles it is given, and the record says
//! what was read and what was wished.

use event::{Audience, Event, Fact, PrincipalId, Readers, StepEnded, StepKind};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tests::host::run;
use tests::office::guests;
use tests::slack::message;
use tests::{Kit, Office};

/// A model that does what the newest message says.
const SCRIPT: &str = r#"
[[rule]]
when = ["history"]
[[rule.step]]
call = { tool = "office.said", input = { find = "roof" } }
[[rule.step]]
call = { tool = "office.said", input = { find = "roof", channel = "C02SECRET" } }
[[rule.step]]
calls = [
  { tool = "office.seats" }, { tool = "office.turns" }, { tool = "office.budgets" }, { tool = "office.waiting" },
]
[[rule.step]]
finish = { outcome = "answered", text = "I looked." }

[[rule]]
when = ["remind"]
[[rule.step]]
call = { tool = "office.look-again", input = { minutes = 45 } }
[[rule.step]]
finish = { outcome = "answered", text = "I will look at {{result.1.look_again_at}}." }

[[rule]]
when = ["licence"]
[[rule.step]]
call = { tool = "office.ask", input = { seat = "seat_owner", wanted = "May we use row 7?", minutes = 60 } }
[[rule.step]]
finish = { outcome = "answered", text = "I asked, as {{result.1.request}}." }

[[rule]]
when = ["answers", "request"]
[[rule.step]]
finish = { outcome = "answered", text = "There is an answer." }
"#;

async fn kit() -> Kit {
    let mut kit = Kit::new().await;
    kit.script = SCRIPT.to_owned();
    kit.grants = vec!["office.*".to_owned()];
    kit
}

async fn says(office: &Office, n: usize, channel: &str, user: &str, text: &str) {
    let ts = format!("17000000{n:02}.000100");
    assert_eq!(office.deliver(&message(&format!("Ev{n}"), channel, user, &ts, text)).await, 200);
}

/// The ends of the steps that called `tool`, in order.
fn ended<'e>(events: &'e [Event], tool: &str) -> Vec<&'e StepEnded> {
    let called = |turn: &event::TurnId, step: u32| {
        events.iter().any(|event| match &event.fact {
            Fact::StepStarted(body) => {
                body.turn == *turn && body.step == step && body.tool == tool && body.kind == StepKind::Tool
            }
            _ => false,
        })
    };
    let ends = events.iter().filter_map(|event| match &event.fact {
        Fact::StepEnded(body) if called(&body.turn, body.step) => Some(body),
        _ => None,
    });
    ends.collect()
}

fn person(name: &str) -> PrincipalId {
    PrincipalId::parse(&format!("person_slack.T01TEST.{name}")).unwrap()
}

#[tokio::test]
async fn what_was_said_in_the_channel_is_found_and_labelled_and_another_channel_cannot_be_named() {
    let kit = kit().await;
    let office = kit.open().await;
    says(&office, 1, "C01GEN", "U02BOB", "The roof of the hall leaks.").await;
    says(&office, 2, "C01GEN", "U02BOB", "The garden is fine.").await;
    says(&office, 3, "C02SECRET", "U03CAROL", "We sell the tower, roof and all.").await;
    office.until_classified().await;
    says(&office, 4, "C01GEN", "U01ALICE", "<@U0BOT> look at the history").await;
    let events = office.until_turns_ended(1).await;
    let said = ended(&events, "office.said");
    let lines = said[0].output.json()["lines"].as_array().unwrap();
    let texts: Vec<&str> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["The roof of the hall leaks."]);
    assert_eq!(lines[0]["who"], "U02BOB");
    let here = Audience::SlackChannel { team: "T01TEST".into(), channel: "C01GEN".into() };
    assert_eq!(said[0].output_label.readers, Readers::Within(BTreeSet::from([here])));
    assert!(said[0].output.subjects().contains(&person("U02BOB")), "sealed under whose words it repeats");
    // A place has no name: the argument is none that the tool takes.
    assert_eq!(said[1].outcome, event::StepOutcome::Denied);
    let all = events.iter().map(|event| event.fact.body().to_string());
    let told = all.filter(|body| body.contains("We sell the tower")).count();
    assert_eq!(told, 2, "where it was said, and nowhere else");

    let seats = ended(&events, "office.seats")[0].output.json()["seats"].clone();
    assert_eq!((&seats[0]["seat"], &seats[0]["you"]), (&json!("seat_front-desk"), &json!(true)));
    assert!(seats.as_array().unwrap().iter().any(|seat| seat["holder"] == "person_operator"), "{seats}");
    let budgets = ended(&events, "office.budgets")[0].output.json()["budgets"].clone();
    assert_eq!((&budgets[0]["budget"], &budgets[0]["limit"]), (&json!("organisation-day"), &json!("$5.00")));
    let waiting = ended(&events, "office.waiting")[0];
    assert_eq!(waiting.output.json(), &json!({"approvals": [], "requests": [], "elsewhere": 0}));
    let readers = waiting.output_label.readers.audiences().unwrap();
    assert!(readers.contains(&Audience::Operators), "what the host keeps for operators is labelled so");
    assert_eq!(kit.slack.posts().len(), 1, "and what was made of it is still told here");

    // The next turn sees this one.
    says(&office, 5, "C01GEN", "U01ALICE", "<@U0BOT> look at the history again").await;
    let events = office.until_turns_ended(2).await;
    let turns = ended(&events, "office.turns")[1].output.json()["turns"].clone();
    assert_eq!(
        (&turns[0]["ending"], &turns[0]["woken_by"]),
        (&json!("answered"), &json!("message.received"))
    );
    assert_eq!(turns[0]["summary"], "I looked.");
    office.stop().await;
}

#[tokio::test]
async fn a_wish_stands_in_one_commit_with_the_end_of_its_step() {
    let kit = kit().await;
    let office = kit.open().await;
    says(&office, 1, "C01GEN", "U01ALICE", "<@U0BOT> remind me").await;
    let events = office.until_turns_ended(1).await;
    let at = |wanted: &dyn Fn(&Fact) -> bool| events.iter().position(|event| wanted(&event.fact)).unwrap();
    let set = at(&|fact| matches!(fact, Fact::MomentSet(_)));
    let sent = at(&|fact| matches!(fact, Fact::EffectSent(_)));
    let end = at(&|fact| matches!(fact, Fact::StepEnded(body) if body.step == 2));
    assert_eq!((set, end), (sent + 1, sent + 2), "nothing stands between them");
    assert!(events[sent..=end].iter().all(|event| event.at == events[sent].at), "one commit has one time");
    let Fact::MomentSet(moment) = &events[set].fact else { panic!() };
    let intended = at(&|fact| matches!(fact, Fact::EffectIntended(_)));
    assert_eq!(moment.at.since_ms(events[intended].at), 45 * 60_000);
    assert_eq!(events[set].actor.principal.as_str(), "agent_chancery", "stated by the holder of the seat");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_asked_answers_from_the_command_line_and_the_asker_hears_of_it() {
    let kit = kit().await;
    let office = kit.open().await;
    says(&office, 1, "C01GEN", "U01ALICE", "<@U0BOT> what about the licence?").await;
    let events = office.until_turns_ended(1).await;
    let request = events.iter().find_map(|event| match &event.fact {
        Fact::RequestAsked(body) => Some(body.clone()),
        _ => None,
    });
    let request = request.unwrap();
    assert_eq!((request.asker.as_str(), request.holder.as_str()), ("seat_front-desk", "seat_owner"));
    let config = kit.write();
    let listed = String::from_utf8(run(&config, &["request", "list"]).stdout).unwrap();
    assert!(listed.contains(request.request.as_str()) && listed.contains("May we use row 7?"), "{listed}");
    let name = request.request.as_str();
    let answered = run(&config, &["request", "answer", name, "--text", "Yes, it is MIT."]);
    assert!(answered.status.success(), "{}", String::from_utf8_lossy(&answered.stderr));
    let events = office.until_turns_ended(2).await;
    let posts = kit.slack.posts();
    let texts: Vec<&Value> = posts.iter().map(|post| &post["text"]).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert_eq!((texts[1], &posts[1]["channel"]), (&json!("There is an answer."), &json!("C01GEN")));
    let again = run(&config, &["request", "answer", name, "--text", "No."]);
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("has ended"));
    assert_eq!(events.iter().filter(|event| matches!(event.fact, Fact::RequestAnswered(_))).count(), 1);
    office.stop().await;
}

#[tokio::test]
async fn what_the_operator_does_not_grant_is_not_given_and_the_model_is_told() {
    let mut kit = kit().await;
    kit.handles = vec!["seat".to_owned()];
    let office = kit.open().await;
    says(&office, 1, "C01GEN", "U01ALICE", "<@U0BOT> look at the history").await;
    let events = office.until_turns_ended(1).await;
    let said = ended(&events, "office.said")[0];
    assert_eq!(said.outcome, event::StepOutcome::Failed);
    assert!(said.output.json().to_string().contains("was not given the handle `place`"));
    assert_eq!(ended(&events, "office.seats")[0].outcome, event::StepOutcome::Succeeded);
    assert_eq!(ended(&events, "office.budgets")[0].outcome, event::StepOutcome::Failed);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_installs_it_reads_what_it_would_be_given() {
    let kit = kit().await;
    let config = kit.write();
    let file = guests().join("office.wasm");
    let said = run(&config, &["plugin", "inspect", &file.display().to_string()]);
    let said = String::from_utf8(said.stdout).unwrap();
    for words in [
        "to read what was said in the conversation it is called in",
        "the handle `wishes`",
        "no way out: it reaches nothing",
        "the office's own, as far as it is given handles",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let mail = guests().join("mail.wasm");
    let mail =
        String::from_utf8(run(&config, &["plugin", "inspect", &mail.display().to_string()]).stdout).unwrap();
    assert!(mail.contains("POST `/gmail/v1/users/me/messages/send` of any site that is named"), "{mail}");
    assert!(!mail.contains("and below"), "whole paths, and nothing below them: {mail}");
    let listed = String::from_utf8(run(&config, &["plugin", "list"]).stdout).unwrap();
    assert!(listed.contains("handle place, seat, purse, agenda, wishes"), "{listed}");
}
