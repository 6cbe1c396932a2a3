//! For which model is Cubic what a design would find? Designs tables for models around one in which only throughput
//! counts, one assumption changed at a time, and prints by how much Cubic and NewReno are below them, with 95 %
//! intervals over designs.
//!
//! `cargo run --release -p exmachina --example inverse -- [designs a model] [steps]`

use exmachina::cc::{Cubic, Reno};
use exmachina::design::score::{Contender, HeldOut, Scheme, Score, held_out};
use exmachina::design::{Designer, Model, SearchKind};
use exmachina::measure::Estimate;
use exmachina::remy::RuleTable;
use exmachina::sim::controllers::AnyController;
use exmachina::sim::network::Host;
use std::error::Error;

/// What a model assumes.
#[derive(Clone, Copy)]
struct Assumptions {
    /// The weight of delay.
    delta: f64,
    /// In BDP.
    buffer: f64,
    /// The mean of times on and off, in seconds.
    on: f64,
    loss: f64,
    senders: &'static str,
    rtt: &'static str,
}

/// Long flows of which only the throughput counts.
const BASE: Assumptions =
    Assumptions { delta: 0.0, buffer: 1.0, on: 30.0, loss: 0.0, senders: "1..4", rtt: "100 ms" };

/// The networks that scores are measured on, none of which a search draws.
const ON: HeldOut = HeldOut { seed: 1, specimens: 64, host: Host::Tcp };

impl Assumptions {
    fn model(&self) -> Result<Model, Box<dyn Error>> {
        let Assumptions { delta, buffer, on, loss, senders, rtt } = self;
        let text = format!(
            "[network]\nrate = \"10..20 Mbps\"\nrtt = \"{rtt}\"\nsenders = \"{senders}\"\nbuffer = \"{buffer} BDP\"\n\
             loss = {loss}\n[traffic]\non = \"exponential {on} s\"\noff = \"exponential {on} s\"\n\
             [objective]\ndelta = {delta}\n[design]\nduration = \"60 s\"\nspecimens = 16\n"
        );
        Ok(Model::parse(&text, "a model of this study")?)
    }
}

fn models() -> Vec<(&'static str, Assumptions)> {
    vec![
        ("only throughput counts", BASE),
        ("delay counts by 0.03", Assumptions { delta: 0.03, ..BASE }),
        ("by 0.1", Assumptions { delta: 0.1, ..BASE }),
        ("by 1", Assumptions { delta: 1.0, ..BASE }),
        ("a buffer of 0.2 BDP", Assumptions { buffer: 0.2, ..BASE }),
        ("of 5 BDP", Assumptions { buffer: 5.0, ..BASE }),
        ("on for 3 s", Assumptions { on: 3.0, ..BASE }),
        ("for 0.3 s", Assumptions { on: 0.3, ..BASE }),
        ("0.1 % of loss", Assumptions { loss: 0.001, ..BASE }),
        ("one sender", Assumptions { senders: "1", ..BASE }),
        ("16 senders", Assumptions { senders: "16", ..BASE }),
        ("RTTs of 20 to 200 ms", Assumptions { rtt: "log 20..200 ms", ..BASE }),
    ]
}

fn designed(model: &Model, seed: u64, steps: u64) -> Result<RuleTable, Box<dyn Error>> {
    let mut designer = Designer::new(model.clone(), SearchKind::Evolve, seed)?;
    while designer.steps() < steps {
        designer.step();
    }
    Ok(designer.finish().swap_remove(0))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let designs = arguments.next().transpose()?.unwrap_or(3);
    let steps = arguments.next().transpose()?.unwrap_or(100);
    println!(
        "{:24} {:>18} {:>18}   share and RTT over its minimum: designs, Cubic",
        "", "Cubic", "NewReno"
    );
    for (name, assumptions) in models() {
        let model = assumptions.model()?;
        let tables: Vec<RuleTable> =
            (1..=designs).map(|seed| designed(&model, seed, steps)).collect::<Result<_, _>>()?;
        let tcp = |name: &str, controller: AnyController| Contender {
            name: name.to_owned(),
            scheme: Scheme::Controller(controller),
        };
        let own = |table| Contender { name: "design".to_owned(), scheme: Scheme::Table(table) };
        let mut contenders =
            vec![tcp("Cubic", Cubic::new().into()), tcp("NewReno", Reno::new().into())];
        contenders.extend(tables.into_iter().map(own));
        let scores = held_out(&model, &ON, &contenders, &|| ())?.contenders;
        let (tcps, designs) = scores.split_at(2);
        let mean =
            |of: &dyn Fn(&Score) -> f64| designs.iter().map(of).sum::<f64>() / designs.len() as f64;
        let below = |tcp: &Score| {
            let gaps: Vec<f64> =
                designs.iter().map(|own| own.score.mean - tcp.score.mean).collect();
            Estimate::of(&gaps).text(3)
        };
        println!(
            "{name:24} {:>18} {:>18}   {:.2}, {:.2}   {:.2}, {:.2}",
            below(&tcps[0]),
            below(&tcps[1]),
            mean(&|own| own.share),
            mean(&|own| own.rtt_ratio.unwrap_or(0.0)),
            tcps[0].share,
            tcps[0].rtt_ratio.unwrap_or(0.0),
        );
    }
    Ok(())
}
