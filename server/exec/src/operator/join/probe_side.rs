//! The side of a hash join that passes by the hash table.
//!
//! An input that gives columns is looked for by columns: rows are made only of those that the join
//! still needs, and a scan decodes the other columns only of these.
//!
//! ```text
//!   scan ──the key's columns──▶ hash table ──rows with a candidate──▶ scan decodes the rest
//! ```

use braid_rows::Columns;
use braid_types::{Result, Row};

use crate::operator::BoxedOperator;
use crate::operator::column_source::RowTest;
use crate::operator::join::build_side::Lookup;

/// The side that passes by.
pub(crate) struct ProbeSide {
    input: BoxedOperator,
    /// Memory for rows of this many columns is reserved: more may be added to them.
    capacity: usize,
    needs: Needs,
    rows: std::vec::IntoIter<Row>,
    by_columns: Option<ByColumns>,
}

/// The rows that the join needs, as far as the hash table says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// All.
    All,
    /// Those whose key is in the table.
    Found,
    /// Those whose key is not in the table.
    NotFound,
}

/// A batch by columns.
struct ByColumns {
    columns: Columns,
    /// The candidate of each row.
    candidates: Vec<Option<usize>>,
    /// The next row.
    at: usize,
}

/// A row, or its place in the batch by columns.
pub(crate) enum Passing {
    /// A row whose candidate is not known yet.
    Row(Row),
    /// The place of a row in the batch, with its first candidate.
    Place(usize, Option<usize>),
}

impl ProbeSide {
    /// A side whose rows have room for `capacity` columns.
    pub(crate) fn new(input: BoxedOperator, needs: Needs, capacity: usize) -> Self {
        let rows = Vec::new().into_iter();
        Self { input, capacity, needs, rows, by_columns: None }
    }

    /// The input, before the first call of [`ProbeSide::read`].
    pub(crate) fn input(&mut self) -> &mut BoxedOperator {
        &mut self.input
    }

    /// Takes the rows that have been read and not looked at.
    pub(crate) fn take_rows(&mut self) -> impl Iterator<Item = Row> + use<> {
        std::mem::take(&mut self.rows)
    }

    /// Begins again with another input.
    pub(crate) fn restart(&mut self, input: BoxedOperator) {
        self.input = input;
        self.clear();
    }

    /// Leaves out the rest of the batch.
    pub(crate) fn clear(&mut self) {
        self.rows = Vec::new().into_iter();
        self.by_columns = None;
    }

    /// Reads the next batch; false at the end. Without a `lookup` there are rows.
    pub(crate) async fn read(&mut self, lookup: Option<Lookup<'_>>) -> Result<bool> {
        if let Some(lookup) = lookup
            && let Some(source) = self.input.columns()
        {
            let by = self.by_columns.get_or_insert_with(|| ByColumns {
                columns: Columns::default(),
                candidates: Vec::new(),
                at: 0,
            });
            by.at = 0;
            by.candidates.clear();
            let candidates = &mut by.candidates;
            let mut test = Candidates { lookup, needs: self.needs, candidates };
            return source.next_columns(&mut by.columns, Some(&mut test)).await;
        }
        let Some(rows) = self.input.next().await? else { return Ok(false) };
        self.rows = rows.into_iter();
        Ok(true)
    }

    /// The next row of the batch.
    pub(crate) fn next(&mut self) -> Option<Passing> {
        if let Some(by) = &mut self.by_columns {
            let candidate = *by.candidates.get(by.at)?;
            by.at += 1;
            return Some(Passing::Place(by.at - 1, candidate));
        }
        self.rows.next().map(Passing::Row)
    }

    /// The row at a place of the batch by columns.
    pub(crate) fn row(&self, place: usize) -> Row {
        let mut row = Row::with_capacity(self.capacity);
        if let Some(by) = &self.by_columns {
            by.columns.read_row(place, &mut row);
        }
        row
    }
}

/// Looks for the keys of a batch in the hash table.
struct Candidates<'a> {
    lookup: Lookup<'a>,
    needs: Needs,
    candidates: &'a mut Vec<Option<usize>>,
}

impl RowTest for Candidates<'_> {
    fn places(&self) -> &[usize] {
        self.lookup.places
    }

    fn mark(&mut self, columns: &Columns, marks: &mut [bool]) {
        for (i, mark) in marks.iter_mut().enumerate() {
            if !*mark {
                continue;
            }
            let found = self.lookup.first(columns, i);
            *mark = match self.needs {
                Needs::All => true,
                Needs::Found => found.is_some(),
                Needs::NotFound => found.is_none(),
            };
            if *mark {
                self.candidates.push(found);
            }
        }
    }
}
