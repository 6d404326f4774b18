//! That a call around the gate does not compile: see `tests/permit.rs`. Nothing else is here.
