//! Which rows a window frame holds: the rows of a partition, their peers, and the frame of each.

use std::cmp::Ordering;
use std::ops::Range;

use braid_plan::{Frame, FrameBound, FrameExclusion, FrameUnits};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::operator::eval::Evaluator;
use crate::operator::sort::rows::Directions;
use crate::operator::window::partition::range::{Reach, check_offset};

/// A row with what places it.
pub(super) struct Entry {
    /// The values of PARTITION BY.
    pub partition: Row,
    /// The values of ORDER BY.
    pub keys: Row,
    /// The row.
    pub row: Row,
}

/// The rows of one partition and where equal ones begin and end.
pub(super) struct Partition<'a> {
    rows: &'a [Entry],
    /// Whether the first key descends.
    descending: bool,
    /// For each row the number of its group of peers.
    pub group_of: Vec<usize>,
    groups: Vec<Range<usize>>,
}

impl<'a> Partition<'a> {
    /// The rows, which are sorted.
    pub(super) fn new(rows: &'a [Entry], order: &Directions) -> Self {
        let mut group_of = Vec::with_capacity(rows.len());
        let mut groups = Vec::new();
        let mut start = 0;
        for group in rows.chunk_by(|a, b| order.compare(&a.keys, &b.keys).is_eq()) {
            group_of.resize(start + group.len(), groups.len());
            groups.push(start..start + group.len());
            start += group.len();
        }
        Self { rows, descending: order.first_descends(), group_of, groups }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A row.
    pub(super) fn row(&self, at: usize) -> &'a [Datum] {
        &self.rows[at].row
    }

    /// The rows that are equal to a row in the order.
    pub(super) fn peers(&self, at: usize) -> Range<usize> {
        self.groups[self.group_of[at]].clone()
    }

    /// Where the groups before this number end.
    fn group_start(&self, group: usize) -> usize {
        self.groups.get(group).map_or(self.len(), |group| group.start)
    }
}

/// The rows of a frame: at most three ranges in order, which do not touch each other. The unused
/// ones are `0..0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameRows([Range<usize>; 3]);

impl FrameRows {
    /// These ranges, which are in order. Empty ones are dropped, and neighbours become one.
    fn new(ranges: [Range<usize>; 3]) -> Self {
        let mut rows = Self::default();
        let mut count = 0_usize;
        for range in ranges.into_iter().filter(|range| range.start < range.end) {
            match count.checked_sub(1).map(|last| &mut rows.0[last]) {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => {
                    rows.0[count] = range;
                    count += 1;
                }
            }
        }
        rows
    }

    /// The places of the rows, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + use<> {
        self.0.clone().into_iter().flatten()
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(ExactSizeIterator::len).sum()
    }

    /// The place of the row of this number, counted from 0.
    pub(super) fn nth(&self, mut number: usize) -> Option<usize> {
        for range in &self.0 {
            if number < range.len() {
                return Some(range.start + number);
            }
            number -= range.len();
        }
        None
    }

    /// The rows from this place on, or those before it.
    fn part(&self, place: usize, from: bool) -> Self {
        let cut = |range: &Range<usize>| match from {
            true => range.start.max(place)..range.end,
            false => range.start..range.end.min(place),
        };
        Self::new([cut(&self.0[0]), cut(&self.0[1]), cut(&self.0[2])])
    }

    /// What has to be added to get from these rows to `new`: rows after all of them, or before
    /// them if `backward`. `None` if `new` has not all of these rows, or others between them.
    pub(super) fn added(&self, new: &Self, backward: bool) -> Option<Self> {
        let ranges = self.0.iter().filter(|range| !range.is_empty());
        let edge = match backward {
            true => ranges.map(|range| range.start).min().unwrap_or(usize::MAX),
            false => ranges.map(|range| range.end).max().unwrap_or(0),
        };
        (new.part(edge, backward) == *self).then(|| new.part(edge, !backward))
    }
}

/// The frames of a partition's rows.
pub(super) struct Frames {
    units: FrameUnits,
    exclusion: Option<FrameExclusion>,
    start: End,
    end: End,
    /// The frame of each group of peers, if values decide.
    by_value: Option<Vec<Range<usize>>>,
}

/// An end of a frame.
enum End {
    Unbounded,
    /// This number of rows or groups after the current one, before it if negative.
    Steps(i64),
    /// At this distance from the current row's value.
    Distance {
        offset: Datum,
        preceding: bool,
    },
}

impl Frames {
    /// Computes the offsets. 22004 for NULL, 22013 for a negative one.
    pub(super) async fn new(
        frame: &Frame,
        partition: &Partition<'_>,
        evaluator: &Evaluator,
    ) -> Result<Self> {
        let start = end_of(&frame.start, "starting", frame.units, evaluator).await?;
        let end = end_of(&frame.end, "ending", frame.units, evaluator).await?;
        let (units, exclusion) = (frame.units, frame.exclusion);
        let mut frames = Self { units, exclusion, start, end, by_value: None };
        let is_distance = |end: &End| matches!(end, End::Distance { .. });
        if is_distance(&frames.start) || is_distance(&frames.end) {
            frames.by_value = Some(frames.value_ranges(partition, evaluator)?);
        }
        Ok(frames)
    }

    /// Whether each frame begins after the partition's start and reaches to its end.
    pub(super) fn reach_the_end(&self) -> bool {
        matches!(self.end, End::Unbounded) && !matches!(self.start, End::Unbounded)
    }

    /// The frame of a row.
    pub(super) fn of(&self, at: usize, partition: &Partition<'_>) -> FrameRows {
        let frame = self.range(at, partition);
        let hole = match self.exclusion {
            None => return FrameRows::new([frame, 0..0, 0..0]),
            Some(FrameExclusion::CurrentRow) => at..at + 1,
            Some(FrameExclusion::Group | FrameExclusion::Ties) => partition.peers(at),
        };
        let keeps_row = self.exclusion == Some(FrameExclusion::Ties) && frame.contains(&at);
        let kept = if keeps_row { at..at + 1 } else { 0..0 };
        let before = frame.start..frame.end.min(hole.start);
        FrameRows::new([before, kept, frame.start.max(hole.end)..frame.end])
    }

    /// The frame of a row with what it leaves out.
    fn range(&self, at: usize, partition: &Partition<'_>) -> Range<usize> {
        let group = partition.group_of[at];
        if let Some(ranges) = &self.by_value {
            return ranges[group].clone();
        }
        let len = partition.len();
        let by_groups = self.units != FrameUnits::Rows;
        let start = match self.start {
            End::Steps(n) if by_groups => {
                partition.group_start(shifted(group, n, partition.groups.len()))
            }
            End::Steps(n) => shifted(at, n, len),
            End::Unbounded | End::Distance { .. } => 0,
        };
        let end = match self.end {
            End::Steps(n) if by_groups => {
                partition.group_start(shifted(group + 1, n, partition.groups.len()))
            }
            End::Steps(n) => shifted(at + 1, n, len),
            End::Unbounded | End::Distance { .. } => len,
        };
        start..end.max(start)
    }

    /// The frames of all groups, for RANGE with an offset.
    fn value_ranges(&self, partition: &Partition<'_>, cx: &Evaluator) -> Result<Vec<Range<usize>>> {
        let valued = partition.valued_groups();
        if let Some(key) = partition.groups.get(valued.start).map(|group| partition.key(group)) {
            for end in [&self.start, &self.end] {
                if let End::Distance { offset, .. } = end {
                    check_offset(offset, key)?;
                }
            }
        }
        let range = |group: &Range<usize>| {
            let start = match &self.start {
                End::Unbounded => 0,
                End::Steps(_) => group.start,
                end => partition.reached(group, end, &valued, true, cx)?.unwrap_or(group.start),
            };
            let stop = match &self.end {
                End::Unbounded => partition.len(),
                End::Steps(_) => group.end,
                end => partition.reached(group, end, &valued, false, cx)?.unwrap_or(group.end),
            };
            Ok(start..stop.max(start))
        };
        partition.groups.iter().map(range).collect()
    }
}

impl Partition<'_> {
    /// The first key of a group's rows.
    fn key(&self, group: &Range<usize>) -> &Datum {
        self.rows[group.start].keys.first().unwrap_or(&Datum::Null)
    }

    /// The groups whose key is not NULL: those without stand at one end.
    fn valued_groups(&self) -> Range<usize> {
        let is_null = |group: &Range<usize>| matches!(self.key(group), Datum::Null);
        let start = usize::from(self.groups.first().is_some_and(is_null));
        let end = self.groups.len() - usize::from(self.groups.last().is_some_and(is_null));
        start..end.max(start)
    }

    /// Where the frame of a group begins (`is_start`) or ends, by the distance of keys. `None`
    /// for the group without a key: its frame ends where it does.
    fn reached(
        &self,
        group: &Range<usize>,
        end: &End,
        valued: &Range<usize>,
        is_start: bool,
        cx: &Evaluator,
    ) -> Result<Option<usize>> {
        let key = self.key(group);
        let End::Distance { offset, preceding } = end else { return Ok(None) };
        if matches!(key, Datum::Null) {
            return Ok(None);
        }
        let up = *preceding == self.descending;
        let reach = Reach::new(key, offset, up, cx.run.cx.env.settings())?;
        let groups = &self.groups[valued.clone()];
        // The start is the first key that is not before the reach, the end is behind the last one
        // that is not after it.
        let side = if is_start == self.descending { Ordering::Less } else { Ordering::Greater };
        let number =
            groups.partition_point(|group| reach.admits(self.key(group), side) != is_start);
        Ok(Some(self.group_start(valued.start + number)))
    }
}

fn shifted(at: usize, by: i64, max: usize) -> usize {
    let by_usize = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    if by < 0 { at.saturating_sub(by_usize) } else { at.saturating_add(by_usize).min(max) }
}

async fn end_of(
    bound: &FrameBound,
    which: &str,
    units: FrameUnits,
    evaluator: &Evaluator,
) -> Result<End> {
    let (e, preceding) = match bound {
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => {
            return Ok(End::Unbounded);
        }
        FrameBound::CurrentRow => return Ok(End::Steps(0)),
        FrameBound::Preceding(e) => (e, true),
        FrameBound::Following(e) => (e, false),
    };
    match evaluator.eval(e, &[]).await? {
        Datum::Null => Err(Error::new(
            SqlState::NullValueNotAllowed,
            format!("frame {which} offset must not be null"),
        )),
        offset if units == FrameUnits::Range => Ok(End::Distance { offset, preceding }),
        Datum::Int(n) if n >= 0 => Ok(End::Steps(if preceding { -n } else { n })),
        _ => Err(Error::new(
            SqlState::InvalidPrecedingOrFollowingSize,
            format!("frame {which} offset must not be negative"),
        )),
    }
}
