//! What a transaction has opened.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_types::{Error, Result, SqlState};

use crate::ExecContext;

/// An open object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    /// The object.
    pub(super) object: u32,
    /// Whether it was opened for writing.
    pub(super) may_write: bool,
    /// Where the next read or write begins.
    pub(super) offset: u64,
}

/// All of a transaction, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Descriptors(BTreeMap<i32, Descriptor>);

impl Descriptors {
    /// The descriptors as the transaction has them now.
    pub(super) fn of(cx: &ExecContext) -> Self {
        let last = cx.txn.deferred().last::<Descriptors>();
        last.map(|(_, known)| (*known).clone()).unwrap_or_default()
    }

    /// Makes these the descriptors of the transaction.
    pub(super) fn keep(self, cx: &ExecContext) {
        cx.txn.deferred().push(cx.seq, Arc::new(self));
    }

    /// Adds a descriptor with the lowest number that is free.
    pub(super) fn open(&mut self, descriptor: Descriptor) -> i32 {
        let is_free = |number: &i32| !self.0.contains_key(number);
        let number = (0..i32::MAX).find(is_free).unwrap_or(i32::MAX);
        self.0.insert(number, descriptor);
        number
    }

    /// Removes a descriptor; 42704 if there is none of that number.
    pub(super) fn close(&mut self, number: i32) -> Result<()> {
        self.0.remove(&number).map(|_| ()).ok_or_else(|| unknown(number))
    }

    /// The descriptor of that number; 42704 if there is none.
    pub(super) fn get(&self, number: i32) -> Result<Descriptor> {
        self.0.get(&number).copied().ok_or_else(|| unknown(number))
    }

    /// Moves a descriptor.
    pub(super) fn move_to(&mut self, number: i32, offset: u64) {
        if let Some(descriptor) = self.0.get_mut(&number) {
            descriptor.offset = offset;
        }
    }
}

fn unknown(number: i32) -> Error {
    let message = format!("invalid large-object descriptor: {number}");
    Error::new(SqlState::UndefinedObject, message)
}
