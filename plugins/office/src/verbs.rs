//! What the host lends, as plain values: `chancery:host/office` without the component model.

use guest::{Failure, Kind};

/// One thing said. Nothing in `who` is the office itself; nothing in `text` was erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub position: u64,
    pub at_ms: i64,
    pub who: Option<String>,
    pub thread: String,
    pub text: Option<String>,
}

/// Some of what was said, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub lines: Vec<Line>,
    pub earlier: Option<u64>,
    pub withheld: u32,
}

/// One seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub seat: String,
    pub own: bool,
    pub role: String,
    pub department: Option<String>,
    pub reports_to: Option<String>,
    pub holder: Option<String>,
    pub takes_turns: bool,
    pub works_for_it: Option<String>,
    pub answers_for: Vec<String>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub name: String,
    pub at_ms: i64,
    pub woken_by: String,
    pub ending: String,
    pub summary: Option<String>,
}

/// One budget, in billionths of a US dollar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub name: String,
    pub limit: i64,
    pub settled: i64,
    pub held: i64,
    pub unknown: i64,
    pub left: Option<i64>,
    pub resets_at_ms: Option<i64>,
}

/// A call that waits for a person's yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub approval: String,
    pub tool: String,
    pub asked_at_ms: i64,
    pub expires_at_ms: i64,
}

/// A request that nobody answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub request: String,
    pub asker: String,
    pub holder: String,
    pub wanted: Option<String>,
    pub due_at_ms: i64,
}

/// What waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    pub approvals: Vec<Approval>,
    pub requests: Vec<Request>,
    pub look_again_at_ms: Option<i64>,
    pub elsewhere: u32,
}

/// What a call was given. Each fails where it was not.
pub trait Verbs {
    fn said(&self, find: Option<String>, before: Option<u64>, limit: u32) -> Result<Page, Failure>;
    fn seats(&self) -> Result<Vec<Seat>, Failure>;
    fn turns(&self, limit: u32) -> Result<Vec<Turn>, Failure>;
    fn budgets(&self) -> Result<Vec<Budget>, Failure>;
    fn waiting(&self) -> Result<Waiting, Failure>;
    /// The moment, in milliseconds since 1970.
    fn look_again(&self, minutes: u32) -> Result<i64, Failure>;
    fn ask(&self, seat: &str, wanted: &str, minutes: u32) -> Result<String, Failure>;
    fn answer(&self, request: &str, answer: &str) -> Result<String, Failure>;
}

/// What to say where a handle was not given.
pub fn not_given(handle: &str) -> Failure {
    let message = format!(
        "this call was not given the handle `{handle}`: it is made where there is none, or the operator has not granted it"
    );
    Failure::new(Kind::NotAllowed, message)
}

/// A call that was given nothing.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "a component asks its host"))]
pub struct Nothing;

impl Verbs for Nothing {
    fn said(&self, _: Option<String>, _: Option<u64>, _: u32) -> Result<Page, Failure> {
        Err(not_given("place"))
    }

    fn seats(&self) -> Result<Vec<Seat>, Failure> {
        Err(not_given("seat"))
    }

    fn turns(&self, _: u32) -> Result<Vec<Turn>, Failure> {
        Err(not_given("seat"))
    }

    fn budgets(&self) -> Result<Vec<Budget>, Failure> {
        Err(not_given("purse"))
    }

    fn waiting(&self) -> Result<Waiting, Failure> {
        Err(not_given("agenda"))
    }

    fn look_again(&self, _: u32) -> Result<i64, Failure> {
        Err(not_given("wishes"))
    }

    fn ask(&self, _: &str, _: &str, _: u32) -> Result<String, Failure> {
        Err(not_given("wishes"))
    }

    fn answer(&self, _: &str, _: &str) -> Result<String, Failure> {
        Err(not_given("wishes"))
    }
}
