//! `SET`, `RESET` and `SHOW`.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{Reset, Set, SetScope, SetValue, ShowTarget, Statement, TransactionModes};

impl Cursor<'_> {
    /// `SET …`.
    pub(crate) fn set(&mut self) -> Result<Statement> {
        self.advance();
        if self.take("constraints") {
            return self.set_constraints();
        }
        if self.take_all(&["session", "characteristics", "as", "transaction"]) {
            return Ok(Statement::SetSessionCharacteristics(self.some_modes()?));
        }
        let scope = match self.take_one(&["session", "local"]) {
            // `SET SESSION AUTHORIZATION` is about who, not how long.
            Some(0) if self.is("authorization") => {
                self.advance();
                return self.set_special(SetScope::Session, "session_authorization");
            }
            Some(1) => SetScope::Local,
            _ => SetScope::Session,
        };
        if self.are(&["session", "authorization"]) {
            self.advance();
            self.advance();
            return self.set_special(scope, "session_authorization");
        }
        if self.take("transaction") {
            if self.take("snapshot") {
                return Ok(Statement::SetTransactionSnapshot(self.string()?));
            }
            return Ok(Statement::SetTransaction(self.some_modes()?));
        }
        if self.take_all(&["time", "zone"]) {
            return self.set_special(scope, "timezone");
        }
        if self.is("names") && !self.followed_by_assignment() {
            self.advance();
            if self.at_end() {
                return Ok(self.set_node(scope, "client_encoding", SetValue::Default));
            }
            return self.set_special(scope, "client_encoding");
        }
        if self.is("role") && !self.followed_by_assignment() {
            self.advance();
            return self.set_special(scope, "role");
        }
        if self.is("schema") && !self.followed_by_assignment() {
            self.advance();
            return self.set_special(scope, "search_path");
        }
        self.set_variable(scope).map(Statement::Set)
    }

    fn followed_by_assignment(&self) -> bool {
        matches!(self.peek_nth(1), Token::Eq | Token::Period) || self.nth_is(1, "to")
    }

    fn some_modes(&mut self) -> Result<TransactionModes> {
        let modes = self.transaction_modes()?;
        if modes == TransactionModes::default() { Err(self.unexpected()) } else { Ok(modes) }
    }

    fn set_node(&self, scope: SetScope, name: &str, value: SetValue) -> Statement {
        Statement::Set(Set { scope, name: name.into(), value, span: self.span() })
    }

    /// A form whose name is spelt out, with one value behind it.
    fn set_special(&mut self, scope: SetScope, name: &str) -> Result<Statement> {
        let is_zone = name == "timezone";
        let value = if self.take("default") || (is_zone && self.take("local")) {
            SetValue::Default
        } else if is_zone && self.take("interval") {
            let mut text = self.string()?;
            let mut unit = None;
            while !self.at_end() {
                unit.get_or_insert(self.label()?);
            }
            if let Some(unit) = unit.filter(|_| text.trim().parse::<f64>().is_ok()) {
                text = format!("{text} {unit}");
            }
            SetValue::Values(vec![format!("INTERVAL '{text}'")])
        } else {
            SetValue::Values(vec![self.setting_value()?])
        };
        Ok(self.set_node(scope, name, value))
    }

    /// `name {= | TO} values`.
    pub(crate) fn set_variable(&mut self, scope: SetScope) -> Result<Set> {
        let span = self.span();
        let name = self.variable_name()?;
        if self.are(&["from", "current"]) {
            return Err(self.unsupported("SET … FROM CURRENT"));
        }
        if !self.take_symbol(&Token::Eq) {
            self.expect("to")?;
        }
        let value = if self.take("default") {
            SetValue::Default
        } else {
            SetValue::Values(self.list(Self::setting_value)?)
        };
        Ok(Set { scope, name, value, span })
    }

    /// A variable's name in lower case, parts joined with dots.
    fn variable_name(&mut self) -> Result<String> {
        let mut name = self.ident()?.value;
        while self.take_symbol(&Token::Period) {
            name.push('.');
            name.push_str(&self.label()?.value);
        }
        Ok(name.to_ascii_lowercase())
    }

    /// A setting's value as text: a string, a number with a sign, or a word.
    pub(crate) fn setting_value(&mut self) -> Result<String> {
        let sign = match self.peek() {
            Token::Minus => "-",
            Token::Plus => "+",
            _ => "",
        };
        if !sign.is_empty() {
            self.advance();
        }
        let text = match self.peek() {
            Token::Number(number, _) => format!("{}{number}", if sign == "-" { "-" } else { "" }),
            Token::SingleQuotedString(text) if sign.is_empty() => text.clone(),
            Token::Word(word) if sign.is_empty() => word.value.clone(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(text)
    }

    fn set_constraints(&mut self) -> Result<Statement> {
        let names = if self.take("all") { None } else { Some(self.list(Self::object_name)?) };
        match self.take_one(&["deferred", "immediate"]) {
            Some(which) => Ok(Statement::SetConstraints { names, deferred: which == 0 }),
            None => Err(self.unexpected()),
        }
    }

    /// `RESET …`.
    pub(crate) fn reset(&mut self) -> Result<Statement> {
        self.advance();
        self.reset_target().map(Statement::Reset)
    }

    /// What follows `RESET`.
    pub(crate) fn reset_target(&mut self) -> Result<Reset> {
        if self.take("all") {
            return Ok(Reset::All);
        }
        self.spelt_variable().map(Reset::Name)
    }

    /// A variable, also where its name is spelt out in words.
    fn spelt_variable(&mut self) -> Result<String> {
        const SPELT: [(&[&str], &str); 3] = [
            (&["time", "zone"], "timezone"),
            (&["transaction", "isolation", "level"], "transaction_isolation"),
            (&["session", "authorization"], "session_authorization"),
        ];
        for (words, name) in SPELT {
            if self.take_all(words) {
                return Ok(name.into());
            }
        }
        self.variable_name()
    }

    /// `SHOW …`.
    pub(crate) fn show(&mut self) -> Result<Statement> {
        self.advance();
        let target = if self.take("all") {
            ShowTarget::All
        } else if self.take_all(&["transaction", "timeline"]) {
            ShowTarget::TransactionTimeline
        } else if self.take_all(&["transaction", "status"]) {
            ShowTarget::TransactionStatus
        } else if self.take("create") {
            self.take_one(&["table", "view", "sequence", "index"]);
            ShowTarget::CreateTable(self.object_name()?)
        } else if self.take("tables") {
            let schema = if self.take("from") { Some(self.object_name()?) } else { None };
            ShowTarget::Tables(schema)
        } else if self.take("databases") {
            ShowTarget::Databases
        } else if self.take("schemas") {
            ShowTarget::Schemas
        } else if self.take("sequences") {
            ShowTarget::Sequences
        } else if self.take_one(&["users", "roles"]).is_some() {
            ShowTarget::Users
        } else if self.nth_is(1, "from") {
            let target: fn(_) -> _ =
                match self.take_one(&["columns", "indexes", "index", "keys", "constraints"]) {
                    Some(0) => ShowTarget::Columns,
                    Some(4) => ShowTarget::Constraints,
                    Some(_) => ShowTarget::Indexes,
                    None => return Err(self.unexpected()),
                };
            self.expect("from")?;
            target(self.object_name()?)
        } else {
            ShowTarget::Variable(self.spelt_variable()?)
        };
        Ok(Statement::Show(target))
    }
}
