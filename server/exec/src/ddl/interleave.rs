//! `INTERLEAVE IN PARENT`: where a table's rows or an index's entries lie.
//!
//! Without ON DELETE interleaving is placement alone. With it the descriptor gets a foreign key on
//! the interleaved columns, so that one mechanism enforces it, and SHOW CREATE TABLE prints the
//! clause in its place.
//!
//! Rules that must always hold:
//! - a descriptor's way down (`above`) and the lists of what lies below agree in both directions;
//! - the keys of a table with something below it keep their form: what would change them is
//!   refused;
//! - keys that are left below others' rows (an interleaved table or index has no range of its own)
//!   are noted with the parent and removed in the background (`super::left_over`), and their place
//!   is not used again before.

use std::sync::Arc;

use braid_catalog::{
    Ancestor, Dropped, ForeignKeyAction, Id, Index, IndexNumber, Interleaving, Object, Table,
    is_temporary,
};
use braid_kv::{ScanRequest, Seq, Transaction};
use braid_sql::ast::{self, Interleave, InterleaveKind, MatchKind, ReferenceAction};
use braid_types::{Error, Result, SqlState};

use super::DdlContext;
use super::data::CHECKED;
use super::drop::change_table;
use super::lookup::{folded, parts};
use super::relocate::refuse_moving;
use crate::from_kv;

fn invalid(message: String) -> Error {
    Error::new(SqlState::InvalidSchemaDefinition, message)
}

fn names(table: &Table, index: &Index) -> String {
    let name = |part: &braid_catalog::IndexKey| table.column(part.column).map(|c| c.name.clone());
    index.keys.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

/// 42P15 unless the declared columns are the parent's primary key and begin the index's key.
fn check_columns(table: &Table, index: &Index, parent: &Table, declared: &[String]) -> Result<()> {
    let what = if index.number == table.primary.number { "primary key" } else { "index" };
    let (shown, own) = (declared.join(", "), names(table, index));
    let above = names(parent, &parent.primary);
    if declared.len() != parent.primary.keys.len() {
        return Err(invalid(format!(
            "declared interleaved columns ({shown}) must match the parent's primary index ({above})"
        )));
    }
    if declared.len() > index.keys.len() {
        return Err(invalid(format!(
            "declared interleaved columns ({shown}) must be a prefix of the {what} columns being \
             interleaved ({own})"
        )));
    }
    for ((name, part), parent_part) in declared.iter().zip(&index.keys).zip(&parent.primary.keys) {
        let columns = (table.column(part.column), parent.column(parent_part.column));
        let (Some(column), Some(parent_column)) = columns else {
            return Err(Error::internal("a key without its column"));
        };
        if column.name != *name {
            return Err(invalid(format!(
                "declared interleaved columns ({shown}) must refer to a prefix of the {what} \
                 column names being interleaved ({own})"
            )));
        }
        if column.ty != parent_column.ty || part.descending != parent_part.descending {
            return Err(invalid(format!(
                "declared interleaved columns ({shown}) must match type and sort direction of the \
                 parent's primary index ({above})"
            )));
        }
    }
    Ok(())
}

/// The way down to what is interleaved in `parent`.
pub(super) fn way_down(parent: &Table) -> Vec<Ancestor> {
    let interleaving = parent.primary.interleaving.as_ref();
    let mut above = interleaving.map(|found| found.above.clone()).unwrap_or_default();
    let columns = parent.primary.keys.len() - parent.primary.columns_above();
    above.push(Ancestor { table: parent.id, data_id: parent.data_id, columns });
    above
}

/// Whether a foreign key is on the columns that a table is interleaved by, and to that parent.
pub(super) fn is_on_interleaved_columns(table: &Table, key: &braid_catalog::ForeignKey) -> bool {
    let columns = &table.primary.keys[..table.primary.columns_above()];
    table.primary.parent() == Some(key.parent)
        && key.parent_index == 1
        && key.columns.len() == columns.len()
        && columns.iter().all(|part| key.columns.contains(&part.column))
}

/// 42P16 if a foreign key on the interleaved columns says otherwise than ON DELETE of INTERLEAVE.
pub(super) fn check_agreement(table: &Table) -> Result<()> {
    let made = table.primary.interleaving.as_ref().and_then(|found| found.foreign_key);
    let Some(made) = table.foreign_keys.iter().find(|key| Some(key.id) == made) else {
        return Ok(());
    };
    let same = table.foreign_keys.iter().filter(|key| is_on_interleaved_columns(table, key));
    for key in same {
        let refuses =
            |action| matches!(action, ForeignKeyAction::NoAction | ForeignKeyAction::Restrict);
        let agrees =
            key.on_delete == made.on_delete || (refuses(key.on_delete) && refuses(made.on_delete));
        if !agrees {
            let (name, relation) = (&key.name, &table.name);
            let message = format!(
                "foreign key constraint \"{name}\" and the interleaving of table \"{relation}\" \
                 disagree on ON DELETE"
            );
            return Err(Error::new(SqlState::InvalidTableDefinition, message));
        }
    }
    Ok(())
}

/// 2BP01 for the foreign key that ON DELETE of INTERLEAVE has made.
pub(super) fn refuse_enforcing(table: &Table, key: &braid_catalog::ForeignKey) -> Result<()> {
    let made = table.primary.interleaving.as_ref().and_then(|found| found.foreign_key);
    if made != Some(key.id) {
        return Ok(());
    }
    let (name, relation) = (&key.name, &table.name);
    let message = format!(
        "cannot drop constraint {name} on table {relation} because its interleaving requires it"
    );
    Err(Error::new(SqlState::DependentObjectsStillExist, message))
}

/// 0A000 for a change of a primary key that interleaving depends on.
pub(super) fn refuse_new_key(table: &Table) -> Result<()> {
    if table.primary.interleaving.is_none() && table.primary.below.is_empty() {
        return Ok(());
    }
    let message = format!("cannot change the primary key of interleaved table \"{}\"", table.name);
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

/// 0A000 for a change of a key column that interleaving depends on.
pub(super) fn refuse_new_type(table: &Table, place: usize) -> Result<()> {
    let column = &table.columns[place];
    let all = table.primary.keys.len();
    let bound = table.all_indexes().any(|index| {
        let count = if index.below.is_empty() { index.columns_above() } else { all };
        index.keys.iter().take(count).any(|part| part.column == column.id)
    });
    if !bound {
        return Ok(());
    }
    let (name, relation) = (&column.name, &table.name);
    let message =
        format!("cannot alter type of column \"{name}\" of interleaved table \"{relation}\"");
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

/// 0A000 for writing anew a table whose rows others lie below.
pub(super) fn refuse_rewrite(table: &Table) -> Result<()> {
    if table.primary.below.is_empty() {
        return Ok(());
    }
    let message =
        format!("cannot rewrite table \"{}\" while others are interleaved in it", table.name);
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

impl DdlContext<'_> {
    /// Puts a table's primary key, or an index of it, below the rows of a parent. There are no
    /// rows or entries yet.
    pub(super) fn interleave(
        &mut self,
        table: &mut Table,
        number: IndexNumber,
        clause: &Interleave,
    ) -> Result<()> {
        let parent = self.interleave_parent(table, clause)?;
        if is_temporary(table.id) || is_temporary(parent.id) {
            return Err(Error::unsupported("INTERLEAVE of temporary tables"));
        }
        let foreign_key = self.check_clause(table, number, clause, &parent)?;
        let interleaving = Interleaving { above: way_down(&parent), foreign_key };
        let owned = std::iter::once(&mut table.primary).chain(&mut table.indexes);
        for index in owned.filter(|index| index.number == number) {
            index.interleaving = Some(interleaving.clone());
        }
        let id = table.id;
        change_table(self, parent.id, |parent| parent.primary.below.push((id, number)))?;
        check_agreement(table)
    }

    /// Checks a clause, and adds the foreign key that its ON DELETE makes; the key's id.
    pub(super) fn check_clause(
        &mut self,
        table: &mut Table,
        number: IndexNumber,
        clause: &Interleave,
        parent: &Table,
    ) -> Result<Option<Id>> {
        let is_table = number == table.primary.number;
        let declared = folded(&clause.columns);
        let Some(index) = table.index(number) else {
            return Err(Error::internal("an index has vanished"));
        };
        check_columns(table, index, parent, &declared)?;
        let mut foreign_key = None;
        if let Some(action) = clause.on_delete {
            if !is_table {
                return Err(Error::unsupported("ON DELETE of an interleaved index"));
            }
            if clause.kind == InterleaveKind::In {
                let message = "ON DELETE needs INTERLEAVE IN PARENT";
                return Err(Error::new(SqlState::SyntaxError, message));
            }
            self.add_foreign_key(table, None, &enforced(clause, action), declared)?;
            foreign_key = table.foreign_keys.last().map(|key| key.id);
        }
        Ok(foreign_key)
    }

    /// The parent that a clause names.
    pub(super) fn interleave_parent(
        &self,
        table: &Table,
        clause: &Interleave,
    ) -> Result<Arc<Table>> {
        let schema = self.catalog().schema_name(table.schema);
        let is_self = match parts(&clause.parent).as_slice() {
            [name] => *name == table.name,
            [.., in_schema, name] => *name == table.name && *in_schema == schema,
            [] => false,
        };
        if is_self {
            let message = format!("cannot interleave table \"{}\" in itself", table.name);
            return Err(Error::new(SqlState::InvalidTableDefinition, message));
        }
        let parent = self.table(&clause.parent)?;
        self.check_owner(Object::Table(&parent))?;
        if parent.moving.is_some() {
            refuse_moving(&self.catalog(), &parent)?;
        }
        Ok(parent)
    }

    /// Takes an interleaved index off its parent's list.
    pub(super) fn forget_interleaving(&mut self, table: &Table, index: &Index) -> Result<()> {
        let Some(parent) = index.parent() else { return Ok(()) };
        let gone = (table.id, index.number);
        change_table(self, parent, |parent| parent.primary.below.retain(|below| *below != gone))
    }

    /// Deletes the entries of an index that goes. Those of an interleaved one are left over, to
    /// be removed in the background.
    pub(super) fn delete_index(&mut self, table: &Table, index: &Index) -> Result<()> {
        if index.interleaving.is_some() {
            self.leave_keys(table, index)?;
            return self.forget_interleaving(table, index);
        }
        self.drop_range(&Dropped::index(table.data_id, index.number))
    }

    /// Notes with the parent that the keys of an interleaved index, and what lies below them, are
    /// left over.
    fn leave_keys(&mut self, table: &Table, index: &Index) -> Result<()> {
        let (Some(interleaving), Some(parent)) = (&index.interleaving, index.parent()) else {
            return Ok(());
        };
        let passing = table.passing_keys(index, interleaving);
        change_table(self, parent, |parent| parent.primary.passing.push(passing))
    }

    /// Deletes every row and index entry of a table that goes, or whose data gets a new place;
    /// `gone` says which others of the catalog go as well.
    pub(super) fn delete_rows(&mut self, table: &Table, gone: impl Fn(Id) -> bool) -> Result<()> {
        if table.all_indexes().all(|index| !index.is_mixed()) {
            return self.drop_range(&Dropped::data(table.data_id));
        }
        for index in table.all_indexes() {
            match &index.interleaving {
                // What goes above takes it along.
                Some(place) if place.above.iter().any(|above| gone(above.table)) => {}
                Some(_) => self.leave_keys(table, index)?,
                None => self.drop_range(&Dropped::index(table.data_id, index.number))?,
            }
        }
        self.drop_vacated(table)
    }

    /// What a table's rows have left when they moved away goes with the rest of its data.
    fn drop_vacated(&self, table: &Table) -> Result<()> {
        if !table.vacated {
            return Ok(());
        }
        self.drop_range(&Dropped::index(table.data_id, table.primary.number))
    }

    /// Deletes every row and index entry of a table that is emptied together with others. Where
    /// its keys are left over, its data gets a new place, and what is interleaved in it with it.
    pub(super) fn empty_table(&mut self, id: Id, emptied: &[Id]) -> Result<()> {
        let catalog = self.catalog();
        let Some(table) = catalog.table(id).cloned() else { return Ok(()) };
        // Entries of an index that lie below the rows stay if their table is not emptied.
        let alone = |table: &Table| {
            let below = catalog.interleaved_below(table);
            below.iter().all(|(below, _)| emptied.contains(&below.id))
        };
        let takes_all = |above: &Ancestor| {
            let table = catalog.table(above.table).filter(|_| emptied.contains(&above.table));
            table.is_some_and(|table| alone(table))
        };
        let is_alone = alone(&table);
        let is_mixed = table.all_indexes().any(Index::is_mixed);
        // A range that is left and destroyed later must not be used again.
        let leaves = !self.txn().database().store().locks_spans();
        let mut moves = !is_mixed;
        if !is_mixed {
            self.drop_range(&Dropped::data(table.data_id))?;
        }
        for index in table.all_indexes().filter(|_| is_mixed) {
            match &index.interleaving {
                Some(place) if place.above.iter().any(takes_all) => {}
                Some(_) if is_alone => {
                    self.leave_keys(&table, index)?;
                    moves = true;
                }
                None if is_alone || (index.below.is_empty() && !leaves) => {
                    self.drop_range(&Dropped::index(table.data_id, index.number))?;
                    moves |= leaves;
                    change_table(self, id, |table| {
                        let owned = std::iter::once(&mut table.primary).chain(&mut table.indexes);
                        for own in owned.filter(|own| own.number == index.number) {
                            own.passing.clear();
                        }
                    })?;
                }
                _ => self.scattered.push((table.clone(), index.number)),
            }
        }
        if !moves {
            return Ok(());
        }
        if is_mixed {
            self.drop_vacated(&table)?;
        }
        self.replace_data(id)
    }

    /// Gives a table's data a new place; there is none yet, neither its own nor below its rows.
    fn replace_data(&mut self, id: Id) -> Result<()> {
        let data_id = self.draft()?.allocate_id(id);
        let catalog = self.catalog();
        let Some(table) = catalog.table(id) else { return Ok(()) };
        for (below, number) in catalog.interleaved_below(table) {
            change_table(self, below.id, |below| {
                let owned = std::iter::once(&mut below.primary).chain(&mut below.indexes);
                let places = owned.filter(|index| index.number == number);
                let above = places.filter_map(|index| index.interleaving.as_mut());
                for above in above.flat_map(|place| &mut place.above).filter(|a| a.table == id) {
                    above.data_id = data_id;
                }
            })?;
        }
        change_table(self, id, |table| {
            table.data_id = data_id;
            table.primary.passing.clear();
            table.vacated = false;
        })
    }

    /// Deletes what lies between others' keys that stay, as noted by the emptying of tables.
    pub(super) async fn delete_scattered(&mut self) -> Result<()> {
        for (table, number) in std::mem::take(&mut self.scattered) {
            let Some(index) = table.index(number) else { continue };
            delete_keys(self.txn(), self.seq(), &table, index).await?;
            self.exec.breathe().await?;
        }
        Ok(())
    }
}

/// Deletes the keys of an index one by one.
async fn delete_keys(txn: &Arc<Transaction>, seq: Seq, table: &Table, index: &Index) -> Result<()> {
    let request = ScanRequest::new(table.index_span(index)).keys_only().record(CHECKED);
    let request = request.shape(table.key_shape(index).as_ref());
    let mut scanner = txn.scanner(seq.after(), request);
    while let Some(batch) = scanner.next_batch().await.map_err(from_kv)? {
        for (key, _) in batch.iter() {
            txn.delete(seq, key).map_err(from_kv)?;
        }
    }
    Ok(())
}

/// The foreign key that ON DELETE stands for.
fn enforced(clause: &Interleave, action: ReferenceAction) -> ast::ForeignKey {
    ast::ForeignKey {
        columns: clause.columns.clone(),
        table: clause.parent.clone(),
        ref_columns: Vec::new(),
        match_kind: MatchKind::Simple,
        on_delete: action,
        delete_columns: Vec::new(),
        on_update: ReferenceAction::NoAction,
        deferrable: false,
        initially_deferred: false,
    }
}
