//! Types of users: composite types, domains and enums.

mod composite;
mod domain;
mod enums;
mod large_object;

pub use composite::Composite;
pub use domain::{Domain, DomainCheck};
pub use enums::{Enum, Label, enums_named};
pub use large_object::LargeObject;
