//! `exm design --live`: the page about a design while it runs, for a browser on this machine.

use super::page::page;
use super::watch::Watch;
use crate::shell::{self, Failure};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    made: Mutex<Option<Made>>,
    address: SocketAddr,
}

/// Serves the page about the designs of `watch` on this `port` of the loopback address until the program ends; on a free one
/// for 0. Its address is told.
pub(super) fn serve(port: u16, watch: Watch) -> Result<(), Failure> {
    let failure = |error: std::io::Error| {
        Failure::new(format!("cannot serve a page on port {port} of 127.0.0.1: {error}"))
            .with_tip("leave the port out for a free one: --live")
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failure)?;
    listener.set_nonblocking(true).map_err(failure)?;
    let address = listener.local_addr().map_err(failure)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failure)?;
    let server = Arc::new(Server { watch, made: Mutex::new(None), address });
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, Router::new().route("/", get(answer)).with_state(server)).await
        })
    });
    shell::note(&format!("the design is shown at http://{address}/"));
    Ok(())
}

async fn answer(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    if !server.is_meant(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let made = tokio::task::spawn_blocking(move || server.html()).await;
    let Ok(html) = made else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let headers = [(header::CONTENT_SECURITY_POLICY, POLICY), (header::CACHE_CONTROL, "no-store")];
    (headers, Html(html)).into_response()
}

impl Server {
    /// Whether a request is for this server by its own name: a foreign page whose name was made to resolve to this machine
    /// must not read it.
    fn is_meant(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let port = self.address.port();
        host.is_some_and(|host| {
            host == format!("127.0.0.1:{port}") || host == format!("localhost:{port}")
        })
    }

    /// The page: made anew, unless that was done a moment ago.
    fn html(&self) -> String {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        if let Some(made) = made.as_ref().filter(|made| start < made.until) {
            return made.html.clone();
        }
        let html = self.made_anew();
        let until = start + (start.elapsed() * SHARE).max(AT_MOST_EVERY);
        *made = Some(Made { html: html.clone(), until });
        html
    }

    fn made_anew(&self) -> String {
        let designs = self.watch.designs();
        if designs.is_empty() {
            return "<!DOCTYPE html><main><p>The design begins.</p></main>".to_owned() + &script();
        }
        match page(&designs) {
            Ok(page) => page.html().replacen("</body>", &(script() + "</body>"), 1),
            Err(failure) => {
                let text = failure.into_text().replace('&', "&amp;").replace('<', "&lt;");
                format!("<!DOCTYPE html><main><p>{text}</p></main>{}", script())
            }
        }
    }
}

fn script() -> String {
    format!("<script>\n{SCRIPT}</script>\n")
}
