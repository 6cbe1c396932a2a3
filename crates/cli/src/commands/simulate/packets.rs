//! The packets of a run, in files of other people's tools.

use crate::interrupt;
use crate::outputs::check_output;
use crate::shell::Failure;
use exm_qlog::Form;
use exm_sim::capture::Capture;
use exm_sim::engine::{Event, FlowSample, Observer, ReceivedAck};
use exm_sim::mahimahi::MahimahiLog;
use exm_sim::network::Network;
use exm_sim::qlog::Qlog;
use exm_store::PartialFile;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The bytes that are collected before they are written to a file.
const BUFFER: usize = 1 << 18;
/// The most senders with logs: so many files are open at once.
const MOST_LOGS: usize = 500;
/// Without the command: the same network and seed give the same bytes.
const PROGRAM: &str = concat!("exm ", env!("CARGO_PKG_VERSION"));

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Packets")]
pub(super) struct PacketFlags {
    /// Capture the packets that senders send and receive, as pcapng for Wireshark and tcpdump
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Log what each sender sends, receives and decides, as qlog for viewers of QUIC: FILE-0.sqlog, FILE-1.sqlog, ... if
    /// there are several senders
    #[arg(long, value_name = "FILE.sqlog")]
    qlog: Option<PathBuf>,
    /// The form of the qlog
    #[arg(long, value_enum, default_value_t = QlogForm::Current, requires = "qlog")]
    qlog_form: QlogForm,
    /// Log what happens at a link's queue in mahimahi's format, for its scripts; without LINK, at the first link
    #[arg(long, value_name = "[LINK=]FILE")]
    mahimahi_log: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum QlogForm {
    /// That of the present drafts
    Current,
    /// Version 0.3, which the viewer qvis reads
    #[value(name = "0.3")]
    Older,
}

impl From<QlogForm> for Form {
    fn from(form: QlogForm) -> Form {
        match form {
            QlogForm::Current => Form::Current,
            QlogForm::Older => Form::Older,
        }
    }
}

/// The files that a run writes, and the options that ask for them.
struct Paths {
    pcap: Option<PathBuf>,
    /// One for each sender, or none.
    qlog: Vec<PathBuf>,
    mahimahi: Option<(usize, PathBuf)>,
}

/// A file being written, under a preliminary name until it is complete.
struct Output {
    path: PathBuf,
    file: PartialFile,
}

/// What watches the packets of a run, and the files that it writes.
pub(super) struct PacketFiles {
    paths: Paths,
    outputs: Vec<Output>,
    pub(super) watch: Watchers,
}

/// What watches packets.
pub(super) struct Watchers {
    capture: Option<Capture<BufWriter<File>>>,
    qlog: Option<Qlog<BufWriter<File>>>,
    mahimahi: Option<MahimahiLog<BufWriter<File>>>,
}

impl PacketFlags {
    /// The first of the options that are given, if packets are to be written.
    pub(super) fn wanted(&self) -> Option<&'static str> {
        let qlog = self.qlog.as_ref().map(|_| "--qlog");
        let mahimahi = self.mahimahi_log.as_ref().map(|_| "--mahimahi-log");
        self.pcap.as_ref().map(|_| "--pcap").or(qlog).or(mahimahi)
    }

    /// Checks that these are the packets of one run, and that no file would be overwritten without consent.
    pub(super) fn check(&self, network: &Network, runs: u64, force: bool) -> Result<(), Failure> {
        let Some(option) = self.wanted() else { return Ok(()) };
        if runs > 1 {
            let what = if option == "--pcap" { "a capture" } else { "a log" };
            let problem = format!("{option} cannot be used with --runs: {what} is of a single run");
            return Err(
                Failure::usage(problem).with_tip("leave --runs out, and choose the run by --seed")
            );
        }
        let paths = self.paths(network)?;
        let all: Vec<&Path> = paths.all().collect();
        (0..all.len()).try_for_each(|index| check_output(all[index], &all[..index], force))
    }

    /// Begins the files of the senders and links of `network`, if any are wanted.
    pub(super) fn begin(&self, network: &Network) -> Result<Option<PacketFiles>, Failure> {
        if self.wanted().is_none() {
            return Ok(None);
        }
        let paths = self.paths(network)?;
        let mut outputs = Vec::new();
        let mut buffers = Vec::new();
        for path in paths.all() {
            // An interrupt must not come between creating the file and registering it.
            let created = interrupt::remove_if_interrupted(
                || PartialFile::create(path),
                |file| file.partial_path().map(Path::to_owned).into_iter().collect(),
            );
            let buffered = created.and_then(|file| {
                buffers.push(BufWriter::with_capacity(BUFFER, file.file().try_clone()?));
                outputs.push(Output { path: path.to_owned(), file });
                Ok(())
            });
            buffered.map_err(|error| failed(path, &error))?;
        }
        let watch = Watchers::new(network, &paths, self.qlog_form.into(), buffers)?;
        Ok(Some(PacketFiles { paths, outputs, watch }))
    }

    fn paths(&self, network: &Network) -> Result<Paths, Failure> {
        let senders = network.flows().len();
        if self.qlog.is_some() && senders > MOST_LOGS {
            let problem = format!(
                "--qlog writes a file for each sender, of at most {MOST_LOGS}: this network has {senders}"
            );
            return Err(Failure::usage(problem).with_tip("simulate fewer senders"));
        }
        let named = |path: &PathBuf| match senders {
            1 => vec![path.clone()],
            _ => (0..senders).map(|sender| numbered(path, sender)).collect(),
        };
        let mahimahi = self.mahimahi_log.as_deref().map(|text| logged_link(text, network));
        Ok(Paths {
            pcap: self.pcap.clone(),
            qlog: self.qlog.as_ref().map(named).unwrap_or_default(),
            mahimahi: mahimahi.transpose()?,
        })
    }
}

/// `path` with `-NUMBER` before its ending.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// The link and the file that `[LINK=]FILE` names.
fn logged_link(text: &str, network: &Network) -> Result<(usize, PathBuf), Failure> {
    let links = network.links();
    match text.split_once('=') {
        Some((name, file)) if !name.contains('/') => {
            let link = links.iter().position(|link| link.name == name).ok_or_else(|| {
                let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
                let problem = format!("there is no such link: name one of {}", names.join(", "));
                let tip = "a file with = in its name is written ./NAME";
                Failure::invalid_value(name, "--mahimahi-log", &problem).with_tip(tip)
            })?;
            Ok((link, file.into()))
        }
        _ => Ok((0, text.into())),
    }
}

impl Paths {
    /// All of them: that of the capture, those of the qlogs, that of the link's log.
    fn all(&self) -> impl Iterator<Item = &Path> {
        let mahimahi = self.mahimahi.iter().map(|(_, path)| path);
        self.pcap.iter().chain(&self.qlog).chain(mahimahi).map(PathBuf::as_path)
    }
}

impl Watchers {
    /// Those that write to `outs`, which are for the paths in their order.
    fn new(
        network: &Network,
        paths: &Paths,
        form: Form,
        outs: Vec<BufWriter<File>>,
    ) -> Result<Watchers, Failure> {
        let mut outs = outs.into_iter();
        let mut watch = Watchers { capture: None, qlog: None, mahimahi: None };
        if let Some(path) = &paths.pcap
            && let Some(out) = outs.next()
        {
            let capture = Capture::new(out, network, PROGRAM);
            watch.capture = Some(capture.map_err(|error| failed(path, &error))?);
        }
        if let Some(path) = paths.qlog.first() {
            let logs = outs.by_ref().take(paths.qlog.len()).enumerate();
            let qlog = Qlog::new(network, form, PROGRAM, logs);
            watch.qlog = Some(qlog.map_err(|error| failed(path, &error))?);
        }
        if let Some((link, path)) = &paths.mahimahi
            && let Some(out) = outs.next()
        {
            let program = concat!("exm simulate ", env!("CARGO_PKG_VERSION"));
            let log = MahimahiLog::new(out, network, *link, program);
            watch.mahimahi = Some(log.map_err(|error| failed(path, &error))?);
        }
        Ok(watch)
    }

    /// Completes what they write to `paths`.
    fn finish(self, paths: &Paths) -> Result<(), Failure> {
        let named = |path: Option<&PathBuf>, finished: io::Result<()>| {
            let path = path.map_or(Path::new(""), PathBuf::as_path);
            finished.map_err(|error| failed(path, &error))
        };
        if let Some(capture) = self.capture {
            named(paths.pcap.as_ref(), capture.finish().map(drop))?;
        }
        if let Some(qlog) = self.qlog {
            named(paths.qlog.first(), qlog.finish().map(drop))?;
        }
        if let Some(log) = self.mahimahi {
            named(paths.mahimahi.as_ref().map(|(_, path)| path), log.finish().map(drop))?;
        }
        Ok(())
    }
}

impl PacketFiles {
    /// Completes the files.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let PacketFiles { paths, outputs, watch } = self;
        watch.finish(&paths)?;
        let commit = |Output { path, file }| file.commit().map_err(|error| failed(&path, &error));
        outputs.into_iter().try_for_each(commit)
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}

impl Observer for Watchers {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        if let Some(capture) = &mut self.capture {
            capture.event(event);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.event(event);
        }
        if let Some(log) = &mut self.mahimahi {
            log.event(event);
        }
    }

    fn wants_acks(&self) -> bool {
        self.capture.is_some() || self.qlog.is_some()
    }

    fn ack(&mut self, ack: &ReceivedAck) {
        if let Some(capture) = &mut self.capture {
            capture.ack(ack);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.ack(ack);
        }
    }

    fn wants_updates(&self) -> bool {
        self.qlog.is_some()
    }

    fn update(&mut self, sample: &FlowSample) {
        if let Some(qlog) = &mut self.qlog {
            qlog.update(sample);
        }
    }
}
