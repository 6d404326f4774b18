//! Nor can what a permit is made of.

fn main() {
    let _ = gate::Permit::from(gate::permit::Admission {
        plugin: String::new(),
        digest: event::Digest::of(b""),
        resource: gate::Resource::Plugin(String::new()),
        effect: gate::EffectClass::Read,
        routes: Vec::new(),
        hold: None,
        policy_set: event::Digest::of(b""),
        policies: Vec::new(),
    });
}
