//! The printer: the text so far, its layout, and the names that can be used.

use std::collections::HashMap;

use braid_types::{Error, Result, SqlState};

/// Today's names of relations and columns.
pub trait Names {
    /// The relation's name as it has to be written, in quotes where needed, and its bare name.
    /// `ctes` are the names that WITH hides.
    fn relation(&self, id: u32, ctes: &[String]) -> Option<(String, String)>;
    /// The name of a type of users, in quotes where needed.
    fn type_name(&self, id: u32) -> Option<String>;
    /// The name of a function of a user, in quotes where needed.
    fn routine_name(&self, id: u32) -> Option<String>;
    /// The numbers and names of its columns, in order.
    fn columns(&self, id: u32) -> Vec<(u16, String)>;
    /// The types of its columns, without modifiers.
    fn column_types(&self, _id: u32) -> HashMap<u16, String> {
        HashMap::new()
    }
    /// The schema of an extension, in quotes where needed; `None` if no name of it needs one.
    fn extension_schema(&self, _extension: &str) -> Option<String> {
        None
    }
    /// The same for an extension with a function of that name.
    fn function_schema(&self, _function: &str) -> Option<String> {
        None
    }
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
    pub(super) const STORED: Self = Self { pretty: false, wrap: -1 };
}

/// Spaces by which clauses of a query are further in than its parent's.
pub(super) const INDENT_STEP: i32 = 8;
/// Spaces of a join below FROM, and of items on lines of their own.
pub(super) const INDENT_ITEM: i32 = 4;
/// From here on deeper levels take less space.
pub(super) const INDENT_MAX: i32 = 40;

pub(super) struct Printer<'a> {
    pub(super) out: String,
    /// Today's names; `None` prints the stored form.
    pub(super) names: Option<&'a dyn Names>,
    pub(super) layout: Layout,
    pub(super) indent: i32,
    /// The items of FROM seen so far, by number.
    pub(super) entries: HashMap<u32, Entry>,
    /// The names of items in the queries around, the innermost last.
    pub(super) levels: Vec<Vec<String>>,
    /// The entries of WITH that can be named, with their columns.
    pub(super) ctes: Vec<(String, Vec<String>)>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(names: Option<&'a dyn Names>, layout: Layout) -> Self {
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
    pub(super) fn is_stored(&self) -> bool {
        self.names.is_none()
    }

    pub(super) fn pretty(&self) -> bool {
        self.layout.pretty
    }

    pub(super) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn trim_spaces(&mut self) {
        let length = self.out.trim_end_matches(' ').len();
        self.out.truncate(length);
    }

    /// A clause on a line of its own: `before` and `after` change the indentation, `plus` is for
    /// this line only.
    pub(super) fn clause(&mut self, text: &str, before: i32, after: i32, plus: i32) {
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
    pub(super) fn wrapped(&mut self, item: &str, force: bool, first: bool) {
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
    pub(super) fn aside(&mut self, print: impl FnOnce(&mut Self) -> Result<()>) -> Result<String> {
        let out = std::mem::take(&mut self.out);
        let result = print(self);
        let printed = std::mem::replace(&mut self.out, out);
        result.map(|()| printed)
    }
}

/// 0A000 for a form that is not printed.
pub(super) fn unprintable(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::FeatureNotSupported, format!("{what} cannot be kept in a view"))
}

/// An item of FROM as it is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    /// Its name; none for a join.
    pub name: Option<String>,
    /// Its name in front of a column inside of a subquery, if it has none otherwise.
    pub name_inside: Option<String>,
    /// Whether the name has to be written as an alias.
    pub shows_alias: bool,
    /// What stands in FROM for a relation.
    pub relation: String,
    /// Names of its columns by number.
    pub columns: HashMap<u16, String>,
    /// Types of its columns by number, as far as they are known.
    pub types: HashMap<u16, String>,
    /// The list behind the alias.
    pub aliases: Vec<String>,
}
