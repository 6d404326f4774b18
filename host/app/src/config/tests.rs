//! What the file and the environment may say, and how a mistake is told.

use super::{Config, SecretSource};
use std::path::Path;

const SMALL: &str = r#"
policies = "policies"
prices = "prices.toml"
[office]
name = "Test"
model = "scripted/story"
[record]
sqlite = "office.sqlite"
[purse]
day = "5.00"
[slack]
signing_secrets = [{ env = "SLACK_SIGNING_SECRET" }, { file = "old-secret" }]
[[seat]]
name = "seat_front-desk"
role = "assistant"
holder = "agent_chancery"
"#;

fn read(text: &str, environment: &[(&str, &str)]) -> anyhow::Result<Config> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chancery.toml");
    std::fs::write(&path, text).unwrap();
    Config::read(&path, environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
}

#[test]
fn a_secret_that_stands_in_the_file_is_refused_and_never_repeated() {
    for wrong in
        ["\"hunter2\"", "{ value = \"hunter2\" }", "{ env = \"A\", file = \"hunter2\" }", "[\"hunter2\"]"]
    {
        let error =
            read(&SMALL.replace("{ env = \"SLACK_SIGNING_SECRET\" }", wrong), &[]).unwrap_err().to_string();
        assert!(error.contains("env") && error.contains("chancery.toml:"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn an_owner_is_a_person() {
    let owner = |name: &str| read(&SMALL.replace("[office]", &format!("[office]\nowner = {name:?}")), &[]);
    assert_eq!(read(SMALL, &[]).unwrap().owner().unwrap().as_str(), "person_operator");
    assert_eq!(owner("person_slack.T1.U1").unwrap().owner().unwrap().as_str(), "person_slack.T1.U1");
    for wrong in ["agent_a", "system_host", "operator", ""] {
        let error = owner(wrong).unwrap_err().to_string();
        assert!(error.contains("`office.owner`") && error.contains("person_operator"), "{error}");
    }
}

#[test]
fn the_seats_stand_in_the_file_or_in_one_beside_it_and_not_in_both() {
    let (head, seat) = SMALL.split_once("[[seat]]").unwrap();
    let named = format!("seats = \"office.toml\"\n{head}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chancery.toml");
    let read_both = |config: &str, seats: &str| {
        std::fs::write(&path, config).unwrap();
        std::fs::write(folder.path().join("office.toml"), seats).unwrap();
        Config::read(&path, [])
    };
    let seats = format!("[[seat]]{seat}line = \"seat_owner\"\naccountabilities = [\"answers\"]\n");
    let config = read_both(&named, &seats).unwrap();
    assert_eq!(config.seats.len(), 1);
    assert_eq!(config.seats[0].line.as_deref(), Some("seat_owner"));
    let error = read_both(&named, &seats.replace("line", "lines")).unwrap_err().to_string();
    assert!(error.contains("office.toml:") && error.contains("`lines`"), "{error}");
    let error = read_both(&format!("{named}[[seat]]{seat}"), &seats).unwrap_err().to_string();
    assert!(error.contains("keep one of the two"), "{error}");
    std::fs::remove_file(folder.path().join("office.toml")).unwrap();
    let error = Config::read(&path, []).unwrap_err().to_string();
    assert!(error.contains("keep one") || error.contains("`seats` names"), "{error}");
}

#[test]
fn the_environment_overrides_the_file() {
    let config = read(
        SMALL,
        &[
            ("CHANCERY_PURSE__DAY", "7.50"),
            ("CHANCERY_LISTEN__ADDRESS", "0.0.0.0:80"),
            ("CHANCERY_OFFICE__STEPS_MAX", "12"),
            ("CHANCERY_EGRESS__LOOPBACK", "[\"http://127.0.0.1:1\"]"),
            ("CHANCERY_CONFIG", "ignored"),
            ("OTHER", "ignored"),
        ],
    )
    .unwrap();
    assert_eq!(config.purse.day.as_deref(), Some("7.50"));
    assert_eq!(config.listen.address.port(), 80);
    assert_eq!(config.office.steps_max, 12);
    assert_eq!(config.egress.loopback, ["http://127.0.0.1:1"]);
}

#[test]
fn an_unknown_key_is_named_with_its_file_and_place() {
    let error = read(&SMALL.replace("day =", "dya ="), &[]).unwrap_err().to_string();
    assert!(error.contains("chancery.toml:10:1: unknown field `dya`"), "{error}");
    assert_eq!(error.lines().count(), 1);
    let error = read(SMALL, &[("CHANCERY_PURSE__DYA", "1")]).unwrap_err().to_string();
    assert!(error.contains("CHANCERY_PURSE__DYA") && error.contains("dya"), "{error}");
}

#[test]
fn a_value_beyond_its_limits_is_named() {
    let seat = SMALL.split("[[seat]]").nth(1).unwrap();
    let twice = format!("{SMALL}\n[[seat]]{seat}");
    for (text, word) in [
        (SMALL.replace("[purse]", "[purse]\nheadroom = 1"), "headroom"),
        (SMALL.replace("[purse]", "[purse]\nheadroom = 9223372036854775807"), "headroom"),
        (SMALL.replace("\"Test\"", "\"\""), "office.name"),
        (SMALL.replace("\"Test\"", "\"a\\n[office] b\""), "office.name"),
        (SMALL.replace("\"Test\"", &format!("{:?}", "x".repeat(101))), "office.name"),
        (twice, "seat_front-desk` is configured twice"),
        (
            SMALL.replace("[purse]", "[journal]\nfolder = \"j\"\nremote = \"https://a:b@c/d\"\n[purse]"),
            "password",
        ),
    ] {
        let error = read(&text, &[]).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_secret_in_the_file_is_not_a_reference() {
    let error = read(&SMALL.replace("{ env = \"SLACK_SIGNING_SECRET\" }", "\"hunter2\""), &[]).unwrap_err();
    assert!(error.to_string().contains("chancery.toml:12"), "{error}");
}

#[test]
fn a_record_in_two_places_is_refused_with_its_place_in_the_file() {
    let both = SMALL.replace("sqlite =", "postgres = { env = \"DATABASE_URL\" }\nsqlite =");
    let error = read(&both, &[]).unwrap_err().to_string();
    assert!(error.contains("chancery.toml:7:1: `[record]` names both"), "{error}");
    let error = read(SMALL, &[("CHANCERY_RECORD__POSTGRES", "{ env = \"A\" }")]).unwrap_err().to_string();
    assert!(error.contains("names both"), "{error}");
}

#[test]
fn paths_are_beside_the_file_and_an_office_needs_a_purse() {
    let config = read(SMALL, &[]).unwrap();
    assert!(config.policies.is_absolute() && config.policies.ends_with(Path::new("policies")));
    let secrets = config.slack.unwrap().signing_secrets;
    assert!(matches!(&secrets[1], SecretSource::File(path) if path.is_absolute()));
    let error = read(&SMALL.replace("day = \"5.00\"", ""), &[]).unwrap_err().to_string();
    assert!(error.contains("purse"), "{error}");
}

#[test]
fn a_model_has_a_profile_and_the_main_one_is_the_front_desks() {
    use super::Profile;
    let (office, rest) = SMALL.split_once("model = \"scripted/story\"\n").unwrap();
    let with = |office_model: &str, models: &str| read(&format!("{office}{office_model}{rest}{models}"), &[]);
    let profiles =
        "[[model]]\nfor = \"main\"\nmodel = \"a/b\"\n[[model]]\nfor = \"small\"\nmodel = \"a/c\"\n";
    let config = with("", profiles).unwrap();
    assert_eq!((config.office.model.as_str(), config.model(Profile::Main)), ("a/b", Some("a/b")));
    assert_eq!((config.model(Profile::Small), config.model(Profile::Classifier)), (Some("a/c"), None));
    assert_eq!(config.models_named().count(), 2);
    for (office_model, models, said) in [
        ("", "", "`for = \"main\"`"),
        ("model = \"x/y\"\n", profiles, "say it once"),
        (
            "model = \"x/y\"\n",
            "[[model]]\nfor = \"small\"\nmodel = \"a/c\"\n".repeat(2).as_str(),
            "two `[[model]]`",
        ),
        ("", "[[model]]\nfor = \"large\"\nmodel = \"a/c\"\n", "unknown variant `large`"),
    ] {
        let error = with(office_model, models).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_budget_in_another_currency_than_the_price_list_is_refused_when_it_is_read() {
    let said = |currency: &str| SMALL.replace("day = \"5.00\"", &format!("day = \"5.00\"\n{currency}"));
    assert!(read(&said("currency = \"USD\""), &[]).is_ok());
    let budget = "[[budget]]\nfor = \"organisation\"\nperiod = \"day\"\nlimit = \"5.00\"\n";
    for wrong in
        [said("currency = \"EUR\""), format!("{SMALL}{budget}currency = \"EUR\"\n"), said("currency = \"\"")]
    {
        let error = read(&wrong, &[]).unwrap_err().to_string();
        assert!(error.contains("is another currency") && error.contains("chancery.toml:"), "{error}");
    }
    // Nor is one meant by its sign.
    let error = read(&SMALL.replace("\"5.00\"", "\"€5.00\""), &[]).and_then(|config| config.budgets());
    let error = format!("{:#}", error.unwrap_err());
    assert!(error.contains("US dollars"), "{error}");
}
