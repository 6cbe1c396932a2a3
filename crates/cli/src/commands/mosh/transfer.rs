//! `exm mosh put` and `exm mosh get`: files, over a session that roams and goes on where it was interrupted.

use super::Args;
use super::start::{by_ssh, here};
use crate::interrupt;
use crate::progress::Progress;
use crate::shell::{Failure, tell};
use crate::visible::visible;
use exm_datagram::Key;
use exm_mosh::net::{FileSession, TransferError, TransferJob, TransferProgress};
use exm_os::{Clock, Signals, keep_memory_private};
use exm_units::Span;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt::{Display, Formatter, Result as Formatted};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Nothing has come for so long that the bar says so: servers send every 3 s.
const SILENT: Span = Span::from_millis(6500);

/// What to transfer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// With the user's name before it; empty for this one.
    machine: String,
    jobs: Vec<Job>,
}

/// A file to transfer, and where it goes if the path at the server turns out to be a directory.
#[derive(Debug, PartialEq, Eq)]
struct Job {
    transfer: TransferJob,
    within: Option<Vec<u8>>,
}

/// Whether the words of `args` are those of a transfer. A machine may have the name of one, and be given a command.
pub(super) fn is_one(args: &Args) -> bool {
    match (args.host.as_deref(), args.program()) {
        (Some("put"), [_, _, ..]) => true,
        (Some("get"), [first, ..]) => place(first).is_ok(),
        _ => false,
    }
}

/// What the words of `args` ask for, if they ask for a transfer.
pub(super) fn plan(args: &Args) -> Result<Option<Plan>, Failure> {
    if !is_one(args) {
        return Ok(None);
    }
    if args.list || args.attach.is_some() || !args.allowed().is_empty() || args.client.is_some() {
        return Err(Failure::usage("put and get transfer files, and show and forward nothing"));
    }
    let plan = match args.host.as_deref() {
        Some("put") => put(&args.words)?,
        _ => get(&args.words)?,
    };
    match (plan.machine.is_empty(), args.local) {
        (true, false) => Err(Failure::usage("there is no machine before the colon")
            .with_tip("give [USER@]HOST:PATH, or --local for a server on this machine")),
        (false, true) => Err(Failure::usage("with --local there is no machine before the colon")),
        _ => Ok(Some(plan)),
    }
}

fn put(words: &[OsString]) -> Result<Plan, Failure> {
    let Some((target, files)) = words.split_last() else { return Err(no_place("nothing")) };
    let (machine, path) = place(target)?;
    let is_folder = files.len() > 1 || path.is_empty() || path.ends_with(b"/");
    let job = |file: &OsString| {
        let file = PathBuf::from(file);
        let name = file.file_name().map(|name| name.as_bytes().to_vec());
        let name = name.ok_or_else(|| {
            Failure::usage(format!("{} is not the path of a file", file.display()))
        })?;
        let within = below(&path, &name);
        Ok(if is_folder {
            Job { transfer: TransferJob::Put { file, path: within }, within: None }
        } else {
            let transfer = TransferJob::Put { file, path: path.clone() };
            Job { transfer, within: Some(within) }
        })
    };
    let jobs = files.iter().map(job).collect::<Result<_, Failure>>()?;
    Ok(Plan { machine, jobs })
}

fn get(words: &[OsString]) -> Result<Plan, Failure> {
    let (local, sources) = match words.split_last() {
        Some((last, sources)) if !sources.is_empty() && place(last).is_err() => {
            (PathBuf::from(last), sources)
        }
        _ => (PathBuf::from("."), words),
    };
    let is_folder =
        sources.len() > 1 || local.is_dir() || local.as_os_str().as_bytes().ends_with(b"/");
    let mut jobs = Vec::new();
    let mut machines = Vec::new();
    for source in sources {
        let (machine, path) = place(source)?;
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if name.is_empty() || name == b"." || name == b".." {
            let source = source.to_string_lossy();
            return Err(Failure::usage(format!("{source} is not the path of a file")));
        }
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        let file = if is_folder { local.join(name) } else { local.clone() };
        machines.push(machine);
        jobs.push(Job { transfer: TransferJob::Get { path, file }, within: None });
    }
    machines.dedup();
    match <[String; 1]>::try_from(machines) {
        Ok([machine]) => Ok(Plan { machine, jobs }),
        Err(_) => Err(Failure::usage("the files are on different machines")
            .with_tip("run the command once for each machine")),
    }
}

/// The path of the file `name` in the directory `path`.
fn below(path: &[u8], name: &[u8]) -> Vec<u8> {
    let separator: &[u8] = if path.is_empty() || path.ends_with(b"/") { b"" } else { b"/" };
    [path, separator, name].concat()
}

/// The machine and the path of `[USER@]HOST:PATH`. An IPv6 address is in brackets; what has a slash before the colon is a file here.
fn place(word: &OsString) -> Result<(String, Vec<u8>), Failure> {
    let text = word.to_string_lossy();
    let bytes = word.as_bytes();
    let from = match (
        bytes.iter().position(|byte| *byte == b'['),
        bytes.iter().position(|byte| *byte == b']'),
    ) {
        (Some(begin), Some(end))
            if begin < end && bytes[..begin].iter().all(|byte| !b":/".contains(byte)) =>
        {
            end
        }
        _ => 0,
    };
    let colon = bytes[from..].iter().position(|byte| *byte == b':').map(|at| from + at);
    let colon = colon.filter(|colon| !bytes[..*colon].contains(&b'/'));
    let colon = colon.ok_or_else(|| no_place(&text))?;
    let machine = String::from_utf8(bytes[..colon].to_vec()).map_err(|_| no_place(&text))?;
    // ssh takes an IPv6 address without brackets.
    let machine = machine.replace(['[', ']'], "");
    Ok((machine, OsString::from_vec(bytes[colon + 1..].to_vec()).into_vec()))
}

fn no_place(text: &str) -> Failure {
    Failure::usage(format!("{text} is not a file on another machine"))
        .with_tip("give [USER@]HOST:PATH; with --local, :PATH")
}

/// What was transferred.
#[derive(Debug, Serialize)]
struct Summary {
    files: Vec<Done>,
}

#[derive(Debug, Serialize)]
struct Done {
    from: String,
    to: String,
    /// The size of the file.
    bytes: u64,
    /// How many of them an earlier attempt had transferred.
    resumed: u64,
    /// How long the rest took.
    seconds: f64,
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        for Done { from, to, bytes, resumed, seconds } in &self.files {
            let (from, to) = (visible(from), visible(to));
            let rate = size((bytes - resumed.min(bytes)) as f64 / seconds.max(1e-3));
            write!(f, "{from} -> {to}: {} in {seconds:.1} s, {rate}/s", size(*bytes as f64))?;
            if *resumed > 0 {
                write!(f, ", resumed at {}", size(*resumed as f64))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// A number of bytes for people.
fn size(bytes: f64) -> String {
    match bytes {
        ..1e3 => format!("{bytes:.0} B"),
        1e3..1e6 => format!("{:.1} kB", bytes / 1e3),
        1e6..1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}

/// Transfers the files of `plan`.
pub(super) fn run(args: &Args, plan: &Plan) -> Result<ExitCode, Failure> {
    let started = if args.local {
        here(args, args.local_address(None)?)?
    } else {
        by_ssh(args, &plan.machine)?
    };
    let key: Key = started.key.parse().map_err(|_| Failure::new("the server's key is none"))?;
    keep_memory_private();
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let mut session = FileSession::open(&started.servers, &key)?;
    let mut files = Vec::new();
    let mut result = Ok(ExitCode::SUCCESS);
    for job in &plan.jobs {
        match transfer(&mut session, job, &plan.machine, &signals) {
            Ok(done) => files.push(done),
            Err(TransferError::Interrupted(signal)) => {
                tell("Interrupted. The same command goes on where it was.\n");
                result = Ok(ExitCode::from(signal.exit_code()));
                break;
            }
            Err(error) => {
                result = Err(failure(error));
                break;
            }
        }
    }
    session.end();
    if !files.is_empty() {
        args.printing.print(&Summary { files })?;
    }
    result
}

fn failure(error: TransferError) -> Failure {
    match error {
        TransferError::NotGranted => Failure::from(error)
            .with_tip("it has to be \"exm mosh-server files\" of this version; see --server"),
        TransferError::Net(_) => Failure::from(error)
            .with_tip("see that UDP reaches that port; the same command goes on where it was"),
        error => Failure::from(error),
    }
}

/// Transfers a file, with a bar.
fn transfer(
    session: &mut FileSession,
    job: &Job,
    machine: &str,
    signals: &Signals,
) -> Result<Done, TransferError> {
    match with_bar(session, &job.transfer, machine, signals) {
        Err(TransferError::Directory { path }) => match (&job.transfer, &job.within) {
            (TransferJob::Put { file, .. }, Some(within)) => {
                let job = TransferJob::Put { file: file.clone(), path: within.clone() };
                with_bar(session, &job, machine, signals)
            }
            _ => Err(TransferError::Directory { path }),
        },
        result => result,
    }
}

fn with_bar(
    session: &mut FileSession,
    job: &TransferJob,
    machine: &str,
    signals: &Signals,
) -> Result<Done, TransferError> {
    let clock = Clock::start();
    let (from, to, name) = ends(job, machine);
    let mut bar = None;
    let mut shown = TransferProgress::default();
    let mut report = |now: TransferProgress| {
        let Some(size) = now.size.filter(|_| now.done > 0) else { return };
        let bar = bar.get_or_insert_with(|| {
            // What was there before takes no time, and is not in the estimate.
            Progress::labelled(size - now.resumed.min(size), &name)
        });
        let is_silent = |progress: TransferProgress| progress.silence > SILENT;
        if is_silent(now) || is_silent(shown) {
            let seconds = now.silence.as_nanos() / 1_000_000_000;
            let label = format!("{name} (last contact {seconds} s ago)");
            bar.relabel(if is_silent(now) { &label } else { &name });
        }
        bar.advance(now.done - shown.done.max(now.resumed));
        shown = now;
    };
    let result = session.transfer(job, signals, &mut report);
    if let Some(bar) = bar {
        bar.finish();
    }
    let progress = result?;
    let seconds = clock.now().saturating_since(exm_units::Instant::ZERO).as_nanos() as f64 / 1e9;
    Ok(Done { from, to, bytes: progress.done, resumed: progress.resumed, seconds })
}

/// What the ends of a transfer and its file are called.
fn ends(job: &TransferJob, machine: &str) -> (String, String, String) {
    let (TransferJob::Put { file, path } | TransferJob::Get { file, path }) = job;
    let local = file.display().to_string();
    let remote = format!("{machine}:{}", String::from_utf8_lossy(path));
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match job {
        TransferJob::Put { .. } => (local, remote, name),
        TransferJob::Get { .. } => (remote, local, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn places_are_told_from_files() {
        let of = |text: &str| {
            let (machine, path) = place(&OsString::from(text)).ok()?;
            Some((machine, String::from_utf8(path).unwrap()))
        };
        let some = |machine: &str, path: &str| Some((machine.to_owned(), path.to_owned()));
        assert_eq!(of("me@host:a/b:c"), some("me@host", "a/b:c"));
        assert_eq!(of("host:"), some("host", ""));
        assert_eq!(of(":/tmp/x"), some("", "/tmp/x"));
        assert_eq!(of("me@[2001:db8::1]:x"), some("me@2001:db8::1", "x"));
        assert_eq!(of("[::1]:x[1]"), some("::1", "x[1]"));
        assert_eq!(of("host:x[1]:y"), some("host", "x[1]:y"));
        assert_eq!(of("./a:b"), None);
        assert_eq!(of("file"), None);
    }

    fn puts(text: &str) -> Vec<String> {
        let plan = put(&words(text)).unwrap();
        plan.jobs.iter().map(|job| ends(&job.transfer, &plan.machine).1).collect()
    }

    fn gets(text: &str) -> Vec<String> {
        let plan = get(&words(text)).unwrap();
        plan.jobs.iter().map(|job| ends(&job.transfer, &plan.machine).1).collect()
    }

    #[test]
    fn files_go_where_they_are_expected() {
        assert_eq!(puts("a/b h:"), ["h:b"]);
        assert_eq!(puts("a/b h:c"), ["h:c"]);
        assert_eq!(puts("a/b h:c/"), ["h:c/b"]);
        assert_eq!(puts("a b h:c"), ["h:c/a", "h:c/b"]);
        assert_eq!(put(&words("a h:c")).unwrap().jobs[0].within, Some(b"c/a".to_vec()));
        assert_eq!(gets("h:a/b"), ["./b"]);
        assert_eq!(gets("h:a/b new"), ["new"]);
        assert_eq!(gets("h:a/b new/"), ["new/b"]);
        assert_eq!(gets("h:a h:b new"), ["new/a", "new/b"]);
        assert_eq!(gets("h:a h:b"), ["./a", "./b"]);
        for text in ["h:a i:b x", "h:a/ x", "h:.. x", "h: x"] {
            assert!(get(&words(text)).is_err(), "{text}");
        }
        assert!(put(&words("a b")).is_err() && put(&words(".. h:")).is_err());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size(999.0), "999 B");
        assert_eq!(size(1_500_000.0), "1.5 MB");
    }
}
