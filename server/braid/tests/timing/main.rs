//! Tests of moments and time limits: leases that end, gateways that pause or die, statements that
//! compute beside others. No other test runs beside them; the rest is in `it`.

mod advisory_locks;
mod clusters;
mod dead_gateway;
mod disturbed;
mod fairness;
mod gateways;
mod left_over;
mod several_gateways;
mod taken_over;
mod three_gateways;
mod unreachable;
