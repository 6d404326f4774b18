//! A request to a model with what is worked out of it: a conversation is long, and is written as JSON once however often
//! it is judged by, priced and named.

use crate::model::InferRequest;
use event::{Digest, canonical};
use serde_json::Value;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A request to a model. What is cloned is shared.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    request: InferRequest,
    json: OnceLock<Json>,
}

/// The request as JSON.
#[derive(Debug)]
struct Json {
    value: Value,
    digest: Digest,
    bytes: u64,
}

impl ModelRequest {
    fn json(&self) -> &Json {
        self.inner.json.get_or_init(|| {
            // Serialising plain records of strings and integers cannot fail.
            let value = serde_json::to_value(&self.inner.request).unwrap_or(Value::Null);
            let text = canonical(&value);
            Json { value, digest: Digest::of(&text), bytes: text.len() as u64 }
        })
    }

    /// The request itself.
    #[must_use]
    pub fn into_inner(self) -> InferRequest {
        match Arc::try_unwrap(self.inner) {
            Ok(inner) => inner.request,
            Err(shared) => shared.request.clone(),
        }
    }

    /// The request as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.json().value
    }

    /// The digest of its canonical form.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.json().digest
    }

    /// The bytes of its canonical form.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.json().bytes
    }
}

impl From<InferRequest> for ModelRequest {
    fn from(request: InferRequest) -> Self {
        Self { inner: Arc::new(Inner { request, json: OnceLock::new() }) }
    }
}

impl Deref for ModelRequest {
    type Target = InferRequest;

    fn deref(&self) -> &InferRequest {
        &self.inner.request
    }
}

impl PartialEq for ModelRequest {
    fn eq(&self, other: &Self) -> bool {
        self.inner.request == other.inner.request
    }
}

#[cfg(test)]
mod tests {
    use super::ModelRequest;
    use crate::model::{InferRequest, Message, Part, Role};
    use serde_json::json;

    #[test]
    fn it_is_named_by_all_that_it_says() {
        let request = InferRequest {
            model: "scripted/story".into(),
            system: "\u{1f600} \"quoted\"".into(),
            messages: vec![Message { role: Role::User, parts: vec![Part::Text("hello".into())] }],
            tools: Vec::new(),
            output_tokens_max: 7,
        };
        let asked = ModelRequest::from(request.clone());
        let value = serde_json::to_value(&request).unwrap();
        assert_eq!(asked.value(), &value);
        assert_eq!(asked.digest(), &event::canon::canonical_digest(&value));
        assert_eq!(asked.bytes(), serde_json::to_vec(&request).unwrap().len() as u64);
        assert_eq!(asked.value()["output_tokens_max"], json!(7));
        let other = ModelRequest::from(InferRequest { output_tokens_max: 8, ..request });
        assert_ne!(asked, other);
        assert_ne!(asked.digest(), other.digest());
    }
}
