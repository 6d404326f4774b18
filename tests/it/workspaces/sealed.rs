//! What Slack gives to the office stands in no file of its folder as it is, and what an earlier version kept so is sealed.

use super::{OTHER, count, installable, mention, to_slack_and_back};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tests::host::run;
use tests::visit::visit;

/// Every file below `folder` that holds one of `values`, raw, in base64 or in hexadecimal.
fn holding(folder: &Path, values: &[String]) -> Vec<String> {
    use base64::Engine as _;
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, values));
            continue;
        }
        // A database may take a file of its own away meanwhile.
        let Ok(bytes) = fs::read(&path) else { continue };
        let spellings = values.iter().flat_map(|value| {
            [
                value.clone(),
                hex::encode(value),
                base64::engine::general_purpose::STANDARD_NO_PAD.encode(value),
            ]
        });
        for spelling in spellings {
            if bytes.windows(spelling.len()).any(|window| window == spelling.as_bytes()) {
                found.push(format!("{} as {spelling}", path.display()));
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_slack_gives_is_in_no_file_as_it_is_and_opens_with_the_offices_key_alone() {
    let kit = installable(&[OTHER]).await;
    kit.slack.installs.rotate(43_200);
    let office = kit.open().await;
    kit.slack.installs.next(OTHER);
    let (path, cookie) = to_slack_and_back(&office).await;
    assert_eq!(visit(&office.url, &path, &cookie).await.status, 200);
    office.deliver(&mention("Ev1", OTHER, "1.000001")).await;
    office.until_turns_ended(1).await;
    let given: Vec<String> =
        kit.slack.installs.given().into_iter().filter(|token| *token != tests::slack::TOKEN).collect();
    assert!(given.iter().any(|token| token.starts_with("xoxe-1-refresh")), "{given:?}");
    assert!(given.iter().any(|token| kit.slack.posts_with(token).len() == 1), "{given:?}");
    office.stop().await;
    assert_eq!(holding(kit.folder(), &given), Vec::<String>::new());
    let config = kit.write();
    let told = |arguments: &[&str]| {
        let output = run(&config, arguments);
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let doctor = told(&["doctor"]);
    assert!(doctor.contains(&format!("`slack.bot-token@{OTHER}` is kept, sealed")), "{doctor}");
    // With another office's keys, or with none, it says what to do and makes none.
    let (keys, away) = (kit.folder().join("office.keys"), kit.folder().join("away"));
    fs::rename(&keys, &away).unwrap();
    let doctor = told(&["doctor"]);
    assert!(
        doctor.contains("does not open with the keys in") && doctor.contains("install the office"),
        "{doctor}"
    );
    fs::rename(&away, &keys).unwrap();
    let office = kit.open().await;
    office.deliver(&mention("Ev2", OTHER, "2.000001")).await;
    office.until_turns_ended(2).await;
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_an_earlier_version_kept_as_it_was_is_sealed_at_the_next_start() {
    const BARE: &str = "xoxb-kept-by-an-earlier-version";
    let kit = installable(&[OTHER]).await;
    kit.slack.installs.join(OTHER, BARE);
    let tokens = kit.folder().join("office.tokens");
    fs::create_dir(&tokens).unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o700)).unwrap();
    let file = tokens.join(format!("slack.bot-token@{OTHER}"));
    fs::write(&file, BARE).unwrap();
    let config = kit.write();
    let doctor = run(&config, &["doctor"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("is kept and not sealed"), "{doctor}");
    assert_eq!(fs::read_to_string(&file).unwrap(), BARE, "doctor changes nothing");
    for (n, ts) in [(1, "1.000001"), (2, "2.000001")] {
        let office = kit.open().await;
        assert_eq!(holding(kit.folder(), &[BARE.to_owned()]), Vec::<String>::new());
        office.deliver(&mention(&format!("Ev{n}"), OTHER, ts)).await;
        let events = office.until_turns_ended(n).await;
        assert_eq!((kit.slack.posts_with(BARE).len(), count(&events, "turn.opened")), (n, n));
        office.stop().await;
    }
}
