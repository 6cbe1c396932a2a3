use super::*;
use crate::action::Action;
use crate::signal::{Signal, SignalSet};

/// A folder of its own for a test, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("exm-remy-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the test's folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn table_file() -> TableFile {
    let signals = SignalSet::new([Signal::SendEwma]).expect("one signal");
    let mut table = RuleTable::single(signals, 8.0, Action::INITIAL);
    assert!(table.split(0, Signal::SendEwma, 2.5));
    let provenance = Provenance { seed: Some(7), ..Provenance::default() };
    TableFile { table, provenance }
}

#[test]
fn both_formats_are_saved_and_loaded() {
    let folder = Folder::new("formats");
    let json = folder.0.join("table.json");
    table_file().save(&json).unwrap();
    assert_eq!(TableFile::load(&json).unwrap(), table_file());
    let dna = folder.0.join("table.dna");
    table_file().save(&dna).unwrap();
    let loaded = TableFile::load(&dna).unwrap();
    assert_eq!(loaded.table, table_file().table);
    assert!(loaded.provenance.remy_file.is_some());
    for (from, to) in [(&json, "a"), (&dna, "b")] {
        let unnamed = folder.0.join(to);
        fs::copy(from, &unnamed).unwrap();
        assert_eq!(TableFile::load(&unnamed).unwrap().table, table_file().table, "by content");
    }
    assert_eq!(folder.names(), ["a", "b", "table.dna", "table.json"]);
}

#[test]
fn errors_name_the_file_the_place_and_the_trouble() {
    let folder = Folder::new("errors");
    let path = |name: &str| folder.0.join(name);
    let error = |name: &str| {
        let text = TableFile::load(path(name)).expect_err(name).to_string();
        text.strip_prefix(&format!("{}/", folder.0.display())).map(str::to_owned).unwrap_or(text)
    };
    assert!(error("none.json").starts_with("cannot read "));
    assert!(error("none.json").contains("none.json: No such file"), "{}", error("none.json"));
    fs::write(path("cut.json"), &table_file().to_json()[..100]).unwrap();
    let cut = error("cut.json");
    assert!(cut.starts_with("cut.json is not a table in JSON: line 6, column "), "{cut}");
    fs::write(path("bytes.json"), b"{\"\xff").unwrap();
    assert_eq!(error("bytes.json"), "bytes.json is not a table in JSON: byte 2 is not UTF-8 text");
    fs::write(path("cut.dna"), &dna::write(&table_file().table)[..40]).unwrap();
    assert!(error("cut.dna").starts_with("cut.dna is not a table in Remy's format: byte 30, in"));
    fs::write(path("empty"), "").unwrap();
    assert_eq!(error("empty"), "empty is not a table in Remy's format: the file is empty");
    let large = File::create(path("large.json")).unwrap();
    large.set_len(dna::MAX_BYTES as u64 + 1).unwrap();
    assert_eq!(
        error("large.json"),
        "large.json is larger than the 67108864 bytes a table may have"
    );
    let unknown = table_file().save(path("table.txt")).expect_err("no format").to_string();
    assert!(unknown.ends_with("table.txt: end its name in .json, or in .dna for Remy's own"));
    let nowhere = table_file().save(path("none/table.json")).expect_err("no folder").to_string();
    assert!(nowhere.starts_with("cannot write "), "{nowhere}");
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new("failed");
    let path = folder.0.join("table.json");
    write_atomically(&path, b"old").unwrap();
    let full = replace(&path, |file| {
        file.write_all(b"ne")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.names(), ["table.json"]);
    write_atomically(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(folder.names(), ["table.json"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_permissions_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("links");
    let (path, link) = (folder.0.join("table"), folder.0.join("link"));
    write_atomically(&path, b"old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("table", &link).unwrap();
    write_atomically(&link, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_plain_file_is_written_to_directly() {
    write_atomically(Path::new("/dev/null"), b"text").unwrap();
    let full = write_atomically(Path::new("/dev/full"), b"text").unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

/// No process has this number: it is above the kernel's limit of 2^22.
const NOBODY: &str = "4194305";

#[test]
#[cfg(target_os = "linux")]
fn what_killed_processes_left_is_removed() {
    let folder = Folder::new("abandoned");
    let path = folder.0.join("table.json");
    let long_ago = fs::metadata(&folder.0).unwrap().modified().unwrap() - 2 * ABANDONED;
    let ours = std::process::id();
    let leave = |name: String, is_old: bool| {
        let file = File::create(folder.0.join(name)).unwrap();
        if is_old {
            file.set_modified(long_ago).unwrap();
        }
    };
    leave(format!("table.json.{NOBODY}-0.partial"), true);
    leave(format!("table.json.{NOBODY}-1.partial"), false);
    leave(format!("table.json.{ours}-999999.partial"), true);
    leave(format!("other.json.{NOBODY}-0.partial"), true);
    leave(format!("table.json.{NOBODY}.partial"), true);
    write_atomically(&path, b"whole").unwrap();
    let kept = [
        format!("other.json.{NOBODY}-0.partial"),
        "table.json".to_owned(),
        format!("table.json.{NOBODY}-1.partial"),
        format!("table.json.{NOBODY}.partial"),
        format!("table.json.{ours}-999999.partial"),
    ];
    let mut expected = kept.to_vec();
    expected.sort();
    assert_eq!(folder.names(), expected);
}

#[test]
fn an_output_never_replaces_what_the_user_did_not_offer() {
    let folder = Folder::new("outputs");
    let path = |name: &str| folder.0.join(name);
    let (model, table, new) = (path("model.toml"), path("table.json"), path("new.json"));
    fs::write(&model, "input").unwrap();
    fs::write(&table, "old").unwrap();
    let check = |path: &Path, replace: bool| check_output(path, &[&model], replace);
    assert_eq!(check(&new, false), Ok(()));
    assert_eq!(check(&table, false), Err(OutputError::Exists(table.clone())));
    assert_eq!(check(&table, true), Ok(()));
    assert_eq!(check(&folder.0, true), Err(OutputError::Folder(folder.0.clone())));
    // An input, by whatever name, whether or not it exists.
    for (output, input) in [(&model, &model), (&path("./model.toml"), &model), (&new, &new)] {
        let error = check_output(output, &[input], true).unwrap_err();
        assert!(matches!(error, OutputError::InUse { .. }), "{error}");
        assert!(!error.can_be_forced());
    }
}

#[cfg(unix)]
#[test]
fn devices_sockets_and_links_are_seen_for_what_they_are() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let folder = Folder::new("special");
    let path = |name: &str| folder.0.join(name);
    let (model, socket) = (path("model.toml"), path("socket"));
    fs::write(&model, "input").unwrap();
    fs::hard_link(&model, path("hard")).unwrap();
    symlink(&model, path("soft")).unwrap();
    symlink(path("nowhere"), path("dangling")).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    for other in ["hard", "soft"] {
        let error = check_output(&path(other), &[&model], true).unwrap_err();
        assert!(matches!(error, OutputError::InUse { .. }), "{error}");
    }
    let dangling = path("dangling");
    assert_eq!(check_output(&dangling, &[], false), Err(OutputError::Exists(dangling)));
    for special in [socket.as_path(), Path::new("/dev/null")] {
        let error = OutputError::Special(special.to_owned());
        assert_eq!(check_output(special, &[], true), Err(error));
        assert_eq!(remove_regular(special).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(special.exists());
    }
    let made = std::process::Command::new("mkfifo").arg(path("pipe")).status();
    assert!(made.expect("mkfifo(1) is there").success());
    assert_eq!(check_output(&path("pipe"), &[], false), Ok(()));
    remove_regular(&path("soft")).unwrap();
    assert!(model.exists() && !path("soft").exists());
}
