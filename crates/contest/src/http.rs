//! [`serve`]: a small HTTP server for a handful of pages and submissions, which strangers cannot hold up.
//!
//! Each connection carries one request (RFC 9112) and has a thread, of which there are at most
//! [`Limits::connections`]; others are turned away at once. A request has [`Limits::time`] in all to arrive and its
//! response as long to leave, so a slow client costs one thread for that time and nobody else anything. A body is read
//! only if its length was announced and is within [`Limits::body`].

#![allow(
    clippy::disallowed_methods,
    reason = "a client's time is limited by the wall clock; no result depends on it"
)]

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a server grants its clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The length of a body, bytes.
    pub body: usize,
    /// Connections at once.
    pub connections: usize,
    /// The time for a request to arrive, and for its response to leave.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { body: 1 << 20, connections: 256, time: Duration::from_secs(10) }
    }
}

/// The length of the head of a request at most, bytes, and the number of its header fields.
const HEAD: usize = 8 << 10;
const FIELDS: usize = 64;
/// How often a server looks whether it shall stop.
const PAUSE: Duration = Duration::from_millis(50);

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Its method, such as `GET`.
    pub method: String,
    /// Its target: path and query, as they were sent.
    pub target: String,
    /// The value of the field `Host`.
    pub host: String,
    /// The token of the field `Authorization: Bearer`.
    pub token: Option<String>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Request {
    /// The path of its target, without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The value of `key` in the query, if it has one; names of files need no percent-encoding.
    pub fn query(&self, key: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(name, _)| *name == key))
            .map(|(_, value)| value)
    }
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status, such as 200.
    pub status: u16,
    /// The media type of the body.
    pub media_type: &'static str,
    /// Further header fields.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// A response with a body of this media type.
    pub fn new(status: u16, media_type: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response { status, media_type, fields: Vec::new(), body: body.into() }
    }

    /// An error, as JSON.
    pub fn error(status: u16, problem: &str) -> Response {
        let body = serde_json::json!({ "error": problem }).to_string() + "\n";
        Response::new(status, "application/json", body)
    }
}

/// Answers the requests that arrive at `listener` by `answer`, from several threads at once, until `stop`.
///
/// # Errors
/// If the listener fails.
pub fn serve(
    listener: &TcpListener,
    limits: Limits,
    stop: &AtomicBool,
    answer: impl Fn(&Request) -> Response + Sync,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let busy = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                // A client that has gone already, or too many open files: neither is the end.
                Err(_) => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
            };
            if busy.load(Ordering::Relaxed) >= limits.connections {
                turn_away(&stream);
                continue;
            }
            busy.fetch_add(1, Ordering::Relaxed);
            let (busy, answer) = (&busy, &answer);
            scope.spawn(move || {
                // What goes wrong with one client concerns nobody else.
                let _ = converse(&stream, limits, answer);
                busy.fetch_sub(1, Ordering::Relaxed);
            });
        }
        Ok(())
    })
}

/// Tells a client in one packet, without waiting, that there is no room.
fn turn_away(stream: &TcpStream) {
    let _ = stream.set_nonblocking(true);
    let mut stream = stream;
    let _ = stream.write(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

fn converse(
    stream: &TcpStream,
    limits: Limits,
    answer: &(impl Fn(&Request) -> Response + Sync),
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut reader = Timed { stream, until: Instant::now() + limits.time };
    let (response, is_head) = match read(&mut reader, limits) {
        Ok(request) => (answer(&request), request.method == "HEAD"),
        Err(Refusal::Response(response)) => (response, false),
        Err(Refusal::Io(error)) => return Err(error),
    };
    let mut writer = Timed { stream, until: Instant::now() + limits.time };
    writer.write_all(head(&response).as_bytes())?;
    if !is_head {
        writer.write_all(&response.body)?;
    }
    stream.shutdown(Shutdown::Write)?;
    // What the client still sends is read, or it might not see the response.
    let mut rest = [0; 4096];
    let mut reader = Timed { stream, until: Instant::now() + Duration::from_secs(1) };
    while reader.read(&mut rest)? > 0 {}
    Ok(())
}

/// Why there is no request.
enum Refusal {
    Io(io::Error),
    Response(Response),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::Io(error)
    }
}

fn read(stream: &mut Timed<'_>, limits: Limits) -> Result<Request, Refusal> {
    let mut bytes = Vec::new();
    let refuse = |status, problem: &str| Err(Refusal::Response(Response::error(status, problem)));
    let (mut request, end, length, expects) = loop {
        if bytes.len() >= HEAD {
            return refuse(431, "the head of the request is too long");
        }
        let mut part = [0; 1024];
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        bytes.extend_from_slice(&part[..read]);
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        let end = match parsed.parse(&bytes) {
            Ok(httparse::Status::Complete(end)) => end,
            Ok(httparse::Status::Partial) => continue,
            Err(error) => return refuse(400, &format!("this is no HTTP request: {error}")),
        };
        let field = |name: &str| {
            let field = parsed.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
            field.map(|field| String::from_utf8_lossy(field.value).trim().to_owned())
        };
        if field("transfer-encoding").is_some() {
            return refuse(411, "announce the length of the body by Content-Length");
        }
        let token = field("authorization");
        let token = token.as_deref().and_then(|value| value.strip_prefix("Bearer "));
        let request = Request {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            host: field("host").unwrap_or_default(),
            token: token.map(|token| token.trim().to_owned()),
            body: Vec::new(),
        };
        let length = match field("content-length") {
            None => 0,
            Some(text) => match text.parse::<usize>() {
                Ok(length) => length,
                Err(_) => return refuse(400, "Content-Length is no number"),
            },
        };
        break (request, end, length, field("expect").is_some());
    };
    if length > limits.body {
        return refuse(413, &format!("the body is larger than {} bytes", limits.body));
    }
    if expects {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    request.body = bytes.split_off(end);
    request.body.truncate(length);
    let had = request.body.len();
    request.body.resize(length, 0);
    stream.read_exact(&mut request.body[had..])?;
    Ok(request)
}

/// A stream of which all reads, or all writes, together end by a time.
struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        (&mut &*self.stream).read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        (&mut &*self.stream).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn head(response: &Response) -> String {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: \
         no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n",
        response.status,
        reason(response.status),
        response.media_type,
        response.body.len()
    );
    for (name, value) in &response.fields {
        head += &format!("{name}: {value}\r\n");
    }
    head + "\r\n"
}

/// The reason phrase of a status (RFC 9110, section 15).
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    /// Runs `clients` against a server that echoes bodies.
    fn with_server(limits: Limits, clients: impl FnOnce(std::net::SocketAddr)) -> u32 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, answered) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            let server = scope.spawn(|| {
                serve(&listener, limits, &stop, |request| {
                    answered.fetch_add(1, Ordering::Relaxed);
                    Response::new(200, "text/plain", request.body.clone())
                })
            });
            clients(address);
            stop.store(true, Ordering::Relaxed);
            server.join().unwrap().unwrap();
        });
        answered.into_inner()
    }

    fn ask(address: std::net::SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    #[test]
    fn requests_are_answered_and_bad_ones_refused() {
        let limits = Limits { body: 10, ..Limits::default() };
        with_server(limits, |address| {
            let post = |body: &str| {
                format!(
                    "POST /x?name=a HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )
            };
            assert!(ask(address, &post("0123456789")).ends_with("\r\n\r\n0123456789"));
            let expect = post("abc").replace("Host: h", "Host: h\r\nExpect: 100-continue");
            assert!(
                ask(address, &expect).starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")
            );
            assert!(ask(address, &post("0123456789a")).starts_with("HTTP/1.1 413"));
            assert!(ask(address, "rubbish\r\n\r\n").starts_with("HTTP/1.1 400"));
            let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
            assert!(ask(address, chunked).starts_with("HTTP/1.1 411"));
            let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9000));
            assert!(ask(address, &long).starts_with("HTTP/1.1 431"));
            assert!(
                ask(address, "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n")
                    .starts_with("HTTP/1.1 400")
            );
        });
    }

    #[test]
    fn slow_clients_hold_up_nobody() {
        let limits = Limits { time: Duration::from_millis(1500), ..Limits::default() };
        let answered = with_server(limits, |address| {
            let slow: Vec<TcpStream> = (0..100)
                .map(|_| {
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\na").unwrap();
                    stream
                })
                .collect();
            std::thread::scope(|scope| {
                for _ in 0..100 {
                    scope.spawn(|| {
                        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
                    });
                }
            });
            // After their time, their connections are closed.
            for mut stream in slow {
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                assert_eq!(stream.read(&mut [0; 10]).unwrap_or(0), 0);
            }
        });
        assert_eq!(answered, 100);
    }

    #[test]
    fn more_connections_than_there_is_room_for_are_turned_away() {
        let limits = Limits { connections: 2, time: Duration::from_secs(5), ..Limits::default() };
        with_server(limits, |address| {
            let hold: Vec<TcpStream> =
                (0..2).map(|_| TcpStream::connect(address).unwrap()).collect();
            std::thread::sleep(Duration::from_millis(300));
            let mut stream = TcpStream::connect(address).unwrap();
            let mut reply = String::new();
            let _ = stream.read_to_string(&mut reply);
            assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
            drop(hold);
        });
    }

    #[test]
    fn queries_have_values() {
        let request =
            Request { target: "/submit?file=mine.wasm&x=1".to_owned(), ..Request::default() };
        assert_eq!(
            (request.path(), request.query("file"), request.query("y")),
            ("/submit", Some("mine.wasm"), None)
        );
    }
}
