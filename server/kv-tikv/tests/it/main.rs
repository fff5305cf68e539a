//! The TiKV store over the stand-in, or over the cluster that `TIKV_PD` names.

mod clusters;
mod common;
mod fences;
mod gc;
mod range_deletes;
mod rough;
mod rules;
mod shared;
