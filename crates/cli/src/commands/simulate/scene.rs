//! `exm simulate URL`: a scene, with the changes that are recorded in it.

use super::results::{Results, Run};
use super::sweep::Sweep;
use crate::options::Setup;
use crate::queues;
use crate::ranges::DesignRanges;
use crate::shell::{Failure, Printing};
use exm_ratatouille::{Lane, Player, Scene};
use std::process::ExitCode;

/// Simulates the scene of `url`, and prints the results of each lane.
pub(super) fn run(
    url: &str,
    ranges: &mut DesignRanges,
    printing: &Printing,
) -> Result<ExitCode, Failure> {
    let failure = |error: exm_ratatouille::SceneError| {
        Failure::usage(format!("the scene cannot be simulated: {error}"))
            .with_tip("a scene is what stands after the # of its URL: key=value, joined by &")
    };
    let scene = Scene::from_url(url).map_err(failure)?;
    let mut load = |name: &str, path: &std::path::Path| ranges.controller(name, path);
    let mut player = Player::new(&scene, &mut load).map_err(failure)?;
    player.run_until(player.end());
    let lanes = player.lanes();
    let networks = || lanes.iter().map(|lane| (lane.scenario(), lane.simulation().network()));
    let warnings = [ranges.warnings(networks()), queues::warnings(networks())].concat();
    let mut points: Vec<(String, Results)> = lanes
        .iter()
        .zip(1..)
        .map(|(lane, number)| (name(&scene, number), results(lane, &scene)))
        .collect();
    if let [(_, only)] = points.as_slice() {
        printing.print_warned(only, &warnings)?;
    } else {
        for (_, results) in &mut points {
            results.setup = None;
        }
        printing.print_warned(&Sweep::new("cc", points), &warnings)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of lane `number`: its controllers.
fn name(scene: &Scene, number: usize) -> String {
    scene.lanes.get(number - 1).map_or_else(|| number.to_string(), |lane| lane.join(","))
}

fn results(lane: &Lane, scene: &Scene) -> Results {
    let (mut scenario, network) = (lane.scenario().clone(), lane.simulation().network());
    let report = lane.report();
    // A scene has room for more flows than it uses: those after the last that was on are left out.
    let used =
        report.flows.iter().rposition(|flow| !flow.on_time.is_zero()).map_or(1, |last| last + 1);
    let groups = scenario.groups().take_while(|(first, _)| *first < used).count();
    scenario.flows.truncate(groups);
    let run = Run::new(&scenario, network, &report);
    let mut setup = Setup::new();
    setup.given("scene", scene);
    Results::new(&scenario, network, vec![run], Some(setup))
}
