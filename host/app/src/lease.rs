//! Keeping a lease while its work goes on: one way for turns and for every follower.

use crate::wire::Office;
use record::Lease;
use std::time::Duration;

/// How many chances a host has to renew a lease within the lease's time.
const RENEWALS_PER_LEASE: i64 = 3;
/// The longest pause between two renewals where the lease's time is no time, in milliseconds.
const PAUSE_MS: u64 = 1_000;

/// Keeps the lease for as long as it is waited for. One that cannot be renewed ends the work at its next append.
pub(crate) async fn renewed(office: &Office, lease: &Lease, ttl_ms: i64) {
    let every = Duration::from_millis(u64::try_from(ttl_ms / RENEWALS_PER_LEASE).unwrap_or(PAUSE_MS));
    let mut kept = lease.clone();
    loop {
        tokio::time::sleep(every).await;
        match office.record.renew(&kept, ttl_ms).await {
            Ok(renewed) => kept = renewed,
            Err(error) => tracing::warn!(lease = lease.name, %error, "the lease was not renewed"),
        }
    }
}
