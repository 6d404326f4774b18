//! The purse of a whole office, as its operator sees it.

use event::{
    Actor, EventId, Expected, Fact, HoldId, HoldSettled, HoldTaken, Label, Origin, PrincipalId, Proposed,
    RefusalRaised, RefusalSubject, StreamName,
};
use tests::host::run;
use tests::slack::message;
use tests::{Kit, Office};

fn chancery(kit: &Kit, arguments: &[&str]) -> (bool, String) {
    let output = run(&kit.write(), arguments);
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

async fn greeted(kit: &Kit) -> Office {
    let office = kit.open().await;
    office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello")).await;
    office.until_turns_ended(1).await;
    office
}

/// The cells of the line that starts with `first`.
fn line<'a>(said: &'a str, first: &str) -> Vec<&'a str> {
    let line =
        said.lines().find(|line| line.starts_with(first)).unwrap_or_else(|| panic!("no `{first}` in {said}"));
    line.split_whitespace().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_purse_of_a_seat_a_channel_and_a_person_pays_for_what_they_asked() {
    let mut kit = Kit::new().await;
    for (whose, period) in [
        ("seat:seat_front-desk", "day"),
        ("channel:slack:T01TEST:C01GEN", "month"),
        ("person:person_slack.T01TEST.U01ALICE", "day"),
        ("person:person_slack.T01TEST.U02BOB", "day"),
    ] {
        kit.more
            .push_str(&format!("[[budget]]\nfor = \"{whose}\"\nperiod = \"{period}\"\nlimit = \"1.00\"\n"));
    }
    let office = greeted(&kit).await;
    let said = app::purse::show(&office.built.record, office.built.now()).await.unwrap();
    let settled = line(&said, "organisation-day")[3].to_owned();
    assert!(settled.starts_with("$0.0") && settled != "$0.00", "{said}");
    for budget in [
        "organisation-month",
        "seat:seat_front-desk-day",
        "channel:slack:T01TEST:C01GEN-month",
        "person:person_slack.T01TEST.U01ALICE-day",
    ] {
        assert_eq!(line(&said, budget)[3], settled, "{budget}");
    }
    assert_eq!(line(&said, "person:person_slack.T01TEST.U02BOB-day")[3], "$0.00");
    assert!(said.contains("no hold is open"), "{said}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_is_explained_from_the_record_and_a_turn_says_what_it_cost() {
    let kit = Kit::new().await;
    let office = greeted(&kit).await;
    let events = office.events().await;
    let hold = events.iter().find_map(|event| match &event.fact {
        Fact::HoldTaken(body) => Some(body.hold.to_string()),
        _ => None,
    });
    office.stop().await;
    let (_, said) = chancery(&kit, &["purse", "explain", &hold.unwrap()]);
    for part in [
        "settled",
        "scripted/story of list",
        "$0.25 a million tokens",
        "held 3 times",
        "organisation-day/",
        "charged",
        "given back",
    ] {
        assert!(said.contains(part), "`{part}` is not in {said}");
    }
    let (_, said) = chancery(&kit, &["turn", "show"]);
    assert!(said.contains("\n  cost     $0.0"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_a_person_raised_stands_until_the_file_says_another() {
    let mut kit = Kit::new().await;
    let limit = async |kit: &Kit| {
        let office = kit.open().await;
        let said = app::purse::show(&office.built.record, office.built.now()).await.unwrap();
        office.stop().await;
        line(&said, "organisation-day")[2].to_owned()
    };
    assert_eq!(limit(&kit).await, "$5.00");
    let raise = ["purse", "budget", "organisation-day", "--limit", "8.5", "--reason", "a busy week"];
    let (raised, said) = chancery(&kit, &raise);
    assert!(raised && said.contains("organisation-day is $8.50: a busy week"), "{said}");
    assert_eq!(limit(&kit).await, "$8.50");
    kit.day = "6.00".to_owned();
    assert_eq!(limit(&kit).await, "$6.00");
    let goal =
        ["purse", "budget", "goal:launch", "--period", "lifetime", "--limit", "2", "--reason", "agreed"];
    let (set, said) = chancery(&kit, &goal);
    assert!(set && said.contains("goal:launch is $2.00"), "{said}");
    for (wrong, told) in [
        (
            vec!["purse", "budget", "nobody-day", "--limit", "1", "--reason", "x"],
            "`chancery purse show` lists them",
        ),
        (
            vec!["purse", "budget", "organisation-day", "--limit", "5 EUR", "--reason", "x"],
            "write US dollars",
        ),
        (vec!["purse", "budget", "goal:x", "--period", "day", "--limit", "1", "--reason", "x"], "lifetime"),
        (vec!["purse", "budget", "organisation-day", "--limit", "1", "--reason", " "], "say why"),
        (
            vec![
                "purse",
                "budget",
                "organisation-day",
                "--limit",
                "1",
                "--reason",
                "x",
                "--as",
                "seat_front-desk",
            ],
            "does not hold",
        ),
    ] {
        let (done, said) = chancery(&kit, &wrong);
        assert!(!done && said.contains(told), "{wrong:?}: {said}");
    }
}

/// A call that cost more than its hold, as the gate writes it down.
async fn overrun(office: &Office) -> HoldId {
    let hold = HoldId::derived(&["overrun"]);
    let events = office.events().await;
    let taken = events.iter().find_map(|event| match &event.fact {
        Fact::HoldTaken(body) => Some(body.clone()),
        _ => None,
    });
    let origin = Origin::Duty { event: EventId::derived(&["overrun"]), kind: "probe".into(), attempt: 1 };
    let stream = StreamName::new("call", origin.deed());
    let taken = HoldTaken { hold: hold.clone(), origin, ..taken.unwrap() };
    let charged = taken.amount.times(2).unwrap();
    let (held, accounts) = (taken.amount, taken.accounts.clone());
    let usage = event::Usage::default();
    let subject = RefusalSubject::Budget("organisation-day".into());
    let refusal = fold::refusal::refusal_id(&subject, hold.as_str());
    let reason = "it cost more than was held".to_owned();
    let facts: [Fact; 3] = [
        taken.into(),
        HoldSettled { hold: hold.clone(), held, accounts, charged, usage, seconds: 0 }.into(),
        RefusalRaised { refusal, subject, reason, lifts_at: None }.into(),
    ];
    let actor = Actor { principal: PrincipalId::gate(), seat: None };
    let say = |fact: Fact| Proposed {
        id: EventId::derived(&["overrun", fact.kind()]),
        actor: actor.clone(),
        cause: None,
        label: Label::host(),
        fact,
    };
    office.built.record.append(stream, Expected::Any, facts.map(say).to_vec()).await.unwrap();
    hold
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overrun_refuses_its_budget_until_a_person_says_they_looked() {
    let kit = Kit::new().await;
    let office = greeted(&kit).await;
    let hold = overrun(&office).await.to_string();
    office.deliver(&message("Ev2", "C01GEN", "U01ALICE", "1700000009.000100", "<@U0BOT> hello")).await;
    let events = office.until_turns_ended(2).await;
    assert!(events.iter().any(
        |event| matches!(&event.fact, Fact::CallRefused(no) if no.subject == "budget:organisation-day")
    ));
    office.stop().await;
    let (_, said) = chancery(&kit, &["purse", "show"]);
    assert!(said.contains("budget:organisation-day is refused: it cost more than was held"), "{said}");
    let (_, said) = chancery(&kit, &["purse", "explain", &hold]);
    assert!(said.contains("an overrun"), "{said}");
    let review = ["purse", "review", &hold, "--reason", "the list was wrong, and is mended"];
    let (lifted, said) = chancery(&kit, &review);
    assert!(lifted && said.contains("budget:organisation-day is refused no more"), "{said}");
    let (again, said) = chancery(&kit, &review);
    assert!(!again && said.contains("nothing stands refused because of"), "{said}");
    let office = kit.open().await;
    office.deliver(&message("Ev3", "C01GEN", "U01ALICE", "1700000019.000100", "<@U0BOT> hello")).await;
    let events = office.until_turns_ended(3).await;
    let settled = events.iter().filter(|event| event.fact.kind() == "hold.settled").count();
    assert_eq!(settled, 3, "what was refused is bought again");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_that_could_be_none_stops_the_start_and_says_which() {
    for (more, told) in [
        ("[[budget]]\nfor = \"everybody\"\nperiod = \"day\"\nlimit = \"1\"\n", "`everybody`"),
        (
            "[[budget]]\nfor = \"seat:seat_a\"\nperiod = \"lifetime\"\nlimit = \"1\"\n",
            "only a goal has a lifetime",
        ),
        ("[[budget]]\nfor = \"seat:seat_a\"\nperiod = \"day\"\nlimit = \"1 EUR\"\n", "write US dollars"),
        ("[[budget]]\nfor = \"organisation\"\nperiod = \"day\"\nlimit = \"1\"\n", "configured twice"),
    ] {
        let mut kit = Kit::new().await;
        kit.more = more.to_owned();
        let (started, said) = chancery(&kit, &["serve"]);
        assert!(!started && said.contains(told), "{said}");
    }
}
