//! `pg_class` and what is close to it: schemas, tables, views, indexes, sequences, statistics.

use std::borrow::Cow;

use braid_builtins::row_type;
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{acl_items, count, flag, int, letter, optional, text, texts};
use crate::context::{RowsOf, VirtualContext};
use crate::lookup::definition::placed_index_definition;
use crate::row_builder::RowBuilder;
use braid_catalog::partitions::bound_text;
use braid_catalog::{
    Catalog, ColumnId, Id, Index, IndexState, Object, Queries, ROOT, Sequence, Table, View,
    VirtualTable, is_temporary, virtual_schemas, virtual_tables,
};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_class" => pg_class,
        "pg_namespace" => pg_namespace,
        "pg_tables" => pg_tables,
        "pg_views" => pg_views,
        "pg_matviews" => pg_matviews,
        "pg_indexes" => pg_indexes,
        "pg_sequence" => pg_sequence,
        "pg_sequences" => pg_sequences,
        "pg_rewrite" => pg_rewrite,
        _ => return None,
    })
}

/// The access methods' oids.
pub(crate) const HEAP: i64 = 2;
pub(crate) const BTREE: i64 = 403;
pub(crate) const HASH: i64 = 405;
pub(crate) const GIST: i64 = 783;
pub(crate) const GIN: i64 = 2742;
pub(crate) const SPGIST: i64 = 4000;

/// The access method that an index was written with.
fn access_method(index: &Index) -> i64 {
    match index.method() {
        "gist" => GIST,
        "spgist" => SPGIST,
        "hash" => HASH,
        "gin" => GIN,
        _ => BTREE,
    }
}

/// The indexes of a table that users see.
pub(crate) fn visible_indexes(table: &Table) -> impl Iterator<Item = &Index> {
    table.all_indexes().filter(|index| !table.is_hidden_key(index))
}

/// The privileges of what belongs to the system: the letters of its owner and of everybody.
pub(crate) fn first_privileges(owner: &str, all: &str) -> Vec<String> {
    vec![format!("root={owner}/root"), format!("={all}/root")]
}

struct ClassRow {
    oid: Id,
    name: String,
    schema: Id,
    owner: Id,
    am: i64,
    kind: char,
    columns: usize,
    checks: usize,
    rows: Option<u64>,
    bytes: u64,
    has_index: bool,
    has_rules: bool,
    has_triggers: bool,
    row_security: bool,
    forces_row_security: bool,
    populated: bool,
    /// `relpersistence`.
    persistence: &'static str,
    replica_identity: &'static str,
    acl: Option<Vec<String>>,
    options: Option<Vec<String>>,
    has_partitions: bool,
    is_partition: bool,
    bound: Option<String>,
}

impl ClassRow {
    fn new(oid: Id, name: &str, schema: Id, owner: Id, kind: char, columns: usize) -> Self {
        ClassRow {
            oid,
            name: name.to_owned(),
            schema,
            owner,
            am: 0,
            kind,
            columns,
            checks: 0,
            rows: None,
            bytes: 0,
            has_index: false,
            has_rules: false,
            has_triggers: false,
            row_security: false,
            forces_row_security: false,
            populated: true,
            persistence: if is_temporary(oid) { "t" } else { "p" },
            replica_identity: "n",
            acl: None,
            options: None,
            has_partitions: false,
            is_partition: false,
            bound: None,
        }
    }

    fn table(cx: &VirtualContext<'_>, table: &Table) -> Self {
        // Numbers of dropped columns are counted, as in PostgreSQL.
        let columns =
            table.visible_columns().map(|column| usize::from(column.id)).max().unwrap_or(0);
        let statistics = cx.catalog.statistics.of(table.id);
        let known = cx.catalog.statistics.is_known(table.id);
        let mut row = ClassRow::new(table.id, &table.name, table.schema, table.owner, 'r', columns);
        row.am = HEAP;
        row.replica_identity = table.replica_identity.letter();
        if let Some(materialized) = &table.materialized {
            row.kind = 'm';
            row.has_rules = true;
            row.populated = materialized.populated;
        }
        if let Some(keys) = &table.partitioning {
            row.kind = 'p';
            row.am = 0;
            row.has_partitions = !keys.partitions.is_empty();
        }
        if let Some(part) = &table.partition_of {
            row.is_partition = true;
            let parent = cx.catalog.table(part.parent);
            row.bound = parent.and_then(|parent| bound_text(parent, part).ok());
        }
        if table.unlogged {
            row.persistence = "u";
        }
        row.checks = table.checks.len();
        row.options = shown_options(&table.options);
        row.rows = known.then_some(statistics.rows);
        row.bytes = if known { statistics.rows.saturating_mul(statistics.row_bytes) } else { 0 };
        row.has_index = visible_indexes(table).next().is_some();
        row.has_triggers = !table.triggers.is_empty()
            || !table.foreign_keys.is_empty()
            || !table.referenced_by.is_empty();
        row.row_security = table.security.enabled;
        row.forces_row_security = table.security.forced;
        row.acl = cx.catalog.privileges().acl(Object::Table(table));
        row
    }

    fn index(catalog: &Catalog, table: &Table, index: &Index) -> Self {
        let columns = index.keys.len() + index.included().len();
        let mut row = ClassRow::new(index.id, &index.name, table.schema, table.owner, 'i', columns);
        row.am = access_method(index);
        if table.partitioning.is_some() {
            row.kind = 'I';
            row.has_partitions = index_parts(catalog, table, index).any(|part| part.is_some());
        }
        row.is_partition = index.part_of.is_some();
        row.options = shown_options(&index.options);
        if table.unlogged {
            row.persistence = "u";
        }
        row
    }

    fn virtual_table(table: &VirtualTable, schema: Id) -> Self {
        let mut row =
            ClassRow::new(table.oid, table.name, schema, ROOT, table.relkind, table.columns.len());
        row.has_rules = table.relkind == 'v';
        row.am = if table.relkind == 'r' { HEAP } else { 0 };
        row.acl = Some(first_privileges("arwdDxt", "r"));
        row
    }
}

/// For each partition of an index's table its index that is a part of this one, with its table.
fn index_parts<'c>(
    catalog: &'c Catalog,
    table: &'c Table,
    index: &'c Index,
) -> impl Iterator<Item = Option<(&'c Table, &'c Index)>> {
    let partitions = table.partitioning.iter().flat_map(|keys| &keys.partitions);
    partitions.filter_map(|id| catalog.table(*id)).map(|partition| {
        let mut indexes = visible_indexes(partition);
        let part = indexes.find(|part| part.part_of == Some(index.id));
        part.map(|part| (&**partition, part))
    })
}

/// Whether an index is complete: of a partitioned table, whether each partition has its part.
pub(crate) fn is_valid(catalog: &Catalog, table: &Table, index: &Index) -> bool {
    let is_valid = |part: Option<(&Table, &Index)>| {
        part.is_some_and(|(table, index)| is_valid(catalog, table, index))
    };
    index.state == IndexState::Public && index_parts(catalog, table, index).all(is_valid)
}

/// Storage parameters, or NULL without any.
fn shown_options(options: &[String]) -> Option<Vec<String>> {
    (!options.is_empty()).then(|| options.to_vec())
}

/// The options of a view that were set.
fn options(view: &View) -> Option<Vec<String>> {
    let switch = |name: &str, on: Option<bool>| on.map(|on| format!("{name}={on}"));
    let check = view.check_option.map(|option| option.name().to_lowercase());
    let barrier = switch("security_barrier", view.options.barrier);
    let invoker = switch("security_invoker", view.options.invoker);
    let check = check.map(|option| format!("check_option={option}"));
    let options: Vec<String> = barrier.into_iter().chain(invoker).chain(check).collect();
    Some(options).filter(|options| !options.is_empty())
}

fn class_rows(cx: &VirtualContext<'_>) -> Vec<ClassRow> {
    let (catalog, database) = (cx.catalog, cx.path.database);
    let mut rows = Vec::new();
    for table in catalog.tables().in_database(database) {
        rows.push(ClassRow::table(cx, table));
        rows.extend(visible_indexes(table).map(|index| ClassRow::index(catalog, table, index)));
    }
    for view in catalog.views().in_database(database) {
        let mut row =
            ClassRow::new(view.id, &view.name, view.schema, view.owner, 'v', view.columns.len());
        row.has_rules = true;
        row.has_triggers = !view.triggers.is_empty();
        row.options = options(view);
        row.acl = catalog.privileges().acl(Object::View(view));
        rows.push(row);
    }
    for sequence in catalog.sequences().in_database(database) {
        let (name, schema, owner) = (&sequence.name, sequence.schema, sequence.owner);
        let mut row = ClassRow::new(sequence.id, name, schema, owner, 'S', 3);
        row.rows = Some(1);
        let owner_table = sequence.owned_by.and_then(|(table, _)| catalog.table(table));
        if sequence.unlogged || owner_table.is_some_and(|table| table.unlogged) {
            row.persistence = "u";
        }
        row.acl = catalog.privileges().acl(Object::Sequence(sequence));
        rows.push(row);
    }
    for found in catalog.names().composites().in_database(database) {
        let columns = found.columns.len();
        rows.push(ClassRow::new(found.id, &found.name, found.schema, found.owner, 'c', columns));
    }
    for (schema, oid) in virtual_schemas() {
        let tables = virtual_tables().iter().filter(|table| table.schema == schema);
        rows.extend(tables.map(|table| ClassRow::virtual_table(table, oid)));
    }
    rows
}

/// The bytes of a page, in which sizes are counted.
const PAGE_BYTES: u64 = 8192;

/// The oid of the type of a relation's rows; 0 if it has none.
fn row_type_of(row: &ClassRow) -> u32 {
    if matches!(row.kind, 'r' | 'p' | 'v' | 'm' | 'c') { row_type(row.oid) } else { 0 }
}

fn pg_class(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_class",
        &[
            "oid",
            "relname",
            "relnamespace",
            "reltype",
            "relowner",
            "relam",
            "relfilenode",
            "relpages",
            "reltuples",
            "relallvisible",
            "relhasindex",
            "relpersistence",
            "relkind",
            "relnatts",
            "relchecks",
            "relhasrules",
            "relhastriggers",
            "relrowsecurity",
            "relforcerowsecurity",
            "relispopulated",
            "relreplident",
            "relhassubclass",
            "relispartition",
            "relpartbound",
            "relfrozenxid",
            "relminmxid",
            "relacl",
            "reloptions",
        ],
    );
    for row in class_rows(cx) {
        let rows = row.rows.map_or(-1.0, |rows| rows as f64);
        let pages = i64::try_from(row.bytes.div_ceil(PAGE_BYTES)).unwrap_or(i64::MAX);
        builder.push([
            int(row.oid),
            text(&row.name),
            int(row.schema),
            int(row_type_of(&row)),
            int(row.owner),
            int(row.am),
            int(if matches!(row.kind, 'r' | 'm' | 'i' | 'S') { row.oid } else { 0 }),
            int(pages),
            Datum::Float(rows),
            int(0),
            flag(row.has_index),
            text(row.persistence),
            letter(row.kind),
            count(row.columns),
            count(row.checks),
            flag(row.has_rules),
            flag(row.has_triggers),
            flag(row.row_security),
            flag(row.forces_row_security),
            flag(row.populated),
            text(row.replica_identity),
            flag(row.has_partitions),
            flag(row.is_partition),
            optional(row.bound),
            int(0),
            int(0),
            acl_items(row.acl),
            texts(row.options),
        ]);
    }
    builder.rows()
}

fn pg_namespace(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "nspname", "nspowner", "nspacl"];
    let mut builder = RowBuilder::new("pg_namespace", &columns);
    for (name, oid) in virtual_schemas() {
        let acl = acl_items(Some(first_privileges("UC", "U")));
        builder.push([int(oid), text(name), int(ROOT), acl]);
    }
    for schema in cx.catalog.schemas().in_database(cx.path.database) {
        let acl = cx.catalog.privileges().acl(Object::Schema(schema));
        builder.push([int(schema.id), text(&schema.name), int(schema.owner), acl_items(acl)]);
    }
    builder.rows()
}

fn pg_tables(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "schemaname",
        "tablename",
        "tableowner",
        "hasindexes",
        "hasrules",
        "hastriggers",
        "rowsecurity",
    ];
    let mut builder = RowBuilder::new("pg_tables", &columns);
    for row in class_rows(cx).into_iter().filter(|row| matches!(row.kind, 'r' | 'p')) {
        builder.push([
            optional(cx.lookup.schema_name(row.schema)),
            text(&row.name),
            text(cx.catalog.role_name(row.owner)),
            flag(row.has_index),
            flag(row.has_rules),
            flag(row.has_triggers),
            flag(row.row_security),
        ]);
    }
    builder.rows()
}

fn pg_views(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["schemaname", "viewname", "viewowner", "definition"];
    let mut builder = RowBuilder::new("pg_views", &columns);
    for view in cx.catalog.views().in_database(cx.path.database) {
        builder.push([
            text(cx.catalog.schema_name(view.schema)),
            text(&view.name),
            text(cx.catalog.role_name(view.owner)),
            optional(cx.lookup.view_definition(view.id, false, 0)),
        ]);
    }
    for table in virtual_tables().iter().filter(|table| table.relkind == 'v') {
        let owner = cx.catalog.role_name(ROOT);
        builder.push([text(table.schema), text(table.name), text(owner), Datum::Null]);
    }
    builder.rows()
}

fn pg_matviews(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns =
        ["schemaname", "matviewname", "matviewowner", "hasindexes", "ispopulated", "definition"];
    let mut builder = RowBuilder::new("pg_matviews", &columns);
    for table in cx.catalog.tables().in_database(cx.path.database) {
        let Some(materialized) = &table.materialized else { continue };
        builder.push([
            text(cx.catalog.schema_name(table.schema)),
            text(&table.name),
            text(cx.catalog.role_name(table.owner)),
            flag(visible_indexes(table).next().is_some()),
            flag(materialized.populated),
            optional(cx.lookup.view_definition(table.id, false, 0)),
        ]);
    }
    builder.rows()
}

fn pg_indexes(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["schemaname", "tablename", "indexname", "indexdef"];
    let mut builder = RowBuilder::new("pg_indexes", &columns);
    for table in cx.catalog.tables().in_database(cx.path.database) {
        for index in visible_indexes(table) {
            builder.push([
                text(cx.catalog.schema_name(table.schema)),
                text(&table.name),
                text(&index.name),
                text(placed_index_definition(cx.names(), table, index)),
            ]);
        }
    }
    builder.rows()
}

fn pg_sequence(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_sequence",
        &[
            "seqrelid",
            "seqtypid",
            "seqstart",
            "seqincrement",
            "seqmax",
            "seqmin",
            "seqcache",
            "seqcycle",
        ],
    );
    for sequence in cx.catalog.sequences().in_database(cx.path.database) {
        let Sequence { id, ty, start, increment, max, min, cache, cycle, .. } = &**sequence;
        builder.push([
            int(*id),
            int(ty.oid()),
            int(*start),
            int(*increment),
            int(*max),
            int(*min),
            int(*cache),
            flag(*cycle),
        ]);
    }
    builder.rows()
}

fn pg_sequences(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_sequences",
        &[
            "schemaname",
            "sequencename",
            "sequenceowner",
            "data_type",
            "start_value",
            "min_value",
            "max_value",
            "increment_by",
            "cycle",
            "cache_size",
            "last_value",
        ],
    );
    for sequence in cx.catalog.sequences().in_database(cx.path.database) {
        builder.push([
            text(cx.catalog.schema_name(sequence.schema)),
            text(&sequence.name),
            text(cx.catalog.role_name(sequence.owner)),
            int(sequence.ty.oid()),
            int(sequence.start),
            int(sequence.min),
            int(sequence.max),
            int(sequence.increment),
            flag(sequence.cycle),
            int(sequence.cache),
            cx.last_values.get(&sequence.id).map_or(Datum::Null, |value| int(*value)),
        ]);
    }
    builder.rows()
}

fn pg_rewrite(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "rulename", "ev_class", "ev_type", "ev_enabled", "is_instead"];
    let mut builder = RowBuilder::new("pg_rewrite", &columns);
    for view in Queries::of(cx.catalog).in_database(cx.path.database) {
        let oid = int(view.id);
        builder.push([oid.clone(), text("_RETURN"), oid, text("1"), text("O"), flag(true)]);
    }
    builder.rows()
}

/// The type of a relation's `n`th index column; what an index shows in `pg_attribute`.
pub(crate) fn index_columns<'t>(
    table: &'t Table,
    index: &'t Index,
) -> impl Iterator<Item = (&'t str, Cow<'t, SqlType>)> {
    let keys = index.keys.iter().map(|key| key.column);
    let columns = keys.chain(index.included().iter().copied());
    columns.filter_map(|id| shown_key(table, id))
}

/// Label and type of a column of an index. A sort key shows those of its text.
pub(crate) fn shown_key(table: &Table, id: ColumnId) -> Option<(&str, Cow<'_, SqlType>)> {
    let column = table.column(id)?;
    let ty = match column.sorted_text() {
        Some(sorted) => match sorted.column_of(table) {
            Some(text) => Cow::Borrowed(&table.column(text)?.ty),
            None => Cow::Owned(SqlType::Text),
        },
        None => Cow::Borrowed(&column.ty),
    };
    Some((column.label(), ty))
}
