//! The parser: what it accepts, its limits, its errors, random text, normal forms.

mod dialect;
mod errors;
mod escapes;
mod fuzz_text;
mod limits;
mod normalize;
