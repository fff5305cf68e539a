//! The parser: what it accepts, its limits, its errors, random text.

mod dialect;
mod errors;
mod fuzz_text;
mod limits;
