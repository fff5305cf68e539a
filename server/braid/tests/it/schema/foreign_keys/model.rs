//! What PostgreSQL does, in the plainest words: rows in maps, events in a queue, one row at a
//! time. The test was first run against PostgreSQL itself, and so was this model.

use std::collections::BTreeMap;

use super::world::{Action, Key, Op, Value, Which, World};

type Row = Vec<Value>;
/// Rows by their primary keys.
type Rows = BTreeMap<Vec<Value>, Row>;

/// Why a statement fails.
pub(super) enum Failure {
    /// A foreign key: PostgreSQL's message and detail.
    ForeignKey(String),
    /// Another constraint.
    Other,
}

#[derive(Clone)]
enum Event {
    /// Foreign key and the row's primary key and its values there.
    Child { key: usize, row: Vec<Value>, values: Row },
    /// Foreign key, the key that is gone, and the one in its place.
    Parent { key: usize, old: Row, new: Option<Row> },
}

#[derive(Clone)]
struct State {
    tables: Vec<Rows>,
    deferred: Vec<Event>,
    modes: Vec<bool>,
}

/// The database.
pub(super) struct Model<'w> {
    world: &'w World,
    now: State,
    begin: Option<State>,
    savepoint: Option<State>,
}

fn pick(row: &[Value], places: &[usize]) -> Row {
    places.iter().map(|place| row[*place]).collect()
}

impl<'w> Model<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        let tables = vec![Rows::new(); world.tables.len()];
        let modes = world.keys.iter().map(|key| key.deferred).collect();
        let now = State { tables, deferred: Vec::new(), modes };
        Model { world, now, begin: None, savepoint: None }
    }

    fn is_deferred(&self, key: usize) -> bool {
        self.world.keys[key].deferrable && self.now.modes[key]
    }

    /// Runs a statement: rows changed.
    pub(super) fn run(&mut self, op: &Op) -> Result<u64, Failure> {
        let before = self.now.clone();
        let result = self.run_op(op);
        let ends = matches!(op, Op::Commit | Op::Rollback);
        if result.is_err() && ends {
            self.now = self.begin.clone().unwrap_or(before);
        } else if result.is_err() {
            self.now = before;
        }
        if ends {
            (self.begin, self.savepoint) = (None, None);
        }
        if self.begin.is_none() {
            self.now.deferred.clear();
            self.now.modes = self.world.keys.iter().map(|key| key.deferred).collect();
        }
        result
    }

    /// The whole block is undone.
    pub(super) fn roll_back(&mut self) {
        self.run(&Op::Rollback).ok();
    }

    fn run_op(&mut self, op: &Op) -> Result<u64, Failure> {
        match op {
            Op::Begin => self.begin = Some(self.now.clone()),
            Op::Savepoint => self.savepoint = Some(self.now.clone()),
            Op::RollbackTo => self.now = self.savepoint.clone().expect("a savepoint"),
            Op::Rollback => self.now = self.begin.clone().expect("a block"),
            Op::Commit => self.settle(|_| true)?,
            Op::SetConstraints(which, deferred) => {
                let named = |key: usize| which.is_none_or(|which| which == key);
                for key in (0..self.now.modes.len()).filter(|key| named(*key)) {
                    self.now.modes[key] = *deferred;
                }
                if !deferred {
                    self.settle(named)?;
                }
            }
            change => return self.change(change),
        }
        Ok(0)
    }

    fn change(&mut self, op: &Op) -> Result<u64, Failure> {
        let mut events = Vec::new();
        let mut count = 0;
        match op {
            Op::Insert { table, rows } => {
                for row in rows {
                    self.write(*table, None, Some(row.clone()), &mut events)?;
                    count += 1;
                }
            }
            Op::Update { table, set, which } => {
                for old in self.matching(*table, which) {
                    let mut new = old.clone();
                    set.iter().for_each(|(place, value)| new[*place] = *value);
                    self.write(*table, Some(&old), Some(new), &mut events)?;
                    count += 1;
                }
            }
            Op::Delete { table, which } => {
                for old in self.matching(*table, which) {
                    self.write(*table, Some(&old), None, &mut events)?;
                    count += 1;
                }
            }
            _ => {}
        }
        self.fire(events)?;
        if self.begin.is_none() {
            self.settle(|_| true)?;
        }
        Ok(count)
    }

    fn matching(&self, table: usize, which: &Which) -> Vec<Row> {
        let column = self.world.tables[table].key[0];
        let fits = |row: &&Row| {
            row[column].is_some_and(|value| match which {
                Which::In(list) => list.contains(&value),
                Which::From(from) => value >= *from,
            })
        };
        self.now.tables[table].values().filter(fits).cloned().collect()
    }

    /// Changes a row and queues what it asks.
    fn write(
        &mut self,
        table: usize,
        old: Option<&Row>,
        new: Option<Row>,
        events: &mut Vec<Event>,
    ) -> Result<(), Failure> {
        let shape = &self.world.tables[table];
        let rows = &mut self.now.tables[table];
        if let Some(old) = old {
            rows.remove(&pick(old, &shape.key));
        }
        if let Some(new) = &new {
            let null = (0..new.len()).any(|place| shape.not_null[place] && new[place].is_none());
            let check = shape.check && new[3].is_some_and(|a| a >= 5);
            let taken = rows.contains_key(&pick(new, &shape.key))
                || new[2].is_some() && rows.values().any(|row| row[2] == new[2]);
            if null || check || taken {
                return Err(Failure::Other);
            }
            rows.insert(pick(new, &shape.key), new.clone());
        }
        for (i, key) in self.world.keys.iter().enumerate() {
            if let Some(old) = old.filter(|_| key.parent == table) {
                let gone = pick(old, &key.parent_columns);
                let after = new.as_ref().map(|new| pick(new, &key.parent_columns));
                if gone.iter().all(Option::is_some) && after.as_ref() != Some(&gone) {
                    events.push(Event::Parent { key: i, old: gone, new: after });
                }
            }
        }
        for (i, key) in self.world.keys.iter().enumerate() {
            if let Some(new) = new.as_ref().filter(|_| key.child == table) {
                let values = pick(new, &key.columns);
                let row = pick(new, &shape.key);
                let same = old.is_some_and(|old| {
                    pick(old, &key.columns) == values && pick(old, &shape.key) == row
                });
                if !same && !points_nowhere(key, &values) {
                    events.push(Event::Child { key: i, row, values });
                }
            }
        }
        Ok(())
    }

    fn fire(&mut self, events: Vec<Event>) -> Result<(), Failure> {
        let mut level = events;
        while !level.is_empty() {
            let (late, now): (Vec<Event>, Vec<Event>) =
                level.into_iter().partition(|event| self.may_wait(event));
            self.now.deferred.extend(late);
            let mut next = Vec::new();
            for event in now {
                self.answer(&event, &mut next)?;
            }
            level = next;
        }
        Ok(())
    }

    fn may_wait(&self, event: &Event) -> bool {
        match event {
            Event::Child { key, .. } => self.is_deferred(*key),
            Event::Parent { key, new, .. } => {
                let keys = &self.world.keys[*key];
                let action = if new.is_none() { keys.on_delete } else { keys.on_update };
                action == Action::Nothing && self.is_deferred(*key)
            }
        }
    }

    /// Makes the checks that are deferred for some foreign keys.
    fn settle(&mut self, which: impl Fn(usize) -> bool) -> Result<(), Failure> {
        let all = std::mem::take(&mut self.now.deferred);
        for event in all {
            let (Event::Child { key, .. } | Event::Parent { key, .. }) = &event;
            if which(*key) {
                self.answer(&event, &mut Vec::new())?;
            } else {
                self.now.deferred.push(event);
            }
        }
        Ok(())
    }

    fn exists(&self, key: &Key, values: &Row) -> bool {
        let mut rows = self.now.tables[key.parent].values();
        rows.any(|row| pick(row, &key.parent_columns) == *values)
    }

    fn children(&self, key: &Key, values: &Row) -> Vec<Row> {
        let rows = self.now.tables[key.child].values();
        rows.filter(|row| pick(row, &key.columns) == *values).cloned().collect()
    }

    fn answer(&mut self, event: &Event, next: &mut Vec<Event>) -> Result<(), Failure> {
        match event {
            Event::Child { key, row, values } => {
                let key = &self.world.keys[*key];
                let current = self.now.tables[key.child].get(row);
                if current.is_none_or(|row| pick(row, &key.columns) != *values) {
                    return Ok(());
                }
                if values.iter().any(Option::is_none) {
                    return Err(child_failure(key, None));
                }
                if self.exists(key, values) {
                    return Ok(());
                }
                Err(child_failure(key, Some(values)))
            }
            Event::Parent { key, old, new } => {
                let key = &self.world.keys[*key].clone();
                let action = if new.is_none() { key.on_delete } else { key.on_update };
                let children = self.children(key, old);
                match action {
                    Action::Nothing if self.exists(key, old) => Ok(()),
                    Action::Nothing | Action::Restrict if children.is_empty() => Ok(()),
                    Action::Nothing | Action::Restrict => Err(parent_failure(key, old)),
                    _ => self.cascade(key, old, new.as_ref(), action, children, next),
                }
            }
        }
    }

    fn cascade(
        &mut self,
        key: &Key,
        gone: &Row,
        new: Option<&Row>,
        action: Action,
        children: Vec<Row>,
        next: &mut Vec<Event>,
    ) -> Result<(), Failure> {
        for old in children {
            let mut after = old.clone();
            let some = new.is_none() && !key.delete_columns.is_empty();
            let set = if some { &key.delete_columns } else { &key.columns };
            match (action, new) {
                (Action::Cascade, None) => {
                    self.write(key.child, Some(&old), None, next)?;
                    continue;
                }
                (Action::Cascade, Some(new)) => {
                    for (place, value) in key.columns.iter().zip(new) {
                        after[*place] = *value;
                    }
                }
                (Action::SetNull, _) => set.iter().for_each(|place| after[*place] = None),
                _ => {
                    let defaults = &self.world.tables[key.child].defaults;
                    set.iter().for_each(|place| after[*place] = defaults[*place]);
                }
            }
            self.write(key.child, Some(&old), Some(after), next)?;
        }
        let is_left = action == Action::SetDefault && !self.children(key, gone).is_empty();
        if is_left && !self.exists(key, gone) {
            return Err(parent_failure(key, gone));
        }
        Ok(())
    }

    /// All rows, as the test prints them.
    pub(super) fn contents(&self) -> String {
        let mut text = String::new();
        for (number, table) in self.now.tables.iter().enumerate() {
            let mut rows: Vec<&Row> = table.values().collect();
            // NULLs last.
            rows.sort_by_key(|row| {
                row.iter().map(|value| (value.is_none(), *value)).collect::<Vec<_>>()
            });
            for row in rows {
                let cell = |value: &Value| value.map_or("-".to_owned(), |v| v.to_string());
                let cells: Vec<String> = row.iter().map(cell).collect();
                text.push_str(&format!("t{number} {}\n", cells.join(" ")));
            }
        }
        text
    }
}

fn points_nowhere(key: &Key, values: &Row) -> bool {
    let nulls = values.iter().filter(|value| value.is_none()).count();
    if key.full { nulls == values.len() } else { nulls > 0 }
}

fn shown(places: &[usize], values: &Row) -> String {
    let names: Vec<&str> = places.iter().map(|place| super::world::COLUMNS[*place]).collect();
    let values: Vec<String> =
        values.iter().map(|value| value.map_or("null".to_owned(), |v| v.to_string())).collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}

fn child_failure(key: &Key, values: Option<&Row>) -> Failure {
    let detail = match values {
        None => "MATCH FULL does not allow mixing of null and nonnull key values.".to_owned(),
        Some(values) => {
            let shown = shown(&key.columns, values);
            format!("Key {shown} is not present in table \"t{}\".", key.parent)
        }
    };
    Failure::ForeignKey(format!(
        "23503 insert or update on table \"t{}\" violates foreign key constraint \"{}\" {detail}",
        key.child, key.name
    ))
}

fn parent_failure(key: &Key, values: &Row) -> Failure {
    Failure::ForeignKey(format!(
        "23503 update or delete on table \"t{}\" violates foreign key constraint \"{}\" on table \
         \"t{}\" Key {} is still referenced from table \"t{}\".",
        key.parent,
        key.name,
        key.child,
        shown(&key.parent_columns, values),
        key.child
    ))
}
