//! Gateways over one store: a stand-in, which `BRAID_TEST_PLAN` disturbs, or `TIKV_PD`.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::target::{connect, first_column};
use braid_testkit::tikv::{self, TikvStandIn};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

/// A lease, and some time for a loaded machine.
pub(crate) const LEASE: Duration = Duration::from_secs(5);
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

/// Gateways over one store, which goes with them.
pub(crate) struct Cluster {
    pub servers: Vec<Server>,
    pub stand_in: Option<TikvStandIn>,
}

impl Cluster {
    pub(crate) fn start(count: usize) -> Cluster {
        Cluster::start_with(count, &Config::new())
    }

    pub(crate) fn start_with(count: usize, config: &Config) -> Cluster {
        let (url, stand_in) = match std::env::var("TIKV_PD") {
            Ok(pd) => {
                static LAST: AtomicU64 = AtomicU64::new(0);
                let number = LAST.fetch_add(1, Ordering::Relaxed);
                let url = format!("tikv://{pd}?prefix=gw-{}-{number}/", std::process::id());
                (url, None)
            }
            Err(_) => {
                let name = std::env::var("BRAID_TEST_PLAN").unwrap_or_default();
                let plan = tikv::Plan::named(&name).expect("a plan of that name");
                let settings = tikv::Config { plan, ..tikv::Config::default() };
                let stand_in = TikvStandIn::start(settings);
                (stand_in.store_url(), Some(stand_in))
            }
        };
        let config = || config.clone().store(&url);
        // Side by side: they find an empty store together.
        let servers = std::thread::scope(|scope| {
            let starts: Vec<_> =
                (0..count).map(|_| scope.spawn(|| Server::start(config()))).collect();
            starts.into_iter().map(|start| start.join().expect("a server")).collect()
        });
        Cluster { servers, stand_in }
    }

    pub(crate) async fn connect(&self, gateway: usize) -> Client {
        connect(self.servers[gateway].sql_url(), None).await
    }
}

/// Runs a statement again for as long as it is to be retried.
pub(crate) async fn insist(client: &Client, sql: &str) {
    let until = Instant::now() + PATIENCE;
    while let Err(error) = client.batch_execute(sql).await {
        assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{sql}: {error:?}");
        assert!(Instant::now() < until, "{sql} never gets through");
    }
}

pub(crate) async fn assert_sound(client: &Client, table: &str) {
    let findings = first_column(client, &format!("CHECK TABLE {table}")).await;
    assert_eq!(findings, [] as [String; 0], "{table}");
}
