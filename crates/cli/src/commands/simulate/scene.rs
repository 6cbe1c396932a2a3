//! `exm simulate URL`: a scene, with the changes that are recorded in it.

use super::record::STEPS;
use super::results::{Results, Run};
use super::sweep::Sweep;
use crate::options::Setup;
use crate::progress::Progress;
use crate::ranges;
use crate::shell::{Failure, Printing};
use exm_design::DesignRanges;
use exm_experiment::queues;
use exm_ratatouille::{Lane, Player, Scene, SceneError};
use exm_sim::network::Network;
use exm_sim::scenario::Scenario;
use exm_units::{Instant, Span};
use std::path::Path;
use std::process::ExitCode;

/// Simulates the scene of `url`, and prints the results of each lane.
pub(super) fn run(
    url: &str,
    ranges: &mut DesignRanges,
    printing: &Printing,
) -> Result<ExitCode, Failure> {
    let failure = |error: SceneError| {
        Failure::usage(format!("the scene cannot be simulated: {error}"))
            .with_tip("a scene is what stands after the # of its URL: key=value, joined by &")
    };
    let scene = Scene::from_url(url).map_err(failure)?;
    let mut load = |name: &str, path: &Path| ranges::controller(ranges, name, path);
    let mut player = Player::new(&scene, &mut load).map_err(failure)?;
    play(&mut player);
    let lanes = player.lanes();
    let active: Vec<(Scenario, Network)> = lanes.iter().filter_map(active).collect();
    let networks = || active.iter().map(|(scenario, network)| (scenario, network));
    let warnings = [ranges.warnings(networks()), queues::warnings(networks())].concat();
    if let [only] = lanes {
        printing.print_warned(&results(only, &scene), &warnings)?;
    } else {
        let named = lanes.iter().zip(&scene.lanes);
        let points =
            named.map(|(lane, controllers)| (controllers.join(","), results(lane, &scene)));
        printing.print_warned(&Sweep::new("cc", points.collect()), &warnings)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The scenario of a lane with the flows that are active at its end, and their network.
fn active(lane: &Lane) -> Option<(Scenario, Network)> {
    let network = lane.active_network().ok()?;
    let mut scenario = lane.scenario().clone();
    let count = scenario.groups().take_while(|(first, _)| *first < lane.active()).count();
    scenario.flows.truncate(count);
    Some((scenario, network))
}

/// Plays the whole scene, and shows the progress.
fn play(player: &mut Player) {
    let progress = Progress::new(STEPS);
    let whole = player.end() - Instant::ZERO;
    let step = Span::from_nanos(whole.as_nanos().div_ceil(STEPS));
    while player.now() < player.end() {
        player.run_until(player.now().saturating_add(step));
        progress.advance(1);
    }
    progress.finish();
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
