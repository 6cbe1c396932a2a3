//! The scores of omniscient senders on any network, of a fluid instead of packets.

use super::{Got, NOTHING, Objective, Path, Throughput};
use crate::specimen::Mixed;
use exm_sim::MeasuredOver;
use exm_sim::fluid::{Bound, Fluid, FluidLink, FluidSender};

/// The number of queue lengths to try, each shorter by a fifth.
const QUEUES: usize = 60;

/// The results of each omniscient sender of `network`, with traffic drawn from `seed` as in the simulator.
pub(crate) fn bounds(network: &Mixed, seed: u64) -> Vec<Bound> {
    let links = network.links.iter().map(|link| FluidLink {
        packets_per_ms: link.rate.as_packets_per_ms(network.packet),
        loss: link.loss.get(),
        buffer: link.buffer,
    });
    let senders = network.senders.iter().map(|sender| {
        let path = network.path(sender);
        FluidSender {
            path: sender.path.clone(),
            delay_ms: path.delay_ms,
            service_ms: path.service_ms,
            traffic: sender.traffic.clone(),
        }
    });
    let fluid = Fluid {
        links: links.collect(),
        senders: senders.collect(),
        packet: network.packet,
        duration: network.duration,
    };
    fluid.run(seed)
}

impl Objective {
    /// The contribution of an omniscient sender to the score, on `path`: the maximum over queues that it may leave
    /// behind at the end of its on-periods, whose packets arrive later. That can pay because a flow's last
    /// propagation delay, in which the link carries nothing of it, has less weight in a longer flow.
    pub(crate) fn of_bound(&self, path: Path, bound: &Bound) -> f64 {
        let with_queue = |queue_ms| self.value(path, self.got_by(path, bound, queue_ms));
        if self.over == MeasuredOver::Papers || bound.pauses_ms.is_empty() {
            return with_queue(0.0);
        }
        let most_ms = bound.room_ms.min(path.duration.as_millis_f64());
        let queues = std::iter::successors(Some(most_ms), |queue_ms| Some(queue_ms * 0.8));
        queues.take(QUEUES).map(with_queue).fold(with_queue(0.0), f64::max)
    }

    /// The results of an omniscient sender, if this much is queued at the end of each on-period.
    fn got_by(&self, path: Path, bound: &Bound, queue_ms: f64) -> Got {
        let (on_ms, share_ms) = bound.measured(self.over);
        let time_ms = match self.throughput {
            Throughput::Share => share_ms,
            Throughput::On => on_ms,
        };
        let Bound { rtt_ms, loss, .. } = *bound;
        if queue_ms == 0.0 {
            let packets_per_ms = bound.delivered.max(NOTHING) / time_ms;
            return Got { packets_per_ms, rtt_ms, loss };
        }
        let link = path.packets_per_ms * (1.0 - loss);
        let queued = link * queue_ms * bound.pauses_ms.len() as f64;
        let delivered = bound.delivered + queued;
        let longer_ms: f64 = bound.pauses_ms.iter().map(|pause_ms| pause_ms.min(queue_ms)).sum();
        let packets_per_ms = (delivered / (time_ms + longer_ms)).min(link);
        // The packets of a queue wait from nothing to all of it.
        let wait_ms = queued * queue_ms / 2.0 / delivered;
        Got { packets_per_ms, rtt_ms: rtt_ms + wait_ms, loss }
    }
}
