//! What runs components takes a permit, and a call is none.

async fn around(reach: &dyn gate::Reach, call: gate::Call) {
    reach.reach(call).await;
}

fn main() {
    let _ = around;
}
