//! Functions and operators of the smaller types, and those that many types share.

pub(crate) mod arrays;
pub(crate) mod casts;
pub(crate) mod classes;
pub(crate) mod compare;
pub(crate) mod enums;
pub(crate) mod images;
pub(crate) mod lsns;
pub(crate) mod macs;
pub(crate) mod money;
pub(crate) mod networks;
pub(crate) mod uuids;
