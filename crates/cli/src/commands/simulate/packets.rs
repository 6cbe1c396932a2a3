//! The packets of a run, in files of other people's tools.

use crate::interrupt;
use crate::outputs::check_output;
use crate::shell::Failure;
use exm_sim::capture::Capture;
use exm_sim::network::Network;
use exm_store::PartialFile;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The bytes that are collected before they are written.
const BUFFER: usize = 1 << 18;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Packets")]
pub(super) struct PacketFlags {
    /// Capture the packets that senders send and receive, as pcapng for Wireshark and tcpdump
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
}

/// A capture being written, under a preliminary name until it is complete.
pub(super) struct CaptureFile {
    path: PathBuf,
    file: PartialFile,
    pub(super) capture: Capture<BufWriter<File>>,
}

impl PacketFlags {
    /// Whether packets are to be written.
    pub(super) fn is_wanted(&self) -> bool {
        self.pcap.is_some()
    }

    /// Checks that these are the packets of one run, and that no file would be overwritten without consent.
    pub(super) fn check(&self, runs: u64, force: bool) -> Result<(), Failure> {
        let Some(path) = &self.pcap else { return Ok(()) };
        if runs > 1 {
            let problem = "--pcap cannot be used with --runs: a capture is of a single run";
            return Err(
                Failure::usage(problem).with_tip("leave --runs out, and choose the run by --seed")
            );
        }
        check_output(path, &[], force)
    }

    /// Begins the capture of the senders of `network`, if one is wanted.
    pub(super) fn begin(&self, network: &Network) -> Result<Option<CaptureFile>, Failure> {
        let Some(path) = &self.pcap else { return Ok(None) };
        // Without the command: the same network and seed give the same bytes.
        let program = concat!("exm ", env!("CARGO_PKG_VERSION"));
        let create = || -> io::Result<CaptureFile> {
            let file = PartialFile::create(path)?;
            let out = BufWriter::with_capacity(BUFFER, file.file().try_clone()?);
            let capture = Capture::new(out, network, program)?;
            Ok(CaptureFile { path: path.clone(), file, capture })
        };
        // An interrupt must not come between creating the file and registering it.
        let begun = interrupt::remove_if_interrupted(create, |capture| {
            capture.file.partial_path().map(Path::to_owned).into_iter().collect()
        });
        begun.map(Some).map_err(|error| failed(path, &error))
    }
}

impl CaptureFile {
    /// Completes the file.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let CaptureFile { path, file, capture } = self;
        let finished = capture.finish().and_then(|_| file.commit());
        finished.map_err(|error| failed(&path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write the capture {}: {error}", path.display()))
}
