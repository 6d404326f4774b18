//! Measures the gate: builds its bench program, runs it, and shows the pure half beside Cedar alone.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::paths::Paths;
use crate::progress::stage;
use crate::stop::Stop;

/// An admission with the most policies beside one with the fewest, at most: the set is sliced.
const FLAT_TIMES_MAX: f64 = 2.0;
/// A whole admission beside Cedar's own share of it, at most.
const SHARE_TIMES_MAX: f64 = 2.0;
/// A whole admission beside a bare decision with three policies, at most.
const BARE_TIMES_MAX: f64 = 10.0;

/// What an admission costs beside Cedar alone, with 10, 100 and 1,000 policies.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The figures as JSON and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

/// One figure: the median of one call.
#[derive(Debug, Deserialize)]
struct Figure {
    name: String,
    policies: u32,
    p50_ns: f64,
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
    println!("{}", shown(&super::read(&told)?)?);
    Ok(())
}

fn measure(paths: &Paths) -> Result<String, Stop> {
    super::gates(paths, "gate", &[])
}

/// The figures as ratios to the bare decision, and which targets they meet.
fn shown(figures: &[Figure]) -> Result<String, Stop> {
    let ns = |name: &str, policies: u32| {
        let found = figures.iter().find(|figure| figure.name == name && figure.policies == policies);
        found
            .map(|figure| figure.p50_ns)
            .ok_or_else(|| Stop::new(format!("no figure `{name}` with {policies} policies")))
    };
    let bare = ns("bare", 3)?;
    let mut text = format!("{:<28} {:>10} {:>8}\n", "", "p50", "x bare");
    for figure in figures {
        let name = format!("{} with {} policies", figure.name, figure.policies);
        // Writing to a string cannot fail.
        _ = writeln!(text, "{name:<28} {:>7.1} us {:>8.1}", figure.p50_ns / 1e3, figure.p50_ns / bare);
    }
    let checks = [
        ("1,000 policies beside 10", ns("admit", 1_000)? / ns("admit", 10)?, FLAT_TIMES_MAX),
        ("admission beside Cedar's share", ns("admit", 1_000)? / ns("decide", 1_000)?, SHARE_TIMES_MAX),
        ("admission beside a bare decision", ns("admit", 1_000)? / bare, BARE_TIMES_MAX),
    ];
    for (name, ratio, most) in checks {
        let word = if ratio <= most { "met" } else { "NOT met" };
        _ = writeln!(text, "{name}: {ratio:.1} times, at most {most:.0}: {word}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Figure, shown};

    fn figure(name: &str, policies: u32, p50_ns: f64) -> Figure {
        Figure { name: name.to_owned(), policies, p50_ns }
    }

    #[test]
    fn figures_are_compared_with_the_bare_decision_and_their_targets() {
        let mut figures = vec![figure("bare", 3, 1_000.0)];
        for policies in [10, 100, 1_000] {
            figures.push(figure("decide", policies, 5_000.0));
            figures.push(figure("admit", policies, if policies == 1_000 { 12_000.0 } else { 6_000.0 }));
        }
        let text = shown(&figures).unwrap();
        assert!(text.contains("1,000 policies beside 10: 2.0 times, at most 2: met"), "{text}");
        assert!(text.contains("admission beside Cedar's share: 2.4 times, at most 2: NOT met"), "{text}");
        assert!(shown(&figures[1..]).is_err(), "a figure that is missing is no target met");
    }
}
