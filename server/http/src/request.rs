//! The head of an HTTP/1.1 request. Nothing but the method and the path matters here.

/// Method and path of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
}

/// Whether the head of a request is whole.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|four| four == b"\r\n\r\n") || bytes.windows(2).any(|two| two == b"\n\n")
}

/// Reads the first line; `None` if it is not HTTP/1.
pub(crate) fn parse(bytes: &[u8]) -> Option<Request<'_>> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim_end_matches('\r');
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let fits = words.next().is_none() && version.starts_with("HTTP/1.") && target.starts_with('/');
    let path = target.split(['?', '#']).next()?;
    fits.then_some(Request { method, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_first_line() {
        let request = parse(b"GET /health?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(request, Some(Request { method: "GET", path: "/health" }));
    }

    #[test]
    fn garbage_is_no_request() {
        for bytes in [&b""[..], b"\n\n", b"GET\n\n", b"GET / FTP/1\n\n", b"\xff\xff / HTTP/1.1\n\n"]
        {
            assert_eq!(parse(bytes), None);
        }
    }
}
