//! The test runner: cargo-nextest when it is installed, else `cargo test`, with its output passed through.
//!
//! The closing line is the runner's own, kept as it passes by.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, Stdio};
use std::thread;

use super::postgres::Postgres;
use super::{is_there, shown};
use crate::paths::Paths;
use crate::prepare;
use crate::stop::Stop;

/// Runs every test of the workspace, beside a PostgreSQL server for those that need one, and returns the closing
/// line.
///
/// # Errors
/// When a test fails, none ran, or there is no PostgreSQL.
pub fn run(paths: &Paths, args: &[String]) -> Result<String, Stop> {
    let postgres = Postgres::find()?;
    let mut cargo = prepare::cargo(paths);
    if is_there(prepare::cargo(paths).args(["nextest", "--version"])) {
        cargo.args(["nextest", "run", "--workspace"]);
    } else {
        println!(
            "   cargo-nextest is not installed (cargo install --locked cargo-nextest): `cargo test` is used"
        );
        cargo.args(["test", "--workspace"]);
    }
    cargo.args(args).env("CHANCERY_GUESTS", paths.guests());
    postgres.tell(&mut cargo);
    if std::io::stderr().is_terminal() {
        cargo.env("CARGO_TERM_COLOR", "always");
    }
    let shown = shown(&cargo);
    let (passed, lines) =
        pass_through(&mut cargo).map_err(|e| Stop::because(format_args!("`{shown}`"), e))?;
    let closing = closing_line(&lines);
    match (passed, closing) {
        (true, Some(line)) => Ok(line),
        (true, None) => Err(Stop::new(format!("`{shown}` passed without saying that a test ran"))),
        (false, line) => {
            Err(Stop::new(format!("`{shown}` failed: {}", line.unwrap_or_else(|| "see above".to_owned()))))
        }
    }
}

/// Runs `command`, shows what it prints, and keeps the lines that may close a run.
fn pass_through(command: &mut Command) -> std::io::Result<(bool, Vec<String>)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let from_out = thread::spawn(move || out.map(|out| show(out, std::io::stdout())).unwrap_or_default());
    let mut lines = err.map(|err| show(err, std::io::stderr())).unwrap_or_default();
    lines.extend(from_out.join().unwrap_or_default());
    Ok((child.wait()?.success(), lines))
}

fn show(from: impl Read, mut to: impl Write) -> Vec<String> {
    let mut kept = Vec::new();
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        // Where the output goes away, the run itself goes on.
        let _ = to.write_all(&line).and_then(|()| to.write_all(b"\n"));
        let text = plain(&String::from_utf8_lossy(&line));
        if text.trim_start().starts_with("Summary [") || text.starts_with("test result: ") {
            kept.push(text);
        }
    }
    kept
}

/// `text` without the escapes that colour it.
fn plain(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

/// The line that closes a whole run: nextest's own, or the sum of what each test program of `cargo test` said.
fn closing_line(lines: &[String]) -> Option<String> {
    if let Some(summary) = lines.iter().rev().find(|line| line.contains("Summary [")) {
        return Some(summary.trim().to_owned());
    }
    let mut sums = [0_u64; 3];
    for line in lines {
        for (sum, word) in sums.iter_mut().zip(["passed", "failed", "ignored"]) {
            *sum += count_before(line, word);
        }
    }
    let [passed, failed, ignored] = sums;
    let how = if failed == 0 { "ok" } else { "FAILED" };
    let programs = lines.len();
    (passed + failed > 0).then(|| {
        format!("test result: {how}. {passed} passed; {failed} failed; {ignored} ignored, in {programs} test programs")
    })
}

fn count_before(line: &str, word: &str) -> u64 {
    let before = line.split(&format!(" {word}")).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(output: &str) -> Vec<String> {
        show(output.as_bytes(), std::io::sink())
    }

    #[test]
    fn the_closing_line_of_nextest_is_kept_without_its_colours() {
        let lines = kept(
            "  PASS x\n\u{1b}[32;1m     Summary\u{1b}[0m [   0.003s] 2 tests run: 2 passed, 0 skipped\nend\n",
        );
        assert_eq!(closing_line(&lines).unwrap(), "Summary [   0.003s] 2 tests run: 2 passed, 0 skipped");
    }

    #[test]
    fn the_closing_lines_of_cargo_test_are_added_up() {
        let lines = kept(concat!(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
        ));
        let wanted = "test result: FAILED. 4 passed; 2 failed; 1 ignored, in 2 test programs";
        assert_eq!(closing_line(&lines).unwrap(), wanted);
    }

    #[test]
    fn a_run_of_no_test_has_no_closing_line() {
        assert_eq!(closing_line(&kept("test result: ok. 0 passed; 0 failed; 0 ignored\n")), None);
        assert_eq!(closing_line(&[]), None);
    }
}
