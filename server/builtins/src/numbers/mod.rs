//! Arithmetic and mathematics of integers, floats and numerics.

pub(crate) mod floats;
pub(crate) mod integers;
pub(crate) mod numerics;
