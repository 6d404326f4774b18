//! A permit is neither copied nor conjured: one admission, one call.

fn twice(permit: gate::Permit) -> (gate::Permit, gate::Permit) {
    (permit.clone(), gate::Permit::default())
}

fn main() {
    let _ = twice;
}
