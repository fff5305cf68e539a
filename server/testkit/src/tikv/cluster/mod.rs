//! What PD knows: regions and their leaders, the clock, safe points.

mod clock;
mod region_key;
mod regions;
mod safe_points;

pub(super) use clock::Clock;
pub(super) use region_key::{decode, encode};
pub(super) use regions::{CLUSTER_ID, Cluster, Place, Region, RegionError, Store};
pub(super) use safe_points::SafePoints;
