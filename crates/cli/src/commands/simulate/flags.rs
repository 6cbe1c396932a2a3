//! A network of one link, described by options.

use crate::complete;
use crate::options::{
    self, DEFAULT_BUFFER, DEFAULT_DURATION, DEFAULT_LOSS, DEFAULT_ON, DEFAULT_QUEUE, Setup,
    short_name,
};
use crate::ranges::DesignRanges;
use crate::shell::Failure;
use exm_grammar::{Buffer, GrammarError};
use exm_link::{QueueKind, Service};
use exm_sim::network::{Host, LinkSpec, MAX_FLOWS, Network};
use exm_sim::scenario::{FlowGroup, Scenario, ScenarioBuilder, Traces, parse_traffic};
use exm_sim::traffic::Traffic;
use exm_store::counted;
use exm_units::{Probability, Rate, Span};
use std::path::Path;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub(super) struct NetworkFlags {
    /// The rate of the link, such as 15Mbps
    #[arg(long, value_name = "RATE", required_unless_present_any = ["scenario", "trace"])]
    link: Option<Rate>,
    /// Instead of a rate, a file of delivery opportunities, or a synthetic link such as lte
    #[arg(long, value_name = "FILE", conflicts_with = "link", add = complete::traces())]
    trace: Option<String>,
    /// The round-trip propagation delay, such as 150ms
    #[arg(long, value_name = "DURATION", required_unless_present = "scenario")]
    rtt: Option<Span>,
    /// The senders' controller: a name such as cubic, a table's file, or the name of a shipped table
    ///
    /// Several, separated by commas, divide the senders into blocks that are as equal as
    /// possible: with 8 senders, "a,b,c" runs 1 to 3 with a, 4 to 6 with b, 7 and 8 with c.
    #[arg(long, value_name = "CC,...", value_delimiter = ',', add = complete::controllers())]
    #[arg(required_unless_present = "scenario")]
    cc: Vec<String>,
    /// The number of senders [default: one for each of --cc]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_FLOWS as u64))]
    senders: Option<u64>,
    /// The queue limit of the link: 1000 packets, 250 kB, 5 BDP or unlimited
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_BUFFER)]
    buffer: String,
    /// The queue discipline, and its parameters, such as 'codel target=10ms,interval=50ms'
    #[arg(long, value_name = "QUEUE", default_value = DEFAULT_QUEUE, value_parser = options::queue)]
    #[arg(add = complete::queues())]
    queue: QueueKind,
    /// The host of all senders: TCP, or the bare host that RemyCCs are trained on, which does not
    /// retransmit what is lost
    #[arg(long, value_name = "HOST", default_value = "tcp", value_parser = options::host())]
    host: Host,
    /// The probability that a packet is lost after the link, such as 1%
    #[arg(long, value_name = "PROBABILITY", default_value = DEFAULT_LOSS)]
    loss: Probability,
    /// How long a flow lasts: a time or an amount, such as exp 5 s or 100 kB, or always
    ///
    /// Distributions are "5 s", "fixed 20 packets", "exp 100 kB", "uniform 1..2 s", "pareto xm=147
    /// alpha=0.5 shift=-40 cap=3.3e9 B", and "empirical FILE B", a file with one number per line.
    #[arg(long, value_name = "DISTRIBUTION", default_value = DEFAULT_ON)]
    on: String,
    /// The time between flows, and before the first, such as exp 5 s
    #[arg(long, value_name = "DISTRIBUTION")]
    off: Option<String>,
}

impl NetworkFlags {
    /// The scenario that the options describe, and its network.
    pub(super) fn described(
        &self,
        duration: Option<Span>,
        ranges: &mut DesignRanges,
    ) -> Result<(Scenario, Network), Failure> {
        let scenario = self.scenario(duration.unwrap_or(DEFAULT_DURATION))?;
        let mut unknown = None;
        let network = scenario.network(&mut |name, path| {
            let controller = ranges.controller(name, path);
            unknown = controller.is_err().then(|| name.to_owned());
            controller
        });
        let network = network.map_err(|error| {
            let (flag, value) = match error.key().unwrap_or_default() {
                "duration" => ("--duration", scenario.duration.to_string()),
                key => self.flag(key),
            };
            Failure::invalid_value(&unknown.unwrap_or(value), flag, error.problem())
        })?;
        Ok((scenario, network))
    }

    /// The options, including defaults.
    pub(super) fn setup(&self) -> Setup {
        let mut setup = Setup::new();
        if let Some(link) = &self.link {
            setup.given("link", link);
        }
        if let Some(trace) = &self.trace {
            setup.given("trace", trace);
        }
        if let Some(rtt) = &self.rtt {
            setup.given("rtt", rtt);
        }
        let each = self.cc.len() as u64;
        setup.usually("senders", self.senders.unwrap_or(each), each);
        setup.usually("buffer", &self.buffer, DEFAULT_BUFFER);
        setup.usually("queue", &self.queue, DEFAULT_QUEUE);
        setup.usually("loss", self.loss, DEFAULT_LOSS);
        setup.usually("host", self.host.name(), Host::default().name());
        setup.usually("on", &self.on, DEFAULT_ON);
        if let Some(off) = &self.off {
            setup.given("off", off);
        }
        setup
    }

    fn scenario(&self, duration: Span) -> Result<Scenario, Failure> {
        let service = self.service()?;
        let rtt = self.rtt.ok_or_else(incomplete)?;
        let traffic = self.traffic()?;
        let buffer: Buffer = self.buffer.parse().map_err(|problem: GrammarError| {
            Failure::invalid_value(&self.buffer, "--buffer", &problem.to_string())
        })?;
        let counts = self.counts()?;
        let senders = counted(counts.iter().sum::<usize>() as u64, "sender", "senders");
        let link = LinkSpec::new(service).queue(self.queue.clone()).loss(self.loss);
        let title = format!("{}, {rtt}, {senders}", self.flag("rate").1);
        let builder = Scenario::builder(duration).title(title).link(link, buffer);
        let groups = self.cc.iter().zip(counts).map(|(cc, count)| {
            let group = FlowGroup::new(cc, rtt).name(short_name(cc)).count(count);
            group.host(self.host).traffic(traffic.clone())
        });
        Ok(groups.fold(builder, ScenarioBuilder::flow).build())
    }

    fn service(&self) -> Result<Service, Failure> {
        match (self.link, &self.trace) {
            (Some(rate), _) => Ok(Service::Fixed(rate)),
            (None, Some(name)) => {
                let trace = Traces::default().named(name, Path::new(""));
                trace
                    .map(Service::Trace)
                    .map_err(|problem| Failure::invalid_value(name, "--trace", &problem))
            }
            (None, None) => Err(incomplete()),
        }
    }

    fn traffic(&self) -> Result<Traffic, Failure> {
        if self.on != DEFAULT_ON && self.off.is_none() {
            let problem = "flows end, and the time between them is missing: give --off as well";
            return Err(Failure::invalid_value(&self.on, "--on", problem));
        }
        parse_traffic(&self.on, self.off.as_deref(), Path::new("")).map_err(|error| {
            let (flag, value) = self.flag(error.key());
            Failure::invalid_value(&value, flag, &error.to_string())
        })
    }

    /// The flag that sets what a scenario's `key` sets, and its value.
    fn flag(&self, key: &str) -> (&'static str, String) {
        let shown = |value: Option<String>| value.unwrap_or_default();
        match (key, self.link) {
            ("rate", Some(link)) => ("--link", link.to_string()),
            ("rate", None) => ("--trace", shown(self.trace.clone())),
            ("rtt", _) => ("--rtt", shown(self.rtt.map(|rtt| rtt.to_string()))),
            ("buffer", _) => ("--buffer", self.buffer.clone()),
            ("traffic.on", _) => ("--on", self.on.clone()),
            ("traffic.off", _) => ("--off", shown(self.off.clone())),
            ("count", _) => ("--senders", shown(self.senders.map(|count| count.to_string()))),
            _ => ("--cc", self.cc.join(",")),
        }
    }

    /// How many senders each of the controllers runs.
    fn counts(&self) -> Result<Vec<usize>, Failure> {
        let controllers = self.cc.len() as u64;
        let senders = self.senders.unwrap_or(controllers);
        if senders < controllers {
            let problem = format!("{controllers} controllers need as many senders at least");
            return Err(Failure::invalid_value(&senders.to_string(), "--senders", &problem));
        }
        let (each, more) = (senders / controllers, senders % controllers);
        Ok((0..controllers).map(|index| (each + u64::from(index < more)) as usize).collect())
    }
}

fn incomplete() -> Failure {
    Failure::usage("a network needs --link or --trace, --rtt and --cc")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(cc: &[&str], senders: Option<u64>) -> NetworkFlags {
        NetworkFlags {
            link: Some(Rate::from_mbps(15.0)),
            rtt: Some(Span::from_millis(150)),
            cc: cc.iter().map(|&cc| cc.to_owned()).collect(),
            senders,
            trace: None,
            buffer: "1000 packets".to_owned(),
            queue: QueueKind::default(),
            host: Host::Tcp,
            loss: Probability::ZERO,
            on: "exp 5 s".to_owned(),
            off: Some("exp \"5\" s".to_owned()),
        }
    }

    #[test]
    fn senders_are_shared_out_in_blocks() {
        assert_eq!(flags(&["a", "b", "c"], Some(8)).counts().unwrap(), [3, 3, 2]);
        assert_eq!(flags(&["a", "b"], None).counts().unwrap(), [1, 1]);
        assert!(flags(&["a", "b"], Some(1)).counts().is_err());
    }

    #[test]
    fn errors_name_the_option() {
        let failure = |change: fn(&mut NetworkFlags)| {
            let mut flags = flags(&["aimd"], None);
            flags.off = Some("exp 5 s".to_owned());
            change(&mut flags);
            let described = flags.described(Some(Span::from_secs(1)), &mut DesignRanges::default());
            described.expect_err("it is impossible").into_text()
        };
        let off = failure(|flags| flags.off = Some("exp \"5\" s".to_owned()));
        assert!(off.starts_with("invalid value 'exp \"5\" s' for '--off': "), "{off}");
        let buffer = failure(|flags| flags.buffer = "0 packets".to_owned());
        assert!(buffer.starts_with("invalid value '0 packets' for '--buffer': a buffer of no"));
        let rate = failure(|flags| flags.link = Some(Rate::from_bps(0)));
        assert!(rate.starts_with("invalid value '0 bps' for '--link': a rate of zero"), "{rate}");
        let cc = failure(|flags| flags.cc = vec!["cubic".to_owned(), "cubci".to_owned()]);
        assert!(cc.starts_with("invalid value 'cubci' for '--cc': "), "{cc}");
        let trace =
            failure(|flags| (flags.link, flags.trace) = (None, Some("none.pps".to_owned())));
        assert!(trace.starts_with("invalid value 'none.pps' for '--trace': "), "{trace}");
    }
}
