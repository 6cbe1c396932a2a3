//! Requests of HTTP/1.0 (RFC 1945), as far as a control socket understands them.

/// The longest request, with its headers, in bytes.
pub(super) const LONGEST: usize = 4096;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The metrics, in Prometheus' text format.
    Metrics,
    /// The status, in JSON.
    Status,
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not a request of HTTP.
    Malformed,
    /// It is longer than [`LONGEST`].
    TooLong,
    /// It has another method than GET.
    Method,
    /// There is nothing of that name.
    Unknown,
    /// There are too many connections.
    Busy,
}

impl Refusal {
    /// The status line of the response, after the version.
    pub(super) fn line(self) -> &'static str {
        match self {
            Refusal::Malformed => "400 Bad Request",
            Refusal::TooLong => "431 Request Header Fields Too Large",
            Refusal::Method => "405 Method Not Allowed",
            Refusal::Unknown => "404 Not Found",
            Refusal::Busy => "503 Service Unavailable",
        }
    }

    /// What to do instead.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Refusal::Malformed => "send a request of HTTP/1.0, such as \"GET /status HTTP/1.0\"\n",
            Refusal::TooLong => "a request has at most 4096 bytes\n",
            Refusal::Method => "only GET is served\n",
            Refusal::Unknown => "there are /metrics and /status\n",
            Refusal::Busy => "too many connections are open: try again\n",
        }
    }
}

/// Parses what has arrived of a request. `None` if its end has not arrived yet. Headers are ignored.
pub(super) fn parse(received: &[u8]) -> Option<Result<Target, Refusal>> {
    if received.len() > LONGEST {
        return Some(Err(Refusal::TooLong));
    }
    let has_ended = [b"\r\n\r\n".as_slice(), b"\n\n"]
        .iter()
        .any(|end| received.windows(end.len()).any(|window| window == *end));
    let line = received.split(|&byte| byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !has_ended {
        return None;
    }
    let mut words = line.split(|&byte| byte == b' ');
    let (Some(method), Some(path), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Some(Err(Refusal::Malformed));
    };
    if !version.starts_with(b"HTTP/1.") {
        return Some(Err(Refusal::Malformed));
    }
    if method != b"GET" {
        return Some(Err(Refusal::Method));
    }
    let name = path.split(|&byte| byte == b'?').next();
    Some(match name {
        Some(b"/metrics") => Ok(Target::Metrics),
        Some(b"/status") => Ok(Target::Status),
        _ => Err(Refusal::Unknown),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_are_parsed_once_they_are_complete() {
        for (text, parsed) in [
            ("GET /metrics HTTP/1.0\r\n\r\n", Some(Ok(Target::Metrics))),
            ("GET /status HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n", Some(Ok(Target::Status))),
            ("GET /metrics?name[]=a HTTP/1.0\n\n", Some(Ok(Target::Metrics))),
            ("", None),
            ("GET /metrics HTTP/1.0\r\n", None),
            ("GET /metrics HTTP/1.0\r\nHost: a\r\n", None),
            ("POST /metrics HTTP/1.0\r\n\r\n", Some(Err(Refusal::Method))),
            ("HEAD /metrics HTTP/1.0\r\n\r\n", Some(Err(Refusal::Method))),
            ("GET / HTTP/1.0\r\n\r\n", Some(Err(Refusal::Unknown))),
            ("GET /metrics/.. HTTP/1.0\r\n\r\n", Some(Err(Refusal::Unknown))),
            ("GET /metrics\r\n\r\n", Some(Err(Refusal::Malformed))),
            ("GET  /metrics HTTP/1.0\r\n\r\n", Some(Err(Refusal::Malformed))),
            ("GET /metrics HTTP/2\r\n\r\n", Some(Err(Refusal::Malformed))),
            ("\r\n\r\n", Some(Err(Refusal::Malformed))),
        ] {
            assert_eq!(parse(text.as_bytes()), parsed, "{text:?}");
        }
    }

    #[test]
    fn long_requests_are_refused() {
        let long = [b"GET /metrics HTTP/1.0\r\nA: ".as_slice(), &[b'a'; LONGEST]].concat();
        assert_eq!(parse(&long[..LONGEST]), None);
        assert_eq!(parse(&long), Some(Err(Refusal::TooLong)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let end = parse(&[&bytes[..], b"\r\n\r\n"].concat());
            prop_assert!(end.is_some());
        }
    }
}
