//! Measures what running a guest costs: builds the figures of `component`, runs them, and shows them beside one another
//! and their targets.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::paths::Paths;
use crate::prepare;
use crate::progress::stage;
use crate::stop::Stop;

/// How long after its limit a guest may still be there, in milliseconds.
const OVERRUN_MS_MAX: f64 = 200.0;

/// What a call of a plugin costs, what twenty cost at a start, and how late one is ended that will not end.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The figures as JSON, one object a line, and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

/// One figure, in microseconds.
#[derive(Debug, Deserialize)]
struct Figure {
    name: String,
    us: f64,
}

/// Measures.
///
/// # Errors
/// When the guests or the figures do not build, or the measurement fails or gives no figures.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    if options.json {
        println!("{}", measure(&paths)?.trim());
        return Ok(());
    }
    stage("guests", prepare::guests)?;
    let told = stage("measure", || measure(&paths))?;
    println!("{}", shown(&super::read(&told)?)?);
    Ok(())
}

fn measure(paths: &Paths) -> Result<String, Stop> {
    let mut cargo = prepare::cargo(paths);
    cargo.args(["test", "--release", "--package", "component", "--lib", "--"]).args([
        "--ignored",
        "--exact",
        "tests::figures::figures_of_plugins",
        "--nocapture",
    ]);
    let said = super::said(&mut cargo, "the figures of plugins")?;
    let figures: Vec<&str> = said.lines().filter(|line| line.starts_with('{')).collect();
    Ok(figures.join("\n"))
}

/// The figures, the ratios that count, and which targets they meet.
fn shown(figures: &[Figure]) -> Result<String, Stop> {
    let us = |name: &str| {
        let found = figures.iter().find(|figure| figure.name == name).map(|figure| figure.us);
        found.ok_or_else(|| Stop::new(format!("no figure `{name}`")))
    };
    let mut text = String::new();
    for figure in figures {
        // Writing to a string cannot fail.
        _ = writeln!(text, "{:<18} {:>10.3} ms", figure.name, figure.us / 1e3);
    }
    _ = writeln!(text, "a fresh store and call beside a warm call: {:.1} times", us("fresh")? / us("warm")?);
    _ = writeln!(text, "beside no guest at all: {:.1} times", us("fresh")? / us("native")?);
    _ = writeln!(
        text,
        "a start with code kept beside one without: {:.2} times",
        us("start-compiled")? / us("start-uncompiled")?
    );
    _ = writeln!(
        text,
        "through the whole gate, nothing going out, at the median: {:.3} ms, and {:.3} ms with the record on disk",
        us("gated-memory")? / 1e3,
        us("gated-sqlite")? / 1e3
    );
    let overrun = us("overrun-running")?.max(us("overrun-waiting")?) / 1e3;
    let word = if overrun <= OVERRUN_MS_MAX { "met" } else { "NOT met" };
    _ = writeln!(
        text,
        "ended after its limit at worst: {overrun:.0} ms, at most {OVERRUN_MS_MAX:.0}: {word}"
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Figure, shown};

    #[test]
    fn figures_are_compared_and_the_overrun_is_held_to_its_target() {
        let named = [
            ("fresh", 200.0),
            ("warm", 20.0),
            ("native", 10.0),
            ("gated-memory", 900.0),
            ("gated-sqlite", 3_500.0),
            ("start-uncompiled", 1e6),
            ("start-compiled", 1e5),
            ("overrun-running", 15_000.0),
            ("overrun-waiting", 300_000.0),
        ];
        let mut figures: Vec<Figure> =
            named.iter().map(|(name, us)| Figure { name: (*name).to_owned(), us: *us }).collect();
        let text = shown(&figures).unwrap();
        assert!(
            text.contains("beside a warm call: 10.0 times") && text.contains("at all: 20.0 times"),
            "{text}"
        );
        assert!(text.contains("0.900 ms, and 3.500 ms with the record on disk"), "{text}");
        assert!(text.contains("at worst: 300 ms, at most 200: NOT met"), "{text}");
        figures.pop();
        assert!(shown(&figures).is_err(), "a figure that is missing is no target met");
    }
}
