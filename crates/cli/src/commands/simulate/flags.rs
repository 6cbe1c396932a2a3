//! A network of one link, described by options. They are parsed as the equivalent scenario, so that
//! a quantity is written in the same way everywhere.

use crate::complete;
use crate::options::{
    self, DEFAULT_BUFFER, DEFAULT_DURATION, DEFAULT_LOSS, DEFAULT_ON, DEFAULT_QUEUE, Setup, Text,
    short_name,
};
use crate::ranges::DesignRanges;
use crate::shell::Failure;
use exm_link::QueueKind;
use exm_sim::network::{Host, MAX_FLOWS, Network};
use exm_sim::scenario::Scenario;
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
    /// Several, separated by commas, share the senders out between them in blocks as equal as can
    /// be: of 8 senders, "a,b,c" runs 1 to 3 by a, 4 to 6 by b, 7 and 8 by c.
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
    /// alpha=0.5 shift=-40 cap=3.3e9 B", and "empirical FILE B", a file of one number a line.
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
        let text = self.text(duration.unwrap_or(DEFAULT_DURATION))?;
        let scenario = Scenario::parse(text.as_str(), "the options", Path::new(""))
            .map_err(|error| text.failure(error.line(), error.problem()))?;
        let network = scenario
            .network(&mut |name, path| ranges.controller(name, path))
            .map_err(|error| text.failure(error.line(), error.problem()))?;
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

    fn text(&self, duration: Span) -> Result<Text, Failure> {
        let service = match (self.link, &self.trace) {
            (Some(link), _) => Some(("--link", "rate", link.to_string())),
            (None, Some(trace)) => Some(("--trace", "trace", trace.clone())),
            (None, None) => None,
        };
        let (Some((option, key, link)), Some(rtt)) = (service, self.rtt) else {
            return Err(Failure::usage("a network needs --link or --trace, --rtt and --cc"));
        };
        if self.on != DEFAULT_ON && self.off.is_none() {
            let problem = "flows end, and the time between them is missing: give --off as well";
            return Err(Failure::invalid_value(&self.on, "--on", problem));
        }
        let counts = self.counts()?;
        let senders: u64 = counts.iter().sum();
        let mut text = Text::default();
        let title = format!("{link}, {rtt}, {}", counted(senders, "sender", "senders"));
        text.option("", "title", &title);
        text.option("--duration", "duration", &duration.to_string());
        text.line("[[link]]");
        text.line("name = \"bottleneck\"");
        text.option(option, key, &link);
        text.option("--buffer", "buffer", &self.buffer);
        text.option("--queue", "queue", &self.queue.to_string());
        text.option("--loss", "loss", &self.loss.to_string());
        for (cc, count) in self.cc.iter().zip(counts) {
            text.line("[[flow]]");
            text.option("--cc", "name", &short_name(cc));
            text.line(&format!("count = {count}"));
            text.option("--rtt", "rtt", &rtt.to_string());
            text.option("--cc", "controller", cc);
            text.option("--host", "host", self.host.name());
            text.option("--on", "traffic.on", &self.on);
            if let Some(off) = &self.off {
                text.option("--off", "traffic.off", off);
            }
        }
        Ok(text)
    }

    /// How many senders each of the controllers runs.
    fn counts(&self) -> Result<Vec<u64>, Failure> {
        let controllers = self.cc.len() as u64;
        let senders = self.senders.unwrap_or(controllers);
        if senders < controllers {
            let problem = format!("{controllers} controllers need as many senders at least");
            return Err(Failure::invalid_value(&senders.to_string(), "--senders", &problem));
        }
        let (each, more) = (senders / controllers, senders % controllers);
        Ok((0..controllers).map(|index| each + u64::from(index < more)).collect())
    }
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
        let described = |flags: &NetworkFlags| flags.described(None, &mut DesignRanges::default());
        let failure = described(&flags(&["aimd"], None)).unwrap_err().into_text();
        assert!(failure.starts_with("invalid value 'exp \"5\" s' for '--off': "), "{failure}");
        let failure = described(&flags(&["a/b.json"], None)).unwrap_err().into_text();
        assert!(failure.contains("for '--off'"), "{failure}");
    }
}
