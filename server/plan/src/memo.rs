//! A cache on a plan node for what an executor derives from it: a plan runs many times.
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
    /// What was kept, or what `make` makes now. One node keeps one type. A failure is not kept.
    pub fn get_or_make<T: Send + Sync + 'static, E>(
        &self,
        make: impl Fn() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        if let Some(kept) = self.0.get().and_then(|kept| kept.clone().downcast().ok()) {
            return Ok(kept);
        }
        let made = Arc::new(make()?);
        // If another run has made it in the meantime, that one stays in the node.
        let _ = self.0.set(made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_a_copy_is_empty() {
        let memo = Memo::default();
        let made = |value: i32| Ok::<_, ()>(value);
        assert_eq!(memo.get_or_make(|| made(1)), Ok(Arc::new(1)));
        assert_eq!(memo.get_or_make(|| made(2)), Ok(Arc::new(1)));
        assert_eq!(memo.get_or_make(|| Ok::<_, ()>("other type")), Ok(Arc::new("other type")));
        assert_eq!(memo.clone().get_or_make(|| made(3)), Ok(Arc::new(3)));
    }

    #[test]
    fn a_failure_is_not_kept() {
        let memo = Memo::default();
        assert_eq!(memo.get_or_make(|| Err::<i32, _>("failed")), Err("failed"));
        assert_eq!(memo.get_or_make(|| Ok::<_, &str>(1)), Ok(Arc::new(1)));
        assert_eq!(memo.get_or_make(|| Err::<i32, _>("failed")), Ok(Arc::new(1)));
    }
}
