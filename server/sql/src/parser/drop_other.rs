//! `DROP` of kinds of objects that users cannot make here: functions, triggers, casts and others.

use sqlparser::ast::DataType;
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use crate::ast::{DropOther, OtherObject, Statement};
use crate::rewrite::position;

/// How the objects of a kind are written.
#[derive(Clone, Copy)]
enum Form {
    Global,
    Named,
    Type,
    Routine,
    Aggregate,
    OnTable,
    Operator,
    OperatorClass,
    Cast,
    Transform,
    UserMapping,
}

/// A kind: its words, its command tag, what messages call it, how its objects are written.
type Kind = (&'static [&'static str], &'static str, &'static str, Form);

/// The longer of two kinds that begin alike stands first.
const KINDS: &[Kind] = &[
    (&["function"], "DROP FUNCTION", "function", Form::Routine),
    (&["procedure"], "DROP PROCEDURE", "procedure", Form::Routine),
    (&["routine"], "DROP ROUTINE", "routine", Form::Routine),
    (&["aggregate"], "DROP AGGREGATE", "aggregate", Form::Aggregate),
    (&["trigger"], "DROP TRIGGER", "trigger", Form::OnTable),
    (&["rule"], "DROP RULE", "rule", Form::OnTable),
    (&["policy"], "DROP POLICY", "policy", Form::OnTable),
    (&["type"], "DROP TYPE", "type", Form::Type),
    (&["domain"], "DROP DOMAIN", "type", Form::Type),
    (&["operator", "class"], "DROP OPERATOR CLASS", "operator class", Form::OperatorClass),
    (&["operator", "family"], "DROP OPERATOR FAMILY", "operator family", Form::OperatorClass),
    (&["operator"], "DROP OPERATOR", "operator", Form::Operator),
    (&["cast"], "DROP CAST", "cast", Form::Cast),
    (&["transform"], "DROP TRANSFORM", "transform", Form::Transform),
    (&["user", "mapping"], "DROP USER MAPPING", "user mapping", Form::UserMapping),
    (&["procedural", "language"], "DROP LANGUAGE", "language", Form::Global),
    (&["language"], "DROP LANGUAGE", "language", Form::Global),
    (&["collation"], "DROP COLLATION", "collation", Form::Named),
    (&["conversion"], "DROP CONVERSION", "conversion", Form::Named),
    (&["statistics"], "DROP STATISTICS", "statistics object", Form::Named),
    (&["foreign", "table"], "DROP FOREIGN TABLE", "foreign table", Form::Named),
    (
        &["text", "search", "configuration"],
        "DROP TEXT SEARCH CONFIGURATION",
        "text search configuration",
        Form::Named,
    ),
    (
        &["text", "search", "dictionary"],
        "DROP TEXT SEARCH DICTIONARY",
        "text search dictionary",
        Form::Named,
    ),
    (&["text", "search", "parser"], "DROP TEXT SEARCH PARSER", "text search parser", Form::Named),
    (
        &["text", "search", "template"],
        "DROP TEXT SEARCH TEMPLATE",
        "text search template",
        Form::Named,
    ),
    (
        &["foreign", "data", "wrapper"],
        "DROP FOREIGN DATA WRAPPER",
        "foreign-data wrapper",
        Form::Global,
    ),
    (&["server"], "DROP SERVER", "server", Form::Global),
    (&["publication"], "DROP PUBLICATION", "publication", Form::Global),
    (&["subscription"], "DROP SUBSCRIPTION", "subscription", Form::Global),
    (&["event", "trigger"], "DROP EVENT TRIGGER", "event trigger", Form::Global),
    (&["access", "method"], "DROP ACCESS METHOD", "access method", Form::Global),
    (&["tablespace"], "DROP TABLESPACE", "tablespace", Form::Global),
];

impl Cursor<'_> {
    /// `DROP` of one of these kinds, at its first word; `None` if it is no such kind.
    pub(crate) fn drop_other(&mut self) -> Result<Option<Statement>> {
        let Some((_, tag, kind, form)) = KINDS.iter().find(|(words, ..)| self.take_all(words))
        else {
            return Ok(None);
        };
        let if_exists = self.if_exists();
        let item = |cursor: &mut Self| cursor.other_object(*form);
        // Objects that are named on something else come one at a time.
        let single = matches!(
            form,
            Form::OnTable | Form::OperatorClass | Form::Cast | Form::Transform | Form::UserMapping
        ) || matches!(*kind, "tablespace" | "subscription");
        let items = if single { vec![item(self)?] } else { self.list(item)? };
        let behavior = self.drop_behavior();
        Ok(Some(Statement::DropOther(DropOther { tag, kind, items, if_exists, behavior })))
    }

    fn other_object(&mut self, form: Form) -> Result<OtherObject> {
        Ok(match form {
            Form::Global => OtherObject::Global(self.ident()?),
            Form::Named => OtherObject::Named(self.any_name()?),
            Form::Type => OtherObject::Type(self.data_type()?),
            Form::Routine => {
                let name = self.any_name()?;
                let listed = *self.peek() == Token::LParen;
                let arguments = if listed { Some(self.routine_arguments()?) } else { None };
                OtherObject::Routine { name, arguments }
            }
            Form::Aggregate => {
                let name = self.any_name()?;
                OtherObject::Routine { name, arguments: Some(self.aggregate_arguments()?) }
            }
            Form::OnTable => {
                let name = self.ident()?;
                self.expect("on")?;
                OtherObject::OnTable { name, table: self.object_name()? }
            }
            Form::Operator => self.operator_object()?,
            Form::OperatorClass => {
                let name = self.any_name()?;
                self.expect("using")?;
                OtherObject::OperatorClass { name, method: self.ident()? }
            }
            Form::Cast => {
                self.expect_symbol(&Token::LParen)?;
                let from = self.data_type()?;
                self.expect("as")?;
                let to = self.data_type()?;
                self.expect_symbol(&Token::RParen)?;
                OtherObject::Cast { from, to }
            }
            Form::Transform => {
                self.expect("for")?;
                let data_type = self.data_type()?;
                self.expect("language")?;
                OtherObject::Transform { data_type, language: self.ident()? }
            }
            Form::UserMapping => {
                self.expect("for")?;
                let user = if self.is("user") { self.label()? } else { self.role_name()? };
                self.expect("server")?;
                OtherObject::UserMapping { user, server: self.ident()? }
            }
        })
    }

    /// `(a int, OUT b text, VARIADIC text[])`: the types of what a call passes.
    fn routine_arguments(&mut self) -> Result<Vec<DataType>> {
        self.expect_symbol(&Token::LParen)?;
        let mut types = Vec::new();
        if self.take_symbol(&Token::RParen) {
            return Ok(types);
        }
        loop {
            types.extend(self.routine_argument()?);
            if !self.take_symbol(&Token::Comma) {
                break;
            }
        }
        self.expect_symbol(&Token::RParen)?;
        Ok(types)
    }

    /// One argument; `None` for one that only returns something.
    fn routine_argument(&mut self) -> Result<Option<DataType>> {
        const MODES: [&str; 4] = ["in", "inout", "variadic", "out"];
        let mut mode = self.take_one(&MODES);
        let ends = |token: &Token| matches!(token, Token::Comma | Token::RParen);
        let has_name = matches!(self.peek(), Token::Word(_))
            && matches!(self.peek_nth(1), Token::Word(_))
            && !self.is_type_of_words()
            && !self.nth_is(1, "order");
        if has_name && !ends(self.peek_nth(1)) {
            self.label()?;
        }
        mode = mode.or_else(|| self.take_one(&MODES));
        self.take("setof");
        let data_type = self.data_type()?;
        Ok((mode != Some(3)).then_some(data_type))
    }

    /// Whether a type of several words is next, so that its first word is no argument's name.
    fn is_type_of_words(&self) -> bool {
        const TYPES: [&[&str]; 9] = [
            &["double", "precision"],
            &["character", "varying"],
            &["char", "varying"],
            &["national"],
            &["bit", "varying"],
            &["time", "with"],
            &["time", "without"],
            &["timestamp", "with"],
            &["timestamp", "without"],
        ];
        TYPES.iter().any(|words| self.are(words)) || self.is("setof") || self.is("interval")
    }

    /// `(*)`, or `(types [ORDER BY types])`.
    fn aggregate_arguments(&mut self) -> Result<Vec<DataType>> {
        if matches!(self.peek_nth(1), Token::Mul) {
            self.expect_symbol(&Token::LParen)?;
            self.advance();
            self.expect_symbol(&Token::RParen)?;
            return Ok(Vec::new());
        }
        self.expect_symbol(&Token::LParen)?;
        let mut types = Vec::new();
        if !self.are(&["order", "by"]) {
            types = self.aggregate_types()?;
        }
        if self.take_all(&["order", "by"]) {
            types.extend(self.aggregate_types()?);
        }
        self.expect_symbol(&Token::RParen)?;
        Ok(types)
    }

    fn aggregate_types(&mut self) -> Result<Vec<DataType>> {
        let types = self.list(Self::routine_argument)?;
        Ok(types.into_iter().flatten().collect())
    }

    /// `schema.+ (left, right)`.
    fn operator_object(&mut self) -> Result<OtherObject> {
        let mut schema = None;
        while matches!(self.peek(), Token::Word(_)) {
            schema = Some(self.label()?);
            self.expect_symbol(&Token::Period)?;
        }
        let start = self.byte();
        while !matches!(self.peek(), Token::LParen) {
            if self.at_end() || matches!(self.peek(), Token::Word(_)) {
                return Err(self.unexpected());
            }
            self.advance();
        }
        let symbol = self.slice(start..self.byte_behind()).to_owned();
        self.expect_symbol(&Token::LParen)?;
        let left = if self.take("none") { None } else { Some(self.data_type()?) };
        if *self.peek() == Token::RParen {
            return Err(Error::new(SqlState::SyntaxError, "missing argument")
                .hint("Use NONE to denote the missing argument of a unary operator.")
                .position(position(self.span())));
        }
        self.expect_symbol(&Token::Comma)?;
        let right = self.data_type()?;
        self.expect_symbol(&Token::RParen)?;
        Ok(OtherObject::Operator { schema, symbol, left, right })
    }
}
