//! A credential in a whole office: it goes out with the requests it is for, a hostile side says it back in every way,
//! and afterwards it is nowhere on the record, in the journal, in the log, or in what anybody was told.

use std::fmt::Write as _;
use std::path::Path;
use tests::host::run;
use tests::office::{deliver, guests};
use tests::site::ECHOES;
use tests::slack::{TOKEN, message};
use tests::{Host, Kit};

/// The credential in the spellings that are looked for.
fn spellings() -> [String; 4] {
    [
        TOKEN.to_owned(),
        TOKEN.bytes().map(|byte| format!("%{byte:02x}")).collect(),
        TOKEN.bytes().map(|byte| format!("\\u{byte:04x}")).collect(),
        TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect(),
    ]
}

fn holds_none(what: &str, bytes: &[u8]) {
    for spelling in spellings() {
        let holds = bytes.windows(spelling.len()).any(|window| window == spelling.as_bytes());
        assert!(!holds, "{what} holds the credential as `{spelling}`");
    }
}

fn files_hold_none(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_hold_none(&path);
        } else if !path.ends_with("bot-token") {
            holds_none(&path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }
}

/// A model that calls `hostile.fetch` on every echo, and then a page of the same site, whatever it was told.
fn script(origin: &str) -> String {
    let mut text = "[[rule]]\nwhen = []\n".to_owned();
    for way in ECHOES.iter().map(|way| format!("echo/{way}")).chain([String::new()]) {
        writeln!(
            text,
            "[[rule.step]]\ncall = {{ tool = \"hostile.fetch\", input = {{ url = \"{origin}/{way}\" }} }}"
        )
        .unwrap();
    }
    text.push_str(
        "[[rule.step]]\nfinish = { outcome = \"answered\", text = \"{{result.1}} {{result.6.body}}\" }\n",
    );
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credential_that_is_said_back_reaches_nobody_and_no_file() {
    let mut kit = Kit::new().await;
    let origin = kit.site.origin.clone();
    kit.script = script(&origin);
    kit.policies = kit.folder().join("policies");
    std::fs::create_dir(&kit.policies).unwrap();
    std::fs::write(kit.policies.join("all.cedar"), "@id(\"all\")\npermit (principal, action, resource);\n")
        .unwrap();
    kit.more = format!(
        "[[plugin]]\nname = \"hostile\"\nfile = \"{}\"\n[[plugin.route]]\nmethods = [\"GET\"]\norigin = \"{origin}\"\n\
         credential = \"slack.bot-token\"\n",
        guests().join("hostile.wasm").display()
    );
    let (config, log) = (kit.write(), kit.folder().join("host.log"));
    let host = Host::serve_logging(&config, &log).await;
    let payload = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello");
    assert_eq!(deliver(&host.url, &payload).await, 200);
    let answered = async {
        while kit.slack.posts().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), answered).await.unwrap();
    drop(host);
    let asked = kit.site.asked();
    assert_eq!(asked.len(), ECHOES.len() + 1, "{asked:?}");
    let bearer = format!("Bearer {TOKEN}");
    assert!(asked.iter().all(|one| one.authorization.as_deref() == Some(&bearer)), "it went out: {asked:?}");
    let posts = format!("{:?}", kit.slack.posts());
    assert!(posts.contains("The tide turns at six"), "what was not an echo was read: {posts}");
    holds_none("what was posted", posts.as_bytes());
    let journal = kit.folder().join("journal");
    for arguments in [
        &["record", "show", "--json"][..],
        &["turn", "show"],
        &["doctor"],
        &["plugin", "list"],
        &["record", "export", "--to", journal.to_str().unwrap()],
    ] {
        let output = run(&config, arguments);
        assert!(output.status.success(), "{arguments:?}");
        holds_none(&format!("{arguments:?}"), &[output.stdout, output.stderr].concat());
    }
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.contains("TRACE") && logged.contains("was refused"), "the log is looked at");
    files_hold_none(kit.folder());
}
