//! A cluster for a test: a stand-in, or the one that `TIKV_PD` names.
#![allow(dead_code, clippy::unwrap_used)]

use braid_kv::{Database, DatabaseOptions};
use braid_kv_tikv::{TikvAddress, TikvOptions, TikvStore};
use braid_testkit::tikv::{Config, TikvStandIn};
use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The prefix of the data in the stand-in.
pub(crate) const DATA: &[u8] = b"braid/d";

/// A cluster of one test.
pub(crate) struct Cluster {
    pub stand_in: Option<TikvStandIn>,
    pub address: TikvAddress,
}

impl Cluster {
    pub(crate) fn start() -> Cluster {
        let Ok(pd) = std::env::var("TIKV_PD") else { return Cluster::stand_in() };
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let prefix = format!("test-{now}-{}/", NEXT.fetch_add(1, Relaxed));
        let address = TikvAddress::parse(&format!("tikv://{pd}?prefix={prefix}")).unwrap();
        Cluster { stand_in: None, address }
    }

    /// A stand-in, for a test that disturbs it.
    pub(crate) fn stand_in() -> Cluster {
        let stand_in = TikvStandIn::start(Config::default());
        let address = TikvAddress::parse(&stand_in.store_url()).unwrap();
        Cluster { stand_in: Some(stand_in), address }
    }

    pub(crate) fn split(&self, key: &[u8]) {
        if let Some(stand_in) = &self.stand_in {
            stand_in.split(&[DATA, key].concat());
        }
    }

    pub(crate) async fn open(&self) -> Database {
        let mut options = TikvOptions::default();
        if self.stand_in.is_none() {
            // A PD that is shared with others is soon to forget this gateway.
            options.snapshot_promise = Duration::from_secs(5);
        }
        self.open_with(options).await
    }

    pub(crate) async fn open_with(&self, options: TikvOptions) -> Database {
        let store = TikvStore::open(&self.address, options).await.unwrap();
        Database::new(Arc::new(store), DatabaseOptions::default())
    }
}

impl Deref for Cluster {
    type Target = TikvStandIn;

    fn deref(&self) -> &TikvStandIn {
        self.stand_in.as_ref().expect("this test needs the stand-in")
    }
}

/// A key as the cluster has it.
pub(crate) fn full(key: &str) -> Vec<u8> {
    [DATA, key.as_bytes()].concat()
}

/// Options that give up soon.
pub(crate) fn hasty() -> TikvOptions {
    TikvOptions {
        retry_for: Duration::from_millis(1500),
        request_timeout: Duration::from_millis(500),
        ..TikvOptions::default()
    }
}
