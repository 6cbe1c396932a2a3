//! `exm table orbits` from outside.

use crate::common::{Folder, assert_fails};

const SURVEY: &str = "table orbits general-delta1 --networks 6 --seed 3";

#[test]
fn orbits_are_predicted_and_drawn() {
    let folder = Folder::new("orbits");
    let text = folder.text(&format!("{SURVEY} --threads 1 -o orbits.svg"));
    let title = "general-delta1 on 6 links: 10 Mbps to 20 Mbps, RTT 100 ms to 200 ms";
    assert!(text.starts_with(title), "{text}");
    let agrees = |line: &str| {
        let figures = line.strip_prefix("one flow: predicted, simulated");
        figures.is_some_and(|figures| figures.split_whitespace().all(|figure| figure == "100.0"))
    };
    assert!(text.lines().any(agrees), "{text}");
    assert_eq!(text, folder.text(&format!("{SURVEY} --threads 2")), "on any number of threads");
    let picture = folder.text("table orbits general-delta1 --networks 6 --seed 3 -o again.svg");
    assert_eq!(picture, text);
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).expect(name);
    assert_eq!(read("orbits.svg"), read("again.svg"));
    assert!(read("orbits.svg").contains("period of cycles, RTTs"));
}

#[test]
fn what_cannot_be_surveyed_is_said() {
    let folder = Folder::new("orbits-errors");
    assert_fails(&folder.run("table orbits general-delta2"), 2, &["general-delta1"]);
    assert_fails(&folder.run(&format!("{SURVEY} -o orbits.gif")), 2, &[".svg, .png or .pdf"]);
    assert_fails(&folder.run("table orbits general-delta1 --networks 0"), 2, &["--networks"]);
    assert_fails(&folder.run("table orbits general-delta1 --force"), 2, &["--out"]);
}
