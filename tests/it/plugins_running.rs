//! A running office takes up what is installed, granted and taken away, while it answers.

use event::{Fact, SeatId};
use gate::{Call, Catalogue, Output, Passed, Payload};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tests::host::run;
use tests::{Kit, Office, variant};
use tokio::sync::Notify;

const WAIT: Duration = Duration::from_secs(60);

/// The guest in a version of its own, asking for GET anywhere.
fn version(kit: &Kit, version: &str) -> String {
    let manifest = variant::manifest("hostile").replace("0.1.0\"\nworld", &format!("{version}\"\nworld"));
    let manifest = manifest.replace("credential = \"hostile.token\"\n", "");
    let path = kit.folder().join(format!("hostile-{version}.wasm"));
    variant::write(&path, "hostile", &manifest).display().to_string()
}

fn plugin(config: &Path, arguments: &[&str]) -> String {
    let mut all = vec!["plugin"];
    all.extend(arguments);
    let output = run(config, &all);
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

/// Waits until the office has this version of the guest, or none.
async fn until(office: &Office, version: Option<&str>) {
    let began = Instant::now();
    loop {
        let plugins = office.built.hands.plugins();
        let now = plugins.get("hostile").map(|loaded| loaded.manifest().version.clone());
        if now.as_deref() == version {
            return;
        }
        assert!(began.elapsed() < WAIT, "the office has {now:?} and not {version:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A call by the owner's seat for the first event of the record.
async fn call(office: &Office, tool: &str, input: Value, attempt: u32) -> Passed {
    let cause = office.events().await[0].id.clone();
    let seat = SeatId::parse("seat_owner").unwrap();
    let call = Call::duty(seat, (&cause, "tried", attempt), tool, Payload::Tool(input));
    office.built.gate.pass(call, None).await.unwrap()
}

/// A site that answers when it is told to.
struct Slow {
    origin: String,
    asked: Arc<Notify>,
    answer: Arc<Notify>,
}

async fn slow() -> Slow {
    let (asked, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, waits) = (asked.clone(), answer.clone());
    let router = axum::Router::new().fallback(move || {
        let (told, waits) = (told.clone(), waits.clone());
        async move {
            told.notify_one();
            waits.notified().await;
            "late"
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Slow { origin, asked, answer }
}

async fn kit(slow: &Slow) -> (Kit, PathBuf) {
    let mut kit = Kit::new().await;
    // The one origin of this machine beside those of the kit.
    kit.site.origin = slow.origin.clone();
    let config = kit.write();
    (kit, config)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_in_flight_finishes_on_the_version_it_began_with() {
    let slow = slow().await;
    let (kit, config) = kit(&slow).await;
    let office = kit.open().await;
    plugin(&config, &["install", &version(&kit, "0.1.0")]);
    let route = format!("GET {}", slow.origin);
    plugin(&config, &["grant", "hostile", "--reason", "r", "--route", &route]);
    until(&office, Some("0.1.0")).await;
    let office = Arc::new(office);
    let began = Instant::now();
    while office.built.hands.routes("hostile").is_empty() {
        assert!(began.elapsed() < WAIT, "the grant was not taken up");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let input = json!({"method": "GET", "url": format!("{}/page", slow.origin)});
    let running = tokio::spawn({
        let office = office.clone();
        async move { call(&office, "hostile.fetch", input, 1).await }
    });
    tokio::time::timeout(WAIT, slow.asked.notified()).await.unwrap();
    plugin(&config, &["update", "hostile", &version(&kit, "0.1.1")]);
    until(&office, Some("0.1.1")).await;
    plugin(&config, &["remove", "hostile", "--reason", "r"]);
    until(&office, None).await;
    assert!(!running.is_finished());
    slow.answer.notify_one();
    let Passed::Done { output: Output::Tool(output), .. } = running.await.unwrap() else {
        panic!("it did not end")
    };
    assert!(output.to_string().contains("late"), "{output}");
    // And what is begun now is told that there is no such tool.
    let Passed::Denied(denial) = call(&office, "hostile.echo", json!({}), 2).await else { panic!("it ran") };
    assert!(denial.reason.contains("hostile.echo"), "{}", denial.reason);
    Arc::into_inner(office).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_running_office_offers_what_was_installed_and_drops_what_was_revoked() {
    let slow = slow().await;
    let (kit, config) = kit(&slow).await;
    let office = kit.open().await;
    assert!(matches!(call(&office, "hostile.echo", json!({}), 1).await, Passed::Denied(_)));
    plugin(&config, &["install", &version(&kit, "0.1.0")]);
    until(&office, Some("0.1.0")).await;
    let done = call(&office, "hostile.echo", json!({"text": "a"}), 2).await;
    assert!(matches!(done, Passed::Done { .. }), "{done:?}");
    plugin(&config, &["revoke", "hostile", "--for-good", "--reason", "it lied"]);
    until(&office, None).await;
    assert!(matches!(call(&office, "hostile.echo", json!({}), 3).await, Passed::Denied(_)));
    // One of the configuration goes the same way, and the policies that name its tools go on deciding.
    plugin(&config, &["revoke", "web", "--for-good", "--reason", "it lied too"]);
    let began = Instant::now();
    while office.built.hands.plugins().get("web").is_some() {
        assert!(began.elapsed() < WAIT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(office.built.gate.policy_trouble().is_none());
    let denied = call(&office, "web.fetch", json!({"url": "https://a.example/"}), 4).await;
    assert!(matches!(denied, Passed::Denied(_)), "{denied:?}");
    let revoked =
        office.events().await.iter().filter(|e| matches!(e.fact, Fact::ComponentRevoked(_))).count();
    assert_eq!(revoked, 2);
    office.stop().await;
    // A start with the same configuration does not bring it back.
    let office = kit.open().await;
    assert!(office.built.hands.plugins().get("web").is_none());
    office.stop().await;
}
