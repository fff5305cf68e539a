//! Where traces are sent: the URL of a collector.

use std::fmt;
use std::str::FromStr;

/// The path of traces in OTLP over HTTP.
const PATH: &str = "/v1/traces";
/// The port of OTLP over HTTP.
const PORT: u16 = 4318;

/// A collector of traces that takes OTLP over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint {
    /// Host and port.
    pub(crate) authority: String,
    pub(crate) path: String,
}

impl FromStr for OtlpEndpoint {
    type Err = String;

    /// Reads `http://HOST[:PORT][/PATH]`. The default port is 4318, and the default path is that
    /// of the specification.
    fn from_str(text: &str) -> Result<OtlpEndpoint, String> {
        let rest = text.strip_prefix("http://").ok_or_else(|| match text.contains("://") {
            true => "only http:// is supported; a collector on this machine can add TLS".to_owned(),
            false => format!("expected a URL such as http://127.0.0.1:{PORT}"),
        })?;
        let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '@');
        if !rest.chars().all(is_plain) {
            return Err("a user, a query or a blank is not possible in this URL".to_owned());
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => (&rest[..at], &rest[at..]),
            None => (rest, "/"),
        };
        // The colons of an IPv6 address are in brackets.
        let after = authority.rsplit(']').next().unwrap_or(authority);
        let has_port = match after.rsplit_once(':') {
            Some((_, port)) => {
                port.parse::<u16>().map_err(|_| format!("\"{port}\" is no port"))?;
                true
            }
            None => false,
        };
        if authority.is_empty() || authority.starts_with(':') {
            return Err("the URL has no host".to_owned());
        }
        Ok(OtlpEndpoint {
            authority: match has_port {
                true => authority.to_owned(),
                false => format!("{authority}:{PORT}"),
            },
            path: if path == "/" { PATH.to_owned() } else { path.to_owned() },
        })
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_and_path_have_defaults() {
        for (text, full) in [
            ("http://collector", "http://collector:4318/v1/traces"),
            ("http://127.0.0.1:9/", "http://127.0.0.1:9/v1/traces"),
            ("http://[::1]", "http://[::1]:4318/v1/traces"),
            ("http://[::1]:7/a/b", "http://[::1]:7/a/b"),
        ] {
            assert_eq!(text.parse::<OtlpEndpoint>().map(|e| e.to_string()), Ok(full.to_owned()));
        }
        for text in
            ["", "collector:4318", "https://a", "http://", "http://:1", "http://a:b", "http://a?b"]
        {
            assert!(text.parse::<OtlpEndpoint>().is_err(), "{text}");
        }
    }
}
