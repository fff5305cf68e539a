//! Statistics of tables: the estimates, and their form as JSON.

mod estimates;
mod extended;
mod stored;

pub use extended::{ExtendedStatistics, StatisticsKind};

pub use estimates::{ColumnStatistics, GroupStatistics, TableStatistics, ValueStatistics};
