//! Settings of the store.

use std::time::Duration;

/// How the store behaves. The defaults are for a cluster in one place.
#[derive(Clone, Debug)]
pub struct TikvOptions {
    /// How long a request is repeated while regions, stores or PD cannot be reached.
    pub retry_for: Duration,
    /// How long one answer of a store is waited for.
    pub request_timeout: Duration,
    /// How long a lock outlives the last heartbeat of its gateway.
    pub lock_ttl: Duration,
    /// How long PD keeps what is read here, after this gateway has last said so. Who is stopped for
    /// longer may find its snapshots gone.
    pub snapshot_promise: Duration,
    /// The most bytes of keys that the range deletes of one transaction may meet.
    pub range_delete_bytes_max: usize,
    /// Off only for the test that has to see an anomaly.
    pub validate: bool,
    /// Whether commits that have nothing to validate may take one round trip.
    pub one_trip_commits: bool,
}

impl Default for TikvOptions {
    fn default() -> TikvOptions {
        TikvOptions {
            retry_for: Duration::from_secs(20),
            request_timeout: Duration::from_secs(5),
            lock_ttl: Duration::from_secs(5),
            snapshot_promise: Duration::from_secs(60),
            range_delete_bytes_max: 256 << 20,
            validate: true,
            one_trip_commits: true,
        }
    }
}
