//! Synthetic links in files.

use super::times::parse_off;
use exm_grammar::{FileError, Source};
use exm_random::Distribution;
use exm_trace::{BlockErrors, Cox, Frames, Interruption, Regime, Synthetic};
use exm_units::{Probability, Rate, Span};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    slot: Option<Spanned<Span>>,
    stages: Option<Spanned<u32>>,
    regime: Vec<Spanned<RegimeTable>>,
    #[serde(default)]
    interruption: Vec<InterruptionTable>,
    frames: Option<Spanned<FramesTable>>,
    block_errors: Option<Spanned<BlocksTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegimeTable {
    mean: Rate,
    max: Rate,
    volatility: Option<f64>,
    pull: Option<Span>,
    outage: Option<Span>,
    dwell: Option<Spanned<String>>,
    weight: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptionTable {
    every: Spanned<String>,
    lasts: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FramesTable {
    airtime: Span,
    access: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlocksTable {
    probability: Probability,
    step: Span,
    retries: u32,
}

/// The default seed of synthetic traces.
const SEED: u64 = 1;

/// Whether `name` is that of a synthetic link, optionally with a seed: "lte" or "lte, seed 2".
pub fn is_synthetic(name: &str) -> bool {
    Synthetic::named(seeded(name).0).is_some()
}

/// The name and the seed of "lte, seed 2".
pub(super) fn seeded(name: &str) -> (&str, u64) {
    let parts = name.split_once(", seed ");
    let seeded = parts.and_then(|(link, seed)| Some((link, seed.trim().parse().ok()?)));
    seeded.unwrap_or((name, SEED))
}

/// Reads the synthetic link in `file`.
///
/// A file is TOML. At the top may stand `slot`, the time at whose multiples opportunities occur, and `stages` (1), how
/// even they are: each gap between two is the mean of so many exponential ones.
/// Then come one or more `[[regime]]`, the processes that the rate follows in turn, beginning with
/// the first:
///
/// | key | meaning | default |
/// |---|---|---|
/// | `mean` | the initial rate, to which it reverts | required |
/// | `max` | the highest rate | required |
/// | `volatility` | how far the rate wanders in a second, in opportunities a second | 200 |
/// | `pull` | the time in which a deviation from the mean decays to 1/e | never |
/// | `outage` | the mean length of an outage, once the rate is zero | `"1 s"` |
/// | `dwell` | how long it lasts: a distribution of times | forever |
/// | `weight` | its relative probability of being the next regime | 1 |
///
/// and any number of `[[interruption]]`, each of which removes all opportunities repeatedly: `every`
/// is the distribution of the times from the start of one to the start of the next, and `lasts` that
/// of their lengths.
///
/// With `[frames]`, each frame takes `airtime` after a medium access of `access`, a distribution of times: opportunities
/// leave together at its end, and those within medium access are lost. With `[block_errors]`, each slot is a block
/// that fails with `probability` and is sent again after `step`, at most `retries` times, in order.
///
/// # Errors
/// The file, the line and the problem, with the way out.
pub fn load_synthetic(file: &Path) -> Result<Synthetic, FileError> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| {
        let source = Source { file: name.clone(), ..Source::default() };
        source.error(None, format!("the model of a link cannot be read: {error}"))
    })?;
    let dir = file.parent().unwrap_or(Path::new(""));
    parse_synthetic(&Source { file: name, text }, dir)
}

/// Reads the synthetic link `source`, as [`load_synthetic`] does; paths in it start from `dir`.
///
/// # Errors
/// The file, the line and the problem, with the way out.
pub fn parse_synthetic(source: &Source, dir: &Path) -> Result<Synthetic, FileError> {
    let file: File = toml::from_str(&source.text).map_err(|error| source.parse_error(&error))?;
    let times = |text: &Spanned<String>| -> Result<Distribution, FileError> {
        let place = Some(text.span().start);
        let times = parse_off(text.as_ref(), dir).map_err(|p| source.error(place, p))?;
        times.check().map_err(|problem| source.error(place, problem))?;
        Ok(times)
    };
    let mut link = Synthetic::EMPTY;
    for table in &file.regime {
        let regime = table.as_ref();
        let dwell = regime.dwell.as_ref().map(times).transpose()?;
        let regime = regime.read(dwell);
        let alone = Synthetic { regimes: vec![regime.clone()], ..link.clone() };
        let place = Some(table.span().start);
        alone.check(SHORT).map_err(|error| source.error(place, error.to_string()))?;
        link.regimes.push(regime);
    }
    for InterruptionTable { every, lasts } in &file.interruption {
        link.interruptions.push(Interruption { every: times(every)?, lasts: times(lasts)? });
    }
    if let Some(stages) = file.stages {
        link.stages = *stages.as_ref();
        let place = Some(stages.span().start);
        link.check(SHORT).map_err(|error| source.error(place, error.to_string()))?;
    }
    let place = file.slot.as_ref().map(|slot| slot.span().start);
    link.slot = file.slot.map(Spanned::into_inner);
    link.check(SHORT).map_err(|error| source.error(place, error.to_string()))?;
    if let Some(table) = file.frames {
        let (place, FramesTable { airtime, access }) = (table.span().start, table.into_inner());
        link.frames = Some(Frames { airtime, access: times(&access)? });
        link.check(SHORT).map_err(|error| source.error(Some(place), error.to_string()))?;
    }
    if let Some(table) = file.block_errors {
        let (place, blocks) = (table.span().start, table.into_inner());
        let BlocksTable { probability, step, retries } = blocks;
        link.block_errors = Some(BlockErrors { probability: probability.get(), step, retries });
        link.check(SHORT).map_err(|error| source.error(Some(place), error.to_string()))?;
    }
    Ok(link)
}

/// The shortest RTT, for which no delay is too long.
const SHORT: Span = Span::from_millis(1);

impl RegimeTable {
    fn read(&self, dwell: Option<Distribution>) -> Regime {
        let rate = Cox {
            mean: self.mean,
            max: self.max,
            volatility: self.volatility.unwrap_or(Cox::SPROUT.volatility),
            pull: self.pull.unwrap_or(Span::MAX),
            outage: self.outage.unwrap_or(Cox::SPROUT.outage),
        };
        Regime { rate, dwell, weight: self.weight.unwrap_or(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Synthetic, FileError> {
        let source = Source { file: "drive.toml".to_owned(), text: text.to_owned() };
        parse_synthetic(&source, Path::new(""))
    }

    #[test]
    fn a_model_is_read_as_written() {
        let text = r#"
            slot = "1 ms"
            [[regime]]
            mean = "6 Mbps"
            max = "12 Mbps"
            pull = "2 s"
            dwell = "exp 20 s"
            [[regime]]
            mean = "1 Mbps"
            max = "3 Mbps"
            volatility = 50
            outage = "3 s"
            weight = 0.5
            [[interruption]]
            every = "15 s"
            lasts = "pareto xm=0.3 alpha=1.2 cap=30 s"
        "#;
        let link = parse(text).expect("a model");
        assert_eq!(link.slot, Some(Span::from_millis(1)));
        let [first, second] = &link.regimes[..] else { panic!("two regimes") };
        assert_eq!(first.rate, Cox { pull: Span::from_secs(2), ..Cox::SPROUT });
        assert_eq!(first.dwell, Some(Distribution::Exponential { mean: 20.0 }));
        assert_eq!((second.rate.volatility, second.weight, &second.dwell), (50.0, 0.5, &None));
        let lasts = Distribution::Pareto { scale: 0.3, shape: 1.2, shift: 0.0, cap: 30.0 };
        let every = Distribution::Fixed(15.0);
        assert_eq!(link.interruptions, [Interruption { every, lasts }]);
        assert!(link.generate(1, Span::from_secs(10)).is_ok());
    }

    #[test]
    fn frames_and_blocks_are_read_as_written() {
        let text = r#"
            slot = "0.5 ms"
            [[regime]]
            mean = "100 Mbps"
            max = "200 Mbps"
            [frames]
            airtime = "4 ms"
            access = "exp 1 ms"
            [block_errors]
            probability = "10 %"
            step = "3 ms"
            retries = 3
        "#;
        let link = parse(text).expect("a model");
        let access = Distribution::Exponential { mean: 0.001 };
        assert_eq!(link.frames, Some(Frames { airtime: Span::from_millis(4), access }));
        let (probability, step, retries) = (0.1, Span::from_millis(3), 3);
        assert_eq!(link.block_errors, Some(BlockErrors { probability, step, retries }));
    }

    #[test]
    fn errors_name_the_line() {
        let regime = "[[regime]]\nmean = \"6 Mbps\"\nmax = \"12 Mbps\"\n";
        for (text, line, part) in [
            (String::new(), None, "the key \"regime\" is missing"),
            ("regime = []\n".to_owned(), None, "at least one regime"),
            (format!("{regime}pul = \"1 s\"\n"), Some(4), "did you mean \"pull\"?"),
            (format!("{regime}dwell = \"2 kB\"\n"), Some(4), "\"2 kB\" is no time"),
            (format!("{regime}weight = -1\n"), Some(1), "weights of regimes"),
            (regime.replace("12 M", "2 M"), Some(1), "0 < mean <= max, not 6 Mbps and 2 Mbps"),
            (
                format!(
                    "{regime}[block_errors]\nprobability = 0.1\nstep = \"1 ms\"\nretries = 1\n"
                ),
                Some(4),
                "need slots",
            ),
            (
                format!("{regime}[frames]\nairtime = \"0 s\"\naccess = \"1 ms\"\n"),
                Some(4),
                "frames of a synthetic trace must last",
            ),
            (format!("slot = \"0 s\"\n{regime}"), Some(1), "slots of a synthetic trace must last"),
            (
                format!("{regime}[[interruption]]\nevery = \"1 s\"\n"),
                Some(4),
                "\"lasts\" is missing",
            ),
        ] {
            let error = parse(&text).expect_err(&text);
            assert!(error.problem().contains(part) && error.line() == line, "{text}: {error}");
        }
        let missing = load_synthetic(Path::new("no/such.toml")).unwrap_err().to_string();
        assert!(
            missing.starts_with("no/such.toml: the model of a link cannot be read"),
            "{missing}"
        );
    }
}
