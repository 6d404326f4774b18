//! Nobody but the gate can make a permit.

fn main() {
    let permit = gate::Permit { call: todo!(), admission: todo!(), effect_id: None, at: event::Timestamp(0), deltas: None, verbs: todo!() };
    drop(permit);
}
