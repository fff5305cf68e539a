//! The tests that every store has to pass, over TiKV: its stand-in, or the cluster that `TIKV_PD`
//! names.

#![allow(clippy::unwrap_used)]

#[path = "../../../kv/tests/contract/mod.rs"]
pub(crate) mod contract;

use braid_kv::Database;

async fn database() -> (Database, crate::common::Cluster) {
    let cluster = crate::common::Cluster::start();
    // Keys of the tests lie in several regions.
    for border in ["b", "c", "k", "n"] {
        cluster.split(border.as_bytes());
    }
    (cluster.open().await, cluster)
}
