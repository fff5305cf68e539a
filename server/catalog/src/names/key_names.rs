//! Names for the numbers in keys: `/account/primary/42` instead of `/Table/106/1/42`.

use std::sync::Arc;

use braid_codec::key::{IndexNames, KeyNames};
use braid_types::SqlType;

use crate::Catalog;
use crate::storage::system_keys::{META, system_table_name};

/// Prints keys with the names of a catalog.
#[derive(Clone)]
pub struct CatalogKeyNames(pub Arc<Catalog>);

impl CatalogKeyNames {
    fn by_data_id(&self, data_id: u32) -> Option<&Arc<crate::Table>> {
        let table = self.0.table(data_id).filter(|table| table.data_id == data_id);
        table.or_else(|| self.0.tables().iter().find(|table| table.data_id == data_id))
    }
}

impl KeyNames for CatalogKeyNames {
    fn table(&self, table: u32) -> Option<String> {
        if let Some(name) = system_table_name(table) {
            return Some(name.to_owned());
        }
        self.by_data_id(table).map(|table| table.name.clone())
    }

    fn index(&self, table: u32, index: u16) -> Option<IndexNames> {
        if system_table_name(table).is_some() {
            let columns = if table == META { vec![] } else { vec![(SqlType::Int8, false)] };
            return Some(IndexNames { name: "primary".to_owned(), columns });
        }
        let table = self.by_data_id(table)?;
        let found = table.index(index)?;
        let is_primary = found.number == table.primary.number;
        let column =
            |id, descending| table.column(id).map(|column| (column.ty.clone(), descending));
        let mut columns: Vec<_> =
            found.keys.iter().filter_map(|key| column(key.column, key.descending)).collect();
        if !is_primary {
            // The columns that distinguish entries of equal keys. The printer sees whether a key
            // has them.
            let rest = table
                .primary
                .keys
                .iter()
                .filter(|key| found.keys.iter().all(|own| own.column != key.column));
            columns.extend(rest.filter_map(|key| column(key.column, key.descending)));
        }
        let name = if is_primary { "primary".to_owned() } else { found.name.clone() };
        Some(IndexNames { name, columns })
    }
}
