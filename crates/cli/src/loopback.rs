//! A page for a browser on this machine, served on the loopback address.

use crate::shell::Failure;
use std::borrow::Cow;
use std::io::Cursor;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use tiny_http::{Header, Method, Request, Response};

/// A page is never kept, taken for something else, or named to other sites.
const HEADERS: [(&str, &str); 5] = [
    ("Content-Type", "text/html; charset=utf-8"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
];

/// A server of one page, which listens.
pub(crate) struct Server {
    http: tiny_http::Server,
    address: SocketAddr,
}

impl Server {
    /// Listens on this `port`, or on a free one; `without` is what to give instead of a port for that.
    pub(crate) fn listen(port: Option<u16>, without: &str) -> Result<Server, Failure> {
        let port = port.unwrap_or(0);
        let failure = |error: &dyn std::fmt::Display| {
            Failure::new(format!("cannot serve a page on port {port} of 127.0.0.1: {error}"))
                .with_tip(format!("leave the port out for a free one: {without}"))
        };
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| failure(&error))?;
        let address = listener.local_addr().map_err(|error| failure(&error))?;
        let http =
            tiny_http::Server::from_listener(listener, None).map_err(|error| failure(&error))?;
        Ok(Server { http, address })
    }

    /// The URL of the page.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers requests by the `page` of the moment and its content-security `policy`, until the program ends.
    pub(crate) fn serve(self, policy: &'static str, mut page: impl FnMut() -> Cow<'static, [u8]>) {
        for request in self.http.incoming_requests() {
            let response = match self.status(&request) {
                200 => with_page(page(), policy),
                405 => nothing(405).with_header(header("Allow", "GET, HEAD")),
                status => nothing(status),
            };
            // A browser that reads slowly holds up no other, and one that has gone away misses its page.
            std::thread::spawn(move || request.respond(response));
        }
    }

    /// The status of the response to `request`.
    fn status(&self, request: &Request) -> u16 {
        match request.method() {
            _ if !self.is_meant(request) => 403,
            _ if request.url() != "/" => 404,
            Method::Get | Method::Head => 200,
            _ => 405,
        }
    }

    /// Whether a request is for this server by its own name: a foreign page whose name was made to resolve to this machine
    /// must not read it.
    fn is_meant(&self, request: &Request) -> bool {
        let host = request.headers().iter().find(|header| header.field.equiv("Host"));
        let port = self.address.port();
        host.is_some_and(|host| {
            let host = host.value.as_str();
            host == format!("127.0.0.1:{port}") || host == format!("localhost:{port}")
        })
    }
}

type Page = Response<Cursor<Cow<'static, [u8]>>>;

fn nothing(status: u16) -> Page {
    Response::new(status.into(), Vec::new(), Cursor::new(Cow::Borrowed(&[])), Some(0), None)
}

fn with_page(page: Cow<'static, [u8]>, policy: &str) -> Page {
    let length = page.len();
    let response = Response::new(200.into(), Vec::new(), Cursor::new(page), Some(length), None);
    let headers = HEADERS.into_iter().chain([("Content-Security-Policy", policy)]);
    headers.fold(response, |response, (name, value)| response.with_header(header(name, value)))
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("these headers are ASCII")
}
