//! Which field a sealed value stands in: it opens nowhere else.

/// A field of an event.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The stream of the event.
    pub stream: &'a str,
    /// The id of the event.
    pub event: &'a str,
    /// The kind of the event.
    pub kind: &'a str,
    /// The field of its body.
    pub field: &'a str,
}
