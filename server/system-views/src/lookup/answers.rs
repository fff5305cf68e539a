//! The catalog as functions see it: names and definitions by oid ([`braid_builtins::Lookup`]).

use braid_builtins::{
    IndexTraits, Lookup, ObjectIdentity, PartitionTree, PrivilegedKind, RoutineText,
    SequenceTraits, StatisticsText, Writable,
};
use braid_sql::Layout;
use braid_sql::quote_ident;
use braid_types::sql_type::relation_of_row_type;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::lookup::CatalogLookup;
use crate::lookup::definition::{
    check_definition, domain_check_definition, foreign_key_definition, index_column,
    index_definition, key_definition, trigger_constraint_definition,
};
use crate::lookup::object_address::object_address;
use crate::lookup::object_identity::object_identity;
use crate::lookup::object_privileges;
use crate::lookup::partition_tree::partition_tree;
use crate::lookup::routine_text::routine_text;
use crate::lookup::writable::writable;
use crate::pg_catalog::descriptions::descriptions;
use crate::pg_catalog::roles::databases::{TEMPLATES, template_name};
use braid_catalog::names::{qualified, split_name};
use braid_catalog::{
    Catalog, Collations, Index, IndexKey, Object, PUBLIC, Queries, Relation, RoutineParameter,
    StatisticsObjects, TABLE_PRIVILEGES, Table, undefined_relation,
};
use braid_catalog::{view_text, virtual_schema, virtual_schema_name};

/// Whether a relation has a column of that name.
fn has_column(relation: &Relation, name: &str) -> bool {
    match relation {
        Relation::Table(table) => table.column_by_name(name).is_some(),
        Relation::View(view) => view.columns.iter().any(|(column, _)| column == name),
        Relation::Virtual(table) => table.columns.iter().any(|(column, _)| *column == name),
        Relation::Composite(found) => found.column_by_name(name).is_some(),
        Relation::Sequence(_) => ["last_value", "log_cnt", "is_called"].contains(&name),
        Relation::Index(table, index) => {
            let keys = index.keys.iter().map(|key| key.column);
            let mut columns = keys.chain(index.included().iter().copied());
            columns.any(|id| table.column(id).is_some_and(|column| column.name == name))
        }
    }
}

impl Lookup for CatalogLookup {
    fn relation_oid(&self, name: &str) -> Result<Option<u32>> {
        let Ok(parts) = split_name(name) else { return Ok(None) };
        let found = self.catalog.names().resolve(&self.path, &parts)?;
        Ok(found.map(|relation| relation.oid()))
    }

    fn relation_name(&self, oid: u32) -> Option<String> {
        let relation = self.catalog.relation(oid)?;
        if self.catalog.names().is_visible(&self.path, &relation) {
            return Some(quote_ident(relation.name()));
        }
        let (_, schema) = self.catalog.names().schema_of(&relation);
        Some(qualified(&schema, relation.name()))
    }

    fn type_by_name(&self, name: &[String]) -> Option<u32> {
        let Some((found, is_array)) = self.catalog.enums().resolve(&self.path, name).ok()? else {
            let domains = self.catalog.domains();
            if let Some(domain) = domains.resolve(&self.path, name).ok()? {
                return Some(domain.id);
            }
            let rows = self.catalog.names().row_types();
            return rows.resolve(&self.path, name).ok()?.map(|ty| ty.oid());
        };
        Some(if is_array { found.array } else { found.id })
    }

    fn type_schema(&self, ty: &SqlType) -> Option<String> {
        braid_catalog::type_schema(&self.catalog, &self.path, ty)
    }

    fn domain_name(&self, oid: u32) -> Option<String> {
        let found = self.catalog.domains().get(oid)?;
        Some(self.catalog.domains().text(Some(&self.path), found))
    }

    fn type_by_oid(&self, oid: u32) -> Option<(SqlType, String)> {
        let ty = self.catalog.enums().type_of(oid)?;
        let found = self.catalog.enums().get(ty.inner_enum()?.oid)?;
        let brackets = if ty.is_array() { "[]" } else { "" };
        let name = format!("{}{brackets}", self.catalog.enums().text(Some(&self.path), found));
        Some((ty, name))
    }

    fn has_row_type(&self, oid: u32) -> bool {
        let relation = self.catalog.relation(oid);
        let has_none =
            |relation: &Relation| matches!(relation, Relation::Sequence(_) | Relation::Index(..));
        relation.is_some_and(|relation| !has_none(&relation))
    }

    fn relation_is_visible(&self, oid: u32) -> bool {
        let relation = self.catalog.relation(oid);
        relation.is_some_and(|relation| self.catalog.names().is_visible(&self.path, &relation))
    }

    fn schema_oid(&self, name: &str) -> Option<u32> {
        virtual_schema(name).or_else(|| {
            self.catalog.names().schema(self.path.database, name).map(|schema| schema.id)
        })
    }

    fn schema_name(&self, oid: u32) -> Option<String> {
        if let Some(name) = virtual_schema_name(oid) {
            return Some(name.to_owned());
        }
        self.catalog.schemas().get(oid).map(|schema| schema.name.clone())
    }

    fn role_oid(&self, name: &str) -> Option<u32> {
        self.catalog.names().role(name).map(|role| role.id)
    }

    fn role_name(&self, oid: u32) -> Option<String> {
        self.catalog.role(oid).map(|role| role.name.clone())
    }

    fn index_definition(&self, oid: u32, column: i32, pretty: bool) -> Option<String> {
        let (table, index) = self.catalog.index(oid)?;
        match usize::try_from(column) {
            Ok(0) | Err(_) => Some(index_definition(self.names(), table, index, pretty)),
            Ok(number) => index_column(self.names(), table, index, number, pretty),
        }
    }

    fn expression(&self, node: &str, relation: u32, pretty: bool) -> Option<String> {
        self.names().node(self.catalog.table(relation).map(|table| &**table), node, pretty)
    }

    fn constraint_definition(&self, oid: u32, pretty: bool) -> Option<String> {
        if let Some((domain, check)) = self.domain_check(oid) {
            return Some(domain_check_definition(self.names(), domain, check, pretty));
        }
        self.catalog.tables().iter().find_map(|table| {
            if let Some(index) = table.all_indexes().find(|index| index.constraint == Some(oid)) {
                return Some(key_definition(self.names(), table, index, pretty));
            }
            if let Some(check) = table.checks.iter().find(|check| check.id == oid) {
                return Some(check_definition(self.names(), table, check, pretty));
            }
            let mut constraints = table.triggers.iter().filter_map(|t| t.constraint.as_ref());
            if let Some(constraint) = constraints.find(|constraint| constraint.id == oid) {
                return Some(trigger_constraint_definition(constraint));
            }
            let key = table.foreign_keys.iter().find(|key| key.id == oid)?;
            let qualify = |parent: &Table| !self.relation_is_visible(parent.id);
            Some(foreign_key_definition(&self.catalog, table, key, qualify))
        })
    }

    fn partition_key(&self, oid: u32) -> Option<String> {
        let table = self.catalog.table(oid)?;
        let keys = table.partitioning.as_ref()?;
        Some(braid_catalog::partitions::key_text(self.names(), table, keys))
    }

    fn partition_condition(&self, oid: u32) -> Option<String> {
        braid_catalog::partitions::condition_text(self.names(), self.catalog.table(oid)?)
    }

    fn partition_tree(&self, oid: u32) -> Option<PartitionTree> {
        partition_tree(&self.catalog, oid)
    }

    fn is_superuser(&self, role: &str) -> bool {
        self.catalog.names().role(role).is_some_and(|role| role.superuser)
    }

    fn index_traits(&self, oid: u32) -> Option<IndexTraits> {
        let (_, index) = self.catalog.index(oid)?;
        let index = index.as_written();
        // NULLs come last where values go up, unless the key says otherwise.
        let key = |key: &IndexKey| (key.descending, key.descending != key.nulls_opposed);
        Some(IndexTraits {
            method: index.method().to_owned(),
            keys: index.keys.iter().map(key).collect(),
            included: index.included().len(),
        })
    }

    fn sequence_traits(&self, oid: u32) -> Option<SequenceTraits> {
        let found = self.catalog.sequences().get(oid)?;
        Some(SequenceTraits {
            numbers: [found.start, found.min, found.max, found.increment],
            cycle: found.cycle,
            cache: found.cache,
            ty: found.ty.oid(),
        })
    }

    fn databases_in(&self, tablespace: u32) -> Vec<u32> {
        // Everything is in `pg_default`.
        let all = self.catalog.databases().iter().map(|database| database.id);
        all.filter(|_| tablespace == 1663).collect()
    }

    fn trigger_definition(&self, oid: u32, pretty: bool) -> Option<String> {
        let (relation, trigger) = self.catalog.names().triggers().get(oid)?;
        self.names().trigger(&relation, trigger, pretty)
    }

    fn view_definition(&self, oid: u32, pretty: bool, wrap: i32) -> Option<String> {
        let view = Queries::of(&self.catalog).get(oid)?;
        let shown = view_text(&self.catalog, &self.path, &view, Layout { pretty, wrap });
        let text = shown.unwrap_or_else(|| view.query.trim().trim_end_matches(';').to_owned());
        // PostgreSQL begins with a blank unless a parenthesis comes first.
        let blank = if text.starts_with([' ', '(']) { "" } else { " " };
        Some(format!("{blank}{text};"))
    }

    fn writable(&self, oid: u32, triggers: bool) -> Option<Writable> {
        writable(&self.catalog, oid, triggers)
    }

    fn has_storage(&self, oid: u32) -> bool {
        match self.catalog.relation(oid) {
            Some(Relation::Table(table)) => table.partitioning.is_none(),
            Some(Relation::Index(table, _)) => table.partitioning.is_none(),
            Some(Relation::Sequence(_)) => true,
            _ => false,
        }
    }

    fn comment(&self, oid: u32, catalog: &str, column: i32) -> Option<String> {
        match catalog {
            "pg_class" => self.relation_comment(oid, column),
            "pg_constraint" => self.constraint_comment(oid),
            "pg_namespace" => match virtual_schema_name(oid) {
                Some(_) => Some("system catalog schema".to_owned()),
                None => self.catalog.schemas().get(oid)?.comment.clone(),
            },
            "pg_collation" => Collations::of(&self.catalog).get(oid)?.1.comment.clone(),
            "pg_statistic_ext" => StatisticsObjects::of(&self.catalog).get(oid)?.1.comment.clone(),
            "pg_database" => self.catalog.database(oid)?.comment.clone(),
            "pg_type" => match self.catalog.domains().get(oid) {
                Some(found) => found.comment.clone(),
                None => match relation_of_row_type(oid) {
                    Some((relation, _)) => {
                        self.catalog.names().composites().get(relation)?.comment.clone()
                    }
                    None => self.catalog.enums().get(oid)?.comment.clone(),
                },
            },
            "pg_policy" => {
                let policies = &self.catalog.owner(oid)?.security.policies;
                policies.iter().find(|policy| policy.id == oid)?.comment.clone()
            }
            "pg_trigger" => self.catalog.names().triggers().get(oid)?.1.comment.clone(),
            "pg_proc" => self.catalog.names().routines().get(oid)?.comment.clone(),
            "pg_authid" => self.catalog.role(oid)?.comment.clone(),
            catalog => {
                let mut built_in = descriptions();
                let found = built_in.find(|known| known.catalog == catalog && known.oid == oid);
                found.map(|found| found.text.to_owned())
            }
        }
    }

    fn routine(&self, oid: u32) -> Option<RoutineText> {
        self.catalog.names().routines().of_trigger(oid).map(|found| routine_text(self, found))
    }

    fn routines_named(&self, name: &[String]) -> Vec<(u32, Vec<u32>)> {
        let named = self.catalog.names().routines().named(&self.path, name).into_iter();
        let oid = |known: &RoutineParameter| known.domain.unwrap_or_else(|| known.ty.oid());
        named.map(|found| (found.id, found.inputs().map(oid).collect())).collect()
    }

    fn serial_sequence(&self, table: &str, column: &str) -> Result<Option<String>> {
        let parts = split_name(table)?;
        let found = self.catalog.names().resolve(&self.path, &parts)?;
        let Some(relation) = found else { return Err(undefined_relation(&parts)) };
        if !has_column(&relation, column) {
            let name = relation.name();
            let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
            return Err(Error::new(SqlState::UndefinedColumn, message));
        }
        // Only columns of tables own sequences.
        let Relation::Table(table) = relation else { return Ok(None) };
        let owner = table.column_by_name(column).map(|at| (table.id, table.columns[at].id));
        let mut sequences = self.catalog.sequences().iter();
        let sequence = sequences.find(|sequence| owner.is_some() && sequence.owned_by == owner);
        Ok(sequence
            .map(|sequence| qualified(&self.catalog.schema_name(sequence.schema), &sequence.name)))
    }

    fn has_column_privilege(
        &self,
        role: &str,
        (relation, column): (u32, Option<i16>),
        privilege: &str,
    ) -> Result<Option<bool>> {
        let role = self.catalog.names().role(role).map_or(PUBLIC, |role| role.id);
        let Some(found) = self.catalog.relation(relation) else { return Ok(None) };
        let column = (&found, column);
        Ok(object_privileges::has_on_column(&self.catalog, role, column, privilege))
    }

    fn is_sequence(&self, relation: u32) -> bool {
        self.catalog.sequences().get(relation).is_some()
    }

    fn column_number(&self, relation: u32, name: &str) -> Option<i16> {
        let relation = self.catalog.relation(relation)?;
        let mut columns = object_privileges::columns(&relation).into_iter();
        columns.find(|(_, known)| known == name).and_then(|(id, _)| i16::try_from(id).ok())
    }

    fn has_table_privilege(&self, role: &str, relation: u32, privilege: &str) -> Result<bool> {
        let Some(role) = self.catalog.names().role(role) else {
            let message = format!("role \"{role}\" does not exist");
            return Err(Error::new(SqlState::UndefinedObject, message));
        };
        let Some(relation) = self.catalog.relation(relation) else {
            let message = format!("relation with OID {relation} does not exist");
            return Err(Error::new(SqlState::UndefinedTable, message));
        };
        let object = Object::from(&relation);
        for wanted in privilege.split(',') {
            let upper = wanted.trim().to_uppercase();
            let name = upper.trim_end_matches(" WITH GRANT OPTION");
            if !TABLE_PRIVILEGES.contains(&name) && name != "USAGE" {
                let message = format!("unrecognized privilege type: \"{}\"", wanted.trim());
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
            let rights = self.catalog.privileges();
            let has = match name.len() == upper.len() {
                true => rights.has(role.id, object, name),
                false => rights.may_grant(role.id, object, name),
            };
            if has {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_object_privilege(
        &self,
        role: &str,
        object: (PrivilegedKind, u32),
        privileges: &str,
    ) -> Result<Option<bool>> {
        if !object_privileges::exists(&self.catalog, object.0, object.1) {
            return Ok(None);
        }
        object_privileges::has_privilege(&self.catalog, role, object, privileges).map(Some)
    }

    fn relation_size(&self, oid: u32) -> i64 {
        let bytes = match self.catalog.relation(oid) {
            Some(Relation::Table(table)) => table_bytes(&self.catalog, &table),
            Some(Relation::Index(table, index)) => index_bytes(&self.catalog, &table, &index),
            _ => 0,
        };
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    fn indexes_size(&self, oid: u32) -> i64 {
        let Some(Relation::Table(table)) = self.catalog.relation(oid) else { return 0 };
        let of_index = |index| index_bytes(&self.catalog, &table, index);
        i64::try_from(table.indexes.iter().map(of_index).sum::<u64>()).unwrap_or(i64::MAX)
    }

    fn database_size(&self, oid: u32) -> Option<i64> {
        if template_name(oid).is_none() {
            self.catalog.database(oid)?;
        }
        let tables = self.catalog.tables().in_database(oid);
        let bytes = tables.map(|table| {
            let indexes = table.indexes.iter();
            let indexes: u64 = indexes.map(|index| index_bytes(&self.catalog, table, index)).sum();
            table_bytes(&self.catalog, table).saturating_add(indexes)
        });
        Some(i64::try_from(bytes.sum::<u64>()).unwrap_or(i64::MAX))
    }

    fn database_oid(&self, name: &str) -> Option<u32> {
        let found = self.catalog.names().database(name).map(|database| database.id);
        found.or_else(|| TEMPLATES.iter().find(|(_, known)| *known == name).map(|(oid, _)| *oid))
    }

    fn are_policies_for(&self, role: &str, relation: u32) -> bool {
        let role = self.catalog.names().role(role).map(|role| role.id);
        let table = self.catalog.table(relation);
        let (Some(role), Some(table)) = (role, table) else { return false };
        self.catalog.privileges().are_policies_for(role, table)
    }

    fn is_member(&self, role: &str, other: &str) -> bool {
        let id = |name: &str| self.catalog.names().role(name).map(|role| role.id);
        let privileges = self.catalog.privileges();
        matches!((id(role), id(other)), (Some(a), Some(b)) if privileges.is_member(a, b))
    }

    fn is_admin(&self, role: &str, other: &str) -> bool {
        let id = |name: &str| self.catalog.names().role(name).map(|role| role.id);
        let privileges = self.catalog.privileges();
        matches!((id(role), id(other)), (Some(a), Some(b)) if privileges.is_admin(a, b))
    }

    fn acts_as(&self, role: &str, other: &str) -> bool {
        let id = |name: &str| self.catalog.names().role(name).map(|role| role.id);
        let privileges = self.catalog.privileges();
        matches!((id(role), id(other)), (Some(a), Some(b)) if privileges.acts_as(a, b))
    }

    fn database_name(&self, oid: u32) -> Option<String> {
        self.catalog.database(oid).map(|database| database.name.clone())
    }

    fn statistics_object(&self, oid: u32) -> Option<StatisticsText> {
        let objects = StatisticsObjects::of(&self.catalog);
        let (table, object) = objects.get(oid)?;
        let shown = self.relation_name(table.id)?;
        Some(StatisticsText {
            definition: self.names().statistics(table, object, &shown),
            columns: self.names().statistics_columns(table, object),
            expressions: self.names().statistics_exprs(table, object),
            is_visible: objects.is_visible(&self.path, object),
        })
    }

    fn object_address(&self, kind: &str, names: &[String]) -> Result<(u32, u32, i32)> {
        object_address(self, kind, names)
    }

    fn object_identity(&self, catalog: u32, oid: u32, column: i32) -> Option<ObjectIdentity> {
        object_identity(self, catalog, oid, column)
    }
}

/// An estimate of a table's bytes; 0 of one whose rows nobody has counted.
fn table_bytes(catalog: &Catalog, table: &Table) -> u64 {
    if !catalog.statistics.is_known(table.id) {
        return 0;
    }
    let statistics = catalog.statistics.of(table.id);
    statistics.rows.saturating_mul(statistics.row_bytes)
}

/// An estimate of an index's bytes: the share of the row that its columns are. The primary index
/// is the table itself.
fn index_bytes(catalog: &Catalog, table: &Table, index: &Index) -> u64 {
    if index.number == table.primary.number {
        return 0;
    }
    let own = index.keys.len() + index.included().len() + table.primary.keys.len();
    let all = table.visible_columns().count().max(1);
    let share = own.min(all) as u64;
    table_bytes(catalog, table).saturating_mul(share) / all as u64
}
