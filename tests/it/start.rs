//! What stops a start, and what it says: one line that names file and place.

use std::path::Path;
use tests::host::run;
use tests::office::guests;
use tests::slack::{SECRET, message, signed};
use tests::{Host, Kit};

fn leb128(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

fn custom_section(name: &str, content: &[u8]) -> Vec<u8> {
    let body = [leb128(name.len()), name.as_bytes().to_vec(), content.to_vec()].concat();
    [vec![0], leb128(body.len()), body].concat()
}

fn refused(config: &Path, wanted: &[&str]) {
    let output = run(config, &["serve"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("chancery: ")).collect();
    assert!(!output.status.success(), "it started");
    assert_eq!(lines.len(), 1, "{said}");
    for word in wanted {
        assert!(lines[0].contains(word), "`{word}` is not in {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_key_stops_the_start_with_its_line() {
    let mut kit = Kit::new().await;
    kit.more = "colour = \"red\"\n".to_owned();
    refused(&kit.write(), &["chancery.toml:", "unknown field `colour`"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_plugin_stops_the_start() {
    let mut kit = Kit::new().await;
    kit.more = "[[plugin]]\nname = \"mail\"\nfile = \"mail.wasm\"\n".to_owned();
    refused(&kit.write(), &["`mail`", "mail.wasm"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_does_not_validate_stops_the_start() {
    let mut kit = Kit::new().await;
    let folder = kit.folder().join("policies");
    std::fs::create_dir(&folder).unwrap();
    let text = "@id(\"a\")\npermit (principal, action == Action::\"web.fetch\", resource)\nwhen { context.colour == 1 };\n";
    std::fs::write(folder.join("mine.cedar"), text).unwrap();
    kit.policies = folder;
    refused(&kit.write(), &["mine.cedar:", "colour"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_signing_secret_stops_the_start() {
    let kit = Kit::new().await;
    let config = kit.write();
    std::fs::write(kit.folder().join("signing-secret"), "\n").unwrap();
    refused(&config, &["signing"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_office_without_a_purse_does_not_start() {
    let kit = Kit::new().await;
    let config = kit.write();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("day = \"5.00\"\nmonth = \"50.00\"\n", "")).unwrap();
    refused(&config, &["purse"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_imports_what_nobody_knows_does_not_instantiate() {
    let mut kit = Kit::new().await;
    // The guest comes without a manifest; a custom section is an id, its length, and a name before its bytes.
    let manifest = "name = \"stranger\"\nversion = \"0.1.0\"\nworld = \"chancery:tool@0.1.0\"\ndescription = \"x\"\n\n[[tool]]\nname = \"stranger.knock\"\neffect = \"read\"\n";
    let mut component = std::fs::read(guests().join("stranger.wasm")).unwrap();
    component.extend(custom_section("chancery:manifest", manifest.as_bytes()));
    let file = kit.folder().join("stranger.wasm");
    std::fs::write(&file, component).unwrap();
    kit.more = format!("[[plugin]]\nname = \"stranger\"\nfile = \"{}\"\n", file.display());
    refused(&kit.write(), &["stranger", "imports", "nobody"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_says_what_is_missing_and_what_is_there() {
    let kit = Kit::new().await;
    let config = kit.write();
    let good = run(&config, &["doctor"]);
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stdout));
    std::fs::remove_file(kit.folder().join("bot-token")).unwrap();
    let bad = run(&config, &["doctor"]);
    let said = String::from_utf8_lossy(&bad.stdout).into_owned();
    assert!(!bad.status.success() && said.contains("slack.bot-token"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("warn") && line.contains("guests may reach")), "{said}");
    assert!(!said.contains("ok    egress"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_misses_what_a_socket_and_an_installation_need() {
    let mut kit = Kit::new().await;
    kit.slack_more =
        "socket = true\n[slack.install]\nclient_id = \"1.2\"\nurl = \"https://office.example.com\"\n\
        workspaces = [\"T0123ABCD\"]\n"
            .to_owned();
    let config = kit.write();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("\"slack.app-token\"", "\"other\"")).unwrap();
    let output = run(&config, &["doctor"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success(), "{said}");
    for missing in
        ["`slack.app-token` is not in `[credentials]`", "`slack.client-secret` is not in `[credentials]`"]
    {
        assert!(
            said.lines().any(|line| line.starts_with("NOT") && line.contains(missing)),
            "{missing}: {said}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_for_and_is_not_there_is_said_and_is_no_success() {
    let kit = Kit::new().await;
    let config = kit.write();
    let said = |arguments: &[&str]| {
        let output = run(&config, arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let none = said(&["turn", "list"]);
    assert!(none.contains("chancery serve") && none.contains("chancery chat"), "{none}");
    let office = kit.open().await;
    let turn = said(&["effect", "list", "--turn", "turn_01"]);
    assert!(turn.contains("the record has no turn `turn_01`"), "{turn}");
    let folder = kit.folder().join("plugins");
    std::fs::create_dir(&folder).unwrap();
    let shown = folder.display().to_string();
    let empty = said(&["plugin", "inspect", &shown]);
    assert!(empty.contains("is a folder, and there is no component in it"), "{empty}");
    std::fs::copy(guests().join("web.wasm"), folder.join("web.wasm")).unwrap();
    let one = said(&["plugin", "inspect", &shown]);
    assert!(one.contains("did you mean") && one.contains("web.wasm"), "{one}");
    std::fs::write(folder.join("plugin.toml"), "name = \"web\"").unwrap();
    let manifest = said(&["plugin", "inspect", &folder.join("plugin.toml").display().to_string()]);
    assert!(manifest.contains("is the manifest of a plugin and not the plugin"), "{manifest}");
    let absent = said(&["plugin", "inspect", &folder.join("no.wasm").display().to_string()]);
    assert!(absent.contains("there is no file") && !absent.contains("os error"), "{absent}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policies_that_ship_pass_their_own_cases() {
    let kit = Kit::new().await;
    let output = run(&kit.write(), &["policy", "test"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains(" passed, 0 failed"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_slacks_is_not_taken() {
    let kit = Kit::new().await;
    let host = Host::serve(&kit.write()).await;
    let now = record::Clock::now(&record::SystemClock).0 / 1_000;
    let body = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "hi").to_string();
    let send = |headers: [(&'static str, String); 2], body: String| {
        let url = host.url.clone();
        async move { tests::office::post(&url, &headers, body).await }
    };
    assert_eq!(send(signed("another secret", now, &body), body.clone()).await, Some(401));
    assert_eq!(send(signed(SECRET, now - 301, &body), body.clone()).await, Some(401));
    assert_eq!(send(signed(SECRET, now + 301, &body), body.clone()).await, Some(401));
    assert_eq!(send(signed(SECRET, now, "{\"a\":"), "{\"a\":".to_owned()).await, Some(400));
    let large = "x".repeat(1024 * 1024 + 1);
    assert_eq!(send(signed(SECRET, now, &large), large.clone()).await, Some(413));
    assert_eq!(send(signed(SECRET, now, &body), body.clone()).await, Some(200));
}
