//! A report, opened in a real browser. It is skipped, saying so, where none is installed.

#[path = "common/browser.rs"]
mod browser;

use browser::{browser, opened};
use exm_measure::figure::{Curve, Form, Plot, Sequence, Style};
use exm_measure::report::*;
use std::path::Path;

/// A page with some of everything.
fn page() -> Page {
    let sequence = |title: &str| Sequence {
        title: title.to_owned(),
        subtitle: String::new(),
        description: "A straight line.".to_owned(),
        y_axis: "delivered, MB".to_owned(),
        lines: vec![Curve {
            name: "RemyCC".to_owned(),
            style: Style::nth(0),
            points: vec![(0.0, 0.0), (10.0, 18.0)],
        }],
        events: vec![],
    };
    let figure = |title: &str| {
        let (caption, file) = ("Delivered over time".to_owned(), "sequence.svg".to_owned());
        let sequence = sequence(title);
        let narrow = Some(sequence.drawn(Form::Narrow));
        Block::Figure(Figure { svg: sequence.svg(), narrow, caption, file, downloads: vec![] })
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
        exm_testing::skip("no Chromium or Chrome to open a report in");
        return;
    };
    let Some((document, errors)) = opened(&browser, &file, &folder) else {
        exm_testing::skip(format!("{} does not run", browser.display()));
        return;
    };
    assert!(errors.is_empty(), "the browser complains: {errors:?}");
    let count = |needle: &str| document.matches(needle).count();
    let body = document.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next());
    assert_eq!(body.expect("a table").matches("<tr>").count(), 12, "{document}");
    assert!(document.contains("<th scope=\"row\">scheme 11 &lt;&amp;&gt;</th>"), "{document}");
    assert_eq!((count("<figure>"), count("<section"), count("<pre class=\"command\">")), (2, 2, 1));
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
        exm_testing::skip("no Chromium or Chrome that runs");
        return;
    };
    assert!(errors.iter().any(|error| error.contains("missing is not defined")), "{errors:?}");
}
