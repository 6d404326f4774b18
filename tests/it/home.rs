//! What people set on their Home tab, and what they ask with a form: who may, what the record says of it, and where an
//! answer goes; with the other side of Slack, which refuses a view that is none.

use event::{
    AccountConnected, Actor, Event, EventId, Expected, Fact, GlobalPosition, Label, Mode, PrincipalId,
    Proposed, StreamName,
};
use record::{Clock, SystemClock};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tests::office::{Office, deliver_click};
use tests::slack::TEAM;
use tests::slack::views::{echo, global_shortcut, opens_home, submission, uses_home};
use tests::{Kit, Slack};

const ALICE: &str = "U01ALICE";
const BOB: &str = "U02BOB";
const CAROL: &str = "U03CAROL";
const CHANNEL: &str = "C01GEN";

fn person(user: &str) -> String {
    format!("person_slack.{TEAM}.{user}")
}

/// An office of Alice's, in which Carol's seat may set modes too, and which knows one service.
pub async fn kit() -> Kit {
    let mut kit = Kit::new().await;
    kit.owner = person(ALICE);
    kit.script = "[[rule]]\nwhen = []\n[[rule.step]]\nfinish = { outcome = \"answered\", text = \"With the runbook.\" }\n"
        .to_owned();
    let carol = person(CAROL);
    write!(
        kit.more,
        "[converse]\nmodel = \"scripted/story\"\nmode = \"reserved\"\n\
         [[seat]]\nname = \"seat_lead\"\nrole = \"lead\"\nholder = \"{carol}\"\ngrants = [\"record:mode.set\"]\n\
         [[account]]\nname = \"calendar\"\ncredential = \"calendar.token\"\nauthorize = \"https://login.example.com/authorize\"\n\
         token = \"https://login.example.com/token\"\nclient_id = \"office\"\n[accounts]\nurl = \"http://127.0.0.1:1\"\n"
    )
    .unwrap();
    kit
}

async fn click(office: &Office, payload: &Value) {
    assert_eq!(deliver_click(&office.url, payload, SystemClock.now()).await, 200);
}

/// Waits until so many Homes were published; the newest.
pub async fn home(office: &Office, slack: &Slack, count: usize) -> Value {
    office.until(&format!("{count} Homes"), |_| slack.homes().len() >= count).await;
    assert_eq!(slack.homes().len(), count);
    slack.homes().pop().unwrap()
}

fn modes(events: &[Event]) -> Vec<(String, String, Mode)> {
    let of = |event: &Event| match &event.fact {
        Fact::ModeSet(body) => {
            let (by, seat) = (&event.actor.principal, event.actor.seat.as_ref().unwrap());
            assert_eq!(body.channel, format!("{TEAM}:{CHANNEL}"));
            Some((by.to_string(), seat.to_string(), body.mode))
        }
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

pub fn channel() -> Value {
    json!({"selected_conversation": CHANNEL})
}

fn option(word: &str) -> Value {
    json!({"selected_option": {"text": {"type": "plain_text", "text": word}, "value": word}})
}

/// What the menu of modes shows, where there is one.
fn shown(home: &Value) -> Option<String> {
    let blocks = home["view"]["blocks"].as_array().unwrap();
    let menus = blocks.iter().map(|block| &block["accessory"]).find(|menu| menu["action_id"] == "home.mode");
    menus.map(|menu| menu["initial_option"]["value"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_may_sets_a_channels_mode_on_their_home_and_whoever_may_not_is_told_there_alone() {
    let kit = kit().await;
    let (office, slack) = (kit.open().await, &kit.slack);
    office.deliver(&opens_home("Ev1", ALICE)).await;
    let first = home(&office, slack, 1).await;
    assert_eq!(shown(&first), None, "no channel is chosen");
    click(&office, &uses_home(&first, "home.channel", &channel())).await;
    let second = home(&office, slack, 2).await;
    assert_eq!(shown(&second).as_deref(), Some("reserved"));
    click(&office, &uses_home(&second, "home.mode", &option("eager"))).await;
    let third = home(&office, slack, 3).await;
    assert_eq!(shown(&third).as_deref(), Some("eager"));
    assert!(third.to_string().contains("I am *eager* in that channel"), "{third}");
    let owner = (person(ALICE), "seat_owner".to_owned(), Mode::Eager);
    assert_eq!(modes(&office.events().await), std::slice::from_ref(&owner));

    // Who may not is shown it and no menu; one who uses a menu all the same is refused, and told so alone.
    office.deliver(&opens_home("Ev2", BOB)).await;
    let bobs = home(&office, slack, 4).await;
    click(&office, &uses_home(&bobs, "home.channel", &channel())).await;
    let bobs = home(&office, slack, 5).await;
    assert_eq!((shown(&bobs), bobs["user_id"].as_str()), (None, Some(BOB)));
    assert!(bobs.to_string().contains("I am *eager* there"), "{bobs}");
    let mut forged = third.clone();
    forged["user_id"] = json!(BOB);
    click(&office, &uses_home(&forged, "home.mode", &option("quiet"))).await;
    let refused = home(&office, slack, 6).await;
    assert_eq!(refused["user_id"], BOB);
    assert!(refused.to_string().contains("*Not set.* Only the owner of this office"), "{refused}");
    assert_eq!(modes(&office.events().await), std::slice::from_ref(&owner));
    assert_eq!((slack.whispers().len(), slack.posts().len()), (0, 0), "nobody else is told");

    // A seat with the grant is enough, and the event names it.
    office.deliver(&opens_home("Ev3", CAROL)).await;
    let carols = home(&office, slack, 7).await;
    click(&office, &uses_home(&carols, "home.channel", &channel())).await;
    let carols = home(&office, slack, 8).await;
    click(&office, &uses_home(&carols, "home.mode", &option("quiet"))).await;
    let carols = home(&office, slack, 9).await;
    assert_eq!(shown(&carols).as_deref(), Some("quiet"));
    let carol = (person(CAROL), "seat_lead".to_owned(), Mode::Quiet);
    assert_eq!(modes(&office.events().await), [owner, carol]);
    assert!(!carols.to_string().contains("organisation-day"), "the purse is the owner's");
    office.built.record.verify(None).await.unwrap();
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_their_home_a_person_connects_accounts_and_says_where_may_be_told_what_they_show() {
    let kit = kit().await;
    let (office, slack) = (kit.open().await, &kit.slack);
    office.deliver(&opens_home("Ev1", BOB)).await;
    let first = home(&office, slack, 1).await;
    assert!(first.to_string().contains("not connected") && !first.to_string().contains("home.disclose"));
    click(&office, &uses_home(&first, "home.connect", &json!({}))).await;
    let link = home(&office, slack, 2).await;
    assert!(link.to_string().contains("http://127.0.0.1:1/account/"), "{link}");

    let bob = PrincipalId::parse(&person(BOB)).unwrap();
    let connected = AccountConnected {
        credential: "calendar.token".to_owned(),
        owner: bob.clone(),
        by: bob.clone(),
        seats: [].into(),
        scopes: Vec::new(),
    };
    let event = Proposed {
        id: EventId::derived(&["connected"]),
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause: None,
        label: Label::host(),
        fact: connected.into(),
    };
    let stream = StreamName::new("account", &bob);
    office.built.record.append(stream, Expected::Any, vec![event]).await.unwrap();
    office.deliver(&opens_home("Ev2", BOB)).await;
    let third = home(&office, slack, 3).await;
    click(&office, &uses_home(&third, "home.disclose", &json!({"selected_conversations": [CHANNEL]}))).await;
    let told = home(&office, slack, 4).await;
    assert!(told.to_string().contains("in one place"), "{told}");
    let set: Vec<(PrincipalId, Vec<String>)> = office
        .events()
        .await
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::DisclosureSet(body) => {
                Some((body.owner.clone(), body.destinations.iter().cloned().collect()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(set, [(bob, vec![CHANNEL.to_owned()])]);
    click(&office, &uses_home(&told, "home.disconnect", &json!({}))).await;
    let gone = home(&office, slack, 5).await;
    assert!(gone.to_string().contains("I use your account at calendar no more"), "{gone}");
    assert!(slack.posts().is_empty() && slack.whispers().is_empty());
    office.stop().await;
}

fn messages(events: &[Event]) -> Vec<(String, String)> {
    let of = |event: &Event| match &event.fact {
        Fact::MessageReceived(body) if !body.author.bot => {
            Some((body.author.principal.clone().unwrap().to_string(), body.text.text().to_owned()))
        }
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// The form, opened by Bob.
async fn form(office: &Office, slack: &Slack) -> Value {
    let before = slack.forms().len();
    click(office, &global_shortcut(BOB, "chancery.question", &slack.trigger())).await;
    office.until("the form is open", |_| slack.forms().len() > before).await;
    slack.forms().pop().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_with_the_form_is_a_persons_message_and_answered_where_they_want_it() {
    let kit = kit().await;
    let (office, slack) = (kit.open().await, &kit.slack);
    let view = form(&office, slack).await;
    assert_eq!(view["title"]["text"], "Ask Test");
    let sent = submission(BOB, &view, "How do we <!here> deploy?", Some(CHANNEL));
    click(&office, &sent).await;
    office.until_turns_ended(1).await;
    // Slack sends the office's own post back, and a socket may bring the form a second time.
    office.deliver(&echo(1, &slack.posts()[0])).await;
    click(&office, &sent).await;
    let events = office.until_classified().await;
    let posts = slack.posts();
    assert_eq!(posts.len(), 2, "{posts:?}");
    let text = posts[0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("<@{BOB}> asks:")) && !text.contains("<!"), "{text}");
    assert_eq!((&posts[0]["channel"], &posts[0]["thread_ts"]), (&json!(CHANNEL), &Value::Null));
    assert_eq!(
        (&posts[1]["channel"], &posts[1]["thread_ts"]),
        (&json!(CHANNEL), &json!("1700000100.000001"))
    );
    assert_eq!(messages(&events), [(person(BOB), "How do we &lt;!here&gt; deploy?".to_owned())]);
    let turns = events.iter().filter(|event| matches!(event.fact, Fact::TurnOpened(_))).count();
    assert_eq!(turns, 1);

    // Followed once more from its beginning, nothing is done twice.
    office.built.record.verify(None).await.unwrap();
    office.built.record.set_cursor("people", GlobalPosition(1)).await.unwrap();
    office.stop().await;
    let office = kit.open().await;
    office.deliver(&opens_home("Ev9", BOB)).await;
    home(&office, slack, 1).await;
    assert_eq!((slack.posts().len(), slack.forms().len()), (2, 1));
    assert_eq!(messages(&office.events().await).len(), 1);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_place_the_form_is_answered_in_direct_messages_and_one_the_office_is_not_in_says_so_there()
{
    let kit = kit().await;
    let (office, slack) = (kit.open().await, &kit.slack);
    let view = form(&office, slack).await;
    click(&office, &submission(BOB, &view, "How?", None)).await;
    office.until_turns_ended(1).await;
    let posts = slack.posts();
    assert_eq!(
        (&posts[0]["channel"], &posts[1]["channel"]),
        (&json!("D02BOB"), &json!("D02BOB")),
        "{posts:?}"
    );
    assert_eq!((posts.len(), &posts[1]["thread_ts"]), (2, &Value::Null));
    assert!(posts[0]["text"].as_str().unwrap().starts_with("You asked:"), "{posts:?}");

    slack.set_absent("C09");
    click(&office, &submission(BOB, &view, "And there?", Some("C09"))).await;
    office.until("they are told", |_| slack.posts().len() == 3).await;
    let told = slack.posts().pop().unwrap();
    let text = told["text"].as_str().unwrap();
    assert!(
        told["channel"] == "D02BOB" && text.contains("invite it") && text.contains("And there?"),
        "{told}"
    );
    let events = office.until_classified().await;
    assert_eq!(messages(&events).len(), 1, "nothing was asked there");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_is_opened_for_no_guest_and_with_no_trigger_that_is_over() {
    let kit = kit().await;
    let (office, slack) = (kit.open().await, &kit.slack);
    let mut guest = global_shortcut(BOB, "chancery.question", &slack.trigger());
    guest["user"]["is_restricted"] = json!(true);
    click(&office, &guest).await;
    click(&office, &global_shortcut(BOB, "another.app", &slack.trigger())).await;
    click(&office, &global_shortcut(BOB, "chancery.question", "17000.none.abc")).await;
    let failed = |event: &Event| matches!(event.fact, Fact::EffectFailed(_));
    let events = office.until("Slack refused", |events| events.iter().any(failed)).await;
    assert!(slack.forms().is_empty());
    let begun = events.iter().filter(|event| matches!(event.fact, Fact::EffectIntended(_))).count();
    assert_eq!(begun, 1, "the guest's and the other app's were not tried");
    office.stop().await;
}
