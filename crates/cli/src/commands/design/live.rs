//! `exm design --live`: the page about a design while it runs, for a browser on this machine.

use super::page::page;
use super::watch::Watch;
use crate::shell::{self, Failure};
use exm_measure::report::Page;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};
use tiny_http::{Header, Method, Request, Response};

/// Replaces the page's content by the current one every few seconds.
const SCRIPT: &str = include_str!("live.js");
/// A page is made at most this often, and takes at most one part in so many of the time: it simulates networks on the
/// processors that the design wants.
const AT_MOST_EVERY: Duration = Duration::from_secs(2);
const SHARE: u32 = 20;
/// The page loads nothing from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; connect-src 'self'; frame-ancestors 'none'";

/// The page as it was last made.
struct Made {
    html: String,
    /// When the next one may be made.
    until: Instant,
}

struct Server {
    watch: Watch,
    made: Option<Made>,
    address: SocketAddr,
}

/// Serves the page about the designs of `watch` on this `port` of the loopback address until the program ends; on a free one
/// for 0. Its address is told.
pub(super) fn serve(port: u16, watch: Watch) -> Result<(), Failure> {
    let failure = |error: &dyn std::fmt::Display| {
        Failure::new(format!("cannot serve a page on port {port} of 127.0.0.1: {error}"))
            .with_tip("leave the port out for a free one: --live")
    };
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| failure(&error))?;
    let address = listener.local_addr().map_err(|error| failure(&error))?;
    let http = tiny_http::Server::from_listener(listener, None).map_err(|error| failure(&error))?;
    std::thread::spawn(move || {
        let mut server = Server { watch, made: None, address };
        for request in http.incoming_requests() {
            // A browser that has gone away misses its page.
            let _ = server.answer(request);
        }
    });
    shell::note(&format!("the design is shown at http://{address}/"));
    Ok(())
}

impl Server {
    fn answer(&mut self, request: Request) -> std::io::Result<()> {
        if !self.is_meant(&request) {
            return request.respond(Response::empty(403));
        }
        if request.method() != &Method::Get || request.url() != "/" {
            return request.respond(Response::empty(404));
        }
        let headers = [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Security-Policy", POLICY),
            ("Cache-Control", "no-store"),
        ];
        let response =
            headers.iter().fold(Response::from_string(self.html()), |response, header| {
                response.with_header(
                    Header::from_bytes(header.0, header.1).expect("these headers are ASCII"),
                )
            });
        request.respond(response)
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

    /// The page: made anew, unless that was done a moment ago.
    // Only how often the page is made depends on the clock.
    #[allow(clippy::disallowed_methods)]
    fn html(&mut self) -> String {
        let start = Instant::now();
        if let Some(made) = self.made.as_ref().filter(|made| start < made.until) {
            return made.html.clone();
        }
        let html = self.made_anew();
        let until = start + (start.elapsed() * SHARE).max(AT_MOST_EVERY);
        self.made = Some(Made { html: html.clone(), until });
        html
    }

    fn made_anew(&self) -> String {
        let designs = self.watch.designs();
        let told = |lead: String| Page { title: "Design".to_owned(), lead, ..Page::default() };
        let page = match designs.as_slice() {
            [] => told("The design begins.".to_owned()),
            designs => page(designs).unwrap_or_else(|failure| told(failure.into_text())),
        };
        let script = format!("<script>\n{SCRIPT}</script>\n</body>");
        page.html().replacen("</body>", &script, 1)
    }
}
