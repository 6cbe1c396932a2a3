//! How long a design goes on.

use super::log::Step;
use cpu_time::ProcessTime;
use exm_design::{Designer, SearchKind};
use exm_units::Span;
use std::fmt;

/// The default budget.
const DEFAULT_CPU: Span = Span::from_secs(600);

/// The limits of a design; it ends at the first that it reaches.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct Budget {
    /// End after this much CPU time, summed over threads [default: 10min without other limits]
    ///
    /// Time spent before an interruption counts.
    #[arg(long, value_name = "DURATION", value_parser = cpu_time)]
    pub(crate) cpu: Option<Span>,
    /// End when a table with at least this many rules has been evaluated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rules: Option<u32>,
    /// End when the score of an evaluated table reaches this
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = score)]
    pub(crate) score: Option<f64>,
    /// End after this many steps of the search
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
}

/// A budget of CPU time.
pub(crate) fn cpu_time(text: &str) -> Result<Span, String> {
    match text.parse::<Span>() {
        Ok(span) if span.is_zero() => Err("no time leaves nothing to design: give more".into()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}

fn score(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "give a number, such as -9.5".into())
}

/// Why a design ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Cpu,
    Rules,
    Score,
    Steps,
    Interrupted,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Cpu => "the CPU time is spent",
            End::Rules => "there are as many rules as asked for",
            End::Score => "the score asked for is reached",
            End::Steps => "all steps are taken",
            End::Interrupted => "it was interrupted",
        })
    }
}

impl Budget {
    /// A budget of CPU time alone.
    pub(crate) fn of_cpu(cpu: Span) -> Budget {
        Budget { cpu: Some(cpu), rules: None, score: None, steps: None }
    }

    /// The budget, with the default if there is no other limit.
    pub(crate) fn or_default(self) -> Budget {
        let endless = self.rules.is_none() && self.score.is_none() && self.steps.is_none();
        Budget { cpu: self.cpu.or(endless.then_some(DEFAULT_CPU)), ..self }
    }

    /// Whether the budget was spent by `designer`, whose last step is known.
    pub(super) fn spent(&self, designer: &Designer, last: Option<&Step>) -> Option<End> {
        let judged = last.and_then(|step| step.judged);
        let rules = last
            .filter(|step| step.judged.is_some() || designer.search() == SearchKind::Paper)
            .map(|step| step.rules);
        if self.cpu.is_some_and(|cpu| designer.cpu_seconds() >= cpu.as_secs_f64()) {
            Some(End::Cpu)
        } else if self.steps.is_some_and(|steps| designer.steps() >= steps) {
            Some(End::Steps)
        } else if self.score.zip(judged).is_some_and(|(asked, judged)| judged >= asked) {
            Some(End::Score)
        } else if self.rules.zip(rules).is_some_and(|(asked, rules)| rules >= asked as usize) {
            Some(End::Rules)
        } else {
            None
        }
    }

    /// The fraction of the budget that is spent, from 0 to 1; `None` if unknown.
    pub(crate) fn part_spent(&self, cpu_seconds: f64, steps: u64) -> Option<f64> {
        let cpu = self.cpu.map(|cpu| cpu_seconds / cpu.as_secs_f64());
        let steps = self.steps.map(|all| steps as f64 / all as f64);
        let part = cpu.into_iter().chain(steps).reduce(f64::max)?;
        Some(part.min(1.0))
    }
}

/// The CPU time of all threads: the only clock a design reads, and only to know when to end.
pub(crate) struct CpuClock {
    start: ProcessTime,
    before: f64,
}

impl CpuClock {
    /// A clock that starts at `before` seconds.
    pub(crate) fn from(before: f64) -> CpuClock {
        CpuClock { start: ProcessTime::now(), before }
    }

    /// The current reading, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.before + self.start.elapsed().as_secs_f64()
    }
}

/// Seconds as people write them: "58 s", "10 min 3 s", "2 h 5 min".
pub(crate) fn spoken(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..=9 => format!("{seconds:.1} s"),
        10..=59 => format!("{whole} s"),
        60..=3599 if whole.is_multiple_of(60) => format!("{} min", whole / 60),
        60..=3599 => format!("{} min {} s", whole / 60, whole % 60),
        _ if whole % 3600 < 60 => format!("{} h", whole / 3600),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_spoken_as_people_do() {
        let texts = [0.26, 9.4, 58.0, 600.0, 603.2, 3600.0, 7500.0].map(spoken);
        let expected = ["0.3 s", "9.4 s", "58 s", "10 min", "10 min 3 s", "1 h", "2 h 5 min"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_design_always_ends() {
        let none = Budget { cpu: None, rules: None, score: None, steps: None };
        assert_eq!(none.clone().or_default().cpu, Some(DEFAULT_CPU));
        let steps = Budget { steps: Some(4), ..none }.or_default();
        assert_eq!((steps.cpu, steps.part_spent(100.0, 3)), (None, Some(0.75)));
    }
}
