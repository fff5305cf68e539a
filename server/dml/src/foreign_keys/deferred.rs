//! Checks that are left to the commit, or to SET CONSTRAINTS … IMMEDIATE.
//!
//! Only checks can be deferred: whether a child's parent exists, and whether anybody still points
//! at a key that is gone (NO ACTION). They are left with the transaction under their statement's
//! number, so that they go when its writes are taken back.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use braid_catalog::{ForeignKeyAction, Id, Table};
use braid_exec::{ExecContext, ExecutionState, Reader};
use braid_kv::{Key, Record, Transaction};
use braid_types::{Result, Row};

use crate::deferrable_keys::{check_owed_keys, has_owed_keys, has_owed_keys_on};
use crate::foreign_keys::cascade::level::CascadeLevel;
use crate::foreign_keys::event::Event;
use crate::foreign_keys::link::{Link, pick};
use crate::queues::Queues;
use crate::triggers::{fire_deferred, has_deferred, has_deferred_on};

/// A check that is deferred.
struct Duty {
    foreign_key: Id,
    child: Id,
    /// The table whose row was changed.
    changed: Id,
    what: What,
}

enum What {
    /// The child's row of this primary key must have its parent, if it is still there.
    Child(Key),
    /// Nobody may point at this key, unless somebody has it again.
    Parent(Row),
}

/// Takes the events of deferred constraints out of a level and leaves them with the transaction.
pub(crate) fn leave(run: &ExecutionState, events: &mut Vec<Event>) -> Result<()> {
    let is_deferred = |link: &Link| run.cx.constraints.is_deferred(link.child.id, &link.key);
    if !events.iter().any(|event| is_deferred(event.link())) {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(events.len());
    for event in events.drain(..) {
        let (link, what) = match &event {
            Event::Child { link, row: Some(row), .. } if is_deferred(link) => {
                (link, What::Child(row.clone()))
            }
            Event::Parent { link, old, new }
                if is_deferred(link) && is_check(link, new.is_none()) =>
            {
                (link, What::Parent(old.clone()))
            }
            _ => {
                kept.push(event);
                continue;
            }
        };
        let changed = match what {
            What::Child(_) => link.child.id,
            What::Parent(_) => link.parent.id,
        };
        let duty = Duty { foreign_key: link.key.id, child: link.child.id, changed, what };
        run.cx.txn.deferred().push(run.cx.seq, Arc::new(duty));
    }
    *events = kept;
    Ok(())
}

fn is_check(link: &Link, deleting: bool) -> bool {
    let action = if deleting { link.key.on_delete } else { link.key.on_update };
    action == ForeignKeyAction::NoAction
}

/// Whether checks are deferred because of changes to a table's rows.
pub fn has_left_on(txn: &Transaction, table: Id) -> bool {
    let left = txn.deferred().all();
    left.iter().any(|(_, what)| what.downcast_ref::<Duty>().is_some_and(|d| d.changed == table))
        || has_owed_keys_on(txn, table)
        || has_deferred_on(txn, table)
}

/// Whether any check is deferred.
pub fn has_left_checks(txn: &Transaction) -> bool {
    txn.deferred().has::<Duty>() || has_owed_keys(txn) || has_deferred(txn)
}

/// Makes the checks that are deferred for some constraints: first for unique ones, then for foreign
/// keys, all of them in one go. Then constraint triggers fire, and what they leave is looked at
/// again. The context's number sees everything that the transaction has written.
pub async fn check_left(cx: Arc<ExecContext>, which: impl Fn(Id) -> bool) -> Result<()> {
    let mut cx = cx;
    loop {
        check_once(&cx, &which).await?;
        if !fire_deferred(&cx, &which).await? {
            return Ok(());
        }
        // What the functions of triggers have written has higher numbers.
        cx = Arc::new(cx.renumbered(cx.txn.next_statement(), cx.cancel.clone()));
    }
}

async fn check_once(cx: &Arc<ExecContext>, which: &impl Fn(Id) -> bool) -> Result<()> {
    check_owed_keys(cx, which).await?;
    let left: Vec<Arc<dyn Any + Send + Sync>> =
        cx.txn.deferred().all().into_iter().map(|(_, what)| what).collect();
    let is_due = |what: &&Arc<dyn Any + Send + Sync>| {
        what.downcast_ref::<Duty>().is_some_and(|duty| which(duty.foreign_key))
    };
    let due: Vec<Arc<dyn Any + Send + Sync>> = left.iter().filter(is_due).cloned().collect();
    if due.is_empty() {
        return Ok(());
    }
    let run = Arc::new(ExecutionState::new(cx.clone(), Arc::default()));
    let duties: Vec<&Duty> = due.iter().filter_map(|what| what.downcast_ref()).collect();
    check(&run, &duties).await?;
    let done: HashSet<*const ()> = due.iter().map(|done| Arc::as_ptr(done).cast()).collect();
    cx.txn.deferred().retain(|what| !done.contains(&Arc::as_ptr(what).cast()));
    Ok(())
}

async fn check(run: &Arc<ExecutionState>, duties: &[&Duty]) -> Result<()> {
    let mut links: HashMap<Id, Option<Arc<Link>>> = HashMap::new();
    for duty in duties {
        links.entry(duty.foreign_key).or_insert_with(|| {
            let child: &Arc<Table> = run.cx.catalog.table(duty.child)?;
            let key = child.foreign_keys.iter().find(|key| key.id == duty.foreign_key)?;
            Link::new(&run.cx.catalog, child, key)
        });
    }
    let rows = rows_now(run, duties, &links).await?;
    let mut events = Vec::with_capacity(duties.len());
    for duty in duties {
        let Some(Some(link)) = links.get(&duty.foreign_key) else { continue };
        match &duty.what {
            What::Parent(old) => {
                let link = link.clone();
                // Only checks are deferred, so it does not matter whether the row went or changed.
                let mut checks = link.key.clone();
                checks.on_delete = ForeignKeyAction::NoAction;
                let link = Arc::new(Link { key: checks, ..Link::clone(&link) });
                events.push(Event::Parent { link, old: old.clone(), new: None });
            }
            What::Child(row) => {
                let Some(values) = rows.get(&(duty.foreign_key, row)) else { continue };
                if !link.points_nowhere(values) {
                    let values = values.clone();
                    events.push(Event::Child { link: link.clone(), values, row: None });
                }
            }
        }
    }
    let queues = Queues::default();
    let level = CascadeLevel::read(run, HashMap::new(), &events, &queues).await?;
    level.run(events).await.map(drop)
}

/// The values that children have now; those that have gone are not there.
async fn rows_now<'d>(
    run: &ExecutionState,
    duties: &[&'d Duty],
    links: &HashMap<Id, Option<Arc<Link>>>,
) -> Result<HashMap<(Id, &'d Key), Row>> {
    let mut found = HashMap::new();
    for (id, link) in links {
        let Some(link) = link else { continue };
        let row = |duty: &&'d Duty| match &duty.what {
            What::Child(row) if duty.foreign_key == *id => Some(row),
            _ => None,
        };
        let wanted: Vec<&'d Key> = duties.iter().filter_map(row).collect();
        let all: Vec<usize> = (0..link.child.columns.len()).collect();
        let reader = Reader::new(&link.child, &all, true)?;
        let mut keys = Vec::with_capacity(wanted.len());
        wanted.iter().for_each(|row| reader.keys_of(row, &mut keys));
        // The transaction has written these rows itself: no wait, and nothing to validate.
        let read = run.cx.txn.reads().multi_get_recorded(run.cx.seq.after(), &keys, Record::Never);
        let values = run.wait(read).await?;
        for (row, decoded) in wanted.into_iter().zip(reader.decode(&keys, &values)?) {
            if let Some(decoded) = decoded {
                found.insert((*id, row), pick(&decoded, &link.child_places));
            }
        }
    }
    Ok(found)
}
