//! The statements of the workload, as SQL and as what they do to a map.

use std::collections::BTreeMap;
use std::fmt;

use braid_testkit::random::Random;

/// Ids go from 0 up to here.
pub(super) const IDS: u64 = 5;
/// Values have to stay below, or a CHECK fails.
pub(super) const VALUE_END: i64 = 4;

/// The table; each story has rows of its own slot.
pub(super) const TABLE: &str =
    "CREATE TABLE item (slot int, id int, v int NOT NULL CHECK (v < 4), u int,
    PRIMARY KEY (slot, id), UNIQUE (slot, u))";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub v: i64,
    pub u: Option<i64>,
}

/// The rows of one slot, by id.
pub(super) type Rows = BTreeMap<i64, Row>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    None,
    Update,
    Share,
    NoWait,
    Skip,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Get(i64, Lock),
    Range(i64, i64),
    ByUnique(i64),
    Insert(Vec<(i64, Row)>),
    InsertOrNothing(i64, i64),
    Upsert(i64, i64),
    Increment(i64, i64),
    IncrementReturning(i64),
    IncrementWhere(i64),
    SetUnique(i64, i64),
    Delete(i64, i64),
    DivideByZero,
    Savepoint(char),
    RollbackTo(char),
    Release(char),
}

/// What the server said, as far as the model knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Rows(Vec<(i64, Row)>),
    Count(u64),
    Error(String),
}

impl Statement {
    pub(super) fn random(random: &mut Random) -> Statement {
        let id = random.below(IDS) as i64;
        let to = id + random.below(3) as i64;
        let v = random.below(VALUE_END as u64) as i64;
        // The last value of v fails the check; a small u meets others.
        let row = |random: &mut Random| Row {
            v: if random.one_in(12) { VALUE_END } else { random.below(3) as i64 },
            u: random.one_in(3).then(|| random.below(12) as i64),
        };
        let name = *random.pick(&['a', 'b', 'c']);
        match random.below(24) {
            0..3 => Statement::Get(id, Lock::None),
            3 => Statement::Get(id, Lock::Update),
            4 => Statement::Get(id, Lock::Share),
            5 => Statement::Get(id, Lock::NoWait),
            6 => Statement::Get(id, Lock::Skip),
            7 => Statement::Range(id, to),
            8 => Statement::ByUnique(random.below(6) as i64),
            9 => Statement::Insert(vec![(id, row(random))]),
            10 => Statement::Insert(vec![(id, row(random)), (id + 1, row(random))]),
            11 => Statement::InsertOrNothing(id, random.below(3) as i64),
            12 => Statement::Upsert(id, random.below(3) as i64),
            13 | 14 => Statement::Increment(id, id),
            15 => Statement::Increment(id, to),
            16 => Statement::IncrementReturning(id),
            17 => Statement::IncrementWhere(v),
            18 => Statement::SetUnique(id, random.below(12) as i64),
            19 => Statement::Delete(id, if random.one_in(2) { id } else { to }),
            20 if random.one_in(2) => Statement::DivideByZero,
            20 | 21 => Statement::Savepoint(name),
            22 => Statement::RollbackTo(name),
            _ => Statement::Release(name),
        }
    }

    pub(super) fn sql(&self, slot: u64) -> String {
        let value = |u: Option<i64>| u.map_or("NULL".to_owned(), |u| u.to_string());
        let at = |from: i64, to: i64| {
            if from == to {
                format!("slot = {slot} AND id = {from}")
            } else {
                format!("slot = {slot} AND id BETWEEN {from} AND {to}")
            }
        };
        match self {
            Statement::Get(id, lock) => {
                let lock = match lock {
                    Lock::None => "",
                    Lock::Update => "FOR UPDATE",
                    Lock::Share => "FOR SHARE",
                    Lock::NoWait => "FOR UPDATE NOWAIT",
                    Lock::Skip => "FOR UPDATE SKIP LOCKED",
                };
                format!("SELECT id, v, u FROM item WHERE {} {lock}", at(*id, *id))
            }
            Statement::Range(from, to) => {
                format!("SELECT id, v, u FROM item WHERE {} ORDER BY id", at(*from, *to))
            }
            Statement::ByUnique(u) => {
                format!("SELECT id, v, u FROM item WHERE slot = {slot} AND u = {u}")
            }
            Statement::Insert(rows) => {
                let row =
                    |(id, row): &(i64, Row)| format!("({slot}, {id}, {}, {})", row.v, value(row.u));
                let rows: Vec<String> = rows.iter().map(row).collect();
                format!("INSERT INTO item VALUES {}", rows.join(", "))
            }
            Statement::InsertOrNothing(id, v) => format!(
                "INSERT INTO item VALUES ({slot}, {id}, {v}, NULL)
                 ON CONFLICT (slot, id) DO NOTHING"
            ),
            Statement::Upsert(id, v) => {
                format!("UPSERT INTO item (slot, id, v) VALUES ({slot}, {id}, {v})")
            }
            Statement::Increment(from, to) => {
                format!("UPDATE item SET v = v + 1 WHERE {}", at(*from, *to))
            }
            Statement::IncrementReturning(id) => {
                format!("UPDATE item SET v = v + 1 WHERE {} RETURNING id, v, u", at(*id, *id))
            }
            Statement::IncrementWhere(v) => {
                format!("UPDATE item SET v = v + 1 WHERE slot = {slot} AND v = {v}")
            }
            Statement::SetUnique(id, u) => {
                format!("UPDATE item SET u = {u} WHERE {}", at(*id, *id))
            }
            Statement::Delete(from, to) => format!("DELETE FROM item WHERE {}", at(*from, *to)),
            Statement::DivideByZero => "SELECT 1 / 0".to_owned(),
            Statement::Savepoint(name) => format!("SAVEPOINT {name}"),
            Statement::RollbackTo(name) => format!("ROLLBACK TO SAVEPOINT {name}"),
            Statement::Release(name) => format!("RELEASE SAVEPOINT {name}"),
        }
    }

    /// The one id that the statement locks if it finds it.
    pub(super) fn locked_id(&self) -> Option<i64> {
        match self {
            Statement::Get(id, Lock::Update | Lock::Share | Lock::NoWait | Lock::Skip)
            | Statement::IncrementReturning(id)
            | Statement::SetUnique(id, _) => Some(*id),
            Statement::Increment(from, to) | Statement::Delete(from, to) if from == to => {
                Some(*from)
            }
            _ => None,
        }
    }

    /// Whether it only marks a place, or goes back to one.
    pub(super) fn is_mark(&self) -> bool {
        matches!(self, Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::Release(_))
    }

    /// Whether it may take locks, now or at COMMIT.
    pub(super) fn locks(&self) -> bool {
        !matches!(
            self,
            Statement::Get(_, Lock::None)
                | Statement::Range(..)
                | Statement::ByUnique(_)
                | Statement::DivideByZero
        ) && !self.is_mark()
    }

    /// Whether the answer is what the statement gives on those rows, which it changes. Of several
    /// errors that apply each will do.
    pub(super) fn fits(&self, rows: &mut Rows, answer: &Answer) -> bool {
        let pick = |rows: &Rows, wanted: &dyn Fn(i64, &Row) -> bool| -> Vec<(i64, Row)> {
            rows.iter().filter(|(id, row)| wanted(**id, row)).map(|(id, row)| (*id, *row)).collect()
        };
        match self {
            Statement::Get(id, lock) => {
                let found = pick(rows, &|other, _| other == *id);
                let skipped = *lock == Lock::Skip && *answer == Answer::Rows(Vec::new());
                skipped || *answer == Answer::Rows(found)
            }
            Statement::Range(from, to) => {
                *answer == Answer::Rows(pick(rows, &|id, _| (*from..=*to).contains(&id)))
            }
            Statement::ByUnique(u) => {
                *answer == Answer::Rows(pick(rows, &|_, row| row.u == Some(*u)))
            }
            Statement::Insert(new) => insert(rows, new, answer),
            Statement::InsertOrNothing(id, v) => {
                if rows.contains_key(id) {
                    return *answer == Answer::Count(0);
                }
                rows.insert(*id, Row { v: *v, u: None });
                *answer == Answer::Count(1)
            }
            Statement::Upsert(id, v) => {
                rows.entry(*id).or_insert(Row { v: 0, u: None }).v = *v;
                *answer == Answer::Count(1)
            }
            Statement::Increment(from, to) => {
                increment(rows, answer, &|id, _| (*from..=*to).contains(&id), false)
            }
            Statement::IncrementReturning(id) => {
                increment(rows, answer, &|other, _| other == *id, true)
            }
            Statement::IncrementWhere(v) => increment(rows, answer, &|_, row| row.v == *v, false),
            Statement::SetUnique(id, u) => {
                let taken = rows.iter().any(|(other, row)| other != id && row.u == Some(*u));
                match rows.get_mut(id) {
                    None => *answer == Answer::Count(0),
                    Some(_) if taken => is_error(answer, "23505"),
                    Some(row) => {
                        row.u = Some(*u);
                        *answer == Answer::Count(1)
                    }
                }
            }
            Statement::Delete(from, to) => {
                let before = rows.len();
                rows.retain(|id, _| !(*from..=*to).contains(id));
                *answer == Answer::Count((before - rows.len()) as u64)
            }
            Statement::DivideByZero => is_error(answer, "22012"),
            Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::Release(_) => {
                unreachable!("the model knows savepoints")
            }
        }
    }
}

fn is_error(answer: &Answer, code: &str) -> bool {
    matches!(answer, Answer::Error(other) if other == code)
}

fn insert(rows: &mut Rows, new: &[(i64, Row)], answer: &Answer) -> bool {
    let before = rows.clone();
    let (mut checked, mut doubled) = (false, false);
    for (id, row) in new {
        checked |= row.v >= VALUE_END;
        doubled |= rows.contains_key(id);
        doubled |= row.u.is_some() && rows.values().any(|other| other.u == row.u);
        rows.insert(*id, *row);
    }
    if checked || doubled {
        *rows = before;
        return (checked && is_error(answer, "23514")) || (doubled && is_error(answer, "23505"));
    }
    *answer == Answer::Count(new.len() as u64)
}

fn increment(
    rows: &mut Rows,
    answer: &Answer,
    wanted: &dyn Fn(i64, &Row) -> bool,
    returning: bool,
) -> bool {
    let before = rows.clone();
    let mut changed = Vec::new();
    for (id, row) in rows.iter_mut() {
        if wanted(*id, row) {
            row.v += 1;
            changed.push((*id, *row));
        }
    }
    if changed.iter().any(|(_, row)| row.v >= VALUE_END) {
        *rows = before;
        return is_error(answer, "23514");
    }
    if returning {
        *answer == Answer::Rows(changed)
    } else {
        *answer == Answer::Count(changed.len() as u64)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Rows(rows) => {
                let rows = rows.iter().map(|(id, row)| format!("{id}: v {} u {:?}", row.v, row.u));
                write!(f, "rows [{}]", rows.collect::<Vec<_>>().join(", "))
            }
            Answer::Count(count) => write!(f, "count {count}"),
            Answer::Error(code) => write!(f, "error {code}"),
        }
    }
}
