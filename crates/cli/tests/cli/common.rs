//! A folder to run the program in, and assertions about its output.

use serde_json::Value;
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder for the test `name`, removed when dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("exm-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    /// The same for a test that creates networks; none, which is recorded, if this process may not
    /// create any.
    #[cfg(target_os = "linux")]
    #[track_caller]
    pub(crate) fn with_networks(name: &str) -> Option<Folder> {
        exm_testing::can_make_networks(&[]).then(|| Folder::new(name))
    }

    /// The program with the command line `words`, split at spaces; an underscore stands for a space
    /// within a word.
    pub(crate) fn exm(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_exm"));
        command.args(words.split(' ').map(|word| word.replace('_', " ")));
        command.current_dir(&self.0).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &str) -> Output {
        self.exm(words).output().expect("the program starts")
    }

    /// Its standard output, if it succeeds.
    pub(crate) fn text(&self, words: &str) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words}: {}", error_of(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The same as JSON.
    pub(crate) fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.text(words)).expect(words)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file that only its owner may read: it may hold a key.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect(name);
        #[cfg(unix)]
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).expect(name);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

pub(crate) fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that `output` is a single error with `code` and each of `parts`.
pub(crate) fn assert_fails(output: &Output, code: i32, parts: &[&str]) {
    let error = error_of(output);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(output.stdout.is_empty(), "{error}");
    assert_eq!(error.matches("error:").count(), 1, "{error}");
    assert!(!error.contains("panicked") && !error.contains('\u{1b}'), "{error}");
    for part in parts {
        assert!(error.contains(part), "\"{part}\" is not in: {error}");
    }
}

/// Asserts that `text` is a JSON result with its version, the `command` that made it, and all of
/// `keys`, each once. Returns it.
pub(crate) fn assert_envelope(text: &str, command: &str, keys: &[&str]) -> Value {
    let result: Value = serde_json::from_str(text).expect(command);
    assert_eq!(result["version"], env!("CARGO_PKG_VERSION"), "{command}");
    assert_eq!(result["command"], command);
    for key in keys {
        assert!(!result[key].is_null(), "{command} lacks {key}");
    }
    for key in result.as_object().expect("an object").keys() {
        let count = text.matches(&format!("\n  \"{key}\": ")).count();
        assert_eq!(count, 1, "{command} has {key} more than once");
    }
    result
}
