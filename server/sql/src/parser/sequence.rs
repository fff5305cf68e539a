//! Sequences and their options, also those of identity columns.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use super::create_objects::Temporary;
use crate::ast::{CreateSequence, SequenceOption, Statement};

impl Cursor<'_> {
    /// `CREATE SEQUENCE`, behind that word.
    pub(super) fn create_sequence(&mut self, temporary: Temporary) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let options = self.sequence_options()?;
        Ok(Statement::CreateSequence(CreateSequence {
            name,
            if_not_exists,
            temporary: temporary != Temporary::No,
            global: temporary == Temporary::Global,
            options,
        }))
    }

    /// Options up to the first word that is none.
    pub(crate) fn sequence_options(&mut self) -> Result<Vec<SequenceOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.sequence_option()? {
            options.push(option);
        }
        Ok(options)
    }

    /// `[(options)]` of an identity column.
    pub(crate) fn identity_options(&mut self) -> Result<Vec<SequenceOption>> {
        if !self.take_symbol(&Token::LParen) {
            return Ok(Vec::new());
        }
        let options = self.sequence_options()?;
        self.expect_symbol(&Token::RParen)?;
        Ok(options)
    }

    /// One option; `None` when none is next.
    pub(crate) fn sequence_option(&mut self) -> Result<Option<SequenceOption>> {
        let option = if self.take("as") {
            SequenceOption::As(self.data_type()?)
        } else if self.take("increment") {
            self.take("by");
            SequenceOption::IncrementBy(self.integer()?)
        } else if self.take("minvalue") {
            SequenceOption::MinValue(Some(self.integer()?))
        } else if self.take("maxvalue") {
            SequenceOption::MaxValue(Some(self.integer()?))
        } else if self.take_all(&["no", "minvalue"]) {
            SequenceOption::MinValue(None)
        } else if self.take_all(&["no", "maxvalue"]) {
            SequenceOption::MaxValue(None)
        } else if self.take("start") {
            self.take("with");
            SequenceOption::StartWith(self.integer()?)
        } else if self.take("restart") {
            let with = self.take("with");
            let has_number = matches!(self.peek(), Token::Number(..) | Token::Minus | Token::Plus);
            let number = if with || has_number { Some(self.integer()?) } else { None };
            SequenceOption::Restart(number)
        } else if self.take("cache") {
            SequenceOption::Cache(self.integer()?)
        } else if self.take("cycle") {
            SequenceOption::Cycle(true)
        } else if self.take_all(&["no", "cycle"]) {
            SequenceOption::Cycle(false)
        } else if self.take_all(&["owned", "by"]) {
            let column = self.object_name()?;
            let is_none = column.0.len() == 1
                && column.0[0]
                    .as_ident()
                    .is_some_and(|part| part.quote_style.is_none() && part.value == "none");
            SequenceOption::OwnedBy((!is_none).then_some(column))
        } else if self.take_all(&["sequence", "name"]) {
            SequenceOption::Name(self.object_name()?)
        } else {
            return Ok(None);
        };
        Ok(Some(option))
    }
}
