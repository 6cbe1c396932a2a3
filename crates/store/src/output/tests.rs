use super::*;
use exm_testing::Folder;

#[test]
fn an_output_never_replaces_a_file_without_consent() {
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
    // An input, under any name, whether or not it exists.
    for (output, input) in [(&model, &model), (&path("./model.toml"), &model), (&new, &new)] {
        let error = check_output(output, &[input], true).unwrap_err();
        assert!(matches!(error, OutputError::InUse { .. }), "{error}");
        assert!(!error.can_be_forced());
    }
}

#[cfg(unix)]
#[test]
fn devices_sockets_and_links_are_recognised() {
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
