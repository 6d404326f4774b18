//! Slack's own library holds both sides to what it knows: its client streams to the other side of these tests, and its
//! types take every block and chunk that the office sends there.

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tests::python::python;
use tests::slack::live::Fault;
use tests::slack::{TEAM, message};
use tests::{Kit, Slack};

/// Their client: a stream by their own helper, one whose life is over, a status, prompts, a message taken away, and a wait
/// that it is told to keep.
const CLIENT: &str = r#"
import sys
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import SectionBlock
from slack_sdk.models.messages.chunk import BlocksChunk
client = WebClient(token="xoxb-test", base_url=sys.argv[1], retry_handlers=[])
def refused(call, **arguments):
    try:
        call(**arguments)
    except SlackApiError as error:
        return error.response
    raise SystemExit("it was taken")
at = {"channel": "C01GEN", "thread_ts": "1.000100"}
whom = {"recipient_team_id": "T01TEST", "recipient_user_id": "U01ALICE"}
piece = lambda text: [BlocksChunk(blocks=[SectionBlock(text=text)])]
stream = client.chat_stream(**at, **whom, buffer_size=1)
stream.append(chunks=piece("one"))
stream.append(chunks=piece("two"))
stopped = stream.stop(chunks=piece("three"), metadata={"event_type": "x", "event_payload": {"key": "1"}})
assert stopped["ok"], stopped
ts = stopped["ts"]
assert refused(client.chat_appendStream, channel="C01GEN", ts=ts, chunks=piece("late"))["error"] == "message_not_in_streaming_state"
assert refused(client.chat_startStream, **at)["error"] == "missing_recipient_team_id"
live = client.chat_startStream(**at, **whom, markdown_text="begun")
edit = refused(client.chat_update, channel="C01GEN", ts=live["ts"], text="edited")
assert edit["error"] == "streaming_state_conflict", edit
client.chat_delete(channel="C01GEN", ts=live["ts"])
client.assistant_threads_setStatus(channel_id="D01", thread_ts="1.0", status="is thinking")
client.assistant_threads_setSuggestedPrompts(channel_id="D01", thread_ts="1.0", prompts=[{"title": "a", "message": "b"}])
waits = refused(client.chat_postMessage, channel="C01GEN", text="x")
assert waits.status_code == 429 and int(waits.headers["Retry-After"]) == 7, waits.headers
"#;

/// Their types: each block of each body that is given as a line, and each chunk.
const TYPES: &str = r#"
import json, sys
from slack_sdk.models.blocks import Block
from slack_sdk.models.messages.chunk import Chunk
def checked(blocks):
    for block in blocks:
        read = Block.parse(block)
        assert read is not None, block
        read.validate_json()
        for text in [block.get("text")] + block.get("fields", []) + block.get("elements", []):
            assert text is None or len(json.dumps(text)) < 20000, text
for line in sys.stdin:
    body = json.loads(line)
    checked(body.get("blocks") or [])
    for chunk in body.get("chunks") or []:
        read = Chunk.parse(chunk)
        assert read is not None and read.type == chunk["type"], chunk
        checked(chunk["blocks"])
    print("ok", flush=True)
"#;

fn runs(python: &Path, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(python)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slacks_own_client_takes_the_other_side_of_these_tests_for_one_that_streams() {
    let python = tokio::task::spawn_blocking(python).await.unwrap();
    let slack = Slack::serve().await;
    slack.set_faults("chat.postMessage", [Fault::Wait(7)]);
    let api = format!("{}/api/", slack.origin);
    tokio::task::spawn_blocking(move || runs(&python, &["-c", CLIENT, &api], "")).await.unwrap();
    let standing = slack.standing();
    assert_eq!(standing.len(), 1, "{standing:?}");
    let blocks = standing[0].1["blocks"].as_array().unwrap();
    let texts: Vec<&Value> = blocks.iter().map(|block| &block["text"]["text"]).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert_eq!(standing[0].1["metadata"]["event_payload"]["key"], "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slacks_own_types_take_every_block_and_chunk_of_a_streamed_answer_and_of_a_line() {
    let python = tokio::task::spawn_blocking(python).await.unwrap();
    let mut kit = Kit::new().await;
    let url = format!("{}/slow/2500", kit.site.origin);
    let text =
        (1..=12).map(|n| format!("{n}. {} <!here>", "word ".repeat(28))).collect::<Vec<_>>().join("\\n\\n");
    kit.script = format!(
        "[[rule]]\nwhen = []\n[[rule.step]]\ncall = {{ tool = \"web.fetch\", input = {{ url = \"{url}\" }} }}\n\
         [[rule.step]]\nfinish = {{ outcome = \"answered\", text = \"{text}\" }}\n"
    );
    kit.slack_more = "live = { stream = \"always\", after_ms = 0, every_ms = 1200 }\n".to_owned();
    let office = kit.open().await;
    let asks = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> tell me all");
    assert_eq!(office.deliver(&asks).await, 200);
    office.until_turns_ended(1).await;
    office.until("the line is gone", |_| kit.slack.standing().len() == 1).await;
    let bodies: Vec<Value> = kit
        .slack
        .called()
        .into_iter()
        .map(|(_, body)| body)
        .chain(kit.slack.posts().into_iter().filter(|post| post["streamed"] != true))
        .chain(kit.slack.updates())
        .collect();
    assert!(bodies.len() >= 6 && bodies.iter().any(|body| body["recipient_team_id"] == TEAM), "{bodies:?}");
    let lines = bodies.iter().map(|body| format!("{body}\n")).collect::<String>();
    let said = tokio::task::spawn_blocking(move || runs(&python, &["-c", TYPES], &lines)).await.unwrap();
    assert_eq!(said.lines().count(), bodies.len());
    office.stop().await;
}
