//! What is left out of a page with everything in it, and where that ends.

use super::lines::heading;

/// Elements whose end may be left out where the next of the same name begins.
const ENDS_ITSELF: [&[u8]; 8] = [b"p", b"li", b"dt", b"dd", b"tr", b"td", b"th", b"option"];

/// An element that is dropped with everything in it.
#[derive(Debug)]
pub(super) struct Dropped {
    name: Vec<u8>,
    /// How many of its name are open, itself among them.
    depth: usize,
    /// How many elements that hold others are open within it; counted only where its own end may be left out.
    within: usize,
}

/// What an end tag does to the element that is dropped.
pub(super) enum Ends {
    /// Nothing.
    Not,
    /// It is its end.
    With,
    /// It is the end of what that stands in.
    Before,
}

impl Dropped {
    pub(super) fn of(name: &[u8]) -> Self {
        Self { name: name.to_vec(), depth: 1, within: 0 }
    }

    fn ends_itself(&self) -> bool {
        ENDS_ITSELF.contains(&self.name.as_slice())
    }

    /// Whether it ended where `name` begins.
    pub(super) fn ends_before(&self, name: &[u8]) -> bool {
        let next =
            self.name == name || (self.name == b"p" && (holds_others(name) || heading(name).is_some()));
        self.ends_itself() && self.within == 0 && next
    }

    pub(super) fn open(&mut self, name: &[u8], self_closing: bool) {
        if self.ends_itself() {
            self.within = self.within.saturating_add(usize::from(holds_others(name)));
        } else if self.name == name && !(self_closing && name == b"svg") {
            self.depth = self.depth.saturating_add(1);
        }
    }

    pub(super) fn close(&mut self, name: &[u8]) -> Ends {
        if self.ends_itself() {
            return match (self.name == name, holds_others(name), self.within) {
                (true, _, 0) => Ends::With,
                (_, true, 0) => Ends::Before,
                (_, true, _) => {
                    self.within = self.within.saturating_sub(1);
                    Ends::Not
                }
                _ => Ends::Not,
            };
        }
        if self.name != name {
            return Ends::Not;
        }
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 { Ends::With } else { Ends::Not }
    }
}

/// Elements whose end ends what is open in them.
fn holds_others(name: &[u8]) -> bool {
    matches!(
        name,
        b"ul"
            | b"ol"
            | b"dl"
            | b"table"
            | b"thead"
            | b"tbody"
            | b"tfoot"
            | b"tr"
            | b"select"
            | b"div"
            | b"section"
            | b"article"
            | b"main"
            | b"body"
            | b"form"
            | b"blockquote"
            | b"header"
            | b"footer"
            | b"nav"
            | b"aside"
            | b"fieldset"
            | b"details"
    )
}
