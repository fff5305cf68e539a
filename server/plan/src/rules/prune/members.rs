//! `jsonb` columns of which only some members are read: `payload->>'kind'`, `payload @> '{"a": 1}'`.
//!
//! The scan decodes these members alone. What the functions answer does not depend on the others.
//! A column is whole if anything else reads it, or if it is in rows that are given away as they
//! are: to the client, to UNION, to DISTINCT.

use std::collections::{BTreeSet, HashMap};

use braid_types::{Datum, Json, SqlType};

use super::columns::changes_or_locks;
use crate::Slot;
use crate::rules::walk;
use crate::tree::expr::{CallExpr, Expr};
use crate::tree::node::Node;

/// Says to the scans of a plan which members are read.
pub(crate) fn apply(root: &mut Node) {
    if changes_or_locks(root) {
        return;
    }
    let mut reads = Reads::default();
    reads.of_node(root, true);
    if !reads.slots.values().any(|read| matches!(read, Read::Members(_))) {
        return;
    }
    walk::scans_mut(root, &mut |scan| {
        let is_jsonb = |place: usize| scan.table.columns[place].ty == SqlType::Jsonb;
        let columns = scan.columns.iter().filter(|(_, place)| is_jsonb(*place));
        let members = columns.filter_map(|(slot, _)| match reads.slots.get(slot)? {
            Read::Whole => None,
            Read::Members(names) => Some((*slot, names.iter().cloned().collect())),
        });
        scan.members = members.collect();
    });
}

/// What is read of a column.
enum Read {
    Whole,
    Members(BTreeSet<Box<str>>),
}

#[derive(Default)]
struct Reads {
    slots: HashMap<Slot, Read>,
}

impl Reads {
    /// What an operator and those below it read. Its rows may be given away as they are.
    fn of_node(&mut self, node: &Node, is_given: bool) {
        if is_given {
            for slot in node.slots() {
                self.slots.insert(slot, Read::Whole);
            }
        }
        node.for_each_expr(&mut |e| self.of_expr(e));
        let gives = match node {
            Node::SetOp(_) | Node::With(_) => true,
            Node::Distinct(distinct) => distinct.on.is_empty(),
            _ => false,
        };
        node.for_each_child(&mut |child| self.of_node(child, gives));
    }

    fn of_expr(&mut self, e: &Expr) {
        match e {
            Expr::Column(slot, _) => {
                self.slots.insert(*slot, Read::Whole);
            }
            Expr::Subquery(subquery) => self.of_node(&subquery.plan, true),
            Expr::Call(call) => {
                if let Some((slot, names)) = members(call) {
                    let known = self.slots.entry(slot).or_insert(Read::Members(BTreeSet::new()));
                    if let Read::Members(known) = known {
                        known.extend(names);
                    }
                    return;
                }
            }
            _ => {}
        }
        e.for_each_child(&mut |child| self.of_expr(child));
    }
}

/// The column and the members that a call reads, if it reads nothing else.
fn members(call: &CallExpr) -> Option<(Slot, Vec<Box<str>>)> {
    let [Expr::Column(slot, SqlType::Jsonb), Expr::Const(what, _)] = &call.args[..] else {
        return None;
    };
    let names = match (call.function.name, what) {
        ("->" | "->>" | "?" | "jsonb_exists", Datum::Text(name)) => vec![name.as_ref().into()],
        ("#>" | "#>>", Datum::Array(path)) => match path.items.first()? {
            Datum::Text(name) => vec![name.as_ref().into()],
            _ => return None,
        },
        ("@>", Datum::Json(wanted)) => match &**wanted {
            Json::Object(members) => members.iter().map(|(name, _)| name.clone()).collect(),
            _ => return None,
        },
        _ => return None,
    };
    Some((*slot, names))
}
