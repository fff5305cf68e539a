//! Windows of the select being bound.

use std::collections::HashMap;
use std::sync::Arc;

use braid_sql::ast::WindowSpec;

use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{SortKey, WindowCall};

/// A window function with its window.
pub(crate) struct BoundWindow {
    /// Where its result goes.
    pub slot: Slot,
    /// PARTITION BY
    pub partition: Vec<Expr>,
    /// ORDER BY
    pub order: Vec<SortKey>,
    /// The call.
    pub call: WindowCall,
}

/// A window of a WINDOW clause.
pub(crate) type SharedWindow = Arc<WindowSpec>;
/// The windows of a WINDOW clause, by name.
pub(crate) type NamedWindows = HashMap<String, SharedWindow>;
