//! Statistics of tables: the estimates, and their form as JSON.

mod estimates;
mod stored;

pub use estimates::{ColumnStatistics, GroupStatistics, TableStatistics, ValueStatistics};
