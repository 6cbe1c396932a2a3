//! `exm ratatouille`: the page on which a network is watched and changed while it runs.

mod measure;

use crate::complete;
use crate::loopback::Server;
use crate::outputs::{check_only_output, is_stdout, write_output};
use crate::ranges;
use crate::shell::{Failure, Printing, note, print, program};
use crate::tables;
use exm_design::DesignRanges;
use exm_plugin::outside;
use exm_ratatouille::{Scene, SceneError};
use exm_sim::builtin::{Builtin, split_list};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The page, in one file; empty if the program was built without it.
static PAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ratatouille.html"));
/// In addition to the policy that the page itself contains: a file cannot say who may frame it.
const POLICY: &str = "frame-ancestors 'none'";

const EXAMPLES: &str = "\
The page simulates in the browser, by the same code as exm simulate, which gives the results of a link to it. Each
controller has a lane: the lanes have the same network and the same arrivals. Controllers joined by commas share a
lane, flow by flow. The keys of the page are listed by ? on it.

Examples:
  exm ratatouille
  exm ratatouille cubic general-delta1
  exm ratatouille cubic,bbr mine.json
  exm ratatouille '#link=5Mbps&rtt=40ms&cc=cubic&cc=bbr&change=20s,rate,1Mbps'
  exm ratatouille --page ratatouille.html
  exm ratatouille --measure 'buffer=4 BDP&flows=2&until=5min&cc=learn-100x&cc=reno'";

/// Watch a network in the browser, and change it while it runs
///
/// Serves a page on this machine until it is interrupted, prints its URL, and opens it in a browser if there is one.
/// Nothing is loaded from other machines.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Controllers, one for each lane: a name such as cubic, a table's file, or the name of a shipped table; or a link
    /// to a scene, or what stands after the # in it
    #[arg(value_name = "CC|LINK", add = complete::controllers())]
    shown: Vec<String>,
    /// Write the page to a file instead, which any browser can open and any web server can serve; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["port", "no_open"])]
    page: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, short, requires = "page")]
    force: bool,
    /// Print what the page measures of each flow, over the last four fifths of the scene: its packets in flight, the
    /// period of their orbit, its ramp-up, and what held its packets back
    #[arg(long, conflicts_with_all = ["page", "port", "no_open"])]
    measure: bool,
    /// Print the measures as JSON
    #[arg(long, requires = "measure", help_heading = "Output")]
    json: bool,
    /// The port of 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", help_heading = "Server")]
    port: Option<u16>,
    /// Only print the URL, without opening a browser
    #[arg(long, help_heading = "Server")]
    no_open: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let scene = scene(&self.shown)?;
        if self.measure {
            measure::print(&scene.unwrap_or_default(), Printing { json: self.json })?;
            return Ok(ExitCode::SUCCESS);
        }
        let fragment = match scene {
            Some(scene) => format!("#{scene}"),
            None => String::new(),
        };
        let page = page()?;
        if let Some(path) = &self.page {
            check_only_output(path, &[], self.force)?;
            write_output(path, page)?;
            if !is_stdout(path) {
                note(&way_to_open(path, &fragment));
            }
            return Ok(ExitCode::SUCCESS);
        }
        let server = Server::listen(self.port, &format!("{} ratatouille", program()))?;
        let url = server.url() + &fragment;
        print(&format!("{url}\n"))?;
        note("the page is served until this command is interrupted (Ctrl-C)");
        if !self.no_open {
            open(&url);
        }
        server.serve(POLICY, || page.into());
        Ok(ExitCode::SUCCESS)
    }
}

/// The page, if the program has it.
fn page() -> Result<&'static [u8], Failure> {
    match option_env!("EXM_NO_PAGE") {
        None => Ok(PAGE),
        Some(problem) => Err(Failure::new(format!("there is no page to show: {problem}"))
            .with_tip(option_env!("EXM_WAY_TO_PAGE").unwrap_or_default())),
    }
}

/// The scene that `shown` asks for; without any the page begins with its own. Names and values are checked.
fn scene(shown: &[String]) -> Result<Option<Scene>, Failure> {
    // Of controllers, the first has no "=" but that of a parameter.
    let has_key = |text: &str| {
        let first = text.split(',').next().unwrap_or_default();
        first.contains('=') && Builtin::name_in(first).is_none()
    };
    let is_link =
        |text: &&String| has_key(text) || text.starts_with(['#']) || text.starts_with("http");
    let scene = match (shown, shown.iter().find(is_link)) {
        ([], _) => return Ok(None),
        ([_], Some(link)) => {
            let mut scene = Scene::from_url(link).map_err(|error| impossible(&error))?;
            let lanes = std::mem::take(&mut scene.lanes);
            add_lanes(&lanes, &mut scene)?;
            scene
        }
        (_, Some(link)) => {
            let problem = format!("{link} is a scene, which has its own controllers");
            return Err(
                Failure::usage(problem).with_tip("give the link alone, with a cc= for each lane")
            );
        }
        (names, None) => {
            let lanes: Vec<Vec<String>> = names.iter().map(|names| split_list(names)).collect();
            let mut scene = Scene::default();
            add_lanes(&lanes, &mut scene)?;
            scene
        }
    };
    let mut ranges = DesignRanges::default();
    scene
        .networks(&mut |name, path| ranges::controller(&mut ranges, name, path))
        .map_err(|error| impossible(&error))?;
    Ok(Some(scene))
}

/// Adds lanes of controllers, by the names that `scene` has for them.
fn add_lanes(lanes: &[Vec<String>], scene: &mut Scene) -> Result<(), Failure> {
    for names in lanes {
        let flows = names.iter().map(|name| named(name, scene)).collect::<Result<_, Failure>>()?;
        scene.lanes.push(flows);
    }
    Ok(())
}

fn impossible(error: &SceneError) -> Failure {
    Failure::usage(format!("the scene cannot be shown: {error}"))
        .with_tip("a scene is what stands after the # of its URL: key=value, joined by &")
}

/// The name that `scene` has for the controller `name`. The table of a file becomes part of it, so that whoever has the
/// link has the table.
fn named(name: &str, scene: &mut Scene) -> Result<String, Failure> {
    let is_known =
        Builtin::parse(name).map_err(|error| Failure::usage(error.to_string()))?.is_some();
    if is_known || scene.files.iter().any(|file| file.name() == name) {
        return Ok(name.to_owned());
    }
    if outside::is_outside(name) {
        let problem =
            format!("the page runs no controllers from outside the program, such as {name}");
        return Err(Failure::usage(problem)
            .with_tip("exm simulate shows what one does, exm compare beside others"));
    }
    let table = tables::load_contender(name)?;
    if !Path::new(name).is_file() {
        return Ok(name.to_owned());
    }
    let is_shipped = |name: &str| tables::shipped_names().contains(&name);
    let file = scene.file_of(&table, name, is_shipped).map_err(|error| impossible(&error))?;
    let name = file.name().to_owned();
    scene.add_file(file);
    Ok(name)
}

/// What to do with the page in the file `path`, to see the scene of `fragment`.
fn way_to_open(path: &Path, fragment: &str) -> String {
    let scene = match fragment {
        "" => String::new(),
        fragment => format!(" The scene is shown with {fragment} at the end of its address."),
    };
    format!(
        "open {} in a browser, or put it on any web server: it needs no other files.{scene}",
        path.display()
    )
}

/// Opens `url` in a browser, if somebody sits at this machine and it has one.
fn open(url: &str) {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|display| !display.is_empty()));
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else if has_display {
        "xdg-open"
    } else {
        return;
    };
    if !std::io::stdout().is_terminal() {
        return;
    }
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The browser outlives the interrupt that ends the server.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Without a browser, the URL has been printed.
    if let Ok(mut child) = command.spawn() {
        std::thread::spawn(move || child.wait());
    }
}
