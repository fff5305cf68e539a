//! The catalog over an embedded store: changes and caches.

mod catalog;
mod grants;
mod support;
