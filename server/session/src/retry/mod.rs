//! Running again: the driver, which errors allow it, how often and how long, and what was done
//! before.

pub(crate) mod driver;
pub(crate) mod limits;
pub(crate) mod pause;
pub(crate) mod reason;
pub(crate) mod replay;
pub(crate) mod steps;
