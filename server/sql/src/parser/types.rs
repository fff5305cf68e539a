//! `CREATE TYPE … AS ENUM` and `ALTER TYPE`.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{
    AlterTarget, AlterType, AlterTypeAction, CreateType, LabelPlace, Rename, Statement,
};

impl Cursor<'_> {
    /// `CREATE TYPE …`, at the word `type`.
    pub(crate) fn create_type(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.object_name()?;
        if !self.take_all(&["as", "enum"]) {
            return Err(self.unsupported("CREATE TYPE of anything but an enum"));
        }
        self.expect_symbol(&Token::LParen)?;
        let labels =
            if *self.peek() == Token::RParen { Vec::new() } else { self.list(Self::string)? };
        self.expect_symbol(&Token::RParen)?;
        Ok(Statement::CreateType(CreateType { name, labels }))
    }

    /// `ALTER TYPE …`, at the word `type`.
    pub(crate) fn alter_type(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.object_name()?;
        if self.take_all(&["add", "value"]) {
            let if_not_exists = self.if_not_exists();
            let label = self.string()?;
            let place = match self.take_one(&["before", "after"]) {
                Some(which) => Some(LabelPlace { neighbor: self.string()?, before: which == 0 }),
                None => None,
            };
            let action = AlterTypeAction::AddValue { label, if_not_exists, place };
            return Ok(Statement::AlterType(AlterType { name, action }));
        }
        if self.take_all(&["rename", "value"]) {
            let from = self.string()?;
            self.expect("to")?;
            let action = AlterTypeAction::RenameValue { from, to: self.string()? };
            return Ok(Statement::AlterType(AlterType { name, action }));
        }
        if self.are(&["rename", "attribute"]) {
            return Err(self.unsupported("ALTER TYPE of a composite type"));
        }
        match self.rename_kind(false)? {
            Some(kind) => {
                let target = AlterTarget::Type(name);
                Ok(Statement::Rename(Rename { target, if_exists: false, kind }))
            }
            None => Err(self.unexpected()),
        }
    }
}
