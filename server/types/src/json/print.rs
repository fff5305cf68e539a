//! Text forms: jsonb's own spacing, and `jsonb_pretty`.

use super::Json;

/// Appends a JSON string literal.
pub fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            0..=31 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

impl Json {
    /// Appends the text: a `json` as it was written, a `jsonb` with `", "` and `": "`.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Json::Raw(text) => out.extend_from_slice(text.as_bytes()),
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(true) => out.extend_from_slice(b"true"),
            Json::Bool(false) => out.extend_from_slice(b"false"),
            Json::Number(number) => number.write_text(out),
            Json::String(text) => quote(text, out),
            Json::Array(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.extend_from_slice(b", ");
                    }
                    item.write_text(out);
                }
                out.push(b']');
            }
            Json::Object(members) => {
                out.push(b'{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.extend_from_slice(b", ");
                    }
                    quote(key, out);
                    out.extend_from_slice(b": ");
                    value.write_text(out);
                }
                out.push(b'}');
            }
        }
    }

    /// `jsonb_pretty`: four blanks a level.
    pub fn pretty(&self) -> String {
        let mut out = Vec::new();
        self.write_pretty(0, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn write_pretty(&self, depth: usize, out: &mut Vec<u8>) {
        let line = |depth: usize, out: &mut Vec<u8>| {
            out.push(b'\n');
            out.resize(out.len() + depth * 4, b' ');
        };
        match self {
            Json::Array(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    line(depth + 1, out);
                    item.write_pretty(depth + 1, out);
                }
                line(depth, out);
                out.push(b']');
            }
            Json::Object(members) => {
                out.push(b'{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    line(depth + 1, out);
                    quote(key, out);
                    out.extend_from_slice(b": ");
                    value.write_pretty(depth + 1, out);
                }
                line(depth, out);
                out.push(b'}');
            }
            other => other.write_text(out),
        }
    }

    /// What `->>` gives: a string without quotes, anything else as its text; `None` for `null`.
    pub fn to_plain_text(&self) -> Option<String> {
        match self {
            Json::Null => None,
            Json::String(text) => Some(text.to_string()),
            Json::Raw(text) => match self.type_name() {
                "null" => None,
                "string" => match Json::parse(text) {
                    Ok(Json::String(text)) => Some(text.into()),
                    _ => Some(text.to_string()),
                },
                _ => Some(text.trim().to_owned()),
            },
            other => Some(other.to_string()),
        }
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.write_text(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}
