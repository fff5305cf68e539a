//! What GROUP BY may not take from the select list by its name or number.

use braid_types::{Error, Result, SqlState};

use super::expr::Collector;
use crate::expr::{Expr, Slot};

/// 42803 or 0A000: an item of the select list is grouped by that is only computed after grouping.
pub(super) fn check(group: &[Expr], collector: &Collector) -> Result<()> {
    let reads = |slot: Slot| {
        group.iter().any(|e| e.any(&mut |e| matches!(e, Expr::Column(found, _) if *found == slot)))
    };
    let (state, what) = if collector.aggregates.iter().any(|(slot, _)| reads(*slot)) {
        (SqlState::GroupingError, "aggregate functions are not allowed in GROUP BY")
    } else if collector.groupings.iter().any(|call| reads(call.slot)) {
        (SqlState::GroupingError, "grouping operations are not allowed in GROUP BY")
    } else if collector.windows.iter().any(|window| reads(window.slot)) {
        (SqlState::WindowingError, "window functions are not allowed in GROUP BY")
    } else if collector.sets.iter().flat_map(|set| &set.columns).any(|(slot, _)| reads(*slot)) {
        (SqlState::FeatureNotSupported, "GROUP BY of a set-returning function is not supported")
    } else {
        return Ok(());
    };
    Err(Error::new(state, what))
}
