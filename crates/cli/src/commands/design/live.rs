//! `exm design --live`: the page about a design while it runs, for a browser on this machine.

use super::page::page;
use super::watch::Watch;
use crate::loopback::Server;
use crate::shell::{self, Failure};
use exm_measure::report::Page;
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

struct Live {
    watch: Watch,
    made: Option<Made>,
}

/// Serves the page about the designs of `watch` on this `port` of the loopback address until the program ends; on a free one
/// for 0. Its address is told.
pub(super) fn serve(port: u16, watch: Watch) -> Result<(), Failure> {
    let server = Server::listen(Some(port), "--live")?;
    let url = server.url();
    let mut live = Live { watch, made: None };
    std::thread::spawn(move || server.serve(POLICY, || live.html().into_bytes().into()));
    shell::note(&format!("the design is shown at {url}"));
    Ok(())
}

impl Live {
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
