//! The seats of the first office and its owner, as a file says them. What they mean is `seed`'s.

use super::{Config, placed};
use anyhow::{Context, Result, bail};
use event::{PrincipalId, PrincipalKind};
use serde::Deserialize;

/// A seat of the first office.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeatConfig {
    /// Its name, `seat_…`.
    pub name: String,
    /// The role that policies speak of.
    pub role: String,
    /// Its holder, `agent_…`, `person_…` or `system_…`; vacant when absent.
    pub holder: Option<String>,
    /// Its department.
    pub department: Option<String>,
    /// The seat it reports to.
    pub line: Option<String>,
    /// What it may call: tools, `family.*`, models; what it may state: `record:<kind>`.
    #[serde(default)]
    pub grants: Vec<String>,
    /// What it answers for, a sentence each.
    #[serde(default)]
    pub accountabilities: Vec<String>,
    /// The seat that does its work while it is vacant; without one, the seat it reports to.
    pub stands_in: Option<String>,
}

/// A file of seats.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeatFile {
    #[serde(default, rename = "seat")]
    seats: Vec<SeatConfig>,
}

impl Config {
    /// Reads the file of seats, when one is named.
    pub(super) fn read_seats(&mut self) -> Result<()> {
        let Some(path) = &self.seats_from else { return Ok(()) };
        if !self.seats.is_empty() {
            bail!(
                "`seats` names `{}`, and there are [[seat]] beside it: keep one of the two",
                path.display()
            );
        }
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("`seats` names `{}`, which cannot be read", path.display()))?;
        let file: SeatFile = toml::from_str(&text).map_err(|error| placed(path, &text, &error))?;
        self.seats = file.seats;
        Ok(())
    }

    /// The person above the software.
    ///
    /// # Errors
    /// When `office.owner` is no person.
    pub fn owner(&self) -> Result<PrincipalId> {
        let named = PrincipalId::parse(&self.office.owner);
        match named {
            Ok(owner) if owner.kind() == PrincipalKind::Person => Ok(owner),
            _ => bail!(
                "`office.owner` is `{}`: the owner is a person, such as \"person_operator\" or \"person_slack.T….U…\"",
                self.office.owner
            ),
        }
    }
}
