//! What an executor works out of a node once and keeps with the plan, which runs many times.
//!
//! The planner neither fills nor reads it. A copy of a node starts without one, because a copy is
//! usually changed.

use std::any::Any;
use std::sync::{Arc, OnceLock};

/// Room in a node for what follows from it alone, not from a run.
#[derive(Default)]
pub struct Memo(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Clone for Memo {
    fn clone(&self) -> Self {
        Memo::default()
    }
}

impl Memo {
    /// What was kept, or what `make` makes now. One node keeps one type.
    pub fn get_or_make<T: Send + Sync + 'static>(&self, make: impl Fn() -> T) -> Arc<T> {
        let kept = self.0.get_or_init(|| Arc::new(make()));
        kept.clone().downcast().unwrap_or_else(|_| Arc::new(make()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_a_copy_is_empty() {
        let memo = Memo::default();
        assert_eq!(*memo.get_or_make(|| 1), 1);
        assert_eq!(*memo.get_or_make(|| 2), 1);
        assert_eq!(*memo.get_or_make(|| "other type"), "other type");
        assert_eq!(*memo.clone().get_or_make(|| 3), 3);
    }
}
