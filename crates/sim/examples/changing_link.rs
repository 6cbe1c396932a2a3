//! A link that loses three quarters of its rate while Cubic or BBR runs over it: the state of each, second
//! by second, and what limited it.
//!
//! `cargo run --release -p exm-sim --no-default-features --example changing_link`

use exm_link::{Limit, Service};
use exm_sim::controllers::AnyController;
use exm_sim::engine::{Event, EventKind, Observer, Simulation};
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
use exm_units::{Instant, Packets, Rate, Span};

/// Counts drops.
#[derive(Default)]
struct Drops(u64);

impl Observer for Drops {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        self.0 += u64::from(matches!(event.kind, EventKind::Dropped { .. }));
    }
}

fn network(controller: &str) -> Result<Network, Box<dyn std::error::Error>> {
    let rate = Service::Fixed(Rate::from_mbps(20.0));
    let link = LinkSpec::bottleneck(rate, Limit::Packets(Packets::new(200)));
    let controller = AnyController::named(controller).ok_or("no such controller")?;
    let flow = FlowSpec::new(Host::Tcp.transport(controller)).extra_delay(Span::from_millis(50));
    Ok(Network::new(vec![link], vec![flow], Span::from_secs(12))?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for controller in ["cubic", "bbr"] {
        println!("{controller}: 20 Mbps, from 6 s on 5 Mbps");
        println!("  s  Mbps  queued  drops  cwnd  limited by");
        let mut simulation = Simulation::observed(network(controller)?, 1, Drops::default());
        let mut before = 0;
        for second in 1..=12 {
            if second == 7 {
                simulation.set_rate(0, Rate::from_mbps(5.0))?;
            }
            simulation.run_until(Instant::ZERO + Span::from_secs(second));
            let bytes = simulation.report().flows[0].bytes.get();
            let mbps = (bytes - before) as f64 * 8.0 / 1e6;
            before = bytes;
            let flow = simulation.flow(0).ok_or("there is one flow")?;
            let queued = simulation.link(0).ok_or("there is one link")?.packets;
            let (drops, cwnd) = (simulation.observer().0, flow.cwnd.get());
            println!("{second:3} {mbps:5.1} {queued:7} {drops:6} {cwnd:5}  {:?}", flow.limited);
        }
    }
    Ok(())
}
