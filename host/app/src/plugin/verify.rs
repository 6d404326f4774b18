//! `chancery plugin verify`: whether what is installed is what the record says, here and now.

use super::load::{self, Recorded};
use super::store::Store;
use super::{lock, signature};
use crate::config::Config;
use anyhow::{Context, Result};
use std::process::ExitCode;

/// Prints a line for each thing looked at; fails when one is not as it should be.
///
/// # Errors
/// When the record or the lock file cannot be read.
pub async fn verify(config: &Config) -> Result<ExitCode> {
    let record =
        load::readable(config).await?.context("there is no record yet, and so nothing is installed")?;
    let recorded = load::recorded(&record).await?;
    let mut wrong = 0_usize;
    for (name, one) in &recorded {
        match component(config, name, one) {
            Ok(good) => println!("ok   {name} {}  {good}", one.installed.version),
            Err(error) => {
                wrong += 1;
                println!("NOT  {name} {}  {error:#}", one.installed.version);
            }
        }
    }
    let differences = lock::differences(config, &recorded)?;
    wrong += differences.len();
    for difference in &differences {
        println!("NOT  the lock file  {difference}");
    }
    if differences.is_empty() {
        println!("ok   the lock file says what the record says");
    } else {
        println!(
            "the record is what counts: `chancery plugin install --locked` installs what only the file has, and the \
                  next command that changes a plugin writes the file anew"
        );
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn component(config: &Config, name: &str, one: &Recorded) -> Result<String> {
    if let Some(revoked) = &one.revoked {
        return Ok(format!("never run again: {}", crate::show::short(&revoked.reason)));
    }
    let component = Store::of(config).component(name, &one.installed.digest)?;
    let named = format!("the component {}", one.installed.digest.short());
    let signed = signature::check(
        &config.installs,
        &named,
        component.artifact.bytes(),
        component.signature.as_deref(),
    )?;
    let by = signed.map_or_else(|| "not signed".to_owned(), |key| format!("signed by {key}"));
    let granted = if one.granted.is_some() { "granted" } else { "granted nothing" };
    Ok(format!("{} {by}, {granted}", one.installed.digest.short()))
}
