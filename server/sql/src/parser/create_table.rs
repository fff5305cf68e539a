//! `CREATE TABLE`: columns, constraints, inline indexes, families and what follows the list.

use sqlparser::ast::{Expr, Ident};
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use super::create_objects::Temporary;
use crate::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDef, CreateTable, CreateTableLike, Family,
    ForeignKey, IdentityMode, InlineIndex, Interleave, InterleaveKind, KeyColumn, MatchKind,
    ReferenceAction, Statement, TableConstraint, TableConstraintKind,
};

/// Storage parameters.
type Options = Vec<(Ident, Option<Expr>)>;

impl Cursor<'_> {
    /// `CREATE … TABLE`, behind that word.
    pub(super) fn create_table(
        &mut self,
        temporary: Temporary,
        unlogged: bool,
    ) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let mut table = CreateTable {
            name,
            if_not_exists,
            temporary: temporary != Temporary::No,
            global: temporary == Temporary::Global,
            unlogged,
            columns: Vec::new(),
            constraints: Vec::new(),
            indexes: Vec::new(),
            families: Vec::new(),
            interleave: None,
            like: Vec::new(),
            as_query: None,
            as_columns: Vec::new(),
            with_no_data: false,
            options: Vec::new(),
            on_commit: None,
        };
        if self.is("of") {
            return Err(self.unsupported("CREATE TABLE OF a type"));
        }
        if self.is("partition") {
            return Err(self.unsupported("PARTITION OF"));
        }
        if *self.peek() == Token::LParen {
            if self.is_name_list() {
                table.as_columns = self.columns()?;
            } else {
                self.table_items(&mut table)?;
            }
        } else if !matches!(self.peek_word(), Some("as" | "with" | "on" | "tablespace")) {
            return Err(self.unexpected());
        }
        self.table_tail(&mut table)?;
        Ok(Statement::CreateTable(Box::new(table)))
    }

    /// Whether the list is `(a, b)` of names only, as before `AS query`.
    fn is_name_list(&self) -> bool {
        let mut n = 1;
        loop {
            if !matches!(self.peek_nth(n), Token::Word(_)) {
                return false;
            }
            match self.peek_nth(n + 1) {
                Token::Comma => n += 2,
                Token::RParen => return true,
                _ => return false,
            }
        }
    }

    fn table_items(&mut self, table: &mut CreateTable) -> Result<()> {
        self.expect_symbol(&Token::LParen)?;
        if self.take_symbol(&Token::RParen) {
            return Ok(());
        }
        loop {
            self.table_item(table)?;
            if !self.take_symbol(&Token::Comma) {
                return self.expect_symbol(&Token::RParen);
            }
        }
    }

    fn table_item(&mut self, table: &mut CreateTable) -> Result<()> {
        let span = self.span();
        if self.take("like") {
            let like = self.table_like()?;
            table.like.push(like);
        } else if self.is("unique") && self.nth_is(1, "index") {
            self.advance();
            self.advance();
            table.indexes.push(self.inline_index(true, span)?);
        } else if self.is("index") && self.is_definition() {
            self.advance();
            table.indexes.push(self.inline_index(false, span)?);
        } else if self.is("inverted") && self.nth_is(1, "index") {
            return Err(self.unsupported("INVERTED INDEX"));
        } else if self.is("family") && self.is_definition() {
            self.advance();
            let name = if *self.peek() == Token::LParen { None } else { Some(self.ident()?) };
            let columns = self.columns()?;
            table.families.push(Family { name, columns, span });
        } else if self.at_table_constraint() {
            table.constraints.push(self.table_constraint()?);
        } else {
            table.columns.push(self.column_def()?);
        }
        Ok(())
    }

    /// Whether `INDEX` or `FAMILY` here is a definition and not a column of that name: the list
    /// behind it holds names, where a type's would hold numbers.
    fn is_definition(&self) -> bool {
        let list = match (self.peek_nth(1), self.peek_nth(2)) {
            (Token::LParen, _) => 1,
            (Token::Word(_), Token::LParen) => 2,
            _ => return false,
        };
        matches!(self.peek_nth(list + 1), Token::Word(_) | Token::LParen)
    }

    fn at_table_constraint(&self) -> bool {
        matches!(self.peek_word(), Some("constraint" | "primary" | "unique" | "check" | "foreign"))
            || (self.is("exclude") && matches!(self.peek_nth(1), Token::LParen))
            || self.are(&["exclude", "using"])
    }

    fn table_like(&mut self) -> Result<CreateTableLike> {
        let source = self.object_name()?;
        let mut options = Vec::new();
        while let Some(which) = self.take_one(&["including", "excluding"]) {
            let what = self.label()?;
            options.push((which == 0, what.value));
        }
        Ok(CreateTableLike { source, options })
    }

    fn inline_index(
        &mut self,
        unique: bool,
        span: sqlparser::tokenizer::Span,
    ) -> Result<InlineIndex> {
        let name = if *self.peek() == Token::LParen { None } else { Some(self.ident()?) };
        let keys = self.parens(Self::index_key)?;
        let storing = self.storing()?;
        let interleave = self.interleave()?;
        let predicate = self.selection()?;
        Ok(InlineIndex { name, unique, keys, storing, predicate, interleave, span })
    }

    /// A column with its type and constraints.
    pub(crate) fn column_def(&mut self) -> Result<ColumnDef> {
        let name = self.ident()?;
        let data_type = self.data_type()?;
        let mut column = ColumnDef { name, data_type, collation: None, constraints: Vec::new() };
        while !matches!(self.peek(), Token::Comma | Token::RParen) && !self.at_end() {
            if self.take("collate") {
                column.collation = Some(self.any_name()?);
            } else if self.at_characteristics() {
                self.column_characteristics(&mut column)?;
            } else if !self.column_constraint(&mut column)? {
                return Err(self.unexpected());
            }
        }
        Ok(column)
    }

    /// `DEFERRABLE` and the like speak of the constraint before them.
    fn column_characteristics(&mut self, column: &mut ColumnDef) -> Result<()> {
        let error = self.unexpected();
        let Some(last) = column.constraints.last_mut() else {
            return Err(error);
        };
        match &mut last.kind {
            ColumnConstraintKind::References(key) => {
                (key.deferrable, key.initially_deferred) = self.characteristics()?;
                Ok(())
            }
            ColumnConstraintKind::Unique { .. } | ColumnConstraintKind::PrimaryKey => {
                if self.characteristics()?.0 {
                    return Err(self.unsupported("a deferrable unique constraint"));
                }
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// One constraint of a column; false when none is next.
    fn column_constraint(&mut self, column: &mut ColumnDef) -> Result<bool> {
        let span = self.span();
        let name = if self.take("constraint") { Some(self.ident()?) } else { None };
        let Some(kind) = self.column_constraint_kind()? else {
            return Ok(false);
        };
        column.constraints.push(ColumnConstraint { name, kind, span });
        Ok(true)
    }

    fn column_constraint_kind(&mut self) -> Result<Option<ColumnConstraintKind>> {
        let kind = if self.take_all(&["not", "null"]) {
            ColumnConstraintKind::NotNull
        } else if self.take("null") {
            ColumnConstraintKind::Null
        } else if self.take("default") {
            ColumnConstraintKind::Default(self.default_expr()?)
        } else if self.take("primary") {
            self.expect("key")?;
            self.index_placement()?;
            ColumnConstraintKind::PrimaryKey
        } else if self.take("unique") {
            let nulls_not_distinct = self.nulls_not_distinct()?;
            self.index_placement()?;
            ColumnConstraintKind::Unique { nulls_not_distinct }
        } else if self.take("check") {
            ColumnConstraintKind::Check(self.check_expr()?)
        } else if self.is("references") {
            ColumnConstraintKind::References(self.references(Vec::new())?)
        } else if self.take("generated") {
            self.generated()?
        } else if self.take("as") {
            self.expect_symbol(&Token::LParen)?;
            self.generated_expr()?
        } else if self.take("create") {
            let if_not_exists = self.if_not_exists();
            self.expect("family")?;
            let name = if matches!(self.peek(), Token::Word(_)) && !self.at_column_constraint() {
                Some(self.ident()?)
            } else {
                None
            };
            ColumnConstraintKind::Family { name, create: true, if_not_exists }
        } else if self.take("family") {
            let name = Some(self.ident()?);
            ColumnConstraintKind::Family { name, create: false, if_not_exists: false }
        } else if self.is("storage") || self.is("compression") {
            return Err(self.unsupported("the storage of a column"));
        } else {
            return Ok(None);
        };
        Ok(Some(kind))
    }

    fn at_column_constraint(&self) -> bool {
        matches!(
            self.peek_word(),
            Some(
                "not"
                    | "null"
                    | "default"
                    | "primary"
                    | "unique"
                    | "check"
                    | "references"
                    | "generated"
                    | "as"
                    | "constraint"
                    | "collate"
            )
        )
    }

    /// `NULLS [NOT] DISTINCT`.
    pub(crate) fn nulls_not_distinct(&mut self) -> Result<bool> {
        if !self.take("nulls") {
            return Ok(false);
        }
        let not = self.take("not");
        self.expect("distinct")?;
        Ok(not)
    }

    /// `(expr) [NO INHERIT]`.
    fn check_expr(&mut self) -> Result<Expr> {
        self.expect_symbol(&Token::LParen)?;
        let expr = self.expr()?;
        self.expect_symbol(&Token::RParen)?;
        self.take_all(&["no", "inherit"]);
        Ok(expr)
    }

    /// `ALWAYS` or `BY DEFAULT`.
    pub(crate) fn identity_mode(&mut self) -> Result<IdentityMode> {
        if self.take("always") {
            return Ok(IdentityMode::Always);
        }
        self.expect_all(&["by", "default"])?;
        Ok(IdentityMode::ByDefault)
    }

    /// What follows `GENERATED`.
    fn generated(&mut self) -> Result<ColumnConstraintKind> {
        let mode = self.identity_mode()?;
        self.expect("as")?;
        if self.take("identity") {
            return Ok(ColumnConstraintKind::Identity { mode, options: self.identity_options()? });
        }
        if mode == IdentityMode::ByDefault {
            return Err(self.unexpected());
        }
        self.expect_symbol(&Token::LParen)?;
        self.generated_expr()
    }

    /// `expr) STORED`.
    fn generated_expr(&mut self) -> Result<ColumnConstraintKind> {
        let expr = self.expr()?;
        self.expect_symbol(&Token::RParen)?;
        let stored = match self.take_one(&["stored", "virtual"]) {
            Some(which) => which == 0,
            None => return Err(self.unexpected()),
        };
        Ok(ColumnConstraintKind::Generated { expr, stored })
    }

    /// `REFERENCES …` with everything behind it except the characteristics.
    fn references(&mut self, columns: Vec<Ident>) -> Result<ForeignKey> {
        self.expect("references")?;
        let table = self.object_name()?;
        let ref_columns = if *self.peek() == Token::LParen { self.columns()? } else { Vec::new() };
        let mut key = ForeignKey {
            columns,
            table,
            ref_columns,
            match_kind: MatchKind::Simple,
            on_delete: ReferenceAction::NoAction,
            delete_columns: Vec::new(),
            on_update: ReferenceAction::NoAction,
            deferrable: false,
            initially_deferred: false,
        };
        loop {
            if self.take("match") {
                key.match_kind = match self.take_one(&["simple", "full", "partial"]) {
                    Some(0) => MatchKind::Simple,
                    Some(1) => MatchKind::Full,
                    Some(_) => MatchKind::Partial,
                    None => return Err(self.unexpected()),
                };
            } else if self.take_all(&["on", "delete"]) {
                key.on_delete = self.reference_action()?;
                key.delete_columns = self.action_columns(key.on_delete)?;
            } else if self.take_all(&["on", "update"]) {
                key.on_update = self.reference_action()?;
                if !self.action_columns(key.on_update)?.is_empty() {
                    let what = match key.on_update {
                        ReferenceAction::SetNull => "SET NULL",
                        _ => "SET DEFAULT",
                    };
                    return Err(Error::new(
                        SqlState::FeatureNotSupported,
                        format!(
                            "a column list with {what} is only supported for ON DELETE actions"
                        ),
                    ));
                }
            } else {
                return Ok(key);
            }
        }
    }

    /// The columns behind `SET NULL` and `SET DEFAULT`.
    fn action_columns(&mut self, action: ReferenceAction) -> Result<Vec<Ident>> {
        let sets = matches!(action, ReferenceAction::SetNull | ReferenceAction::SetDefault);
        if sets && *self.peek() == Token::LParen { self.columns() } else { Ok(Vec::new()) }
    }

    fn reference_action(&mut self) -> Result<ReferenceAction> {
        Ok(match self.take_one(&["no", "restrict", "cascade", "set"]) {
            Some(0) => {
                self.expect("action")?;
                ReferenceAction::NoAction
            }
            Some(1) => ReferenceAction::Restrict,
            Some(2) => ReferenceAction::Cascade,
            Some(_) => match self.take_one(&["null", "default"]) {
                Some(0) => ReferenceAction::SetNull,
                Some(_) => ReferenceAction::SetDefault,
                None => return Err(self.unexpected()),
            },
            None => return Err(self.unexpected()),
        })
    }

    /// A constraint beside the columns, or behind `ADD`.
    pub(crate) fn table_constraint(&mut self) -> Result<TableConstraint> {
        let span = self.span();
        let name = if self.take("constraint") { Some(self.ident()?) } else { None };
        let unique = self.is("unique");
        let primary = self.is("primary");
        let mut kind = if self.take("primary") {
            self.expect("key")?;
            self.key_constraint(true)?
        } else if self.take("unique") {
            self.key_constraint(false)?
        } else if self.take("check") {
            TableConstraintKind::Check(self.check_expr()?)
        } else if self.take("foreign") {
            self.expect("key")?;
            let columns = self.columns()?;
            TableConstraintKind::ForeignKey(self.references(columns)?)
        } else if self.is("exclude") {
            return Err(self.unsupported("EXCLUDE"));
        } else {
            return Err(self.unexpected());
        };
        let mut not_valid = false;
        while self.at_characteristics() || self.are(&["not", "valid"]) {
            if self.take_all(&["not", "valid"]) {
                not_valid = true;
                continue;
            }
            let (deferrable, deferred) = self.characteristics()?;
            match &mut kind {
                TableConstraintKind::ForeignKey(key) => {
                    (key.deferrable, key.initially_deferred) = (deferrable, deferred);
                }
                _ if deferrable && (unique || primary) => {
                    return Err(self.unsupported("a deferrable unique constraint"));
                }
                _ if deferrable => return Err(self.unexpected()),
                _ => {}
            }
        }
        Ok(TableConstraint { name, kind, not_valid, span })
    }

    fn key_constraint(&mut self, primary: bool) -> Result<TableConstraintKind> {
        if self.take_all(&["using", "index"]) {
            return Ok(TableConstraintKind::UsingIndex { index: self.ident()?, primary });
        }
        let nulls_not_distinct = !primary && self.nulls_not_distinct()?;
        let columns = self.parens(Self::key_column)?;
        let storing = self.storing()?;
        self.index_placement()?;
        Ok(if primary {
            TableConstraintKind::PrimaryKey { columns, storing }
        } else {
            TableConstraintKind::Unique { columns, storing, nulls_not_distinct }
        })
    }

    /// `column [ASC | DESC]`.
    pub(crate) fn key_column(&mut self) -> Result<KeyColumn> {
        let name = self.ident()?;
        let descending = self.take_one(&["asc", "desc"]) == Some(1);
        Ok(KeyColumn { name, descending })
    }

    /// `STORING (…)`, `COVERING (…)` or `INCLUDE (…)`, where it is next.
    pub(crate) fn storing(&mut self) -> Result<Vec<Ident>> {
        match self.take_one(&["storing", "covering", "include"]) {
            Some(_) => self.columns(),
            None => Ok(Vec::new()),
        }
    }

    /// `INTERLEAVE IN [PARENT] parent (columns) [ON DELETE …]`, where it is next.
    pub(crate) fn interleave(&mut self) -> Result<Option<Interleave>> {
        let span = self.span();
        if !self.take("interleave") {
            return Ok(None);
        }
        self.expect("in")?;
        // `IN parent (c)` with a table named "parent" has the list right behind the word.
        let in_parent = self.is("parent") && matches!(self.peek_nth(1), Token::Word(_));
        if in_parent {
            self.advance();
        }
        let kind = if in_parent { InterleaveKind::InParent } else { InterleaveKind::In };
        let parent = self.object_name()?;
        let columns = self.columns()?;
        let on_delete = if self.take_all(&["on", "delete"]) {
            match self.reference_action()? {
                action @ (ReferenceAction::Cascade | ReferenceAction::NoAction) => Some(action),
                _ => return Err(self.unsupported("this ON DELETE action of INTERLEAVE")),
            }
        } else {
            None
        };
        Ok(Some(Interleave { kind, parent, columns, on_delete, span }))
    }

    /// Everything behind the list.
    fn table_tail(&mut self, table: &mut CreateTable) -> Result<()> {
        loop {
            if let Some(interleave) = self.interleave()? {
                table.interleave = Some(interleave);
            } else if self.is("inherits") {
                return Err(self.unsupported("INHERITS"));
            } else if self.is("partition") {
                return Err(self.unsupported("PARTITION BY"));
            } else if self.take("using") {
                self.ident()?;
            } else if self.take("with") {
                table.options = self.options()?;
            } else if self.take_all(&["without", "oids"]) {
                // The only choice there is.
            } else if self.take("tablespace") {
                self.tablespace()?;
            } else if self.take_all(&["on", "commit"]) {
                table.on_commit = Some(self.on_commit()?);
            } else if self.take("as") {
                table.as_query = Some(self.query()?);
                table.with_no_data = self.with_data()?;
                return Ok(());
            } else if !table.as_columns.is_empty() {
                return Err(self.unexpected());
            } else {
                return Ok(());
            }
        }
    }

    /// `[WITH (…)] [USING INDEX TABLESPACE name]` of a key constraint.
    fn index_placement(&mut self) -> Result<()> {
        if self.is("with") && *self.peek_nth(1) == Token::LParen {
            self.advance();
            self.options()?;
        }
        if self.take_all(&["using", "index", "tablespace"]) {
            self.tablespace()?;
        }
        Ok(())
    }

    /// The name of a tablespace: there is only the default one.
    pub(crate) fn tablespace(&mut self) -> Result<()> {
        let name = crate::fold(&self.ident()?);
        match name.as_str() {
            "pg_default" => Ok(()),
            "pg_global" => Err(Error::new(
                SqlState::InvalidParameterValue,
                "only shared relations can be placed in pg_global tablespace",
            )),
            _ => {
                let message = format!("tablespace \"{name}\" does not exist");
                Err(Error::new(SqlState::UndefinedObject, message))
            }
        }
    }

    /// `WITH [NO] DATA`: whether there is to be none.
    pub(crate) fn with_data(&mut self) -> Result<bool> {
        if !self.take("with") {
            return Ok(false);
        }
        let none = self.take("no");
        self.expect("data")?;
        Ok(none)
    }

    fn on_commit(&mut self) -> Result<&'static str> {
        if self.take("drop") {
            return Ok("drop");
        }
        match self.take_one(&["delete", "preserve"]) {
            Some(which) => {
                self.expect("rows")?;
                Ok(if which == 0 { "delete rows" } else { "preserve rows" })
            }
            None => Err(self.unexpected()),
        }
    }

    /// `(name [= value], …)`.
    pub(crate) fn options(&mut self) -> Result<Options> {
        self.parens(|cursor| {
            let mut name = cursor.label()?;
            while cursor.take_symbol(&Token::Period) {
                let part = cursor.label()?;
                name.value = format!("{}.{}", name.value, part.value);
            }
            let value =
                if cursor.take_symbol(&Token::Eq) { Some(cursor.option_value()?) } else { None };
            Ok((name, value))
        })
    }

    /// A storage parameter's value: a literal, or any word.
    fn option_value(&mut self) -> Result<Expr> {
        match self.peek() {
            Token::Word(word) if !matches!(word.value.as_str(), "true" | "false" | "null") => {
                self.label().map(Expr::Identifier)
            }
            _ => self.expr(),
        }
    }
}
