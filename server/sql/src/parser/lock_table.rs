//! `LOCK TABLE`.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{LockTable, ObjectName, Statement, TableLockMode};

impl Cursor<'_> {
    /// `LOCK [TABLE] names [IN mode MODE] [NOWAIT]`.
    pub(crate) fn lock_table(&mut self) -> Result<Statement> {
        self.advance();
        self.take("table");
        let tables = self.list(Self::table_alone_or_not)?;
        let mut mode = TableLockMode::AccessExclusive;
        if self.take("in") {
            mode = self.lock_mode()?;
            self.expect("mode")?;
        }
        let nowait = self.take("nowait");
        Ok(Statement::LockTable(LockTable { tables, mode, nowait }))
    }

    /// `ONLY name`, `name *` or `name`: no table has others that inherit from it.
    fn table_alone_or_not(&mut self) -> Result<ObjectName> {
        if self.take("only") {
            return self.object_name();
        }
        let name = self.object_name()?;
        self.take_symbol(&Token::Mul);
        Ok(name)
    }

    fn lock_mode(&mut self) -> Result<TableLockMode> {
        use TableLockMode as Mode;
        if self.take("exclusive") {
            return Ok(Mode::Exclusive);
        }
        if self.take("share") {
            let mode = match self.take_one(&["update", "row"]) {
                None => return Ok(Mode::Share),
                Some(0) => Mode::ShareUpdateExclusive,
                Some(_) => Mode::ShareRowExclusive,
            };
            self.expect("exclusive")?;
            return Ok(mode);
        }
        let (share, exclusive) = match self.take_one(&["access", "row"]) {
            Some(0) => (Mode::AccessShare, Mode::AccessExclusive),
            Some(_) => (Mode::RowShare, Mode::RowExclusive),
            None => return Err(self.unexpected()),
        };
        match self.take_one(&["share", "exclusive"]) {
            Some(0) => Ok(share),
            Some(_) => Ok(exclusive),
            None => Err(self.unexpected()),
        }
    }
}
