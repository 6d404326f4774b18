//! What was given, in the form that a model reads: moments as dates, amounts as dollars, and what is not there left out.

use crate::verbs::{Approval, Budget, Line, Page, Request, Seat, Turn, Waiting};
use serde_json::{Map, Value, json};

/// What stands where words were that were erased, or that not everyone who reads here may read.
const NOT_SHOWN: &str = "[not shown]";

/// A page of what was said.
pub fn page(page: &Page) -> Value {
    let mut said = json!({"lines": page.lines.iter().map(line).collect::<Vec<_>>()});
    add(&mut said, "earlier", page.earlier);
    add(&mut said, "withheld", Some(page.withheld).filter(|count| *count > 0));
    said
}

fn line(line: &Line) -> Value {
    json!({
        "at": moment(line.at_ms),
        "who": line.who.as_deref().unwrap_or("office"),
        "thread": line.thread,
        "text": line.text.as_deref().unwrap_or(NOT_SHOWN),
    })
}

/// The seats.
pub fn seats(seats: &[Seat]) -> Value {
    let one = |seat: &Seat| {
        let mut said = json!({"seat": seat.seat, "role": seat.role, "takes_turns": seat.takes_turns});
        add(&mut said, "you", seat.own.then_some(true));
        add(&mut said, "department", seat.department.clone());
        add(&mut said, "reports_to", seat.reports_to.clone());
        add(&mut said, "holder", seat.holder.clone());
        add(&mut said, "works_for_it", seat.works_for_it.clone());
        let answers_for = (!seat.answers_for.is_empty()).then(|| json!(seat.answers_for));
        add(&mut said, "answers_for", answers_for);
        said
    };
    json!({"seats": seats.iter().map(one).collect::<Vec<_>>()})
}

/// Turns.
pub fn turns(turns: &[Turn]) -> Value {
    let one = |turn: &Turn| {
        json!({
            "turn": turn.name, "at": moment(turn.at_ms), "woken_by": turn.woken_by, "ending": turn.ending,
            "summary": turn.summary.as_deref().unwrap_or(NOT_SHOWN),
        })
    };
    json!({"turns": turns.iter().map(one).collect::<Vec<_>>()})
}

/// Budgets.
pub fn budgets(budgets: &[Budget]) -> Value {
    let one = |budget: &Budget| {
        let mut said = json!({
            "budget": budget.name, "limit": dollars(budget.limit), "settled": dollars(budget.settled),
            "held": dollars(budget.held), "unknown": dollars(budget.unknown),
            "left": budget.left.map_or_else(|| "not known".to_owned(), dollars),
        });
        add(&mut said, "starts_anew_at", budget.resets_at_ms.map(moment));
        said
    };
    json!({"budgets": budgets.iter().map(one).collect::<Vec<_>>()})
}

/// What waits.
pub fn waiting(waiting: &Waiting) -> Value {
    let approval = |one: &Approval| {
        json!({
            "approval": one.approval, "tool": one.tool, "asked_at": moment(one.asked_at_ms),
            "expires_at": moment(one.expires_at_ms),
        })
    };
    let request = |one: &Request| {
        json!({
            "request": one.request, "asker": one.asker, "holder": one.holder, "due_at": moment(one.due_at_ms),
            "wanted": one.wanted.as_deref().unwrap_or(NOT_SHOWN),
        })
    };
    let mut said = json!({
        "approvals": waiting.approvals.iter().map(approval).collect::<Vec<_>>(),
        "requests": waiting.requests.iter().map(request).collect::<Vec<_>>(),
        "elsewhere": waiting.elsewhere,
    });
    add(&mut said, "look_again_at", waiting.look_again_at_ms.map(moment));
    said
}

/// That the seat looks again.
pub fn looks_again(at_ms: i64) -> Value {
    json!({"look_again_at": moment(at_ms)})
}

/// That another seat was asked.
pub fn asked(request: &str) -> Value {
    json!({"request": request, "asked": true})
}

/// That a request was answered.
pub fn answered(request: &str) -> Value {
    json!({"request": request, "answered": true})
}

fn add(said: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    let fields: Option<&mut Map<String, Value>> = said.as_object_mut();
    if let (Some(fields), Some(value)) = (fields, value) {
        fields.insert(key.to_owned(), value.into());
    }
}

/// Billionths of a dollar as people write them, to a millionth.
pub fn dollars(nano: i64) -> String {
    let sign = if nano < 0 { "-" } else { "" };
    let micro = nano.unsigned_abs() / 1_000;
    let text = format!("{sign}${}.{:06}", micro / 1_000_000, micro % 1_000_000);
    // Cents stay; what is below them is left out where it is nothing.
    let end = text.trim_end_matches('0').len().max(text.len() - 4);
    text.get(..end).unwrap_or(&text).to_owned()
}

/// Milliseconds since 1970 as a date and a time in UTC, to the minute.
///
/// Source of the rule: the proleptic Gregorian calendar, days counted in 400-year eras.
pub fn moment(ms: i64) -> String {
    let days = ms.div_euclid(86_400_000) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let minutes = ms.rem_euclid(86_400_000) / 60_000;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}Z", minutes / 60, minutes % 60)
}
