//! TiKV's rules that BraidDB leans on, asked of a cluster by its clients' requests.
//!
//! They run on the stand-in, and on a real cluster if `TIKV_PD` names one of its PD members: what
//! the stand-in gets wrong shows there. Every rule has keys of its own.

use std::io::Write;

use braid_testkit::tikv::{Config, TikvStandIn};

use crate::client::Client;
use crate::{commits, locks, others, reads};

/// Every rule by name.
macro_rules! rules {
    ($client:expr, $($room:ident :: $rule:ident),+ $(,)?) => {
        $(
            let mut client = $client(concat!(stringify!($room), "/", stringify!($rule), "/")).await;
            $room::$rule(&mut client).await;
        )+
    };
}

async fn all(pd: &str) {
    let run = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let run = run.expect("a time of day").as_nanos();
    let client = |rule: &'static str| Client::connect(pd, format!("rules/{run}/{rule}"));
    rules!(
        client,
        reads::committed_versions_are_seen_at_their_timestamps,
        reads::locks_are_in_the_way_unless_named_or_later,
        reads::scans_have_borders_limits_and_directions,
        reads::a_batch_leaves_out_what_is_not_there,
        locks::a_lock_request_brings_the_value,
        locks::a_newer_version_is_a_conflict_or_comes_along,
        locks::a_held_lock_is_told_at_once_or_after_the_wait,
        locks::a_wait_is_cut,
        locks::the_waiter_that_started_first_is_woken_and_has_to_ask_again,
        locks::a_waiter_that_may_lock_with_conflicts_gets_the_lock,
        locks::the_request_that_closes_a_circle_is_the_victim,
        locks::a_lost_lock_is_made_good_if_nothing_was_written,
        locks::a_foreign_lock_in_a_pessimistic_prewrite_has_no_time_to_live,
        commits::must_not_exist_needs_the_constraint_action,
        commits::a_reader_pushes_a_commit_above_itself,
        commits::an_expired_transaction_is_rolled_back,
        commits::a_heartbeat_keeps_a_transaction_alive,
        commits::an_async_commit_is_above_every_read,
        commits::an_async_commit_is_pushed_by_force,
        commits::an_async_commit_is_decided_by_its_secondaries,
        commits::one_phase_is_enough_for_one_region_or_falls_back,
        commits::a_repeated_prewrite_reports_the_commit,
        commits::a_prewrite_after_the_rollback_fails,
        commits::commits_and_rollbacks_come_twice_and_too_late,
        others::locks_are_resolved_by_key_and_by_region,
        others::a_region_that_was_split_reports_its_parts,
        others::a_key_of_another_region_is_refused,
        others::a_destroyed_range_is_empty,
        others::the_safe_point_follows_that_of_gc_worker,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_hold_on_the_stand_in() {
    let cluster = TikvStandIn::start(Config::default());
    all(&cluster.pd_addresses()[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_hold_on_a_real_cluster() {
    match std::env::var("TIKV_PD") {
        Ok(pd) => all(&pd).await,
        Err(_) => {
            let text = "skipped: TIKV_PD names no PD member of a real cluster";
            writeln!(std::io::stderr(), "{text}").expect("standard error");
        }
    }
}
