//! `cargo xtask day`: plays a day of five hundred messages to the whole office, and prints what it said, where, and why.
//!
//! The day is a test like any other (`tests/it/day.rs`), which holds what came of it to its rules; this runs that one and
//! shows the table it leaves.

use std::fs;

use crate::paths::Paths;
use crate::prepare;
use crate::progress::stage;
use crate::stop::Stop;

/// The one test.
const TEST: &str =
    "on_a_day_of_five_hundred_messages_nothing_is_said_twice_or_in_the_wrong_place_and_all_have_a_reason";

/// Play a day of five hundred messages in Slack, made from a seed, and print what the office said, where, and why.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The seed; another is another day.
    #[arg(long)]
    seed: Option<u64>,
}

/// Plays it.
///
/// # Errors
/// When something does not build, or the day breaks one of its rules.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    stage("guests", prepare::guests)?;
    stage("build", || prepare::host(&paths))?;
    let table = paths.guests().with_file_name("day.md");
    // What an earlier day left is not this one's.
    if table.exists() {
        fs::remove_file(&table).map_err(|e| Stop::because(table.display(), e))?;
    }
    let mut cargo = prepare::cargo(&paths);
    cargo.args(["test", "--quiet", "--package", "tests", "--test", "it", "--", "--exact"]);
    cargo.arg(format!("day::{TEST}"));
    if let Some(seed) = options.seed {
        cargo.env("CHANCERY_DAY", seed.to_string());
    }
    let status = stage("day", || cargo.status().map_err(|e| Stop::because("cargo did not start", e)))?;
    if let Ok(text) = fs::read_to_string(&table) {
        println!("{text}");
    }
    if status.success() { Ok(()) } else { Err(Stop::new("the day broke one of its rules: see above")) }
}
