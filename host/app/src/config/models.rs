//! `[[model]]`: which model does what. A part of the office asks for a profile, never for a model by name.

use super::Config;
use anyhow::{Result, bail};
use serde::Deserialize;
use std::fmt;

/// What a model is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// To think: the turns of the front desk.
    Main,
    /// For many small questions, such as whether a message wants an answer.
    Small,
    /// To put things into classes.
    Classifier,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Main => "main",
            Self::Small => "small",
            Self::Classifier => "classifier",
        })
    }
}

/// One model and what it is used for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// What for.
    #[serde(rename = "for")]
    pub profile: Profile,
    /// Its full name, such as `scripted/story`.
    pub model: String,
}

impl Config {
    /// The model of a profile. `main` always has one; nothing when nobody configured another.
    #[must_use]
    pub fn model(&self, profile: Profile) -> Option<&str> {
        match profile {
            Profile::Main => Some(&self.office.model),
            _ => self.models.iter().find(|one| one.profile == profile).map(|one| one.model.as_str()),
        }
    }

    /// Every model that is named, with the setting that names it.
    pub fn models_named(&self) -> impl Iterator<Item = (String, &str)> {
        let profiles = self.models.iter().filter(|one| one.profile != Profile::Main);
        let main = std::iter::once(("`office.model`".to_owned(), self.office.model.as_str()));
        main.chain(profiles.map(|one| (format!("the model for `{}`", one.profile), one.model.as_str())))
    }

    /// `[office] model` and a `[[model]]` for `main` are one setting.
    pub(super) fn read_models(&mut self) -> Result<()> {
        for (n, one) in self.models.iter().enumerate() {
            if self.models.iter().skip(n + 1).any(|other| other.profile == one.profile) {
                bail!("there are two `[[model]]` for `{}`: keep one", one.profile);
            }
        }
        let main = self.models.iter().find(|one| one.profile == Profile::Main).map(|one| one.model.clone());
        match main {
            Some(main) if self.office.model.is_empty() || self.office.model == main => {
                self.office.model = main
            }
            Some(main) => bail!(
                "`office.model` is `{}` and the `[[model]]` for `main` is `{main}`: say it once",
                self.office.model
            ),
            None if self.office.model.is_empty() => {
                bail!(
                    "the front desk has no model: add a `[[model]]` with `for = \"main\"`, or set `office.model`"
                )
            }
            None => {}
        }
        Ok(())
    }
}
