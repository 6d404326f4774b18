//! The office's own verbs as tools, through the handles that the host gives a call.
//!
//! It knows no name of a conversation, a seat's work or a budget: each tool uses the one handle its manifest entry asks
//! for, and without it says so. What may be shown, and what may be wished, is the host's to say; here it only takes the
//! form that a model reads.

#[cfg(target_arch = "wasm32")]
mod bindings;
mod definitions;
mod said;
mod verbs;

use guest::{Call, Definition, Failure, Host, Kind, Tools};
use serde::Deserialize;
use serde_json::Value;
use verbs::Verbs;

#[cfg(target_arch = "wasm32")]
guest::bindings::export!(Office with_types_in guest::bindings);

/// How many lines a page has where the model does not say.
const LINES_DEFAULT: u32 = 20;
/// How many turns are told where the model does not say.
const TURNS_DEFAULT: u32 = 5;

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Office;

impl Tools for Office {
    fn definitions() -> Vec<Definition> {
        definitions::all()
    }

    fn call(call: &Call, _host: &dyn Host) -> Result<Value, Failure> {
        #[cfg(target_arch = "wasm32")]
        return answer(call, &bindings::given());
        #[cfg(not(target_arch = "wasm32"))]
        answer(call, &verbs::Nothing)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    find: Option<String>,
    before: Option<u64>,
    limit: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turns {
    limit: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LookAgain {
    minutes: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    seat: String,
    wanted: String,
    minutes: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    request: String,
    answer: String,
}

/// Makes one call with what it was given.
fn answer(call: &Call, verbs: &dyn Verbs) -> Result<Value, Failure> {
    match call.tool.as_str() {
        "office.said" => {
            let Said { find, before, limit } = call.read()?;
            verbs.said(find, before, limit.unwrap_or(LINES_DEFAULT)).map(|page| said::page(&page))
        }
        "office.seats" => verbs.seats().map(|seats| said::seats(&seats)),
        "office.turns" => {
            let Turns { limit } = call.read()?;
            verbs.turns(limit.unwrap_or(TURNS_DEFAULT)).map(|turns| said::turns(&turns))
        }
        "office.budgets" => verbs.budgets().map(|budgets| said::budgets(&budgets)),
        "office.waiting" => verbs.waiting().map(|waiting| said::waiting(&waiting)),
        "office.look-again" => {
            let LookAgain { minutes } = call.read()?;
            verbs.look_again(minutes).map(said::looks_again)
        }
        "office.ask" => {
            let Ask { seat, wanted, minutes } = call.read()?;
            if wanted.trim().is_empty() {
                return Err(Failure::new(
                    Kind::InvalidInput,
                    "`wanted` is empty: say what the seat is to answer",
                ));
            }
            verbs.ask(&seat, &wanted, minutes).map(|request| said::asked(&request))
        }
        "office.answer" => {
            let Answer { request, answer } = call.read()?;
            verbs.answer(&request, &answer).map(|request| said::answered(&request))
        }
        _ => Err(call.unknown()),
    }
}

#[cfg(test)]
mod tests;
