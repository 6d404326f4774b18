//! Any history in which persons speak, seats work on what they said, and some are erased: rows folded live are the rows
//! of a rebuild, what should be erased is, what should not is open, and no byte that is kept says a word.

use super::facts::{brought, derived, nobodys, person};
use super::{WORDS, all, is_sealed, named, shred};
use crate::tests::kit::{Place, rows, stream};
use crate::{Append, Error, Journal};
use event::{Expected, PrincipalId};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sqlx::{AssertSqlSafe, PgConnection};
use std::collections::BTreeMap;
use std::path::Path;
use tokio::sync::watch;
use vault::Keyring;

const PERSONS: u8 = 4;

#[derive(Clone, Debug)]
enum Happens {
    /// Persons say something on a thread.
    Say { thread: u8, of: Vec<u8>, large: bool },
    /// A seat works on it.
    Work { thread: u8, of: Vec<u8>, kind: usize },
    /// A person's words are erased.
    Shred(u8),
    /// Something that is nobody's.
    Else(u8),
}

fn happens() -> impl Strategy<Value = Happens> {
    let of = || proptest::collection::btree_set(0..PERSONS, 1..3).prop_map(|of| of.into_iter().collect());
    prop_oneof![
        4 => (0_u8..4, of(), proptest::bool::weighted(0.05)).prop_map(|(thread, of, large)| Happens::Say { thread, of, large }),
        4 => (0_u8..4, of(), 0_usize..12).prop_map(|(thread, of, kind)| Happens::Work { thread, of, kind }),
        1 => (0..PERSONS).prop_map(Happens::Shred),
        1 => (0_u8..4).prop_map(Happens::Else),
    ]
}

/// Which of each person's keys is theirs now; nothing while they have none. Keys are counted from 1.
#[derive(Default)]
struct Keys {
    now: BTreeMap<PrincipalId, u32>,
    made: BTreeMap<PrincipalId, u32>,
}

impl Keys {
    fn speak(&mut self, person: &PrincipalId) {
        if !self.now.contains_key(person) {
            let made = self.made.entry(person.clone()).or_default();
            *made += 1;
            self.now.insert(person.clone(), *made);
        }
    }

    fn under(&self, of: &[PrincipalId]) -> Option<Vec<(PrincipalId, u32)>> {
        of.iter().map(|person| self.now.get(person).map(|key| (person.clone(), *key))).collect()
    }

    fn stand(&self, under: &[(PrincipalId, u32)]) -> bool {
        under.iter().all(|(person, key)| self.now.get(person) == Some(key))
    }
}

/// Plays `history` and checks everything that must hold at its end.
async fn plays(place: &Place, history: &[Happens]) {
    let keyring = Keyring::in_memory(1);
    let record = place.open().await.with_keyring(keyring.clone());
    let mut keys = Keys::default();
    // The keys of each event that was appended, in order; nothing for one that is nobody's.
    let mut under: Vec<Option<Vec<(PrincipalId, u32)>>> = Vec::new();
    for (n, step) in history.iter().enumerate() {
        let (facts, of) = match step {
            Happens::Say { thread, of, large } => {
                let of: Vec<_> = of.iter().map(|n| person(*n)).collect();
                of.iter().for_each(|person| keys.speak(person));
                let words = if *large { WORDS.repeat(5_000) } else { WORDS.to_owned() };
                (brought(*thread, &words, &of), of)
            }
            Happens::Work { thread, of, kind } => {
                let of: Vec<_> = of.iter().map(|n| person(*n)).collect();
                (vec![derived(*thread, WORDS, &of).swap_remove(*kind)], of)
            }
            Happens::Shred(n) => {
                if keys.now.remove(&person(*n)).is_some() {
                    under.push(None);
                }
                shred(&record, &keyring, &person(*n)).await;
                continue;
            }
            Happens::Else(thread) => (vec![nobodys(&format!("{thread} {n}"))], vec![]),
        };
        let count = facts.len();
        let append = Append::new(stream(&format!("{}", n % 3)), Expected::Any, named(&n.to_string(), facts));
        match (keys.under(&of), record.append_all(vec![append]).await) {
            (Some(sealed), Ok(_)) => {
                under.extend(std::iter::repeat_n((!of.is_empty()).then_some(sealed), count));
            }
            (None, Err(Error::Erased { .. })) => {}
            (expected, came) => panic!("{step:?}: keys {expected:?}, came {came:?}"),
        }
    }
    let events = all(&record).await;
    assert_eq!(events.len(), under.len());
    for (event, under) in events.iter().zip(&under) {
        if let Some(under) = under {
            assert_eq!(!is_sealed(event), keys.stand(under), "{event:?}");
        }
    }
    let (live, digest) = (rows(&record).await, record.rows_digest().await.unwrap());
    record.rebuild().await.unwrap();
    assert_eq!(rows(&record).await, live);
    assert_eq!(record.rows_digest().await.unwrap(), digest);
    record.verify(None).await.unwrap();
    restores(&record, &keyring).await;
}

/// A journal of `record` holds no word, and a record made of it is the same, open and erased.
async fn restores(record: &crate::Record, keyring: &Keyring) {
    let folder = tempfile::tempdir().unwrap();
    Journal::open(folder.path(), record).await.unwrap().catch_up(record, |_| ()).await.unwrap();
    assert!(!says(folder.path()), "the journal says it");
    let restored = Place::memory().open().await.with_keyring(keyring.clone());
    if record.head().await.unwrap().0.0 == 0 {
        return;
    }
    restored.restore(folder.path(), &watch::Sender::new(0), watch::Sender::new(0)).await.unwrap();
    assert_eq!(all(&restored).await, all(record).await);
    assert_eq!(rows(&restored).await, rows(record).await);
}

/// Whether any file under `folder` holds the words.
fn says(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        path.is_dir() && says(&path) || path.is_file() && holds(&std::fs::read(&path).unwrap())
    })
}

fn holds(bytes: &[u8]) -> bool {
    bytes.windows(WORDS.len()).any(|window| window == WORDS.as_bytes())
}

/// Every row of every table of the schema, as text.
async fn dumped(connection: &mut PgConnection) -> String {
    let tables = "select quote_ident(tablename) from pg_tables where schemaname = current_schema()";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut *connection).await.unwrap();
    assert!(tables.iter().any(|table| table == "event") && tables.iter().any(|table| table == "\"row\""));
    let mut dump = String::new();
    sqlx::raw_sql("set bytea_output = escape").execute(&mut *connection).await.unwrap();
    for table in tables {
        let all = format!("select coalesce(string_agg(t::text, E'\\n'), '') from {table} t");
        let text: String = sqlx::query_scalar(AssertSqlSafe(all)).fetch_one(&mut *connection).await.unwrap();
        dump.push_str(&text);
    }
    dump
}

fn any_history_keeps_no_word(place: impl Fn() -> Place, cases: u32, kept: impl AsyncFn(&Place) -> bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // A server that was started for this test alone ends with its last place.
    let _server = place();
    let history = proptest::collection::vec(happens(), 1..30);
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(cases) };
    let outcome = TestRunner::new(config).run(&history, |history| {
        runtime.block_on(async {
            let place = place();
            plays(&place, &history).await;
            prop_assert!(!kept(&place).await, "the store says it");
            Ok(())
        })
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn any_history_keeps_no_word_on_sqlite() {
    any_history_keeps_no_word(Place::sqlite, 24, async |place| says(place.path().parent().unwrap()));
}

#[test]
fn any_history_keeps_no_word_on_postgres() {
    any_history_keeps_no_word(Place::postgres, 16, async |place| {
        holds(dumped(&mut place.raw_postgres().await).await.as_bytes())
    });
}

#[test]
fn any_history_keeps_no_word_in_memory() {
    any_history_keeps_no_word(Place::memory, 48, async |_| false);
}
