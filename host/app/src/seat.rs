//! `chancery seat`: the seats as the record has them, and the facts that change them.
//!
//! What may become of a seat is decided in `fold`, and who may say so where the record takes the fact; here the words
//! of a command become a wish, and a no is told as it was said.

mod args;
mod tell;

pub use args::{ActArgs, ChangeArgs, CreateArgs, SeatCommand};
pub use tell::{as_change, as_create, as_hold, list, waits_for_nobody};

use crate::config::Config;
use crate::owner::{self, Acting, print_stated};
use crate::seed::first::{rows_of, standing, stream};
use anyhow::{Context, Result, bail};
use event::{Event, Fact, PrincipalId, SeatCreated, SeatId, StreamName};
use fold::seat::{Command, SeatState, decide, names_known};
use record::{RowKey, Rows};
use std::process::ExitCode;

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: SeatCommand) -> Result<ExitCode> {
    match command {
        SeatCommand::List => print!("{}", list(&config.record.open_read_only().await?).await?),
        SeatCommand::Show { seat } => {
            print!("{}", tell::show(&config.record.open_read_only().await?, &seat).await?);
        }
        SeatCommand::Create(args) => create(config, args).await?,
        SeatCommand::Change(args) => change(config, args).await?,
        SeatCommand::Hold { seat, principal, act } => hold(config, seat, principal, act).await?,
        SeatCommand::Vacate { seat, reason, act } => vacate(config, seat, reason, act).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn create(config: &Config, args: CreateArgs) -> Result<()> {
    let (holder, as_seat) = (args.holder.clone(), args.act.as_seat.clone());
    let created = args.created();
    not_the_owners(&created.seat)?;
    let acting = Acting::open(config, as_seat).await?;
    let reads = reads(&created.seat, &[&created.line, &created.stands_in]);
    let events = acting.state(reads, move |rows, _| {
        let seat = created.seat.clone();
        let fact = decide(standing(rows, &seat).as_ref(), Command::Create(created.clone()))?;
        names_known(&created, |named| standing(rows, named).is_some())?;
        let mut facts = vec![(stream(&seat), fact)];
        if let Some(holder) = holder {
            let vacant = SeatState { seat: created, holder: None };
            facts.push((stream(&seat), decide(Some(&vacant), Command::Hold(holder))?));
        }
        Ok(facts)
    });
    print_stated(&events.await?);
    Ok(())
}

async fn change(config: &Config, args: ChangeArgs) -> Result<()> {
    not_the_owners(&args.seat)?;
    let acting = Acting::open(config, args.act.as_seat.clone()).await?;
    let (seat, named) = (args.seat.clone(), [args.line.clone(), args.stands_in.clone()]);
    let reads = reads(&seat, &[&named[0], &named[1]]);
    let events = acting.state(reads, move |rows, _| {
        let before = standing(rows, &seat);
        let now = match &before {
            Some(before) => args.changed(&before.seat)?,
            None => return Err(no_such(&seat)),
        };
        names_known(&now, |one| !named.contains(&Some(one.clone())) || standing(rows, one).is_some())?;
        let fact = decide(before.as_ref(), Command::Change(now, args.reason)).with_context(|| told(&seat))?;
        Ok(vec![(stream(&seat), fact)])
    });
    print_stated(&events.await?);
    Ok(())
}

async fn hold(config: &Config, seat: SeatId, principal: PrincipalId, act: ActArgs) -> Result<()> {
    let (events, _) = wish(config, seat, act, Command::Hold(principal)).await?;
    print_stated(&events);
    Ok(())
}

async fn vacate(config: &Config, seat: SeatId, reason: String, act: ActArgs) -> Result<()> {
    let (events, acting) = wish(config, seat.clone(), act, Command::Vacate(reason)).await?;
    print_stated(&events);
    println!("{:<16} {}", "", tell::works_for(attention::works(&acting.record, &seat).await?.as_ref()));
    Ok(())
}

async fn wish(config: &Config, seat: SeatId, act: ActArgs, wish: Command) -> Result<(Vec<Event>, Acting)> {
    not_the_owners(&seat)?;
    let acting = Acting::open(config, act.as_seat).await?;
    let events = acting.state(reads(&seat, &[]), move |rows, _| decided(rows, &seat, wish)).await?;
    Ok((events, acting))
}

fn decided(rows: &Rows, seat: &SeatId, wish: Command) -> Result<Vec<(StreamName, Fact)>> {
    let Some(state) = standing(rows, seat) else { return Err(no_such(seat)) };
    let fact = decide(Some(&state), wish).with_context(|| told(seat))?;
    Ok(vec![(stream(seat), fact)])
}

fn told(seat: &SeatId) -> String {
    format!("nothing was done about `{seat}`")
}

fn no_such(seat: &SeatId) -> anyhow::Error {
    anyhow::anyhow!("there is no seat `{seat}`: `chancery seat list` shows those there are")
}

/// The rows of `seat` and of those that are named beside it.
fn reads(seat: &SeatId, named: &[&Option<SeatId>]) -> Vec<RowKey> {
    let named = named.iter().filter_map(|one| one.as_ref());
    std::iter::once(seat).chain(named).flat_map(rows_of).collect()
}

/// The owner's seat is as the configuration says at every start: what was said here would not last.
fn not_the_owners(seat: &SeatId) -> Result<()> {
    if *seat == owner::seat()?.seat {
        bail!("`{seat}` is as the configuration says: set `[office] owner` there, and start again");
    }
    Ok(())
}

/// A seat as it is made.
impl CreateArgs {
    fn created(self) -> SeatCreated {
        SeatCreated {
            seat: self.seat,
            role: self.role,
            department: self.department,
            line: self.line,
            grants: self.grants,
            accountabilities: self.accountabilities,
            stands_in: self.stands_in,
        }
    }
}

impl ChangeArgs {
    /// What the seat is after the change.
    ///
    /// # Errors
    /// When a grant is to be taken that the seat does not hold.
    pub fn changed(&self, before: &SeatCreated) -> Result<SeatCreated> {
        let mut now = before.clone();
        if let Some(role) = &self.role {
            now.role.clone_from(role);
        }
        now.department = replaced(now.department, &self.department, self.no_department);
        now.line = replaced(now.line, &self.line, self.no_line);
        now.stands_in = replaced(now.stands_in, &self.stands_in, self.no_stands_in);
        if !self.accountabilities.is_empty() || self.no_accountabilities {
            now.accountabilities.clone_from(&self.accountabilities);
        }
        if !self.grants.is_empty() {
            now.grants.clone_from(&self.grants);
        }
        for grant in &self.remove_grants {
            let Some(at) = now.grants.iter().position(|held| held == grant) else {
                let held = if now.grants.is_empty() { "none".to_owned() } else { now.grants.join(", ") };
                bail!("`{}` does not hold the grant `{grant}`; it holds {held}", before.seat);
            };
            now.grants.remove(at);
        }
        for grant in &self.add_grants {
            if !now.grants.contains(grant) {
                now.grants.push(grant.clone());
            }
        }
        Ok(now)
    }
}

fn replaced<T: Clone>(before: Option<T>, now: &Option<T>, gone: bool) -> Option<T> {
    if gone { None } else { now.clone().or(before) }
}
