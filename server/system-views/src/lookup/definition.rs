//! Objects as SQL text, as PostgreSQL prints them (`pg_get_indexdef`, `pg_get_constraintdef`).

use braid_sql::{quote_ident, quote_literal};
use std::fmt::Write;

use braid_catalog::names::qualified;
use braid_catalog::partitions;
use braid_catalog::{
    Catalog, CatalogNames, Check, Collations, Column, ColumnId, Domain, DomainCheck, ExcludedKey,
    Exclusion, ForeignKey, ForeignKeyAction, Identity, Index, IndexKey, OnCommit, OperatorClass,
    Table, TriggerConstraint, column_label, extension_schema, index_column_text, is_temporary,
    shown_key_columns,
};

fn column_list(table: &Table, columns: &[ColumnId]) -> String {
    let names: Vec<String> = columns.iter().map(|id| column_label(table, *id)).collect();
    names.join(", ")
}

fn key_text(names: CatalogNames<'_>, table: &Table, key: &IndexKey, pretty: bool) -> String {
    let mut text = index_column_text(names, table, key.column, pretty);
    if let Some(collation) = &key.collation {
        let shown = Collations::of(names.catalog).text(names.path, collation);
        let _ = write!(text, " COLLATE {shown}");
    }
    if let Some(class) = key.operator_class.and_then(OperatorClass::by_oid) {
        let schema = match (class.extension(), names.path) {
            (Some(extension), Some(path)) => extension_schema(names.catalog, path, extension),
            _ => None,
        };
        let schema = schema.map(|schema| format!("{schema}.")).unwrap_or_default();
        let _ = write!(text, " {schema}{}", class.name);
    }
    let direction = match (key.descending, key.nulls_opposed) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, false) => " DESC",
        (true, true) => " DESC NULLS LAST",
    };
    text + direction
}

fn key_list(names: CatalogNames<'_>, table: &Table, keys: &[IndexKey], pretty: bool) -> String {
    let keys = keys.iter();
    let texts: Vec<String> = keys.map(|key| key_text(names, table, key, pretty)).collect();
    texts.join(", ")
}

/// ` INTERLEAVE IN PARENT …`, if the index is interleaved.
fn interleave_text(catalog: &Catalog, table: &Table, index: &Index) -> String {
    let Some(parent) = index.parent().and_then(|parent| catalog.table(parent)) else {
        return String::new();
    };
    let name = match parent.schema == table.schema {
        true => quote_ident(&parent.name),
        false => qualified(&catalog.schema_name(parent.schema), &parent.name),
    };
    let keys = index.keys.iter().take(index.columns_above());
    let columns: Vec<ColumnId> = keys.map(|key| key.column).collect();
    let columns = column_list(table, &columns);
    let foreign_key = index.interleaving.as_ref().and_then(|interleaving| interleaving.foreign_key);
    let made = table.foreign_keys.iter().find(|key| Some(key.id) == foreign_key);
    let delete = match made.map(|key| key.on_delete) {
        Some(ForeignKeyAction::Cascade) => " ON DELETE CASCADE",
        Some(_) => " ON DELETE NO ACTION",
        None => "",
    };
    format!(" INTERLEAVE IN PARENT {name} ({columns}){delete}")
}

/// `CREATE [UNIQUE] INDEX …` as PostgreSQL reads it: without where the entries lie.
pub(crate) fn index_definition(
    names: CatalogNames<'_>,
    table: &Table,
    index: &Index,
    pretty: bool,
) -> String {
    index_text(names, table, index, pretty, "")
}

/// The same with `INTERLEAVE IN PARENT …`, if the index is interleaved.
pub(crate) fn placed_index_definition(
    names: CatalogNames<'_>,
    table: &Table,
    index: &Index,
) -> String {
    let place = interleave_text(names.catalog, table, index);
    index_text(names, table, index, false, &place)
}

fn index_text(
    names: CatalogNames<'_>,
    table: &Table,
    index: &Index,
    pretty: bool,
    place: &str,
) -> String {
    let index = &*index.as_written();
    let method = index.method();
    let unique = if index.declares_unique() { "UNIQUE " } else { "" };
    let name = quote_ident(&index.name);
    let on = if pretty { names.table(table) } else { names.qualified_table(table) };
    let keys = key_list(names, table, &index.keys, pretty);
    // The statement makes none of the partitions' indexes.
    let on = if table.partitioning.is_some() { format!("ONLY {on}") } else { on };
    let mut text = format!("CREATE {unique}INDEX {name} ON {on} USING {method} ({keys})");
    if !index.included().is_empty() {
        let _ = write!(text, " INCLUDE ({})", column_list(table, index.included()));
    }
    if index.nulls_not_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    text.push_str(place);
    if !index.options.is_empty() {
        let option = |option: &String| match option.split_once('=') {
            Some((name, value)) if quote_ident(value) != value => {
                format!("{name}={}", quote_literal(value))
            }
            _ => option.clone(),
        };
        let options: Vec<String> = index.options.iter().map(option).collect();
        let _ = write!(text, " WITH ({})", options.join(", "));
    }
    if let Some(predicate) = &index.predicate {
        let _ = write!(text, " WHERE {}", names.condition(table, predicate, pretty));
    }
    text
}

/// The name of one column of an index, as `pg_get_indexdef(oid, n, …)` prints it.
pub(crate) fn index_column(
    names: CatalogNames<'_>,
    table: &Table,
    index: &Index,
    number: usize,
    pretty: bool,
) -> Option<String> {
    let keys = index.keys.iter().map(|key| key.column);
    keys.chain(index.included().iter().copied())
        .nth(number.checked_sub(1)?)
        .map(|id| index_column_text(names, table, id, pretty))
}

/// `TRIGGER [DEFERRABLE [INITIALLY DEFERRED]]`.
pub(crate) fn trigger_constraint_definition(constraint: &TriggerConstraint) -> String {
    let deferrable = if constraint.deferrable { " DEFERRABLE" } else { "" };
    let deferred = if constraint.initially_deferred { " INITIALLY DEFERRED" } else { "" };
    format!("TRIGGER{deferrable}{deferred}")
}

/// `EXCLUDE USING gist (a WITH =, b WITH &&)`.
fn exclusion_definition(
    names: CatalogNames<'_>,
    table: &Table,
    index: &Index,
    (exclusion, pretty): (&Exclusion, bool),
) -> String {
    let part = |(key, excluded): (&IndexKey, &ExcludedKey)| {
        let key = key_text(names, table, key, pretty);
        format!("{key} WITH {}", excluded.operator.symbol())
    };
    let keys: Vec<String> = index.keys.iter().zip(&exclusion.keys).map(part).collect();
    let mut text = format!("EXCLUDE USING {} ({})", exclusion.method, keys.join(", "));
    if !index.included().is_empty() {
        let _ = write!(text, " INCLUDE ({})", column_list(table, index.included()));
    }
    if let Some(predicate) = &index.predicate {
        let _ = write!(text, " WHERE ({})", names.condition(table, predicate, pretty));
    }
    text.push_str(deferrable_text(index.deferrable, index.initially_deferred));
    text
}

/// `PRIMARY KEY (…)`, `UNIQUE (…)` or `EXCLUDE …`.
pub(crate) fn key_definition(
    names: CatalogNames<'_>,
    table: &Table,
    index: &Index,
    pretty: bool,
) -> String {
    let index = &*index.as_written();
    match &index.exclusion {
        Some(exclusion) => exclusion_definition(names, table, index, (exclusion, pretty)),
        None => unique_definition(table, index),
    }
}

/// `PRIMARY KEY (…)` or `UNIQUE (…)`.
fn unique_definition(table: &Table, index: &Index) -> String {
    let word = match (table.is_primary_key(index), index.nulls_not_distinct) {
        (true, _) => "PRIMARY KEY",
        (false, false) => "UNIQUE",
        (false, true) => "UNIQUE NULLS NOT DISTINCT",
    };
    let columns = shown_key_columns(table, index);
    let mut text = format!("{word} ({})", column_list(table, &columns));
    if !index.included().is_empty() {
        let _ = write!(text, " INCLUDE ({})", column_list(table, index.included()));
    }
    text.push_str(deferrable_text(index.deferrable, index.initially_deferred));
    text
}

/// When a constraint is checked, as it stands after its definition.
fn deferrable_text(deferrable: bool, initially_deferred: bool) -> &'static str {
    match (deferrable, initially_deferred) {
        (false, _) => "",
        (true, false) => " DEFERRABLE",
        (true, true) => " DEFERRABLE INITIALLY DEFERRED",
    }
}

/// `CHECK ((…))`.
pub(crate) fn check_definition(
    names: CatalogNames<'_>,
    table: &Table,
    check: &Check,
    pretty: bool,
) -> String {
    let no_inherit = if check.no_inherit { " NO INHERIT" } else { "" };
    let not_valid = if check.validated { "" } else { " NOT VALID" };
    let condition = names.condition(table, &check.expr, pretty);
    format!("CHECK ({condition}){no_inherit}{not_valid}")
}

/// `CHECK ((…))` of a domain.
pub(crate) fn domain_check_definition(
    names: CatalogNames<'_>,
    domain: &Domain,
    check: &DomainCheck,
    pretty: bool,
) -> String {
    let not_valid = if check.validated { "" } else { " NOT VALID" };
    format!("CHECK ({}){not_valid}", names.domain_condition(domain, check, pretty))
}

fn action(word: &str, action: ForeignKeyAction) -> String {
    let what = match action {
        ForeignKeyAction::NoAction => return String::new(),
        ForeignKeyAction::Restrict => "RESTRICT",
        ForeignKeyAction::Cascade => "CASCADE",
        ForeignKeyAction::SetNull => "SET NULL",
        ForeignKeyAction::SetDefault => "SET DEFAULT",
    };
    format!(" {word} {what}")
}

/// `FOREIGN KEY (…) REFERENCES …`; the parent is qualified if `qualify` says so.
pub(crate) fn foreign_key_definition(
    catalog: &Catalog,
    table: &Table,
    key: &ForeignKey,
    qualify: impl Fn(&Table) -> bool,
) -> String {
    let columns = column_list(table, &key.columns);
    let (parent_name, parent_columns) = match catalog.table(key.parent) {
        Some(parent) => {
            let schema = catalog.schema_name(parent.schema);
            let name = if qualify(parent) {
                qualified(&schema, &parent.name)
            } else {
                quote_ident(&parent.name)
            };
            (name, column_list(parent, &key.parent_columns))
        }
        None => (key.parent.to_string(), String::new()),
    };
    let matching = if key.match_full { " MATCH FULL" } else { "" };
    let update = action("ON UPDATE", key.on_update);
    let mut delete = action("ON DELETE", key.on_delete);
    if !key.delete_columns.is_empty() {
        let _ = write!(delete, " ({})", column_list(table, &key.delete_columns));
    }
    let deferrable = deferrable_text(key.deferrable, key.initially_deferred);
    let valid = if key.validated { "" } else { " NOT VALID" };
    format!(
        "FOREIGN KEY ({columns}) REFERENCES {parent_name}({parent_columns}){matching}{update}{delete}{deferrable}{valid}"
    )
}

fn column_text(names: CatalogNames<'_>, table: &Table, column: &Column) -> String {
    let mut text = format!("{} {}", quote_ident(&column.name), names.column_type(column));
    if let Some(collation) = &column.collation {
        let shown = Collations::of(names.catalog).text(names.path, collation);
        let _ = write!(text, " COLLATE {shown}");
    }
    if let Some(expr) = &column.generated {
        let expr = names.expr(table, expr, false);
        let _ = write!(text, " GENERATED ALWAYS AS ({expr}) STORED");
    } else if let Some(identity) = column.identity {
        let mode = match identity {
            Identity::Always => "ALWAYS",
            Identity::ByDefault => "BY DEFAULT",
        };
        let _ = write!(text, " GENERATED {mode} AS IDENTITY");
    } else if let Some(expr) = &column.default {
        let _ = write!(text, " DEFAULT {}", names.expr(table, expr, false));
    }
    let in_key = table.primary.keys.iter().any(|key| key.column == column.id);
    if !column.nullable && !in_key {
        text.push_str(" NOT NULL");
    }
    text
}

fn on_commit_text(on_commit: OnCommit) -> &'static str {
    match on_commit {
        OnCommit::Preserve => "",
        OnCommit::Delete => " ON COMMIT DELETE ROWS",
        OnCommit::Drop => " ON COMMIT DROP",
    }
}

/// A statement that makes the table again, as `SHOW CREATE TABLE` prints it.
pub(crate) fn create_table_text(catalog: &Catalog, table: &Table) -> String {
    let names = CatalogNames { catalog, path: None };
    let mut lines: Vec<String> =
        table.visible_columns().map(|column| column_text(names, table, column)).collect();
    if !table.is_hidden_key(&table.primary) {
        let name = quote_ident(&table.primary.name);
        let keys = key_list(names, table, &table.primary.keys, false);
        lines.push(format!("CONSTRAINT {name} PRIMARY KEY ({keys})"));
    }
    for index in &table.indexes {
        let name = quote_ident(&index.name);
        if index.exclusion.is_some() {
            let definition = key_definition(names, table, index, false);
            lines.push(format!("CONSTRAINT {name} {definition}"));
            continue;
        }
        let keys = key_list(names, table, &index.keys, false);
        // A constraint says it before its keys, an index behind them.
        let nulls = if index.nulls_not_distinct { " NULLS NOT DISTINCT" } else { "" };
        let (word, nulls) = match (index.constraint, index.unique) {
            _ if index.is_late_primary => (format!("CONSTRAINT {name} PRIMARY KEY"), ""),
            (Some(_), _) => (format!("CONSTRAINT {name} UNIQUE{nulls}"), ""),
            (None, true) => (format!("UNIQUE INDEX {name}"), nulls),
            (None, false) => (format!("INDEX {name}"), nulls),
        };
        let method = match index.method() {
            "btree" => String::new(),
            other => format!(" USING {other}"),
        };
        let mut text = format!("{word}{method} ({keys})");
        if !index.included().is_empty() {
            let _ = write!(text, " STORING ({})", column_list(table, index.included()));
        }
        text.push_str(nulls);
        text.push_str(deferrable_text(index.deferrable, index.initially_deferred));
        text.push_str(&interleave_text(catalog, table, index));
        if let Some(predicate) = &index.predicate {
            let _ = write!(text, " WHERE {}", names.condition(table, predicate, false));
        }
        lines.push(text);
    }
    for check in &table.checks {
        let definition = check_definition(names, table, check, false);
        lines.push(format!("CONSTRAINT {} {definition}", quote_ident(&check.name)));
    }
    let made = table.primary.interleaving.as_ref().and_then(|found| found.foreign_key);
    for key in table.foreign_keys.iter().filter(|key| Some(key.id) != made) {
        let qualify = |parent: &Table| parent.schema != table.schema;
        let text = foreign_key_definition(catalog, table, key, qualify);
        lines.push(format!("CONSTRAINT {} {text}", quote_ident(&key.name)));
    }
    if table.families.len() > 1 {
        lines.extend(table.families.iter().map(|family| {
            let inside = table.columns.iter().filter(|column| column.family == family.id);
            let columns: Vec<ColumnId> = inside.map(|column| column.id).collect();
            format!("FAMILY {} ({})", quote_ident(&family.name), column_list(table, &columns))
        }));
    }
    let interleave = interleave_text(catalog, table, &table.primary);
    let schema = catalog.schema_name(table.schema);
    let (kind, name, on_commit) = match is_temporary(table.id) {
        false => ("TABLE", qualified(&schema, &table.name), ""),
        true => ("TEMP TABLE", quote_ident(&table.name), on_commit_text(table.on_commit)),
    };
    let lines = lines.join(",\n    ");
    let names = CatalogNames { catalog, path: None };
    let keys = table.partitioning.as_ref().map(|keys| partitions::key_text(names, table, keys));
    let divided = keys.map(|keys| format!("\nPARTITION BY {keys}")).unwrap_or_default();
    format!("CREATE {kind} {name} (\n    {lines}\n){interleave}{on_commit}{divided}")
}
