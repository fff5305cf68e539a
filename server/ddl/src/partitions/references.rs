//! Foreign keys that refer to a partitioned table, when one of its partitions is detached.

use std::sync::Arc;

use braid_catalog::partitions::{ReferenceRoutes, lineage, origin_of_key};
use braid_catalog::{Catalog, ForeignKey, Table};
use braid_kv::Record;
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::context::DdlContext;
use crate::rows::messages::key_detail;
use crate::rows::reader::{TableReader, block_writers};

/// 23503 if rows point at rows of a partition that is about to leave its parent.
pub(crate) async fn check_detached(cx: &DdlContext<'_>, table: &Arc<Table>) -> Result<()> {
    let catalog = cx.catalog();
    for upper in lineage(&catalog, table) {
        for child in upper.referenced_by.iter().filter_map(|id| catalog.table(*id)) {
            // The rows of a partitioned table are those of its leaves, which refer as well.
            if child.partitioning.is_some() {
                continue;
            }
            for key in child.foreign_keys.iter().filter(|key| key.parent == upper.id) {
                let routes = ReferenceRoutes::of(&catalog, &upper, key)?;
                let routes = routes.ok_or_else(|| Error::broken("a partition without routes"))?;
                Removed { catalog: &catalog, table, child, key, routes }.check(cx).await?;
            }
        }
    }
    Ok(())
}

/// A partition that is detached, and a foreign key that may point at its rows.
struct Removed<'a> {
    catalog: &'a Catalog,
    table: &'a Arc<Table>,
    child: &'a Arc<Table>,
    key: &'a ForeignKey,
    routes: ReferenceRoutes,
}

impl Removed<'_> {
    async fn check(&self, cx: &DdlContext<'_>) -> Result<()> {
        let places = self.key.columns.iter().map(|id| self.child.place_of(*id));
        let places: Vec<usize> = places.collect::<Result<_>>()?;
        block_writers(cx, self.child).await?;
        let record = Record::Always { tag: self.key.id };
        let mut reader = TableReader::recorded(cx.txn(), cx.seq(), self.child, record)?;
        while let Some(rows) = reader.next().await? {
            cx.exec.check_interrupts().await?;
            for row in rows {
                let values: Row = places.iter().map(|place| row[*place].clone()).collect();
                if !values.iter().any(Datum::is_null) && self.points_here(&values) {
                    return Err(self.is_referenced(&row));
                }
            }
        }
        Ok(())
    }

    /// Whether the partition, or a part of it, has the parent of these values.
    fn points_here(&self, values: &[Datum]) -> bool {
        let Some((leaf, _)) = self.routes.find(values) else { return false };
        leaf.id == self.table.id
            || lineage(self.catalog, leaf).iter().any(|upper| upper.id == self.table.id)
    }

    fn is_referenced(&self, row: &[Datum]) -> Error {
        let child = origin_of_key(self.catalog, self.child, self.key);
        let message = format!(
            "removing partition \"{}\" violates foreign key constraint \"{}\"",
            self.table.name, self.key.name
        );
        let key = key_detail(self.child, &self.key.columns, row);
        Error::new(SqlState::ForeignKeyViolation, message)
            .detail(format!("Key {key} is still referenced from table \"{}\".", child.name))
            .table(&self.catalog.schema_name(self.child.schema), &self.child.name)
            .constraint(&self.key.name)
    }
}
