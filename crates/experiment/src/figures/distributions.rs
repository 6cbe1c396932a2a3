//! The distributions of flow lengths and of completion times.

use super::{Artist, Files, Words, first_own};
use exm_measure::figure::{Distribution, Sample, Scale};
use exm_random::{Purpose, Stream};
use exm_sim::traffic::OnFor;

/// How many lengths are drawn for a figure of flow lengths, and how many of them are plotted, in order.
const LENGTHS: usize = 20_000;
const SHOWN: usize = 400;

impl Artist<'_> {
    /// The distribution of the lengths of the schemes' first flows, as their traffic draws them.
    pub(super) fn flow_lengths(&self, words: Words, cases: &[usize]) -> Files {
        let sample = |&case: &usize| {
            let flow = first_own(&self.plan.cases[case]);
            let spec = &self.plan.cases[case].network.flows()[flow];
            let payload = spec.transport.payload(spec.packet_size).get() as f64;
            let stream = Stream::new(self.plan.seed, Purpose::Traffic, flow);
            Sample {
                name: self.name(case),
                style: self.style(case),
                values: lengths(spec.traffic.on(), payload, stream),
            }
        };
        let figure = Distribution {
            title: words.title,
            subtitle: format!("{LENGTHS} flows of each, as the simulator draws their lengths"),
            description: "The part of all flows that are no longer than each length.".to_owned(),
            x_axis: "flow length, bytes".to_owned(),
            x_scale: Scale::Log,
            is_tail: false,
            samples: cases.iter().map(sample).collect(),
        };
        Files::of(&figure)
    }

    /// The distribution of the completion times of all flows of all runs.
    pub(super) fn distribution(&self, words: Words, cases: &[usize]) -> Files {
        let sample = |&case: &usize| Sample {
            name: self.name(case),
            style: self.style(case),
            values: self.sample(case).completions(),
        };
        let figure = Distribution {
            title: words.title,
            subtitle: words.subtitle,
            description: "The part of all flows that took no longer than each time.".to_owned(),
            x_axis: "flow completion time, ms".to_owned(),
            x_scale: Scale::Log,
            is_tail: false,
            samples: cases.iter().map(sample).collect(),
        };
        Files::of(&figure)
    }
}

/// [`LENGTHS`] flow lengths of `on`, in bytes, drawn from `stream`, of which [`SHOWN`] are kept, at evenly
/// spaced ranks; none for flows that last for a time.
fn lengths(on: &OnFor, payload: f64, mut stream: Stream) -> Vec<f64> {
    let mut all: Vec<f64> = (0..LENGTHS)
        .filter_map(|_| match on {
            OnFor::Bytes(bytes) => Some(bytes.draw(&mut stream)),
            OnFor::Packets(packets) => Some(packets.draw(&mut stream) * payload),
            OnFor::Time(_) | OnFor::Always | OnFor::Video(_) => None,
        })
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    let step = LENGTHS / SHOWN;
    all.into_iter().skip(step / 2).step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::Distribution;

    /// The closed form: in the published fit of the ICSI's flow lengths, where x + 40 has a Pareto
    /// distribution with Xm = 147 and alpha = 0.5, the fraction 1 - (147 / (x + 40))^0.5 of flows is below
    /// x.
    #[test]
    fn lengths_are_those_of_the_published_fit() {
        let pareto = |shift| {
            OnFor::Bytes(Distribution::Pareto { scale: 147.0, shape: 0.5, shift, cap: 3.3e9 })
        };
        let draw = |shift| lengths(&pareto(shift), 1448.0, Stream::new(1, Purpose::Traffic, 0));
        let fit = draw(-40.0);
        assert_eq!(fit.len(), SHOWN);
        for (index, &length) in fit.iter().enumerate() {
            let part = 1.0 - (147.0 / (length + 40.0)).sqrt();
            let drawn = (index as f64 + 0.5) / SHOWN as f64;
            assert!((part - drawn).abs() < 0.012, "{length} B: {part} and {drawn}");
        }
        let longer = draw(15_960.0);
        assert!(fit.iter().zip(&longer).all(|(a, b)| a + 16_000.0 >= *b && *b > 16_000.0));
        assert!(lengths(&OnFor::Always, 1448.0, Stream::new(1, Purpose::Traffic, 0)).is_empty());
    }
}
