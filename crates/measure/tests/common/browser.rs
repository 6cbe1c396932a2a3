//! Pages opened in a real browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Browsers that can print a document, by what they are called.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// One that is installed.
pub(crate) fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named = |name: &str| folders.iter().map(|f| f.join(name)).find(|file| file.is_file());
    BROWSERS.iter().find_map(|name| named(name))
}

/// The document of `page` as `browser` has it in the end, and the errors it wrote. Nothing where it
/// does not start on this machine, or does not end.
pub(crate) fn opened(browser: &Path, page: &Path, folder: &Path) -> Option<(String, Vec<String>)> {
    let (document, complaints) = (folder.join("document.html"), folder.join("complaints"));
    let file = |path: &Path| std::fs::File::create(path).expect("the folder can be written");
    let mut child = Command::new(browser)
        .args(["--headless", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
        .args(["--virtual-time-budget=2000", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(file(&document))
        .stderr(file(&complaints))
        .spawn()
        .ok()?;
    let mut waited = Duration::ZERO;
    let status = loop {
        match child.try_wait().expect("a child of ours") {
            Some(status) => break status,
            None if waited > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            None => std::thread::sleep(PAUSE),
        }
        waited += PAUSE;
    };
    let read = |path: &Path| {
        String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
    };
    let errors = read(&complaints);
    let is_error = |line: &&str| line.contains("CONSOLE") || line.contains("Uncaught");
    let errors = errors.lines().filter(is_error).map(str::to_owned).collect();
    let document = read(&document);
    (status.success() && !document.is_empty()).then_some((document, errors))
}
