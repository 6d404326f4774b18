//! Accounts that people connect: had from services that others wrote, used for whoever asked and nobody else, kept to
//! their owner, renewed, and taken back.

mod asked;
mod told;

use event::{Audience, Fact, PrincipalId, Readers};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tests::Kit;
use tests::emulate::{Emulator, agree, ask, free_port};
use tests::host::{binary, run};
use tests::office::{guests, repository};
use tests::slack::{buttons, message};
use vault::{AccountRef, Accounts, Kept, Keyring};

/// One service as an office is told of it, and as its emulator is.
struct Service {
    name: &'static str,
    plugin: &'static str,
    credential: &'static str,
    seed: &'static str,
    /// Where to ask, after the origin: for a code, for a token, for taking one back.
    paths: [&'static str; 3],
    routes: &'static [(&'static str, &'static str)],
    /// The person who agrees.
    who: &'static str,
}

const GOOGLE: Service = Service {
    name: "google",
    plugin: "mail",
    credential: "mail.token",
    seed: "google:\n  users:\n    - { email: first@example.com, name: First }\n    - { email: alice@example.com, name: Alice }\n  \
        oauth_clients:\n    - { client_id: office, client_secret: the-applications-own-secret, name: Office, redirect_uris: [\"REDIRECT\", \"OFFICE/account/callback\"] }\n",
    paths: ["/o/oauth2/v2/auth", "/oauth2/token", "/oauth2/revoke"],
    routes: &[
        ("GET", "/gmail/v1/users/me/messages"),
        ("GET", "/gmail/v1/users/me/messages/*"),
        ("GET\", \"POST", "/gmail/v1/users/me/drafts"),
        ("GET", "/gmail/v1/users/me/drafts/*"),
        ("POST", "/gmail/v1/users/me/messages/send"),
    ],
    who: "alice@example.com",
};

const LINEAR: Service = Service {
    name: "linear",
    plugin: "linear",
    credential: "linear.token",
    seed: "linear:\n  organization: { name: Acme, url_key: acme }\n  users:\n    - { email: alice@example.com, name: Alice }\n  \
        teams:\n    - { key: ENG, name: Engineering, states: [{ name: Todo, type: unstarted }] }\n  issues:\n    \
        - { team: ENG, title: Sell the secret garden, description: Quietly., state: Todo }\n  oauth_apps:\n    \
        - { client_id: office, client_secret: the-applications-own-secret, name: Office, redirect_uris: [\"REDIRECT\", \"OFFICE/account/callback\"], scopes: [read, write], actor: user }\n  \
        tokens:\n    - { token: token-that-alice-typed, user: alice@example.com, scopes: [read, write] }\n  strict_scopes: true\n",
    paths: ["/oauth/authorize", "/oauth/token", "/oauth/revoke"],
    routes: &[("POST", "/graphql")],
    who: "alice@example.com",
};

const GITHUB: Service = Service {
    name: "github",
    plugin: "github",
    credential: "github.token",
    seed: "github:\n  users:\n    - { login: octocat, name: Octo }\n  repos:\n    - { owner: octocat, name: hall, auto_init: true }\n  \
        oauth_apps:\n    - { client_id: office, client_secret: the-applications-own-secret, name: Office, redirect_uris: [\"REDIRECT\", \"OFFICE/account/callback\"] }\n",
    paths: ["/login/oauth/authorize", "/login/oauth/access_token", ""],
    routes: &[("GET\", \"POST", "/repos/*/*/**")],
    who: "octocat",
};

/// An office that knows one service, and the service.
struct Desk {
    kit: Kit,
    config: PathBuf,
    emulator: Emulator,
    service: &'static Service,
}

impl Desk {
    async fn new(service: &'static Service) -> Option<Self> {
        let port = free_port();
        let seed = service.seed.replace("REDIRECT", &format!("http://127.0.0.1:{port}/callback"));
        let mut kit = Kit::new().await;
        kit.port = free_port();
        let seed = seed.replace("OFFICE", &format!("http://127.0.0.1:{}", kit.port));
        let emulator = Emulator::serve(service.name, &seed).await?;
        let origin = emulator.origin.clone();
        kit.loopback.push(origin.clone());
        let mut more = format!(
            "[[plugin]]\nname = \"{plugin}\"\nfile = \"{file}\"\nsettings = {{ api = \"{origin}\" }}\n",
            plugin = service.plugin,
            file = guests().join(format!("{}.wasm", service.plugin)).display(),
        );
        for (methods, path) in service.routes {
            more += &format!(
                "[[plugin.route]]\nmethods = [\"{methods}\"]\norigin = \"{origin}\"\npath = \"{path}\"\ncredential = \"{}\"\n",
                service.credential
            );
        }
        let [authorize, token, revoke] = service.paths;
        more += &format!(
            "[[account]]\nname = \"{}\"\ncredential = \"{}\"\nauthorize = \"{origin}{authorize}\"\ntoken = \"{origin}{token}\"\n\
             client_id = \"office\"\nclient_secret = \"office.secret\"\nscopes = [\"read\", \"write\"]\nredirect_port = {port}\n",
            service.name, service.credential
        );
        if !revoke.is_empty() {
            more += &format!("revoke = \"{origin}{revoke}\"\n");
        }
        more += "[credentials.\"office.secret\"]\nfile = \"office-secret\"\n";
        kit.more = more;
        std::fs::write(kit.folder().join("office-secret"), "the-applications-own-secret").unwrap();
        let config = kit.write();
        Some(Self { kit, config, emulator, service })
    }

    /// The owner connects in a browser.
    async fn connect(&self) {
        let mut command = Command::new(binary());
        command.arg("--config").arg(&self.config).args(["account", "connect", self.service.name]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find(|line| line.trim().starts_with("http://")).unwrap();
        let page = agree(address.trim(), self.service.who, None).await;
        assert!(page.body.contains("Connected"), "{}", page.body);
        let said: Vec<String> = lines.collect();
        assert!(tokio::task::block_in_place(|| child.wait()).unwrap().success(), "{said:?}");
        assert!(said.iter().any(|line| line.starts_with("account.connected")), "{said:?}");
    }

    fn say(&self, arguments: &[&str]) -> (bool, String) {
        said(&self.config, arguments)
    }

    fn call(&self, tool: &str, args: &Value) -> (bool, String) {
        self.say(&["plugin", "call", tool, "--args", &args.to_string()])
    }

    fn account(&self) -> AccountRef {
        let owner = PrincipalId::parse(&self.kit.owner).unwrap();
        AccountRef { credential: self.service.credential.to_owned(), owner }
    }

    fn accounts(&self) -> Accounts {
        let keys = Keyring::open(&self.kit.folder().join("office.keys")).unwrap();
        Accounts::new(self.kit.folder().join("office.accounts"), keys)
    }

    fn kept(&self) -> Kept {
        self.accounts().read(&self.account()).unwrap().unwrap()
    }
}

fn said(config: &Path, arguments: &[&str]) -> (bool, String) {
    let output = run(config, arguments);
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// What a value looks like in a file that was not to hold it.
fn holds_none(folder: &Path, values: &[String]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holds_none(&path, values);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for value in values {
            let holds = bytes.windows(value.len()).any(|window| window == value.as_bytes());
            assert!(!holds, "{} holds what opens an account", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_connected_in_a_browser_used_and_taken_back() {
    for (service, tool, args, words) in [
        (&GOOGLE, "mail.search", json!({"query": "in:sent"}), "\"messages\""),
        (&LINEAR, "linear.issues", json!({"team": "ENG"}), "secret garden"),
        (&GITHUB, "github.issues", json!({"repository": "octocat/hall"}), "\"issues\""),
    ] {
        let Some(desk) = Desk::new(service).await else { return };
        let (well, text) = desk.call(tool, &args);
        assert!(!well && text.contains(&format!("chancery account connect {}", service.name)), "{text}");
        desk.connect().await;
        let (well, text) = desk.call(tool, &args);
        assert!(well && text.contains(words), "{text}");
        let (_, listed) = desk.say(&["account", "list"]);
        assert!(listed.contains(service.name) && listed.contains("person_operator"), "{listed}");
        let kept = desk.kept();
        let values: Vec<String> = [&kept.access]
            .into_iter()
            .chain(&kept.refresh)
            .map(|secret| secret.expose().to_owned())
            .collect();
        let journal = desk.kit.folder().join("journal");
        let (well, text) = desk.say(&["record", "export", "--to", journal.to_str().unwrap()]);
        assert!(well, "{text}");
        holds_none(desk.kit.folder(), &values);
        let (well, text) = desk.say(&["account", "remove", service.name, "--reason", "no use"]);
        assert!(well && text.contains("account.disconnected"), "{text}");
        let (well, text) = desk.call(tool, &args);
        assert!(!well, "{text}");
        assert!(!desk.accounts().has(&desk.account()));
        let (well, text) = desk.say(&["account", "remove", service.name]);
        assert!(!well && text.contains("is not connected"), "{text}");
        if service.name == "linear" {
            // The service itself takes the token no more.
            let body = json!({"query": "{ viewer { email } }"}).to_string();
            let answer = ask(
                &format!("{}/graphql", desk.emulator.origin),
                Some(&body),
                &[("authorization", &format!("Bearer {}", values[0]))],
            )
            .await;
            assert!(
                answer.body.contains("revoked") || answer.body.contains("Missing required Linear scope"),
                "{}",
                answer.body
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_ends_is_renewed_before_it_is_used() {
    for (service, tool, args) in [
        (&GOOGLE, "mail.search", json!({"query": "in:sent"})),
        (&LINEAR, "linear.issues", json!({"team": "ENG"})),
    ] {
        let Some(desk) = Desk::new(service).await else { return };
        desk.connect().await;
        let before = desk.kept();
        desk.accounts().keep(&desk.account(), &before.access, before.refresh.as_ref(), Some(1)).unwrap();
        let (well, text) = desk.call(tool, &args);
        assert!(well, "{text}");
        let after = desk.kept();
        assert_ne!(after.access.expose(), before.access.expose(), "another token was had");
        assert!(after.ends_at_ms.unwrap() > 1_000_000_000_000 && after.refresh.is_some());
        // One that its service does not know any more is disconnected, and the person is told.
        let stranger = vault::Secret::given("refresh-that-nobody-gave".to_owned()).unwrap();
        desk.accounts().keep(&desk.account(), &after.access, Some(&stranger), Some(1)).unwrap();
        let (well, text) = desk.call(tool, &args);
        assert!(!well && text.contains("has to connect it again"), "{text}");
        let (_, listed) = desk.say(&["account", "list"]);
        assert!(listed.contains("no account is connected"), "{listed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_with_a_persons_account_is_sent_as_that_person() {
    let Some(desk) = Desk::new(&GOOGLE).await else { return };
    desk.connect().await;
    let new = json!({"to": "bob@example.com", "subject": "It rains", "body": "In the hall."});
    let (well, text) = desk.call("mail.send", &new);
    assert!(well, "{text}");
    let (well, text) = desk.call("mail.search", &json!({"query": "in:sent"}));
    assert!(well && text.contains("alice@example.com"), "{text}");
    let record =
        record::Record::open_sqlite_read_only(&desk.kit.folder().join("office.sqlite")).await.unwrap();
    let events = record.read_all(event::GlobalPosition(0), 1_000).await.unwrap();
    let used = events.iter().filter_map(|event| match &event.fact {
        Fact::CallAdmitted(body) => body.account.as_ref(),
        Fact::EffectIntended(body) => body.account.as_ref(),
        _ => None,
    });
    assert_eq!(used.collect::<Vec<_>>(), vec![&desk.account().owner; 3]);
}

/// A model that reads the issues of a team and says the first one.
const TELLS: &str = "[[rule]]\nwhen = []\n[[rule.step]]\ncall = { tool = \"linear.issues\", input = { team = \"ENG\", title_contains = \"garden\" } }\n\
    [[rule.step]]\nfinish = { outcome = \"answered\", text = \"It says: {{result.1.issues.0.title}}\" }\n";

/// Lets the front desk read Linear with an account of whoever asks.
const OWN_ALONE: &str = "@id(\"assistant-own-accounts\")\n@reason(\"an assistant reads Linear with the account of whoever asks\")\n\
    permit (principal in Role::\"assistant\", action == Action::\"linear.issues\", resource in Plugin::\"linear\")\n\
    when { context.account == Account::\"personal\" };\n";

/// Lets the front desk of `kit` read Linear, and say what it read.
fn tells(kit: &mut Kit, policy: &str) {
    kit.owner = "person_slack.T01TEST.U01ALICE".to_owned();
    kit.script = TELLS.to_owned();
    kit.grants = vec!["linear.issues".to_owned()];
    kit.policies = kit.folder().join("policies");
    copy(&repository().join("policies"), &kit.policies);
    std::fs::write(kit.policies.join("own.cedar"), policy).unwrap();
}

/// An office where Alice, who owns it, has connected Linear by a token that she typed.
async fn with_alice() -> Option<Desk> {
    let mut desk = Desk::new(&LINEAR).await?;
    tells(&mut desk.kit, OWN_ALONE);
    desk.config = desk.kit.write();
    let mut command = Command::new(binary());
    command.arg("--config").arg(&desk.config).args(["account", "connect", "linear", "--token"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"token-that-alice-typed\n").unwrap();
    assert!(tokio::task::block_in_place(|| child.wait_with_output()).unwrap().status.success());
    Some(desk)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            _ = std::fs::copy(entry.path(), target).unwrap()
        }
    }
}

fn direct(event_id: &str, user: &str, ts: &str) -> Value {
    let mut payload = message(event_id, "D01ALICE", user, ts, "what is there?");
    payload["event"]["channel_type"] = json!("im");
    payload
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_read_with_ones_account_is_told_to_nobody_else() {
    let Some(desk) = with_alice().await else { return };
    let office = desk.kit.open().await;
    let asks = |id: &str, user: &str, ts: &str| message(id, "C01GEN", user, ts, "<@U0BOT> what is there?");
    let garden = |posts: Vec<Value>| {
        posts.into_iter().filter(|post| post.to_string().contains("secret garden")).count()
    };
    // In a channel: read with her account, and not told there, since she says no.
    office.deliver(&asks("Ev1", "U01ALICE", "1700000000.000100")).await;
    let card = told::card(&office, &desk.kit, 1).await;
    told::clicks(&office, &card, "U01ALICE", "approval.no").await;
    let events = office.until_turns_ended(1).await;
    let garden =
        |posts: Vec<Value>| garden(posts.into_iter().filter(|post| buttons(post).is_empty()).collect());
    assert_eq!(garden(desk.kit.slack.posts()), 0, "{:?}", desk.kit.slack.posts());
    let denied = events.iter().find_map(|event| match &event.fact {
        Fact::CallDenied(body) => Some(body.clone()),
        _ => None,
    });
    assert_eq!(denied.unwrap().policies, ["no-violating-flow"]);
    let alice = Audience::Principal(PrincipalId::parse(&desk.kit.owner).unwrap());
    let read = events.iter().find(
        |event| matches!(&event.fact, Fact::StepEnded(step) if step.output.to_string().contains("secret garden")),
    );
    let readers = &read.unwrap().label.readers;
    assert!(
        matches!(readers, Readers::Within(of) | Readers::UnknownWithin(of) if of.contains(&alice)),
        "{readers:?}"
    );
    // To herself, where nobody else listens.
    office.deliver(&direct("Ev2", "U01ALICE", "1700000000.000200")).await;
    office.until_turns_ended(2).await;
    assert_eq!(garden(desk.kit.slack.posts()), 1, "{:?}", desk.kit.slack.posts());
    // Bob has no account, and hers is not used for him.
    office.deliver(&asks("Ev3", "U01BOB", "1700000000.000300")).await;
    let events = office.until_turns_ended(3).await;
    assert_eq!(garden(desk.kit.slack.posts()), 1, "{:?}", desk.kit.slack.posts());
    let used = events
        .iter()
        .filter(|event| matches!(&event.fact, Fact::CallAdmitted(body) if body.account.is_some()));
    assert_eq!(used.count(), 2, "twice for her, never for him");
    // Once she says so, it is told in the channel.
    let (well, text) = said(&desk.config, &["account", "disclose", "C01GEN"]);
    assert!(well && text.contains("disclosure.set"), "{text}");
    office.deliver(&asks("Ev4", "U01ALICE", "1700000000.000400")).await;
    office.until_turns_ended(4).await;
    assert_eq!(garden(desk.kit.slack.posts()), 2, "{:?}", desk.kit.slack.posts());
    // Taken back while the office runs, it is used no more.
    let (well, text) = said(&desk.config, &["account", "remove", "linear"]);
    assert!(well, "{text}");
    office.deliver(&asks("Ev5", "U01ALICE", "1700000000.000500")).await;
    office.until_turns_ended(5).await;
    assert_eq!(garden(desk.kit.slack.posts()), 2, "{:?}", desk.kit.slack.posts());
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_used_by_the_seats_it_was_connected_for_alone() {
    let Some(desk) = with_alice().await else { return };
    let mut command = Command::new(binary());
    command.arg("--config").arg(&desk.config).args([
        "account",
        "connect",
        "linear",
        "--token",
        "--seat",
        "seat_owner",
    ]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"token-that-alice-typed\n").unwrap();
    assert!(tokio::task::block_in_place(|| child.wait()).unwrap().success());
    let office = desk.kit.open().await;
    office.deliver(&direct("Ev1", "U01ALICE", "1700000000.000100")).await;
    let events = office.until_turns_ended(1).await;
    assert!(!format!("{:?}", desk.kit.slack.posts()).contains("secret garden"));
    let denied =
        |event: &event::Event| matches!(&event.fact, Fact::CallDenied(body) if body.tool == "linear.issues");
    assert!(
        events.iter().any(denied),
        "the policy wants an account of whoever asks, and the seat may use none"
    );
    office.stop().await;
    let (well, text) = desk.call("linear.issues", &json!({"team": "ENG"}));
    assert!(well && text.contains("secret garden"), "{text}");
}

fn slash(event_id: &str, text: &str) -> Value {
    json!({"type": "slash_command", "command": "/chancery", "text": text, "team_id": "T01TEST", "channel_id": "C01GEN",
        "user_id": "U01ALICE", "user_name": "alice", "trigger_id": event_id, "api_app_id": "A01APP"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_connected_from_a_private_card_in_slack_by_the_one_it_was_shown_to() {
    let Some(mut desk) = Desk::new(&LINEAR).await else { return };
    let url = format!("http://127.0.0.1:{}", desk.kit.port);
    desk.kit.more += &format!("[accounts]\nurl = \"{url}\"\n");
    tells(&mut desk.kit, OWN_ALONE);
    let office = desk.kit.open().await;
    assert_eq!(office.deliver(&slash("s1", "connect linear")).await, 200);
    let said =
        |events: &[event::Event]| events.iter().any(|event| matches!(&event.fact, Fact::EffectSent(_)));
    office.until("the card was shown", said).await;
    let whisper = desk.kit.slack.whispers().pop().unwrap();
    assert_eq!((&whisper["user"], &whisper["channel"]), (&json!("U01ALICE"), &json!("C01GEN")), "{whisper}");
    let text = whisper.to_string();
    let link = text.split(&format!("{url}/account/")).nth(1).unwrap();
    let link = link.split(|c: char| !(c.is_ascii_alphanumeric() || ".-_".contains(c))).next().unwrap();
    let link = format!("{url}/account/{link}");
    // Looking changes nothing, and says whose it will be.
    let page = ask(&link, None, &[]).await;
    assert!(page.status == 200 && page.body.contains("U01ALICE"), "{}", page.body);
    let begun = ask(&link, Some(""), &[]).await;
    assert_eq!(begun.status, 303, "{}", begun.body);
    let cookie = begun.headers["set-cookie"].split(';').next().unwrap().to_owned();
    // Somebody else's browser brings the code back and has no cookie: nothing is connected.
    let stray = agree(&begun.headers["location"], desk.service.who, None).await;
    assert_eq!(stray.status, 404, "{}", stray.body);
    assert!(!desk.accounts().has(&desk.account()));
    let came = agree(&begun.headers["location"], desk.service.who, Some(&cookie)).await;
    assert!(came.status == 200 && came.body.contains("Connected."), "{}", came.body);
    office.deliver(&direct("Ev1", "U01ALICE", "1700000000.000100")).await;
    office.until_turns_ended(1).await;
    assert!(
        format!("{:?}", desk.kit.slack.posts()).contains("secret garden"),
        "{:?}",
        desk.kit.slack.posts()
    );
    office.deliver(&slash("s2", "disconnect linear")).await;
    let gone = |events: &[event::Event]| {
        events.iter().any(|event| matches!(&event.fact, Fact::AccountDisconnected(_)))
    };
    office.until("it is taken back", gone).await;
    assert!(!desk.accounts().has(&desk.account()));
    office.stop().await;
}
