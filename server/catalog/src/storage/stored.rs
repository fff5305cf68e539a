//! Descriptors and the catalog's version as they are stored.

use std::sync::Arc;

use braid_cluster::records::corrupt;
use braid_kv::{Result as KvResult, Value};
use serde::{Deserialize, Serialize};

use crate::cache::Change;
use crate::{Composite, Database, Domain, Enum, Id, Role, Routine, Schema, Sequence, Table, View};

/// The newest number of the descriptors' format that this code knows; newer ones are refused. Kinds
/// of descriptors that came later (enums, domains, routines, composite types) have not changed it:
/// older databases have none of them, and older code refuses what it does not know.
///
/// 2: an index may be inverted. Older code would take it for an ordinary one, so the first inverted
/// index raises the number of its database.
pub const FORMAT_VERSION: u32 = 2;
/// The number of a new database.
pub(crate) const FIRST_FORMAT: u32 = 1;
/// The first id that objects of users get.
pub(crate) const FIRST_ID: Id = 16384;

/// What stands under the version key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) format: u32,
    pub(crate) version: u64,
    pub(crate) next_id: Id,
    /// What the last changes have changed.
    #[serde(default)]
    pub(crate) changes: Vec<Change>,
}

/// A descriptor as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Descriptor {
    /// A table.
    Table(Arc<Table>),
    /// A view.
    View(Arc<View>),
    /// A sequence.
    Sequence(Arc<Sequence>),
    /// A schema.
    Schema(Arc<Schema>),
    /// A database.
    Database(Arc<Database>),
    /// A role.
    Role(Arc<Role>),
    /// An enum.
    Enum(Arc<Enum>),
    /// A domain.
    Domain(Arc<Domain>),
    /// A function or procedure.
    Routine(Arc<Routine>),
    /// A composite type.
    Composite(Arc<Composite>),
}

impl Descriptor {
    /// The object's id.
    pub(crate) fn id(&self) -> Id {
        match self {
            Descriptor::Table(table) => table.id,
            Descriptor::View(view) => view.id,
            Descriptor::Sequence(sequence) => sequence.id,
            Descriptor::Schema(schema) => schema.id,
            Descriptor::Database(database) => database.id,
            Descriptor::Role(role) => role.id,
            Descriptor::Enum(found) => found.id,
            Descriptor::Domain(found) => found.id,
            Descriptor::Routine(found) => found.id,
            Descriptor::Composite(found) => found.id,
        }
    }
}

macro_rules! descriptor_of {
    ($($kind:ident),*) => { $(impl From<$kind> for Descriptor {
        fn from(object: $kind) -> Self {
            Descriptor::$kind(Arc::new(object))
        }
    })* };
}

descriptor_of!(Table, View, Sequence, Schema, Database, Role, Enum, Domain, Routine, Composite);

pub(crate) fn read_meta(value: Option<Value>) -> KvResult<Meta> {
    let value = value.ok_or_else(|| corrupt("the catalog's version is missing"))?;
    let meta: Meta = serde_json::from_slice(&value).map_err(corrupt)?;
    if (FIRST_FORMAT..=FORMAT_VERSION).contains(&meta.format) {
        return Ok(meta);
    }
    let (found, known) = (meta.format, FORMAT_VERSION);
    Err(corrupt(format_args!(
        "catalog format {found} is not known, this server knows up to {known}"
    )))
}
