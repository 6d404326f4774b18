//! The figures of the record, and what is asked of them.
//!
//! What is compared with a target is a ratio within one run wherever there is something to compare with: the machine
//! falls out of it.

use std::fmt::Write as _;

use serde::Deserialize;

/// A single append beside a bare transaction, at most.
const APPEND_TIMES_MAX: f64 = 2.0;
/// Events a second of many callers beside those of one, at least.
const CALLERS_TIMES_MIN: f64 = 10.0;
/// Events a second of a rebuild, at least.
const REBUILD_PER_S_MIN: f64 = 50_000.0;
/// An append at the end of the curve beside one at its beginning, at most: what is left of the noise of a disk.
const CURVE_TIMES_MAX: f64 = 1.5;
/// Memory of a step over a history of any length, at most: far above what its pages need, far below what a history
/// takes.
const PEAK_MIB_MAX: f64 = 256.0;

/// What the bench program of `record` says. Times are medians in microseconds.
#[derive(Debug, Deserialize)]
pub struct Figures {
    store: String,
    events: u64,
    single: Single,
    callers: Callers,
    curve: Vec<Point>,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Single {
    flush_us: f64,
    bare_us: f64,
    /// The same by calls and no driver, where the database is a library.
    library_us: Option<f64>,
    append_us: f64,
    append_that_folds_us: f64,
}

#[derive(Debug, Deserialize)]
struct Callers {
    callers: u32,
    one_per_s: f64,
    all_per_s: f64,
    /// The same rows written by hand, one in a transaction and as many as there are callers.
    library_one_per_s: Option<f64>,
    library_all_per_s: Option<f64>,
}

/// One length of the history.
#[derive(Debug, Deserialize)]
struct Point {
    events: u64,
    append_us: f64,
    bare_us: f64,
}

impl Point {
    fn times(&self) -> f64 {
        self.append_us / self.bare_us
    }
}

/// One step over the whole history.
#[derive(Debug, Deserialize)]
struct Step {
    step: String,
    events: u64,
    per_s: f64,
    peak_mib: f64,
}

/// A figure beside its target.
#[derive(Debug)]
pub struct Check {
    what: String,
    figure: String,
    target: String,
    is_met: bool,
}

/// Every target, and whether it is met.
pub fn checks(figures: &Figures) -> Vec<Check> {
    let mut checks = vec![
        at_most(
            "an append, of a bare transaction",
            figures.single.append_us / figures.single.bare_us,
            APPEND_TIMES_MAX,
        ),
        at_least(
            &format!("{} callers, of one", figures.callers.callers),
            figures.callers.all_per_s / figures.callers.one_per_s,
            CALLERS_TIMES_MIN,
        ),
    ];
    if let (Some(first), Some(last)) = (figures.curve.first(), figures.curve.last())
        && figures.curve.len() > 1
    {
        let what = format!("an append at {} events, of one at {}", last.events, first.events);
        checks.push(at_most(&what, last.times() / first.times(), CURVE_TIMES_MAX));
    }
    for step in &figures.steps {
        if step.step == "rebuild" && figures.store == "sqlite" {
            checks.push(Check {
                what: "a rebuild, events a second".to_owned(),
                figure: format!("{:.0}", step.per_s),
                target: format!("at least {REBUILD_PER_S_MIN:.0}"),
                is_met: step.per_s >= REBUILD_PER_S_MIN,
            });
        }
    }
    checks.extend(figures.steps.iter().map(|step| Check {
        what: format!("memory of `{}` over {} events", step.step, step.events),
        figure: format!("{:.0} MiB", step.peak_mib),
        target: format!("at most {PEAK_MIB_MAX:.0} MiB"),
        is_met: step.peak_mib <= PEAK_MIB_MAX,
    }));
    checks
}

fn at_most(what: &str, times: f64, max: f64) -> Check {
    Check {
        what: what.to_owned(),
        figure: format!("{times:.2} times"),
        target: format!("at most {max} times"),
        is_met: times <= max,
    }
}

fn at_least(what: &str, times: f64, min: f64) -> Check {
    Check {
        what: what.to_owned(),
        figure: format!("{times:.1} times"),
        target: format!("at least {min} times"),
        is_met: times >= min,
    }
}

/// The figures as people read them.
pub fn shown(figures: &Figures, checks: &[Check]) -> String {
    let mut text = format!("record on {}, {} events\n\n", figures.store, figures.events);
    let Single { flush_us, bare_us, library_us, append_us, append_that_folds_us } = figures.single;
    // Writing to a string cannot fail.
    for (what, us) in [
        ("a flush of the disk", Some(flush_us)),
        ("a bare transaction", Some(bare_us)),
        ("the same on the thread that asks", library_us),
        ("an append", Some(append_us)),
        ("an append that folds two rows", Some(append_that_folds_us)),
    ] {
        let Some(us) = us else { continue };
        let _ = writeln!(text, "   {what:<32} {us:>8.0} us {:>6.2} times bare", us / bare_us);
    }
    let Callers { callers, one_per_s, all_per_s, library_one_per_s, library_all_per_s } = figures.callers;
    let _ = writeln!(text, "   {:<32} {one_per_s:>8.0} events a second", "one caller");
    let _ = writeln!(text, "   {:<32} {all_per_s:>8.0} events a second", format!("{callers} callers"));
    if let (Some(one), Some(all)) = (library_one_per_s, library_all_per_s) {
        let times = all / one;
        let _ = writeln!(text, "   {:<32} {one:>8.0} rows a second", "one such row by hand");
        let _ = writeln!(
            text,
            "   {:<32} {all:>8.0} rows a second {times:>6.1} times one",
            format!("{callers} in a transaction")
        );
    }
    text.push_str("\n   how an append grows\n");
    for point in &figures.curve {
        let Point { events, append_us, bare_us } = point;
        let _ = writeln!(
            text,
            "   {events:>10} events {append_us:>8.0} us {:>6.2} times bare ({bare_us:.0} us)",
            point.times()
        );
    }
    text.push('\n');
    for Step { step, per_s, peak_mib, .. } in &figures.steps {
        let _ = writeln!(text, "   {step:<10} {per_s:>8.0} events a second, at most {peak_mib:>4.0} MiB");
    }
    text.push('\n');
    for Check { what, figure, target, is_met } in checks {
        let met = if *is_met { "met" } else { "not met" };
        let _ = writeln!(text, "   {what:<48} {figure:>12}  {target:<22} {met}");
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Figures, checks, shown};
    use serde_json::json;

    fn figures(append_us: f64, all_per_s: f64, last_us: f64, rebuild_per_s: f64, peak_mib: f64) -> Figures {
        let point = |events: u64, us: f64| json!({ "events": events, "append_us": us, "bare_us": 100.0 });
        let step = |step: &str, per_s: f64| json!({ "step": step, "events": 9, "per_s": per_s, "peak_mib": peak_mib });
        serde_json::from_value(json!({
            "store": "sqlite", "events": 9,
            "single": {
                "flush_us": 50.0, "bare_us": 100.0, "library_us": null, "append_us": append_us, "append_that_folds_us": append_us,
            },
            "callers": {
                "callers": 64, "one_per_s": 100.0, "all_per_s": all_per_s, "library_one_per_s": 100.0,
                "library_all_per_s": 400.0,
            },
            "curve": [point(1, 100.0), point(9, last_us)],
            "steps": [step("export", 1.0), step("rebuild", rebuild_per_s)],
        }))
        .unwrap()
    }

    fn unmet(figures: &Figures) -> Vec<String> {
        checks(figures).into_iter().filter(|check| !check.is_met).map(|check| check.what).collect()
    }

    #[test]
    fn each_target_is_met_on_its_line_and_missed_beyond_it() {
        assert_eq!(unmet(&figures(200.0, 1_000.0, 150.0, 50_000.0, 256.0)), Vec::<String>::new());
        assert_eq!(
            unmet(&figures(201.0, 1_000.0, 150.0, 50_000.0, 256.0)),
            ["an append, of a bare transaction"]
        );
        assert_eq!(unmet(&figures(200.0, 999.0, 150.0, 50_000.0, 256.0)), ["64 callers, of one"]);
        assert_eq!(
            unmet(&figures(200.0, 1_000.0, 151.0, 50_000.0, 256.0)),
            ["an append at 9 events, of one at 1"]
        );
        assert_eq!(unmet(&figures(200.0, 1_000.0, 150.0, 49_999.0, 256.0)), ["a rebuild, events a second"]);
        assert_eq!(unmet(&figures(200.0, 1_000.0, 150.0, 50_000.0, 257.0)).len(), 2);
    }

    #[test]
    fn what_is_shown_says_of_every_target_whether_it_is_met() {
        let figures = figures(300.0, 1_000.0, 150.0, 50_000.0, 9.0);
        let text = shown(&figures, &checks(&figures));
        assert_eq!(text.matches(" met").count(), checks(&figures).len());
        assert_eq!(text.matches("not met").count(), 1);
        assert!(text.contains("3.00 times"), "{text}");
    }
}
