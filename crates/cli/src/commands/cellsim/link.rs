//! The link, as described by options. Rates, traces, queues and buffers are written as in scenarios.

use crate::complete;
use crate::options;
use crate::shell::Failure;
use exm_emulator::{Bursts, PathSpec, Propagation, Reordering, Schedule, Setup, Timing};
use exm_grammar::{Buffer, GrammarError};
use exm_link::{Limit, QueueKind, Service};
use exm_sim::scenario::{DEFAULT_PACKET_SIZE, Traces};
use exm_units::{Bytes, Probability, RateText, Span};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Link")]
pub(crate) struct LinkFlags {
    /// From COMMAND to the outside: a rate such as 10Mbps, a trace's file, or a synthetic link's name
    ///
    /// A trace has a line for each opportunity to deliver 1500 bytes: its time in milliseconds, with
    /// up to six decimals. The trace repeats. `exm trace generate --help` lists the synthetic links.
    #[arg(long, value_name = "RATE|TRACE", add = complete::traces())]
    up: String,
    /// The link from the outside to COMMAND, in the same format
    #[arg(long, value_name = "RATE|TRACE", add = complete::traces())]
    down: String,
    /// The propagation delay each way, or a file of delays: lines of a time and a delay, in ms
    #[arg(long, value_name = "DURATION|FILE", default_value = "20ms")]
    delay: Pair<String>,
    /// The queue discipline, and its parameters, such as 'codel target=10ms,interval=50ms'
    #[arg(long, value_name = "QUEUE", default_value = "drop-tail", value_parser = queues)]
    #[arg(add = complete::queue_pairs())]
    queue: Pair<QueueKind>,
    /// The limit of the queue: 1000 packets, 250 kB, 5 BDP (of the rate and both delays) or
    /// unlimited
    #[arg(long, value_name = "SIZE", default_value = "unlimited")]
    buffer: Pair<String>,
    /// The probability that a packet is lost when it arrives at the queue
    #[arg(long, value_name = "PROBABILITY", default_value = "0")]
    loss: Pair<Probability>,
    /// Lose this fraction of packets in bursts, in addition to --loss
    #[arg(long, value_name = "PROBABILITY", default_value = "0")]
    burst_loss: Pair<Probability>,
    /// The mean number of packets lost in a burst
    #[arg(long, value_name = "N", default_value = "5", requires = "burst_loss")]
    burst_length: Pair<f64>,
    /// The probability that a packet is delayed, so that others overtake it
    #[arg(long, value_name = "PROBABILITY", default_value = "0")]
    reorder: Pair<Probability>,
    /// The additional delay of such packets
    #[arg(long, value_name = "DURATION", default_value = "10ms", requires = "reorder")]
    reorder_delay: Pair<Span>,
    /// The random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Exclude this much time at the start from the summary
    #[arg(long, value_name = "DURATION", default_value = "0s", help_heading = "Output")]
    warm_up: Span,
    /// Busy-wait up to this long before a packet is due (more precise, more CPU)
    #[arg(long, value_name = "DURATION", help_heading = "Precision")]
    #[arg(default_value_t = Timing::default().spin)]
    spin: Span,
    /// The minimum time between two releases of packets
    #[arg(long, value_name = "DURATION", help_heading = "Precision")]
    #[arg(default_value_t = Timing::default().gather)]
    gather: Span,
    /// Do not use real-time priority (SCHED_FIFO), and let processors enter idle states (less precise)
    #[arg(long, help_heading = "Precision")]
    no_realtime: bool,
}

/// A value for both directions, or one for up and one for down.
#[derive(Clone, Debug)]
struct Pair<T> {
    up: T,
    down: T,
}

impl<T: FromStr + Clone> FromStr for Pair<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Pair<T>, T::Err> {
        match text.split_once(',') {
            Some((up, down)) => Ok(Pair { up: up.trim().parse()?, down: down.trim().parse()? }),
            None => text.parse().map(|both: T| Pair { up: both.clone(), down: both }),
        }
    }
}

/// The queues of both directions, or of each. Their parameters are separated by commas, too.
fn queues(text: &str) -> Result<Pair<QueueKind>, GrammarError> {
    let begins_queue = |part: &str| {
        let first = part.split_whitespace().next().unwrap_or_default();
        !first.is_empty() && !first.contains('=')
    };
    let comma = text.match_indices(',').find(|&(at, _)| begins_queue(&text[at + 1..]));
    match comma {
        Some((at, _)) => Ok(Pair {
            up: exm_grammar::queue(&text[..at])?,
            down: exm_grammar::queue(&text[at + 1..])?,
        }),
        None => exm_grammar::queue(text).map(|both| Pair { up: both.clone(), down: both }),
    }
}

/// The options of one direction.
struct OneWay<'a> {
    option: &'static str,
    service: &'a str,
    delay: &'a str,
    queue: &'a QueueKind,
    buffer: &'a str,
    loss: Probability,
    burst: (Probability, f64),
    reorder: (Probability, Span),
}

impl LinkFlags {
    /// The link, and a description of each direction.
    pub(crate) fn setup(&self) -> Result<(Setup, [String; 2]), Failure> {
        let (up, down) = (self.one_way(true), self.one_way(false));
        let memory = Bytes::new(1 << 30);
        let (seed, warm_up) = (self.seed, self.warm_up);
        let timing = Timing { spin: self.spin, gather: self.gather, urgent: !self.no_realtime };
        let (up_delay, down_delay) = (up.propagation()?, down.propagation()?);
        // The longest round-trip propagation delay, by which buffers in BDP are sized.
        let rtt = up_delay.longest() + down_delay.longest();
        let (up_path, down_path) = (up.path(up_delay, rtt)?, down.path(down_delay, rtt)?);
        let setup = Setup { up: up_path, down: down_path, seed, timing, warm_up, memory };
        Ok((setup, [up.described(), down.described()]))
    }

    /// The files that may be read: values that are neither names nor numbers.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        [&self.up, &self.down, &self.delay.up, &self.delay.down].into_iter().map(Path::new)
    }

    fn one_way(&self, up: bool) -> OneWay<'_> {
        fn of<T>(pair: &Pair<T>, up: bool) -> &T {
            if up { &pair.up } else { &pair.down }
        }
        OneWay {
            option: if up { "--up" } else { "--down" },
            service: if up { &self.up } else { &self.down },
            delay: of(&self.delay, up).as_str(),
            queue: of(&self.queue, up),
            buffer: of(&self.buffer, up).as_str(),
            loss: *of(&self.loss, up),
            burst: (*of(&self.burst_loss, up), *of(&self.burst_length, up)),
            reorder: (*of(&self.reorder, up), *of(&self.reorder_delay, up)),
        }
    }
}

impl OneWay<'_> {
    /// The path of this direction with the delay `propagation`; `rtt` is the longest round-trip
    /// propagation delay.
    fn path(&self, propagation: Propagation, rtt: Span) -> Result<PathSpec, Failure> {
        let service = self.service()?;
        let limit = self.limit(&service, rtt)?;
        let (probability, extra) = self.reorder;
        Ok(PathSpec {
            propagation,
            reordering: (probability != Probability::ZERO)
                .then_some(Reordering { probability, extra }),
            loss: self.loss,
            bursts: self.bursts()?,
            queue: self.queue.clone(),
            limit,
            service,
        })
    }

    fn propagation(&self) -> Result<Propagation, Failure> {
        match self.delay.parse::<Span>() {
            Ok(delay) if delay > Propagation::LONGEST => {
                let problem = "the delay is at most a day";
                Err(Failure::invalid_value(self.delay, "--delay", problem))
            }
            Ok(delay) => Ok(Propagation::Fixed(delay)),
            Err(error) if !Path::new(self.delay).exists() => {
                let problem = format!("{error}, and there is no such file");
                Err(Failure::invalid_value(self.delay, "--delay", &problem))
            }
            Err(_) => Ok(Propagation::Varying(Arc::new(Schedule::load(Path::new(self.delay))?))),
        }
    }

    fn bursts(&self) -> Result<Option<Bursts>, Failure> {
        let (loss, length) = self.burst;
        if loss == Probability::ZERO {
            return Ok(None);
        }
        Bursts::of(loss, length).map(Some).ok_or_else(|| {
            let problem = "a burst has at least one packet, and more with this much loss";
            Failure::invalid_value(&length.to_string(), "--burst-length", problem)
        })
    }

    /// A fixed rate, or a trace.
    fn service(&self) -> Result<Service, Failure> {
        let invalid = |problem: &str| Failure::invalid_value(self.service, self.option, problem);
        if options::service_key(self.service) == "trace" {
            let trace = Traces::default().named(self.service, Path::new(""));
            return trace.map(Service::Trace).map_err(|problem| invalid(&problem));
        }
        let rate = self.service.parse::<RateText>().map_err(|error| invalid(&error.to_string()))?;
        match rate.of(DEFAULT_PACKET_SIZE) {
            rate if rate.as_bps() == 0 => Err(invalid("a rate of zero carries nothing")),
            rate => Ok(Service::Fixed(rate)),
        }
    }

    /// The queue limit for `service`, with the longest round-trip propagation delay `rtt`.
    fn limit(&self, service: &Service, rtt: Span) -> Result<Limit, Failure> {
        let invalid = |problem: &str| Failure::invalid_value(self.buffer, "--buffer", problem);
        let buffer = self.buffer.parse::<Buffer>().map_err(|error| invalid(&error.to_string()))?;
        let rtt = rtt.max(Span::from_nanos(1));
        let limit = buffer.limit(service.rate(), rtt, DEFAULT_PACKET_SIZE);
        if limit.holds(DEFAULT_PACKET_SIZE) {
            return Ok(limit);
        }
        let problem = "no packet fits: give at least 1 packet, or \
                       unlimited";
        Err(invalid(problem))
    }

    /// The description, for people and for log headers.
    fn described(&self) -> String {
        let OneWay { service, delay, queue, buffer, .. } = self;
        let mut text = format!("{service}, delay {delay}, {queue}, buffer {buffer}");
        for (name, probability) in
            [("loss", self.loss), ("burst loss", self.burst.0), ("reordered", self.reorder.0)]
        {
            if probability != Probability::ZERO {
                text += &format!(", {name} {probability}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use exm_sim::scenario::Scenario;
    use exm_units::{Instant, Packets, Rate};

    #[derive(Debug, Parser)]
    struct Options {
        #[command(flatten)]
        link: LinkFlags,
    }

    fn parsed(words: &[&str]) -> Result<(Setup, [String; 2]), Failure> {
        let all = ["exm", "--up", "5Mbps", "--down", "lte-like"].iter().chain(words);
        Options::try_parse_from(all).expect("options that are known").link.setup()
    }

    #[test]
    fn one_value_is_for_both_directions_and_two_for_each() {
        let words = ["--delay", "5ms,30ms", "--queue", "codel target=10ms,ecn=false,drop-head"];
        let more = ["--buffer", "100 packets,unlimited", "--loss", "1%", "--reorder", "0,2%"];
        let (setup, described) = parsed(&[&words[..], &more].concat()).unwrap();
        assert_eq!(setup.up.service.rate(), Rate::from_mbps(5.0));
        assert!(matches!(setup.down.service, Service::Trace(_)));
        assert_eq!(setup.up.propagation, Propagation::Fixed(Span::from_millis(5)));
        assert_eq!(setup.down.propagation.at(Instant::ZERO), Span::from_millis(30));
        let QueueKind::CoDel(codel) = &setup.up.queue else { panic!("{:?}", setup.up.queue) };
        assert_eq!((codel.target, codel.ecn), (Span::from_millis(10), false));
        assert!(matches!(setup.down.queue, QueueKind::DropHead(_)));
        assert_eq!(setup.up.limit, Limit::Packets(Packets::new(100)));
        assert_eq!(setup.down.limit, Limit::Unlimited);
        assert_eq!((setup.up.loss.get(), setup.down.loss.get()), (0.01, 0.01));
        assert!(setup.up.reordering.is_none() && setup.down.reordering.is_some());
        assert!(setup.up.bursts.is_none());
        assert_eq!(
            described[1],
            "lte-like, delay 30ms, drop-head, buffer unlimited, loss 0.01, \
                                  reordered 0.02"
        );
    }

    #[test]
    fn queues_of_both_directions_are_separated_by_name() {
        let of = |text: &str| {
            let Pair { up, down } = queues(text).expect(text);
            [up.to_string(), down.to_string()]
        };
        assert_eq!(of("codel target=1ms,interval=20ms"), ["codel target=1ms,interval=20ms"; 2]);
        let two = "codel target=1ms, interval=20 ms,pie alpha=1,ecn=false";
        assert_eq!(of(two), ["codel target=1ms,interval=20ms", "pie alpha=1,ecn=false"]);
        for (text, part) in [
            ("cudel", "there is no queue discipline \"cudel\": did you mean \"codel\"?"),
            ("codel target", "settings are written NAME=VALUE"),
            ("codel targt=1ms", "it has target, interval, mtu, ecn"),
            ("codel,pie,red", "there is no queue discipline \"pie,red\""),
        ] {
            assert!(queues(text).unwrap_err().to_string().contains(part), "{text}");
        }
    }

    #[test]
    fn a_bdp_includes_both_directions() {
        let file = std::env::temp_dir().join(format!("exm-cli-delays-{}", std::process::id()));
        std::fs::write(&file, "0 20\n1000 200\n2000 100\n").expect("can write");
        let delays = file.display().to_string();
        // 5 Mbps are 0.41666 packets a millisecond.
        for (delay, packets) in [("20ms", 17), ("5ms,45ms", 21), (delays.as_str(), 167), ("0s", 1)]
        {
            let (setup, _) = parsed(&["--buffer", "1 BDP", "--delay", delay]).unwrap();
            assert_eq!(setup.up.limit, Limit::Packets(Packets::new(packets)), "{delay}");
        }
        std::fs::remove_file(&file).expect("it is there");
    }

    /// The designer, the simulator and the emulator compute the same number of packets.
    #[test]
    fn a_bdp_is_as_many_packets_everywhere() {
        let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for rate in ["1.5Mbps", "10Mbps", "15Mbps", "123456789bps"] {
            for (delay, rtt) in [("5ms,45ms", "50ms"), ("50ms", "100ms"), ("1ms,332ms", "333ms")] {
                for times in ["0.01", "0.1", "0.7", "1", "1.5", "3", "12.3"] {
                    let options = words(format!("exm --up {rate} --down {rate} --delay {delay}"));
                    let buffer = ["--buffer".to_owned(), format!("{times} BDP")];
                    let emulated = Options::try_parse_from(options.into_iter().chain(buffer));
                    let (setup, _) = emulated.expect("known options").link.setup().unwrap();
                    let model = format!(
                        "[network]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nsenders = 2\n\
                         buffer = \"{times} BDP\"\n[traffic]\non = \"exp 1 s\"\noff = \"exp 1 s\""
                    );
                    let model = exm_design::Model::parse(&model, "test").expect("a model");
                    let designed = model.specimens(1, 0, 1)[0].network.bottleneck().buffer;
                    let scenario = format!(
                        "duration = \"1 s\"\n[[link]]\nname = \"a\"\nrate = \"{rate}\"\n\
                         buffer = \"{times} BDP\"\n[[flow]]\nrtt = \"{rtt}\"\n\
                         controller = \"reno\"\ntraffic.on = \"always\""
                    );
                    let scenario = Scenario::parse(&scenario, "test", Path::new("")).unwrap();
                    let simulated =
                        scenario.network(&mut |name, _| Err(name.to_owned())).expect("a network");
                    let designed = Limit::Packets(designed.expect("it is limited"));
                    let all = [setup.up.limit, setup.down.limit, simulated.links()[0].buffer];
                    assert_eq!(all, [designed; 3], "{times} BDP of {rate}, {rtt}");
                }
            }
        }
    }

    #[test]
    fn errors_name_the_option() {
        for (words, expected) in [
            (["--buffer", "many"], "invalid value 'many' for '--buffer'"),
            (["--delay", "3x"], "invalid value '3x' for '--delay'"),
            (["--delay", "86401s"], "invalid value '86401s' for '--delay': the delay is at most"),
            (["--up", "5Mbs"], "invalid value '5Mbs' for '--up'"),
            (["--up", "no/such"], "invalid value 'no/such' for '--up': cannot read the trace"),
            (["--up", "0bps"], "invalid value '0bps' for '--up'"),
            (["--burst-loss", "90%"], "invalid value '5' for '--burst-length'"),
        ] {
            let all = if words[0] == "--up" {
                vec!["exm", "--down", "1Mbps", words[0], words[1]]
            } else {
                vec!["exm", "--up", "1Mbps", "--down", "1Mbps", words[0], words[1]]
            };
            let options = Options::try_parse_from(all).expect("options that are known");
            let failure = options.link.setup().unwrap_err().into_text();
            assert!(failure.contains(expected), "{failure}");
        }
    }
}
