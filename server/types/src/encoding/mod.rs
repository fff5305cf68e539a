//! Encodings of text other than UTF8: their names, and text from and to their bytes.
//!
//! Here: what `client_encoding` and the `convert` functions know. Not here: when the bytes of a
//! client are converted; `wire` does that.
//!
//! Rules: stored text is UTF8, so every conversion has UTF8 on one side; a byte that stands for
//! nothing is an error and never replaced; ISO 8859 encodings have the control characters of
//! 0x80 to 0x9f, and Windows encodings have none of them.

mod convert;
mod names;

pub use convert::{StreamDecoder, decode, encode, is_text_in_binary};
pub use names::{Encoding, Tables};
