//! Types and their values: text forms, arithmetic, casts, compared with what PostgreSQL printed.

mod casts;
mod json;
mod numeric;
mod postgres;
mod properties;
mod ranges;
mod search;
mod times;
