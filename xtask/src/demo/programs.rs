//! The programs the demo runs beside itself, and the waits for what they say.
//!
//! Each runs in a process group of its own, so that Ctrl-C reaches this process alone, which then stops them in
//! the reverse of the order they started in: the office first, then what it talks to. They are stopped
//! whenever [`Programs`] goes away, on success and on every error. Deliberately absent: restarting one.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::stop::Stop;

/// How long a program may take to stop after it was asked to: longer than any turn's next append takes.
const STOP_MS_MAX: u64 = 10_000;
/// How often a wait looks: quick for a person, and nothing to a small machine.
const LOOK_EVERY_MS: u64 = 100;
/// How much of a program's log is shown when it ended by itself.
const LOG_LINES_SHOWN: usize = 20;
/// The status of a process that ended because of Ctrl-C, as shells have it.
const STATUS_INTERRUPTED: u8 = 130;

/// The programs that run, in the order they started.
#[derive(Debug)]
pub struct Programs {
    interrupted: Arc<AtomicBool>,
    running: Vec<Program>,
}

#[derive(Debug)]
struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Programs {
    /// None yet. From here on Ctrl-C, SIGTERM and SIGHUP do not end this process: the next wait does.
    ///
    /// # Errors
    /// When signals cannot be listened to.
    pub fn none() -> Result<Self, Stop> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(|e| Stop::because("cannot listen to signals", e))?;
        }
        Ok(Self { interrupted, running: Vec::new() })
    }

    /// Starts `command`; everything it prints goes to `log`.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(&mut self, name: &'static str, command: &mut Command, log: PathBuf) -> Result<(), Stop> {
        let about = |e: io::Error| Stop::because(format_args!("`{name}` did not start"), e);
        let out = File::create(&log).map_err(about)?;
        let err = out.try_clone().map_err(about)?;
        let child =
            command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0).spawn().map_err(about)?;
        self.running.push(Program { name, child, log });
        Ok(())
    }

    /// Looks again and again until `look` sees something; `what` says what is waited for.
    ///
    /// # Errors
    /// When it takes longer than `limit`, when a program ends meanwhile, at Ctrl-C, or when `look` fails.
    pub fn wait_for<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut look: impl FnMut() -> Result<Option<T>, Stop>,
    ) -> Result<T, Stop> {
        let started = Instant::now();
        loop {
            self.check()?;
            if let Some(seen) = look()? {
                return Ok(seen);
            }
            if started.elapsed() > limit {
                let logs: String = self.running.iter().map(Program::last_lines).collect();
                return Err(Stop::new(format!("{what}: not within {} s\n{logs}", limit.as_secs())));
            }
            thread::sleep(Duration::from_millis(LOOK_EVERY_MS));
        }
    }

    /// Lets the programs run for `time`.
    ///
    /// # Errors
    /// When one ends meanwhile, or at Ctrl-C.
    pub fn run_for(&mut self, time: Duration) -> Result<(), Stop> {
        let started = Instant::now();
        while started.elapsed() < time {
            self.check()?;
            thread::sleep(Duration::from_millis(LOOK_EVERY_MS));
        }
        Ok(())
    }

    /// Lets the programs run until Ctrl-C, which is no error here.
    ///
    /// # Errors
    /// When one ends by itself.
    pub fn run_until_interrupted(&mut self) -> Result<(), Stop> {
        while !self.interrupted.load(Ordering::Relaxed) {
            self.ended_by_itself()?;
            thread::sleep(Duration::from_millis(LOOK_EVERY_MS));
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Stop> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Stop { message: "stopped".to_owned(), status: STATUS_INTERRUPTED });
        }
        self.ended_by_itself()
    }

    fn ended_by_itself(&mut self) -> Result<(), Stop> {
        for program in &mut self.running {
            if let Some(status) = program.status()? {
                let last = program.last_lines();
                return Err(Stop::new(format!("`{}` ended by itself with {status}\n{last}", program.name)));
            }
        }
        Ok(())
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        while let Some(mut program) = self.running.pop() {
            program.stop();
        }
    }
}

impl Program {
    fn status(&mut self) -> Result<Option<ExitStatus>, Stop> {
        self.child.try_wait().map_err(|e| Stop::because(self.name, e))
    }

    /// The end of its log, under its name and where the rest is.
    fn last_lines(&self) -> String {
        let text =
            fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        if text.trim().is_empty() {
            return format!("`{}` printed nothing\n", self.name);
        }
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(LOG_LINES_SHOWN);
        let shown: String = lines.iter().skip(from).map(|line| format!("  | {line}\n")).collect();
        format!("the last lines of `{}` (all of them: {}):\n{shown}", self.name, self.log.display())
    }

    /// Asks the program's group to end, and makes it when it does not.
    fn stop(&mut self) {
        let limit = Duration::from_millis(STOP_MS_MAX);
        let started = Instant::now();
        self.signal(Signal::TERM);
        while started.elapsed() < limit {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(LOOK_EVERY_MS));
        }
        eprintln!("`{}` did not stop within {} s and is killed", self.name, limit.as_secs());
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }

    /// A group that is gone already needs no signal.
    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    fn runs(pid: u32) -> bool {
        // A zombie is gone: its parent here is this process, which has waited for it by then.
        i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    #[test]
    fn a_program_that_ends_by_itself_is_told_with_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let mut programs = Programs::none().unwrap();
        programs.start("teller", &mut shell("echo no such port; exit 3"), folder.path().join("log")).unwrap();
        let stop = programs.run_for(Duration::from_secs(10)).unwrap_err().to_string();
        assert!(stop.contains("`teller` ended by itself") && stop.contains("  | no such port"), "{stop}");
    }

    #[test]
    fn a_wait_has_an_end_and_names_what_it_waited_for() {
        let mut programs = Programs::none().unwrap();
        let never = programs.wait_for("an answer", Duration::from_millis(1), || Ok(None::<()>));
        assert!(never.unwrap_err().to_string().starts_with("an answer: not within"));
        assert_eq!(programs.wait_for("an answer", Duration::ZERO, || Ok(Some(7))).unwrap(), 7);
    }

    #[test]
    fn no_program_and_no_child_of_one_outlives_the_demo() {
        let folder = tempfile::tempdir().unwrap();
        let mut programs = Programs::none().unwrap();
        let log = folder.path().join("log");
        programs.start("parent", &mut shell("sleep 100 & echo $!; wait"), log.clone()).unwrap();
        let grandchild: u32 = programs
            .wait_for("the child's id", Duration::from_secs(10), || {
                Ok(fs::read_to_string(&log).ok().and_then(|text| text.trim().parse().ok()))
            })
            .unwrap();
        let parent = programs.running[0].child.id();
        assert!(runs(parent) && runs(grandchild));
        drop(programs);
        let started = Instant::now();
        while runs(grandchild) && started.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!runs(parent) && !runs(grandchild));
    }
}
