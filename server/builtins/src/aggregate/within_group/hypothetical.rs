//! Hypothetical-set aggregates: what `rank`, `dense_rank`, `percent_rank` or `cume_dist` a row
//! would have that is not there.
//!
//! Each row is -1, 0 or 1 for a row that is before the hypothetical one, its peer, or after it.
//! `dense_rank` also gets the values that are sorted by, in order.

use std::sync::LazyLock;

use braid_types::{Datum, Result, SqlType};

use crate::aggregate::{Aggregate, AggregateMeaning, RowOrder};
use crate::{Accumulator, Environment};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

struct Hypothetical {
    kind: Kind,
    types: Vec<SqlType>,
    rows: i64,
    before: i64,
    peers: i64,
    last: Option<Vec<Datum>>,
}

impl Hypothetical {
    /// Whether a row has the values of the one before it.
    fn repeats(&self, values: &[Datum]) -> bool {
        let types = self.types.iter().skip(1);
        self.last.as_ref().is_some_and(|last| {
            let mut pairs = last.iter().zip(values).zip(types);
            pairs.all(|((a, b), ty)| a.compare_typed(b, ty).is_eq())
        })
    }
}

impl Accumulator for Hypothetical {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let Some((place, values)) = args.split_first() else { return Ok(()) };
        self.rows += 1;
        match place.as_int() {
            Some(0) => self.peers += 1,
            Some(place) if place < 0 => {
                if self.kind == Kind::DenseRank {
                    if self.repeats(values) {
                        return Ok(());
                    }
                    self.last = Some(values.to_vec());
                }
                self.before += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(match self.kind {
            Kind::Rank | Kind::DenseRank => Datum::Int(self.before + 1),
            Kind::PercentRank if self.rows == 0 => Datum::Float(0.0),
            Kind::PercentRank => Datum::Float(self.before as f64 / self.rows as f64),
            Kind::CumeDist => {
                Datum::Float((self.before + self.peers + 1) as f64 / (self.rows + 1) as f64)
            }
        })
    }
}

fn start(types: &[SqlType], kind: Kind) -> Box<dyn Accumulator> {
    let types = types.to_vec();
    Box::new(Hypothetical { kind, types, rows: 0, before: 0, peers: 0, last: None })
}

static ALL: LazyLock<[Aggregate; 4]> = LazyLock::new(|| {
    let ranks = |name, start| Aggregate {
        name,
        grows: false,
        merges: false,
        row_order: RowOrder::Ignored,
        meaning: AggregateMeaning::Other,
        start,
    };
    [
        ranks("rank", |types, _| start(types, Kind::Rank)),
        Aggregate {
            row_order: RowOrder::Matters,
            meaning: AggregateMeaning::ComparesValues,
            ..ranks("dense_rank", |types, _| start(types, Kind::DenseRank))
        },
        ranks("percent_rank", |types, _| start(types, Kind::PercentRank)),
        ranks("cume_dist", |types, _| start(types, Kind::CumeDist)),
    ]
});

/// The hypothetical-set aggregate of a name, and the type of its result.
pub fn hypothetical(name: &str) -> Option<(&'static Aggregate, SqlType)> {
    let found = ALL.iter().find(|aggregate| aggregate.name == name)?;
    let is_count = matches!(name, "rank" | "dense_rank");
    Some((found, if is_count { SqlType::Int8 } else { SqlType::Float8 }))
}
