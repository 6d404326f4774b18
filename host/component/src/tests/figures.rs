//! What a call of a guest costs, beside one in an instance that is there already and beside none at all. No test: it
//! prints figures for `cargo xtask bench plugin`, one JSON object a line, and asserts nothing on time.
//!
//! It stands here and not in a bench of its own because a permit cannot be made outside the gate.

use super::kit::{Kit, component, hostile, kit_in, output};
use crate::bindings::tool::exports::chancery::tool::tools::ToolCall;
use crate::hands::output as checked;
use crate::manifest::World;
use crate::offer::Ready;
use crate::plugin::Loaded;
use crate::state::Lent;
use crate::{Compiler, Engine, EngineParts, Limits, Pool, guest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Calls whose median is a figure.
const CALLS: usize = 400;
/// Plugins of a cold start.
const PLUGINS: usize = 20;
/// Guests that are ended, of which the latest counts.
const ENDED: usize = 10;

fn say(name: &str, us: f64) {
    println!("{}", json!({"name": name, "us": us}));
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// A whole call: a fresh store and instance, the input checked and the output too.
async fn fresh(kit: &Kit, input: &Value) -> f64 {
    let mut times = Vec::new();
    for _ in 0..CALLS {
        let request = kit.request("hostile.echo", input.clone());
        let began = Instant::now();
        let reached = kit.hands.run(request).await;
        times.push(began.elapsed());
        output(reached);
    }
    median(times)
}

/// The call alone, in one instance that stays.
async fn warm(kit: &Kit, input: &Value) -> f64 {
    let plugins = kit.hands.plugins();
    let Ready::Tool { pre, .. } = &plugins.get("hostile").unwrap().ready else { panic!("a tool") };
    let (pre, text) = (pre.clone(), input.to_string());
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    let times = guest::run(&kit.engine, World::Tool, Lent::nothing("hostile"), deadline, move |store| {
        Box::pin(async move {
            let tool = pre.instantiate_async(&mut *store).await?;
            let mut times = Vec::new();
            for _ in 0..CALLS {
                let call =
                    ToolCall { tool: "hostile.echo".to_owned(), input: text.clone(), key: String::new() };
                let began = Instant::now();
                tool.chancery_tool_tools().call_call(&mut *store, &call).await?.unwrap();
                times.push(began.elapsed());
            }
            Ok(times)
        })
    });
    median(times.await.unwrap())
}

/// The same input and output through the same JSON and the same check, and no guest.
fn native(kit: &Kit, input: &Value) -> f64 {
    let plugins = kit.hands.plugins();
    let tools: BTreeMap<_, _> = plugins.get("hostile").unwrap().ready.tools().into_iter().collect();
    let tool = tools.get(&"hostile.echo".to_owned()).unwrap();
    let mut times = Vec::new();
    for _ in 0..CALLS {
        let began = Instant::now();
        let given: Value = serde_json::from_str(&input.to_string()).unwrap();
        let said =
            json!({"text": given["text"], "key": "", "setting": null, "credential": false}).to_string();
        checked(tool, &said, &Limits::for_tools()).unwrap();
        times.push(began.elapsed());
    }
    median(times)
}

/// As many plugins as said, each another file: the same component with another byte in a section nobody reads.
fn copies(folder: &Path) -> Vec<PathBuf> {
    let bytes = std::fs::read(component("hostile")).unwrap();
    let copy = |n: usize| {
        let path = folder.join(format!("{n}.wasm"));
        let mut copy = bytes.clone();
        copy.extend_from_slice(&[0, 3, 1, b'x', u8::try_from(n).unwrap()]);
        std::fs::write(&path, copy).unwrap();
        path
    };
    (0..PLUGINS).map(copy).collect()
}

/// How long an engine and all plugins take until they can be called.
async fn start(code: &Path, files: &[PathBuf]) -> f64 {
    let began = Instant::now();
    let parts = EngineParts {
        pool: Pool::for_small_machine(),
        code_folder: Some(code.to_path_buf()),
        compiler: Compiler::Here,
    };
    let engine = Engine::new(parts).unwrap();
    for file in files {
        Loaded::from_file(&engine, file, &BTreeMap::new()).await.unwrap();
    }
    began.elapsed().as_secs_f64() * 1e6
}

/// How long after its limit a guest that would not end has ended, at worst.
async fn overrun(tool: &str, pool: Pool, limit_ms: u64) -> f64 {
    let kit = hostile(pool).await;
    let mut worst = Duration::ZERO;
    for _ in 0..ENDED {
        let request = kit.request(tool, json!({"ms": 600_000}));
        let began = Instant::now();
        assert!(kit.hands.run(request).await.outcome.is_err());
        worst = worst.max(began.elapsed().saturating_sub(Duration::from_millis(limit_ms)));
    }
    worst.as_secs_f64() * 1e6
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "figures, not a test: `cargo xtask bench plugin`"]
async fn figures_of_plugins() {
    let folder = tempfile::tempdir().unwrap();
    let code = folder.path().join("code");
    let tools = Limits { cpu_ms: 20_000, wall_ms: 60_000, ..Limits::for_tools() };
    let pool = Pool { tools, ..Pool::for_small_machine() };
    let kit = kit_in(code.clone(), pool, &[component("hostile")], &[], &[]).await;
    let input = json!({"text": "x".repeat(200)});
    // Once before it counts, so that nothing is measured cold.
    fresh(&kit, &input).await;
    say("fresh", fresh(&kit, &input).await);
    say("warm", warm(&kit, &input).await);
    say("native", native(&kit, &input));
    for (name, disk) in [("gated-memory", None), ("gated-sqlite", Some(folder.path()))] {
        let times = super::gated::calls(&kit, &input, disk, u32::try_from(CALLS).unwrap()).await;
        say(name, median(times));
    }
    let files = copies(folder.path());
    say("start-uncompiled", start(&code, &files).await);
    say("start-compiled", start(&code, &files).await);
    let short = |cpu_ms, wall_ms| {
        let tools = Limits { cpu_ms, wall_ms, ..Limits::for_tools() };
        Pool { tools, ..Pool::for_small_machine() }
    };
    say("overrun-running", overrun("hostile.spin", short(200, 5_000), 200).await);
    say("overrun-waiting", overrun("hostile.wait", short(200, 300), 300).await);
}
