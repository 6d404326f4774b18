//! Persons whose words the record keeps, and erasing them: `chancery subject …`.
//!
//! An erasure is stated first and done then: the event names the key, and from then on whoever finds that key still
//! there destroys it ([`mend`]). Nothing is taken out of the record, which stays whole; what was sealed under the key
//! is never read again, in any copy. Deliberately absent: a way back.

use crate::config::Config;
use crate::owner::{Acting, print_stated};
use crate::progress::shown;
use crate::table::table;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use event::{Event, Fact, Field, GlobalPosition, PrincipalId, PrincipalKind, StreamName, SubjectShredded};
use fold::subject::{SubjectRow, Subjects};
use fold::{Projection, decode};
use record::{Record, RowKey};
use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;
use tokio::sync::watch;
use vault::{KeyId, Keyring, key_ids};

/// Events looked through at a time.
const PAGE_EVENTS: usize = 500;
/// Erased persons looked at in one go: more than any office has, and a bound on a start's work.
const SUBJECTS_MAX: usize = 100_000;

/// Look at the persons whose words are kept, and erase what one of them said.
#[derive(Debug, Subcommand)]
pub enum SubjectCommand {
    /// List the persons whose words are kept, and those whose words were erased.
    List,
    /// Erase what a person said, and all that derives from it, for good.
    ///
    /// Says how many events it concerns and asks first. The record keeps its events, times and ids; their words are
    /// sealed under a key that is then destroyed, in this record, in its journal and in every copy of them. What other
    /// persons said in the same threads stays, unless it was kept together.
    Shred(ShredArgs),
}

/// Whose words, and why.
#[derive(Debug, Args)]
pub struct ShredArgs {
    /// The person, `person_…`, as `subject list` shows them.
    #[arg(value_name = "PERSON")]
    pub person: String,
    /// Why, for the record, which keeps it open: no word of the person belongs in it.
    #[arg(long, default_value = "asked for", value_name = "TEXT")]
    pub reason: String,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: SubjectCommand) -> Result<ExitCode> {
    match command {
        SubjectCommand::List => print!("{}", list(config).await?),
        SubjectCommand::Shred(args) => shred(config, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Every person with a key, and every one who was erased, a line each.
async fn list(config: &Config) -> Result<String> {
    let record = config.record.open_read_only().await?;
    let mut rows: BTreeMap<PrincipalId, (String, String)> = BTreeMap::new();
    for row in erased(&record).await? {
        rows.insert(row.subject, ("none".to_owned(), row.shredded_at.to_string()));
    }
    if let Some(keyring) = record.keyring() {
        for (subject, id) in keyring.subjects()? {
            rows.entry(subject).or_insert_with(|| (String::new(), "never".to_owned())).0 = id.to_string();
        }
    }
    if rows.is_empty() {
        return Ok("nobody's words are kept\n".to_owned());
    }
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(subject, (key, erased))| vec![subject.to_string(), key, erased]).collect();
    Ok(table(&["PERSON", "KEY", "ERASED"], &rows))
}

async fn erased(record: &Record) -> Result<Vec<SubjectRow>> {
    let rows = record.ranked(Subjects.name(), i64::MIN, SUBJECTS_MAX).await?;
    Ok(rows.iter().filter_map(|(_, row)| decode(Some(row))).collect())
}

/// Destroys every key that the record says is erased and that is still there: whoever stated it stopped before the
/// deed. Says how many there were.
///
/// # Errors
/// When the record cannot be read or a key cannot be destroyed.
pub async fn mend(record: &Record) -> Result<usize> {
    let Some(keyring) = record.keyring() else { return Ok(0) };
    let mut mended = 0;
    for row in erased(record).await? {
        for id in row.keys.iter().filter_map(|id| KeyId::parse(id)) {
            if keyring.destroy(&row.subject, &id)? {
                tracing::warn!(subject = %row.subject, key = %id, "an erasure that was stated is now done");
                mended += 1;
            }
        }
    }
    Ok(mended)
}

async fn shred(config: &Config, args: &ShredArgs) -> Result<()> {
    let subject = PrincipalId::parse(&args.person)?;
    if subject.kind() != PrincipalKind::Person {
        bail!("`{subject}` is not a person: agents and systems have no words of their own");
    }
    let acting = Acting::open(config, None).await?;
    let keyring = acting.record.keyring().context("the record was opened without keys")?.clone();
    mend(&acting.record).await?;
    let Some(key) = keyring.key_id(&subject)? else {
        println!("no word of `{subject}` is kept: `chancery subject list` shows whose are");
        return Ok(());
    };
    println!("{}", counted(config, &subject, &key).await?);
    if !args.yes && !confirmed(&subject)? {
        println!("nothing was erased");
        return Ok(());
    }
    print_stated(&erase(&acting, &keyring, &subject, &key, &args.reason).await?);
    println!("the key {key} of `{subject}` is destroyed");
    Ok(())
}

/// States the erasure and does it. Where it was stated before, it is only done.
async fn erase(
    acting: &Acting,
    keyring: &Keyring,
    subject: &PrincipalId,
    key: &KeyId,
    reason: &str,
) -> Result<Vec<Event>> {
    let reads = vec![RowKey::new(Subjects.name(), subject.as_str())];
    let fact =
        SubjectShredded { subject: subject.clone(), keys: vec![key.to_string()], reason: reason.to_owned() };
    let stated = acting.state(reads, move |rows, _| {
        let row: Option<SubjectRow> = rows.state(Subjects.name(), fact.subject.as_str());
        let before = row.is_some_and(|row| fact.keys.iter().all(|key| row.keys.contains(key)));
        let stream = StreamName::new("subject", &fact.subject);
        Ok(if before { Vec::new() } else { vec![(stream, Fact::from(fact))] })
    });
    let stated = stated.await?;
    keyring.destroy(subject, key).map_err(|error| {
        anyhow!(error).context("the erasure is stated and not done; the next start tries again")
    })?;
    Ok(stated)
}

/// What an erasure concerns.
#[derive(Default)]
struct Counted {
    /// Events sealed under the key.
    events: u64,
    /// Those of them that hold words of others too.
    shared: u64,
}

impl Counted {
    fn see(&mut self, event: &Event, subject: &PrincipalId, key: &KeyId) {
        let fields = event.fact.personal();
        let under = |field: &dyn Field| -> Option<bool> {
            let place = field.subjects().iter().position(|one| one == subject)?;
            Some(key_ids(field.sealed()?, field.subjects().len())?.get(place) == Some(key))
        };
        let mut concerned = fields.iter().filter(|(_, field)| under(*field) == Some(true)).peekable();
        if concerned.peek().is_some() {
            self.events += 1;
            self.shared += u64::from(concerned.any(|(_, field)| field.subjects().len() > 1));
        }
    }
}

/// Looks through the whole record, sealed as it is, and says what an erasure concerns.
async fn counted(config: &Config, subject: &PrincipalId, key: &KeyId) -> Result<String> {
    let record = config.record.open_read_only().await?.without_keyring();
    let (head, _) = record.head().await?;
    let (tell, told) = watch::channel(0);
    let count = async {
        let (mut counted, mut after) = (Counted::default(), GlobalPosition(0));
        loop {
            let page = record.read_all(after, PAGE_EVENTS).await?;
            let Some(last) = page.last() else { return Ok::<_, record::Error>(counted) };
            after = last.global_position;
            page.iter().for_each(|event| counted.see(event, subject, key));
            tell.send_replace(after.0);
        }
    };
    let Counted { events, shared } = shown("looking", head.0, &[told], count).await?;
    Ok(format!(
        "{events} events hold words of `{subject}` or derive from them, {shared} of them together with words of others; \
         their words cannot be read again by anybody"
    ))
}

/// Asks at a terminal.
fn confirmed(subject: &PrincipalId) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("this cannot be undone, and there is nobody to ask: say `--yes`");
    }
    print!("erase what `{subject}` said, for good? Type the person to go on: ");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim() == subject.as_str())
}

#[cfg(test)]
mod tests;
