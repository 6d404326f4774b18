//! The story, checked: each check is one sentence, and what the record or the emulator says for or against it.
//!
//! Pure: everything that is judged is an argument. No check can pass on an empty record.

use serde_json::Value;

use super::read::{Record, Step, text};
use super::site::Served;
use super::story::{BOT, GENERAL, Played, RANDOM, TEAM};

/// The host that nobody granted, as `demo/story.toml` names it.
pub const HOST_NOT_GRANTED: &str = "intranet.example.com";
/// What the page says to call everyone in a channel.
const CALL_TO_ALL: &str = "<!channel>";

/// Everything there is to judge by.
#[derive(Debug)]
pub struct Evidence {
    /// What was said.
    pub played: Played,
    /// The whole record.
    pub record: Record,
    /// Whether `chancery record verify` passed, and what it printed.
    pub verified: Result<String, String>,
    /// Origin of the demo's site.
    pub site: String,
    /// What the site served.
    pub served: Vec<Served>,
    /// The emulator's own copy of #general.
    pub general: Vec<Value>,
    /// The emulator's own copy of #random.
    pub random: Vec<Value>,
    /// Arguments of every `chat.postMessage` as the emulator got them.
    pub posts: Vec<Value>,
    /// Secrets that must stand nowhere.
    pub secrets: Vec<String>,
    /// All that the office printed.
    pub log: String,
}

/// One sentence, and what was found: evidence for it, or what is there instead.
pub type Check = (&'static str, Result<String, String>);

/// Judges the whole story.
pub fn judge(e: &Evidence) -> Vec<Check> {
    vec![
        ("the question came twice, as `message` and `app_mention`, and is one message", one_message(e)),
        ("exactly one turn, opened for that message", one_turn(e)),
        ("the turn thought, read, thought, was denied, thought, and sent", steps(e)),
        ("the page was read once, and its receipt has the digest of what the site served", receipt(e)),
        ("the site was shown no credential", no_credential(e)),
        ("the second address was denied by policy, and the reason names the host", denied(e)),
        ("the model was told why: the answer quotes the reason", told(e)),
        ("the turn ended with an answer whose source is that receipt", sources(e)),
        ("the answer is an effect that was sent, in the question's thread", sent(e)),
        ("the emulator has that answer once, in that thread", answered_once(e)),
        ("what the page says to call everyone is quoted and calls nobody", calls_nobody(e)),
        ("the other person's message asked nothing and got nothing", aside_got_nothing(e)),
        ("every hold is settled, each for more than nothing", holds_settled(e)),
        ("no secret stands on the record or in the log", no_secret(e)),
        ("`chancery record verify` passes", e.verified.clone()),
    ]
}

/// `found` when `holds`, as evidence or as what is there instead.
fn found(holds: bool, found: impl Into<String>) -> Result<String, String> {
    if holds { Ok(found.into()) } else { Err(found.into()) }
}

fn question(e: &Evidence) -> Result<&Value, String> {
    e.record
        .message(GENERAL.id, &e.played.asked_ts)
        .ok_or_else(|| format!("no message.received for {} in {}", e.played.asked_ts, GENERAL.id))
}

fn turn(e: &Evidence) -> Result<&str, String> {
    let opened: Vec<&str> = e.record.of("turn.opened").map(|event| text(event, "/body/turn")).collect();
    match opened.as_slice() {
        [turn] => Ok(turn),
        other => Err(format!("{} turns: {}", other.len(), other.join(", "))),
    }
}

fn page_receipt(e: &Evidence) -> Result<&str, String> {
    let steps = e.record.steps(turn(e)?);
    let receipts: Vec<&str> =
        steps.iter().filter(|step| step.tool() == "web.fetch").flat_map(Step::receipts).collect();
    match receipts.as_slice() {
        [receipt] => Ok(receipt),
        other => Err(format!("web.fetch left {} receipts: {}", other.len(), other.join(", "))),
    }
}

fn denial(e: &Evidence) -> Result<&Value, String> {
    let denials: Vec<&Value> = e.record.of("call.denied").collect();
    match denials.as_slice() {
        [denial] => Ok(denial),
        other => Err(format!("{} calls were denied", other.len())),
    }
}

/// The intent and the outcome of the one `slack.post`.
fn post(e: &Evidence) -> Result<(&Value, &Value), String> {
    let intents: Vec<&Value> = e.record.with("effect.intended", "tool", "slack.post").collect();
    let [intent] = intents.as_slice() else {
        return Err(format!("{} slack.post were intended", intents.len()));
    };
    let effect = text(intent, "/body/effect");
    let outcome = e.record.with("effect.sent", "effect", effect).next();
    outcome
        .map(|outcome| (*intent, outcome))
        .ok_or_else(|| format!("{effect} was intended and no effect.sent follows"))
}

/// The event types of the deliveries that brought the message of `ts`, sorted.
fn deliveries<'e>(e: &'e Evidence, ts: &str) -> Vec<&'e str> {
    let all = e.record.of("delivery.received");
    let of_message = all.filter(|delivery| text(delivery, "/body/payload/event/ts") == ts);
    let mut events: Vec<&str> = of_message.map(|delivery| text(delivery, "/body/event")).collect();
    events.sort_unstable();
    events
}

fn one_message(e: &Evidence) -> Result<String, String> {
    let ts = &e.played.asked_ts;
    let messages = e.record.with("message.received", "place/ts", ts).count();
    let merged = e.record.with("message.merged", "place/ts", ts).count();
    let events = deliveries(e, ts);
    let holds = (messages, merged) == (1, 1) && events == ["app_mention", "message"];
    found(holds, format!("deliveries {events:?}, {messages} message, {merged} merged"))
}

fn one_turn(e: &Evidence) -> Result<String, String> {
    let turn = turn(e)?;
    let woken_by =
        e.record.of("turn.opened").map(|event| text(event, "/body/woken_by")).next().unwrap_or_default();
    let asked = text(question(e)?, "/id");
    found(woken_by == asked, format!("{turn}, woken by {woken_by}; the question is {asked}"))
}

fn steps(e: &Evidence) -> Result<String, String> {
    let steps = e.record.steps(turn(e)?);
    let seen: Vec<(&str, &str, &str)> = steps.iter().map(|s| (s.kind(), s.tool(), s.outcome())).collect();
    let wanted = [
        ("infer", "scripted/story", "succeeded"),
        ("tool", "web.fetch", "succeeded"),
        ("infer", "scripted/story", "succeeded"),
        ("tool", "web.fetch", "denied"),
        ("infer", "scripted/story", "succeeded"),
        ("send", "slack.post", "succeeded"),
    ];
    let shown: Vec<String> = seen.iter().map(|(_, tool, outcome)| format!("{tool} {outcome}")).collect();
    found(seen == wanted, shown.join(", "))
}

fn receipt(e: &Evidence) -> Result<String, String> {
    let receipt = page_receipt(e)?;
    let event = e.record.with("receipt.recorded", "receipt", receipt).next();
    let event = event.ok_or_else(|| format!("no receipt.recorded for {receipt}"))?;
    let (address, sha256) = (text(event, "/body/address"), text(event, "/body/sha256"));
    let [served] = e.served.as_slice() else {
        return Err(format!("the site answered {} requests", e.served.len()));
    };
    let untrusted = event.pointer("/body/untrusted") == Some(&Value::Bool(true));
    let holds = address == format!("{}{}", e.site, served.path) && sha256 == served.sha256 && untrusted;
    found(
        holds,
        format!("{address} sha256 {sha256}; served {}{} sha256 {}", e.site, served.path, served.sha256),
    )
}

fn no_credential(e: &Evidence) -> Result<String, String> {
    let shown = e.served.iter().filter(|served| served.credential).count();
    found(shown == 0 && !e.served.is_empty(), format!("{shown} of {} requests carried one", e.served.len()))
}

fn denied(e: &Evidence) -> Result<String, String> {
    let denial = denial(e)?;
    let (by, tool, reason) =
        (text(denial, "/body/by"), text(denial, "/body/tool"), text(denial, "/body/reason"));
    let holds = by == "policy" && tool == "web.fetch" && reason.contains(HOST_NOT_GRANTED);
    found(holds, format!("by {by}: {reason}"))
}

fn told(e: &Evidence) -> Result<String, String> {
    let (reason, said) = (text(denial(e)?, "/body/reason"), text(post(e)?.0, "/body/input/text"));
    found(!reason.is_empty() && said.contains(reason), said)
}

fn sources(e: &Evidence) -> Result<String, String> {
    let turn = turn(e)?;
    let ended: Vec<&Value> = e.record.with("turn.ended", "turn", turn).collect();
    let [ended] = ended.as_slice() else { return Err(format!("{turn} ended {} times", ended.len())) };
    let list = ended.pointer("/body/sources").and_then(Value::as_array);
    let sources: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
    let ending = text(ended, "/body/ending");
    found(
        ending == "answered" && sources == [page_receipt(e)?],
        format!("{ending}, sources {}", sources.join(", ")),
    )
}

fn sent(e: &Evidence) -> Result<String, String> {
    let (intent, outcome) = post(e)?;
    let (channel, thread) = (text(intent, "/body/input/channel"), text(intent, "/body/input/thread_ts"));
    let of_turn = text(intent, "/body/origin/step/turn") == turn(e)?;
    let ts = text(outcome, "/body/reference/ts");
    let holds = of_turn && channel == GENERAL.id && thread == e.played.asked_ts && !ts.is_empty();
    found(holds, format!("{} in {channel}, thread {thread}, as {ts}", text(outcome, "/body/effect")))
}

fn by_the_office(messages: &[Value]) -> Vec<&Value> {
    messages
        .iter()
        .filter(|message| text(message, "/user") == BOT.id || message.get("bot_id").is_some())
        .collect()
}

fn answered_once(e: &Evidence) -> Result<String, String> {
    let (intent, outcome) = post(e)?;
    let answers = by_the_office(&e.general);
    let [answer] = answers.as_slice() else {
        return Err(format!("{} messages of the office", answers.len()));
    };
    let in_thread = text(answer, "/thread_ts") == e.played.asked_ts;
    let same = text(answer, "/ts") == text(outcome, "/body/reference/ts");
    let shown = shown_text(answer);
    let holds = in_thread && same && shown == text(intent, "/body/input/text");
    found(holds, format!("{} in thread {}: {shown}", text(answer, "/ts"), text(answer, "/thread_ts")))
}

/// What a person sees of a message: the text of its blocks, with Slack's three escapes undone.
fn shown_text(message: &Value) -> String {
    let blocks = message.pointer("/blocks").and_then(Value::as_array);
    let raw: String = blocks.into_iter().flatten().map(|block| text(block, "/text/text")).collect();
    raw.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn calls_nobody(e: &Evidence) -> Result<String, String> {
    let said = text(post(e)?.0, "/body/input/text");
    if !said.contains(CALL_TO_ALL) {
        return Err(format!("the answer does not quote `{CALL_TO_ALL}`, so there is nothing to see: {said}"));
    }
    let [post] = e.posts.as_slice() else { return Err(format!("{} chat.postMessage calls", e.posts.len())) };
    let mut raw: Vec<String> = by_the_office(&e.general).into_iter().map(Value::to_string).collect();
    raw.push(post.to_string());
    let calls = raw.iter().find(|raw| ["<!", "<@", "<#"].iter().any(|call| raw.contains(call)));
    let settled = post.get("parse").is_some_and(|parse| parse == "none")
        && post.get("link_names").is_some_and(|names| names == &Value::Bool(false));
    let blocks = post.pointer("/blocks").and_then(Value::as_array);
    let verbatim = |block: &Value| block.pointer("/text/verbatim") == Some(&Value::Bool(true));
    let all_verbatim = blocks.is_some_and(|blocks| !blocks.is_empty() && blocks.iter().all(verbatim));
    found(
        calls.is_none() && settled && all_verbatim,
        calls.cloned().unwrap_or_else(|| format!("it went out as {post}")),
    )
}

fn aside_got_nothing(e: &Evidence) -> Result<String, String> {
    let ts = &e.played.aside_ts;
    let message = e.record.message(RANDOM.id, ts).ok_or_else(|| format!("no message.received for {ts}"))?;
    let class = |c: &Value| format!("{} ({})", text(c, "/body/class"), text(c, "/body/reason"));
    let classes: Vec<String> = e.record.classes_of(message).map(class).collect();
    let explicit = classes.iter().any(|class| class.starts_with("explicit"));
    let topic = format!("slack:{TEAM}:{}:{ts}", RANDOM.id);
    let turns = e.record.with("turn.opened", "topic", &topic).count();
    let answers = by_the_office(&e.random).len();
    let came = deliveries(e, ts) == ["message"] && !e.random.is_empty();
    let holds = came && !classes.is_empty() && !explicit && turns == 0 && answers == 0;
    found(holds, format!("{}; {turns} turns, {answers} answers in #{}", classes.join(", "), RANDOM.name))
}

fn holds_settled(e: &Evidence) -> Result<String, String> {
    let mut lines = Vec::new();
    let mut all = true;
    for taken in e.record.of("hold.taken") {
        let hold = text(taken, "/body/hold");
        let settled: Vec<&Value> = e.record.with("hold.settled", "hold", hold).collect();
        let charged = settled.first().map(|event| text(event, "/body/charged")).unwrap_or_default();
        all &= settled.len() == 1 && charged.parse::<i64>().is_ok_and(|nano_usd| nano_usd > 0);
        lines.push(format!(
            "{} held, {} charged",
            text(taken, "/body/amount"),
            if charged.is_empty() { "nothing" } else { charged }
        ));
    }
    found(all && !lines.is_empty(), format!("{} holds, in nano-USD: {}", lines.len(), lines.join("; ")))
}

fn no_secret(e: &Evidence) -> Result<String, String> {
    let lines = e.record.all().iter().map(Value::to_string).chain([e.log.clone()]);
    let shown = lines.filter(|line| e.secrets.iter().any(|secret| line.contains(secret))).count();
    found(
        shown == 0 && !e.secrets.is_empty(),
        format!("{shown} of {} events and the log hold one of {}", e.record.all().len(), e.secrets.len()),
    )
}

#[cfg(test)]
mod tests;
