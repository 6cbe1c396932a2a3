//! [`Timeline`]: throughput and delay of a flow over time.

use crate::case::{Case, STEPS};
use crate::series::{Recording, Sampled};
use exm_link::Service;
use exm_trace::{OPPORTUNITY, Trace};
use exm_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Throughput and delay of a flow over time, measured at its receiver after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// When the first sample was taken, in seconds.
    pub from_s: f64,
    /// The time between samples, in seconds.
    pub step_s: f64,
    /// The bytes that had arrived at each sample.
    pub bytes: Vec<u64>,
    /// The end-to-end delay at each sample, in ms; `None` before the first packet.
    pub delay_ms: Vec<Option<f64>>,
}

/// The capacity of a link over time, at the samples of a [`Timeline`].
pub(crate) struct Offered {
    pub(crate) throughput: Vec<(f64, f64)>,
    pub(crate) delay: Vec<(f64, f64)>,
}

impl Timeline {
    /// The timeline of each flow of `case`; `None` for flows whose ACKs cross no link.
    pub(crate) fn of(case: &Case, recording: &Recording) -> Vec<Option<Timeline>> {
        let (from, _) = case.network.scored();
        let first = (from.as_nanos().div_ceil(recording.pace.as_nanos())) as usize;
        let timeline = |samples: &Vec<Sampled>| {
            let scored = samples.get(first..).unwrap_or_default();
            let received: Option<Vec<_>> = scored.iter().map(|sample| sample.received).collect();
            let received = received.filter(|samples| !samples.is_empty())?;
            Some(Timeline {
                from_s: scored[0].time,
                step_s: recording.pace.as_secs_f64(),
                bytes: received.iter().map(|&(bytes, _)| bytes).collect(),
                delay_ms: received.iter().map(|&(_, delay)| delay).collect(),
            })
        };
        recording.flows.iter().map(timeline).collect()
    }

    fn time(&self, sample: usize) -> f64 {
        self.from_s + sample as f64 * self.step_s
    }

    /// Throughput over windows of [`STEPS`] samples, by the ends of these: seconds and Mbps.
    pub(crate) fn throughput(&self) -> Vec<(f64, f64)> {
        self.windows(|sample| self.bytes[sample])
    }

    fn windows(&self, bytes_at: impl Fn(usize) -> u64) -> Vec<(f64, f64)> {
        let window = self.step_s * STEPS as f64;
        let rate = |end: usize| {
            let bytes = bytes_at(end) - bytes_at(end - STEPS);
            (self.time(end), bytes as f64 * 8e-6 / window)
        };
        (STEPS..self.bytes.len()).map(rate).collect()
    }

    /// The end-to-end delay: seconds and ms.
    pub(crate) fn delay(&self) -> Vec<(f64, f64)> {
        let delays = self.delay_ms.iter().enumerate();
        delays.filter_map(|(sample, delay)| Some((self.time(sample), (*delay)?))).collect()
    }

    /// The capacity of the first link with a trace on the path of `group`'s flows of `case`.
    pub(crate) fn offered(&self, case: &Case, group: usize) -> Option<Offered> {
        let path = &case.scenario.flows.get(group)?.path;
        let links = || path.iter().map(|&link| &case.network.links()[link]);
        let trace: &Arc<Trace> = links().find_map(|link| match &link.service {
            Service::Trace(trace) => Some(trace),
            Service::Fixed(_) => None,
        })?;
        let propagation: Span = links().map(|link| link.delay).sum();
        let at = |sample: usize| Instant::ZERO + Span::from_secs_f64(self.time(sample));
        // Scored as if all propagation came before the link.
        let bytes = |sample: usize| trace.count_before(at(sample)) * OPPORTUNITY.get();
        let delay = (0..self.bytes.len()).filter_map(|sample| {
            let last = trace.opportunity(trace.count_before(at(sample)).checked_sub(1)?);
            let waited = at(sample).saturating_since(last) + propagation;
            Some((self.time(sample), waited.as_millis_f64()))
        });
        Some(Offered { throughput: self.windows(bytes), delay: delay.collect() })
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Options, Plan};
    use crate::{Experiment, RunRow};
    use std::path::Path;

    /// A link that carries one packet every 10 ms, with 20 ms of delay each way.
    const FILE: &str = r#"
        duration = "3 s"
        warm_up = "1 s"
        [[link]]
        name = "data"
        from = "a"
        to = "b"
        trace = "TRACE"
        delay = "20 ms"
        [[link]]
        name = "return"
        from = "b"
        to = "a"
        rate = "10 Mbps"
        delay = "20 ms"
        [[flow]]
        path = ["data"]
        back = ["return"]
        rtt = "40 ms"
        controller = "scheme"
        traffic = { on = "always" }
        [experiment]
        figure = "rate-and-delay"
        columns = ["received", "delay_95"]
        runs = 1
        [[experiment.scheme]]
        name = "Reno"
        controller = "reno"
    "#;

    #[test]
    fn a_full_link_is_measured_as_full() {
        let file = std::env::temp_dir().join(format!("exm-timeline-{}", std::process::id()));
        let lines: String = (1..=100).map(|number| format!("{}\n", 10 * number)).collect();
        std::fs::write(&file, lines).expect("can write");
        let text = FILE.replace("TRACE", &file.display().to_string());
        let experiment = Experiment::parse(&text, "a.toml", Path::new("")).expect("is valid");
        let plan = Plan::new(experiment, &Options::default(), &mut |name, _| Err(name.to_owned()));
        std::fs::remove_file(&file).ok();
        let plan = plan.expect("is valid");
        let row = RunRow::made(&plan.cases[0], 1, plan.asked).unwrap();
        let timeline = row.flows[0].timeline.clone().expect("is drawn");
        assert_eq!((timeline.from_s, timeline.step_s, timeline.bytes.len()), (1.0, 0.1, 20));
        let offered = timeline.offered(&plan.cases[0], 0).expect("a trace");
        let (measured, best) = (timeline.throughput(), offered.throughput);
        assert_eq!((measured.len(), best.len()), (10, 10));
        for (measured, best) in measured.iter().zip(&best) {
            assert!((measured.0 - best.0).abs() < 1e-12);
            assert!((measured.1 - 1.2).abs() < 1e-9 && (best.1 - 1.2).abs() < 1e-9, "{measured:?}");
        }
        let delays = timeline.delay().into_iter().zip(offered.delay);
        assert!(delays.into_iter().all(|(delay, best)| delay.1 > best.1 && best.1 >= 20.0));
    }
}
