//! What the user sees of a design while it goes on.

use super::budget::{Budget, spoken};
use crate::progress;
use crate::shell;
use crate::visible::visible;
use exm_design::{Designer, Progress};
use exm_store::counted;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// How wide the curve of scores is, in letters.
const WIDTH: usize = 56;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A bar's parts.
const PARTS: u64 = 1000;
/// The minimum CPU time between two lines if there is no terminal, in seconds.
const LINE_EVERY: f64 = 10.0;

/// Shows a design on the standard error.
pub(crate) struct Display {
    kind: Kind,
    budget: Budget,
    /// CPU time and score of each step.
    scores: Vec<(f64, f64)>,
    judged: Option<f64>,
}

enum Kind {
    Quiet,
    /// Plain lines now and then; when the next is due, in seconds of CPU time.
    Lines {
        due: f64,
    },
    Live(ProgressBar),
}

impl Display {
    /// A display: live on a terminal, lines elsewhere, none where `quiet`. `scores` are those of
    /// steps taken before.
    pub(crate) fn new(quiet: bool, budget: Budget, scores: Vec<(f64, f64)>) -> Display {
        let kind = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Kind::Quiet,
            (false, false) => Kind::Lines { due: 0.0 },
            (false, true) => Kind::Live(bar(&budget)),
        };
        Display { kind, budget, scores, judged: None }
    }

    /// A step was taken.
    pub(crate) fn step(&mut self, designer: &Designer, progress: &Progress) {
        self.scores.push((designer.cpu_seconds(), progress.score));
        self.judged = progress.judged.or(self.judged);
        let cpu = designer.cpu_seconds();
        match &mut self.kind {
            Kind::Quiet => {}
            Kind::Lines { due } => {
                if cpu >= *due || progress.judged.is_some() {
                    let least = self.budget.cpu.map_or(0.0, |cpu| cpu.as_secs_f64() / 60.0);
                    *due = cpu + LINE_EVERY.max(least);
                    shell::tell(&(line(designer, progress) + "\n"));
                }
            }
            Kind::Live(bar) => {
                let name = designer.model().name().unwrap_or("a RemyCC").to_owned();
                let head = format!("{name}: step {}, {}", designer.steps(), progress.what);
                let judged =
                    self.judged.map_or(String::new(), |j| format!(", {j:.3} on separate networks"));
                let curve = curve(&self.scores, WIDTH);
                let text = format!("{head}\n{curve} {:.3}{judged}", progress.score);
                bar.set_message(visible(&text).into_owned());
                let spent = self.budget.part_spent(cpu, designer.steps()).unwrap_or(0.0);
                bar.set_position((spent * PARTS as f64) as u64);
                bar.set_prefix(format!("{} of CPU time", spoken(cpu)));
            }
        }
    }

    /// Leaves the last step and the curve of scores on the terminal, in lines of their own.
    pub(crate) fn finish(&self) {
        let Kind::Live(bar) = &self.kind else { return };
        progress::take_away(bar);
        if !bar.message().is_empty() {
            shell::tell(&(bar.message() + "\n"));
        }
    }
}

fn bar(budget: &Budget) -> ProgressBar {
    let known = budget.part_spent(0.0, 0).is_some();
    let template = if known {
        "{msg}\n{wide_bar} {percent:>3} %, {prefix}, {eta} left"
    } else {
        "{msg}\n{spinner} {prefix}"
    };
    let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr());
    progress::shown(&bar);
    bar.set_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn line(designer: &Designer, progress: &Progress) -> String {
    let Progress { score, judged, rules, what, .. } = progress;
    let judged =
        judged.map_or(String::new(), |judged| format!(", {judged:.3} on separate networks"));
    let (cpu, step) = (spoken(designer.cpu_seconds()), designer.steps());
    let rules = counted(*rules, "rule", "rules");
    format!("{cpu:>12}  step {step:<5} {rules:>10}  score {score:.3}{judged}  {what}")
}

/// Scores against time as a line of `width` letters, the best of each stretch of time. The lowest
/// tenth, where a design begins, is drawn at the bottom, so that the rest has room.
fn curve(scores: &[(f64, f64)], width: usize) -> String {
    let Some(&(end, _)) = scores.last() else { return String::new() };
    let mut best = vec![f64::NEG_INFINITY; width];
    for &(time, score) in scores {
        let column = if end > 0.0 { (time / end * width as f64) as usize } else { 0 };
        let column = &mut best[column.min(width - 1)];
        *column = column.max(score);
    }
    let values: Vec<f64> = scores.iter().map(|&(_, score)| score).collect();
    let low = exm_measure::quantile(&values, 0.1).unwrap_or(0.0);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut level = 0;
    let letter = |&score: &f64| {
        if score.is_finite() && high > low {
            let height = ((score - low) / (high - low)).clamp(0.0, 1.0);
            level = (height * (LEVELS.len() - 1) as f64).round() as usize;
        }
        LEVELS[level]
    };
    best.iter().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_with_the_score() {
        let scores: Vec<(f64, f64)> =
            (1..=80).map(|i| (f64::from(i), -1.0 / f64::from(i))).collect();
        let curve = curve(&scores, 8);
        let mut sorted: Vec<char> = curve.chars().collect();
        sorted.sort_unstable();
        assert_eq!(curve, sorted.into_iter().collect::<String>());
        assert_eq!(curve.chars().last(), Some('█'));
        assert_eq!(self::curve(&[], 8), "");
        assert_eq!(self::curve(&[(0.0, -3.0)], 3), "▁▁▁");
    }
}
