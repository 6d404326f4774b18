//! The scenes of which `cargo xtask shots` makes pictures: what people see in Slack, as a whole office posted it.
//!
//! Nothing in a scene is made up but what people say: every block is what arrived at the other side of Slack.

use crate::cards::{asks, kit as with_approvals};
use crate::home::{channel, home};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tests::office::{deliver_click, guests};
use tests::slack::views::{global_shortcut, opens_home, submission, uses_home};
use tests::slack::{TEAM, click, message};
use tests::{Kit, Office};

const OWNER: &str = "U01OWNER";
const ALICE: &str = "U01ALICE";
/// Where what is posted to her stands.
const DIRECT: &str = "D01ALICE";
const CHANNEL: &str = "C01GEN";
const ANSWER: &str = "We deploy **every weekday at 10:00**, and twice on Thursdays:\\n\\n1. `make release` on the build host\\n2. Watch the [dashboard](https://status.example.com/deploys)\\n   - errors below 1 %\\n   - latency below 300 ms\\n3. Say so in this channel\\n\\n| stage | who | minutes |\\n|---|---|---|\\n| build | CI | 12 |\\n| canary | Priya | 20 |\\n\\n```\\nmake release VERSION=2026.12.1\\n```\\n\\n> Never on a Friday, says the runbook.";

/// One picture.
struct Scenes(Vec<Value>);

impl Scenes {
    fn thread(&mut self, name: &str, title: &str, messages: Vec<Value>) {
        self.0.push(json!({"name": name, "kind": "thread", "title": title, "messages": messages}));
    }

    fn view(&mut self, name: &str, view: &Value) {
        let kind = view["type"].as_str().unwrap();
        self.0.push(json!({"name": name, "kind": kind, "title": "Chancery", "view": view}));
    }
}

fn says(user: &str, text: &str) -> Value {
    json!({"user": user, "text": text})
}

fn posted(body: &Value) -> Value {
    json!({"blocks": body["blocks"], "text": body["text"]})
}

fn whispered(body: &Value) -> Value {
    json!({"blocks": body["blocks"], "text": body["text"], "alone": true})
}

async fn kit() -> Kit {
    let mut kit = with_approvals().await;
    let url = format!("{}/slow/2500", kit.site.origin);
    kit.script = format!(
        "[[rule]]\nwhen = [\"erase\"]\n[[rule.step]]\ncall = {{ tool = \"shredder.erase\", input = {{ page = \"handbook/2019/holidays\" }} }}\n\
         [[rule.step]]\nfinish = {{ outcome = \"answered\", text = \"The page is gone.\" }}\n\
         [[rule]]\nwhen = []\n[[rule.step]]\ncall = {{ tool = \"web.fetch\", input = {{ url = \"{url}\" }} }}\n\
         [[rule.step]]\nfinish = {{ outcome = \"answered\", text = \"{ANSWER}\" }}\n"
    );
    kit.slack_more = "live = { after_ms = 0, every_ms = 1200 }\n".to_owned();
    write!(
        kit.more,
        "[converse]\nmodel = \"scripted/story\"\nmode = \"reserved\"\nweighs_asked = false\n\
         [[account]]\nname = \"linear\"\ncredential = \"linear.token\"\nauthorize = \"https://linear.app/oauth/authorize\"\n\
         token = \"https://api.linear.app/oauth/token\"\nclient_id = \"office\"\n\
         [accounts]\nurl = \"https://office.example.com\"\n"
    )
    .unwrap();
    kit
}

async fn clicks(office: &Office, payload: &Value) {
    assert_eq!(deliver_click(&office.url, payload, office.built.now()).await, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_see_is_laid_down_as_scenes() {
    let kit = kit().await;
    let (office, slack) = (kit.open().await, &kit.slack);
    let mut scenes = Scenes(Vec::new());

    let question = "how do we deploy?";
    office
        .deliver(&message("EvA", CHANNEL, ALICE, "1700000050.000100", &format!("<@U0BOT> {question}")))
        .await;
    office.until("a line is shown and changed", |_| !slack.updates().is_empty()).await;
    let asked = says(ALICE, &format!("<@U0BOT> {question}"));
    let working = slack.updates().remove(0);
    scenes.thread("thread-working", "# general", vec![asked.clone(), posted(&working)]);
    office.until_turns_ended(1).await;
    office.until("the line is gone", |_| slack.standing().len() == 1).await;
    scenes.thread("thread-answered", "# general", vec![asked, posted(&slack.standing()[0].1)]);

    assert_eq!(office.deliver(&asks(1)).await, 200);
    office.until("the card is shown", |_| slack.cards().len() == 1).await;
    let card = slack.cards().remove(0);
    let asked = says(ALICE, "<@U0BOT> erase it");
    scenes.thread("card-asks", "# general", vec![asked.clone(), posted(&card.1)]);
    homes(&office, &kit, &mut scenes).await;
    clicks(&office, &click(&card, OWNER, "approval.yes", |_| {})).await;
    office.until_turns_ended(2).await;
    office
        .until("the card says so", |_| slack.updates().iter().any(|update| update["ts"] == card.0.as_str()))
        .await;
    let decided = slack.updates().into_iter().rfind(|update| update["ts"] == card.0.as_str()).unwrap();
    let answer =
        slack.standing().into_iter().rfind(|(_, post)| post.to_string().contains("is gone")).unwrap();
    scenes.thread("card-decided", "# general", vec![asked, posted(&decided), posted(&answer.1)]);

    let connect = json!({"type": "slash_command", "command": "/chancery", "text": "connect linear", "team_id": TEAM,
        "channel_id": CHANNEL, "user_id": ALICE, "trigger_id": "s1", "api_app_id": "A01APP"});
    office.deliver(&connect).await;
    office.until("the link is whispered", |_| slack.whispers().len() == 1).await;
    scenes.thread("connect", "# general", vec![whispered(&slack.whispers()[0])]);
    form(&office, &kit, &mut scenes).await;

    let file = guests().with_file_name("shots").join("scenes.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, serde_json::to_string_pretty(&scenes.0).unwrap()).unwrap();
    println!("(in {})", file.display());
    office.stop().await;
}

/// The Home of the owner, with a channel chosen, and of somebody else whose choice is refused.
async fn homes(office: &Office, kit: &Kit, scenes: &mut Scenes) {
    let slack = &kit.slack;
    office.deliver(&opens_home("EvH1", OWNER)).await;
    scenes.view("home-owner", &home(office, slack, 1).await["view"]);
    clicks(office, &uses_home(&slack.homes()[0], "home.channel", &channel())).await;
    let settings = home(office, slack, 2).await;
    scenes.view("home-settings", &settings["view"]);
    let mut theirs = settings.clone();
    theirs["user_id"] = json!(ALICE);
    let eager = json!({"selected_option": {"text": {"type": "plain_text", "text": "x"}, "value": "eager"}});
    clicks(office, &uses_home(&theirs, "home.mode", &eager)).await;
    let refused = home(office, slack, 3).await;
    scenes.view("home-refused", &refused["view"]);
    clicks(office, &uses_home(&refused, "home.connect", &json!({}))).await;
    scenes.view("home-connect", &home(office, slack, 4).await["view"]);
}

/// The form, and what becomes of it in a channel and where the office is not.
async fn form(office: &Office, kit: &Kit, scenes: &mut Scenes) {
    let slack = &kit.slack;
    clicks(office, &global_shortcut(ALICE, "chancery.question", &slack.trigger())).await;
    office.until("the form is open", |_| !slack.forms().is_empty()).await;
    let view = slack.forms().remove(0);
    scenes.view("form", &view);
    clicks(office, &submission(ALICE, &view, "How do we deploy?\nAnd who may?", Some("C02"))).await;
    office.until_turns_ended(3).await;
    let in_channel = |post: &Value| post["channel"] == "C02";
    office
        .until("the line is gone", |_| {
            slack.standing().iter().filter(|(_, post)| in_channel(post)).count() == 2
        })
        .await;
    let stands: Vec<Value> = slack.standing().into_iter().map(|(_, post)| post).filter(in_channel).collect();
    scenes.thread("form-asked", "# deploys", stands.iter().map(posted).collect());
    slack.set_absent("C09");
    clicks(office, &submission(ALICE, &view, "And in there?", Some("C09"))).await;
    office.until("they are told", |_| slack.posts().iter().any(|post| post["channel"] == DIRECT)).await;
    let told = slack.posts().into_iter().rfind(|post| post["channel"] == DIRECT).unwrap();
    scenes.thread("form-regret", "Chancery", vec![posted(&told)]);
}
