//! How far a long command has come: a bar for a person at a terminal, a line now and then for a log.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::future::Future;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Between two lines of a log.
const LINE_MS: u64 = 5_000;
/// Between two looks at the counts.
const LOOK_MS: u64 = 100;
const STYLE: &str = "{msg} {wide_bar} {percent} % ({eta} left)";
/// Of what a log line says.
const PERCENT: u64 = 100;

/// Shows on standard error how far `work` has come, until it ends: the sum of `counts`, of `total`.
pub async fn shown<T>(
    what: &'static str,
    total: u64,
    counts: &[watch::Receiver<u64>],
    work: impl Future<Output = T>,
) -> T {
    let mut progress = Progress::start(what, total);
    let mut look = tokio::time::interval(Duration::from_millis(LOOK_MS));
    tokio::pin!(work);
    loop {
        tokio::select! {
            outcome = &mut work => return outcome,
            _ = look.tick() => progress.at(counts.iter().map(|count| *count.borrow()).sum()),
        }
    }
}

/// A bar or lines on standard error; gone when it is dropped.
struct Progress {
    what: &'static str,
    total: u64,
    bar: Option<ProgressBar>,
    said: Instant,
}

impl Progress {
    fn start(what: &'static str, total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_message(what);
            // The style is a constant; a wrong one would leave the plain bar.
            ProgressStyle::with_template(STYLE).map_or(bar.clone(), |style| bar.with_style(style))
        });
        Self { what, total, bar, said: Instant::now() }
    }

    fn at(&mut self, place: u64) {
        match &self.bar {
            Some(bar) => bar.set_position(place),
            None if self.said.elapsed() >= Duration::from_millis(LINE_MS) => {
                eprintln!("{}: {} %", self.what, place * PERCENT / self.total.max(1));
                self.said = Instant::now();
            }
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LOOK_MS, STYLE, shown};
    use indicatif::ProgressStyle;
    use std::time::Duration;
    use tokio::sync::watch;

    #[test]
    fn the_bar_is_well_formed() {
        ProgressStyle::with_template(STYLE).unwrap();
    }

    #[tokio::test]
    async fn work_that_tells_nothing_more_is_still_waited_for() {
        let (tell, told) = watch::channel(0);
        let work = async {
            tell.send_replace(3);
            drop(tell);
            tokio::time::sleep(Duration::from_millis(LOOK_MS + LOOK_MS / 2)).await;
            7
        };
        assert_eq!(shown("testing", 0, &[told], work).await, 7);
    }
}
