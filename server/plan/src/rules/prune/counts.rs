//! `count(a)` of a value that is never NULL counts rows: nobody needs the value.
//!
//! ```text
//!   SELECT count(id) FROM t      becomes    SELECT count(*) FROM t, which decodes no column
//! ```

use braid_builtins::AggregateMeaning;

use crate::aggregate::AggregateKind;
use crate::rules::conditions::never_null::is_never_null;
use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::{AggregateCall, Node};

/// Counts rows wherever that is the same.
pub(crate) fn apply(node: &mut Node) {
    walk::children_mut(node, &mut apply);
    let Node::Aggregate(aggregate) = node else { return };
    for (_, call) in &mut aggregate.aggregates {
        if counts_rows(call, &aggregate.input) {
            count_rows(call);
        }
    }
}

/// Whether a call counts the rows that its filter leaves.
fn counts_rows(call: &AggregateCall, input: &Node) -> bool {
    let has_value = |value: &Expr| match value {
        Expr::Const(datum, _) => !datum.is_null(),
        value => is_never_null(input, value),
    };
    call.aggregate.meaning() == AggregateMeaning::Count
        && !call.distinct
        && call.order.is_empty()
        && matches!(&call.args[..], [value] if has_value(value))
}

fn count_rows(call: &mut AggregateCall) {
    if let Ok(Some(resolved)) = braid_builtins::resolve_aggregate("count", &[]) {
        call.aggregate = AggregateKind::BuiltIn(resolved.aggregate);
        call.args.clear();
        call.types.clear();
    }
}
