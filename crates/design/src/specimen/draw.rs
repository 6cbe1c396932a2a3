//! How specimens are drawn from a model.

use super::{DrawnLink, DrawnSender, LINK_AXES, Layout, Mixed, Specimen};
use crate::model::{Class, Draw, Link, Model, Networks, Part, Role, Senders};
use exm_link::{BlockErrors, QueueKind, Reordering};
use exm_random::{Purpose, Stream};
use exm_sim::dumbbell::Dumbbell;
use exm_sim::network::{Host, Network, NetworkError, Transport};
use exm_units::{Probability, Span};
use std::sync::Arc;

/// The purposes of the random streams of a draw. Each quantity has its own stream, so that a change of one range
/// does not affect the others; a new purpose takes the next number.
#[derive(Clone, Copy, Debug)]
enum Axis {
    Rate,
    Rtt,
    Senders,
    Buffer,
    Loss,
    Seed,
    /// One of the four quantities of a link after the first.
    Link(usize, usize),
    /// One of the two quantities of a class of senders, where there are classes.
    Class(usize, usize),
    /// One of the three quantities of how a link's delay varies.
    Variation(usize, usize),
    /// One of the three quantities of a link's frames and block errors.
    Effect(usize, usize),
    /// Whether a specimen is of the model's own networks or of a part, and which.
    Kind,
    /// The seed of a part's own streams.
    Part(usize),
    /// Which senders of a class, or of a group identified by its first class, are present.
    Presence(usize),
}

impl Axis {
    const PLAIN: [Axis; 5] = [Axis::Rate, Axis::Rtt, Axis::Senders, Axis::Buffer, Axis::Loss];

    fn number(self) -> usize {
        match self {
            Axis::Rate => 0,
            Axis::Rtt => 1,
            Axis::Senders => 2,
            Axis::Buffer => 3,
            Axis::Loss => 4,
            Axis::Seed => 5,
            Axis::Link(link, quantity) => 1000 + 4 * link + quantity,
            Axis::Class(class, quantity) => 2000 + 2 * class + quantity,
            Axis::Presence(class) => 3000 + class,
            Axis::Variation(link, quantity) => 4000 + 3 * link + quantity,
            Axis::Effect(link, quantity) => 1_000_000 + 3 * link + quantity,
            Axis::Kind => 5000,
            Axis::Part(part) => 5001 + part,
        }
    }
}

impl Model {
    /// The number of networks of a model with `draw = "grid"`; `None` for one drawn at random.
    pub fn grid_size(&self) -> Option<usize> {
        let grid = self.networks.grid()?;
        Some(grid.iter().fold(1, |product, &length| product.saturating_mul(length)))
    }

    /// The largest number of senders of designed tables in one of its networks.
    pub fn most_senders(&self) -> usize {
        let most = |class: &Class| class.count.ends().1.0 as usize;
        let own = self.own_classes().iter().filter(|class| class.is_designed()).map(most).sum();
        self.parts.iter().map(|part| part.model.most_senders()).fold(own, usize::max)
    }

    /// Draws `count` specimens: block number `block` of the experiment of `seed`. Other blocks are
    /// independent of it, and the same arguments always give the same specimens.
    ///
    /// A model of `draw = "random"` is drawn by Latin hypercube: each quantity's range is cut into
    /// `count` equally likely parts, every part has one specimen somewhere within it, and which
    /// parts meet in a specimen is random. One of `draw = "grid"` goes through its networks
    /// in turn, each block of equal length beginning where the last has ended. A block that is shorter than the grid
    /// is drawn from it by Latin hypercube, so that it has each rate, round trip and number of senders about as often.
    /// Either way every specimen has a seed of its own.
    pub fn specimens(&self, seed: u64, block: u64, count: usize) -> Vec<Specimen> {
        // A block's own seed, so that any block can be drawn without those before it.
        let block_seed = Stream::new(seed, Purpose::Specimen, block as usize).seed();
        let stream = |axis: Axis| Stream::new(block_seed, Purpose::Specimen, axis.number());
        let networks = match self.networks.draw {
            Draw::Random if !self.parts.is_empty() => self.mixture(count, block_seed),
            Draw::Random => self.hypercube(count, stream),
            Draw::Grid if self.grid_size().is_some_and(|size| count < size) => {
                self.hypercube(count, stream)
            }
            Draw::Grid => self.grid_from(u128::from(block) * count as u128, count),
        };
        let mut seeds = stream(Axis::Seed);
        networks.into_iter().map(|network| Specimen { network, seed: seeds.seed() }).collect()
    }

    /// Draws `count` networks of its own and of its parts, by their weights, in random order.
    fn mixture(&self, count: usize, block_seed: u64) -> Vec<Layout> {
        let stream = |axis: Axis| Stream::new(block_seed, Purpose::Specimen, axis.number());
        let mut networks = self.hypercube(count, stream);
        let kinds = strata(count, &mut stream(Axis::Kind));
        let (mut below, mut classes) = (0.0, self.own_classes().len());
        for (number, Part { weight, model }) in self.parts.iter().enumerate() {
            let part_seed = stream(Axis::Part(number)).seed();
            let of_part = |axis: Axis| Stream::new(part_seed, Purpose::Specimen, axis.number());
            let drawn = model.hypercube(count, of_part);
            let end = below + weight.get();
            for ((network, kind), drawn) in networks.iter_mut().zip(&kinds).zip(drawn) {
                if (below..end).contains(kind) {
                    *network = drawn.with_classes_from(classes);
                }
            }
            (below, classes) = (end, classes + model.own_classes().len());
        }
        networks
    }

    fn hypercube(&self, count: usize, stream: impl Fn(Axis) -> Stream) -> Vec<Layout> {
        let quantiles = Axis::PLAIN.map(|axis| strata(count, &mut stream(axis)));
        let plain = |i: usize| quantiles.each_ref().map(|axis| axis[i]);
        if self.is_dumbbell() {
            return (0..count).map(|i| self.dumbbell(plain(i))).collect();
        }
        let links = self.networks.links.len();
        let further: Vec<[Vec<f64>; 4]> = (1..links)
            .map(|link| [0, 1, 2, 3].map(|axis| strata(count, &mut stream(Axis::Link(link, axis)))))
            .collect();
        let varied =
            |link| [0, 1, 2].map(|axis| strata(count, &mut stream(Axis::Variation(link, axis))));
        let variations: Vec<[Vec<f64>; 3]> = (0..links).map(varied).collect();
        let affected =
            |link| [0, 1, 2].map(|axis| strata(count, &mut stream(Axis::Effect(link, axis))));
        let effects: Vec<[Vec<f64>; 3]> = (0..links).map(affected).collect();
        let classes: Vec<[Vec<f64>; 2]> = (0..self.own_classes().len())
            .map(|class| [0, 1].map(|axis| strata(count, &mut stream(Axis::Class(class, axis)))))
            .collect();
        let presence: Vec<Vec<f64>> = (0..self.own_classes().len())
            .map(|class| strata(count, &mut stream(Axis::Presence(self.group_of(class)))))
            .collect();
        let one = |i: usize| {
            let [rate, rtt, senders, buffer, loss] = plain(i);
            let further = further.iter().map(|axes| axes.each_ref().map(|axis| axis[i]));
            let plain = std::iter::once([rate, rtt, buffer, loss]).chain(further);
            let varied = variations.iter().zip(&effects);
            let links = plain.zip(varied).map(|([rate, rtt, buffer, loss], (varied, affected))| {
                let [jitter, reorder, delay] = varied.each_ref().map(|axis| axis[i]);
                let [access, errors, step] = affected.each_ref().map(|axis| axis[i]);
                [rate, rtt, buffer, loss, jitter, reorder, delay, access, errors, step]
            });
            let links: Vec<_> = links.collect();
            let classes = classes.iter().map(|axes| axes.each_ref().map(|axis| axis[i]));
            // The senders of a plain model on a link of another kind are drawn as on any.
            let classes = match self.networks.senders {
                Some(_) => vec![[senders, rtt]],
                None => classes.collect(),
            };
            let is_present = |class| self.is_present(class, presence[class][i]);
            self.mixed(&links, &classes, is_present)
        };
        (0..count).map(one).collect()
    }

    /// The first class of the group of `class`; `class` itself if it has no group.
    fn group_of(&self, class: usize) -> usize {
        let group = |class: usize| self.own_classes()[class].presence.group.as_deref();
        match group(class) {
            None => class,
            own => (0..class).find(|&other| group(other) == own).unwrap_or(class),
        }
    }

    /// Whether the senders of `class` are there where its group is at `quantile`: the probabilities of a
    /// group's classes cover [0, 1] one after the other.
    fn is_present(&self, class: usize, quantile: f64) -> bool {
        let presence = |class: usize| &self.own_classes()[class].presence;
        let first = self.group_of(class);
        let before = (first..class).filter(|&other| self.group_of(other) == first);
        let before: f64 = before.map(|other| presence(other).probability.get()).sum();
        let own = presence(class);
        own.is_always() || (before..before + own.probability.get()).contains(&quantile)
    }

    /// Whether the fast path simulates all of a design: dumbbells, on the bare host, by Remy's signals.
    pub fn is_fast(&self) -> bool {
        let design = self.design();
        self.has_only_dumbbells() && design.host == Host::Bare && !design.signals.is_extended()
    }

    /// Whether all of its networks are dumbbells, those of its parts included.
    pub(crate) fn has_only_dumbbells(&self) -> bool {
        self.is_dumbbell() && self.parts.iter().all(|part| part.model.is_dumbbell())
    }

    /// Whether its own networks are dumbbells: one drop-tail link, and senders of one kind that run the table
    /// to design.
    pub fn is_dumbbell(&self) -> bool {
        let ([link], [class]) = (&self.networks.links[..], self.own_classes()) else {
            return false;
        };
        let (Senders(least), _) = class.count.ends();
        link.queue == QueueKind::default()
            && class.is_designed()
            && link.traces.is_empty()
            && link.has_constant_delay()
            && class.bursts.is_none()
            && class.presence.is_always()
            && least > 0
    }

    fn grid_from(&self, start: u128, count: usize) -> Vec<Layout> {
        let lengths = self.networks.grid().unwrap_or([1; 5]);
        let combination = |i: usize| {
            let mut rest = start + i as u128;
            // The last quantity changes with every specimen, the first most rarely.
            let mut quantiles = [0.0; 5];
            for (quantile, &length) in quantiles.iter_mut().zip(&lengths).rev() {
                let index = (rest % length as u128) as usize;
                *quantile = (index as f64 + 0.5) / length as f64;
                rest /= length as u128;
            }
            if self.is_dumbbell() {
                return self.dumbbell(quantiles);
            }
            let [rate, rtt, senders, buffer, loss] = quantiles;
            let link = [rate, rtt, buffer, loss, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            self.mixed(&[link], &[[senders, rtt]], |_| true)
        };
        (0..count).map(combination).collect()
    }

    /// The network at these quantiles of rate, round trip, senders, buffer and loss.
    fn dumbbell(&self, [rate, rtt, senders, buffer, loss]: [f64; 5]) -> Layout {
        let (link, class) = (&self.networks.links[0], &self.own_classes()[0]);
        let packet = self.networks.packet;
        let rate = link.rate.at(rate);
        let rtt = class.rtt.as_ref().unwrap_or(&link.rtt).at(rtt);
        let network = Dumbbell {
            rate,
            packet,
            buffer: link.buffer.at(buffer).limit(rate, rtt, packet),
            loss: link.loss.at(loss),
            delays: vec![rtt; class.count.at(senders).0 as usize],
            traffic: class.traffic.clone(),
            duration: self.design().duration,
        };
        Layout::Dumbbell { class: 0, network }
    }

    /// The network at these quantiles of each link's quantities, as [`LINK_AXES`] counts them, and of number
    /// and round trip of each class that `is_present`.
    pub(crate) fn mixed(
        &self,
        links: &[[f64; LINK_AXES]],
        classes: &[[f64; 2]],
        is_present: impl Fn(usize) -> bool,
    ) -> Layout {
        let packet = self.networks.packet;
        let drawn = self.networks.links.iter().zip(links);
        let rtts: Vec<Span> = drawn.clone().map(|(link, at)| link.rtt.at(at[1])).collect();
        // The first link of a single bottleneck has no delay of its own, as in a dumbbell.
        let several = links.len() > 1;
        let drawn = drawn.zip(&rtts).zip(&self.networks.ends);
        let duration = self.design().duration;
        let links = drawn.map(|(((link, at), &rtt), &ends)| {
            let &[rate, _, buffer, loss, jitter, reorder, reorder_delay, access, errors, step] = at;
            let errors = link.block_errors.at(errors);
            let Link { rate: rates, buffer: buffers, loss: losses, queue, .. } = link;
            let trace = link.trace_at(rate);
            let rate = trace.map_or_else(|| rates.at(rate), |trace| trace.rate_until(duration));
            DrawnLink {
                ends,
                rate,
                trace: trace.map(|trace| Arc::clone(trace.trace())),
                delay: if several { rtt / 2 } else { Span::ZERO },
                buffer: buffers.at(buffer).limit(rate, rtt, packet),
                loss: losses.at(loss),
                queue: queue.clone(),
                jitter: link.jitter.at(jitter),
                reordering: Reordering {
                    probability: link.reorder.at(reorder),
                    extra: link.reorder_delay.at(reorder_delay),
                },
                access: link.access.at(access),
                block_errors: (errors > Probability::ZERO).then(|| {
                    BlockErrors::default().probability(errors).step(link.block_step.at(step))
                }),
            }
        });
        let senders = self.own_classes().iter().zip(classes).enumerate();
        let senders = senders.filter(|(class, _)| is_present(*class));
        let senders = senders.flat_map(|(number, (class, &[count, rtt]))| {
            let Senders(count) = class.count.at(count);
            let of_path = || class.path_rtt(|link| rtts[link]);
            let sender = DrawnSender {
                class: number,
                path: class.path.clone(),
                back: class.back.clone(),
                rtt: class.rtt.as_ref().map_or_else(of_path, |choice| choice.at(rtt)),
                traffic: class.flows(),
            };
            std::iter::repeat_n(sender, count as usize)
        });
        let (links, senders) = (links.collect(), senders.collect());
        Layout::Mixed(Mixed { links, senders, packet, duration })
    }

    /// The network `layout`, which was drawn from this model, for the event engine, where the senders of all designed
    /// tables run `designed`.
    ///
    /// # Errors
    /// [`NetworkError`] where the engine refuses it.
    pub fn network(&self, layout: &Layout, designed: &Transport) -> Result<Network, NetworkError> {
        layout.network(|class| Model::transport(&self.classes()[class], |_| designed.clone()))
    }

    /// The transport of the senders of `class`, where `designed` is the controller of a designed table.
    pub(crate) fn transport(class: &Class, designed: impl FnOnce(usize) -> Transport) -> Transport {
        match &class.role {
            Role::Designed(table) => designed(*table),
            Role::Fixed { controller, .. } => {
                let is_table = controller.as_remy().is_some();
                let host = if is_table { Host::Bare } else { Host::Tcp };
                host.transport((**controller).clone())
            }
        }
    }
}

impl Networks {
    /// The number of values of each quantity, if all combinations are taken in turn.
    fn grid(&self) -> Option<[usize; 5]> {
        if self.draw != Draw::Grid {
            return None;
        }
        let link = self.links.first()?;
        Some([
            link.rate.count()?,
            link.rtt.count()?,
            self.senders.as_ref()?.count()?,
            link.buffer.count()?,
            link.loss.count()?,
        ])
    }
}

/// One quantile from each of `count` equal parts of [0, 1), in random order.
pub(crate) fn strata(count: usize, stream: &mut Stream) -> Vec<f64> {
    let mut parts: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        parts.swap(last, stream.below(last + 1));
    }
    parts.into_iter().map(|part| (part as f64 + stream.uniform()) / count as f64).collect()
}
