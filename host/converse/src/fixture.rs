//! Who the office is in the tests of this crate.

use event::ConnectionIdentified;

/// The office in the workspace `T1`.
pub(crate) fn own() -> ConnectionIdentified {
    ConnectionIdentified {
        source: "slack".into(),
        team: "T1".into(),
        user: "U0BOT".into(),
        bot: "B1".into(),
        app: "A1".into(),
    }
}
