//! What the operator sets, with its defaults.

use crate::CREDENTIAL;
use guest::http::{Address, Waits};
use guest::model::{ModelFailure, ModelKind};
use guest::{Host, Level};
use serde_json::Value;

/// Where the APIs are, unless the operator says otherwise.
const BASE_URL: &str = "https://api.openai.com/v1";
/// What names of models begin with that the operator fills in.
const CUSTOM: &str = "custom-";
/// How long the head of an answer may take, in milliseconds: a small machine reads a long conversation first.
const FIRST_BYTE_MS: u64 = 120_000;
/// How long a stream may be silent, in milliseconds: the provider says nothing while a model reasons.
const SILENCE_MS: u64 = 60_000;

/// Which API is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Responses,
    Chat,
}

/// What the operator sets.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) api: Api,
    pub(crate) address: Address,
    /// The model as the provider names it.
    pub(crate) model: String,
    /// Whether the operator names the model: then its server may know the older field alone.
    pub(crate) custom: bool,
    pub(crate) effort: Option<String>,
    pub(crate) waits: Waits,
}

impl Settings {
    /// For a call of `model`.
    pub(crate) fn of(host: &dyn Host, model: &str) -> Result<Self, ModelFailure> {
        let text = |key: &str| host.setting(key).and_then(|value| value.as_str().map(str::to_owned));
        let custom = model.starts_with(CUSTOM);
        let api = match text("api").as_deref() {
            None | Some("responses") => Api::Responses,
            Some("chat") => Api::Chat,
            Some(_) => return Err(wrong("the setting `api` is `responses` or `chat`")),
        };
        let path = match api {
            Api::Responses => "responses",
            Api::Chat => "chat/completions",
        };
        let base = text("base_url").unwrap_or_else(|| BASE_URL.to_owned());
        let address = Address::parse(&format!("{}/{path}", base.trim_end_matches('/')));
        if !host.credential_exists(CREDENTIAL) {
            // A server of one's own may want none.
            host.log(
                Level::Debug,
                "no granted route has the credential `openai.api-key`, or it has no value",
            );
        }
        let ms = |key: &str, default| host.setting(key).and_then(|ms| ms.as_u64()).unwrap_or(default);
        Ok(Self {
            api,
            address: address.map_err(|why| wrong(&why.message))?,
            model: named(host, model, custom)?,
            custom,
            effort: text("effort"),
            waits: Waits {
                first_byte_ms: ms("first_byte_ms", FIRST_BYTE_MS),
                between_bytes_ms: ms("silence_ms", SILENCE_MS),
            },
        })
    }
}

fn named(host: &dyn Host, model: &str, custom: bool) -> Result<String, ModelFailure> {
    let models = host.setting("models").unwrap_or_default();
    match models.get(model).and_then(Value::as_str) {
        Some(name) => Ok(name.to_owned()),
        None if custom => Err(wrong(&format!(
            "the setting `models` does not say which model `{model}` is: add `{model} = \"…\"`"
        ))),
        None => Ok(model.to_owned()),
    }
}

fn wrong(message: &str) -> ModelFailure {
    ModelFailure::new(ModelKind::Refused, message)
}
