//! What a file may say of a first office, and that it is read once.

use super::{differences, front_desk, put_on_record, seats, stands};
use crate::Config;
use event::{Actor, Expected, Fact, GlobalPosition, Label, PrincipalId, Proposed, SeatId, SeatVacated};
use record::{Record, SystemClock};
use std::sync::Arc;

fn config(seats: &str) -> Config {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chancery.toml");
    let text = format!(
        "policies = \"p\"\nprices = \"p\"\n[office]\nname = \"T\"\nmodel = \"m\"\n[record]\nsqlite = \"o\"\n\
         [purse]\nday = \"1.00\"\n{seats}"
    );
    std::fs::write(&path, text).unwrap();
    Config::read(&path, []).unwrap()
}

const DESK: &str = "[[seat]]\nname = \"seat_front-desk\"\nrole = \"assistant\"\nholder = \"agent_a\"\nline = \"seat_head\"\n";
const HEAD: &str = "[[seat]]\nname = \"seat_head\"\nrole = \"lead\"\nline = \"seat_owner\"\n";

async fn record() -> Record {
    Record::open_memory(Arc::new(SystemClock)).await.unwrap()
}

async fn kinds(record: &Record) -> Vec<String> {
    let events = record.read_all(GlobalPosition(0), 100).await.unwrap();
    let seat = |event: &event::Event| event.stream.as_str().trim_start_matches("seat-").to_owned();
    events.iter().map(|event| format!("{} {}", event.fact.kind(), seat(event))).collect()
}

fn id(name: &str) -> SeatId {
    SeatId::parse(&format!("seat_{name}")).unwrap()
}

fn refused(seats_text: &str) -> String {
    format!("{:#}", seats(&config(seats_text)).unwrap_err())
}

#[test]
fn seats_that_could_be_no_office_are_refused_by_name() {
    let seat = |more: &str| format!("[[seat]]\nname = \"seat_a\"\nrole = \"r\"\n{more}\n");
    let other = "[[seat]]\nname = \"seat_b\"\nrole = \"r\"\nline = \"seat_a\"\n";
    for (text, wanted) in [
        (seat("line = \"seat_b\"") + other, "report to itself"),
        (seat("line = \"seat_gone\""), "`seat_a` names `seat_gone`"),
        (seat("stands_in = \"seat_gone\""), "`seat_a` names `seat_gone`"),
        (seat("line = \"b\""), "[[seat]] `seat_a`"),
        (seat("holder = \"somebody\""), "[[seat]] `seat_a`"),
        (seat("accountabilities = [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\"]"), "at most 5"),
        (seat("grants = [\"record:seat.gone\"]"), "`record:seat.gone` is not a grant"),
        (seat("").replace("seat_a", "seat_owner"), "[office] owner"),
    ] {
        let said = refused(&text);
        assert!(said.contains(wanted), "`{wanted}` is not in {said}");
    }
}

#[tokio::test]
async fn the_first_office_is_one_commit_and_each_seat_comes_after_the_one_above_it() {
    let record = record().await;
    let opened = put_on_record(&config(&format!("{DESK}{HEAD}")), &record).await.unwrap();
    assert_eq!((opened.facts, opened.differences), (5, Vec::new()));
    assert_eq!(
        kinds(&record).await,
        [
            "seat.created seat_owner",
            "seat.held seat_owner",
            "seat.created seat_head",
            "seat.created seat_front-desk",
            "seat.held seat_front-desk",
        ]
    );
}

#[tokio::test]
async fn later_differences_are_told_with_their_command_and_never_applied() {
    let record = record().await;
    put_on_record(&config(&format!("{DESK}{HEAD}")), &record).await.unwrap();
    let again = put_on_record(&config(&format!("{DESK}{HEAD}")), &record).await.unwrap();
    assert_eq!((again.facts, again.differences.len()), (0, 0));
    let head = HEAD.replace("\"lead\"", "\"head of all\"\ngrants = [\"web.*\"]\nholder = \"agent_h\"");
    let more = "[[seat]]\nname = \"seat_new\"\nrole = \"r\"\n";
    let file = config(&format!("{DESK}{head}{more}"));
    let told = put_on_record(&file, &record).await.unwrap();
    assert_eq!(told.facts, 0);
    let wanted = [
        "chancery seat change seat_head --role 'head of all' --add-grant 'web.*' --reason",
        "chancery seat hold seat_head agent_h",
        "chancery seat create seat_new --role r",
    ];
    assert_eq!(told.differences.len(), wanted.len(), "{:?}", told.differences);
    for wanted in wanted {
        assert!(told.differences.iter().any(|line| line.contains(wanted)), "{:?}", told.differences);
    }
    assert_eq!(differences(&file, &record).await.unwrap(), told.differences, "and doctor tells the same");
    assert_eq!(stands(&record, &id("new")).await.unwrap(), None);
}

#[tokio::test]
async fn whom_the_configuration_names_holds_the_owners_seat_at_every_start() {
    let record = record().await;
    let mut config = config(DESK.replace("line = \"seat_head\"\n", "").as_str());
    put_on_record(&config, &record).await.unwrap();
    config.office.owner = "person_slack.T1.U1".to_owned();
    assert_eq!(put_on_record(&config, &record).await.unwrap().facts, 1);
    let owner = stands(&record, &id("owner")).await.unwrap().unwrap();
    assert_eq!(owner.holder, Some(PrincipalId::parse("person_slack.T1.U1").unwrap()));
    // Somebody takes the seat from its owner, and all that it may do.
    let principal = PrincipalId::parse("person_slack.T1.U1").unwrap();
    let gone = SeatVacated { seat: id("owner"), principal, reason: "a coup".into() };
    let bare = event::SeatCreated { grants: Vec::new(), ..owner.seat.clone() };
    let changed = event::SeatChanged { now: bare, reason: "a coup".into() };
    for (name, fact) in [("1", Fact::from(gone)), ("2", changed.into())] {
        let actor = Actor { principal: PrincipalId::host(), seat: None };
        let id = event::EventId::derived(&[name]);
        let event = Proposed { id, actor, cause: None, label: Label::host(), fact };
        record.append(super::stream(&owner.seat.seat), Expected::Any, vec![event]).await.unwrap();
    }
    assert_eq!(put_on_record(&config, &record).await.unwrap().facts, 2);
    assert_eq!(stands(&record, &id("owner")).await.unwrap(), Some(owner));
}

#[tokio::test]
async fn an_office_in_which_nobody_would_answer_people_is_not_begun() {
    let record = record().await;
    for (seats, wanted) in [
        (DESK.replace("holder = \"agent_a\"\n", "") + HEAD, "give it a `holder`"),
        (HEAD.to_owned(), "no [[seat]] has that name"),
    ] {
        let said = format!("{:#}", put_on_record(&config(&seats), &record).await.unwrap_err());
        assert!(said.contains("`seat_front-desk`") && said.contains(wanted), "{said}");
    }
    assert_eq!(kinds(&record).await, Vec::<String>::new(), "and nothing is on the record");
    // One who works for the front desk is enough.
    let held = HEAD.to_owned() + "holder = \"agent_h\"\n";
    let seats = DESK.replace("holder = \"agent_a\"\n", "") + &held;
    put_on_record(&config(&seats), &record).await.unwrap();
    assert_eq!(front_desk(&config(&seats), &record).await.unwrap().unwrap().seat.seat, id("head"));
}

#[tokio::test]
async fn a_file_without_seats_begins_an_office_of_its_owner_and_says_how_to_make_the_front_desk() {
    let record = record().await;
    put_on_record(&config(""), &record).await.unwrap();
    let said = format!("{:#}", front_desk(&config(""), &record).await.unwrap_err());
    assert!(said.contains("chancery seat create seat_front-desk --role assistant"), "{said}");
}
