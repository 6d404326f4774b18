//! `[slack.live]`: what people see while the office works, and as it answers.

use anyhow::{Result, bail};
use serde::Deserialize;

/// The longest wait before something is shown, in milliseconds: whoever waits longer has left.
const AFTER_MS_MAX: u64 = 600_000;
/// The shortest time between two changes of one line, in milliseconds. Source: a message a second is what Slack advises.
const EVERY_MS_MIN: u64 = 1_200;
/// The most prompts. Source: Slack's page of `assistant.threads.setSuggestedPrompts`.
const PROMPTS_MAX: usize = 4;

/// How a turn shows that it works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// By one quiet line in the thread, which changes and goes; in a thread of the assistant view by its status.
    #[default]
    Line,
    /// By the status of the thread, everywhere.
    Status,
    /// Not at all.
    Off,
}

/// For whom an answer is seen to grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Streams {
    /// For nobody.
    Never,
    /// In the threads of direct messages, where whoever asked is the only reader.
    #[default]
    Direct,
    /// In every thread. In a channel only whoever asked sees it grow.
    Always,
}

/// Something that may be asked with one click in a new thread of the assistant view.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptConfig {
    /// What stands on it.
    pub title: String,
    /// What is asked by it.
    pub message: String,
}

/// What people see while the office works.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiveConfig {
    /// How a turn shows that it works.
    pub progress: Progress,
    /// How long a turn works before its line is put into the thread, in milliseconds.
    pub after_ms: u64,
    /// How long the line stands at least before it changes, in milliseconds.
    pub every_ms: u64,
    /// For whom answers are streamed.
    pub stream: Streams,
    /// What a new thread of the assistant view suggests.
    pub prompts: Vec<PromptConfig>,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self {
            progress: Progress::default(),
            after_ms: 10_000,
            every_ms: 6_000,
            stream: Streams::default(),
            prompts: Vec::new(),
        }
    }
}

impl LiveConfig {
    /// # Errors
    /// The setting that cannot be meant.
    pub fn check(&self) -> Result<()> {
        if self.after_ms > AFTER_MS_MAX {
            bail!("`[slack.live] after_ms = {}` is too long: at most {AFTER_MS_MAX}", self.after_ms);
        }
        if self.every_ms < EVERY_MS_MIN {
            bail!("`[slack.live] every_ms = {}` is too short: at least {EVERY_MS_MIN}", self.every_ms);
        }
        if self.prompts.len() > PROMPTS_MAX {
            bail!("`[slack.live] prompts` are {}: Slack shows at most {PROMPTS_MAX}", self.prompts.len());
        }
        let empty =
            |prompt: &&PromptConfig| prompt.title.trim().is_empty() || prompt.message.trim().is_empty();
        if self.prompts.iter().any(|prompt| empty(&prompt)) {
            bail!("a prompt of `[slack.live]` has a `title` and a `message`");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LiveConfig, Progress, Streams};

    #[test]
    fn what_is_not_said_has_a_default_and_what_slack_does_not_take_is_refused() {
        let read = |text: &str| toml::from_str::<LiveConfig>(text);
        let live = read("").unwrap();
        assert_eq!((live.progress, live.stream, live.after_ms), (Progress::Line, Streams::Direct, 10_000));
        assert!(live.check().is_ok());
        let live = read(
            "progress = \"status\"\nstream = \"always\"\nprompts = [{ title = \"a\", message = \"b\" }]",
        )
        .unwrap();
        assert_eq!((live.progress, live.stream, live.prompts.len()), (Progress::Status, Streams::Always, 1));
        for wrong in ["every_ms = 100", "after_ms = 600001", "prompts = [{ title = \" \", message = \"b\" }]"]
        {
            assert!(read(wrong).unwrap().check().is_err(), "{wrong}");
        }
        for wrong in ["progress = \"loud\"", "stream = true", "x = 1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
