//! Where a file is wrong, and what the environment says instead of it.

use super::{ENV_NOT_SETTINGS, ENV_PREFIX};
use anyhow::{Context, Result};
use std::path::Path;

pub(crate) fn placed(path: &Path, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let at = error.span().map_or_else(String::new, |span| {
        let before = text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!(":{line}:{column}")
    });
    anyhow::anyhow!("{}{at}: {}", path.display(), error.message().replace('\n', " "))
}

/// Puts one variable into the table; false when it is not a setting.
pub(super) fn override_one(table: &mut toml::Table, name: &str, value: &str) -> Result<bool> {
    let Some(path) = name.strip_prefix(ENV_PREFIX).filter(|_| !ENV_NOT_SETTINGS.contains(&name)) else {
        return Ok(false);
    };
    let steps: Vec<String> = path.split("__").map(str::to_lowercase).collect();
    let Some((last, folders)) = steps.split_last() else { return Ok(false) };
    let mut at = table;
    for folder in folders {
        let next = at.entry(folder).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        at = next.as_table_mut().with_context(|| {
            format!("the variable `{name}` does not name a setting: `{folder}` is not a section (lists are set in the file)")
        })?;
    }
    // A value that reads as TOML is one (a number, a list, a quoted string); anything else is plain text.
    let wanted = format!("value = {value}").parse::<toml::Table>().ok().and_then(|mut t| t.remove("value"));
    let text = toml::Value::String(value.to_owned());
    let keeps_text = matches!(at.get(last), Some(toml::Value::String(_)));
    let set =
        if keeps_text { wanted.filter(toml::Value::is_str).unwrap_or(text) } else { wanted.unwrap_or(text) };
    at.insert(last.clone(), set);
    Ok(true)
}
