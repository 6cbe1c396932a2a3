//! Converts a network to a new part of a model.

use super::TESTED;
use super::scenario::traffic;
use crate::specimen::{DrawnLink, DrawnSender, Mixed};
use exm_units::{Probability, Span};
use std::fmt::Write;

/// The section `[[part]]` of a model that makes `network` the share `weight` of its specimens: its tested senders
/// run the designed table `table`, the others `competitor`.
///
/// In a model the delay of a path is on its links. So each of two bottlenecks gets half of the RTT,
/// whereas in the searched network all of it is after the last link.
pub fn part(network: &Mixed, weight: Probability, table: &str, competitor: &str) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let rtt = network.senders.first().map_or(Span::ZERO, |sender| sender.rtt);
    let has_back = network.senders.iter().any(|sender| !sender.back.is_empty());
    // Of links that lead back, half of their round trip counts, as of those there.
    let each = if has_back { rtt } else { rtt / network.links.len().max(1) as u64 };
    let mut text = format!(
        "[[part]]\nweight = {}\nduration = \"{}\"\n\n[part.network]\npacket_size = \"{}\"\n",
        weight.get(),
        network.duration,
        network.packet
    );
    for each_link in &network.links {
        link(&mut text, each_link, each, has_back);
    }
    for alike in network.senders.chunk_by(|a, b| a == b) {
        let runs = match alike[0].class {
            TESTED => format!("table = {}", quoted(table)),
            _ => format!("controller = {}", quoted(competitor)),
        };
        sender(&mut text, &alike[0], alike.len(), &runs);
    }
    text
}

fn link(text: &mut String, link: &DrawnLink, rtt: Span, has_ends: bool) {
    let DrawnLink { rate, queue, jitter, reordering, .. } = link;
    let buffer = link.buffer.map_or("unlimited".to_owned(), |buffer| buffer.to_string());
    let loss = link.loss.get();
    let (from, to) = link.ends;
    let ends = format!("from = \"node {from}\"\nto = \"node {to}\"\n");
    let ends = if has_ends { &ends } else { "" };
    write!(
        text,
        "\n[[part.link]]\n{ends}rate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer}\"\nloss = {loss}\n\
         queue = \"{queue}\"\n"
    )
    .expect("memory takes it");
    let mut line = |line: String| writeln!(text, "{line}").expect("memory takes it");
    if !jitter.is_zero() {
        line(format!("jitter = \"{jitter}\""));
    }
    if reordering.probability > Probability::ZERO {
        let (probability, extra) = (reordering.probability.get(), reordering.extra);
        line(format!("reorder = {probability}\nreorder_delay = \"{extra}\""));
    }
}

fn sender(text: &mut String, sender: &DrawnSender, count: usize, runs: &str) {
    let links = |links: &[usize]| {
        links.iter().map(|link| (link + 1).to_string()).collect::<Vec<_>>().join(", ")
    };
    let back = match &sender.back[..] {
        [] => String::new(),
        back => format!("back = [{}]\n", links(back)),
    };
    write!(
        text,
        "\n[[part.sender]]\ncount = {count}\npath = [{}]\n{back}rtt = \"{}\"\n{}\n{runs}\n",
        links(&sender.path),
        sender.rtt,
        traffic(&sender.traffic).join("\n")
    )
    .expect("memory takes it");
}
