//! Questions to foreign keys.

use std::sync::Arc;

use braid_kv::Key;
use braid_types::Row;

use crate::foreign_keys::link::Link;

/// A question to a foreign key.
pub(crate) enum Event {
    /// A child's row came, or points elsewhere: does its parent exist?
    Child {
        /// The foreign key.
        link: Arc<Link>,
        /// Its values.
        values: Row,
        /// The row's primary key, if it may change before the question is answered.
        row: Option<Key>,
    },
    /// A parent's row went, or its key has changed: what becomes of its children?
    Parent {
        /// The foreign key.
        link: Arc<Link>,
        /// The key that is gone.
        old: Row,
        /// The key in its place, unless the row was deleted.
        new: Option<Row>,
    },
}

impl Event {
    /// The foreign key.
    pub(crate) fn link(&self) -> &Arc<Link> {
        match self {
            Event::Child { link, .. } | Event::Parent { link, .. } => link,
        }
    }
}
