//! Levels of cascades: children are read, changed in memory, and written.

pub(crate) mod changes;
pub(crate) mod children;
pub(crate) mod level;
pub(crate) mod plain;
pub(crate) mod pointing;
