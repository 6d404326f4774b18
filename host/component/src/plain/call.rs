//! A call of a plain function: JSON in, values through, JSON out.

use super::{Function, PlainTool, value};
use crate::convert::word_of;
use crate::guest;
use crate::hands::{Hands, output};
use crate::limits::Limits;
use crate::log::plain;
use crate::manifest::World;
use crate::state::{Lent, State};
use gate::{Failure, FailureKind, Output};
use serde_json::Value;
use tokio::time::Instant;
use wasmtime::component::{InstancePre, Type, Val};

impl Hands {
    pub(crate) async fn call_plain(
        &self,
        pre: &InstancePre<State>,
        tool: &PlainTool,
        input: &Value,
        lent: Lent,
        deadline: Instant,
    ) -> Result<Output, Failure> {
        let (name, limits) = (&tool.ready.spec.name, self.engine.limits(World::Plain));
        let params = params(&tool.function, input, limits).map_err(|reason| {
            failed(FailureKind::InvalidInput, format!("the input of `{name}` does not fit: {reason}"))
        })?;
        let (pre, function) = (pre.clone(), tool.function.clone());
        let ran = guest::run(&self.engine, World::Plain, lent, deadline, move |store| {
            Box::pin(async move {
                let instance = pre.instantiate_async(&mut *store).await?;
                let called = instance.get_func(&mut *store, function.index);
                let called = called.ok_or_else(|| wasmtime::Error::msg("the function is not there"))?;
                let mut results = vec![Val::Bool(false); usize::from(function.gives.is_some())];
                called.call_async(store, &params, &mut results).await?;
                Ok(results.pop())
            })
        });
        let given = ran.await.map_err(|ended| ended.failure(name, limits))?;
        let text = answer(tool.function.gives.as_ref(), given, limits)?.to_string();
        output(&tool.ready, &text, limits).map(Output::Tool).map_err(|reason| outside(name, &reason))
    }
}

fn params(function: &Function, input: &Value, limits: &Limits) -> Result<Vec<Val>, String> {
    if input.to_string().len() > limits.input_bytes {
        return Err(format!("it is longer than {} bytes", limits.input_bytes));
    }
    let object = input.as_object().ok_or("it is not an object")?;
    let types = function.params.iter().map(|(name, ty)| (name.as_str(), ty.clone()));
    Ok(value::fields(types, object)?.into_iter().map(|(_, val)| val).collect())
}

/// What the function gave, or the failure that it gave instead.
fn answer(ty: Option<&Type>, given: Option<Val>, limits: &Limits) -> Result<Value, Failure> {
    let unlike = |reason: String| {
        failed(FailureKind::Guest, format!("the answer is not what its type says: {reason}"))
    };
    match (ty, given) {
        (Some(Type::Result(result)), Some(Val::Result(Ok(inside)))) => {
            value::maybe(result.ok(), inside).map_err(unlike)
        }
        (Some(Type::Result(result)), Some(Val::Result(Err(inside)))) => {
            Err(told(&value::maybe(result.err(), inside).map_err(unlike)?, limits))
        }
        (Some(ty), Some(given)) => value::json(ty, given).map_err(unlike),
        _ => Ok(Value::Null),
    }
}

/// An error as a failure: the name of its case is the kind, and the whole of it the sentence.
fn told(error: &Value, limits: &Limits) -> Failure {
    let (word, sentence) = match error {
        Value::Null => ("error", "it gave an error and said no more".to_owned()),
        Value::String(text) => (text.as_str(), text.clone()),
        Value::Object(object) if object.len() == 1 => {
            (object.keys().next().map_or("error", String::as_str), error.to_string())
        }
        other => ("error", other.to_string()),
    };
    let kind = FailureKind::Other(word_of(word).unwrap_or("error").to_owned());
    failed(kind, plain(&sentence, limits.message_bytes))
}

fn outside(name: &str, reason: &str) -> Failure {
    failed(FailureKind::Guest, format!("`{name}` answered outside its schema or limits: {reason}"))
}

fn failed(kind: FailureKind, message: String) -> Failure {
    Failure { kind, message, retry_after_ms: None }
}
