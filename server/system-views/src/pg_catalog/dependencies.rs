//! `pg_depend`: what goes with what, and what stands in whose way. `pg_dump` takes from it in which
//! order to write objects, and which sequence belongs to which column.
//!
//! Also here: `pg_extension` and `pg_init_privs`, by which `pg_dump` knows what a new server has
//! already. The schema `braid_internal` is shown as part of an extension that is always there, so
//! that no dump tries to make it.

use std::collections::BTreeSet;

use braid_builtins::{row_array_type, row_type};
use braid_types::sql_type::user_types;
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{acl_items, flag, int, text};
use crate::context::{RowsOf, VirtualContext};
use crate::pg_catalog::attributes::{DefaultRow, columns_of, defaults};
use crate::pg_catalog::constraints::key_constraints;
use crate::pg_catalog::relations::{first_privileges, visible_indexes};
use crate::row_builder::RowBuilder;
use braid_catalog::{
    BRAID_INTERNAL, Column, EXTENSIONS, FunctionRef, Id, Index, Language, PG_CATALOG, ROOT,
    Relation, StoredExpr, Table, Trigger, View, enums_named, uses_extension, virtual_schemas,
    virtual_tables,
};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_depend" => pg_depend,
        "pg_available_extensions" => pg_available_extensions,
        "pg_available_extension_versions" => pg_available_extension_versions,
        "pg_extension" => pg_extension,
        "pg_init_privs" => pg_init_privs,
        _ => return None,
    })
}

/// The oids of the catalogs that dependencies refer to.
const PG_TYPE: u32 = 1247;
const PG_PROC: u32 = 1255;
const PG_LANGUAGE: u32 = 2612;
const PG_CLASS: u32 = 1259;
const PG_ATTRDEF: u32 = 2604;
const PG_CONSTRAINT: u32 = 2606;
const PG_NAMESPACE: u32 = 2615;
const PG_REWRITE: u32 = 2618;
const PG_TRIGGER: u32 = 2620;
const PG_POLICY: u32 = 3256;
const PG_EXTENSION: u32 = 3079;

/// The extension that stands for what BraidDB has beside PostgreSQL's catalogs.
const OWN_EXTENSION: Id = 15_001;

/// The lowest number of an object that users make.
const FIRST_OF_USERS: Id = 2200;

/// Catalog, number, column; column 0 is the object itself.
type Place = (u32, Id, i64);

struct Dependencies(RowBuilder);

impl Dependencies {
    fn add(&mut self, object: Place, on: Place, kind: &str) {
        self.0.push([
            int(object.0),
            int(object.1),
            int(object.2),
            int(on.0),
            int(on.1),
            int(on.2),
            text(kind),
        ]);
    }

    /// A relation is in its schema, and its row type goes with it.
    fn relation(&mut self, id: Id, schema: Id, has_rows: bool) {
        self.add((PG_CLASS, id, 0), (PG_NAMESPACE, schema, 0), "n");
        if has_rows {
            self.add((PG_TYPE, row_type(id), 0), (PG_CLASS, id, 0), "i");
            self.add((PG_TYPE, row_array_type(id), 0), (PG_TYPE, row_type(id), 0), "i");
        }
    }

    /// Columns need their types.
    fn types_of(&mut self, relation: Id, columns: &[Column]) {
        let of_user = |c: &&Column| c.domain.is_some() || !user_types(&c.ty).is_empty();
        for column in columns.iter().filter(of_user) {
            let ty = (PG_TYPE, column.domain.unwrap_or_else(|| column.ty.oid()), 0);
            self.add((PG_CLASS, relation, i64::from(column.id)), ty, "n");
        }
    }

    fn index(&mut self, table: &Table, index: &Index) {
        if let Some(constraint) = index.constraint {
            self.add((PG_CLASS, index.id, 0), (PG_CONSTRAINT, constraint, 0), "i");
            return;
        }
        let keys = index.keys.iter().map(|key| key.column);
        let mut columns: BTreeSet<_> = keys.chain(index.included().iter().copied()).collect();
        columns.extend(index.predicate.iter().flat_map(columns_of));
        for column in columns {
            self.add((PG_CLASS, index.id, 0), (PG_CLASS, table.id, i64::from(column)), "a");
        }
    }

    fn constraints(&mut self, cx: &VirtualContext<'_>, table: &Table) {
        let column = |id| (PG_CLASS, table.id, i64::from(id));
        for (oid, index) in key_constraints(table) {
            let keys = index.keys.iter().map(|key| key.column);
            let columns: BTreeSet<_> = keys.chain(index.included().iter().copied()).collect();
            for id in columns {
                self.add((PG_CONSTRAINT, oid, 0), column(id), "a");
            }
        }
        for check in &table.checks {
            for id in &check.columns {
                self.add((PG_CONSTRAINT, check.id, 0), column(*id), "a");
                self.add((PG_CONSTRAINT, check.id, 0), column(*id), "n");
            }
            for id in routines_named(cx, &check.expr) {
                self.add((PG_CONSTRAINT, check.id, 0), (PG_PROC, id, 0), "n");
            }
            if check.columns.is_empty() {
                self.add((PG_CONSTRAINT, check.id, 0), (PG_CLASS, table.id, 0), "a");
            }
        }
        for key in &table.foreign_keys {
            for id in &key.columns {
                self.add((PG_CONSTRAINT, key.id, 0), column(*id), "a");
            }
            for id in &key.parent_columns {
                let on = (PG_CLASS, key.parent, i64::from(*id));
                self.add((PG_CONSTRAINT, key.id, 0), on, "n");
            }
            let parent = cx.catalog.table(key.parent);
            if let Some(index) = parent.and_then(|parent| parent.index(key.parent_index)) {
                self.add((PG_CONSTRAINT, key.id, 0), (PG_CLASS, index.id, 0), "n");
            }
        }
    }

    /// A trigger goes with its relation, or with its constraint.
    fn trigger(&mut self, cx: &VirtualContext<'_>, relation: &Relation, trigger: &Trigger) {
        let object = (PG_TRIGGER, trigger.id, 0);
        let table = (PG_CLASS, relation.oid(), 0);
        // A function that is built in cannot be dropped.
        if cx.catalog.names().routines().get(trigger.function).is_some() {
            self.add(object, (PG_PROC, trigger.function, 0), "n");
        }
        match &trigger.constraint {
            Some(constraint) => {
                self.add(object, (PG_CONSTRAINT, constraint.id, 0), "i");
                self.add((PG_CONSTRAINT, constraint.id, 0), table, "a");
            }
            None => self.add(object, table, "a"),
        }
        let read = trigger.when.iter().flat_map(columns_of);
        let columns = trigger.columns.iter().chain(read).copied().collect::<BTreeSet<_>>();
        for column in columns {
            self.add(object, (PG_CLASS, relation.oid(), i64::from(column)), "n");
        }
    }

    /// A policy goes with its table.
    fn policies(&mut self, cx: &VirtualContext<'_>, table: &Table) {
        for policy in &table.security.policies {
            let object = (PG_POLICY, policy.id, 0);
            self.add(object, (PG_CLASS, table.id, 0), "a");
            let own = policy.conditions().flat_map(|condition| columns_of(&condition.expr));
            for column in own.collect::<BTreeSet<_>>() {
                self.add(object, (PG_CLASS, table.id, i64::from(*column)), "n");
            }
            let used = policy.conditions().flat_map(|condition| &condition.uses);
            for (id, columns) in used {
                let class = match cx.catalog.names().routines().get(*id) {
                    Some(_) => PG_PROC,
                    None => PG_CLASS,
                };
                let columns: &[u16] = if columns.is_empty() { &[0] } else { columns };
                for column in columns {
                    self.add(object, (class, *id, i64::from(*column)), "n");
                }
            }
        }
    }

    fn default(&mut self, cx: &VirtualContext<'_>, default: &DefaultRow<'_>) {
        let object = (PG_ATTRDEF, default.oid, 0);
        let own = (PG_CLASS, default.table.id, i64::from(default.column.id));
        self.add(object, own, if default.column.generated.is_some() { "i" } else { "a" });
        for column in default.columns() {
            self.add(object, (PG_CLASS, default.table.id, i64::from(*column)), "n");
        }
        for relation in default.relations() {
            let is_routine = cx.catalog.names().routines().get(relation).is_some();
            let class = if is_routine { PG_PROC } else { PG_CLASS };
            self.add(object, (class, relation, 0), "n");
        }
    }

    fn routines(&mut self, cx: &VirtualContext<'_>) {
        for found in cx.catalog.names().routines().in_database(cx.path.database) {
            self.add((PG_PROC, found.id, 0), (PG_NAMESPACE, found.schema, 0), "n");
            if let Some(parts) = &found.aggregate {
                for id in parts.functions().filter_map(FunctionRef::routine) {
                    self.add((PG_PROC, found.id, 0), (PG_PROC, id, 0), "n");
                }
            }
            if found.language == Language::Plpgsql {
                self.add((PG_PROC, found.id, 0), (PG_LANGUAGE, found.language.oid(), 0), "n");
            }
            let types = found.parameters.iter().map(|parameter| &parameter.ty);
            let of_user = |ty: &&SqlType| !user_types(ty).is_empty();
            for ty in types.chain([found.result_type()]).filter(of_user) {
                self.add((PG_PROC, found.id, 0), (PG_TYPE, ty.oid(), 0), "n");
            }
            let domains = found.parameters.iter().filter_map(|parameter| parameter.domain);
            for domain in domains.chain(found.result_domain) {
                self.add((PG_PROC, found.id, 0), (PG_TYPE, domain, 0), "n");
            }
            for id in &found.uses {
                let class = match cx.catalog.names().routines().get(*id) {
                    Some(_) => PG_PROC,
                    None => PG_CLASS,
                };
                self.add((PG_PROC, found.id, 0), (class, *id, 0), "n");
            }
            for expr in found.parameters.iter().filter_map(|parameter| parameter.default.as_ref()) {
                for id in routines_named(cx, expr) {
                    self.add((PG_PROC, found.id, 0), (PG_PROC, id, 0), "n");
                }
            }
        }
    }

    /// What a view reads, by columns where these are known.
    /// A view's dependencies; those that every relation has are known of a materialized one.
    fn view(&mut self, cx: &VirtualContext<'_>, view: &View, is_new: bool) {
        if is_new {
            self.relation(view.id, view.schema, true);
        }
        let rule = (PG_REWRITE, view.id, 0);
        self.add(rule, (PG_CLASS, view.id, 0), "i");
        self.add(rule, (PG_CLASS, view.id, 0), "n");
        let mut on: BTreeSet<(Id, i64)> = BTreeSet::new();
        match &view.stored {
            Some(stored) => {
                for (relation, columns) in &stored.uses {
                    let columns: &[u16] = if columns.is_empty() { &[0] } else { columns };
                    on.extend(columns.iter().map(|column| (*relation, i64::from(*column))));
                }
            }
            None => on.extend(view.depends_on.iter().map(|id| (*id, 0))),
        }
        for (relation, column) in on.into_iter().filter(|(id, _)| *id >= FIRST_OF_USERS) {
            let class = match cx.catalog.names().routines().get(relation) {
                Some(_) => PG_PROC,
                None => PG_CLASS,
            };
            self.add(rule, (class, relation, column), "n");
        }
    }
}

fn pg_depend(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut all = Dependencies(RowBuilder::new(
        "pg_depend",
        &["classid", "objid", "objsubid", "refclassid", "refobjid", "refobjsubid", "deptype"],
    ));
    let (catalog, database) = (cx.catalog, cx.path.database);
    for (schema, oid) in virtual_schemas().filter(|(schema, _)| *schema == BRAID_INTERNAL) {
        all.add((PG_NAMESPACE, oid, 0), (PG_EXTENSION, OWN_EXTENSION, 0), "e");
        for table in virtual_tables().iter().filter(|table| table.schema == schema) {
            all.add((PG_CLASS, table.oid, 0), (PG_EXTENSION, OWN_EXTENSION, 0), "e");
        }
    }
    for sequence in catalog.sequences().in_database(database) {
        all.relation(sequence.id, sequence.schema, false);
        if let Some((table, column)) = sequence.owned_by {
            let owner = catalog.table(table).and_then(|table| table.column(column));
            let identity = owner.is_some_and(|column| column.identity.is_some());
            let kind = if identity { "i" } else { "a" };
            all.add((PG_CLASS, sequence.id, 0), (PG_CLASS, table, i64::from(column)), kind);
        }
    }
    for table in catalog.tables().in_database(database) {
        all.relation(table.id, table.schema, true);
        visible_indexes(table).for_each(|index| all.index(table, index));
        all.constraints(cx, table);
        all.policies(cx, table);
    }
    defaults(catalog, database).iter().for_each(|default| all.default(cx, default));
    for found in catalog.enums().in_database(database) {
        all.add((PG_TYPE, found.id, 0), (PG_NAMESPACE, found.schema, 0), "n");
        all.add((PG_TYPE, found.array, 0), (PG_TYPE, found.id, 0), "i");
    }
    all.routines(cx);
    for (relation, trigger) in catalog.names().triggers().in_database(database) {
        all.trigger(cx, &relation, trigger);
    }
    for found in catalog.domains().in_database(database) {
        all.add((PG_TYPE, found.id, 0), (PG_NAMESPACE, found.schema, 0), "n");
        let of_user = (!user_types(&found.base).is_empty()).then(|| found.base.oid());
        if let Some(lower) = found.parent.or(of_user) {
            all.add((PG_TYPE, found.id, 0), (PG_TYPE, lower, 0), "n");
        }
        for check in &found.checks {
            all.add((PG_CONSTRAINT, check.id, 0), (PG_TYPE, found.id, 0), "a");
        }
    }
    for table in catalog.tables().in_database(database) {
        all.types_of(table.id, &table.columns);
    }
    for found in catalog.names().composites().in_database(database) {
        all.add((PG_TYPE, row_type(found.id), 0), (PG_NAMESPACE, found.schema, 0), "n");
        // The relation goes with the type, the other way round than the row type of a table.
        all.add((PG_CLASS, found.id, 0), (PG_TYPE, row_type(found.id), 0), "i");
        all.add((PG_TYPE, row_array_type(found.id), 0), (PG_TYPE, row_type(found.id), 0), "i");
        all.types_of(found.id, &found.columns);
    }
    catalog.views().in_database(database).for_each(|view| all.view(cx, view, true));
    for table in catalog.tables().in_database(database) {
        if let Some(view) = table.as_view() {
            all.view(cx, &view, false);
        }
    }
    all.0.rows()
}

/// The functions of users that an expression calls.
fn routines_named(cx: &VirtualContext<'_>, expr: &StoredExpr) -> Vec<Id> {
    let routines = cx.catalog.names().routines();
    let is_routine = |id: &Id| routines.get(*id).is_some();
    enums_named(expr.sql()).into_iter().filter(is_routine).collect()
}

fn pg_extension(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "extname", "extowner", "extnamespace", "extrelocatable", "extversion"];
    let mut builder = RowBuilder::new("pg_extension", &columns);
    let schema = virtual_schemas().find(|(schema, _)| *schema == BRAID_INTERNAL);
    if let Some((_, schema)) = schema {
        let version = env!("CARGO_PKG_VERSION");
        builder.push([
            int(OWN_EXTENSION),
            text(BRAID_INTERNAL),
            int(ROOT),
            int(schema),
            flag(false),
            text(version),
        ]);
    }
    let schema = virtual_schemas().find(|(schema, _)| *schema == PG_CATALOG);
    let created = braid_catalog::created_extensions(cx.catalog, cx.path.database);
    for extension in EXTENSIONS {
        let own = created.iter().find(|created| created.name == extension.name);
        let own = own.map(|created| created.schema);
        let is_dumped = !extension.is_preinstalled()
            && (own.is_some() || uses_extension(cx.catalog, cx.path.database, extension));
        let public = cx.catalog.names().schema(cx.path.database, "public").map(|found| found.id);
        let own = own.or(public.filter(|_| is_dumped));
        builder.push([
            int(if is_dumped { extension.dumped_oid() } else { extension.oid }),
            text(extension.name),
            int(ROOT),
            int(own.or(schema.map(|(_, schema)| schema)).unwrap_or(0)),
            flag(!extension.is_preinstalled()),
            text(extension.version),
        ]);
    }
    builder.rows()
}

/// What could be created is there already.
fn pg_available_extensions(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["name", "default_version", "installed_version", "comment"];
    let mut builder = RowBuilder::new("pg_available_extensions", &columns);
    for extension in EXTENSIONS {
        let version = text(extension.version);
        builder.push([text(extension.name), version.clone(), version, text(extension.comment)]);
    }
    builder.rows()
}

/// Of each extension there is one version, which is installed.
fn pg_available_extension_versions(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = [
        "name",
        "version",
        "installed",
        "superuser",
        "trusted",
        "relocatable",
        "schema",
        "comment",
    ];
    let mut builder = RowBuilder::new("pg_available_extension_versions", &columns);
    for extension in EXTENSIONS {
        let is_preinstalled = extension.is_preinstalled();
        builder.push([
            text(extension.name),
            text(extension.version),
            flag(true),
            flag(true),
            flag(extension.name != "pg_stat_statements"),
            flag(!is_preinstalled),
            if is_preinstalled { text(PG_CATALOG) } else { Datum::Null },
            text(extension.comment),
        ]);
    }
    builder.rows()
}

/// The privileges of what is there from the start.
fn pg_init_privs(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["objoid", "classoid", "objsubid", "privtype", "initprivs"];
    let mut builder = RowBuilder::new("pg_init_privs", &columns);
    let mut add = |object: Id, class: u32, acl: Vec<String>| {
        builder.push([int(object), int(class), int(0), text("i"), acl_items(Some(acl))]);
    };
    for (_, oid) in virtual_schemas() {
        add(oid, PG_NAMESPACE, first_privileges("UC", "U"));
    }
    for schema in cx.catalog.schemas().in_database(cx.path.database) {
        if schema.name == "public" {
            let owner = "pg_database_owner";
            let acl = vec![format!("{owner}=UC/{owner}"), format!("=U/{owner}")];
            add(schema.id, PG_NAMESPACE, acl);
        }
    }
    for table in virtual_tables() {
        add(table.oid, PG_CLASS, first_privileges("arwdDxt", "r"));
    }
    builder.rows()
}
