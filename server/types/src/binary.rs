//! PostgreSQL's binary format for parameters, results and COPY.

use crate::{Datum, Result, SqlType};

/// Decodes a parameter; 22P03 if its bytes are not of that type.
pub fn decode(_ty: &SqlType, _bytes: &[u8]) -> Result<Datum> {
    todo!()
}

/// Appends the binary form of a datum that is not NULL (no length prefix).
pub fn encode(_ty: &SqlType, _datum: &Datum, _out: &mut Vec<u8>) {
    todo!()
}
