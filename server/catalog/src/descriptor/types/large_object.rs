//! What is known of a large object. It is stored with the object's pages, not in the catalog.

use braid_types::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::descriptor::{Grant, Id};

/// A large object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LargeObject {
    /// Its number.
    #[serde(skip)]
    pub id: Id,
    /// Its number as text, for messages.
    #[serde(skip)]
    pub name: String,
    /// Its owner.
    #[serde(skip)]
    pub owner: Id,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON LARGE OBJECT.
    pub comment: Option<String>,
}

impl LargeObject {
    /// The object of this number, with what was stored of it beside the owner.
    pub fn from_stored(id: Id, owner: Id, stored: &[u8]) -> Option<Self> {
        let known = match stored {
            [] => LargeObject::default(),
            stored => serde_json::from_slice(stored).ok()?,
        };
        Some(LargeObject { id, name: id.to_string(), owner, ..known })
    }

    /// What is stored of it beside the owner. XX000 if it has no such form.
    pub fn stored(&self) -> Result<Vec<u8>> {
        if self.grants.is_empty() && self.comment.is_none() {
            return Ok(Vec::new());
        }
        serde_json::to_vec(self).map_err(|error| Error::internal(error.to_string()))
    }
}
