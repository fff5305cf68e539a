//! Every system view has rows that fit its columns.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeSet, HashMap};

use braid_builtins::{Environment, Lookup};
use braid_catalog::*;
use braid_cluster::GatewayInfo;
use braid_system_views::*;
use braid_types::{Datum, FormatSettings, Result, SqlType};

use crate::support::*;

struct Session {
    settings: FormatSettings,
    lookup: CatalogLookup,
}

impl Environment for Session {
    fn settings(&self) -> &FormatSettings {
        &self.settings
    }
    fn transaction_micros(&self) -> i64 {
        0
    }
    fn statement_micros(&self) -> i64 {
        0
    }
    fn current_user(&self) -> &str {
        "root"
    }
    fn session_user(&self) -> &str {
        "root"
    }
    fn database(&self) -> &str {
        "defaultdb"
    }
    fn search_path(&self, _implicit: bool) -> Vec<String> {
        vec!["public".to_owned()]
    }
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }
    fn backend_pid(&self) -> i32 {
        1
    }
    fn client_addr(&self) -> Option<String> {
        None
    }
    fn lookup(&self) -> &dyn Lookup {
        &self.lookup
    }
}

struct Running;

impl RuntimeInfo for Running {
    fn relation_counts(&self) -> HashMap<Id, RelationCounts> {
        HashMap::new()
    }
    fn database_counts(&self) -> HashMap<Id, DatabaseCounts> {
        HashMap::new()
    }
    fn statements(&self) -> StatementsInfo {
        StatementsInfo::default()
    }
    fn sessions(&self) -> Vec<SessionInfo> {
        vec![SessionInfo { pid: 1, user: "root".to_owned(), ..SessionInfo::default() }]
    }
    fn end_analyzers(&self, _: &str) {}
    fn terminate_session(&self, _: i32) -> Result<bool> {
        Ok(false)
    }
    fn locks(&self) -> Vec<LockEntry> {
        Vec::new()
    }
    fn awaited_locks(&self) -> Vec<LockEntry> {
        Vec::new()
    }
    fn metrics(&self) -> Vec<MetricEntry> {
        vec![MetricEntry {
            name: "m".to_owned(),
            labels: Vec::new(),
            kind: "gauge".to_owned(),
            value: 1.0,
            help: String::new(),
        }]
    }
    fn settings(&self) -> Vec<SettingInfo> {
        vec![SettingInfo { name: "s".to_owned(), ..SettingInfo::default() }]
    }
    fn prepared_transactions(&self) -> Vec<(braid_kv::TxnId, braid_cluster::PreparedInfo)> {
        Vec::new()
    }
    fn prepared_statements(&self) -> Vec<PreparedInfo> {
        Vec::new()
    }
    fn cursors(&self) -> Vec<CursorInfo> {
        Vec::new()
    }
    fn gateways(&self) -> Vec<GatewayInfo> {
        vec![GatewayInfo {
            id: 1,
            address: "localhost:1".to_owned(),
            version: "1".to_owned(),
            started: 0,
            expires: Some(1),
            mode: "fast",
            is_self: true,
        }]
    }
}

fn fits(datum: &Datum, ty: &SqlType) -> bool {
    match (datum, ty) {
        (Datum::Null, _) => true,
        (Datum::Bool(_), SqlType::Bool) => true,
        (Datum::Int(_), ty) => ty.is_integer() || ty.is_oid() || *ty == SqlType::Xid,
        (Datum::Float(_), ty) => ty.is_float(),
        (Datum::Numeric(_), SqlType::Numeric(_)) => true,
        (Datum::Text(_), ty) => {
            ty.is_string() || matches!(ty, SqlType::InternalChar | SqlType::Aclitem)
        }
        (Datum::Timestamptz(_), SqlType::Timestamptz) => true,
        (Datum::Interval(_), SqlType::Interval) => true,
        (Datum::Array(array), SqlType::Array(element)) => {
            array.element.oid() == element.oid()
                && array.items.iter().all(|item| fits(item, element))
        }
        (Datum::Array(array), ty) if ty.is_vector() => {
            array.lower == 0 && Some(&array.element) == ty.element()
        }
        _ => false,
    }
}

#[tokio::test]
async fn every_catalog_view_gives_rows_of_its_columns() {
    let dir = tempfile::tempdir().unwrap();
    let kv = open(dir.path());
    bootstrap(&kv).await.unwrap();
    let cache = CatalogCache::new();
    change(&kv, &cache, |draft| {
        let parent = table(draft, "p");
        let mut child = table(draft, "c");
        let id = draft.allocate_id(0);
        child.foreign_keys.push(ForeignKey {
            id,
            name: "c_b_fkey".to_owned(),
            columns: vec![1],
            parent: parent.id,
            parent_columns: vec![1],
            parent_index: 1,
            match_full: false,
            on_delete: ForeignKeyAction::NoAction,
            on_update: ForeignKeyAction::Restrict,
            delete_columns: Vec::new(),
            deferrable: false,
            initially_deferred: false,
            validated: true,
            unfinished: false,
            adder: None,
            comment: None,
        });
        let mut owned = sequence(draft, "s");
        owned.owned_by = Some((child.id, 1));
        child.columns[0].identity = Some(Identity::Always);
        child.columns[0].owned_sequence = Some(owned.id);
        draft.put(owned);
        let view = View {
            id: draft.allocate_id(0),
            database: DEFAULT_DATABASE,
            schema: parent.schema,
            name: "v".to_owned(),
            owner: ROOT,
            columns: vec![("a".to_owned(), SqlType::Int8)],
            query: "SELECT a FROM p".to_owned(),
            search_path: vec!["public".to_owned()],
            stored: None,
            depends_on: vec![parent.id],
            check_option: None,
            options: Default::default(),
            domains: Vec::new(),
            defaults: Vec::new(),
            triggers: Vec::new(),
            column_grants: Vec::new(),
            column_comments: Vec::new(),
            grants: Vec::new(),
            comment: Some("a view".to_owned()),
        };
        draft.put(parent);
        draft.put(child);
        draft.put(view);
    })
    .await;
    let catalog = current(&kv, &cache).await;
    let path = path_of(&["public"]);
    let lookup = CatalogLookup::new(catalog.clone(), path.clone());
    let env = Session { settings: FormatSettings::default(), lookup: lookup.clone() };
    let cx = VirtualContext {
        catalog: &catalog,
        path: &path,
        lookup: &lookup,
        env: &env,
        runtime: &Running,
        last_values: &HashMap::new(),
        large_objects: &[],
    };
    let mut oids = BTreeSet::new();
    let mut filled = 0;
    for table in virtual_tables() {
        assert!(oids.insert(table.oid), "{table:?} shares its oid");
        let rows = virtual_rows(table, &cx).unwrap();
        filled += usize::from(!rows.is_empty());
        for row in rows {
            assert_eq!(row.len(), table.columns.len(), "{table:?}");
            for (datum, (name, ty)) in row.iter().zip(&table.columns) {
                assert!(fits(datum, ty), "{table:?}.{name}: {datum:?} is no {ty}");
            }
        }
    }
    assert!(filled > 60, "only {filled} catalog views have rows");

    let child = catalog.tables().iter().find(|table| table.name == "c").unwrap();
    assert_eq!(
        lookup.index_definition(child.indexes[0].id, 0, false).unwrap(),
        "CREATE INDEX c_b_idx ON public.c USING btree (b DESC) INCLUDE (a) NULLS NOT DISTINCT WHERE (b > 0)"
    );
    assert_eq!(
        lookup.constraint_definition(child.foreign_keys[0].id, false).unwrap(),
        "FOREIGN KEY (a) REFERENCES p(a) ON UPDATE RESTRICT"
    );
    assert_eq!(lookup.constraint_definition(child.checks[0].id, false).unwrap(), "CHECK ((a > 0))");
    assert_eq!(lookup.serial_sequence("c", "a").unwrap().unwrap(), "public.s");
    assert_eq!(lookup.relation_name(child.id).unwrap(), "c");
    let names = CatalogKeyNames(catalog.clone());
    assert_eq!(braid_codec::key::print(&table_span(child.data_id).start, &names), "/c");
    assert_eq!(
        braid_codec::key::print(&descriptor_key(child.id), &names),
        format!("/system.descriptor/primary/{}", child.id)
    );
}
