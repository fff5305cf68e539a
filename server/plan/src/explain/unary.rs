//! Operators over one input in words.

use braid_sql::quote_ident;

use crate::tree::node::{Limit, LockRows, Node, SkippedRows, Window};

use super::deparse::{Name, Rows, show_expr, show_function, show_keys, show_window, shown_output};
use super::describe::{
    Described, Describer, describe_filter, describe_input, lock_text, plain_operator,
};

/// Describes an operator that passes on the columns of its only input.
pub(crate) fn describe_unary<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    outer: &[Name],
) -> Described {
    match node {
        Node::Filter(filter) => {
            let mut operator = plain_operator(describer, node, "Filter");
            let names = describe_input(describer, &mut operator, &filter.input, outer);
            describe_filter(
                describer,
                &mut operator,
                &filter.predicates,
                Rows { input: &names, outer },
            );
            (operator, names)
        }
        Node::ProjectSet(set) => {
            let mut operator = plain_operator(describer, node, "ProjectSet");
            let mut names = describe_input(describer, &mut operator, &set.input, outer);
            let width = names.len();
            for call in &set.functions {
                let rows = Rows { input: &names[..width], outer };
                let call = show_function(describer, call, rows);
                names.push(Name::Expr(call));
            }
            operator.list("Function Calls", shown_output(describer, &names[width..]));
            (operator, names)
        }
        Node::Window(window) => describe_windowing(describer, node, window, outer),
        Node::Sort(sort) => {
            let mut operator = plain_operator(describer, node, "Sort");
            let names = describe_input(describer, &mut operator, &sort.input, outer);
            operator
                .list("Sort Key", show_keys(describer, &sort.keys, Rows { input: &names, outer }));
            let rows = Rows { input: &[], outer };
            let top = sort.limit.iter().chain(&sort.offset);
            let top: Vec<String> = top.map(|e| show_expr(describer, e, rows)).collect();
            if !top.is_empty() {
                operator.line("Top", top.join(" + "));
            }
            (operator, names)
        }
        Node::LockRows(lock) => describe_locking(describer, node, lock, outer),
        Node::Limit(limit) => describe_limit(describer, node, limit, outer),
        Node::Distinct(distinct) => {
            let mut operator = plain_operator(describer, node, "Distinct");
            let names = describe_input(describer, &mut operator, &distinct.input, outer);
            let rows = Rows { input: &names, outer };
            let on = distinct.on.iter().map(|e| show_expr(describer, e, rows)).collect();
            operator.list("Distinct On", on);
            (operator, names)
        }
        // Every other kind is described by its own function.
        other => (plain_operator(describer, other, "Operator"), Vec::new()),
    }
}

fn describe_limit<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    limit: &'a Limit,
    outer: &[Name],
) -> Described {
    let mut operator = plain_operator(describer, node, "Limit");
    let names = describe_input(describer, &mut operator, &limit.input, outer);
    let rows = Rows { input: &names, outer };
    let [wanted, offset] =
        [&limit.limit, &limit.offset].map(|e| e.as_ref().map(|e| show_expr(describer, e, rows)));
    let (wanted, offset) = match (wanted, offset, limit.skipped) {
        (Some(wanted), Some(offset), SkippedRows::Above) => {
            (Some(format!("{wanted} + {offset}")), None)
        }
        (wanted, offset, _) => (wanted, offset),
    };
    for (name, shown) in [("Limit", wanted), ("Offset", offset)] {
        if let Some(shown) = shown {
            operator.line(name, shown);
        }
    }
    let ties = limit.ties.iter().map(|e| show_expr(describer, e, rows)).collect();
    operator.list("With Ties", ties);
    (operator, names)
}

fn describe_locking<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    lock: &'a LockRows,
    outer: &[Name],
) -> Described {
    let mut operator = plain_operator(describer, node, "LockRows");
    let inside = describe_input(describer, &mut operator, &lock.input, outer);
    let given = lock.input.slots();
    let name = |slot| given.iter().position(|known| *known == slot);
    let passed = lock.passed().into_iter().filter_map(name);
    let mut names: Vec<Name> = passed.map(|place| inside[place].clone()).collect();
    let mut locks = Vec::with_capacity(lock.targets.len());
    for target in &lock.targets {
        let columns = target.columns.iter().map(|(_, place)| {
            let name = target.table.columns.get(*place).map_or("tableoid", |column| &column.name);
            Name::Column(target.alias.clone(), name.to_owned())
        });
        names.extend(columns);
        if !target.implicit || describer.cx.implicit_locks {
            locks.push(format!("{} on {}", lock_text(target.lock), quote_ident(&target.alias)));
        }
    }
    operator.list("Lock", locks);
    (operator, names)
}

fn describe_windowing<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    window: &'a Window,
    outer: &[Name],
) -> Described {
    let mut operator = plain_operator(describer, node, "WindowAgg");
    let mut names = describe_input(describer, &mut operator, &window.input, outer);
    let rows = Rows { input: &names, outer };
    let partition = window.partition.iter().map(|e| show_expr(describer, e, rows)).collect();
    operator.list("Partition By", partition);
    operator.list("Order By", show_keys(describer, &window.order, rows));
    let calls: Vec<Name> = window
        .calls
        .iter()
        .map(|(_, call)| Name::Expr(show_window(describer, call, rows)))
        .collect();
    names.extend(calls);
    (operator, names)
}
