//! The other side of a model plugin: a server on this machine that plays what a test tells it, byte by byte, and keeps
//! what it was asked. What it plays is written from the providers' published descriptions.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// The longest request that is read.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One thing the server does with an answer.
#[derive(Clone, Debug)]
pub enum Play {
    /// Writes these bytes.
    Bytes(Vec<u8>),
    /// Says nothing more, until the other side hangs up.
    Silence,
    /// Says nothing until the test lets it go on ([`Provider::go_on`]).
    Wait,
}

/// One request that arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// The first line and the headers, names in lower case.
    pub head: String,
    /// The body.
    pub body: Value,
}

/// A running provider.
pub struct Provider {
    /// `http://127.0.0.1:port`.
    pub origin: String,
    state: Arc<State>,
}

/// What is played to a request.
type Answering = dyn Fn(&Request) -> Vec<Play> + Send + Sync;

#[derive(Default)]
struct State {
    answers: Mutex<VecDeque<Vec<Play>>>,
    answering: Mutex<Option<Arc<Answering>>>,
    requests: Mutex<Vec<Request>>,
    go_on: Notify,
    hung_up: Notify,
}

impl Provider {
    /// Starts one with nothing to say: a request without an answer gets 500.
    pub async fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let serving = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, serving.clone()));
            }
        });
        Self { origin, state }
    }

    /// The next request is answered so.
    pub fn plays(&self, answer: Vec<Play>) {
        self.state.answers.lock().unwrap().push_back(answer);
    }

    /// Whatever nothing was told to be played to is answered so.
    pub fn answers(&self, answering: impl Fn(&Request) -> Vec<Play> + Send + Sync + 'static) {
        *self.state.answering.lock().unwrap() = Some(Arc::new(answering));
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Lets an answer go on that waits.
    pub fn go_on(&self) {
        self.state.go_on.notify_one();
    }

    /// Returns once the other side has hung up on a silent answer.
    pub async fn hung_up(&self) {
        self.state.hung_up.notified().await;
    }
}

async fn answer(mut stream: TcpStream, state: Arc<State>) {
    let Some(request) = read(&mut stream).await else { return };
    state.requests.lock().unwrap().push(request.clone());
    let answer = state.answers.lock().unwrap().pop_front();
    let answering = state.answering.lock().unwrap().clone();
    let answer = answer.or_else(|| answering.map(|answering| answering(&request)));
    let answer =
        answer.unwrap_or_else(|| vec![error(500, &[], "{\"error\":{\"message\":\"nothing to play\"}}")]);
    for play in answer {
        match play {
            Play::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Play::Wait => state.go_on.notified().await,
            Play::Silence => {
                // Nothing more is sent by the other side, so what can be read is its end.
                let _ = stream.read(&mut [0; 1]).await;
                state.hung_up.notify_one();
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    while bytes.len() < REQUEST_BYTES_MAX {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).unwrap_or_default();
                return Some(Request { head, body });
            }
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
    None
}

/// The head of a stream of events. It has no length: it ends when the server hangs up.
pub fn stream_head() -> Play {
    Play::Bytes(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"
            .to_vec(),
    )
}

/// A whole answer with a status of its own.
pub fn error(status: u16, headers: &[(&str, &str)], body: &str) -> Play {
    whole(status, headers, "application/json", body)
}

/// A whole answer.
pub fn whole(status: u16, headers: &[(&str, &str)], kind: &str, body: &str) -> Play {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    Play::Bytes(
        format!(
            "HTTP/1.1 {status} Played\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        )
        .into_bytes(),
    )
}

/// One event of the Messages API, named as its type says.
pub fn event(data: &Value) -> Play {
    let kind = data["type"].as_str().unwrap_or("message");
    Play::Bytes(format!("event: {kind}\ndata: {data}\n\n").into_bytes())
}

/// One event without a name, as Chat Completions sends them.
pub fn data(data: &str) -> Play {
    Play::Bytes(format!("data: {data}\n\n").into_bytes())
}

/// The Messages API: an answer of these blocks, as a stream. A block is `{"text": …}`, `{"thinking": …, "signature": …}`
/// or `{"call": name, "id": …, "input": json text}`.
pub fn messages(blocks: &[Value], stop: &str) -> Vec<Play> {
    let usage = json!({"input_tokens": 100, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 1});
    let message = json!({"id": "msg_01", "type": "message", "role": "assistant", "content": [], "model": "claude",
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut plays = vec![stream_head(), event(&json!({"type": "message_start", "message": message}))];
    for (index, block) in blocks.iter().enumerate() {
        plays.extend(block_of(index, block));
    }
    plays
        .push(event(&json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": 30}})));
    plays.push(event(&json!({"type": "message_stop"})));
    plays
}

fn block_of(index: usize, block: &Value) -> Vec<Play> {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    let delta = |delta: Value| event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
    let (start, deltas) = if block.get("text").is_some() {
        let pieces = halves(text("text")).map(|half| delta(json!({"type": "text_delta", "text": half})));
        (json!({"type": "text", "text": ""}), pieces.to_vec())
    } else if block.get("call").is_some() {
        let pieces = halves(text("input"))
            .map(|half| delta(json!({"type": "input_json_delta", "partial_json": half})));
        (json!({"type": "tool_use", "id": text("id"), "name": text("call"), "input": {}}), pieces.to_vec())
    } else {
        let pieces = vec![
            delta(json!({"type": "thinking_delta", "thinking": text("thinking")})),
            delta(json!({"type": "signature_delta", "signature": text("signature")})),
        ];
        (json!({"type": "thinking", "thinking": "", "signature": ""}), pieces)
    };
    let mut plays =
        vec![event(&json!({"type": "content_block_start", "index": index, "content_block": start}))];
    plays.extend(deltas);
    plays.push(event(&json!({"type": "content_block_stop", "index": index})));
    plays
}

/// A text in two pieces, cut between characters.
fn halves(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}

/// Chat Completions: an answer of text and calls, as a stream.
pub fn chat(text: &str, calls: &[(&str, &str, &str)], stop: &str) -> Vec<Play> {
    let chunk = |delta: Value, stop: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": stop, "logprobs": null});
        data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "m",
            "choices": [choice], "usage": null}).to_string())
    };
    let mut plays = vec![stream_head(), chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    for half in halves(text) {
        plays.push(chunk(json!({"content": half}), Value::Null));
    }
    for (index, (id, name, input)) in calls.iter().enumerate() {
        let begun = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        plays.push(chunk(json!({"tool_calls": [begun]}), Value::Null));
        for half in halves(input) {
            let more = json!({"index": index, "function": {"arguments": half}});
            plays.push(chunk(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    plays.push(chunk(json!({}), json!(stop)));
    let usage = json!({"prompt_tokens": 200, "completion_tokens": 30, "total_tokens": 230,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 40}});
    plays.push(data(
        &json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000,
        "model": "m", "choices": [], "usage": usage})
        .to_string(),
    ));
    plays.push(data("[DONE]"));
    plays
}

/// Responses: an answer of these output items, as a stream of numbered events.
pub fn responses(output: &[Value], status: &str, more: &Value) -> Vec<Play> {
    let mut plays = vec![stream_head()];
    let mut number = 0;
    let mut say = |mut data: Value| {
        data["sequence_number"] = json!(number);
        number += 1;
        event(&data)
    };
    plays.push(say(
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
    ));
    for (index, item) in output.iter().enumerate() {
        let texts = item["content"].as_array().cloned().unwrap_or_default();
        for half in texts.iter().flat_map(|content| halves(content["text"].as_str().unwrap_or_default())) {
            plays.push(say(
                json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": index,
                "content_index": 0, "delta": half, "logprobs": []}),
            ));
        }
        plays.push(say(json!({"type": "response.output_item.done", "output_index": index, "item": item})));
    }
    let usage = json!({"input_tokens": 200, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 40},
        "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 230});
    let mut response =
        json!({"id": "resp_1", "object": "response", "status": status, "output": output, "usage": usage});
    for (key, value) in more.as_object().into_iter().flatten() {
        response[key] = value.clone();
    }
    plays.push(say(json!({"type": format!("response.{status}"), "response": response})));
    plays
}
