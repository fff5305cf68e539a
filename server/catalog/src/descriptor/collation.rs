//! Collations of users. Their schema's descriptor has them.

use serde::{Deserialize, Serialize};

use super::Id;

/// What the stored form of a user's collation begins with; its id follows.
pub const COLLATION_MARK: char = '#';

/// A collation of users. What it orders by never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCollation {
    /// Its id.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// Its locale; `None` compares bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Whether only equal bytes are equal.
    pub deterministic: bool,
    /// COMMENT ON COLLATION.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl OwnCollation {
    /// How columns and stored expressions name it. A new name changes none of them.
    pub fn stored(&self) -> String {
        format!("{COLLATION_MARK}{}", self.id)
    }
}
