//! The second call with one permit does not compile.

async fn spend(reach: &dyn gate::Reach, permit: gate::Permit) {
    reach.reach(permit).await;
    reach.reach(permit).await;
}

fn main() {
    let _ = spend;
}
