//! Types of users: composite types, domains and enums.

mod composite;
mod domain;
mod enums;

pub use composite::Composite;
pub use domain::{Domain, DomainCheck};
pub use enums::{Enum, Label, enums_named};
