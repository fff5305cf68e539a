//! The tests that every store has to pass, over TiKV: its stand-in, or the cluster that `TIKV_PD`
//! names.

#![allow(clippy::unwrap_used)]

mod common;
#[path = "../../kv/tests/contract/mod.rs"]
mod contract;

use braid_kv::Database;

async fn database() -> (Database, common::Cluster) {
    let cluster = common::Cluster::start();
    // Keys of the tests lie in several regions.
    for border in ["b", "c", "k", "n"] {
        cluster.split(border.as_bytes());
    }
    (cluster.open().await, cluster)
}
