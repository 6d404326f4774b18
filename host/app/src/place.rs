//! Where the record and the keys of persons are kept, and opening both.
//!
//! The address of a database has a password in it, so it is a secret: the configuration only refers to it, and it is
//! read when the record is opened.

use crate::config::SecretSource;
use anyhow::{Context, Result, ensure};
use record::{Clock, Record};
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vault::Keyring;

/// Where the record is kept, and beside it the keys that words of persons are sealed under.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Section")]
pub struct Place {
    /// Where the record is kept.
    pub at: At,
    /// The folder of the keys: unless the configuration says otherwise one beside the record's file, with the ending
    /// `.keys`, and beside the configuration where the record is no file.
    pub keys: PathBuf,
}

/// Where the record is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// In this SQLite file; it is made when it is not there.
    Sqlite(PathBuf),
    /// In the PostgreSQL database whose URL is found there.
    Postgres(SecretSource),
}

/// The section as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    sqlite: Option<PathBuf>,
    postgres: Option<SecretSource>,
}

impl TryFrom<Section> for Place {
    type Error = &'static str;

    fn try_from(section: Section) -> Result<Self, Self::Error> {
        match section {
            Section { sqlite: Some(path), postgres: None } => {
                Ok(Self { keys: path.with_extension("keys"), at: At::Sqlite(path) })
            }
            Section { sqlite: None, postgres: Some(source) } => {
                Ok(Self { keys: PathBuf::from("chancery.keys"), at: At::Postgres(source) })
            }
            Section { sqlite: Some(_), postgres: Some(_) } => Err(
                "`[record]` names both `sqlite` and `postgres`: the record is kept in one place; take one out",
            ),
            Section { sqlite: None, postgres: None } => Err(
                "`[record]` names no place: set `sqlite = \"office.sqlite\"` or `postgres = { env = \"DATABASE_URL\" }`",
            ),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            At::Sqlite(path) => write!(f, "{}", path.display()),
            At::Postgres(SecretSource::Env(name)) => {
                write!(f, "the database that the variable {name} names")
            }
            At::Postgres(SecretSource::File(path)) => {
                write!(f, "the database that the file {} names", path.display())
            }
        }
    }
}

impl Place {
    /// Makes relative paths ones in `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        self.keys = folder.join(&self.keys);
        match &mut self.at {
            At::Sqlite(path) | At::Postgres(SecretSource::File(path)) => *path = folder.join(&*path),
            At::Postgres(SecretSource::Env(_)) => {}
        }
    }

    /// Opens the record with the keys; makes both when there are none.
    ///
    /// # Errors
    /// Why it does not open, and what to do.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Result<Record> {
        let opened = match &self.at {
            At::Sqlite(path) => Record::open_sqlite(path, clock).await,
            At::Postgres(source) => Record::open_postgres(&url(source)?, clock).await,
        };
        let keyring = Keyring::open(&self.keys)?;
        Ok(opened.context("the record cannot be opened")?.with_keyring(keyring))
    }

    /// Opens the record for reading, beside a server or without one.
    ///
    /// # Errors
    /// Why it does not open, also when there is none.
    pub async fn open_read_only(&self) -> Result<Record> {
        let opened = match &self.at {
            At::Sqlite(path) => Record::open_sqlite_read_only(path).await,
            At::Postgres(source) => Record::open_postgres_read_only(&url(source)?).await,
        };
        let record = opened.context("the record cannot be read")?;
        // Where there is no folder, nobody has a key, and nothing is made by looking.
        if self.keys.is_dir() { Ok(record.with_keyring(Keyring::open(&self.keys)?)) } else { Ok(record) }
    }

    /// Whether a start could open the record, and what it holds. Makes nothing.
    ///
    /// # Errors
    /// Why it could not.
    pub async fn examine(&self) -> Result<String> {
        if let At::Sqlite(path) = &self.at
            && !path.exists()
        {
            let folder = path.parent().unwrap_or(Path::new("."));
            ensure!(folder.is_dir(), "the folder `{}` of the record is not there: make it", folder.display());
            return Ok(format!("{self} will be made"));
        }
        let record = match self.open_read_only().await {
            Err(error) if matches!(error.downcast_ref(), Some(record::Error::NoRecord { .. })) => {
                return Ok(format!("{self} holds no record; one will be made"));
            }
            opened => opened?,
        };
        let (head, _) = record.head().await?;
        Ok(format!("{self} holds {head} events"))
    }
}

fn url(source: &SecretSource) -> Result<String> {
    let text = match source {
        SecretSource::Env(name) => std::env::var(name).with_context(|| {
            format!("`record.postgres` refers to the variable `{name}`: set it to the database's URL")
        }),
        SecretSource::File(path) => std::fs::read_to_string(path)
            .with_context(|| format!("`record.postgres` refers to the file `{}`", path.display())),
    };
    Ok(text?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{At, Place, SecretSource};
    use std::path::Path;

    #[test]
    fn a_record_is_kept_in_exactly_one_place_and_no_url_is_written_down() {
        let read = |text: &str| toml::from_str::<Place>(text);
        let both = "sqlite = \"a\"\npostgres = { env = \"B\" }";
        assert!(read(both).unwrap_err().message().contains("take one out"));
        assert!(read("").unwrap_err().message().contains("names no place"));
        assert!(read("postgres = \"postgres://a:b@c/d\"").is_err());
        assert!(read("postgres = { env = \"B\", file = \"c\" }").is_err());
        let mut place = read("postgres = { file = \"url\" }").unwrap();
        place.anchor(Path::new("/etc/office"));
        let at = At::Postgres(SecretSource::File("/etc/office/url".into()));
        assert_eq!(place, Place { at, keys: "/etc/office/chancery.keys".into() });
        let place = read("sqlite = \"office.sqlite\"").unwrap();
        assert_eq!(place.keys, Path::new("office.keys"));
    }

    #[tokio::test]
    async fn a_database_without_a_record_is_fit_for_one() {
        let schema = tests_postgres::Schema::new().unwrap_or_else(|why| panic!("{why}"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("url");
        std::fs::write(&file, format!("{}\n", schema.url())).unwrap();
        let keys = folder.path().join("keys");
        let place = Place { at: At::Postgres(SecretSource::File(file)), keys };
        assert!(place.examine().await.unwrap().contains("one will be made"));
        drop(place.open(std::sync::Arc::new(record::SystemClock)).await.unwrap());
        assert!(place.examine().await.unwrap().contains("holds 0 events"));
    }

    #[tokio::test]
    async fn a_reference_to_nothing_says_which_variable_to_set() {
        let at = At::Postgres(SecretSource::Env("NO_SUCH_VARIABLE_CHANCERY".into()));
        let place = Place { at, keys: "keys".into() };
        let told = format!("{:#}", place.examine().await.unwrap_err());
        assert!(told.contains("`NO_SUCH_VARIABLE_CHANCERY`: set it"), "{told}");
    }
}
