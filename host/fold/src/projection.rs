//! Rows folded from events: what a projection is.
//!
//! A row is reached by (projection, key). Its optional rank is the one number it may be ordered and found by,
//! such as the moment an open turn began; a row without a rank is found by its key alone.

use event::Event;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// One row of one projection.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The state, as JSON: shared by all that look at it and hold it against another.
    pub value: Arc<Value>,
    /// What the row is ordered by; nothing when it need not be found but by key.
    pub rank: Option<i64>,
}

impl Row {
    /// A row that holds `state`.
    #[must_use]
    pub fn of(state: &impl Serialize, rank: Option<i64>) -> Self {
        // States hold strings, integers, lists and maps keyed by strings: always expressible.
        Self::holding(serde_json::to_value(state).unwrap_or(Value::Null), rank)
    }

    /// A row that holds `value`.
    #[must_use]
    pub fn holding(value: Value, rank: Option<i64>) -> Self {
        Self { value: Arc::new(value), rank }
    }
}

/// The state a row holds, or nothing when there is no row or it has another shape (an older host wrote it,
/// and a rebuild is due).
#[must_use]
pub fn decode<T: DeserializeOwned>(row: Option<&Row>) -> Option<T> {
    row.and_then(|row| T::deserialize(row.value.as_ref()).ok())
}

/// The same of a row that nobody else needs: its text moves into the state.
#[must_use]
pub fn taken<T: DeserializeOwned>(row: Option<Row>) -> Option<T> {
    row.and_then(|row| serde_json::from_value(Arc::unwrap_or_clone(row.value)).ok())
}

/// A fold kept as rows.
pub trait Projection: Sync {
    /// Its name: the first half of a row's address.
    fn name(&self) -> &'static str;

    /// The keys of the rows that `event` changes, in order; mostly none.
    fn keys(&self, event: &Event) -> Vec<String>;

    /// The row under `key` after `event`; nothing removes it.
    fn evolve(&self, key: &str, row: Option<Row>, event: &Event) -> Option<Row>;
}
