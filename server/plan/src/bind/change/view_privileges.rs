//! Privileges for the change of a table or view: those of the session's user on what the statement
//! names, and below each view those of its owner.
//!
//! ```text
//!   statement ─ user ─▶ view v ─ owner of v ─▶ view w ─ owner of w ─▶ table t
//!   level                 0                      1                      2
//! ```
//!
//! The owner of a view needs the privilege of the change on the columns that it changes below. If
//! the statement reads the view, the owner also needs SELECT on all columns that the view's query
//! reads, as in PostgreSQL.

use braid_catalog::{ColumnId, Id, Object};
use braid_types::{Error, Result};

use super::view::{ChangeTarget, object};
use crate::bind::Binder;
use crate::bind::from::privileges::{reader_of, role_of};

impl ChangeTarget {
    /// 42501 unless each level's role has a privilege on all of what it changes.
    pub(crate) fn check(&self, binder: &Binder<'_>, privilege: &str) -> Result<()> {
        let privileges = binder.context().catalog.privileges();
        (0..=self.layers.len()).try_for_each(|level| {
            let (role, object) = level_of(self, binder, level);
            privileges.check(role, object, privilege)
        })
    }

    /// 42501 unless each level's role has a privilege on these columns, given by their places in
    /// the table. Without a column it takes the privilege on any one.
    pub(crate) fn check_columns(
        &self,
        binder: &Binder<'_>,
        privilege: &str,
        places: &[usize],
    ) -> Result<()> {
        (0..=self.layers.len()).try_for_each(|level| {
            let numbers = || places.iter().map(|place| number_at(self, level, *place)).collect();
            check_level(self, binder, (level, privilege), numbers)
        })
    }

    /// 42501 unless the owners of the views may read what the views' queries read, if the
    /// statement reads the view.
    pub(crate) fn check_reads(&self, binder: &Binder<'_>, reads: bool) -> Result<()> {
        if !reads {
            return Ok(());
        }
        (1..).zip(&self.layers).try_for_each(|(level, layer)| {
            check_level(self, binder, (level, "SELECT"), || Ok(layer.reads.clone()))
        })
    }
}

/// 42501 unless a level's role has a privilege on columns of it, given by their numbers there.
fn check_level(
    target: &ChangeTarget,
    binder: &Binder<'_>,
    (level, privilege): (usize, &str),
    numbers: impl FnOnce() -> Result<Vec<ColumnId>>,
) -> Result<()> {
    let privileges = binder.context().catalog.privileges();
    let (role, object) = level_of(target, binder, level);
    if privileges.has(role, object, privilege) {
        return Ok(());
    }
    let numbers = numbers()?;
    let may = match &numbers[..] {
        [] => privileges.has_on_some_column(role, object, privilege),
        all => all.iter().all(|n| privileges.has_on_column(role, object, *n, privilege)),
    };
    if may { Ok(()) } else { Err(privileges.denied(object)) }
}

/// The role whose privileges count at a level, and what they are for.
fn level_of<'t>(
    target: &'t ChangeTarget,
    binder: &'t Binder<'_>,
    level: usize,
) -> (Id, Object<'t>) {
    let role = match level {
        0 => reader_of(binder),
        _ => target.reader(binder, level).unwrap_or_else(|| role_of(binder)),
    };
    let object = match target.layers.get(level) {
        _ if level == 0 => object(binder, &target.shown),
        Some(layer) => Object::View(&layer.view),
        None => Object::Table(&target.table),
    };
    (role, object)
}

/// The number of a column of the table at a level.
fn number_at(target: &ChangeTarget, level: usize, place: usize) -> Result<ColumnId> {
    let number = match level.checked_sub(1).and_then(|above| target.layers.get(above)) {
        Some(above) => {
            above.columns.iter().find(|(_, known)| *known == place).map(|(number, _)| *number)
        }
        None if target.layers.is_empty() => target.shown.columns.get(place).map(|column| column.id),
        None => target.number_of(place),
    };
    let missing = || format!("\"{}\" has no column at place {place}", target.shown.name);
    number.ok_or_else(|| Error::broken(missing()))
}
