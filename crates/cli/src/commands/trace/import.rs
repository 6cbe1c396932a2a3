//! `exm trace import`: a trace of a saturated link from captured packets.

use crate::outputs::{check_only_output, is_stdout, write_output};
use crate::shell::{Failure, Printing, command_line};
use exm_trace::{Import, Imported, OPPORTUNITY, Trace};
use exm_units::{Bytes, Rate};
use serde::Serialize;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The most sources that are shown.
const SHOWN: usize = 5;

const EXAMPLES: &str = "\
Capture at the receiver while a sender keeps the link busy, for example with iperf3 -u: then whatever
arrives shows what the link could deliver. Headers suffice. Time begins with the first packet.

Examples:
  tcpdump -i wwan0 -s 128 -w walk.pcap udp
  exm trace import walk.pcap --from 192.0.2.7 -o walk.trace
  exm trace import walk.pcapng --port 5201 --mtu 1400 --fine -o walk.trace";

/// Make a trace from a packet capture of a saturated link
///
/// Reads pcap and pcapng, of links of the types raw IP, Ethernet, Linux cooked (tcpdump -i any) and loopback. Each MTU of bytes
/// of IP packets that arrived is a delivery opportunity.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The capture, uncompressed
    #[arg(value_name = "CAPTURE")]
    input: PathBuf,
    /// Only packets from this address: one direction of the link
    #[arg(long, value_name = "HOST")]
    from: Option<IpAddr>,
    /// Only packets to this address
    #[arg(long, value_name = "HOST")]
    to: Option<IpAddr>,
    /// Only packets from or to this port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The bytes of IP packets for each opportunity
    #[arg(long, value_name = "BYTES", default_value_t = OPPORTUNITY.get())]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    mtu: u64,
    /// The file of the trace; - for standard output
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: PathBuf,
    /// Write times in nanoseconds instead of mahimahi's whole milliseconds
    #[arg(long)]
    fine: bool,
    /// Overwrite an existing output
    #[arg(long, short)]
    force: bool,
    #[command(flatten)]
    printing: Printing,
}

/// The written file.
#[derive(Serialize)]
struct Written<'a> {
    input: &'a Path,
    output: &'a Path,
    opportunities: usize,
    duration_s: f64,
    mean_mbps: f64,
    packets: u64,
    bytes: u64,
    left_out: u64,
    sources: Vec<Source>,
}

/// A sender of the packets, and its share of their bytes.
#[derive(Serialize)]
struct Source {
    address: IpAddr,
    bytes: u64,
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { output, opportunities, duration_s, mean_mbps, packets, left_out, .. } = self;
        writeln!(
            f,
            "{}: {opportunities} opportunities in {duration_s:.1} s, {mean_mbps:.2} Mbps, of {packets} packets; \
             {left_out} left out",
            output.display()
        )
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (input, output) = (self.input.as_path(), self.output.as_path());
        check_only_output(output, &[input], self.force)?;
        let mut import = Import::default();
        (import.from, import.to, import.port) = (self.from, self.to, self.port);
        import.mtu = Bytes::new(self.mtu);
        let imported = Trace::import(input, &import)?;
        let trace = &imported.trace;
        let text = if self.fine {
            // Mahimahi accepts neither comments nor decimals.
            format!("# {}\n{}", command_line(), trace.to_text())
        } else {
            trace.in_whole_millis().to_text()
        };
        write_output(output, text.as_bytes())?;
        if !is_stdout(output) {
            let written = self.written(&imported);
            self.printing.print_warned(&written, &self.warnings(&imported))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn written(&self, imported: &Imported) -> Written<'_> {
        let trace = &imported.trace;
        let sources = imported.sources.iter().take(SHOWN);
        let seconds = trace.period().as_secs_f64();
        let rate = Rate::from_mbps(trace.times().len() as f64 * self.mtu as f64 * 8e-6 / seconds);
        Written {
            input: &self.input,
            output: &self.output,
            opportunities: trace.times().len(),
            duration_s: seconds,
            mean_mbps: rate.as_mbps(),
            packets: imported.packets,
            bytes: imported.bytes.get(),
            left_out: imported.left_out,
            sources: sources
                .map(|&(address, bytes)| Source { address, bytes: bytes.get() })
                .collect(),
        }
    }

    /// Several senders may be the two directions of a link.
    fn warnings(&self, imported: &Imported) -> Vec<String> {
        let is_chosen = self.from.is_some() || self.to.is_some();
        if is_chosen || imported.sources.len() < 2 {
            return Vec::new();
        }
        let share = |&(address, bytes): &(IpAddr, Bytes)| {
            let percent = 100.0 * bytes.get() as f64 / imported.bytes.get().max(1) as f64;
            format!("{address} ({percent:.1} %)")
        };
        let shares: Vec<String> = imported.sources.iter().take(SHOWN).map(share).collect();
        vec![format!(
            "the trace counts packets of {} senders, in both directions if both were captured: {}; choose one \
             by --from",
            imported.sources.len(),
            shares.join(", ")
        )]
    }
}
