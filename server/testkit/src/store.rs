//! Which store the servers of the tests keep their data in.
//!
//! | `BRAID_TEST_STORE` | `TIKV_PD` | store |
//! |---|---|---|
//! | not set, or `embedded` | | the embedded one |
//! | `tikv` | not set | a stand-in of its own for each data folder (feature `tikv` of this crate) |
//! | `tikv` | `host:port` | that cluster, under a key prefix of its own for each data folder |
//!
//! `BRAID_TEST_PLAN` says what goes wrong in stand-ins by itself: `none` (default), `daily` or
//! `rough`.
//!
//! A server that starts again on its folder finds its data in any of them.

use std::path::Path;

/// Whether servers of tests run over TiKV or its stand-in.
///
/// # Panics
/// If `BRAID_TEST_STORE` names no store.
pub fn is_tikv() -> bool {
    match std::env::var("BRAID_TEST_STORE").as_deref() {
        Err(_) | Ok("" | "embedded") => false,
        Ok("tikv") => true,
        Ok(other) => panic!("BRAID_TEST_STORE is {other:?}: embedded or tikv"),
    }
}

/// Whether the store is a cluster that other tests use, too.
///
/// # Panics
/// As [`is_tikv`].
pub(crate) fn is_shared() -> bool {
    is_tikv() && std::env::var_os("TIKV_PD").is_some()
}

/// Whether the store may lose locks that are no prewrites: they are in the memory of a region's
/// leader, which may crash. In a real cluster nobody is asked to crash, and may all the same.
///
/// # Panics
/// As [`is_tikv`].
pub fn may_lose_locks() -> bool {
    let is_rough = std::env::var("BRAID_TEST_PLAN").is_ok_and(|plan| plan == "rough");
    (is_tikv() && is_rough) || is_shared()
}

/// Further arguments of `braid start` for the server of a folder, unless it was told of a store.
///
/// # Panics
/// If there is no stand-in in this build and none else to use.
pub(crate) fn args(folder: &Path, own: &[String]) -> Vec<String> {
    if own.iter().any(|arg| arg == "--store") {
        return Vec::new();
    }
    url(folder).map(|url| vec!["--store".to_owned(), url]).unwrap_or_default()
}

/// Where the server of a folder keeps its data, if that is not in the folder.
///
/// # Panics
/// As [`is_tikv`], and if there is no stand-in in this build and none else to use.
pub fn url(folder: &Path) -> Option<String> {
    if !is_tikv() {
        return None;
    }
    Some(match std::env::var("TIKV_PD") {
        Ok(pd) => {
            let name = folder.display().to_string();
            let name = name.replace(|char: char| !char.is_ascii_alphanumeric(), "-");
            format!("tikv://{pd}?prefix=test-{}-{name}/", std::process::id())
        }
        Err(_) => stand_in::url(folder),
    })
}

/// The server of a folder of its own is gone for good.
pub(crate) fn forget(folder: &Path) {
    stand_in::forget(folder);
}

#[cfg(feature = "tikv")]
pub use stand_in::of as stand_in_of;

#[cfg(feature = "tikv")]
mod stand_in {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex, OnceLock, PoisonError};

    use crate::random::seed;
    use crate::tikv::{Config, Plan, TikvStandIn};

    type All = Mutex<HashMap<PathBuf, Arc<TikvStandIn>>>;

    fn all() -> &'static All {
        static ALL: OnceLock<All> = OnceLock::new();
        ALL.get_or_init(All::default)
    }

    fn config() -> Config {
        let name = std::env::var("BRAID_TEST_PLAN").unwrap_or_default();
        let plan = Plan::named(&name).unwrap_or_else(|| panic!("BRAID_TEST_PLAN is {name:?}"));
        Config { plan, seed: seed(), ..Config::default() }
    }

    /// The stand-in that the servers of a folder use, for a test that looks into it.
    pub fn of(folder: &Path) -> Arc<TikvStandIn> {
        let mut all = all().lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            all.entry(folder.to_owned()).or_insert_with(|| Arc::new(TikvStandIn::start(config())));
        Arc::clone(found)
    }

    pub(super) fn url(folder: &Path) -> String {
        of(folder).store_url()
    }

    pub(super) fn forget(folder: &Path) {
        all().lock().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }
}

#[cfg(not(feature = "tikv"))]
mod stand_in {
    use std::path::Path;

    pub(super) fn url(_folder: &Path) -> String {
        panic!("BRAID_TEST_STORE=tikv: this test was built without the feature tikv of the testkit")
    }

    pub(super) fn forget(_folder: &Path) {}
}
