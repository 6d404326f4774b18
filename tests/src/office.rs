//! A whole office in this process, on a record in a folder of its own.

use crate::site::Site;
use crate::slack::{self, Slack};
use app::{Config, Ports};
use event::{Event, Fact, GlobalPosition};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tests_postgres::Schema;
use tokio::sync::watch;

/// How long a test waits for the record to say something: far longer than a busy machine needs.
const WAIT: Duration = Duration::from_secs(60);
/// The page every site has.
pub const PAGE: &str = "<html><head><title>Tide table</title></head><body><p>The tide turns at six. Then it falls.</p></body></html>";

/// What an office is made of; each part can be changed before it is built.
pub struct Kit {
    folder: Arc<TempDir>,
    /// The PostgreSQL schema that the record is kept in; a SQLite file when there is none.
    schema: Option<Schema>,
    /// The model's script.
    pub script: String,
    /// The budget of a day, in dollars.
    pub day: String,
    /// The budget of a month, in dollars.
    pub month: String,
    /// The most steps of a turn.
    pub steps_max: u32,
    /// How long a turn's lease lasts, in milliseconds.
    pub lease_ms: i64,
    /// Whether it is a drill.
    pub drill: bool,
    /// Origins of this machine that guests may reach, beside those of Slack and the site.
    pub loopback: Vec<String>,
    /// Lines put at the end of the configuration.
    pub more: String,
    /// Lines put into `[credentials]`.
    pub credentials: String,
    /// Lines put into `[slack]`.
    pub slack_more: String,
    /// What the front desk may call beside what it may call anyway.
    pub grants: Vec<String>,
    /// What of the office the plugin `office` is given.
    pub handles: Vec<String>,
    /// The port it listens at; any free one when it is 0.
    pub port: u16,
    /// The person above the software.
    pub owner: String,
    /// The model of the front desk.
    pub model: String,
    /// The price list, as TOML.
    pub prices: String,
    /// Where policies are read from.
    pub policies: PathBuf,
    /// The other side of Slack.
    pub slack: Slack,
    /// The site that the plugin `web` may read.
    pub site: Site,
}

/// The repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Where guests are.
pub fn guests() -> PathBuf {
    let folder = std::env::var_os("CHANCERY_GUESTS").map(PathBuf::from).unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/chancery/target");
        target.unwrap_or_else(home).join("guests")
    });
    assert!(
        folder.join("web.wasm").is_file(),
        "no guests in `{}`: run `cargo xtask guests` first",
        folder.display()
    );
    folder
}

impl Kit {
    /// The parts of an office as the demo has them.
    pub async fn new() -> Self {
        Self {
            folder: Arc::new(tempfile::tempdir().unwrap()),
            schema: None,
            script: std::fs::read_to_string(repository().join("demo/story.toml")).unwrap(),
            day: "5.00".to_owned(),
            month: "50.00".to_owned(),
            steps_max: 60,
            lease_ms: 60_000,
            drill: false,
            loopback: Vec::new(),
            more: String::new(),
            credentials: String::new(),
            // Whatever works long says so after a while: on a busy machine, in tests that count posts.
            slack_more: "live = { progress = \"off\" }\n".to_owned(),
            grants: Vec::new(),
            handles: event::Handle::ALL.map(|handle| handle.word().to_owned()).to_vec(),
            port: 0,
            owner: "person_operator".to_owned(),
            model: "scripted/story".to_owned(),
            prices: std::fs::read_to_string(repository().join("policies/prices.toml")).unwrap(),
            policies: repository().join("policies"),
            slack: Slack::serve().await,
            site: Site::serve(&[("", PAGE)]).await,
        }
    }

    /// The same, with the record on PostgreSQL. Opened twice it is two hosts on one record.
    pub async fn on_postgres() -> Self {
        let schema = Schema::new().unwrap_or_else(|why| panic!("{why}"));
        Self { schema: Some(schema), ..Self::new().await }
    }

    /// The folder of this office.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the configuration and says where.
    pub fn write(&self) -> PathBuf {
        let folder = self.folder.path();
        std::fs::write(folder.join("script.toml"), &self.script).unwrap();
        std::fs::write(folder.join("prices.toml"), &self.prices).unwrap();
        std::fs::write(folder.join("signing-secret"), slack::SECRET).unwrap();
        std::fs::write(folder.join("bot-token"), slack::TOKEN).unwrap();
        std::fs::write(folder.join("app-token"), crate::socket::APP_TOKEN).unwrap();
        if let Some(schema) = &self.schema {
            std::fs::write(folder.join("database-url"), schema.url()).unwrap();
        }
        let path = folder.join("chancery.toml");
        std::fs::write(&path, self.text()).unwrap();
        path
    }

    fn text(&self) -> String {
        let (site, slack, model) = (&self.site.origin, &self.slack.origin, &self.model);
        let policies = self.policies.display();
        let mut text = format!(
            r#"policies = "{policies}"
prices = "prices.toml"
cache = "{cache}"
[office]
name = "Test"
owner = "{owner}"
model = "{model}"
steps_max = {steps}
lease_ms = {lease}
drill = {drill}
[record]
{record}
[listen]
address = "127.0.0.1:0"
[slack]
signing_secrets = [{{ file = "signing-secret" }}]
{slack_more}
[credentials]
"slack.bot-token" = {{ file = "bot-token" }}
"slack.app-token" = {{ file = "app-token" }}
{credentials}
[egress]
loopback = [{loopback}]
[purse]
day = "{day}"
month = "{month}"
[[seat]]
name = "seat_front-desk"
role = "assistant"
holder = "agent_chancery"
grants = ["web.*", "slack.post", "slack.file", "terminal.say", "hostile.*", "shredder.*", {grants}"{model}"]
[[seat]]
name = "seat_system"
role = "system"
holder = "system_host"
grants = ["slack.identity", "slack.recall", "slack.card", "slack.card-update", "slack.whisper", "slack.react", "slack.emoji", "slack.home", "slack.form", "slack.begin", "slack.ask", "slack.ask-update", "slack.complete", "slack.progress", "slack.progress-change", "slack.progress-end", "slack.status", "slack.assistant-thread", "{model}"]
"#,
            record = match self.schema {
                Some(_) => "postgres = { file = \"database-url\" }",
                None => "sqlite = \"office.sqlite\"",
            },
            cache = guests().with_file_name("test-code").display(),
            loopback = [site, slack]
                .into_iter()
                .chain(&self.loopback)
                .map(|origin| format!("{origin:?}"))
                .collect::<Vec<_>>()
                .join(", "),
            grants = self.grants.iter().map(|grant| format!("{grant:?}, ")).collect::<String>(),
            owner = self.owner,
            credentials = self.credentials,
            slack_more = self.slack_more,
            steps = self.steps_max,
            lease = self.lease_ms,
            drill = self.drill,
            day = self.day,
            month = self.month,
        );
        self.plugin(&mut text, "terminal", "");
        let handles = self.handles.iter().map(|handle| format!("{handle:?}")).collect::<Vec<_>>().join(", ");
        self.plugin(&mut text, "office", &format!("handles = [{handles}]\n"));
        self.plugin(&mut text, "scripted", "settings_from = { script = \"script.toml\" }\n");
        let route = format!("[[plugin.route]]\nmethods = [\"GET\"]\norigin = \"{site}\"\n");
        self.plugin(&mut text, "web", &route);
        let files = |folder: &str| {
            format!(
                "[[plugin.route]]\nmethods = [\"GET\"]\norigin = \"{slack}\"\npath_prefix = \"/{folder}/\"\ncredential = \"slack.bot-token\"\n"
            )
        };
        let route = format!(
            "settings = {{ api = \"{slack}/api/\" }}\n[[plugin.route]]\nmethods = [\"GET\", \"POST\"]\norigin = \"{slack}\"\npath_prefix = \"/api/\"\ncredential = \"slack.bot-token\"\n{}{}",
            files("files-pri"),
            files("files-tmb")
        );
        self.plugin(&mut text, "slack", &route);
        text.push_str(&self.more);
        text
    }

    fn plugin(&self, text: &mut String, name: &str, rest: &str) {
        let file = guests().join(format!("{name}.wasm"));
        write!(text, "[[plugin]]\nname = \"{name}\"\nfile = \"{}\"\n{rest}", file.display()).unwrap();
    }

    /// Builds the office and runs it.
    pub async fn open(&self) -> Office {
        self.open_with(Ports::system()).await
    }

    /// Builds the office with a clock or a resolver of the test's own, and runs it.
    pub async fn open_with(&self, ports: Ports) -> Office {
        let path = self.write();
        let config = Config::read(&path, []).unwrap();
        let built = Arc::new(app::Office::build(config, ports).await.unwrap());
        app::serve::start(&built).await.unwrap();
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let front = front::Front {
            record: built.record.clone(),
            host: event::PrincipalId::host(),
            keys: app::wire::signing_keys(&built.config).unwrap(),
            installs: app::workspaces::installs(&built).unwrap(),
            clock: built.clock.clone(),
            journal: None,
            sockets: Vec::new(),
        };
        let (stopping, stop) = watch::channel(false);
        let mut stopped = stop.clone();
        let until = async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        let linked = app::account::Linked::of(&built.config, &built.record, built.clock.clone()).unwrap();
        let routes = match linked {
            Some(linked) => front::router(front).merge(front::accounts::router(Arc::new(linked))),
            None => front::router(front),
        };
        let listening = tokio::spawn(front::listen(listener, routes, until));
        let office = built.clone();
        let running = tokio::spawn(async move {
            let (lines, _) = app::serve::sockets(&office.config);
            let socket = app::serve::socket(office.clone(), lines, stop.clone());
            tokio::try_join!(app::serve::run(office.clone(), stop), socket).map(|_| ())
        });
        Office { built, url, stopping, listening, running, _folder: self.folder.clone() }
    }
}

/// A running office.
pub struct Office {
    /// Its parts.
    pub built: Arc<app::Office>,
    /// Where it listens.
    pub url: String,
    stopping: watch::Sender<bool>,
    listening: tokio::task::JoinHandle<std::io::Result<()>>,
    running: tokio::task::JoinHandle<anyhow::Result<()>>,
    _folder: Arc<TempDir>,
}

impl Office {
    /// Sends one signed delivery; the HTTP status.
    pub async fn deliver(&self, payload: &Value) -> u16 {
        deliver(&self.url, payload).await
    }

    /// Everything on the record.
    pub async fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let after = GlobalPosition(events.len() as u64);
            let page = self.built.record.read_all(after, 500).await.unwrap();
            if page.is_empty() {
                return events;
            }
            events.extend(page);
        }
    }

    /// Waits until the record satisfies `enough`, and returns it.
    pub async fn until(&self, what: &str, enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let began = std::time::Instant::now();
        loop {
            let events = self.events().await;
            if enough(&events) {
                return events;
            }
            assert!(
                began.elapsed() < WAIT,
                "the record never said: {what}\n{}",
                events.iter().map(app::show::line).collect::<Vec<_>>().join("\n")
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until `count` turns have ended.
    pub async fn until_turns_ended(&self, count: usize) -> Vec<Event> {
        let ended = |event: &&Event| matches!(event.fact, Fact::TurnEnded(_));
        self.until(&format!("{count} turns ended"), |events| events.iter().filter(ended).count() >= count)
            .await
    }

    /// Waits until every delivery has its class.
    pub async fn until_classified(&self) -> Vec<Event> {
        let of =
            |events: &[Event], kind: &str| events.iter().filter(|event| event.fact.kind() == kind).count();
        self.until("every delivery is classified", |events| {
            of(events, "delivery.received") == of(events, "delivery.classified")
        })
        .await
    }

    /// Stops it as an operator does, and waits.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        self.running.await.unwrap().unwrap();
        self.listening.await.unwrap().unwrap();
    }
}

/// Sends one signed delivery to `url`; the HTTP status.
pub async fn deliver(url: &str, payload: &Value) -> u16 {
    let body = payload.to_string();
    let now = record::Clock::now(&record::SystemClock).0 / 1_000;
    let headers = slack::signed(slack::SECRET, now, &body);
    post(url, &headers, body).await.unwrap_or(0)
}

/// Sends one signed click to `url` at `at`; the HTTP status.
pub async fn deliver_click(url: &str, payload: &Value, at: event::Timestamp) -> u16 {
    let body = slack::form(payload);
    let headers = slack::signed(slack::SECRET, at.0 / 1_000, &body);
    post_as(url, "application/x-www-form-urlencoded", &headers, body).await.unwrap_or(0)
}

/// Posts to the events address of `url`; the HTTP status, or nothing when nobody answered.
pub async fn post(url: &str, headers: &[(&str, String)], body: String) -> Option<u16> {
    post_as(url, "application/json", headers, body).await
}

/// Posts a body of this type to the events address of `url`; the HTTP status, or nothing when nobody answered.
pub async fn post_as(url: &str, content_type: &str, headers: &[(&str, String)], body: String) -> Option<u16> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let authority = url.strip_prefix("http://").unwrap();
    let mut stream = tokio::net::TcpStream::connect(authority).await.ok()?;
    let mut head = format!(
        "POST /slack/events HTTP/1.1\r\nhost: {authority}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    // A server that refuses a body early may reset the connection; its answer still counts.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}
