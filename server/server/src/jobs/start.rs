//! Starting every background job of a server.

use std::sync::Arc;

use braid_cluster::SharedLocks;

use super::analyze::analyze_changed;
use super::commit_tokens::remove_old_tokens;
use super::garbage::collect_garbage;
use super::left_over::remove_left_over;
use super::notifications::{follow_notifications, sweep_notifications};
use super::session_locks::end_losers;
use super::statistics::follow_statistics;
use super::unfinished::finish_for_others;
use crate::server::Server;

/// Starts the jobs; those that work for other gateways only where there are others.
pub(crate) fn start(server: &Arc<Server>) {
    tokio::spawn(remove_old_tokens(Arc::downgrade(server)));
    tokio::spawn(remove_left_over(Arc::downgrade(server)));
    tokio::spawn(collect_garbage(Arc::downgrade(server)));
    if !server.options.analyze_interval.is_zero() {
        tokio::spawn(analyze_changed(Arc::downgrade(server)));
    }
    if server.engine.gateways.is_shared() {
        if let Some(locks) = SharedLocks::open(&server.engine.gateways) {
            tokio::spawn(end_losers(Arc::downgrade(server), locks));
        }
        tokio::spawn(finish_for_others(Arc::downgrade(server)));
        tokio::spawn(follow_statistics(Arc::downgrade(server)));
        tokio::spawn(follow_notifications(Arc::downgrade(server)));
        tokio::spawn(sweep_notifications(Arc::downgrade(server)));
    }
}
