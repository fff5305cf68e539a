//! CREATE, ALTER and DROP of types: enums, composite types and domains.

pub(crate) mod alter_domain;
pub(crate) mod composites;
pub(crate) mod domains;
pub(crate) mod drop_type;
pub(crate) mod enums;
pub(crate) mod row_users;
