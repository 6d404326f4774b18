//! What a hostile or unlucky world does to a whole office: odd payloads, addresses typed to lead astray, clocks
//! that jump, and everything many times at once.

use app::Ports;
use event::{Event, Fact, Timestamp};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tests::office::{deliver, post, repository};
use tests::slack::{SECRET, TOKEN, message, signed};
use tests::{Host, Kit};

/// Mutated deliveries; each kind of damage comes up many times.
const MUTATIONS: usize = 600;

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

fn odd() -> Vec<Value> {
    let mut odd: Vec<Value> =
        ["", " ", "/", "../..", "a\nb", "\0", "\u{202e}", "\u{85}\u{2028}", "[office] obey", "<@U0BOT>"]
            .into_iter()
            .map(Value::from)
            .collect();
    odd.extend(
        ["message", "app_mention", "bot_message", "U0BOT", "D0", "1700000000.000100"].map(Value::from),
    );
    odd.extend([
        json!(null),
        json!(true),
        json!(0),
        json!(-1.5),
        json!(1e300),
        json!(9_007_199_254_740_993_u64),
    ]);
    odd.extend([
        json!([]),
        json!({}),
        json!([[{"a": [1]}]]),
        json!("x".repeat(10_000)),
        json!("😀".repeat(1_000)),
    ]);
    odd
}

/// Pointers to everything inside `value`.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut add = |key: &str, inside: &Value| {
        let pointer = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        found.push(pointer.clone());
        pointers(inside, &pointer, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inside)| add(key, inside)),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, inside)| add(&n.to_string(), inside)),
        _ => {}
    }
}

fn damaged(mut payload: Value, odd: &[Value], dice: &mut Dice) -> Value {
    for _ in 0..=dice.below(3) {
        let mut found = Vec::new();
        pointers(&payload, "", &mut found);
        if found.is_empty() {
            return payload;
        }
        let pointer = found[dice.below(found.len())].clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match (payload.pointer_mut(parent), dice.below(3)) {
            (Some(Value::Object(fields)), 0) => {
                fields.remove(&key.replace("~1", "/").replace("~0", "~"));
            }
            _ => *payload.pointer_mut(&pointer).unwrap() = odd[dice.below(odd.len())].clone(),
        }
    }
    payload
}

/// Slack's own payloads, where they are at hand, and always messages that address the office.
fn payloads() -> Vec<Value> {
    let mut payloads: Vec<Value> = (0..40)
        .map(|n| {
            message(
                &format!("Ev{n}"),
                "C01GEN",
                "U01ALICE",
                &format!("17000000{n:02}.000100"),
                "<@U0BOT> hello",
            )
        })
        .collect();
    for folder in ["../shared/cases/slack/behaviour", "../shared/cases/slack/shapes"] {
        let Ok(listing) = std::fs::read_dir(repository().join(folder)) else {
            eprintln!("skipped: `{folder}` is not here");
            continue;
        };
        let mut paths: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        payloads.extend(
            paths.iter().map(|path| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()),
        );
    }
    payloads
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_payload_lacks_it_is_kept_or_refused_and_nothing_breaks() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    let (payloads, odd, mut dice) = (payloads(), odd(), Dice(7));
    let mut kept = 0;
    for _ in 0..MUTATIONS {
        let payload = damaged(payloads[dice.below(payloads.len())].clone(), &odd, &mut dice);
        let status = office.deliver(&payload).await;
        assert!(matches!(status, 200 | 400), "{status} for {payload}");
        kept += usize::from(status == 200);
    }
    assert!(kept > MUTATIONS / 2);
    let events = office.until_classified().await;
    for event in &events {
        let line = app::show::line(event);
        assert!(!line.chars().any(|c| c.is_control() || front::visible::steers(c)), "{line:?}");
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
        assert!(event.stream.as_str().chars().all(plain), "{}", event.stream);
    }
    let opened = count(&events, "turn.opened");
    office.until_turns_ended(opened).await;
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_typed_to_lead_astray_reaches_nothing_that_was_not_granted() {
    let mut kit = Kit::new().await;
    kit.script = "[[rule]]\nwhen = []\n[[rule.step]]\ncall = { tool = \"web.fetch\", input = { url = \"{{url}}\" } }\n[[rule.step]]\nfinish = { outcome = \"answered\", text = \"{{result.1.status}}\" }\n".to_owned();
    kit.policies = kit.folder().join("policies");
    std::fs::create_dir(&kit.policies).unwrap();
    // Even with a policy that permits everything: what is granted binds by itself.
    std::fs::write(kit.policies.join("all.cedar"), "@id(\"all\")\npermit (principal, action, resource);\n")
        .unwrap();
    let office = kit.open().await;
    let port = |url: &str| url.rsplit(':').next().unwrap().to_owned();
    let (own, site, slack) = (port(&office.url), port(&kit.site.origin), port(&kit.slack.origin));
    let urls = [
        format!("http://127.0.0.1:{own}/healthz"),
        format!("http://localhost:{own}/healthz"),
        format!("http://0.0.0.0:{own}/healthz"),
        format!("http://[::1]:{own}/healthz"),
        format!("http://[::ffff:127.0.0.1]:{own}/healthz"),
        format!("http://2130706433:{own}/healthz"),
        format!("http://127.1:{own}/healthz"),
        format!("http://127.0.0.1:{site}@127.0.0.1:{own}/healthz"),
        format!("http://127.0.0.1:{own}\\@127.0.0.1:{site}/"),
        format!("http://localhost:{site}/"),
        format!("http://127.0.0.1:{slack}/api/auth.test"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ];
    let before = kit.slack.tokens().len();
    for (n, url) in urls.iter().enumerate() {
        let ts = format!("17000000{n:02}.000100");
        let text = format!("<@U0BOT> {url}");
        assert_eq!(office.deliver(&message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &ts, &text)).await, 200);
    }
    office.until_turns_ended(urls.len()).await;
    let posts = kit.slack.posts();
    assert_eq!(posts.len(), urls.len());
    assert!(posts.iter().all(|post| post["text"] == "(nothing)"), "{posts:?}");
    assert_eq!(kit.site.asked(), []);
    assert_eq!(kit.slack.tokens().len() - before, urls.len(), "Slack saw the answers and nothing else");
    office.stop().await;
}

/// A clock that somebody sets.
struct SetClock(AtomicI64);

impl record::Clock for SetClock {
    fn now(&self) -> Timestamp {
        let real = record::Clock::now(&record::SystemClock);
        real.plus_ms(self.0.load(Ordering::SeqCst))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_was_an_hour_ahead_keeps_nobody_waiting_once_it_is_right() {
    let kit = Kit::new().await;
    let clock = Arc::new(SetClock(AtomicI64::new(3_600_000)));
    let office = kit.open_with(Ports { clock: clock.clone(), ..Ports::system() }).await;
    let ask = |n: u32| {
        let mut payload = message(
            &format!("Ev{n}"),
            "C01GEN",
            "U01ALICE",
            &format!("170000000{n}.000100"),
            "<@U0BOT> hello",
        );
        payload["event"]["thread_ts"] = json!("1700000000.000100");
        payload
    };
    let say = async |payload: &Value| {
        let body = payload.to_string();
        let now = record::Clock::now(clock.as_ref()).0 / 1_000;
        post(&office.url, &signed(SECRET, now, &body), body).await
    };
    assert_eq!(say(&ask(1)).await, Some(200));
    office.until_turns_ended(1).await;
    clock.0.store(0, Ordering::SeqCst);
    assert_eq!(say(&ask(2)).await, Some(200));
    let events = office.until_turns_ended(2).await;
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at), "the record's time never goes back");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_event_fifty_times_at_two_hosts_of_one_record_is_one_answer() {
    let kit = Kit::new().await;
    let config = kit.write();
    let hosts = [Host::serve(&config).await, Host::serve(&config).await];
    let payload = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello");
    let mut sending = tokio::task::JoinSet::new();
    for n in 0..50 {
        let (url, payload) = (hosts[n % 2].url.clone(), payload.clone());
        sending.spawn(async move { deliver(&url, &payload).await });
    }
    assert!(sending.join_all().await.into_iter().all(|status| status == 200));
    let folder = kit.folder().to_path_buf();
    let ended = async {
        while count(&recorded(&folder).await, "turn.ended") == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), ended).await.unwrap();
    let events = recorded(&folder).await;
    for kind in ["delivery.received", "delivery.classified", "message.received", "turn.opened", "effect.sent"]
    {
        assert_eq!(count(&events, kind), 1, "{kind}");
    }
    assert_eq!(kit.slack.posts().len(), 1);
}

async fn recorded(folder: &Path) -> Vec<Event> {
    let record = record::Record::open_sqlite_read_only(&folder.join("office.sqlite")).await.unwrap();
    record.read_all(event::GlobalPosition(0), 5_000).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_stands_in_the_record_or_in_what_is_shown_of_it() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    let text = format!("<@U0BOT> what does {}/ say?", kit.site.origin);
    assert_eq!(office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &text)).await, 200);
    let events = office.until_turns_ended(1).await;
    assert!(events.iter().any(|event| matches!(event.fact, Fact::EffectSent(_))), "the token was used");
    office.stop().await;
    let config = kit.folder().join("chancery.toml");
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for arguments in [&["record", "show", "--json"][..], &["turn", "show"], &["doctor"], &["plugin", "list"]]
    {
        let output = tests::host::run(&config, arguments);
        assert!(output.status.success(), "{arguments:?}");
        seen.extend([output.stdout, output.stderr]);
    }
    for entry in std::fs::read_dir(kit.folder()).unwrap() {
        let path = entry.unwrap().path();
        let is_secret = path.ends_with("bot-token") || path.ends_with("signing-secret");
        if path.is_file() && !is_secret {
            seen.push(std::fs::read(path).unwrap());
        }
    }
    for bytes in seen {
        for secret in [TOKEN, SECRET] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }
}
