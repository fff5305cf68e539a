//! CREATE, ALTER and DROP TYPE.

pub(crate) mod drop_enum;
pub(crate) mod enums;
