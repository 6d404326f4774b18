//! Measures the purse: builds its bench program, runs it on the disk that is built on, and shows what a hold and its
//! settling cost beside one bare append.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::paths::Paths;
use crate::progress::stage;
use crate::stop::Stop;

/// A hold and its settling beside one bare append, at most.
const TIMES_MAX: f64 = 3.0;

/// What a hold and its settling cost beside one bare append, on SQLite.
///
/// On a machine that does nothing else.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The figures as JSON and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

/// What the bench program says. Times are medians in microseconds.
#[derive(Debug, Deserialize)]
struct Figures {
    rounds: u32,
    append_us: f64,
    /// The pure half with all it reads: it takes no hold and writes nothing.
    ask_us: f64,
    /// A whole paid call whose component answers at once.
    paid_us: f64,
}

/// Measures.
///
/// # Errors
/// When the bench program does not build, fails, or gives no figures.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    if options.json {
        println!("{}", measure(&paths)?.trim());
        return Ok(());
    }
    let told = stage("measure", || measure(&paths))?;
    let figures: Figures = serde_json::from_str(&told)
        .map_err(|e| Stop::because("what the bench program said are no figures", e))?;
    println!("{}", shown(&figures));
    Ok(())
}

fn measure(paths: &Paths) -> Result<String, Stop> {
    super::gates(paths, "purse", &[paths.target.join("bench").as_os_str()])
}

/// The figures as ratios to one append, and whether the target is met.
fn shown(figures: &Figures) -> String {
    let Figures { rounds, append_us, ask_us, paid_us } = figures;
    let purse_us = paid_us - ask_us;
    let mut text = format!("medians of {rounds}, in turns\n");
    for (name, us) in [
        ("one bare append", *append_us),
        ("asking the gate", *ask_us),
        ("a whole paid call", *paid_us),
        ("of it, hold and settle", purse_us),
    ] {
        // Writing to a string cannot fail.
        _ = writeln!(text, "{name:<24} {us:>8.0} us {:>6.2} times", us / append_us);
    }
    let times = purse_us / append_us;
    let word = if times <= TIMES_MAX { "met" } else { "NOT met" };
    _ = writeln!(text, "hold and settle beside one append: {times:.1} times, at most {TIMES_MAX:.0}: {word}");
    text
}

#[cfg(test)]
mod tests {
    use super::{Figures, shown};

    #[test]
    fn a_target_that_is_not_met_is_said() {
        let figures = |paid_us| Figures { rounds: 10, append_us: 100.0, ask_us: 50.0, paid_us };
        assert!(shown(&figures(340.0)).contains("2.9 times, at most 3: met"));
        assert!(shown(&figures(360.0)).contains("3.1 times, at most 3: NOT met"));
    }
}
