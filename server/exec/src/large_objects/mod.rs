//! Large objects: bytes of any length that functions read and write in pieces.
//!
//! ```text
//!   large_object/ database object 0          owner, privileges, comment
//!   large_object/ database object 1 page     the bytes of a page, which has 2,048 of them
//! ```
//!
//! A page that is not there is a hole, which reads as zeros. The end is that of the last page.
//!
//! Descriptors belong to the transaction: each change of them is deferred work of its statement
//! ([`braid_kv::DeferredWork`]), so ROLLBACK TO SAVEPOINT takes it back, and the transaction's end
//! closes all.
//!
//! Rules:
//! - who may read (SELECT) and change (UPDATE) an object is stored with it;
//! - a change of a part of a page reads the page, so REPEATABLE READ and SERIALIZABLE see a
//!   conflict about it. At READ COMMITTED the last commit wins.

mod calls;
mod descriptors;
mod pages;

pub(crate) use calls::call;
pub use pages::{all_objects, large_object, put_large_object, unlink as drop_large_object};
