//! A network as the text of a scenario.

use super::TESTED;
use crate::specimen::{DrawnLink, DrawnSender, Mixed};
use exm_grammar::{Amounts, Unit};
use exm_random::Distribution;
use exm_sim::network::Host;
use exm_sim::traffic::{OnOff, Traffic};
use std::fmt::Write;

/// The scenario that simulates `network` with `seed`: its tested senders are run by `tested` on `host`, the
/// others by `competitor` over TCP.
pub fn scenario(
    network: &Mixed,
    title: &str,
    seed: u64,
    (tested, host): (&str, Host),
    competitor: &str,
) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut text = format!(
        "title = {}\nseed = {seed}\nduration = \"{}\"\npacket_size = \"{}\"\n",
        quoted(title),
        network.duration,
        network.packet
    );
    for (index, link) in network.links.iter().enumerate() {
        let buffer = link.buffer.map_or("unlimited".to_owned(), |buffer| buffer.to_string());
        let (from, to) = link.ends;
        write!(
            text,
            "\n[[link]]\nname = \"link {}\"\nfrom = \"node {from}\"\nto = \"node {to}\"\n\
             rate = \"{}\"\ndelay = \"{}\"\nbuffer = \"{buffer}\"\nqueue = \"{}\"\nloss = {}\n",
            index + 1,
            link.rate,
            link.delay,
            link.queue,
            link.loss.get(),
        )
        .expect("memory takes it");
        variation(&mut text, link);
    }
    for alike in network.senders.chunk_by(|a, b| a == b) {
        let is_tested = alike[0].class == TESTED;
        let (name, host) = if is_tested { (tested, host) } else { (competitor, Host::Tcp) };
        flow(&mut text, &alike[0], alike.len(), &quoted(name), host);
    }
    text
}

/// Jitter and reordering, where the link has them.
fn variation(text: &mut String, link: &DrawnLink) {
    if !link.jitter.is_zero() {
        let distribution = Distribution::Exponential { mean: link.jitter.as_secs_f64() };
        let jitter = Amounts { distribution, unit: Unit::Seconds };
        writeln!(text, "jitter = \"{jitter}\"").expect("memory takes it");
    }
    let (probability, extra) = (link.reordering.probability.get(), link.reordering.extra);
    if probability > 0.0 {
        writeln!(text, "reorder = {probability}\nreorder_delay = \"{extra}\"")
            .expect("memory takes it");
    }
}

fn flow(text: &mut String, sender: &DrawnSender, count: usize, controller: &str, host: Host) {
    let links = |links: &[usize]| {
        links.iter().map(|link| format!("\"link {}\"", link + 1)).collect::<Vec<_>>().join(", ")
    };
    let mut line = |key: &str, value: &str| writeln!(text, "{key} = {value}").expect("memory");
    line("\n[[flow]]\nname", controller);
    line("count", &count.to_string());
    line("path", &format!("[{}]", links(&sender.path)));
    if !sender.back.is_empty() {
        line("back", &format!("[{}]", links(&sender.back)));
    }
    line("rtt", &format!("\"{}\"", sender.rtt));
    line("controller", controller);
    line("host", &format!("\"{}\"", host.name()));
    line("traffic", &format!("{{ {} }}", traffic(&sender.traffic).join(", ")));
}

/// The keys of the traffic of a network of the space, which is on and off by turns.
pub(super) fn traffic(traffic: &Traffic) -> Vec<String> {
    let Some(on) = traffic.on().amounts() else { return vec!["on = \"always\"".to_owned()] };
    let mut keys = vec![format!("on = \"{on}\"")];
    if let Traffic::OnOff(OnOff { off, .. }) = traffic {
        let off = Amounts { distribution: off.clone(), unit: Unit::Seconds };
        keys.push(format!("off = \"{off}\""));
    }
    keys
}
