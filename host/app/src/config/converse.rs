//! `[converse]`: when the office speaks unasked, and by which names it is called.

use super::Config;
use super::models::Profile;
use anyhow::{Result, bail};
use converse::Manner;
use event::Mode;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The most names: more is a list of words that nobody means as a call.
const NAMES_MAX: usize = 16;
/// The shortest name, in characters: a shorter one is a word of some language.
const NAME_CHARS_MIN: usize = 2;
/// The most hops: a person looks at a talk of programs before it is longer.
const HOPS_MAX: u32 = 20;

/// When the office speaks unasked, and by which names it is called.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConverseConfig {
    /// The model that weighs messages, such as `scripted/story`; the one of the profile `small` when absent. Without
    /// either, nothing is said unasked.
    pub model: Option<String>,
    /// The mode of a channel that has none of its own.
    #[serde(default)]
    pub mode: Mode,
    /// Modes by channel.
    #[serde(default)]
    pub channels: BTreeMap<String, Mode>,
    /// Whether what addresses the office is weighed too, so that thanks get an emoji and no turn.
    #[serde(default = "yes")]
    pub weighs_asked: bool,
    /// Names that wake it when they are called.
    #[serde(default)]
    pub names: Vec<String>,
    /// Emoji that mute a thread.
    #[serde(default = "mutes")]
    pub mutes: BTreeSet<String>,
    /// The emoji put on a message of somebody who asked, as soon as its turn begins; none when absent.
    pub seen: Option<String>,
    /// Words that ask for a drill when they stand before a colon at the beginning of what addresses the office.
    #[serde(default = "drills")]
    pub drill: Vec<String>,
    /// How often in a row another program may get it to speak, without a person in between.
    #[serde(default)]
    pub program_hops_max: u32,
}

impl Default for ConverseConfig {
    fn default() -> Self {
        Self {
            model: None,
            mode: Mode::Quiet,
            channels: BTreeMap::new(),
            weighs_asked: yes(),
            names: Vec::new(),
            mutes: mutes(),
            seen: None,
            drill: drills(),
            program_hops_max: 0,
        }
    }
}

fn yes() -> bool {
    true
}

/// What asks for a drill.
fn drills() -> Vec<String> {
    vec!["drill".to_owned()]
}

/// What people put on a thread that they want to be left alone with.
fn mutes() -> BTreeSet<String> {
    ["black_square_for_stop", "mute", "no_bell"].map(str::to_owned).into()
}

impl Config {
    /// The model that weighs messages; nothing when none is configured.
    #[must_use]
    pub fn weigher(&self) -> Option<&str> {
        self.converse.model.as_deref().or_else(|| self.model(Profile::Small))
    }

    /// How the office behaves where people talk.
    ///
    /// # Errors
    /// The setting that cannot be meant.
    pub fn manner(&self) -> Result<Manner> {
        self.converse.manner(self.weigher().is_some())
    }
}

impl ConverseConfig {
    fn manner(&self, weighs: bool) -> Result<Manner> {
        let short = |name: &&String| name.trim().chars().count() < NAME_CHARS_MIN;
        if let Some(name) = self.names.iter().find(short) {
            bail!("`[converse] names` has `{name}`: a name has at least {NAME_CHARS_MIN} characters");
        }
        if let Some(word) = self.drill.iter().find(short) {
            bail!("`[converse] drill` has `{word}`: a word has at least {NAME_CHARS_MIN} characters");
        }
        if self.drill.len() > NAMES_MAX {
            bail!("`[converse] drill` has {} words: at most {NAMES_MAX}", self.drill.len());
        }
        if self.names.len() > NAMES_MAX {
            bail!("`[converse] names` has {} names: at most {NAMES_MAX}", self.names.len());
        }
        if self.program_hops_max > HOPS_MAX {
            bail!("`[converse] program_hops_max` is {}: at most {HOPS_MAX}", self.program_hops_max);
        }
        let is_channel = |key: &&String| !key.is_empty() && key.split(':').all(converse::is_plain);
        if let Some(key) = self.channels.keys().find(|key| !is_channel(key)) {
            bail!(
                "`[converse.channels]` has `{key}`: a channel is its id, such as C0123ABCD, never its name"
            );
        }
        Ok(Manner {
            weighs,
            weighs_asked: self.weighs_asked,
            mode: self.mode,
            channels: self.channels.clone(),
            names: self.names.clone(),
            drills: self.drill.clone(),
            mutes: self.mutes.iter().map(|emoji| emoji.trim_matches(':').to_owned()).collect(),
            hops_max: self.program_hops_max,
        })
    }
}
