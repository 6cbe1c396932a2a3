//! [`Change`]: what may be changed while a scene is played.

use crate::scene::{SceneError, compact};
use exm_grammar::Buffer;
use exm_link::QueueKind;
use exm_remy::Action;
use exm_units::{Instant, ParseUnitError, Probability, Rate, Span};
use std::fmt;
use std::str::FromStr;

/// A change of the network of a scene, written as `TARGET,VALUE`; links, flows and lanes are counted from 0.
///
/// | text | changes |
/// |---|---|
/// | `rate,5Mbps` | the rate of link 0; `rate.1` that of link 1 |
/// | `buffer,1 BDP` | its queue limit; the BDP is that of the link at that time |
/// | `queue,codel` | its queue discipline, with parameters as in scenarios |
/// | `loss,1%` | its random loss |
/// | `delay,20ms` | the round-trip propagation delay of all flows; `delay.2` that of flow 2 |
/// | `flows,3` | how many flows are active: the others are silent |
/// | `on,exp 5 s`, `off,1 s` | the offered load of all flows; `on.2` that of flow 2 |
/// | `cc,bbr` | the controller of all flows; `cc.1` in lane 1, `cc.1.2` that of flow 2 in lane 1 |
/// | `rule.1.2.17,0.9 3 1.2ms` | the action of rule 17 of the table that flow 2 in lane 1 follows, for all flows of that lane that follow it: the factor of the window, the packets added to it, the minimum time between sends. They keep what they remember |
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// The rate of a link.
    Rate {
        /// The link.
        link: usize,
        /// Its new rate.
        rate: Rate,
    },
    /// The queue limit of a link.
    Buffer {
        /// The link.
        link: usize,
        /// Its new limit.
        buffer: Buffer,
    },
    /// The queue discipline of a link.
    Queue {
        /// The link.
        link: usize,
        /// Its new queue.
        queue: Box<QueueKind>,
    },
    /// The random loss of a link.
    Loss {
        /// The link.
        link: usize,
        /// Its new probability.
        probability: Probability,
    },
    /// The round-trip propagation delay.
    Delay {
        /// The flow; `None` for all.
        flow: Option<usize>,
        /// The new delay.
        rtt: Span,
    },
    /// How many flows are active.
    Flows(usize),
    /// How long each on-period lasts, as in scenarios.
    On {
        /// The flow; `None` for all.
        flow: Option<usize>,
        /// Its new value.
        value: String,
    },
    /// The time between on-periods, as in scenarios.
    Off {
        /// The flow; `None` for all.
        flow: Option<usize>,
        /// Its new value.
        value: String,
    },
    /// The controller.
    Controller {
        /// The lane; `None` for all.
        lane: Option<usize>,
        /// The flow; `None` for all.
        flow: Option<usize>,
        /// The name of the new one.
        name: String,
    },
    /// The action of a rule.
    Rule {
        /// The lane.
        lane: usize,
        /// A flow that follows the table.
        flow: usize,
        /// The number of the rule.
        rule: usize,
        /// Its new action.
        action: Action,
    },
}

/// A change and its time, written as `TIME,TARGET,VALUE`: `12.5s,rate,5Mbps`.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// When the change takes effect: before all events at that time.
    pub at: Instant,
    /// What changes.
    pub change: Change,
}

const TARGETS: [&str; 10] =
    ["rate", "buffer", "queue", "loss", "delay", "flows", "on", "off", "cc", "rule"];

/// The error that `text` is no change because of `problem`.
fn wrong(text: &str, problem: &dyn fmt::Display) -> SceneError {
    SceneError::new("change", format!("\"{text}\": {problem}"))
}

/// Reads an action: `0.9 3 1.2ms`.
fn action(text: &str) -> Result<Action, String> {
    let form = || {
        let example = "such as 0.9 3 1.2ms";
        format!(
            "give the factor of the window, packets to add and the time between sends, {example}"
        )
    };
    let [multiple, increment, intersend] = text.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(form());
    };
    let intersend: Span = intersend.parse().map_err(|error: ParseUnitError| error.to_string())?;
    let multiple = multiple.parse().ok().filter(|multiple| (0.0..=1000.0).contains(multiple));
    match (multiple, increment.parse()) {
        (Some(multiple), Ok(increment)) => {
            Ok(Action { multiple, increment, intersend_ms: intersend.as_millis_f64() })
        }
        _ => Err(form()),
    }
}

impl FromStr for Change {
    type Err = SceneError;

    fn from_str(text: &str) -> Result<Change, SceneError> {
        let wrong = |problem: &dyn fmt::Display| wrong(text, problem);
        let Some((target, value)) = text.split_once(',') else {
            return Err(wrong(&"give what changes and its value, such as rate,5Mbps"));
        };
        let mut parts = target.trim().split('.');
        let name = parts.next().unwrap_or_default();
        let numbers: Result<Vec<usize>, _> = parts.map(str::parse).collect();
        let numbers = numbers.map_err(|_| wrong(&"a number must follow each dot, as in rate.1"))?;
        let value = value.trim();
        let (link, flow) = (numbers.first().copied().unwrap_or(0), numbers.first().copied());
        let most = match name {
            "flows" => 0,
            "cc" => 2,
            "rule" => 3,
            _ => 1,
        };
        if numbers.len() > most {
            return Err(wrong(&format!("{name} has at most {most} numbers")));
        }
        Ok(match name {
            "rate" => Change::Rate { link, rate: value.parse().map_err(|e| wrong(&e))? },
            "buffer" => Change::Buffer { link, buffer: value.parse().map_err(|e| wrong(&e))? },
            "queue" => {
                let queue = exm_grammar::queue(value).map_err(|e| wrong(&e))?;
                Change::Queue { link, queue: Box::new(queue) }
            }
            "loss" => Change::Loss { link, probability: value.parse().map_err(|e| wrong(&e))? },
            "delay" => Change::Delay { flow, rtt: value.parse().map_err(|e| wrong(&e))? },
            "flows" => Change::Flows(value.parse().map_err(|_| wrong(&"give a number of flows"))?),
            "on" => Change::On { flow, value: value.to_owned() },
            "off" => Change::Off { flow, value: value.to_owned() },
            "cc" => {
                let [lane, flow] = [numbers.first().copied(), numbers.get(1).copied()];
                Change::Controller { lane, flow, name: value.to_owned() }
            }
            "rule" => {
                let [lane, flow, rule] = numbers[..] else {
                    return Err(wrong(&"give lane, flow and rule, as in rule.0.1.17"));
                };
                Change::Rule { lane, flow, rule, action: action(value).map_err(|e| wrong(&e))? }
            }
            _ => return Err(wrong(&exm_grammar::suggest(name, &TARGETS))),
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, numbers: &[Option<usize>], value: &dyn fmt::Display| {
            f.write_str(name)?;
            for number in numbers.iter().map_while(|number| *number) {
                write!(f, ".{number}")?;
            }
            write!(f, ",{value}")
        };
        let numbered = |link: &usize| Some(*link).filter(|link| *link > 0);
        match self {
            Change::Rate { link, rate } => line("rate", &[numbered(link)], &compact(rate)),
            Change::Buffer { link, buffer } => line("buffer", &[numbered(link)], buffer),
            Change::Queue { link, queue } => line("queue", &[numbered(link)], queue),
            Change::Loss { link, probability } => {
                line("loss", &[numbered(link)], &compact(probability))
            }
            Change::Delay { flow, rtt } => line("delay", &[*flow], &compact(rtt)),
            Change::Flows(flows) => line("flows", &[], flows),
            Change::On { flow, value } => line("on", &[*flow], value),
            Change::Off { flow, value } => line("off", &[*flow], value),
            Change::Controller { lane, flow, name } => line("cc", &[*lane, *flow], name),
            Change::Rule { lane, flow, rule, action } => {
                let Action { multiple, increment, intersend_ms } = action;
                let intersend = compact(&Span::from_millis_f64(*intersend_ms));
                let numbers = [*lane, *flow, *rule].map(Some);
                line("rule", &numbers, &format_args!("{multiple} {increment} {intersend}"))
            }
        }
    }
}

impl FromStr for Recorded {
    type Err = SceneError;

    fn from_str(text: &str) -> Result<Recorded, SceneError> {
        let wrong = |problem: &dyn fmt::Display| wrong(text, problem);
        let Some((time, change)) = text.split_once(',') else {
            return Err(wrong(&"give a time, what changes and its value: 12.5s,rate,5Mbps"));
        };
        let at: Span = time.trim().parse().map_err(|error| wrong(&error))?;
        Ok(Recorded { at: Instant::ZERO.saturating_add(at), change: change.parse()? })
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", compact(&(self.at - Instant::ZERO)), self.change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_their_text() {
        for text in [
            "0ns,rate,5Mbps",
            "1.5s,rate.1,5.5kbps",
            "2s,buffer,5 BDP",
            "2s,buffer.2,100 packets",
            "2s,queue,drop-tail",
            "3s,loss,0.01",
            "3s,delay,20ms",
            "3s,delay.4,20ms",
            "4s,flows,3",
            "4s,on,exp 5 s",
            "4s,off.1,1 s",
            "5s,cc,cubic",
            "5s,cc.1,cubic",
            "5s,cc.1.2,cubic",
            "6s,rule.0.1.17,0.9 -3 1.25ms",
        ] {
            let recorded: Recorded = text.parse().expect(text);
            assert_eq!(recorded.to_string(), text);
        }
    }

    #[test]
    fn errors_say_what_is_expected() {
        let error = |text: &str| text.parse::<Recorded>().expect_err("it is wrong").to_string();
        assert!(error("rate").contains("give a time"));
        assert!(error("1s,rate").contains("such as rate,5Mbps"));
        assert!(error("soon,rate,5Mbps").contains("soon"));
        assert!(error("1s,rat,5Mbps").contains("did you mean \"rate\"?"));
        assert!(error("1s,rate.x,5Mbps").contains("a number must follow"));
        assert!(error("1s,rate.1.2,5Mbps").contains("at most 1 number"));
        assert!(error("1s,flows.1,5").contains("at most 0 numbers"));
        assert!(error("1s,rule.1,0.9 3 1ms").contains("give lane, flow and rule"));
        for action in ["0.9 3", "0.9 3.5 1ms", "nan 3 1ms", "0.9 3 fast", "-1 3 1ms"] {
            assert!(error(&format!("1s,rule.0.0.0,{action}")).starts_with("change: "));
        }
    }
}
