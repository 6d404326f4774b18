//! Traces as a collector reads them. The collector is made of OpenTelemetry's own packages: its generated classes read
//! each request, and its conventions say which names there are.

use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tests::Kit;
use tests::office::repository;
use tests::python::python;
use tests::slack::message;

/// A running collector.
struct Collector {
    child: Child,
    origin: String,
    told: Receiver<Value>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Collector {
    /// Starts one that answers the first requests with `statuses`.
    async fn serve(statuses: &'static [&'static str]) -> Self {
        tokio::task::spawn_blocking(move || {
            let script = repository().join("tests/oracle/collector.py");
            let mut child =
                Command::new(python()).arg(script).args(statuses).stdout(Stdio::piped()).spawn().unwrap();
            let mut out: BufReader<ChildStdout> = BufReader::new(child.stdout.take().unwrap());
            let mut port = String::new();
            out.read_line(&mut port).unwrap();
            let (tell, told) = channel();
            std::thread::spawn(move || {
                for line in out.lines().map_while(Result::ok) {
                    let _ = tell.send(serde_json::from_str(&line).unwrap());
                }
            });
            Self { child, origin: format!("http://127.0.0.1:{}", port.trim()), told }
        })
        .await
        .unwrap()
    }

    /// The next request it took.
    fn next(&self) -> Value {
        tokio::task::block_in_place(|| self.told.recv_timeout(Duration::from_secs(60)))
            .expect("no trace arrived")
    }

    /// Requests until one holds the span of a turn: the first with all spans of that turn's trace, and how many
    /// requests of the trace there were.
    fn turn(&self) -> (Value, usize) {
        let mut before: Vec<Value> = Vec::new();
        loop {
            let told = self.next();
            let root = spans(&told)
                .into_iter()
                .find(|span| span["name"].as_str().unwrap().starts_with("invoke_agent"));
            before.push(told);
            let Some(root) = root else { continue };
            let of_it = |told: &&Value| spans(told).iter().any(|span| span["trace"] == root["trace"]);
            let requests: Vec<&Value> = before.iter().filter(of_it).collect();
            let all: Vec<Value> = requests.iter().flat_map(|told| spans(told)).collect();
            let strange: Vec<Value> =
                before.iter().flat_map(|told| told["strange"].as_array().unwrap().clone()).collect();
            let mut whole = requests[0].clone();
            (whole["spans"], whole["strange"]) = (all.into(), strange.into());
            return (whole, requests.len());
        }
    }

    /// The span of a duty of this kind, when it comes.
    fn duty(&self, kind: &str) -> Value {
        loop {
            let duty =
                spans(&self.next()).into_iter().find(|span| span["attributes"]["chancery.duty"] == kind);
            if let Some(duty) = duty {
                return duty;
            }
        }
    }

    /// Whether no span of a turn or of a step comes within a second.
    fn is_silent(&self) -> bool {
        let quiet = || self.told.recv_timeout(Duration::from_secs(1));
        tokio::task::block_in_place(|| {
            while let Ok(told) = quiet() {
                if spans(&told).iter().any(|span| span["attributes"].get("chancery.duty").is_none()) {
                    return false;
                }
            }
            true
        })
    }
}

async fn kit(collector: &Collector, more: &str) -> Kit {
    let mut kit = Kit::new().await;
    writeln!(kit.more, "[telemetry]\notlp = \"{}\"\n{more}", collector.origin).unwrap();
    kit
}

fn ask(kit: &Kit, n: usize) -> Value {
    let text = format!("<@U0BOT> what does <{}/the-secret-page> say?", kit.site.origin);
    message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &format!("170000000{n}.000100"), &text)
}

fn spans(told: &Value) -> Vec<Value> {
    assert!(told.get("wrong").is_none(), "{told}");
    told["spans"].as_array().unwrap().clone()
}

/// The spans whose attribute `name` is `value`.
fn with<'a>(spans: &'a [Value], name: &str, value: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["attributes"][name] == value).collect()
}

fn marks(span: &Value) -> Vec<&str> {
    span["events"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_one_trace_with_the_names_of_the_conventions_and_nobodys_words() {
    let collector = Collector::serve(&[]).await;
    let kit = kit(&collector, "").await;
    let office = kit.open().await;
    office.deliver(&ask(&kit, 1)).await;
    let (told, requests) = collector.turn();
    assert!(requests > 1, "steps come before their turn has ended");
    let spans = spans(&told);
    assert_eq!(told["strange"], serde_json::json!([]), "names that the conventions do not have");

    // One trace: the turn, and below it every step.
    let root = with(&spans, "gen_ai.operation.name", "invoke_agent");
    assert_eq!(root.len(), 1);
    let root = root[0];
    assert_eq!((&root["parent"], &root["name"]), (&"".into(), &"invoke_agent seat_front-desk".into()));
    for span in &spans {
        assert_eq!(span["trace"], root["trace"]);
        assert!(span["id"] == root["id"] || span["parent"] == root["id"], "{span}");
        assert!(span["began"].as_u64() >= root["began"].as_u64(), "{span}");
        assert!(span["ended"].as_u64() <= root["ended"].as_u64(), "{span}");
        assert_eq!(span["resource"]["service.name"], "chancery");
    }
    let mut ids: Vec<&str> = spans.iter().map(|span| span["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans.len());

    // Tokens, and money that adds up.
    let chats = with(&spans, "gen_ai.operation.name", "chat");
    assert!(chats.len() >= 3, "{chats:?}");
    let total = |name: &str| chats.iter().map(|span| span["attributes"][name].as_i64().unwrap()).sum::<i64>();
    for name in ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "chancery.cost.nano_usd"] {
        assert_eq!(root["attributes"][name], total(name), "{name}");
    }
    assert!(total("gen_ai.usage.input_tokens") > 0);
    for chat in &chats {
        assert_eq!((&chat["kind"], &chat["name"]), (&"SPAN_KIND_CLIENT".into(), &"chat story".into()));
        assert_eq!(chat["attributes"]["gen_ai.provider.name"], "scripted");
        assert!(marks(chat).contains(&"hold.settled"), "{chat}");
    }
    assert_eq!(chats[0]["attributes"]["gen_ai.response.finish_reasons"], serde_json::json!(["tool_call"]));

    // What the gate decided: one page read, with its receipt; one denied by policy; the answer sent.
    let fetches = with(&spans, "gen_ai.tool.name", "web.fetch");
    assert_eq!(fetches.len(), 2);
    assert_eq!(fetches[0]["attributes"]["chancery.gate.decision"], "admitted");
    assert_eq!(fetches[0]["attributes"]["chancery.receipts"], 1);
    assert!(marks(fetches[0]).contains(&"receipt.recorded"), "{}", fetches[0]);
    assert_eq!(fetches[1]["attributes"]["chancery.gate.decision"], "denied");
    assert_eq!(fetches[1]["attributes"]["error.type"], "denied");
    assert_eq!(fetches[1]["status"], "STATUS_CODE_ERROR");
    assert_eq!(fetches[1]["events"][0]["attributes"]["chancery.denied.by"], "policy");
    let posts = with(&spans, "gen_ai.tool.name", "slack.post");
    assert_eq!(marks(posts[0])[..2], ["call.admitted", "effect.intended"]);
    assert_eq!(root["attributes"]["chancery.turn.ending"], "answered");
    assert_eq!(root["status"], "STATUS_CODE_UNSET");

    // Nobody's words: no question, page, address, answer or reason.
    let text = told.to_string();
    for words in ["the-secret-page", "intranet", "tide", "Tide", "U01ALICE", "not allowed"] {
        assert!(!text.contains(words), "`{words}` left the record");
    }
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_busy_collector_did_not_take_comes_later_once_and_in_order() {
    let collector = Collector::serve(&["503"]).await;
    let kit = kit(&collector, "service = \"my-office\"\n").await;
    let office = kit.open().await;
    office.deliver(&ask(&kit, 1)).await;
    office.until_turns_ended(1).await;
    office.deliver(&ask(&kit, 2)).await;
    office.until_turns_ended(2).await;
    let (first, second) = (spans(&collector.turn().0), spans(&collector.turn().0));
    assert_ne!(first[0]["trace"], second[0]["trace"]);
    assert!(first[0]["began"].as_u64() < second[0]["began"].as_u64());
    for spans in [&first, &second] {
        let mut ids: Vec<&str> = spans.iter().map(|span| span["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), spans.len(), "each once");
        assert_eq!(with(spans, "gen_ai.operation.name", "invoke_agent").len(), 1);
    }
    assert_eq!(first[0]["resource"]["service.name"], "my-office");
    office.stop().await;
    // What was taken is not sent again by the next start; what ends after it is.
    let office = kit.open().await;
    assert!(collector.is_silent());
    office.deliver(&ask(&kit, 3)).await;
    assert_eq!(with(&spans(&collector.turn().0), "gen_ai.operation.name", "invoke_agent").len(), 1);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_go_on_without_a_collector_and_its_credential_goes_to_it_alone() {
    let mut kit = Kit::new().await;
    let collector = Collector::serve(&[]).await;
    std::fs::write(kit.folder().join("otlp"), "otlp-token-0123456789-long").unwrap();
    kit.more =
        "[telemetry]\notlp = \"http://127.0.0.1:9\"\ncredential = \"otlp.token\"\n[credentials.\"otlp.token\"]\nfile = \"otlp\"\n"
            .to_owned();
    let office = kit.open().await;
    office.deliver(&ask(&kit, 1)).await;
    office.until_turns_ended(1).await;
    office.stop().await;
    // The next start finds a collector, and the trace of before.
    kit.more = kit.more.replace("http://127.0.0.1:9", &collector.origin);
    let office = kit.open().await;
    let (told, _) = collector.turn();
    assert_eq!(told["authorization"], "Bearer otlp-token-0123456789-long");
    assert_eq!(with(&spans(&told), "gen_ai.operation.name", "invoke_agent").len(), 1);
    assert!(kit.site.asked().iter().all(|asked| asked.authorization.is_none()));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duty_of_the_host_is_a_span_and_one_that_is_made_for_a_turn_hangs_below_it() {
    let collector = Collector::serve(&[]).await;
    let kit = kit(&collector, "[converse]\nmodel = \"scripted/story\"\nmode = \"proactive\"\n").await;
    let office = kit.open().await;
    // What nobody addressed to the office is weighed by a model: a trace by itself.
    office
        .deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000001.000100", "the-secret-plan is late"))
        .await;
    let weighed = collector.duty("triage");
    assert_eq!((&weighed["name"], &weighed["kind"]), (&"chat story".into(), &"SPAN_KIND_CLIENT".into()));
    assert_eq!(
        (&weighed["parent"], &weighed["attributes"]["gen_ai.operation.name"]),
        (&"".into(), &"chat".into())
    );
    assert!(weighed["attributes"]["gen_ai.usage.input_tokens"].as_i64().unwrap() > 0, "{weighed}");
    assert!(marks(&weighed).contains(&"hold.settled"), "{weighed}");
    assert!(!weighed.to_string().contains("the-secret-plan"));
    office.stop().await;
}
