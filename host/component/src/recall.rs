//! Reading back: the call by which the host asks a plugin whether one of its effects happened.
//!
//! What a plugin says it found is held to the output schema of the tool that was called, since it stands in for that
//! call's result. Whether *absent* is believed is not decided here.

use crate::bindings::recall::Back;
use crate::bindings::recall::exports::chancery::tool::recalls::{Effect, Memory};
use crate::convert;
use crate::guest;
use crate::hands::{Hands, failed, not_offered};
use crate::limits::Limits;
use crate::log::plain;
use crate::manifest::World;
use crate::offer::{Ready, ReadyTool};
use crate::plugin::Loaded;
use crate::state::Lent;
use gate::{Failure, FailureKind, Output};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What the gate asks: the input of the host's own tool (`gate::recall_spec`).
#[derive(Deserialize)]
struct Asked {
    tool: String,
    key: String,
    input: Value,
    around_ms: u64,
}

impl Hands {
    /// Asks the plugin whether an effect of one of its tools happened.
    pub(crate) async fn call_recall(
        &self,
        loaded: &Loaded,
        input: &Value,
        lent: Lent,
        deadline: Instant,
    ) -> Result<Output, Failure> {
        let asked = Asked::deserialize(input)
            .map_err(|error| failed(FailureKind::InvalidInput, format!("it cannot be read back: {error}")))?;
        let Ready::Tool { recall: Some(pre), tools, .. } = &loaded.ready else {
            return Err(not_offered(&asked.tool));
        };
        let tool = tools.get(&asked.tool).filter(|tool| tool.spec.recall);
        let tool = tool.ok_or_else(|| not_offered(&asked.tool))?;
        let limits = loaded.limits(&self.engine);
        let effect = Effect {
            tool: asked.tool.clone(),
            input: asked.input.to_string(),
            key: asked.key,
            around_ms: asked.around_ms,
        };
        let pre = pre.clone();
        let ran = guest::run(&self.engine, World::Tool, lent, deadline, move |store| {
            Box::pin(async move {
                let back: Back = pre.instantiate_async(&mut *store).await?;
                back.chancery_tool_recalls().call_recall(store, &effect).await
            })
        });
        match ran.await.map_err(|ended| ended.failure(&asked.tool, limits))? {
            Err(failure) => Err(convert::tool_failure(failure, limits)),
            Ok(memory) => said(memory, tool, limits).map(Output::Tool).map_err(|reason| {
                let message = format!("reading back `{}` gave what it never gives: {reason}", asked.tool);
                failed(FailureKind::Guest, message)
            }),
        }
    }
}

fn said(memory: Memory, tool: &ReadyTool, limits: &Limits) -> Result<Value, String> {
    match memory {
        Memory::Absent => Ok(json!({"absent": true})),
        Memory::CannotSay(why) => Ok(json!({"cannot_say": plain(&why, limits.message_bytes)})),
        Memory::Found(text) if text.len() > limits.output_bytes => {
            Err(format!("{} bytes, and {} is the most", text.len(), limits.output_bytes))
        }
        Memory::Found(text) => {
            let reference = convert::json(&text)?;
            tool.output.check(&reference)?;
            Ok(json!({"found": reference}))
        }
    }
}
