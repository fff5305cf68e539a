//! Primary keys, unique constraints, checks and families of a table's descriptor.

use std::sync::Arc;

use braid_catalog::names::index_labels;
use braid_catalog::{
    Catalog, Check, Column, ColumnId, Index, IndexKey, IndexNumber, KeyPart, StoredExpr, Table,
    names,
};
use braid_codec::key::is_orderable;
use braid_plan::stored_collation;
use braid_sql::ast::{CheckClause, Family, TableConstraint, TableConstraintKind, UniqueRules};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{choose_relation_name, duplicate, folded, system_key};
use crate::table::constraint_names::{
    check_constraint_name, choose_constraint_name, multiple_primary_keys,
};
use crate::table::exprs::{CHECKS, check_expr, check_written, index_key_expr};
use crate::table::foreign_keys::define_foreign_key;
use crate::table::key_classes::no_default_class;
use crate::table::key_spec::{KeySpec, SpecKey, equal_keys_first, exclusion_spec};

fn key_column(table: &Table, name: &str, spec: &KeySpec) -> Result<ColumnId> {
    let Some(column) = table.visible_columns().find(|column| column.name == name) else {
        if let Some(error) = system_key(name, "btree") {
            return Err(error);
        }
        let message = if spec.constraint {
            format!("column \"{name}\" named in key does not exist")
        } else {
            format!("column \"{name}\" does not exist")
        };
        return Err(Error::new(SqlState::UndefinedColumn, message).position(spec.place));
    };
    Ok(column.id)
}

/// Adds the column for the key of an index that is an expression; its number. Numbers count down
/// from the highest, so that they do not meet those of other columns.
fn push_key_expr(table: &mut Table, label: &str, expr: &StoredExpr, ty: &SqlType) -> ColumnId {
    let lowest = table.key_exprs().map(|(_, column)| column.id).min();
    let id = lowest.unwrap_or(ColumnId::MAX) - 1;
    table.columns.push(Column {
        id,
        name: Column::key_expr_name(id, label),
        ty: ty.clone(),
        modifier: None,
        more_dimensions: 0,
        domain: None,
        collation: None,
        nullable: true,
        default: None,
        generated: Some(expr.clone()),
        identity: None,
        owned_sequence: None,
        family: table.families.first().map_or(0, |family| family.id),
        hidden: true,
        is_key_expr: true,
        missing: None,
        statistics_target: None,
        storage: None,
        grants: Vec::new(),
        comment: None,
    });
    id
}

fn key_list(table: &mut Table, spec: &KeySpec) -> Result<Vec<IndexKey>> {
    let mut keys: Vec<IndexKey> = Vec::with_capacity(spec.keys.len());
    for key in &spec.keys {
        let name = &key.column;
        let id = match &key.expr {
            Some((expr, ty)) => push_key_expr(table, name, expr, ty),
            None => key_column(table, name, spec)?,
        };
        if keys.iter().any(|other| other.column == id) {
            if spec.inverted.is_empty() && !spec.constraint {
                continue;
            }
            if !spec.constraint {
                keys.push(index_key(id, key));
                continue;
            }
            let message = format!("column \"{name}\" appears twice in {}", spec.what());
            return Err(Error::new(SqlState::DuplicateColumn, message).position(spec.place));
        }
        let ty = table.column(id).map(|column| column.ty.clone());
        if let Some(ty) = ty.filter(|ty| spec.inverted.is_empty() && !is_orderable(ty)) {
            return Err(no_default_class(&ty, "btree"));
        }
        keys.push(index_key(id, key));
    }
    Ok(keys)
}

fn index_key(column: ColumnId, key: &SpecKey) -> IndexKey {
    IndexKey {
        column,
        descending: key.descending,
        nulls_opposed: key.nulls_opposed,
        operator_class: key.operator_class,
        collation: key.collation.clone(),
    }
}

/// The names of the relations that a table's descriptor has made and the draft does not know yet.
fn own_names(table: &Table) -> Vec<String> {
    let indexes = table.all_indexes().map(|index| index.name.clone());
    indexes.chain([table.name.clone()]).collect()
}

fn index_name(catalog: &Catalog, table: &Table, spec: &KeySpec) -> Result<String> {
    let own = own_names(table);
    let Some(name) = &spec.name else {
        let keys = spec.keys.iter().map(|key| key.column.as_str());
        let columns = index_labels(keys.chain(spec.storing.iter().map(String::as_str)));
        let columns = columns.join("_");
        let (addition, label) = match (spec.primary, spec.constraint) {
            _ if spec.exclusion.is_some() => (Some(columns.as_str()), "excl"),
            (true, _) => (None, "pkey"),
            (false, true) => (Some(columns.as_str()), "key"),
            (false, false) => (Some(columns.as_str()), "idx"),
        };
        return Ok(choose_relation_name(catalog, table.schema, &table.name, addition, label, &own));
    };
    if catalog.names().find(table.schema, name).is_some() || own.contains(name) {
        return Err(duplicate(name));
    }
    Ok(name.clone())
}

/// 0A000 unless a unique key of a partitioned table has all columns of the partition key: equal
/// keys are then in one partition.
fn check_unique_key(table: &Table, spec: &KeySpec) -> Result<()> {
    let Some(partitioning) = table.partitioning.as_ref().filter(|_| spec.unique) else {
        return Ok(());
    };
    let kind = if spec.primary { "PRIMARY KEY" } else { "UNIQUE" };
    for key in &partitioning.keys {
        let KeyPart::Column(id) = &key.part else {
            let message = format!("unsupported {kind} constraint with partition key definition");
            return Err(Error::new(SqlState::FeatureNotSupported, message).detail(format!(
                "{kind} constraints cannot be used when partition keys include expressions."
            )));
        };
        let name = &table.columns[table.place_of(*id)?].name;
        if !spec.keys.iter().any(|part| part.expr.is_none() && part.column == *name) {
            let message = "unique constraint on partitioned table must include all partitioning \
                           columns";
            return Err(Error::new(SqlState::FeatureNotSupported, message).detail(format!(
                "{kind} constraint on table \"{}\" lacks column \"{name}\" which is part of the \
                 partition key.",
                table.name
            )));
        }
    }
    Ok(())
}

/// The columns that an index stores beside its keys, and those of INCLUDE as they were written, if
/// that is something else.
fn stored_columns(
    table: &Table,
    spec: &KeySpec,
    keys: &[IndexKey],
) -> Result<(Vec<ColumnId>, Vec<ColumnId>)> {
    let names = spec.storing.iter();
    let written: Vec<_> = names.map(|name| key_column(table, name, spec)).collect::<Result<_>>()?;
    let mut storing = Vec::new();
    for id in &written {
        if !keys.iter().any(|key| key.column == *id) && !storing.contains(id) {
            storing.push(*id);
        }
    }
    let written = if written == storing { Vec::new() } else { written };
    Ok((storing, written))
}

/// Adds a key to a table's descriptor; its number. A primary key replaces what stood there.
pub(crate) fn add_key(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    spec: &KeySpec,
) -> Result<IndexNumber> {
    check_unique_key(table, spec)?;
    let spec = &by_equality(cx, table, spec)?;
    let catalog = cx.catalog();
    let (keys, exclusion) = equal_keys_first(key_list(table, spec)?, spec.exclusion.as_ref());
    let (storing, written_storing) = stored_columns(table, spec, &keys)?;
    let name = index_name(&catalog, table, spec)?;
    if spec.constraint {
        check_constraint_name(table, &name)?;
    }
    let id = cx.draft()?.allocate_id(table.id);
    let constraint = match spec.constraint {
        true => Some(cx.draft()?.allocate_id(table.id)),
        false => None,
    };
    let stores_rows = spec.stores_rows();
    let number = if stores_rows { 1 } else { table.next_index };
    let index = Index {
        id,
        unique: spec.unique && !spec.rules.deferrable,
        deferrable: spec.rules.deferrable,
        initially_deferred: spec.rules.initially_deferred,
        is_late_primary: spec.primary && !stores_rows,
        nulls_not_distinct: spec.rules.nulls_not_distinct,
        exclusion,
        is_hash: spec.is_hash,
        inverted: spec.inverted.clone(),
        constraint,
        keys,
        storing,
        written_storing,
        predicate: spec.predicate.clone(),
        options: spec.options.clone(),
        ..Index::plain(number, &name)
    };
    if spec.primary {
        for column in &mut table.columns {
            if index.keys.iter().any(|key| key.column == column.id) {
                column.nullable = false;
            }
        }
    }
    if stores_rows {
        table.primary = index;
    } else {
        table.next_index += 1;
        table.indexes.push(index);
    }
    Ok(number)
}

/// Adds a unique constraint of a new table. One without a name is left out if another key makes it
/// needless.
pub(crate) fn add_unique_constraint(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    spec: &KeySpec,
) -> Result<()> {
    let names = |index: &Index| -> Vec<Option<&str>> {
        let column = |key: &IndexKey| Some(table.column(key.column)?.name.as_str());
        index.keys.iter().map(column).collect()
    };
    let wanted: Vec<_> = spec.keys.iter().map(|key| Some(key.column.as_str())).collect();
    let is_plain = |index: &&Index| {
        let rules = UniqueRules {
            nulls_not_distinct: index.nulls_not_distinct,
            deferrable: index.deferrable,
            initially_deferred: index.initially_deferred,
        };
        index.constraint.is_some()
            && index.exclusion.is_none()
            && index.storing.is_empty()
            && rules == spec.rules
            && index.keys.iter().all(|key| !key.descending)
    };
    let may_be_left_out = spec.name.is_none()
        && spec.storing.is_empty()
        && spec.keys.iter().all(|key| !key.descending);
    if !may_be_left_out || !table.all_indexes().filter(is_plain).any(|key| names(key) == wanted) {
        add_key(cx, table, spec)?;
    }
    Ok(())
}

/// A key over columns whose texts may be equal without having the same bytes: their equality keys
/// take their places. 0A000 for a primary key, whose columns the rows are stored under.
fn by_equality(cx: &DdlContext<'_>, table: &Table, spec: &KeySpec) -> Result<KeySpec> {
    let catalog = cx.catalog();
    let mut spec = spec.clone();
    let (is_primary, is_exclusion) = (spec.primary, spec.exclusion.is_some());
    for key in spec.keys.iter_mut().filter(|key| key.expr.is_none()) {
        let Some(column) = table.visible_columns().find(|column| column.name == key.column) else {
            continue;
        };
        let stored = key.collation.as_deref().or(column.collation.as_deref());
        let icu = stored.and_then(|stored| stored_collation(&catalog, stored).icu);
        let Some(icu) = icu.filter(|icu| !icu.is_deterministic) else { continue };
        if is_primary || is_exclusion {
            let what = if is_primary { "a primary key" } else { "an exclusion constraint" };
            return Err(Error::unsupported(format!(
                "{what} over column \"{}\", which has a nondeterministic collation",
                column.name
            )));
        }
        if key.operator_class.is_some() {
            continue;
        }
        let name = braid_sql::quote_ident(&column.name);
        let locale = braid_sql::quote_literal(&icu.locale);
        let text = format!("braid_equality_key({name}, {locale})");
        key.expr = Some(index_key_expr(cx, &Arc::new(table.clone()), &text)?);
    }
    Ok(spec)
}

/// Adds a CHECK to a table's descriptor. `column` is the one it was written behind.
pub(crate) fn add_check_constraint(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    name: Option<String>,
    clause: &CheckClause,
    column: Option<&str>,
) -> Result<()> {
    let no_inherit = clause.no_inherit;
    let shape = Arc::new(table.clone());
    let (expr, columns) = check_expr(cx, &shape, &clause.expr)?;
    let single = match columns.as_slice() {
        [only] => table.column(*only).map(|column| column.name.clone()),
        _ => None,
    };
    let name = match name {
        Some(name) => {
            check_constraint_name(table, &name)?;
            name
        }
        None => choose_constraint_name(table, column.or(single.as_deref()), "check"),
    };
    if no_inherit && table.partitioning.is_some() {
        let message =
            format!("cannot add NO INHERIT constraint to partitioned table \"{}\"", table.name);
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    let id = cx.draft()?.allocate_id(table.id);
    let validated = true;
    table.checks.push(Check { id, name, expr, columns, validated, no_inherit, comment: None });
    Ok(())
}

/// Adds a constraint as written beside the columns of a new table.
pub(crate) fn add_table_constraint(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    constraint: &TableConstraint,
) -> Result<()> {
    let name = constraint.name.as_ref().map(fold);
    let start = braid_sql::offset_of(constraint.span);
    match &constraint.kind {
        TableConstraintKind::PrimaryKey { columns, storing, rules } => {
            if table.primary_key().is_some() {
                return Err(multiple_primary_keys(&table.name).position(start));
            }
            let spec = KeySpec::written(name, true, columns, storing);
            add_key(cx, table, &KeySpec { rules: *rules, place: start, ..spec })?;
        }
        TableConstraintKind::Unique { columns, storing, rules } => {
            let spec = KeySpec::written(name, false, columns, storing);
            add_unique_constraint(cx, table, &KeySpec { rules: *rules, place: start, ..spec })?;
        }
        TableConstraintKind::UsingIndex { .. } => {
            return Err(Error::unsupported("USING INDEX"));
        }
        TableConstraintKind::Exclude(written) => {
            let spec = exclusion_spec(cx, table, constraint.name.as_ref(), written)?;
            add_key(cx, table, &spec)?;
        }
        TableConstraintKind::Check(check) => {
            check_written(cx, Some(table), &check.expr, CHECKS)?;
            add_check_constraint(cx, table, name, check, None)?;
        }
        TableConstraintKind::ForeignKey(key) => {
            define_foreign_key(cx, table, name, key, folded(&key.columns))?;
        }
    }
    Ok(())
}

/// Sets a table's families as written; columns that none names go to the first.
pub(crate) fn set_families(table: &mut Table, families: &[Family]) -> Result<()> {
    if families.is_empty() {
        return Ok(());
    }
    let mut made: Vec<braid_catalog::Family> = Vec::new();
    let mut seen: Vec<ColumnId> = Vec::new();
    for family in families {
        let id = u16::try_from(made.len())
            .map_err(|_| Error::new(SqlState::ProgramLimitExceeded, "too many column families"))?;
        let name = match &family.name {
            Some(name) => fold(name),
            None => format!("fam_{id}_{}", folded(&family.columns).join("_")),
        };
        if made.iter().any(|other| other.name == name) {
            let message = format!("family \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateObject, message));
        }
        for column in folded(&family.columns) {
            let found = table.columns.iter_mut().find(|found| found.name == column);
            let Some(found) = found else {
                let message = format!("column \"{column}\" named in family does not exist");
                return Err(Error::new(SqlState::UndefinedColumn, message));
            };
            if seen.contains(&found.id) {
                let message = format!("column \"{column}\" appears in more than one family");
                return Err(Error::new(SqlState::InvalidTableDefinition, message));
            }
            seen.push(found.id);
            found.family = id;
        }
        made.push(braid_catalog::Family { id, name: names::truncate_name(&name).to_owned() });
    }
    table.next_family = u16::try_from(made.len()).unwrap_or(u16::MAX);
    table.families = made;
    Ok(())
}

/// Puts a column into the family written behind it; makes the family where that is allowed.
pub(crate) fn set_family(
    table: &mut Table,
    column: ColumnId,
    family: &(Option<String>, bool),
) -> Result<()> {
    let (name, may_make) = family;
    let found = name.as_ref().and_then(|name| table.families.iter().find(|f| f.name == *name));
    let id = match (found, name) {
        (Some(found), _) => found.id,
        (None, Some(name)) if !may_make => {
            let message = format!("unknown family \"{name}\"");
            return Err(Error::new(SqlState::UndefinedObject, message));
        }
        (None, name) => {
            let id = table.next_family;
            table.next_family += 1;
            let name = name.clone().unwrap_or_else(|| format!("fam_{id}"));
            table.families.push(braid_catalog::Family { id, name });
            id
        }
    };
    if let Some(column) = table.columns.iter_mut().find(|found| found.id == column) {
        column.family = id;
    }
    Ok(())
}
