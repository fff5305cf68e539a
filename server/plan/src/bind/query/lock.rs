//! FOR UPDATE and the other locking clauses: which relations a clause reaches, and where rows are
//! locked.
//!
//! While FROM is bound, each scan that a clause reaches is marked ([`Scan::lock`]). Once WHERE is
//! bound, the marks are collected into one [`LockRows`] above filter, joins and sort, and below
//! LIMIT, so that rows that are not returned are not locked:
//!
//! ```text
//!   Limit ── Project ── LockRows ── Sort ── Filter ── Join ── Scan, Scan
//! ```
//!
//! A clause that reaches a view or a subquery in FROM reaches all tables inside. A subquery that
//! only filters and joins leaves its marks to the query around it; one with a LIMIT, an ORDER BY
//! or a clause of its own locks its rows itself.

use braid_types::{Error, Result, SqlState, SqlType};

use crate::bind::Binder;
use crate::bind::scope::lock_clause::LockClause;
use crate::rules::{rejects_null, walk};
use crate::tree::expr::{Expr, Slot, conjuncts};
use crate::tree::node::{
    Append, Join, JoinKind, LockRows, LockWait, LockedPart, LockedTable, Node, OID_PLACE, Project,
    Recheck, RowLock, Scan,
};

/// The lock that the clauses of the select being bound put on a relation of this name. Of
/// several the strongest counts, and NOWAIT goes before SKIP LOCKED.
pub(crate) fn lock_of(binder: &mut Binder<'_>, name: &str) -> Option<RowLock> {
    let mut result: Option<RowLock> = None;
    for clause in &mut binder.from_locks {
        if !clause.of.is_empty() {
            let mut named = clause.of.iter_mut().filter(|named| named.name == name).peekable();
            if named.peek().is_none() {
                continue;
            }
            named.for_each(|named| named.found = true);
        }
        let known = result.unwrap_or(RowLock { strength: clause.strength, wait: clause.wait });
        result = Some(RowLock {
            strength: known.strength.max(clause.strength),
            wait: known.wait.max(clause.wait),
        });
    }
    result
}

/// Makes the clauses on a view or subquery of this name reach what is inside.
pub(crate) fn push_locks(binder: &mut Binder<'_>, name: &str) -> Option<RowLock> {
    let lock = lock_of(binder, name);
    binder.pushed_locks = lock.map(LockClause::pushed).into_iter().collect();
    lock
}

/// 0A000 if a clause names something that has no rows to lock.
pub(crate) fn refuse_lock(binder: &Binder<'_>, name: &str, what: &str) -> Result<()> {
    for clause in &binder.from_locks {
        if let Some(named) = clause.of.iter().find(|named| named.name == name) {
            return Err(clause.cannot(what).position(named.place));
        }
    }
    Ok(())
}

/// What is collected on the way down to the marked scans.
#[derive(Default)]
struct Collected {
    targets: Vec<LockedTable>,
    recheck: Vec<Recheck>,
}

/// Locks the rows of the marked scans below, above everything that is there.
pub(crate) fn lock_rows(mut node: Node) -> Result<Node> {
    reduce(&mut node, &[]);
    let mut collected = Collected::default();
    collect(&mut node, &mut collected)?;
    if collected.targets.is_empty() {
        return Ok(node);
    }
    let Collected { targets, recheck } = collected;
    Ok(Node::LockRows(Box::new(LockRows {
        input: node,
        targets,
        recheck,
        limit: None,
        offset: None,
    })))
}

fn collect(node: &mut Node, found: &mut Collected) -> Result<()> {
    match node {
        Node::Scan(scan) => found.targets.extend(target(scan)?),
        Node::Append(append) => found.targets.extend(partitions(append)?),
        Node::Sort(sort) => collect(&mut sort.input, found)?,
        Node::Filter(filter) => {
            let before = found.targets.len();
            collect(&mut filter.input, found)?;
            if found.targets.len() > before && !filter.predicates.is_empty() {
                found.recheck.push(Recheck::Holds(flat(&filter.predicates)));
            }
        }
        Node::Project(project) => {
            let before = found.targets.len();
            collect(&mut project.input, found)?;
            if found.targets.len() > before {
                pass_through(project, found);
                found.recheck.push(Recheck::Compute(computed(project)));
            }
        }
        Node::Join(join) => collect_join(join, found)?,
        _ => {}
    }
    Ok(())
}

fn target(scan: &mut Scan) -> Result<Option<LockedTable>> {
    let Some(lock) = scan.lock.take() else { return Ok(None) };
    scan.unrecorded = lock.wait == LockWait::SkipLocked;
    let mut key = Vec::with_capacity(scan.table.primary.keys.len());
    for part in &scan.table.primary.keys {
        let place = scan.table.place_of(part.column)?;
        let Some((slot, _)) = scan.columns.iter().find(|(_, known)| *known == place) else {
            let name = &scan.table.name;
            return Err(Error::broken(format!("a locked scan of \"{name}\" lacks its key")));
        };
        key.push(*slot);
    }
    Ok(Some(LockedTable {
        key,
        parts: None,
        table: scan.table.clone(),
        alias: scan.alias.clone(),
        columns: scan.columns.clone(),
        lock,
        implicit: std::mem::take(&mut scan.implicit_lock),
        families: scan.families.clone(),
    }))
}

/// The marked partitions of a table, as one target.
fn partitions(append: &mut Append) -> Result<Option<LockedTable>> {
    let Some((table, oid)) = append.scanned.clone() else { return Ok(None) };
    let mut whole: Option<LockedTable> = None;
    let mut parts = Vec::with_capacity(append.inputs.len());
    for input in &mut append.inputs {
        let Node::Project(project) = input else { continue };
        let Node::Scan(scan) = &mut project.input else { continue };
        let Some(own) = target(scan)? else { return Ok(None) };
        if own.key.iter().any(|slot| !append.slots.contains(slot)) {
            let message = format!(
                "locking rows of \"{}\" through \"{}\", whose primary key it lacks,",
                own.table.name, table.name
            );
            return Err(Error::unsupported(message));
        }
        let place = |slot: &Slot| {
            own.columns.iter().find(|(known, _)| known == slot).map(|(_, place)| *place)
        };
        let places = append.slots.iter().map(place).collect();
        parts.push(LockedPart { table: own.table.clone(), key: own.key.clone(), places });
        let whole = whole.get_or_insert_with(|| LockedTable {
            table: table.clone(),
            key: vec![oid],
            columns: Vec::new(),
            ..own.clone()
        });
        let new: Vec<Slot> =
            own.key.iter().filter(|slot| !whole.key.contains(slot)).copied().collect();
        whole.key.extend(new);
    }
    let Some(mut whole) = whole else { return Ok(None) };
    let places = append.slots.iter().enumerate();
    whole.columns =
        places.map(|(place, slot)| (*slot, if *slot == oid { OID_PLACE } else { place })).collect();
    whole.parts = Some((oid, parts));
    Ok(Some(whole))
}

fn collect_join(join: &mut Join, found: &mut Collected) -> Result<()> {
    let refuse = |side: &Node| match marked(side) {
        Some(lock) => Err(Error::new(
            SqlState::FeatureNotSupported,
            format!(
                "{} cannot be applied to the nullable side of an outer join",
                lock.strength.clause()
            ),
        )),
        None => Ok(()),
    };
    if matches!(join.kind, JoinKind::Left | JoinKind::Full) {
        refuse(&join.right)?;
    }
    if matches!(join.kind, JoinKind::Right | JoinKind::Full) {
        refuse(&join.left)?;
    }
    let before = found.targets.len();
    collect(&mut join.left, found)?;
    collect(&mut join.right, found)?;
    if found.targets.len() == before {
        return Ok(());
    }
    let on = flat(&join.on);
    match join.kind {
        JoinKind::Inner if on.is_empty() => {}
        JoinKind::Left => found.recheck.push(Recheck::NullUnless(on, join.right.slots())),
        JoinKind::Right => found.recheck.push(Recheck::NullUnless(on, join.left.slots())),
        _ => found.recheck.push(Recheck::Holds(on)),
    }
    Ok(())
}

/// A mark within what [`collect`] would reach.
fn marked(node: &Node) -> Option<RowLock> {
    match node {
        Node::Scan(scan) => scan.lock,
        Node::Append(append) => append.inputs.first().and_then(marked),
        Node::Sort(_) | Node::Filter(_) | Node::Project(_) | Node::Join(_) => {
            let mut found = None;
            node.for_each_child(&mut |child| found = found.or_else(|| marked(child)));
            found
        }
        // A subquery with a LIMIT or an order of its own has locked its rows already.
        Node::Limit(limit) => marked(&limit.input),
        Node::LockRows(lock) => lock.targets.first().map(|target| target.lock),
        _ => None,
    }
}

fn flat(predicates: &[Expr]) -> Vec<Expr> {
    let mut list = Vec::new();
    predicates.iter().cloned().for_each(|e| conjuncts(e, &mut list));
    list
}

/// What a projection computes, beyond columns that it passes on under their own slots.
fn computed(project: &Project) -> Vec<(Slot, Expr)> {
    let passes = |slot: &Slot, e: &Expr| matches!(e, Expr::Column(from, _) if from == slot);
    project.exprs.iter().filter(|(slot, e)| !passes(slot, e)).cloned().collect()
}

/// Makes a projection give what locking above it needs: the keys of locked tables, and whatever
/// is read when a row is looked at again and is no column of a locked table.
fn pass_through(project: &mut Project, found: &Collected) {
    let mut wanted: Vec<(Slot, SqlType)> = Vec::new();
    for target in &found.targets {
        for slot in &target.key {
            let place = target.columns.iter().find(|(s, _)| s == slot).map(|(_, place)| *place);
            match place {
                Some(OID_PLACE) => wanted.push((*slot, SqlType::Oid)),
                Some(place) => wanted.push((*slot, target.column_type(place))),
                None => {}
            }
        }
    }
    let mut columns = |e: &Expr| {
        e.any(&mut |e| {
            if let Expr::Column(slot, ty) = e
                && found.targets.iter().all(|target| !target.gives(*slot))
            {
                wanted.push((*slot, ty.clone()));
            }
            false
        });
    };
    project.exprs.iter().for_each(|(_, e)| columns(e));
    found.recheck.iter().flat_map(Recheck::exprs).for_each(&mut columns);
    let given = project.input.slots();
    for (slot, ty) in wanted {
        if given.contains(&slot) && project.exprs.iter().all(|(known, _)| *known != slot) {
            project.exprs.push((slot, Expr::Column(slot, ty)));
        }
    }
}

/// Outer joins whose missing rows a condition above drops anyway become inner ones: their sides
/// can be locked then.
fn reduce(node: &mut Node, conditions: &[Expr]) {
    match node {
        Node::Filter(filter) => {
            let mut all = conditions.to_vec();
            all.extend(flat(&filter.predicates));
            reduce(&mut filter.input, &all);
        }
        Node::Sort(sort) => reduce(&mut sort.input, conditions),
        Node::Join(join) => {
            let side = |node: &Node| node.slots().into_iter().collect();
            let drops = |side| conditions.iter().any(|e| rejects_null(e, &side));
            join.kind = match join.kind {
                JoinKind::Left if drops(side(&join.right)) => JoinKind::Inner,
                JoinKind::Right if drops(side(&join.left)) => JoinKind::Inner,
                JoinKind::Full => match (drops(side(&join.left)), drops(side(&join.right))) {
                    (true, true) => JoinKind::Inner,
                    // Rows without a left one are dropped.
                    (true, false) => JoinKind::Left,
                    (false, true) => JoinKind::Right,
                    (false, false) => JoinKind::Full,
                },
                kind => kind,
            };
            let mut all = conditions.to_vec();
            if join.kind == JoinKind::Inner {
                all.extend(flat(&join.on));
            }
            reduce(&mut join.left, &all);
            reduce(&mut join.right, &all);
        }
        _ => {}
    }
}

/// The slots that some expressions read, those of subqueries included.
pub(crate) fn slots_of<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Vec<Slot> {
    let mut slots = Vec::new();
    for e in exprs {
        walk::expr_slots(&mut e.clone(), &mut slots);
    }
    slots
}
