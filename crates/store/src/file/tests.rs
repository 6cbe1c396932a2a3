use super::*;
use exm_testing::Folder;

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new("failed");
    let path = folder.0.join("table.json");
    write_atomically(&path, b"old").unwrap();
    let partial = PartialFile::create(&path).unwrap();
    partial.file().write_all(b"ne").unwrap();
    assert!(partial.partial_path().is_some_and(Path::exists));
    drop(partial);
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
fn only_regular_files_are_replaced() {
    write_atomically(Path::new("/dev/null"), b"text").unwrap();
    let full = write_atomically(Path::new("/dev/full"), b"text").unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

/// No process has this ID: it is above the kernel's limit of 2^22.
const NOBODY: &str = "4194305";

#[test]
#[cfg(target_os = "linux")]
fn files_of_killed_processes_are_removed() {
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
