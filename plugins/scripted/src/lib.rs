//! A model that follows a script a person can read and edit.
//!
//! It behaves as a provider's model does: it streams, calls tools, reports usage, stops at its limit, and
//! fails in the same kinds. The same request and script always give the same response. What a script may
//! say is told in [`script`]; `demo/story.toml` is one, with comments.
//!
//! Absent on purpose: any notion of meaning. A rule fires when words occur, and that is all.

#[cfg(target_arch = "wasm32")]
mod bindings;
mod facts;
mod play;
mod script;
mod talk;
mod template;
mod usage;

pub use script::Script;
pub use talk::{
    Call, Failure, FailureKind, Message, Offer, Outcome, Part, Request, Response, Role, Stop, Usage,
};

/// The one model.
pub const MODEL: &str = "story";
/// How much fits, input and output together, in tokens: small, so that a test reaches the end of it.
pub const WINDOW_TOKENS: u32 = 32_000;
/// The most it writes in one response, in tokens.
pub const OUTPUT_TOKENS_MAX: u32 = 1_000;

/// Answers one request by the script, given as the setting `script` holds it.
///
/// # Errors
/// `refused` for another model, `malformed` when there is no script or it cannot be read (with line and
/// column), `too-long` when the conversation does not fit.
pub fn infer(script: Option<&str>, request: &Request) -> Result<Response, Failure> {
    if request.model != MODEL {
        let message = format!("there is no model `{}`; this plugin has `{MODEL}`", request.model);
        return Err(Failure { kind: FailureKind::Refused, message });
    }
    let malformed = |message| Failure { kind: FailureKind::Malformed, message };
    let text =
        script.ok_or_else(|| malformed("the setting `script` is missing: put a script there".to_owned()))?;
    let script = Script::parse(text).map_err(malformed)?;
    let output_tokens_max = request.output_tokens_max.min(OUTPUT_TOKENS_MAX);
    let input_tokens = usage::input_tokens(request);
    if input_tokens.saturating_add(output_tokens_max.into()) > WINDOW_TOKENS.into() {
        let message = format!(
            "the conversation has {input_tokens} tokens, and with {output_tokens_max} of output it does not fit \
             into {WINDOW_TOKENS}"
        );
        return Err(Failure { kind: FailureKind::TooLong, message });
    }
    let (parts, cut) = usage::cut_to(play::respond(&script, request), output_tokens_max);
    let stop = match () {
        () if cut => Stop::Length,
        () if parts.iter().any(|part| matches!(part, Part::Call(_))) => Stop::ToolUse,
        () => Stop::End,
    };
    let usage = Usage { input_tokens, cached_input_tokens: 0, output_tokens: usage::output_tokens(&parts) };
    Ok(Response { parts, stop, usage })
}

/// The pieces in which `text` is streamed: word by word, each with the white space after it.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

#[cfg(test)]
mod tests;
