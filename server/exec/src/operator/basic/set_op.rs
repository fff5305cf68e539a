//! UNION, INTERSECT and EXCEPT. NULLs are equal to each other here.

use std::borrow::Cow;
use std::collections::HashMap;

use braid_plan::{SetOp, SetOpKind};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::key_form::KeyForm;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BoxedOperator, Operator};

/// UNION, INTERSECT, EXCEPT, each with and without ALL.
pub struct SetOperator {
    kind: SetOpKind,
    all: bool,
    left: BoxedOperator,
    right: BoxedOperator,
    /// UNION: the left input has ended. The others: the right input is in `rows`.
    second: bool,
    /// UNION: what was given. The others: the right side's rows and how many are left of each.
    rows: HashMap<Row, u64>,
    form: KeyForm,
    held: MemoryReservation,
    evaluator: Evaluator,
}

impl SetOperator {
    /// A set operation over two inputs.
    pub fn new(
        node: &SetOp,
        left: BoxedOperator,
        right: BoxedOperator,
        evaluator: Evaluator,
    ) -> Self {
        Self {
            kind: node.kind,
            all: node.all,
            left,
            right,
            second: false,
            rows: HashMap::new(),
            form: KeyForm::new(&node.types),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
        }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.kind == SetOpKind::Union {
            return self.union().await;
        }
        if !self.second {
            self.second = true;
            while let Some(batch) = self.right.next().await? {
                self.evaluator.run.breathe().await?;
                for mut row in batch {
                    self.form.apply(&mut row);
                    let bytes = row_bytes(&row);
                    let count = self.rows.entry(row).or_insert(0);
                    if *count == 0 {
                        self.held.take(bytes)?;
                    }
                    *count += 1;
                }
            }
        }
        while let Some(mut batch) = self.left.next().await? {
            self.evaluator.run.breathe().await?;
            let mut failed = None;
            batch.retain(|row| {
                self.keeps(row).unwrap_or_else(|error| {
                    failed = Some(error);
                    false
                })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Whether a row of the left side is part of the result.
    fn keeps(&mut self, row: &Row) -> Result<bool> {
        let intersect = self.kind == SetOpKind::Intersect;
        let key = key(&self.form, row);
        let row = key.as_ref();
        if let Some(count) = self.rows.get_mut(row) {
            match (intersect, self.all) {
                (true, false) => {
                    self.rows.remove(row);
                }
                (false, false) => {}
                (_, true) if *count > 0 => *count -= 1,
                (_, true) => return Ok(!intersect),
            }
            return Ok(intersect);
        }
        if !intersect && !self.all {
            // It is given once.
            self.remember(row)?;
        }
        Ok(!intersect)
    }

    fn remember(&mut self, row: &Row) -> Result<()> {
        self.held.take(row_bytes(row))?;
        self.rows.insert(row.clone(), 1);
        Ok(())
    }

    async fn union(&mut self) -> Result<Option<Vec<Row>>> {
        loop {
            let input = if self.second { &mut self.right } else { &mut self.left };
            let Some(batch) = input.next().await? else {
                if self.second {
                    return Ok(None);
                }
                self.second = true;
                continue;
            };
            self.evaluator.run.breathe().await?;
            if self.all {
                return Ok(Some(batch));
            }
            let mut kept = Vec::new();
            for row in batch {
                let key = key(&self.form, &row);
                if !self.rows.contains_key(key.as_ref()) {
                    self.remember(&key)?;
                    kept.push(row);
                }
            }
            if !kept.is_empty() {
                return Ok(Some(kept));
            }
        }
    }
}

/// What stands for a row among those that are equal to it.
fn key<'r>(form: &KeyForm, row: &'r Row) -> Cow<'r, Row> {
    match form.is_plain() {
        true => Cow::Borrowed(row),
        false => Cow::Owned(form.key(row)),
    }
}

impl Operator for SetOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
