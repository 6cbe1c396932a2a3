//! What the examples share: a controller by its name, a certificate, and a link between two sockets.

#![allow(dead_code, reason = "each example uses its part of this")]

use exm_sim::controllers::AnyController;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::error::Error;
use std::time::{Duration, Instant};

mod link;

pub(crate) use link::Link;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The clock of an example, which runs in real time.
#[expect(clippy::disallowed_methods, reason = "only libraries get the time from their callers")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// What an example is called with: a controller, and how many bytes it sends.
pub(crate) struct Job {
    pub(crate) controller: AnyController,
    pub(crate) bytes: usize,
}

impl Job {
    /// Of the command line: the controller's name or file, and megabytes.
    pub(crate) fn from_args() -> Result<Job> {
        let mut args = std::env::args().skip(1);
        let name = args.next().unwrap_or_else(|| "general-delta1".to_string());
        let megabytes = args.next().map_or(Ok(5), |text| text.parse::<usize>());
        let megabytes =
            megabytes.map_err(|_| "the second argument is a count of megabytes, such as 5")?;
        Ok(Job { controller: controller(&name)?, bytes: megabytes * 1_000_000 })
    }
}

/// A shipped table, a table's file, or a controller designed by people.
pub(crate) fn controller(name: &str) -> Result<AnyController> {
    if name == "sprout" {
        return Err("Sprout forecasts from the times at which packets arrive, which QUIC's receivers do not \
                    report: run it by `exm sprout`"
            .into());
    }
    if let Some(file) = exm_design::shipped::table(name) {
        return Ok(exm_remy::RemyCc::new(&file.table).into());
    }
    if let Some(controller) = AnyController::named(name) {
        return Ok(controller);
    }
    Ok(exm_remy::RemyCc::new(&exm_table::TableFile::load(name)?.table).into())
}

/// What a transfer came to.
pub(crate) struct Report {
    pub(crate) bytes: usize,
    pub(crate) took: Duration,
    pub(crate) rtt: Duration,
    pub(crate) window: u64,
    pub(crate) lost: u64,
}

impl Report {
    /// Megabits a second.
    pub(crate) fn goodput(&self) -> f64 {
        self.bytes as f64 * 8e-6 / self.took.as_secs_f64()
    }

    pub(crate) fn print(&self) {
        println!(
            "{} bytes in {:.2} s: {:.2} Mbps; at its end an RTT of {:.1} ms and a window of {} bytes; {} packets lost",
            self.bytes,
            self.took.as_secs_f64(),
            self.goodput(),
            self.rtt.as_secs_f64() * 1e3,
            self.window,
            self.lost
        );
    }
}

/// A certificate for `localhost`, and its key.
pub(crate) fn certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>)> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((made.cert.der().clone(), key.into()))
}
