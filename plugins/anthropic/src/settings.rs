//! What the operator sets, with its defaults.

use crate::CREDENTIAL;
use guest::http::{Address, Waits};
use guest::model::{ModelFailure, ModelKind};
use guest::{Host, Level};
use serde_json::Value;

/// Where the API is, unless the operator says otherwise.
const BASE_URL: &str = "https://api.anthropic.com";
/// The one path.
const PATH: &str = "/v1/messages";
/// How long the head of an answer may take, in milliseconds. It comes before the model thinks.
const FIRST_BYTE_MS: u64 = 60_000;
/// How long a stream may be silent, in milliseconds: the provider sends a ping more often than that.
const SILENCE_MS: u64 = 45_000;

/// What the operator sets.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) address: Address,
    pub(crate) effort: Option<String>,
    pub(crate) thinking: bool,
    pub(crate) waits: Waits,
}

impl Settings {
    pub(crate) fn of(host: &dyn Host) -> Result<Self, ModelFailure> {
        let wrong = |message: String| ModelFailure::new(ModelKind::Refused, message);
        let base = match host.setting("base_url") {
            None => BASE_URL.to_owned(),
            Some(Value::String(url)) => url.trim_end_matches('/').to_owned(),
            Some(_) => return Err(wrong("the setting `base_url` is not a text".to_owned())),
        };
        let address = Address::parse(&format!("{base}{PATH}")).map_err(|why| wrong(why.message))?;
        if !host.credential_exists(CREDENTIAL) {
            host.log(
                Level::Warn,
                "no granted route has the credential `anthropic.api-key`, or it has no value",
            );
        }
        let ms = |key: &str, default| host.setting(key).and_then(|ms| ms.as_u64()).unwrap_or(default);
        Ok(Self {
            address,
            effort: host.setting("effort").and_then(|effort| effort.as_str().map(str::to_owned)),
            thinking: host.setting("thinking") != Some(Value::Bool(false)),
            waits: Waits {
                first_byte_ms: ms("first_byte_ms", FIRST_BYTE_MS),
                between_bytes_ms: ms("silence_ms", SILENCE_MS),
            },
        })
    }
}
