//! A call that did not pass the gate does not compile; the compiler's own words are kept beside each case.

#[test]
fn a_call_around_the_gate_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
