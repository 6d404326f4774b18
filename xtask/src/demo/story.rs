//! The story: who is in the demo's workspace, what they say, and when everything that follows has happened.

use std::time::Duration;

use super::emulator::Control;
use super::office::Office;
use super::programs::Programs;
use super::read::Record;
use crate::stop::Stop;

/// The workspace.
pub const TEAM: &str = "T01DEMO";
/// The app.
pub const APP: &str = "A01CHANCERY";
/// The office's own user.
pub const BOT: User = User { id: "U0BOT", name: "chancery", real_name: "Chancery" };
/// She asks.
pub const ALICE: User = User { id: "U01ALICE", name: "alice", real_name: "Alice Anderson" };
/// He does not.
pub const BOB: User = User { id: "U01BOB", name: "bob", real_name: "Bob Bauer" };
/// Where the office is asked.
pub const GENERAL: Channel = Channel { id: "C01GENERAL", name: "general" };
/// Where it is not.
pub const RANDOM: Channel = Channel { id: "C01RANDOM", name: "random" };
/// What the second person says.
pub const ASIDE: &str = "lunch anyone?";

/// How long the whole story may take: a dozen calls of small guests, each of which takes milliseconds.
const STORY_MS_MAX: u64 = 60_000;
/// How long the office is watched after the story, for an answer too many.
const QUIET_MS: u64 = 1_500;

/// Someone in the workspace.
#[derive(Debug)]
pub struct User {
    /// `U…`.
    pub id: &'static str,
    /// The short name.
    pub name: &'static str,
    /// The full name.
    pub real_name: &'static str,
}

/// A channel of the workspace.
#[derive(Debug)]
pub struct Channel {
    /// `C…`.
    pub id: &'static str,
    /// The name without `#`.
    pub name: &'static str,
}

/// The name of a user or channel with this id, for people.
pub fn name_of(id: &str) -> Option<String> {
    let user = [&BOT, &ALICE, &BOB].into_iter().find(|user| user.id == id).map(|user| user.name.to_owned());
    let channel = || [&GENERAL, &RANDOM].into_iter().find(|channel| channel.id == id);
    user.or_else(|| channel().map(|channel| format!("#{}", channel.name)))
}

/// What was said, by timestamp.
#[derive(Debug)]
pub struct Played {
    /// The question, in #general.
    pub asked_ts: String,
    /// The other message, in #random.
    pub aside_ts: String,
}

/// What is asked about the page at `site`.
pub fn question(site: &str) -> String {
    format!("<@{}> what does {site}/ say?", BOT.id)
}

/// Lets both people speak, and waits until the record holds what came of it.
///
/// # Errors
/// When a message is not taken, or the office is not done in time.
pub fn play(programs: &mut Programs, control: &Control, office: &Office, site: &str) -> Result<Played, Stop> {
    let question = question(site);
    println!("   {} in #{}: {question}", ALICE.name, GENERAL.name);
    let asked_ts = control.say(&ALICE, &GENERAL, &question)?;
    println!("   {} in #{}: {ASIDE}", BOB.name, RANDOM.name);
    let aside_ts = control.say(&BOB, &RANDOM, ASIDE)?;
    let played = Played { asked_ts, aside_ts };
    let limit = Duration::from_millis(STORY_MS_MAX);
    programs.wait_for(
        "the end of the turn and a class for the other message, on the record",
        limit,
        || Ok(is_over(&office.record()?, &played).then_some(())),
    )?;
    programs.run_for(Duration::from_millis(QUIET_MS))?;
    Ok(played)
}

fn is_over(record: &Record, played: &Played) -> bool {
    let ended = record.of("turn.ended").count() > 0;
    let aside = record.message(RANDOM.id, &played.aside_ts);
    ended && aside.is_some_and(|message| record.classes_of(message).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shown_as_names() {
        assert_eq!(name_of("U01BOB").as_deref(), Some("bob"));
        assert_eq!(name_of("C01GENERAL").as_deref(), Some("#general"));
        assert_eq!(name_of("U99"), None);
    }
}
