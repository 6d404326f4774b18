//! Progress on the screen: one heading as a stage begins, one line with its time as it ends.

use std::time::{Duration, Instant};

use crate::stop::Stop;

/// Runs `stage` under a heading.
///
/// # Errors
/// Whatever stopped the stage.
pub fn stage<T>(name: &str, stage: impl FnOnce() -> Result<T, Stop>) -> Result<T, Stop> {
    println!("== {name}");
    let started = Instant::now();
    let outcome = stage();
    if outcome.is_ok() {
        println!("   {name}: {}", seconds(started.elapsed()));
    }
    outcome
}

/// A time as people read it.
pub fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    if whole < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_seconds_and_then_minutes() {
        assert_eq!(seconds(Duration::from_millis(1_234)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(184)), "3 min 04 s");
    }
}
