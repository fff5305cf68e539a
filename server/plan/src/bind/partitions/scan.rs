//! The scan of a partitioned table: a scan for each partition, under the table's own columns.

use std::sync::Arc;

use braid_catalog::Table;
use braid_types::{Datum, Result, SqlType};

use super::leaves::{Leaf, leaves_of, place_in};
use crate::bind::Binder;
use crate::bind::from::stored_table::{plain_scan, table_row};
use crate::bind::scope::columns::Scope;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Append, Node, Project, RowLock};

/// A scan of all partitions of a table. All of them give the table's slots.
pub(crate) fn append_scan(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    alias: &str,
) -> Result<(Node, Scope)> {
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut scope = table_row(table, alias, &slots)?;
    let oid = binder.slot();
    for source in &mut scope.sources {
        source.oid = Some(oid);
        source.has_place = false;
    }
    let is_shown = |place: &usize| !table.columns[*place].is_key_expr;
    let shown: Vec<usize> = (0..table.columns.len()).filter(is_shown).collect();
    scope.columns.retain(|column| shown.iter().any(|place| slots[*place] == column.slot));
    let mut output: Vec<Slot> = shown.iter().map(|place| slots[*place]).collect();
    output.push(oid);
    let mut inputs = Vec::new();
    for leaf in leaves_of(binder, table)? {
        inputs.push(leaf_rows(binder, table, &leaf, alias, (&shown, &output))?);
    }
    let scanned = Some((table.clone(), oid));
    let append = Append { scanned, ..Append::of(inputs, output) };
    Ok((Node::Append(Box::new(append)), scope))
}

/// The rows of a partition with the columns and slots of the table above.
fn leaf_rows(
    binder: &mut Binder<'_>,
    table: &Table,
    leaf: &Leaf,
    alias: &str,
    (shown, output): (&[usize], &[Slot]),
) -> Result<Node> {
    let mut scan = plain_scan(binder, &leaf.table, alias)?;
    scan.partition = Some(leaf.scanned());
    let mut exprs = Vec::with_capacity(output.len());
    for (place, slot) in shown.iter().zip(output) {
        let column = &table.columns[*place];
        let own = place_in(&leaf.table, &column.name);
        let given = own.and_then(|own| scan.columns.iter_mut().find(|(_, place)| *place == own));
        exprs.push((
            *slot,
            match given {
                Some(given) => {
                    given.0 = *slot;
                    Expr::Column(*slot, column.ty.clone())
                }
                None => Expr::null(column.ty.clone()),
            },
        ));
    }
    let oid = Expr::Const(Datum::Int(i64::from(leaf.table.id)), SqlType::Oid);
    exprs.extend(output.last().map(|slot| (*slot, oid)));
    Ok(Node::Project(Box::new(Project { input: Node::Scan(Box::new(scan)), exprs })))
}

/// Marks the scans of a table, or of its partitions, with a lock.
pub(crate) fn mark_scans(node: &mut Node, lock: Option<RowLock>, implicit: bool) {
    match node {
        Node::Scan(scan) => {
            scan.lock = lock;
            scan.implicit_lock = implicit;
        }
        Node::Append(append) => {
            for input in &mut append.inputs {
                if let Node::Project(project) = input {
                    mark_scans(&mut project.input, lock, implicit);
                }
            }
        }
        _ => {}
    }
}
