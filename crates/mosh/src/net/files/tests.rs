use super::receiver::part_path;
use super::*;
use crate::Extensions;
use crate::channels::Event;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("exm-files-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A session that puts a file.
struct Put {
    client: Channels,
    server: Channels,
    transfers: Transfers,
    sender: Transfer,
    id: ChannelId,
    is_accepted: bool,
    /// How many bytes have passed between both.
    passed: usize,
}

/// How a round went.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Going,
    Done,
    Failed(String),
}

impl Put {
    fn new(from: &Path, to: &Path) -> Put {
        let files = Extensions { files: true, ..Extensions::default() };
        let (mut client, mut server) = (Channels::client(files), Channels::server(files));
        server.receive(&client.pull(1000));
        client.receive(&server.pull(1000));
        let path = to.as_os_str().as_bytes().to_vec();
        let id = client.open(Opening::Store { path, mode: 0, offset: 0 }).unwrap();
        let sender = Transfer::Sending(Sender::open(from).unwrap());
        let transfers = Transfers::default();
        Put { client, server, transfers, sender, id, is_accepted: false, passed: 0 }
    }

    /// Moves at most `most` bytes in each direction.
    fn round(&mut self, most: usize) -> Outcome {
        if self.is_accepted
            && let Err(problem) = self.sender.advance(&mut self.client, self.id)
        {
            self.client.close(self.id, Reason::Failed(problem));
        }
        let (up, down) = (self.client.pull(most), self.server.pull(most));
        self.passed += up.len() + down.len();
        assert!(self.server.receive(&up) && self.client.receive(&down));
        while let Some(event) = self.server.next_event() {
            if let Event::Opened(id, opening) = event {
                self.transfers.open(&mut self.server, id, opening);
            } else {
                self.transfers.process(&event);
            }
        }
        self.transfers.advance(&mut self.server);
        while let Some(event) = self.client.next_event() {
            match event {
                Event::Accepted(_) => self.is_accepted = true,
                Event::Closed(_, Reason::Finished) => return Outcome::Done,
                Event::Closed(_, reason) | Event::Refused(_, reason) => {
                    return Outcome::Failed(reason.to_string());
                }
                _ => {}
            }
        }
        Outcome::Going
    }

    fn finish(&mut self) -> Outcome {
        for _ in 0..100_000 {
            match self.round(4000) {
                Outcome::Going => {}
                outcome => return outcome,
            }
        }
        panic!("it does not end");
    }

    fn resumed(&self) -> u64 {
        match &self.sender {
            Transfer::Sending(sender) => sender.progress().0,
            Transfer::Receiving(receiver) => receiver.progress().0,
        }
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 255) as u8).collect()
}

#[test]
fn a_file_arrives_with_its_permissions() {
    let folder = Folder::new();
    for (length, mode) in [(0, 0o644), (1, 0o400), (1_000_000, 0o751)] {
        let (from, to) = (folder.path("from"), folder.path("to"));
        fs::write(&from, content(length)).unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(Put::new(&from, &to).finish(), Outcome::Done);
        assert_eq!(fs::read(&to).unwrap(), content(length));
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o7777, mode);
        assert!(!part_path(&to).exists());
        [from, to].iter().for_each(|path| fs::remove_file(path).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn it_goes_on_wherever_it_was_cut(
        length in 0usize..600_000,
        cuts in proptest::collection::vec(0usize..400_000, 0..4),
        most in 200usize..9000,
    ) {
        let folder = Folder::new();
        let (from, to) = (folder.path("from"), folder.path("to"));
        fs::write(&from, content(length)).unwrap();
        let mut is_done = false;
        for cut in cuts {
            let before = fs::metadata(part_path(&to)).map_or(0, |part| part.len());
            let mut put = Put::new(&from, &to);
            while !is_done && put.passed < cut {
                is_done = put.round(most) == Outcome::Done;
            }
            // What is there is never retransmitted.
            prop_assert!(put.resumed() == before || put.resumed() == 0);
            drop(put);
            let after = fs::metadata(part_path(&to)).map_or(0, |part| part.len());
            is_done |= to.exists();
            prop_assert!(is_done || after >= before);
            if is_done {
                break;
            }
        }
        if !is_done {
            let before = fs::metadata(part_path(&to)).map_or(0, |part| part.len());
            let mut put = Put::new(&from, &to);
            prop_assert_eq!(put.finish(), Outcome::Done);
            prop_assert_eq!(put.resumed(), before);
            prop_assert!((put.passed as u64) < length as u64 - before + 2000 + length as u64 / 100);
        }
        prop_assert_eq!(fs::read(&to).unwrap(), content(length));
        prop_assert!(!part_path(&to).exists());
    }

    #[test]
    fn another_prefix_starts_anew(length in 1usize..200_000, part in 1usize..300_000, at in 0usize..300_000) {
        let folder = Folder::new();
        let (from, to) = (folder.path("from"), folder.path("to"));
        fs::write(&from, content(length)).unwrap();
        let mut other = content(part);
        other[at % part] ^= 1;
        fs::write(part_path(&to), other).unwrap();
        let mut put = Put::new(&from, &to);
        prop_assert_eq!(put.finish(), Outcome::Done);
        prop_assert_eq!(put.resumed(), 0);
        prop_assert_eq!(fs::read(&to).unwrap(), content(length));
    }

    #[test]
    fn a_malicious_sender_neither_panics_nor_stores(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let folder = Folder::new();
        let (from, to) = (folder.path("from"), folder.path("to"));
        fs::write(&from, "").unwrap();
        let mut put = Put::new(&from, &to);
        while !put.is_accepted {
            put.is_accepted = false;
            let (up, down) = (put.client.pull(9000), put.server.pull(9000));
            put.server.receive(&up);
            put.client.receive(&down);
            while let Some(event) = put.server.next_event() {
                if let Event::Opened(id, opening) = event {
                    put.transfers.open(&mut put.server, id, opening);
                }
            }
            put.is_accepted |= put.client.next_event().is_some();
        }
        put.client.write(put.id, &bytes);
        put.client.end(put.id);
        for _ in 0..10 {
            let (up, down) = (put.client.pull(9000), put.server.pull(9000));
            put.server.receive(&up);
            put.client.receive(&down);
            put.transfers.advance(&mut put.server);
        }
        prop_assert!(!to.exists());
    }
}

#[test]
fn a_file_that_shrinks_is_not_stored() {
    let folder = Folder::new();
    let (from, to) = (folder.path("from"), folder.path("to"));
    fs::write(&from, content(1_000_000)).unwrap();
    let mut put = Put::new(&from, &to);
    (0..20).for_each(|_| assert_eq!(put.round(2000), Outcome::Going));
    fs::write(&from, "short").unwrap();
    assert!(matches!(put.finish(), Outcome::Failed(problem) if problem.contains("was cut")));
    assert!(!to.exists());
}

#[test]
fn what_is_no_file_is_left_alone() {
    let folder = Folder::new();
    let from = folder.path("from");
    fs::write(&from, "x").unwrap();
    fs::create_dir(folder.path("directory")).unwrap();
    let failed = |to: &str| match Put::new(&from, &folder.path(to)).finish() {
        Outcome::Failed(problem) => problem,
        outcome => panic!("{to}: {outcome:?}"),
    };
    assert_eq!(failed("directory"), IS_DIRECTORY);
    assert_eq!(failed("directory/"), IS_DIRECTORY);
    assert!(failed("missing/").contains("no such directory"));
    assert!(failed("missing/file").contains("no such file or directory"));
    assert!(failed("from/file").contains("not a directory"));
    assert!(Sender::open(&folder.path("directory")).unwrap_err().to_string().contains("directory"));
    // A link in the place of the part leads nowhere.
    std::os::unix::fs::symlink(&from, part_path(&folder.path("to"))).unwrap();
    assert!(failed("to").contains("symbolic link"));
    assert_eq!(fs::read(&from).unwrap(), b"x");
}

#[test]
fn two_transfers_do_not_write_one_file() {
    let folder = Folder::new();
    let (from, to) = (folder.path("from"), folder.path("to"));
    fs::write(&from, content(1_000_000)).unwrap();
    let mut first = Put::new(&from, &to);
    (0..20).for_each(|_| assert_eq!(first.round(2000), Outcome::Going));
    let second = Put::new(&from, &to).finish();
    assert!(matches!(second, Outcome::Failed(problem) if problem.contains("another transfer")));
    assert_eq!(first.finish(), Outcome::Done);
    assert_eq!(fs::read(&to).unwrap(), content(1_000_000));
}
