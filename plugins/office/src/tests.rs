//! Each tool with what it was given, and without.

use crate::said::{dollars, moment};
use crate::verbs::{Budget, Line, Nothing, Page, Seat, Turn, Verbs, Waiting, not_given};
use crate::{Office, answer};
use guest::{Call, Failure, Kind, Tools};
use serde_json::{Value, json};
use std::cell::RefCell;

/// An office of few words, which notes what it was asked.
#[derive(Default)]
struct Small(RefCell<Vec<String>>);

impl Small {
    fn note(&self, asked: String) {
        self.0.borrow_mut().push(asked);
    }
}

impl Verbs for Small {
    fn said(&self, find: Option<String>, before: Option<u64>, limit: u32) -> Result<Page, Failure> {
        self.note(format!("{find:?} {before:?} {limit}"));
        let line = |who: Option<&str>, text: Option<&str>| Line {
            position: 7,
            at_ms: 951_782_400_000,
            who: who.map(str::to_owned),
            thread: "slack:T1:C1:1.0".into(),
            text: text.map(str::to_owned),
        };
        let lines = vec![
            line(Some("U02"), Some("The roof leaks.")),
            line(None, Some("Noted.")),
            line(Some("U03"), None),
        ];
        Ok(Page { lines, earlier: Some(7), withheld: 0 })
    }

    fn seats(&self) -> Result<Vec<Seat>, Failure> {
        Ok(vec![Seat {
            seat: "seat_desk".into(),
            own: true,
            role: "assistant".into(),
            department: None,
            reports_to: Some("seat_owner".into()),
            holder: None,
            takes_turns: false,
            works_for_it: Some("seat_owner".into()),
            answers_for: Vec::new(),
        }])
    }

    fn turns(&self, limit: u32) -> Result<Vec<Turn>, Failure> {
        self.note(limit.to_string());
        Ok(Vec::new())
    }

    fn budgets(&self) -> Result<Vec<Budget>, Failure> {
        Ok(vec![Budget {
            name: "organisation-day".into(),
            limit: 10_000_000_000,
            settled: 1_234_567_890,
            held: 0,
            unknown: 0,
            left: None,
            resets_at_ms: None,
        }])
    }

    fn waiting(&self) -> Result<Waiting, Failure> {
        Ok(Waiting { elsewhere: 2, ..Waiting::default() })
    }

    fn look_again(&self, minutes: u32) -> Result<i64, Failure> {
        Ok(i64::from(minutes) * 60_000)
    }

    fn ask(&self, seat: &str, wanted: &str, minutes: u32) -> Result<String, Failure> {
        self.note(format!("{seat} {wanted} {minutes}"));
        Ok("req_1".into())
    }

    fn answer(&self, request: &str, _answer: &str) -> Result<String, Failure> {
        if request == "req_1" { Ok(request.into()) } else { Err(not_given("wishes")) }
    }
}

fn called(verbs: &dyn Verbs, tool: &str, input: Value) -> Result<Value, Failure> {
    answer(&Call { tool: tool.to_owned(), input, key: String::new() }, verbs)
}

#[test]
fn what_was_said_is_told_with_who_when_and_where_and_what_was_erased_is_not() {
    let small = Small::default();
    let said = called(&small, "office.said", json!({"find": "roof", "before": 9})).unwrap();
    assert_eq!(small.0.borrow().as_slice(), ["Some(\"roof\") Some(9) 20"]);
    let lines: Vec<(&str, &str)> = said["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["who"].as_str().unwrap(), line["text"].as_str().unwrap()))
        .collect();
    assert_eq!(lines, [("U02", "The roof leaks."), ("office", "Noted."), ("U03", "[not shown]")]);
    assert_eq!((&said["earlier"], said.get("withheld")), (&json!(7), None));
    assert_eq!(said["lines"][0]["at"], "2000-02-29T00:00Z");
}

#[test]
fn amounts_are_dollars_and_what_nobody_knows_is_not_nothing() {
    let said = called(&Small::default(), "office.budgets", json!({})).unwrap();
    let budget = &said["budgets"][0];
    assert_eq!((&budget["settled"], &budget["left"]), (&json!("$1.234567"), &json!("not known")));
    assert_eq!(budget.get("starts_anew_at"), None);
    for (nano, text) in [
        (0, "$0.00"),
        (10_000_000_000, "$10.00"),
        (2_500_000, "$0.0025"),
        (-1_500_000_000, "-$1.50"),
        (999, "$0.00"),
    ] {
        assert_eq!(dollars(nano), text);
    }
    assert_eq!(moment(0), "1970-01-01T00:00Z");
}

#[test]
fn a_wish_gives_back_its_name_and_no_words() {
    let small = Small::default();
    let ask = json!({"seat": "seat_legal", "wanted": "Read the licence.", "minutes": 60});
    assert_eq!(called(&small, "office.ask", ask), Ok(json!({"request": "req_1", "asked": true})));
    let again = called(&small, "office.look-again", json!({"minutes": 3}));
    assert_eq!(again, Ok(json!({"look_again_at": "1970-01-01T00:03Z"})));
    let answered = called(&small, "office.answer", json!({"request": "req_1", "answer": "MIT"}));
    assert_eq!(answered, Ok(json!({"request": "req_1", "answered": true})));
    let blank = json!({"seat": "seat_legal", "wanted": " ", "minutes": 60});
    assert_eq!(called(&small, "office.ask", blank).unwrap_err().kind, Kind::InvalidInput);
}

#[test]
fn a_call_that_was_given_nothing_says_so_whatever_it_is() {
    for (tool, input) in [
        ("office.said", json!({})),
        ("office.seats", json!({})),
        ("office.turns", json!({})),
        ("office.budgets", json!({})),
        ("office.waiting", json!({})),
        ("office.look-again", json!({"minutes": 1})),
        ("office.ask", json!({"seat": "seat_legal", "wanted": "x", "minutes": 1})),
        ("office.answer", json!({"request": "req_1", "answer": "x"})),
    ] {
        let failure = called(&Nothing, tool, input).unwrap_err();
        assert_eq!(failure.kind, Kind::NotAllowed, "{tool}");
        assert!(failure.message.contains("was not given the handle"), "{}", failure.message);
    }
    assert_eq!(called(&Nothing, "office.fire", json!({})).unwrap_err().kind, Kind::NotFound);
    let other = json!({"channel": "C02"});
    assert_eq!(called(&Small::default(), "office.said", other).unwrap_err().kind, Kind::InvalidInput);
}

#[test]
fn the_manifest_names_the_tools_that_are_defined_and_each_asks_for_one_handle() {
    let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
    let tools = manifest["tool"].as_array().unwrap();
    let asked: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let defined: Vec<&str> = Office::definitions().iter().map(|tool| tool.name).collect();
    assert_eq!(asked, defined);
    assert!(tools.iter().all(|tool| tool["handles"].as_array().unwrap().len() == 1));
    assert!(!manifest.contains_key("route"));
}
