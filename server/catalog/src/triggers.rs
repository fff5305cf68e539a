//! The triggers of a catalog: on which relation they are, and their definitions.

use std::sync::Arc;

use braid_sql::{quote_ident, quote_literal};

use crate::names::{Names, Relation, qualified};
use crate::{
    Catalog, CatalogNames, Column, Id, Mentioning, Object, StoredExpr, Table, Trigger,
    TriggerEvent, View,
};

/// The triggers of a catalog.
#[derive(Clone, Copy)]
pub struct Triggers<'c> {
    catalog: &'c Catalog,
}

impl<'c> Names<'c> {
    /// The triggers of tables and views.
    pub fn triggers(self) -> Triggers<'c> {
        Triggers { catalog: self.catalog }
    }
}

impl<'c> Triggers<'c> {
    /// The relation with a trigger of that oid, and the trigger.
    pub fn get(self, id: Id) -> Option<(Relation, &'c Trigger)> {
        let is_it = |trigger: &&Trigger| trigger.id == id;
        if let Some(table) = self.catalog.owner(id) {
            let trigger = table.triggers.iter().find(is_it)?;
            return Some((Relation::Table(table.clone()), trigger));
        }
        self.catalog.views().iter().find_map(|view| {
            let trigger = view.triggers.iter().find(is_it)?;
            Some((Relation::View(view.clone()), trigger))
        })
    }

    /// Every trigger of a database, with its relation.
    pub fn in_database(self, database: Id) -> impl Iterator<Item = (Relation, &'c Trigger)> {
        let tables = self.catalog.tables().in_database(database);
        of_relations(tables, self.catalog.views().in_database(database))
    }

    /// The triggers that call a function, the oldest first.
    pub fn calling(self, function: Id) -> Vec<(Relation, &'c Trigger)> {
        let mentioning = Mentioning::of(self.catalog, function);
        let all = of_relations(mentioning.tables(), mentioning.views());
        let mut found: Vec<_> = all.filter(|(_, found)| found.function == function).collect();
        found.sort_by_key(|(_, trigger)| trigger.id);
        found
    }
}

/// The triggers of some tables, then those of some views.
fn of_relations<'c>(
    tables: impl Iterator<Item = &'c Arc<Table>>,
    views: impl Iterator<Item = &'c Arc<View>>,
) -> impl Iterator<Item = (Relation, &'c Trigger)> {
    let tables = tables.flat_map(|table| {
        let relation = move || Relation::Table(table.clone());
        table.triggers.iter().map(move |trigger| (relation(), trigger))
    });
    let views = views.flat_map(|view| {
        let relation = move || Relation::View(view.clone());
        view.triggers.iter().map(move |trigger| (relation(), trigger))
    });
    tables.chain(views)
}

impl Relation {
    /// Its triggers.
    pub fn triggers(&self) -> &[Trigger] {
        match self {
            Relation::Table(table) => &table.triggers,
            Relation::View(view) => &view.triggers,
            Relation::Sequence(_)
            | Relation::Virtual(_)
            | Relation::Composite(_)
            | Relation::Index(..) => &[],
        }
    }

    /// What triggers know of its rows: the table itself, or a view as a table.
    pub fn row_table(&self) -> Option<Arc<Table>> {
        match self {
            Relation::Table(table) => Some(table.clone()),
            Relation::View(view) => Some(Arc::new(view.as_table())),
            Relation::Sequence(_)
            | Relation::Virtual(_)
            | Relation::Composite(_)
            | Relation::Index(..) => None,
        }
    }
}

impl View {
    /// The comment on the column of that number, from 1.
    pub fn column_comment(&self, column: crate::ColumnId) -> Option<&str> {
        let found = self.column_comments.iter().find(|(known, _)| *known == column);
        found.map(|(_, comment)| comment.as_str())
    }

    /// The domain of the column of that number, from 1.
    pub fn column_domain(&self, column: crate::ColumnId) -> Option<crate::Id> {
        let found = self.domains.iter().find(|(known, _)| *known == column);
        found.map(|(_, domain)| *domain)
    }

    /// A table of the view's columns, which stands for it where rows are changed. No catalog has
    /// it.
    pub fn as_table(&self) -> Table {
        let columns = (1..).zip(&self.columns);
        let default = |id| self.defaults.iter().find(|(known, _)| *known == id);
        let columns = columns.map(|(id, (name, ty))| Column {
            domain: self.column_domain(id),
            default: default(id).map(|(_, default)| default.clone()),
            grants: Object::View(self).column_grants(id).to_vec(),
            comment: self.column_comment(id).map(str::to_owned),
            ..Column::plain(id, name, ty.clone())
        });
        let first = Column::plain(1, "", braid_types::SqlType::Void);
        let place = (self.database, self.schema);
        Table {
            id: self.id,
            columns: columns.collect(),
            triggers: self.triggers.clone(),
            ..Table::of_column(first, place, &self.name, self.owner)
        }
    }
}

impl CatalogNames<'_> {
    /// `CREATE TRIGGER …`, as `pg_get_triggerdef` prints it.
    pub fn trigger(&self, relation: &Relation, trigger: &Trigger, pretty: bool) -> Option<String> {
        let table = relation.row_table()?;
        let constraint = trigger.constraint.as_ref();
        let mut out = format!(
            "CREATE {}TRIGGER {} {} ",
            if constraint.is_some() { "CONSTRAINT " } else { "" },
            quote_ident(&trigger.name),
            trigger.timing.words(),
        );
        out.push_str(&self.events(&table, trigger));
        out.push_str(" ON ");
        out.push_str(&self.trigger_table(relation, pretty));
        if let Some(constraint) = constraint {
            if let Some(from) = constraint.from.and_then(|from| self.catalog.relation(from)) {
                out.push_str(&format!(" FROM {}", self.trigger_table(&from, true)));
            }
            out.push_str(if constraint.deferrable { " " } else { " NOT " });
            out.push_str("DEFERRABLE INITIALLY ");
            out.push_str(if constraint.initially_deferred { "DEFERRED" } else { "IMMEDIATE" });
        }
        if trigger.has_transitions() {
            out.push_str(" REFERENCING");
            for (word, name) in [("OLD", &trigger.old_table), ("NEW", &trigger.new_table)] {
                if let Some(name) = name {
                    out.push_str(&format!(" {word} TABLE AS {}", quote_ident(name)));
                }
            }
        }
        out.push_str(" FOR EACH ");
        out.push_str(if trigger.for_each_row { "ROW" } else { "STATEMENT" });
        if let Some(when) = &trigger.when {
            out.push_str(&format!(" WHEN ({})", self.when(&table, when, pretty)));
        }
        out.push_str(&format!(" EXECUTE FUNCTION {}", self.trigger_call(trigger)));
        Some(out)
    }

    /// `INSERT OR DELETE OR UPDATE OF a`, in PostgreSQL's order.
    fn events(&self, table: &Table, trigger: &Trigger) -> String {
        use TriggerEvent as E;
        let order = [E::Insert, E::Delete, E::Update, E::Truncate];
        let mut words = Vec::new();
        for event in order.into_iter().filter(|event| trigger.is_for(*event)) {
            let mut word = event.word().to_owned();
            if event == E::Update && !trigger.columns.is_empty() {
                let columns = trigger.columns.iter().filter_map(|id| table.column(*id));
                let names: Vec<String> = columns.map(|column| quote_ident(&column.name)).collect();
                word.push_str(&format!(" OF {}", names.join(", ")));
            }
            words.push(word);
        }
        words.join(" OR ")
    }

    /// The relation: with its schema, unless the pretty form may leave it out.
    fn trigger_table(&self, relation: &Relation, pretty: bool) -> String {
        let schema = relation.schema_name(self.catalog);
        let visible = self.path.is_some_and(|path| self.catalog.names().is_visible(path, relation));
        match pretty && visible {
            true => quote_ident(relation.name()),
            false => qualified(&schema, relation.name()),
        }
    }

    /// `f('a', 'b')`: the call of the trigger's function.
    pub fn trigger_call(&self, trigger: &Trigger) -> String {
        let arguments: Vec<String> =
            trigger.arguments.iter().map(|argument| quote_literal(argument)).collect();
        let routines = self.catalog.names().routines();
        let name = match routines.of_trigger(trigger.function) {
            Some(found) => routines.text(self.path, found),
            None => trigger.function.to_string(),
        };
        format!("{name}({})", arguments.join(", "))
    }

    /// The condition of a trigger, with today's names.
    pub fn when(&self, table: &Table, when: &StoredExpr, pretty: bool) -> String {
        let StoredExpr::Identified(found) = when else { return when.sql().to_owned() };
        let columns = || table.columns.iter().map(|c| (c.id, c.name.clone())).collect();
        let Ok(expr) = braid_sql::parse_expr(&found.sql) else { return found.sql.clone() };
        let shown = braid_sql::shown_condition_text(&expr, self, [columns(), columns()], pretty);
        shown.unwrap_or_else(|_| found.sql.clone())
    }
}
