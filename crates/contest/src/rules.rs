//! [`Rules`] of a contest, and its folder: [`Contest`].

use crate::error::ContestError;
use crate::hash::sha256;
use crate::score::{Pair, Setting};
use exm_grammar::Source;
use exm_plugin::Limits;
use exm_store::write_atomically;
use exm_trace::{Synthetic, Trace};
use exm_units::Span;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The name of the rules' file.
const FILE: &str = "contest.toml";
/// The synthetic link of the default traces, and the seeds of the pairs: training down and up, robustness down and up.
const LINK: &str = "lte";
const SEEDS: [u64; 4] = [1, 2, 3, 4];
/// The longest contest run.
const MAX_DURATION: Span = Span::from_secs(3600);

/// The baselines of a contest, as in section 2.5 of the thesis and more. The model of a video call takes Skype's place.
const BASELINES: [&str; 7] =
    ["sprout", "sprout-ewma", "cubic", "vegas", "ledbat", "bbr", crate::entrant::VIDEO_CALL];

/// The skeleton of a submission.
const NOTE: &str = include_str!("note.md");

/// The rules of a contest: the file contest.toml.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rules {
    /// The title.
    pub title: String,
    /// The simulated time of each run.
    pub duration: Span,
    /// How much of it is not scored.
    pub warm_up: Span,
    /// The propagation delay of each direction.
    pub delay: Span,
    /// The controllers that the board shows beside the participants.
    pub baselines: Vec<String>,
    /// What a module may use.
    pub limits: ModuleLimits,
    /// The pair of links that is ranked.
    pub training: PairRules,
    /// The pair of links that shows overfitting.
    pub robustness: PairRules,
    /// The hashes of the final pair, which is hidden.
    #[serde(rename = "final", skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenPair>,
}

/// What a WebAssembly module may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ModuleLimits {
    /// The size of the module, bytes.
    pub module_bytes: u32,
    /// Its memory, bytes.
    pub memory_bytes: u32,
    /// Instructions for one event.
    pub instructions_per_event: u32,
    /// Instructions in a run.
    pub instructions: u64,
}

/// A pair of traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PairRules {
    /// The trace that data crosses, from the folder of the contest.
    pub down: PathBuf,
    /// The SHA-256 hash of that file.
    pub down_sha256: String,
    /// The trace that ACKs cross.
    pub up: PathBuf,
    /// The SHA-256 hash of that file.
    pub up_sha256: String,
}

/// The hashes of a pair of traces that is not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HiddenPair {
    /// The SHA-256 hash of the trace that data crosses.
    pub down_sha256: String,
    /// The SHA-256 hash of the trace that ACKs cross.
    pub up_sha256: String,
}

/// Files of the traces of both directions: data, then ACKs.
pub type Files = (PathBuf, PathBuf);

/// What a new contest is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The title.
    pub title: String,
    /// The simulated time of each run.
    pub duration: Span,
    /// How much of it is not scored.
    pub warm_up: Span,
    /// Recorded traces for training in place of synthetic ones.
    pub training: Option<Files>,
    /// The same for robustness.
    pub robustness: Option<Files>,
    /// The final pair, of which only the hashes are stored.
    pub hidden: Option<Files>,
}

impl Default for Setup {
    /// Five minutes on synthetic traces, of which the first is not scored, without a hidden pair.
    fn default() -> Setup {
        Setup {
            title: "A contest of congestion control".to_owned(),
            duration: Span::from_secs(300),
            warm_up: Span::from_secs(60),
            training: None,
            robustness: None,
            hidden: None,
        }
    }
}

/// A contest: its folder, its rules and its traces.
#[derive(Clone, Debug)]
pub struct Contest {
    dir: PathBuf,
    rules: Rules,
    training: Pair,
    robustness: Pair,
}

impl Contest {
    /// Writes a new contest into the folder `dir`, which is created or empty.
    ///
    /// # Errors
    /// [`ContestError`] if the folder has files, a trace is wrong, or a file cannot be written.
    pub fn create(dir: &Path, setup: &Setup) -> Result<Contest, ContestError> {
        if fs::read_dir(dir).is_ok_and(|mut files| files.next().is_some()) {
            return Err(ContestError::NotEmpty(dir.to_owned()));
        }
        let hidden = setup.hidden.as_ref().map(|files| -> Result<_, ContestError> {
            let (down, up) = (recorded(&files.0)?, recorded(&files.1)?);
            Ok(HiddenPair { down_sha256: sha256(&down), up_sha256: sha256(&up) })
        });
        let pair = |name: &str, files: &Option<Files>, seeds: [u64; 2]| {
            let [down, up] = match files {
                Some((down, up)) => [recorded(down)?, recorded(up)?],
                None => [synthetic(seeds[0], setup)?, synthetic(seeds[1], setup)?],
            };
            let path = |way: &str| PathBuf::from(format!("traces/{name}.{way}"));
            let hashes = (sha256(&down), sha256(&up));
            let rules = PairRules {
                down: path("down"),
                down_sha256: hashes.0,
                up: path("up"),
                up_sha256: hashes.1,
            };
            Ok::<_, ContestError>((rules, [down, up]))
        };
        let (training, of_training) = pair("training", &setup.training, [SEEDS[0], SEEDS[1]])?;
        let (robustness, of_robustness) =
            pair("robustness", &setup.robustness, [SEEDS[2], SEEDS[3]])?;
        let limits = Limits::STRANGER;
        let rules = Rules {
            title: setup.title.clone(),
            duration: setup.duration,
            warm_up: setup.warm_up,
            delay: Span::from_millis(20),
            baselines: BASELINES.map(str::to_owned).to_vec(),
            limits: ModuleLimits {
                module_bytes: limits.code as u32,
                memory_bytes: limits.memory as u32,
                instructions_per_event: limits.instructions_per_event as u32,
                instructions: limits.instructions_in_all,
            },
            training,
            robustness,
            hidden: hidden.transpose()?,
        };
        let text = toml::to_string(&rules).expect("rules are plain values");
        check(&rules, &Source { file: FILE.to_owned(), text: text.clone() })?;
        for folder in ["traces", "attempts"] {
            let path = dir.join(folder);
            fs::create_dir_all(&path).map_err(ContestError::write(path))?;
        }
        let files =
            [&rules.training, &rules.robustness].into_iter().zip([of_training, of_robustness]);
        for (rules, [down, up]) in files {
            write(&dir.join(&rules.down), &down)?;
            write(&dir.join(&rules.up), &up)?;
        }
        write(&dir.join("README.md"), NOTE.as_bytes())?;
        // Last: a folder without it is no contest.
        write(&dir.join(FILE), text.as_bytes())?;
        Contest::open(dir)
    }

    /// Opens the contest in the folder `dir`, and checks that its traces are those of its rules.
    ///
    /// # Errors
    /// [`ContestError`] if there is none, or its rules or traces are damaged.
    pub fn open(dir: &Path) -> Result<Contest, ContestError> {
        let path = dir.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ContestError::NoContest(dir.to_owned()));
            }
            Err(source) => return Err(ContestError::Read { path, source }),
        };
        let source = Source { file: path.display().to_string(), text };
        let rules: Rules =
            toml::from_str(&source.text).map_err(|error| source.parse_error(&error))?;
        check(&rules, &source)?;
        let pair = |files: &PairRules| {
            let down = checked(&dir.join(&files.down), &files.down_sha256)?;
            Ok::<_, ContestError>(Pair::new(down, checked(&dir.join(&files.up), &files.up_sha256)?))
        };
        let (training, robustness) = (pair(&rules.training)?, pair(&rules.robustness)?);
        Ok(Contest { dir: dir.to_owned(), rules, training, robustness })
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The pair of links that is ranked.
    pub fn training(&self) -> &Pair {
        &self.training
    }

    /// The pair of links that shows overfitting.
    pub fn robustness(&self) -> &Pair {
        &self.robustness
    }

    /// The final pair in these files.
    ///
    /// # Errors
    /// [`ContestError::WrongTrace`] if they are not the pair that the rules commit to.
    pub fn final_pair(&self, down: &Path, up: &Path) -> Result<Pair, ContestError> {
        let hidden = self.rules.hidden.as_ref().ok_or(ContestError::NoFinal)?;
        Ok(Pair::new(checked(down, &hidden.down_sha256)?, checked(up, &hidden.up_sha256)?))
    }

    /// How runs are made.
    pub fn setting(&self) -> Setting {
        Setting::new(self.rules.duration, self.rules.warm_up, self.rules.delay)
    }

    /// What a module may use.
    pub fn limits(&self) -> Limits {
        let rules = self.rules.limits;
        let mut limits = Limits::STRANGER;
        limits.code = rules.module_bytes as usize;
        limits.memory = rules.memory_bytes as usize;
        limits.instructions_per_event = u64::from(rules.instructions_per_event);
        limits.instructions_in_all = rules.instructions;
        limits
    }

    /// The hash of everything in the rules that a score depends on: scores made by other rules are remade.
    pub fn fingerprint(&self) -> String {
        let rules = Rules {
            title: String::new(),
            baselines: Vec::new(),
            hidden: None,
            ..self.rules.clone()
        };
        sha256(toml::to_string(&rules).expect("rules are plain values").as_bytes())
    }
}

/// Checks what the types of `rules` allow and the simulator does not.
fn check(rules: &Rules, source: &Source) -> Result<(), ContestError> {
    let at = |key: &str| {
        source
            .text
            .lines()
            .scan(0, |next, line| {
                let start = *next;
                *next += line.len() + 1;
                Some((start, line))
            })
            .find(|(_, line)| line.trim_start().starts_with(key))
            .map(|(start, _)| start)
    };
    if rules.duration > MAX_DURATION {
        return Err(source.error(at("duration"), "a run lasts an hour at most").into());
    }
    if rules.warm_up >= rules.duration {
        let problem = "the warm-up must be shorter than the duration: otherwise nothing is scored";
        return Err(source.error(at("warm_up"), problem).into());
    }
    if rules.delay > Span::from_secs(10) {
        return Err(source.error(at("delay"), "the propagation delay is 10 s at most").into());
    }
    for name in &rules.baselines {
        crate::Entrant::named(name, "baselines")
            .map_err(|error| source.error(at("baselines"), error.to_string()))?;
    }
    Ok(())
}

/// The bytes of a recorded trace, which can be read.
fn recorded(path: &Path) -> Result<Vec<u8>, ContestError> {
    let bytes = fs::read(path).map_err(ContestError::read(path))?;
    Trace::parse(&bytes, &path.display().to_string())?;
    Ok(bytes)
}

/// A synthetic trace, as the bytes of its file.
fn synthetic(seed: u64, setup: &Setup) -> Result<Vec<u8>, ContestError> {
    let link = Synthetic::named(LINK).expect("it is a preset");
    Ok(link.generate(seed, setup.duration)?.to_text().into_bytes())
}

/// The trace at `path`, whose hash is `expected`.
fn checked(path: &Path, expected: &str) -> Result<Trace, ContestError> {
    let bytes = fs::read(path).map_err(ContestError::read(path))?;
    let found = sha256(&bytes);
    if found != expected {
        let (path, expected) = (path.to_owned(), expected.to_owned());
        return Err(ContestError::WrongTrace { path, found, expected });
    }
    Ok(Trace::parse(&bytes, &path.display().to_string())?)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ContestError> {
    write_atomically(path, bytes).map_err(ContestError::write(path))
}
