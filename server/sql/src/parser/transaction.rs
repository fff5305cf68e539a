//! `BEGIN`, `COMMIT`, `ROLLBACK`, savepoints, and the modes of a transaction.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{IsolationLevel, Statement, TransactionModes};

impl Cursor<'_> {
    /// A statement about the transaction.
    pub(crate) fn transaction(&mut self) -> Result<Statement> {
        let word = self.peek_word().unwrap_or_default().to_owned();
        self.advance();
        match word.as_str() {
            "begin" => {
                self.take_work();
                Ok(Statement::Begin(self.transaction_modes()?))
            }
            "start" => {
                self.expect("transaction")?;
                Ok(Statement::Begin(self.transaction_modes()?))
            }
            "commit" | "end" => {
                if word == "commit" && self.is("prepared") {
                    return Err(self.unsupported("COMMIT PREPARED"));
                }
                self.take_work();
                Ok(Statement::Commit { and_chain: self.and_chain()? })
            }
            "savepoint" => Ok(Statement::Savepoint(self.ident()?)),
            "release" => {
                self.take("savepoint");
                Ok(Statement::Release(self.ident()?))
            }
            _ => {
                if word == "rollback" && self.is("prepared") {
                    return Err(self.unsupported("ROLLBACK PREPARED"));
                }
                self.take_work();
                if word == "rollback" && self.take("to") {
                    self.take("savepoint");
                    let to_savepoint = Some(self.ident()?);
                    return Ok(Statement::Rollback { and_chain: false, to_savepoint });
                }
                Ok(Statement::Rollback { and_chain: self.and_chain()?, to_savepoint: None })
            }
        }
    }

    fn take_work(&mut self) {
        self.take_one(&["work", "transaction"]);
    }

    /// `AND [NO] CHAIN`.
    fn and_chain(&mut self) -> Result<bool> {
        if !self.take("and") {
            return Ok(false);
        }
        let no = self.take("no");
        self.expect("chain")?;
        Ok(!no)
    }

    /// Modes, with or without commas between them; perhaps none.
    pub(crate) fn transaction_modes(&mut self) -> Result<TransactionModes> {
        let mut modes = TransactionModes::default();
        let mut needs_mode = false;
        loop {
            if self.take("isolation") {
                self.expect("level")?;
                modes.isolation = Some(self.isolation_level()?);
            } else if self.take("read") {
                modes.read_only = match self.take_one(&["only", "write"]) {
                    Some(which) => Some(which == 0),
                    None => return Err(self.unexpected()),
                };
            } else if self.take("deferrable") {
                modes.deferrable = Some(true);
            } else if self.take_all(&["not", "deferrable"]) {
                modes.deferrable = Some(false);
            } else if needs_mode {
                return Err(self.unexpected());
            } else {
                return Ok(modes);
            }
            needs_mode = self.take_symbol(&Token::Comma);
        }
    }

    fn isolation_level(&mut self) -> Result<IsolationLevel> {
        if self.take("serializable") {
            return Ok(IsolationLevel::Serializable);
        }
        if self.take_all(&["repeatable", "read"]) {
            return Ok(IsolationLevel::RepeatableRead);
        }
        self.expect("read")?;
        match self.take_one(&["committed", "uncommitted"]) {
            Some(0) => Ok(IsolationLevel::ReadCommitted),
            Some(_) => Ok(IsolationLevel::ReadUncommitted),
            None => Err(self.unexpected()),
        }
    }
}
