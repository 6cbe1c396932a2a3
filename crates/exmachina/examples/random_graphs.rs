//! How much does a table that was designed for one bottleneck lose on networks of many? Random graphs of 2 to 20 links:
//! prints, by the number of bottlenecks on a flow's path, by how much its objective is below that of omniscient senders,
//! with 95 % intervals over graphs.
//!
//! `cargo run --release -p exmachina --example random_graphs -- [graphs of each size] [seed]`

use exmachina::cc::Cubic;
use exmachina::design::shipped;
use exmachina::link::{Limit, QueueKind, Service};
use exmachina::random::{Distribution, Purpose, Stream};
use exmachina::remy::RemyCc;
use exmachina::sim::controllers::AnyController;
use exmachina::sim::engine;
use exmachina::sim::fluid::{Bound, Fluid};
use exmachina::sim::network::{FlowSpec, Host, LinkSpec, Network};
use exmachina::sim::traffic::{OnFor, OnOff};
use exmachina::units::{Bytes, Rate, Span};
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;

/// The numbers of links, each one in both directions.
const SIZES: [usize; 7] = [2, 3, 5, 8, 12, 16, 20];
/// The networks of the tables "parking-one" and "parking-two": 10 to 100 Mbps, 150 ms, two senders on each link.
const SLOWEST_MBPS: f64 = 10.0;
const FASTEST_MBPS: f64 = 100.0;
const RTT: Span = Span::from_millis(150);
const SENDERS: usize = 2;
const DURATION: Span = Span::from_secs(30);
/// The number of further flows that are tried in vain before a graph has enough.
const TRIES: usize = 50;
/// Flows of so many bottlenecks or more are counted together.
const MOST: usize = 4;
/// A link is a bottleneck if omniscient senders fill it so far.
const FULL: f64 = 0.999;

/// A graph: for each of its links the two nodes and the rate in Mbps.
struct Graph {
    nodes: usize,
    edges: Vec<(usize, usize, f64)>,
}

impl Graph {
    /// A connected graph of `links` links: a random tree, and links between random nodes.
    fn draw(links: usize, stream: &mut Stream) -> Graph {
        let nodes = (links * 3).div_ceil(4) + 1;
        let mut ends: Vec<(usize, usize)> =
            (1..nodes).map(|node| (stream.below(node), node)).collect();
        while ends.len() < links {
            let (a, b) = (stream.below(nodes), stream.below(nodes));
            if a != b {
                ends.push((a, b));
            }
        }
        let rate = |(a, b)| {
            let times = libm::pow(FASTEST_MBPS / SLOWEST_MBPS, stream.uniform());
            (a, b, SLOWEST_MBPS * times)
        };
        Graph { nodes, edges: ends.into_iter().map(rate).collect() }
    }

    /// The shortest path between two nodes, as numbers of directed links: an edge is two of them.
    fn path(&self, from: usize, to: usize) -> Vec<usize> {
        let mut came: Vec<Option<(usize, usize)>> = vec![None; self.nodes];
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            for (index, &(a, b, _)) in self.edges.iter().enumerate() {
                for (start, end, link) in [(a, b, 2 * index), (b, a, 2 * index + 1)] {
                    if start == node && end != from && came[end].is_none() {
                        came[end] = Some((node, link));
                        next.push_back(end);
                    }
                }
            }
        }
        let back = std::iter::successors(came[to], |&(node, _)| came[node]);
        let mut path: Vec<usize> = back.map(|(_, link)| link).collect();
        path.reverse();
        path
    }

    /// The paths of flows between random nodes, no more than [`SENDERS`] on any link.
    fn paths(&self, stream: &mut Stream) -> Vec<Vec<usize>> {
        let mut used = vec![0; 2 * self.edges.len()];
        let (mut paths, mut failed) = (Vec::new(), 0);
        while failed < TRIES {
            let path = self.path(stream.below(self.nodes), stream.below(self.nodes));
            if path.is_empty() || path.iter().any(|&link| used[link] == SENDERS) {
                failed += 1;
                continue;
            }
            path.iter().for_each(|&link| used[link] += 1);
            paths.push(path);
        }
        paths
    }

    fn network(&self, paths: &[Vec<usize>], scheme: &Scheme) -> Result<Network, Box<dyn Error>> {
        let link = |&(a, b, mbps): &(usize, usize, f64)| {
            let rate = Rate::from_mbps(mbps);
            let buffer =
                Limit::Bytes(Bytes::new((5.0 * mbps * 1e6 / 8.0 * RTT.as_secs_f64()) as u64));
            let link =
                LinkSpec::bottleneck(Service::Fixed(rate), buffer).queue(scheme.queue.clone());
            [link.clone().ends(a, b), link.ends(b, a)]
        };
        let traffic = OnOff {
            on: OnFor::Time(Distribution::Exponential { mean: 1.0 }),
            off: Distribution::Exponential { mean: 1.0 },
        };
        let flow = |path: &Vec<usize>| {
            FlowSpec::new(Host::Tcp.transport(scheme.controller.clone()))
                .path(path.clone())
                .extra_delay(RTT)
                .traffic(traffic.clone())
        };
        let links = self.edges.iter().flat_map(link).collect();
        Ok(Network::new(links, paths.iter().map(flow).collect(), DURATION)?)
    }
}

struct Scheme {
    name: &'static str,
    controller: AnyController,
    queue: QueueKind,
}

/// All designs of a table, or the table.
fn designs(name: &'static str) -> Vec<Scheme> {
    let own = shipped::designs().filter(|design| {
        design.strip_suffix(|c: char| c.is_ascii_digit()) == Some(&format!("{name}.seed"))
    });
    let mut files: Vec<_> = own.filter_map(shipped::design).collect();
    if files.is_empty() {
        files.extend(shipped::table(name));
    }
    let scheme = |file: exmachina::table::TableFile| Scheme {
        name,
        controller: RemyCc::new(&file.table).into(),
        queue: QueueKind::default(),
    };
    files.into_iter().map(scheme).collect()
}

/// By how much each flow that was on is below an omniscient sender, in points of log2(throughput) - log2(RTT).
fn losses(network: &Network, seed: u64, bounds: &[Bound]) -> Vec<Option<f64>> {
    let report = engine::run(network, seed);
    let each = report.flows.iter().zip(network.flows()).zip(bounds).map(|((flow, spec), bound)| {
        let payload = spec.transport.payload(spec.packet_size).get() as f64;
        // A flow that delivered nothing counts as one that delivered half a packet in the whole run.
        let packets = (flow.bytes.get() as f64 / payload).max(0.5);
        let rtt_ms = match flow.rtt.count() {
            0 => DURATION.as_millis_f64(),
            count => flow.rtt.sum_nanos() as f64 * 1e-6 / count as f64,
        };
        let loss = libm::log2(bound.delivered / packets) + libm::log2(rtt_ms / bound.rtt_ms);
        (bound.delivered >= 1.0).then_some(loss)
    });
    each.collect()
}

/// How many links on each flow's path omniscient senders fill.
fn bottlenecks(fluid: &Fluid) -> Vec<usize> {
    let shares = fluid.shares();
    let load = |link: usize| -> f64 {
        let crossing =
            fluid.senders.iter().zip(&shares).filter(|(sender, _)| sender.path.contains(&link));
        crossing.map(|(_, share)| share).sum()
    };
    let is_full = |&&link: &&usize| load(link) >= FULL * fluid.links[link].packets_per_ms;
    fluid.senders.iter().map(|sender| sender.path.iter().filter(is_full).count()).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let graphs = arguments.next().transpose()?.unwrap_or(10);
    let seed = arguments.next().transpose()?.unwrap_or(1);
    let cubic = |name, queue| Scheme { name, controller: Cubic::new().into(), queue };
    let mut schemes = designs("parking-one");
    schemes.extend(designs("parking-two"));
    schemes.push(cubic("cubic/sfq-codel", "sfq-codel".parse()?));
    schemes.push(cubic("cubic", QueueKind::default()));
    // Of each scheme and number of bottlenecks, the mean of each graph.
    let mut found: BTreeMap<(usize, &str), Vec<f64>> = BTreeMap::new();
    for (size, graph) in SIZES.iter().flat_map(|&size| (0..graphs).map(move |graph| (size, graph)))
    {
        let number = size * 1_000_000 + graph as usize;
        let mut stream = Stream::new(seed, Purpose::Specimen, number);
        let graph = Graph::draw(size, &mut stream);
        let paths = graph.paths(&mut stream);
        let run_seed = stream.seed();
        // The mean over flows and designs.
        let mut of_graph: BTreeMap<(usize, &str), Vec<f64>> = BTreeMap::new();
        // Omniscient senders have no controller, and fill no queue: they are the same for all schemes.
        let fluid = Fluid::of(&graph.network(&paths, &schemes[0])?)?;
        let (counts, bounds) = (bottlenecks(&fluid), fluid.run(run_seed));
        for scheme in &schemes {
            let network = graph.network(&paths, scheme)?;
            for (&count, loss) in counts.iter().zip(losses(&network, run_seed, &bounds)) {
                of_graph.entry((count.min(MOST), scheme.name)).or_default().extend(loss);
            }
        }
        for (key, losses) in of_graph.into_iter().filter(|(_, losses)| !losses.is_empty()) {
            found.entry(key).or_default().push(losses.iter().sum::<f64>() / losses.len() as f64);
        }
    }
    println!("bottlenecks  scheme           below omniscient senders, points");
    for ((count, name), losses) in found {
        let estimate = exmachina::measure::Estimate::of(&losses);
        let more = if count == MOST { "or more" } else { "" };
        println!("{count} {more:<10} {name:<16} {} ({} graphs)", estimate.text(3), losses.len());
    }
    Ok(())
}
