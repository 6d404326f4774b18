//! The component's side: the world `chancery:guard/guard`, which imports nothing.
#![allow(missing_docs, unsafe_code, reason = "the generated bindings")]

wit_bindgen::generate!({ path: "../../wit/guard", world: "chancery:guard/guard" });

use exports::chancery::guard::checks::{GuardedCall, Guest, TouchedKind, Verdict};

struct Credentials;

export!(Credentials);

impl Guest for Credentials {
    fn check(call: GuardedCall) -> Verdict {
        // What a model is told is the office's own matter, whatever the manifest says.
        if call.touches.kind == TouchedKind::Model {
            return Verdict::Pass;
        }
        match crate::look(&call.arguments) {
            Ok(()) => Verdict::Pass,
            Err(reason) => Verdict::No(reason),
        }
    }
}
