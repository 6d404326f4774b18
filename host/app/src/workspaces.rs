//! The workspaces that the office is in: who it is in each, how it comes into one, and what follows when it is removed.
//!
//! A workspace has a token of its own: `slack.bot-token` is that of the first, `slack.bot-token@T…` that of each other,
//! from the configuration or from the folder of tokens. Always holds: a call in one workspace never goes with another's
//! token; no token stands on the record; what cannot be done in one workspace leaves the others alone.

mod gone;
mod install;
mod renew;

pub(crate) use install::CLIENT_SECRET;
pub use install::{address, installs, redirect};

use crate::serve::SYSTEM_SEAT;
use crate::wire::Office;
use crate::{seed, slack};
use anyhow::{Context, Result, bail};
use event::{
    ConnectionEnded, ConnectionIdentified, EventId, Expected, Fact, PrincipalId, RefusalLifted,
    RefusalRaised, RefusalSubject, SeatId, StreamName,
};
use fold::refusal::{RefusalRow, Refusals, refusal_id};
use fold::{Projection, decode, setting};
use gate::{Call, FailureKind, Output, Passed, Payload};
use record::{Append, Decided, Record, RowKey};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use vault::Vault;

/// The service.
const SOURCE: &str = converse::SOURCE_SLACK;
/// The credential of the office's first workspace.
pub(crate) const TOKEN: &str = "slack.bot-token";
/// What a token is exchanged for the next one.
const REFRESH: &str = "slack.refresh-token";
/// What the gate's call is called by which the office asks who it is.
const IDENTIFY: &str = "identify";
/// Why the refusal of a workspace stands that the office raised itself: its name is made of this.
const GONE: &str = "connection.ended";

/// The credential of a workspace's token.
pub(crate) fn token_of(team: &str) -> String {
    format!("{TOKEN}@{team}")
}

/// The credential that the next token of a workspace is exchanged for.
fn refresh_of(team: &str) -> String {
    format!("{REFRESH}@{team}")
}

/// Lets the first workspace's token be known by the workspace too, as the record has it: until Slack says so again.
///
/// # Errors
/// When the record cannot be read.
pub async fn remember(record: &Record, vault: &Vault) -> Result<()> {
    let first = record.row("setting", &setting::connection(SOURCE)).await?;
    if let Some(first) = decode::<ConnectionIdentified>(first.as_ref()).filter(|_| vault.has(TOKEN)) {
        vault.also(&token_of(&first.team), TOKEN);
    }
    Ok(())
}

/// The workspaces that a token is kept for, or configured, beside the first.
pub(crate) fn others(vault: &Vault) -> BTreeSet<String> {
    let configured: Vec<String> = vault.references().map(str::to_owned).collect();
    let all = configured.into_iter().chain(vault.kept());
    all.filter_map(|reference| Some(reference.strip_prefix(TOKEN)?.strip_prefix('@')?.to_owned())).collect()
}

/// Learns who the office is in each of its workspaces. What Slack said before is good enough where it does not answer now.
///
/// # Errors
/// When the record cannot be used, or the office is in no workspace and nobody could install it in one.
pub async fn identify_all(office: &Office, cause: &EventId) -> Result<()> {
    let vault = office.hands.vault();
    let mut wanted: Vec<Option<String>> = Vec::new();
    if vault.has(TOKEN) {
        wanted.push(None);
    }
    wanted.extend(others(vault).into_iter().map(Some));
    let (mut known, mut problems) = (0_usize, Vec::new());
    for team in wanted {
        match identify(office, cause, team.as_deref()).await? {
            Known::Now | Known::Before => known += 1,
            Known::Not { problem, .. } => {
                let place = team.map_or_else(|| format!("with `{TOKEN}`"), |team| format!("in `{team}`"));
                tracing::warn!(
                    "Slack did not say who the office is {place}, which is silent there: {problem}"
                );
                problems.push(problem);
            }
        }
    }
    if known == 0 && office.config.slack.as_ref().is_some_and(|slack| slack.install.is_none()) {
        let problem = problems.first().cloned().unwrap_or_else(|| format!("there is no `{TOKEN}`"));
        bail!("Slack did not say who the office is there, and without that it would answer itself: {problem}")
    }
    Ok(())
}

/// What is known of the office in a workspace.
enum Known {
    /// Slack said so just now.
    Now,
    /// Slack said so before, and does not answer now.
    Before,
    /// Nothing that could be used.
    Not {
        /// Why.
        problem: String,
        /// Whether Slack says that the token is no token.
        is_no: bool,
    },
}

/// Asks who the office is in `team`; in that of the first token when it is nothing. Where it was removed before, that no is
/// taken back to ask, and raised again when the answer is none.
async fn identify(office: &Office, cause: &EventId, team: Option<&str>) -> Result<Known> {
    let was_gone = match team {
        Some(team) => lift(office, team).await?,
        None => false,
    };
    let known = identify_now(office, cause, team).await?;
    if let (true, Some(team), Known::Not { problem, .. }) = (was_gone, team, &known) {
        let reason = format!("Slack does not say who it is there: {problem}");
        end(office, team, &reason, (cause.as_str(), Some(cause)), false).await?;
    }
    Ok(known)
}

async fn identify_now(office: &Office, cause: &EventId, team: Option<&str>) -> Result<Known> {
    let (problem, is_no) = match asked(office, cause, team).await? {
        Ok(answer) => match identified(&answer) {
            Some(own) if team.is_none_or(|team| own.team == team) => {
                stated(office, own, &answer, team).await?;
                return Ok(Known::Now);
            }
            Some(own) => (format!("its token is of `{}`", own.team), true),
            None => ("its answer has no workspace or no user".to_owned(), false),
        },
        Err(no) => no,
    };
    let key = match team {
        Some(team) => setting::connection_in(SOURCE, team),
        None => setting::connection(SOURCE),
    };
    if !is_no && office.record.row("setting", &key).await?.is_some() {
        tracing::warn!(problem, "Slack did not say who the office is; what it said before stands");
        return Ok(Known::Before);
    }
    Ok(Known::Not { problem, is_no })
}

/// Slack's answer, or why there is none and whether that is a no to the token.
async fn asked(
    office: &Office,
    cause: &EventId,
    team: Option<&str>,
) -> Result<std::result::Result<Value, (String, bool)>> {
    let kind = team.map_or_else(|| IDENTIFY.to_owned(), |team| format!("{IDENTIFY}-{team}"));
    let input = team.map_or_else(|| json!({}), |team| json!({ "team": team }));
    let call =
        Call::duty(SeatId::parse(SYSTEM_SEAT)?, (cause, &kind, 1), "slack.identity", Payload::Tool(input));
    Ok(match office.gate.pass(call, None).await? {
        Passed::Done { output: Output::Tool(answer), .. } => Ok(answer),
        Passed::Done { .. } => Err(("the tool `slack.identity` answered as a model".to_owned(), false)),
        Passed::Failed { failure, .. } => {
            let is_no = failure.kind == FailureKind::NotAllowed;
            Err((failure.message, is_no))
        }
        Passed::Denied(denial) => Err((denial.reason, false)),
        Passed::Refused(refusal) => Err((refusal.reason, false)),
        Passed::Unknown { reason } => Err((reason, false)),
        Passed::Waits { approval, .. } => Err((format!("it waits for a person's yes (`{approval}`)"), false)),
    })
}

/// Puts on the record who the office is in a workspace, and takes back the refusal that it raised when it was removed.
async fn stated(
    office: &Office,
    own: ConnectionIdentified,
    answer: &Value,
    team: Option<&str>,
) -> Result<()> {
    if team.is_none() {
        office.hands.vault().also(&token_of(&own.team), TOKEN);
    }
    let key = setting::connection_in(SOURCE, &own.team);
    let wanted = seed::Wanted::new(key, "connection", SOURCE, own.clone());
    seed::put_in_force(&office.record, vec![wanted]).await?;
    lift(office, &own.team).await?;
    let granted = answer.get("scopes").and_then(Value::as_array);
    let granted: Option<BTreeSet<String>> =
        granted.map(|scopes| scopes.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    for lack in granted.iter().flat_map(slack::lacking) {
        tracing::warn!(team = own.team, "{lack}");
    }
    Ok(())
}

fn identified(answer: &Value) -> Option<ConnectionIdentified> {
    let field = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let fact = ConnectionIdentified {
        source: SOURCE.to_owned(),
        team: field("team"),
        user: field("bot_user"),
        bot: field("bot"),
        app: field("app"),
    };
    (!fact.user.is_empty() && !fact.team.is_empty()).then_some(fact)
}

/// Takes back the refusal of a workspace that the office raised itself; whether there was one. One that somebody raised
/// stands.
async fn lift(office: &Office, team: &str) -> Result<bool> {
    let subject = RefusalSubject::Workspace(team.to_owned());
    let (key, own) = (fold::refusal::key(&subject), refusal_id(&subject, GONE));
    let id = seed::fresh_event_id()?;
    let reads = vec![RowKey::new(Refusals.name(), &key)];
    let decided = office.record.decide(reads, move |rows, _| {
        let stands: Option<RefusalRow> = rows.state(Refusals.name(), &key);
        let own = stands.filter(|row| row.raised.refusal == own);
        let lifted = own.map(|row| RefusalLifted {
            refusal: row.raised.refusal,
            subject: subject.clone(),
            reason: "the office is in the workspace again".to_owned(),
        });
        let append = |fact| seed::append_of(id, seed::host(), StreamName::new("refusal", &subject), fact);
        let was_gone = lifted.is_some();
        Ok::<_, Infallible>((lifted.map(Fact::from).map(append).into_iter().collect(), was_gone))
    });
    match decided.await? {
        Decided::Appended { value, .. } => Ok(value),
        Decided::Rejected(never) => match never {},
    }
}

/// The office is no longer in `team`: it is silent there from here on, in one commit, and the token is no more where
/// `forget` says that it is good for nothing.
/// `named` is what it follows from: it ends once for that.
async fn end(
    office: &Office,
    team: &str,
    reason: &str,
    (named, cause): (&str, Option<&EventId>),
    forget: bool,
) -> Result<()> {
    let subject = RefusalSubject::Workspace(team.to_owned());
    let ended =
        ConnectionEnded { source: SOURCE.to_owned(), team: team.to_owned(), reason: reason.to_owned() };
    let raised = RefusalRaised {
        refusal: refusal_id(&subject, GONE),
        subject: subject.clone(),
        reason: format!("the office is no longer in the workspace `{team}`: {reason}"),
        lifts_at: None,
    };
    let event = |kind: &str, fact: Fact| event::Proposed {
        id: EventId::derived(&[kind, team, named]),
        actor: event::Actor { principal: PrincipalId::host(), seat: None },
        cause: cause.cloned(),
        label: event::Label::host(),
        fact,
    };
    let appends = vec![
        Append::new(StreamName::new("connection", SOURCE), Expected::Any, vec![event(GONE, ended.into())]),
        Append::new(
            StreamName::new("refusal", &subject),
            Expected::Any,
            vec![event("refusal.raised", raised.into())],
        ),
    ];
    let decided = office.record.decide(Vec::new(), move |_, _| Ok::<_, Infallible>((appends, ())));
    match decided.await {
        Ok(Decided::Appended { .. }) | Err(record::Error::IdTaken { .. }) => {}
        Ok(Decided::Rejected(never)) => match never {},
        Err(error) => return Err(error.into()),
    }
    let vault = office.hands.vault();
    vault.not_also(&token_of(team));
    if forget {
        for reference in [token_of(team), refresh_of(team)] {
            vault.forget(&reference).with_context(|| format!("the token of the workspace `{team}`"))?;
        }
    }
    tracing::warn!(team, reason, "the office is silent in this workspace from now on");
    Ok(())
}

/// Follows what happens to installations until `stop` says so; at once done where the office has no Slack.
///
/// # Errors
/// None: what goes wrong in one workspace is logged and tried again, and is no reason to stop an office.
pub async fn keep(office: Arc<Office>, stop: watch::Receiver<bool>) -> Result<()> {
    if office.config.slack.is_some() {
        tokio::join!(gone::keep(&office, stop.clone()), renew::keep(&office, stop));
    }
    Ok(())
}
