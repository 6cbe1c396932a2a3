//! A report, opened in a real browser. It is skipped, saying so, where none is installed.
//!
//! What opens any page the same way is [`opened`]: it takes a file and returns the document as it
//! stands once the page's own script has run, with what the browser complained of.

use exm_measure::figure::{Line, Sequence, Style};
use exm_measure::report::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Browsers that can print a document, by what they are called.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named = |name: &str| folders.iter().map(|f| f.join(name)).find(|file| file.is_file());
    BROWSERS.iter().find_map(|name| named(name))
}

/// The document of `page` as `browser` has it in the end, and the errors it wrote. Nothing where it
/// does not start on this machine, or does not end.
fn opened(browser: &Path, page: &Path, folder: &Path) -> Option<(String, Vec<String>)> {
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

/// A page with some of everything.
fn page() -> Page {
    let sequence = |title: &str| Sequence {
        title: title.to_owned(),
        subtitle: String::new(),
        description: "A straight line.".to_owned(),
        y_axis: "delivered, MB".to_owned(),
        lines: vec![Line {
            name: "RemyCC".to_owned(),
            style: Style::nth(0),
            points: vec![(0.0, 0.0), (10.0, 18.0)],
        }],
        events: vec![],
    };
    let figure = |title: &str| {
        let (caption, file) = ("Delivered over time".to_owned(), "sequence.svg".to_owned());
        Block::Figure(Figure { svg: sequence(title).svg(), caption, file })
    };
    let columns = vec![
        Column::new("scheme", ColumnKind::Text),
        Column::new("throughput, Mbps", ColumnKind::Number),
        Column::new("speed-up of RemyCC", ColumnKind::Compared),
    ];
    let row = |index: u32| {
        let value = f64::from(index) / 10.0;
        let name = Cell::text(format!("scheme {index} <&>"));
        vec![name, Cell::number(1.0 + value, 2), Cell::compared(Some(2.0 - value), Some(2.1), 1)]
    };
    let table = Table { caption: "Medians".to_owned(), columns, rows: (0..12).map(row).collect() };
    let section =
        |heading: &str, blocks: Vec<Block>| Section { heading: heading.to_owned(), blocks };
    Page {
        title: "Figure 3-4".to_owned(),
        lead: "Eight senders on a dumbbell, `15 Mbps` and 150 ms.".to_owned(),
        provenance: vec![
            ("seed".to_owned(), "1".to_owned()),
            ("version".to_owned(), "0.1.0".to_owned()),
            ("configuration".to_owned(), "9f86d081884c7d65".to_owned()),
        ],
        sections: vec![
            section(
                "Throughput and delay",
                vec![figure("One"), figure("Two"), Block::Table(table)],
            ),
            section(
                "How to run it again",
                vec![
                    Block::Prose("With one command:".to_owned()),
                    Block::Command("exm experiment run figure-3-4 --seed 1".to_owned()),
                ],
            ),
        ],
    }
}

#[test]
fn a_report_opens_in_a_browser() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&folder).expect("a folder of the build");
    let file = folder.join("report.html");
    std::fs::write(&file, page().html()).expect("the folder can be written");
    let Some(browser) = browser() else {
        eprintln!("skipped: no Chromium or Chrome is installed to open a report in");
        return;
    };
    let Some((document, errors)) = opened(&browser, &file, &folder) else {
        eprintln!("skipped: {} does not run here", browser.display());
        return;
    };
    assert!(errors.is_empty(), "the browser complains: {errors:?}");
    let count = |needle: &str| document.matches(needle).count();
    let body = document.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next());
    assert_eq!(body.expect("a table").matches("<tr>").count(), 12, "{document}");
    assert!(document.contains("<th scope=\"row\">scheme 11 &lt;&amp;&gt;</th>"), "{document}");
    assert_eq!((count("<figure>"), count("<section"), count("<pre>")), (2, 2, 1));
    // The script has run to its end: every mark of the last figure has its name, and no title.
    assert_eq!(count("<title>"), 1, "{document}");
    assert!(document.contains("aria-label=\"RemyCC: 10, 18\""), "{document}");
    assert!(document.contains("<div id=\"tip\""), "{document}");
}

#[test]
fn what_a_page_complains_of_is_noticed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser-complaint");
    std::fs::create_dir_all(&folder).expect("a folder of the build");
    let file = folder.join("broken.html");
    let broken = "<!DOCTYPE html><title>t</title><p>p</p><script>missing.call();</script>";
    std::fs::write(&file, broken).expect("the folder can be written");
    let opened = browser().and_then(|browser| opened(&browser, &file, &folder));
    let Some((_, errors)) = opened else {
        eprintln!("skipped: there is no Chromium or Chrome that runs");
        return;
    };
    assert!(errors.iter().any(|error| error.contains("missing is not defined")), "{errors:?}");
}
