//! `traceparent` of the W3C trace context: its form, and the comment that contains one.
//!
//! ```text
//! SELECT 1 /*a='b',traceparent='00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'*/
//!                   version ──┘  └── trace id ──────────────────┘ └─ parent id ──┘ └ flags
//! ```
//!
//! The comment has the form of sqlcommenter. At the end of a text it is cut off, so that texts that
//! differ in nothing else share a parse and a plan. At the beginning it stays, because the places
//! of errors are counted from there.

use std::fmt;

/// Bytes of a comment that is looked at, at most.
const COMMENT_BYTES_MAX: usize = 1024;
/// Bytes of the four parts with their hyphens.
const BYTES: usize = 55;

/// The place of a statement in a distributed trace, as its client names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceParent {
    version: u8,
    /// The trace. Not 0.
    pub trace_id: u128,
    /// The span of the client. Not 0.
    pub parent_id: u64,
    /// Bit 0: the trace is sampled.
    pub flags: u8,
}

impl TraceParent {
    /// Reads `version-traceid-parentid-flags`; `None` if it has another form. Versions above 00 may
    /// have more parts, which are left out.
    pub(crate) fn parse(text: &str) -> Option<TraceParent> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_right = |(place, byte): (usize, u8)| match place {
            2 | 35 | 52 | BYTES => byte == b'-',
            place => place > BYTES || is_hex(byte),
        };
        if text.len() < BYTES || !text.bytes().enumerate().all(is_right) {
            return None;
        }
        let version = u8::from_str_radix(&text[..2], 16).ok()?;
        let trace_id = u128::from_str_radix(&text[3..35], 16).ok()?;
        let parent_id = u64::from_str_radix(&text[36..52], 16).ok()?;
        let flags = u8::from_str_radix(&text[53..BYTES], 16).ok()?;
        let is_known = version != 0xff && (version > 0 || text.len() == BYTES);
        (is_known && trace_id != 0 && parent_id != 0).then_some(TraceParent {
            version,
            trace_id,
            parent_id,
            flags,
        })
    }

    /// Whether the client records the trace.
    pub(crate) fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    /// The trace as 32 hexadecimal digits.
    pub(crate) fn trace_id_text(&self) -> String {
        format!("{:032x}", self.trace_id)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceParent { version, trace_id, parent_id, flags } = self;
        write!(f, "{version:02x}-{trace_id:032x}-{parent_id:016x}-{flags:02x}")
    }
}

/// A text without the comment at its end that contains a valid `traceparent`, and its value, or
/// that of such a comment at the beginning.
pub(crate) fn split_comment(sql: &str) -> (&str, Option<TraceParent>) {
    let body = sql.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == ';');
    if let Some(inner) = body.strip_suffix("*/")
        && let Some(start) = comment_start(inner.as_bytes())
        && let Some(trace) = in_comment(&inner[start + 2..])
    {
        return (&sql[..start], Some(trace));
    }
    let leading = sql.trim_ascii_start().strip_prefix("/*").and_then(|rest| {
        let bytes = rest.as_bytes();
        let near = &bytes[..bytes.len().min(COMMENT_BYTES_MAX)];
        let end = near.windows(2).position(|pair| pair == b"*/")?;
        in_comment(&rest[..end])
    });
    (sql, leading)
}

/// Where the last comment of a text begins that ends without its `*/`, if that is near.
fn comment_start(text: &[u8]) -> Option<usize> {
    let from = text.len().saturating_sub(COMMENT_BYTES_MAX);
    Some(from + text[from..].windows(2).rposition(|pair| pair == b"/*")?)
}

/// The value in a comment of the form `key='value',key='value'`.
fn in_comment(comment: &str) -> Option<TraceParent> {
    if comment.contains("*/") || comment.contains("/*") {
        return None;
    }
    let value = |pair: &str| {
        let value = pair.trim().strip_prefix("traceparent='")?.strip_suffix('\'')?;
        TraceParent::parse(value)
    };
    comment.split(',').find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn the_form_is_that_of_w3c() {
        let parsed = TraceParent::parse(VALID).unwrap();
        assert_eq!(parsed.to_string(), VALID);
        assert_eq!(parsed.trace_id_text(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!((parsed.parent_id, parsed.flags), (0xb7ad_6b71_6920_3331, 1));
        let later = TraceParent::parse(&format!("cc{}-more", &VALID[2..])).unwrap();
        assert_eq!(later.trace_id, parsed.trace_id);
        let wrong = [
            String::new(),
            VALID.to_uppercase(),
            VALID[..54].to_owned(),
            format!("{VALID}-more"),
            format!("cc{}more", &VALID[2..]),
            format!("ff{}", &VALID[2..]),
            VALID.replace('-', "_"),
            VALID.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            VALID.replace("b7ad6b7169203331", &"0".repeat(16)),
            VALID.replace("b7", "é"),
            VALID.replace("b7", "+7"),
        ];
        for text in wrong {
            assert_eq!(TraceParent::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn a_comment_at_the_end_is_cut_off() {
        let trace = TraceParent::parse(VALID);
        let comments = [
            format!("/*traceparent='{VALID}'*/"),
            format!("/* traceparent='{VALID}' */ ;\n"),
            format!("/*route='%2Fa%2Cb',traceparent='{VALID}',x='y'*/"),
            format!("/* route='a' , traceparent='{VALID}' */"),
        ];
        for comment in comments {
            assert_eq!(split_comment(&format!("SELECT 1 {comment}")), ("SELECT 1 ", trace));
            assert_eq!(split_comment(&comment), ("", trace), "{comment}");
        }
    }

    #[test]
    fn a_comment_at_the_beginning_stays() {
        let text = format!(" /* traceparent='{VALID}' */ SELECT 1");
        assert_eq!(split_comment(&text), (&*text, TraceParent::parse(VALID)));
    }

    #[test]
    fn what_is_no_such_comment_stays() {
        let texts = [
            String::new(),
            "*/".to_owned(),
            "/*".to_owned(),
            "/*/".to_owned(),
            "SELECT 1 /* traceparent='00-1-2-3' */".to_owned(),
            format!("SELECT '/* traceparent=''{VALID}'' */'"),
            format!("SELECT 1 /* a /* traceparent='{VALID}' */ */"),
            format!("SELECT 1 /* traceparent={VALID} */"),
            format!("SELECT 1 /* xtraceparent='{VALID}' */"),
            format!("SELECT /* traceparent='{VALID}' */ 1"),
            format!("SELECT 1 /* traceparent='{VALID}'{} */", " ".repeat(COMMENT_BYTES_MAX)),
            format!("SELECT 'é' /* é='{}' */", "é".repeat(COMMENT_BYTES_MAX)),
        ];
        for text in &texts {
            assert_eq!(split_comment(text), (&**text, None), "{text}");
        }
    }
}
