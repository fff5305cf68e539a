//! `pg_index` and `pg_constraint`.

use braid_builtins::operators;
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{count, flag, int, ints, optional, text, vector};
use crate::context::{RowsOf, VirtualContext};
use crate::pg_catalog::attributes::{collation_oid, column_collation};
use crate::pg_catalog::relations::{is_valid, shown_key, visible_indexes};
use crate::row_builder::RowBuilder;
use braid_catalog::{
    CatalogNames, Column, ExcludedKey, ForeignKeyAction, Id, Index, IndexKey, OperatorClass,
    ReplicaIdentity, StoredExpr, Table,
};
use braid_catalog::{ColumnId, IndexNumber, shown_column};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_index" => pg_index,
        "pg_constraint" => pg_constraint,
        _ => return None,
    })
}

/// `indoption` of a key: 1 if it descends, 2 if NULLs come first.
fn key_options(key: &IndexKey) -> i64 {
    i64::from(key.descending) | (i64::from(key.declares_nulls_first()) << 1)
}

/// `indclass`: the operator class of each key, or the default one of its type.
fn key_classes(table: &Table, index: &Index) -> Vec<i64> {
    let class = |(at, key): (usize, &IndexKey)| {
        let default = || {
            let ty = shown_key(table, key.column)?.1;
            match index.inverted.get(at) {
                Some(terms) => OperatorClass::of_terms(*terms, &ty),
                None => OperatorClass::default_of(&ty),
            }
        };
        let default = || default().map(|class| class.oid);
        i64::from(key.operator_class.or_else(default).unwrap_or_default())
    };
    index.keys.iter().enumerate().map(class).collect()
}

/// `indcollation` of a key: its own, or that of its column.
fn key_collation(table: &Table, key: &IndexKey, column: &Column) -> i64 {
    i64::from(match (key.collation.as_deref(), column.sorted_text()) {
        (Some(collation), _) => collation_oid(collation),
        (None, Some(sorted)) => match sorted.column_of(table).and_then(|id| table.column(id)) {
            Some(text) => column_collation(text),
            None => collation_oid(&format!("{}-x-icu", sorted.locale)),
        },
        (None, None) => column_collation(column),
    })
}

fn pg_index(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_index",
        &[
            "indexrelid",
            "indrelid",
            "indnatts",
            "indnkeyatts",
            "indisunique",
            "indnullsnotdistinct",
            "indisprimary",
            "indisexclusion",
            "indimmediate",
            "indisvalid",
            "indisready",
            "indislive",
            "indisclustered",
            "indisreplident",
            "indkey",
            "indcollation",
            "indclass",
            "indoption",
            "indexprs",
            "indpred",
        ],
    );
    for table in cx.catalog.tables().in_database(cx.path.database) {
        for index in visible_indexes(table).map(Index::as_written) {
            let index = &*index;
            let texts: Vec<StoredExpr> = key_exprs(table, index).collect();
            let exprs: Vec<&StoredExpr> = texts.iter().collect();
            let number = |key: &IndexKey| key_number(table, key);
            let keys = index.keys.iter().map(number);
            let all = keys.chain(index.included().iter().map(|id| i64::from(*id)));
            let key_columns =
                || index.keys.iter().filter_map(|key| Some((key, table.column(key.column)?)));
            let options = index.keys.iter().map(key_options);
            builder.push([
                int(index.id),
                int(table.id),
                count(index.keys.len() + index.included().len()),
                count(index.keys.len()),
                flag(index.declares_unique()),
                flag(index.nulls_not_distinct),
                flag(table.is_primary_key(index)),
                flag(index.exclusion.is_some()),
                flag(!index.deferrable),
                flag(is_valid(cx.catalog, table, index)),
                flag(true),
                flag(true),
                flag(table.clustered_on == Some(index.number)),
                flag(table.replica_identity == ReplicaIdentity::Index(index.number)),
                vector(SqlType::Int2, all),
                vector(
                    SqlType::Oid,
                    key_columns().map(|(key, column)| key_collation(table, key, column)),
                ),
                vector(SqlType::Oid, key_classes(table, index)),
                vector(SqlType::Int2, options),
                optional((!exprs.is_empty()).then(|| cx.names().node_text(table, &exprs))),
                optional(index.predicate.as_ref().map(|e| cx.names().node_text(table, &[e]))),
            ]);
        }
    }
    builder.rows()
}

/// The number of a key's column; 0 for an expression.
fn key_number(table: &Table, key: &IndexKey) -> i64 {
    let shown = shown_column(table, key.column);
    if table.is_key_expr(shown) { 0 } else { i64::from(shown) }
}

/// The keys of an index that are expressions.
fn key_exprs<'t>(table: &'t Table, index: &'t Index) -> impl Iterator<Item = StoredExpr> + 't {
    let columns = index.keys.iter().filter_map(|key| table.column(key.column));
    columns.filter(|column| column.is_key_expr).filter_map(|column| match column.sorted_text() {
        Some(sorted) => sorted.column_of(table).is_none().then_some(sorted.expr),
        None => column.generated.clone(),
    })
}

/// The letter of a foreign key's action.
fn action(action: ForeignKeyAction) -> Datum {
    text(match action {
        ForeignKeyAction::NoAction => "a",
        ForeignKeyAction::Restrict => "r",
        ForeignKeyAction::Cascade => "c",
        ForeignKeyAction::SetNull => "n",
        ForeignKeyAction::SetDefault => "d",
    })
}

/// The oid of a table's index by its number.
fn index_oid(table: Option<&Table>, number: IndexNumber) -> Id {
    table.and_then(|table| table.index(number)).map_or(0, |index| index.id)
}

fn columns(ids: impl IntoIterator<Item = ColumnId>) -> Datum {
    ints(SqlType::Int2, ids.into_iter().map(i64::from))
}

/// The indexes of a table that stand for a constraint.
pub(crate) fn key_constraints(table: &Table) -> impl Iterator<Item = (Id, &Index)> {
    visible_indexes(table).filter_map(|index| Some((index.constraint?, index)))
}

/// What a row of `pg_constraint` says besides its names.
struct Constraint {
    deferrable: bool,
    deferred: bool,
    valid: bool,
    index: Id,
    parent: Id,
    /// The constraint of the partitioned table that it is a part of.
    part_of: Id,
    /// Whether the table has it from a partitioned table.
    inherited: bool,
    /// `confupdtype`, `confdeltype`, `confmatchtype`.
    letters: [Datum; 3],
    no_inherit: bool,
    key: Datum,
    parent_key: Datum,
    set_columns: Datum,
    exclusion_operators: Datum,
    expr: Datum,
}

impl Constraint {
    fn on(key: Datum) -> Self {
        Constraint {
            deferrable: false,
            deferred: false,
            valid: true,
            index: 0,
            parent: 0,
            part_of: 0,
            inherited: false,
            letters: [text(" "), text(" "), text(" ")],
            no_inherit: true,
            key,
            parent_key: Datum::Null,
            set_columns: Datum::Null,
            exclusion_operators: Datum::Null,
            expr: Datum::Null,
        }
    }
}

/// The numbers of the operators of an exclusion constraint.
fn exclusion_operators(table: &Table, index: &Index) -> Datum {
    let Some(exclusion) = &index.exclusion else { return Datum::Null };
    let operator = |(key, excluded): (&IndexKey, &ExcludedKey)| {
        let symbol = excluded.operator.symbol();
        let input =
            table.column(key.column).and_then(|column| OperatorClass::default_of(&column.ty));
        let input = input.map_or(0, |class| class.input);
        let mut all = operators().iter();
        let found = all.find(|o| o.name == symbol && o.left == input && o.right == input);
        Datum::Int(found.map_or(0, |operator| i64::from(operator.oid)))
    };
    let found = index.keys.iter().zip(&exclusion.keys).map(operator);
    Datum::array(SqlType::Oid, found.collect())
}

/// The kind of a constraint that is an index, and what else its row says.
fn key_constraint(
    names: CatalogNames<'_>,
    table: &Table,
    index: &Index,
) -> (&'static str, Constraint) {
    let kind = match (table.is_primary_key(index), &index.exclusion) {
        (true, _) => "p",
        (false, Some(_)) => "x",
        (false, None) => "u",
    };
    let written = index.as_written();
    // The key of an expression has no number.
    let number = |key: &IndexKey| {
        let shown = shown_column(table, key.column);
        let is_expr = table.column(shown).is_some_and(|column| column.is_key_expr);
        if is_expr { 0 } else { shown }
    };
    let key = columns(written.keys.iter().map(number));
    let rest = Constraint {
        index: index.id,
        deferrable: index.deferrable,
        deferred: index.initially_deferred,
        part_of: index
            .part_of
            .and_then(|id| names.catalog.index(id)?.1.constraint)
            .unwrap_or_default(),
        inherited: index.part_of.is_some(),
        no_inherit: table.partitioning.is_none(),
        exclusion_operators: exclusion_operators(table, &written),
        ..Constraint::on(key)
    };
    (kind, rest)
}

/// The constraints of a table: number, name, kind and the rest.
fn constraints<'t>(
    names: CatalogNames<'_>,
    table: &'t Table,
) -> Vec<(Id, &'t str, &'static str, Constraint)> {
    let mut found = Vec::new();
    for (oid, index) in key_constraints(table) {
        let (kind, rest) = key_constraint(names, table, index);
        found.push((oid, index.name.as_str(), kind, rest));
    }
    let upper = table.partition_of.as_ref().and_then(|part| names.catalog.table(part.parent));
    for check in &table.checks {
        let key = columns(check.columns.iter().copied());
        let expr = text(names.node_text(table, &[&check.expr]));
        let inherited =
            upper.is_some_and(|upper| upper.checks.iter().any(|known| known.name == check.name));
        let (valid, no_inherit) = (check.validated, check.no_inherit);
        let rest = Constraint { no_inherit, inherited, valid, expr, ..Constraint::on(key) };
        found.push((check.id, check.name.as_str(), "c", rest));
    }
    for key in &table.foreign_keys {
        let parent = names.catalog.table(key.parent).map(|parent| &**parent);
        let keys = upper.iter().flat_map(|upper| &upper.foreign_keys);
        let part_of = keys.clone().find(|known| known.name == key.name).map(|known| known.id);
        let matching = text(if key.match_full { "f" } else { "s" });
        let rest = Constraint {
            deferrable: key.deferrable,
            deferred: key.initially_deferred,
            valid: key.validated,
            index: index_oid(parent, key.parent_index),
            parent: key.parent,
            letters: [action(key.on_update), action(key.on_delete), matching],
            part_of: part_of.unwrap_or_default(),
            inherited: part_of.is_some(),
            no_inherit: table.partitioning.is_none(),
            parent_key: columns(key.parent_columns.iter().copied()),
            set_columns: match key.delete_columns.is_empty() {
                true => Datum::Null,
                false => columns(key.delete_columns.iter().copied()),
            },
            ..Constraint::on(columns(key.columns.iter().copied()))
        };
        found.push((key.id, key.name.as_str(), "f", rest));
    }
    for trigger in &table.triggers {
        let Some(constraint) = &trigger.constraint else { continue };
        let rest = Constraint {
            deferrable: constraint.deferrable,
            deferred: constraint.initially_deferred,
            ..Constraint::on(Datum::Null)
        };
        found.push((constraint.id, trigger.name.as_str(), "t", rest));
    }
    found
}

fn pg_constraint(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_constraint",
        &[
            "oid",
            "conname",
            "connamespace",
            "contype",
            "condeferrable",
            "condeferred",
            "convalidated",
            "conrelid",
            "contypid",
            "conindid",
            "conparentid",
            "confrelid",
            "confupdtype",
            "confdeltype",
            "confmatchtype",
            "conislocal",
            "coninhcount",
            "connoinherit",
            "conkey",
            "confkey",
            "confdelsetcols",
            "conexclop",
            "conbin",
        ],
    );
    for table in cx.catalog.tables().in_database(cx.path.database) {
        for (oid, name, kind, rest) in constraints(cx.names(), table) {
            let [update, delete, matching] = rest.letters;
            builder.push([
                int(oid),
                text(name),
                int(table.schema),
                text(kind),
                flag(rest.deferrable),
                flag(rest.deferred),
                flag(rest.valid),
                int(table.id),
                int(0),
                int(rest.index),
                int(rest.part_of),
                int(rest.parent),
                update,
                delete,
                matching,
                flag(!rest.inherited),
                int(u32::from(rest.inherited)),
                flag(rest.no_inherit),
                rest.key,
                rest.parent_key,
                rest.set_columns,
                rest.exclusion_operators,
                rest.expr,
            ]);
        }
    }
    push_domains(&mut builder, cx);
    builder.rows()
}

/// The constraints of domains.
fn push_domains(builder: &mut RowBuilder, cx: &VirtualContext<'_>) {
    for domain in cx.catalog.domains().in_database(cx.path.database) {
        for check in &domain.checks {
            let [update, delete, matching] = [text(" "), text(" "), text(" ")];
            builder.push([
                int(check.id),
                text(&check.name),
                int(domain.schema),
                text("c"),
                flag(false),
                flag(false),
                flag(check.validated),
                int(0),
                int(domain.id),
                int(0),
                int(0),
                int(0),
                update,
                delete,
                matching,
                flag(true),
                int(0),
                flag(false),
                Datum::Null,
                Datum::Null,
                Datum::Null,
                Datum::Null,
                text(cx.names().domain_condition(domain, check, false)),
            ]);
        }
    }
}
