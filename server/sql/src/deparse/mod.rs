//! A query printed as PostgreSQL's ruleutils print it, and the stored form of a view's query.
//!
//! A view is stored as SQL text in which ids stand for names, so that no renaming changes it:
//!
//! ```text
//!   SELECT "1"."2" AS "b" FROM "#"."16390" AS "1 as"("x") WHERE ("1"."3" > 5)
//!           │   └─ column 2 of that item       │       └─ the alias that the user wrote, if any
//!           └─ item 1 of FROM                  └─ the relation with id 16390
//! ```
//!
//! - A relation is `"#"."id"`; a name of one part is an entry of WITH.
//! - Items of FROM have numbers that are unique in the whole text. Columns are those of tables by
//!   number, those of other items by place. `"1"` alone is the whole row of item 1.
//! - Behind `"1 as"` the first name is the alias, the others are names of columns.
//! - `USING` has two names for each column: `item.column=left.column=right.column`, then its name.
//!   The first part is the merged column of a full join, else `0.0`.
//! - `ORDER BY`, `GROUP BY` and `DISTINCT ON` have numbers where they mean items of the select
//!   list. Every item has its name. Implicit casts are written out.
//!
//! An expression of a table's definition is stored in the same way: its table's row is item 1.
//!
//! [`stored_text`] prints that form, [`shown_text`] the same with today's names.
//! [`stored_expr_text`] and [`shown_expr_text`] do so with an expression. What is not here:
//! how a query gets into that form (`plan`), and what names there are (`catalog`).

mod calls;
mod expr;
mod items;
mod parens;
mod query;
mod range;
mod syntax;

use std::collections::HashMap;

use braid_types::{Error, Result, SqlState};
use sqlparser::ast::{Expr, Ident, Query, TableAlias, TableAliasColumnDef};

use range::Entry;
pub use range::{relation_id, using_columns};

/// The schema that stands before the id of a relation in the stored form.
pub const RELATION_MARK: &str = "#";

/// Today's names of relations and columns.
pub trait Names {
    /// The relation's name as it has to be written, in quotes where needed, and its bare name.
    /// `ctes` are the names that WITH hides.
    fn relation(&self, id: u32, ctes: &[String]) -> Option<(String, String)>;
    /// The name of a type of users, in quotes where needed.
    fn type_name(&self, id: u32) -> Option<String>;
    /// The numbers and names of its columns, in order.
    fn columns(&self, id: u32) -> Vec<(u16, String)>;
}

/// How a definition is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Without parentheses that are not needed.
    pub pretty: bool,
    /// Lines longer than this are broken between items; negative: never.
    pub wrap: i32,
}

impl Layout {
    const STORED: Self = Self { pretty: false, wrap: -1 };
}

/// The stored form of a query whose names are already ids.
pub fn stored_text(query: &Query) -> Result<String> {
    let mut printer = Printer::new(None, Layout::STORED);
    printer.query(query, None, true)?;
    Ok(printer.out)
}

/// The stored form of an expression over the row of a table, which is item 1.
pub fn stored_expr_text(expr: &Expr) -> Result<String> {
    let mut printer = Printer::new(None, Layout::STORED);
    printer.expr(expr)?;
    Ok(printer.out)
}

/// The row of a table: what item 1 of a stored expression is shown as.
#[derive(Clone, Debug, Default)]
pub struct RowNames {
    /// The table as it has to be written.
    pub table: String,
    /// The names of its columns by number.
    pub columns: HashMap<u16, String>,
}

/// The text of a stored expression with today's names. `is_cast`: a cast that is not shown stands
/// around it, for which the form without spare parentheses keeps some.
pub fn shown_expr_text(
    expr: &Expr,
    names: &dyn Names,
    row: RowNames,
    (pretty, is_cast): (bool, bool),
) -> Result<String> {
    let mut printer = Printer::new(Some(names), Layout { pretty, wrap: -1 });
    let entry = Entry { relation: row.table, columns: row.columns, ..Entry::default() };
    printer.entries.insert(TABLE_ROW, entry);
    match is_cast {
        true => printer.cast_operand(expr)?,
        false => printer.expr(expr)?,
    }
    Ok(printer.out)
}

/// The number of the table whose row a stored expression reads.
pub const TABLE_ROW: u32 = 1;

/// Whether an index key of this expression needs no parentheses: a call of a function.
pub fn is_call(expr: &Expr) -> bool {
    match expr {
        Expr::Function(_)
        | Expr::Extract { .. }
        | Expr::Position { .. }
        | Expr::Substring { .. }
        | Expr::Trim { .. }
        | Expr::Overlay { .. } => true,
        Expr::Nested(inner) => is_call(inner),
        _ => false,
    }
}

/// The text of a stored query with today's names. `columns` are the names of the view's columns.
pub fn shown_text(
    query: &Query,
    names: &dyn Names,
    columns: &[String],
    layout: Layout,
) -> Result<String> {
    let mut printer = Printer::new(Some(names), layout);
    printer.query(query, Some(columns), true)?;
    Ok(printer.out)
}

/// What the number of an item of FROM is followed by if the user wrote an alias.
const ALIAS_MARK: &str = " as";

/// The name of an item of FROM in the stored form, and the names behind it: the alias that the
/// user wrote, then `columns`.
pub fn label(number: u32, alias: Option<String>, columns: Vec<String>) -> TableAlias {
    let mark = if alias.is_some() { ALIAS_MARK } else { "" };
    let column =
        |name: String| TableAliasColumnDef { name: Ident::with_quote('"', name), data_type: None };
    TableAlias {
        explicit: true,
        name: Ident::with_quote('"', format!("{number}{mark}")),
        columns: alias.into_iter().chain(columns).map(column).collect(),
        at: None,
    }
}

/// Reads the name of an item of FROM in the stored form: its number, whether there is an alias.
pub fn split_label(label: &str) -> Option<(u32, bool)> {
    match label.strip_suffix(ALIAS_MARK) {
        Some(number) => Some((number.parse().ok()?, true)),
        None => Some((label.parse().ok()?, false)),
    }
}

/// The names of columns behind the name of an item of FROM in the stored form.
pub fn listed_columns(alias: &TableAlias) -> Vec<String> {
    let has_alias = split_label(&alias.name.value).is_some_and(|(_, has_alias)| has_alias);
    let names = alias.columns.iter().map(|column| column.name.value.clone());
    names.skip(usize::from(has_alias)).collect()
}

/// A column of an item of FROM: both numbers.
pub type ItemColumn = (u32, u16);

/// A column of USING in the stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsingColumn {
    /// The column of the join itself; (0, 0) if it is that of one side.
    pub merged: ItemColumn,
    /// The left column.
    pub left: ItemColumn,
    /// The right column.
    pub right: ItemColumn,
    /// Its name when the view was made.
    pub name: String,
}

impl UsingColumn {
    /// Its names in the stored form.
    pub fn to_names(&self) -> [String; 2] {
        let part = |(item, column): ItemColumn| format!("{item}.{column}");
        let (merged, left, right) = (part(self.merged), part(self.left), part(self.right));
        [format!("{merged}={left}={right}"), self.name.clone()]
    }

    /// Reads the names of the stored form.
    pub fn parse(places: &str, name: &str) -> Option<Self> {
        let mut parts = places.splitn(3, '=');
        let mut column = || -> Option<ItemColumn> {
            let (item, column) = parts.next()?.split_once('.')?;
            Some((item.parse().ok()?, column.parse().ok()?))
        };
        let (merged, left, right) = (column()?, column()?, column()?);
        Some(Self { merged, left, right, name: name.to_owned() })
    }
}

/// Spaces by which clauses of a query are further in than its parent's.
const INDENT_STEP: i32 = 8;
/// Spaces of a join below FROM, and of items on lines of their own.
const INDENT_ITEM: i32 = 4;
/// From here on deeper levels take less space.
const INDENT_MAX: i32 = 40;

struct Printer<'a> {
    out: String,
    /// Today's names; `None` prints the stored form.
    names: Option<&'a dyn Names>,
    layout: Layout,
    indent: i32,
    /// The items of FROM seen so far, by number.
    entries: HashMap<u32, Entry>,
    /// The names of items in the queries around, the innermost last.
    levels: Vec<Vec<String>>,
    /// The entries of WITH that can be named, with their columns.
    ctes: Vec<(String, Vec<String>)>,
}

impl<'a> Printer<'a> {
    fn new(names: Option<&'a dyn Names>, layout: Layout) -> Self {
        // A view's rule knows its table by these names, so that PostgreSQL gives them to no other.
        let levels = vec![vec!["old".to_owned(), "new".to_owned()]];
        Self {
            out: String::new(),
            names,
            layout,
            indent: 0,
            entries: HashMap::new(),
            levels,
            ctes: Vec::new(),
        }
    }

    /// Whether the stored form is printed.
    fn is_stored(&self) -> bool {
        self.names.is_none()
    }

    fn pretty(&self) -> bool {
        self.layout.pretty
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn trim_spaces(&mut self) {
        let length = self.out.trim_end_matches(' ').len();
        self.out.truncate(length);
    }

    /// A clause on a line of its own: `before` and `after` change the indentation, `plus` is for
    /// this line only.
    fn clause(&mut self, text: &str, before: i32, after: i32, plus: i32) {
        if self.is_stored() {
            self.push(text);
            return;
        }
        self.indent += before;
        self.trim_spaces();
        self.out.push('\n');
        let amount = if self.indent < INDENT_MAX {
            self.indent.max(0) + plus
        } else {
            let deeper = INDENT_MAX + (self.indent - INDENT_MAX) / (INDENT_STEP / 2);
            deeper % INDENT_MAX + plus
        };
        self.out.extend(std::iter::repeat_n(' ', usize::try_from(amount).unwrap_or(0)));
        self.push(text);
        self.indent = (self.indent + after).max(0);
    }

    /// Adds an item of a list, on a new line if the last one has become too long.
    fn wrapped(&mut self, item: &str, force: bool, first: bool) {
        if !self.is_stored() && self.layout.wrap >= 0 {
            if item.starts_with('\n') {
                self.trim_spaces();
            } else if !first {
                let line = self.out.rsplit('\n').next().map_or(0, str::len);
                let wrap = usize::try_from(self.layout.wrap).unwrap_or(0);
                if force || line + item.len() > wrap {
                    self.clause("", -INDENT_STEP, INDENT_STEP, INDENT_ITEM);
                }
            }
        }
        self.push(item);
    }

    /// What `print` prints, taken out of the text.
    fn aside(&mut self, print: impl FnOnce(&mut Self) -> Result<()>) -> Result<String> {
        let out = std::mem::take(&mut self.out);
        let result = print(self);
        let printed = std::mem::replace(&mut self.out, out);
        result.map(|()| printed)
    }
}

/// 0A000 for a form that is not printed.
fn unprintable(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::FeatureNotSupported, format!("{what} cannot be kept in a view"))
}
