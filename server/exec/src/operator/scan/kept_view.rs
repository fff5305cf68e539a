//! Catalog views that a statement reads again and again, such as in a correlated subquery.
//!
//! What shows the catalog does not change while a statement runs. From the third scan on the rows
//! of such a view are kept. A condition `column = value` then finds them by a hash table of the
//! column. So n subqueries over a view of n rows take n steps and not n².

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::Id;
use braid_types::{Datum, Error, Result, Row};
use parking_lot::Mutex;

/// The scans of a view whose rows are not kept: a join of a view with itself streams both.
const STREAMED_SCANS: u32 = 2;

/// Places of rows by the value of one column.
type Places = Arc<HashMap<Datum, Vec<usize>>>;

/// The views that a run has scanned.
#[derive(Default)]
pub(crate) struct ScannedViews(Mutex<HashMap<Id, Scanned>>);

#[derive(Default)]
struct Scanned {
    count: u32,
    kept: Option<Arc<KeptView>>,
}

impl ScannedViews {
    /// Counts a scan of the view: its rows if they are kept, and whether they are to be kept now.
    pub(crate) fn scan(&self, view: Id) -> (Option<Arc<KeptView>>, bool) {
        let mut all = self.0.lock();
        let scanned = all.entry(view).or_default();
        scanned.count = scanned.count.saturating_add(1);
        (scanned.kept.clone(), scanned.count > STREAMED_SCANS)
    }

    /// Keeps the rows of a view.
    pub(crate) fn keep(&self, view: Id, rows: Vec<Row>) -> Arc<KeptView> {
        let kept = Arc::new(KeptView { rows, by_column: Mutex::default() });
        self.0.lock().entry(view).or_default().kept = Some(kept.clone());
        kept
    }
}

/// The rows of a view, and where the values of its columns are.
pub(crate) struct KeptView {
    pub rows: Vec<Row>,
    by_column: Mutex<HashMap<usize, Places>>,
}

impl KeptView {
    /// The places of the rows that have a value in a column, in the order of the rows.
    pub(crate) fn find(&self, column: usize, value: &Datum) -> Result<Vec<usize>> {
        if value.is_null() {
            return Ok(Vec::new());
        }
        let places = self.by_column.lock().get(&column).cloned();
        let places = match places {
            Some(places) => places,
            None => self.index(column)?,
        };
        Ok(places.get(value).cloned().unwrap_or_default())
    }

    fn index(&self, column: usize) -> Result<Places> {
        let mut places: HashMap<Datum, Vec<usize>> = HashMap::new();
        for (place, row) in self.rows.iter().enumerate() {
            let value = row.get(column).ok_or_else(|| no_column(column))?;
            if !value.is_null() {
                places.entry(value.clone()).or_default().push(place);
            }
        }
        let places = Arc::new(places);
        self.by_column.lock().insert(column, places.clone());
        Ok(places)
    }
}

#[cold]
pub(crate) fn no_column(place: usize) -> Error {
    Error::broken(format!("a row of a virtual table has no column {place}"))
}
