//! Persons whose words are erased, as facts.

use crate::PrincipalId;
use serde::{Deserialize, Serialize};

/// The keys that a person's words are sealed under are destroyed from here on, in every copy of the record at once.
/// It is stated first and done then: whoever finds one of these keys still there destroys it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectShredded {
    /// The person.
    pub subject: PrincipalId,
    /// Ids of the keys. A key made later is not among them: who speaks again begins anew.
    pub keys: Vec<String>,
    /// Why. It is kept open: none of the person's words belong in it.
    pub reason: String,
}
