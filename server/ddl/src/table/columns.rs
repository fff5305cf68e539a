//! Columns as they are written, to descriptors and the constraints behind them.

use std::sync::Arc;

use braid_catalog::{Column, DefaultKind, Id, Identity, Sequence, Table, fresh_counter};
use braid_plan::{
    NotAssignable, OutputColumn, collation_named, more_dimensions_of, stored_collation,
    time_modifier_of,
};
use braid_sql::ast::{
    ArrayElemTypeDef, CheckClause, ColumnConstraint, ColumnConstraintKind, ColumnDef, DataType,
    Expr, ForeignKey, IdentityMode, ObjectName, SequenceOption, UniqueRules,
};
use braid_sql::fold;
use braid_types::sql_type::length;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{choose_relation_name, is_system_column, last, parts};
use crate::names::types::{column_type, type_place};
use crate::names::user_types::column_domain;
use crate::roles::default_privileges::new_grants;
use crate::statement::object::sequence::{apply_options, bounds};
use crate::statement::types::row_users::{check_no_member_of_itself, check_no_temporary_rows};
use crate::table::constraint_names::multiple_primary_keys;
use crate::table::expr_text::nextval_of;
use crate::table::exprs::{bind_default_expr, generated_expr};

/// The most columns of a table.
const COLUMNS_MAX: usize = 1600;

/// What stands behind a column besides its own properties.
#[derive(Default)]
pub(crate) struct Behind<'s> {
    /// Its DEFAULT, bound once the column's type is known.
    pub(crate) default: Option<&'s Expr>,
    /// Its generation expression.
    pub(crate) generated: Option<&'s Expr>,
    /// PRIMARY KEY, with its name.
    pub(crate) primary: Option<(Option<String>, UniqueRules)>,
    /// Where PRIMARY KEY stands in the text.
    pub(crate) primary_place: u32,
    /// UNIQUE constraints, with their names.
    pub(crate) unique: Vec<(Option<String>, UniqueRules)>,
    /// CHECK constraints.
    pub(crate) checks: Vec<(Option<String>, &'s CheckClause)>,
    /// REFERENCES.
    pub(crate) references: Vec<(Option<String>, &'s ForeignKey)>,
    /// FAMILY: its name and whether it may be made.
    pub(crate) family: Option<(Option<String>, bool)>,
    /// The options of an identity's sequence.
    pub(crate) identity: Option<(Identity, &'s [SequenceOption])>,
    /// Whether the type is SERIAL.
    pub(crate) serial: bool,
    nullable: Option<bool>,
}

fn syntax(message: String) -> Error {
    Error::new(SqlState::SyntaxError, message)
}

/// The integer type behind a SERIAL.
pub(crate) fn serial_type(data_type: &DataType) -> Option<SqlType> {
    let DataType::Custom(name, _) = data_type else { return None };
    let [name] = &parts(name)[..] else { return None };
    match name.as_str() {
        "smallserial" | "serial2" => Some(SqlType::Int2),
        "serial" | "serial4" => Some(SqlType::Int4),
        "bigserial" | "serial8" => Some(SqlType::Int8),
        _ => None,
    }
}

/// 42601 for a SERIAL with a modifier, 0A000 for an array of SERIAL.
fn check_serial(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Custom(_, modifiers) if !modifiers.is_empty() => match serial_type(data_type) {
            Some(ty) => Err(syntax(format!(
                "type modifier is not allowed for type \"{}\"",
                ty.display_name()
            ))),
            None => Ok(()),
        },
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) if serial_type(element).is_some() => {
            Err(Error::new(SqlState::FeatureNotSupported, "array of serial is not implemented"))
        }
        _ => Ok(()),
    }
}

/// 42804 for a type that has no collations.
pub(crate) fn check_collatable(ty: &SqlType) -> Result<()> {
    let element = if let SqlType::Array(element) = ty { element } else { ty };
    if element.is_string() || matches!(element, SqlType::Name | SqlType::Citext) {
        return Ok(());
    }
    let message = format!("collations are not supported by type {}", ty.plain_name());
    Err(Error::new(SqlState::DatatypeMismatch, message))
}

/// The collation of a column, unless it is the default; 42804 for a type that has none.
pub(crate) fn collation_of(
    cx: &DdlContext<'_>,
    collation: Option<&ObjectName>,
    ty: &SqlType,
) -> Result<Option<String>> {
    let Some(collation) = collation else { return Ok(None) };
    let name = collation.0.first().and_then(|part| part.as_ident());
    let name = name.map_or(0, |ident| braid_sql::offset_of(ident.span));
    let at_clause = |error: Error| error.position(braid_sql::last_token(cx.text, name, "collate"));
    let found = collation_named(&cx.catalog(), cx.path(), collation).map_err(at_clause)?;
    check_collatable(ty).map_err(at_clause)?;
    let element = if let SqlType::Array(element) = ty { element } else { ty };
    if found.icu.is_some() && *element == SqlType::Citext {
        return Err(Error::unsupported("a collation of ICU for citext"));
    }
    Ok((!found.is_default()).then(|| found.stored.to_string()))
}

/// 0A000 for a collation of ICU where values are compared without one.
pub(crate) fn refuse_icu(cx: &DdlContext<'_>, collation: Option<&str>, what: &str) -> Result<()> {
    let found = collation.map(|stored| stored_collation(&cx.catalog(), stored));
    match found.filter(|found| found.icu.is_some()) {
        Some(found) => {
            let name = &found.name;
            Err(Error::unsupported(format!("{what} with collation \"{name}\"")))
        }
        None => Ok(()),
    }
}

/// 22023 for a type that an identity column cannot have.
pub(crate) fn no_identity_type() -> Error {
    let message = "identity column type must be smallint, integer, or bigint";
    Error::new(SqlState::InvalidParameterValue, message)
}

fn identity_of(mode: IdentityMode) -> Identity {
    match mode {
        IdentityMode::Always => Identity::Always,
        IdentityMode::ByDefault => Identity::ByDefault,
    }
}

/// Reads what is written behind a column.
pub(crate) fn read_behind<'s>(
    constraints: &'s [ColumnConstraint],
    column: &str,
    table: &str,
) -> Result<Behind<'s>> {
    let mut behind = Behind::default();
    for constraint in constraints {
        let name = constraint.name.as_ref().map(fold);
        let nullable = match &constraint.kind {
            ColumnConstraintKind::NotNull => Some(false),
            ColumnConstraintKind::Null => Some(true),
            _ => None,
        };
        if nullable.is_some() {
            if behind.nullable.is_some() && behind.nullable != nullable {
                return Err(syntax(format!(
                    "conflicting NULL/NOT NULL declarations for column \"{column}\" of table \"{table}\""
                ))
                .position(braid_sql::offset_of(constraint.span)));
            }
            behind.nullable = nullable;
        }
        let place = braid_sql::offset_of(constraint.span);
        read_one(&mut behind, name, &constraint.kind, column, table)
            .and_then(|()| check_together(&behind, column, table))
            .map_err(|error| error.position(place))?;
        if let ColumnConstraintKind::PrimaryKey(_) = constraint.kind {
            behind.primary_place = place;
        }
    }
    Ok(behind)
}

/// 42601 for properties that exclude each other.
fn check_together(behind: &Behind<'_>, column: &str, table: &str) -> Result<()> {
    if behind.identity.is_some() && behind.nullable == Some(true) {
        return Err(syntax(format!(
            "conflicting NULL/NOT NULL declarations for column \"{column}\" of table \"{table}\""
        )));
    }
    if behind.default.is_some() && behind.identity.is_some() {
        return Err(syntax(format!(
            "both default and identity specified for column \"{column}\" of table \"{table}\""
        )));
    }
    if behind.generated.is_some() && (behind.default.is_some() || behind.identity.is_some()) {
        let what = if behind.default.is_some() { "default" } else { "identity" };
        return Err(syntax(format!(
            "both {what} and generation expression specified for column \"{column}\" of table \"{table}\""
        )));
    }
    Ok(())
}

fn read_one<'s>(
    behind: &mut Behind<'s>,
    name: Option<String>,
    kind: &'s ColumnConstraintKind,
    column: &str,
    table: &str,
) -> Result<()> {
    let twice = |what: &str| {
        syntax(format!("multiple {what} for column \"{column}\" of table \"{table}\""))
    };
    match kind {
        ColumnConstraintKind::NotNull | ColumnConstraintKind::Null => {}
        ColumnConstraintKind::Default(expr) => {
            if behind.default.replace(expr).is_some() {
                return Err(twice("default values specified"));
            }
        }
        ColumnConstraintKind::PrimaryKey(rules) => {
            if behind.primary.replace((name, *rules)).is_some() {
                return Err(multiple_primary_keys(table));
            }
        }
        ColumnConstraintKind::Unique(rules) => behind.unique.push((name, *rules)),
        ColumnConstraintKind::Check(expr) => behind.checks.push((name, expr)),
        ColumnConstraintKind::References(key) => behind.references.push((name, key)),
        ColumnConstraintKind::Generated { stored: false, .. } => {
            return Err(Error::unsupported("a virtual generated column"));
        }
        ColumnConstraintKind::Generated { expr, .. } => {
            if behind.generated.replace(expr).is_some() {
                return Err(twice("generation clauses specified"));
            }
        }
        ColumnConstraintKind::Identity { mode, options } => {
            let identity = (identity_of(*mode), options.as_slice());
            if behind.identity.replace(identity).is_some() {
                return Err(twice("identity specifications"));
            }
        }
        ColumnConstraintKind::Family { name, create, if_not_exists } => {
            let may_make = *create || *if_not_exists;
            behind.family = Some((name.as_ref().map(fold), may_make));
        }
    }
    Ok(())
}

/// Gives a column of a new partition what is written behind it.
pub(crate) fn give_options(column: &mut Column, own: &Behind<'_>) -> Result<()> {
    if own.identity.is_some() || own.generated.is_some() || own.family.is_some() {
        return Err(Error::unsupported(
            "identity, generation and families of a partition's columns",
        ));
    }
    if own.nullable == Some(true) && !column.nullable {
        let name = &column.name;
        let message = format!("column \"{name}\" is marked NOT NULL in parent table");
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    column.nullable &= own.nullable != Some(false) && own.primary.is_none();
    Ok(())
}

/// Adds a column to a table's descriptor, without default, constraints and sequence.
pub(crate) fn add_column<'s>(
    cx: &DdlContext<'_>,
    table: &mut Table,
    def: &'s ColumnDef,
) -> Result<(braid_catalog::ColumnId, Behind<'s>)> {
    let name = fold(&def.name);
    check_column_name(table, &name)?;
    let mut behind = read_behind(&def.constraints, &name, &table.name)?;
    check_serial(&def.data_type)
        .map_err(|error| error.position(type_place(cx, &def.name, &def.data_type)))?;
    let serial = serial_type(&def.data_type);
    let ty = match &serial {
        Some(ty) => ty.clone(),
        None => column_type(cx, &def.data_type)
            .map_err(|error| error.position(type_place(cx, &def.name, &def.data_type)))?,
    };
    check_column_type(&name, &ty)?;
    if def.is_compressed && length(&ty) != -1 {
        let message =
            format!("column data type {} does not support compression", ty.display_name());
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    check_no_member_of_itself(&cx.catalog(), table.id, &ty)?;
    check_no_temporary_rows(table.id, &ty)?;
    let collation = collation_of(cx, def.collation.as_ref(), &ty)?;
    behind.serial = serial.is_some();
    if behind.serial && behind.nullable == Some(true) {
        return Err(syntax(format!(
            "conflicting NULL/NOT NULL declarations for column \"{name}\" of table \"{}\"",
            table.name
        )));
    }
    if behind.serial && behind.identity.is_some() {
        return Err(syntax(format!(
            "both default and identity specified for column \"{name}\" of table \"{}\"",
            table.name
        )));
    }
    if behind.serial && behind.default.is_some() {
        return Err(syntax(format!(
            "multiple default values specified for column \"{name}\" of table \"{}\"",
            table.name
        )));
    }
    let domain = if serial.is_some() { None } else { column_domain(cx, &def.data_type)? };
    if behind.identity.is_some() && (!ty.is_integer() || domain.is_some()) {
        return Err(no_identity_type());
    }
    let not_null = behind.nullable == Some(false)
        || behind.serial
        || behind.identity.is_some()
        || behind.primary.is_some();
    let id = push_column(table, &name, ty, !not_null)?;
    if let Some(column) = table.columns.iter_mut().find(|column| column.id == id) {
        column.modifier = time_modifier_of(&def.data_type);
        column.more_dimensions = more_dimensions_of(&def.data_type);
        column.collation = collation;
        if let Some(domain) = domain {
            domain.give_to(column);
        }
    }
    Ok((id, behind))
}

/// Adds a column of that name and type for a column of a query's result.
pub(crate) fn push_result_column(
    table: &mut Table,
    name: &str,
    ty: SqlType,
    result: &OutputColumn,
) -> Result<()> {
    let id = push_column(table, name, ty, true)?;
    let place = table.place_of(id)?;
    let made = &mut table.columns[place];
    (made.modifier, made.domain) = (result.modifier, result.domain);
    made.collation.clone_from(&result.collation);
    Ok(())
}

/// Adds a plain column before the hidden one, if there is one.
pub(crate) fn push_column(
    table: &mut Table,
    name: &str,
    ty: SqlType,
    nullable: bool,
) -> Result<braid_catalog::ColumnId> {
    if table.visible_columns().count() >= COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(Error::new(SqlState::TooManyColumns, message));
    }
    let id = table.next_column;
    table.next_column += 1;
    let place = table.visible_columns().count();
    table.columns.insert(
        place,
        Column {
            id,
            name: name.to_owned(),
            ty,
            modifier: None,
            more_dimensions: 0,
            domain: None,
            collation: None,
            nullable,
            default: None,
            generated: None,
            identity: None,
            owned_sequence: None,
            family: table.families.first().map_or(0, |family| family.id),
            hidden: false,
            is_key_expr: false,
            missing: None,
            statistics_target: None,
            storage: None,
            grants: Vec::new(),
            comment: None,
        },
    );
    Ok(id)
}

/// 42701 if the name is taken or the system's.
pub(crate) fn check_column_name(table: &Table, name: &str) -> Result<()> {
    if is_system_column(name) {
        let message = format!("column name \"{name}\" conflicts with a system column name");
        return Err(Error::new(SqlState::DuplicateColumn, message));
    }
    if table.visible_columns().any(|column| column.name == name) {
        let message = format!("column \"{name}\" specified more than once");
        return Err(Error::new(SqlState::DuplicateColumn, message));
    }
    Ok(())
}

/// 42P16 for pseudo-types.
pub(crate) fn check_column_type(column: &str, ty: &SqlType) -> Result<()> {
    let is_pseudo = match ty.element().unwrap_or(ty) {
        SqlType::Record(row) => row.name().is_none(),
        base => matches!(base, SqlType::Unknown | SqlType::Void | SqlType::Any(_)),
    };
    if is_pseudo {
        let message = format!("column \"{column}\" has pseudo-type {}", ty.display_name());
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    Ok(())
}

/// Makes the sequence behind a SERIAL or identity column and ties it to the column.
pub(crate) fn add_owned_sequence(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    column: braid_catalog::ColumnId,
    identity: Option<(Identity, &[SequenceOption])>,
) -> Result<()> {
    let found = table.columns[table.place_of(column)?].clone();
    let catalog = cx.catalog();
    let taken = [table.name.clone()];
    let wanted = identity.and_then(|(_, options)| {
        options.iter().find_map(|option| match option {
            SequenceOption::Name(name) => Some(last(name)),
            _ => None,
        })
    });
    let name = wanted.unwrap_or_else(|| {
        let column = Some(found.name.as_str());
        choose_relation_name(&catalog, table.schema, &table.name, column, "seq", &taken)
    });
    let id = cx.draft()?.allocate_id(table.id);
    let mut sequence = Sequence::fresh(id, table, &name, found.ty.clone());
    sequence.owned_by = Some((table.id, column));
    sequence.grants = new_grants(cx, table.owner, Some(table.schema), DefaultKind::Sequences);
    if let Some((_, options)) = identity {
        apply_options(cx, &mut sequence, options, true)?;
    }
    cx.draft()?.put(sequence);
    if let Some(found) = table.columns.iter_mut().find(|found| found.id == column) {
        found.owned_sequence = Some(id);
        found.identity = identity.map(|(mode, _)| mode);
        if identity.is_none() {
            found.default = Some(nextval_of(id));
        }
    }
    Ok(())
}

/// Sets what needs the column to exist: default, sequence, generation.
pub(crate) fn finish_column(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    column: braid_catalog::ColumnId,
    behind: &Behind<'_>,
) -> Result<()> {
    if behind.serial || behind.identity.is_some() {
        add_owned_sequence(cx, table, column, behind.identity)?;
    }
    let found = table.columns[table.place_of(column)?].clone();
    let mut changed = found.clone();
    if let Some(expr) = behind.default {
        let default = bind_default_expr(cx, expr, &found);
        let start = braid_sql::offset_of(braid_sql::ast::Spanned::span(expr));
        changed.default = default.map_err(|error| match error.cause::<NotAssignable>() {
            Some(_) => mismatch(error, &found.name),
            None => error.position(start),
        })?;
    }
    if let Some(expr) = behind.generated {
        let shape = Arc::new(table.clone());
        let generated = generated_expr(cx, &shape, expr, &found.name, &found.ty);
        changed.generated = Some(generated.map_err(|error| mismatch(error, &found.name))?);
    }
    if let Some(place) = table.columns.iter_mut().find(|found| found.id == column) {
        (place.default, place.generated) = (changed.default, changed.generated);
    }
    Ok(())
}

/// PostgreSQL names the column when its default does not fit.
pub(crate) fn mismatch(error: Error, column: &str) -> Error {
    let Some(NotAssignable { wanted, given }) = error.cause() else { return error };
    let message = format!(
        "column \"{column}\" is of type {wanted} but default expression is of type {given}"
    );
    Error::new(SqlState::DatatypeMismatch, message)
        .hint("You will need to rewrite or cast the expression.")
}

/// What a new sequence looks like before its options.
pub(crate) trait FreshSequence {
    /// A sequence from 1 upwards, in a table's schema and of its owner.
    fn fresh(id: Id, table: &Table, name: &str, ty: SqlType) -> Self;
}

impl FreshSequence for Sequence {
    fn fresh(id: Id, table: &Table, name: &str, ty: SqlType) -> Self {
        let max = bounds(&ty).1;
        Sequence {
            id,
            database: table.database,
            schema: table.schema,
            name: name.to_owned(),
            owner: table.owner,
            ty,
            start: 1,
            increment: 1,
            min: 1,
            max,
            cache: 1,
            cycle: false,
            counter: fresh_counter(),
            first: 1,
            owned_by: None,
            unlogged: false,
            grants: Vec::new(),
            comment: None,
        }
    }
}
