//! One run, with its progress shown and, if requested, time series recorded.

use super::packets::PacketFlags;
use crate::interrupt;
use crate::outputs::check_output;
use crate::progress::Progress;
use crate::shell::{self, Failure};
use exm_sim::engine::{self, Event, FlowSample, LinkSample, Observer, Pace, ReceivedAck};
use exm_sim::metrics::Report;
use exm_sim::network::Network;
use exm_sim::scenario::SeriesSpec;
use exm_sim::series::{self, Origin, Recorder};
use exm_units::Span;
use std::path::PathBuf;

/// The number of progress steps of a run.
pub(super) const STEPS: u64 = 200;
/// The default interval of series.
const EVERY: Pace = Pace::Every(Span::from_millis(100));

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Series")]
pub(super) struct SeriesFlags {
    /// Record time series of flows and links into this folder, seed-N.flows and seed-N.links
    #[arg(long, value_name = "FOLDER")]
    series: Option<PathBuf>,
    /// The sampling interval: a duration, or event for after each event [default: the scenario's, or 100 ms]
    #[arg(long, value_name = "DURATION", requires = "series")]
    every: Option<Pace>,
    /// The format of the series
    #[arg(long, value_enum, default_value_t = Format::Csv, requires = "series")]
    format: Format,
    /// Overwrite existing series, captures and logs
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// Comma-separated text
    Csv,
    /// Apache Parquet
    Parquet,
}

impl From<Format> for series::Format {
    fn from(format: Format) -> series::Format {
        match format {
            Format::Csv => series::Format::Csv,
            Format::Parquet => series::Format::Parquet,
        }
    }
}

/// What to record, and where.
pub(super) struct Recording {
    folder: PathBuf,
    spec: SeriesSpec,
    format: series::Format,
    force: bool,
}

impl SeriesFlags {
    /// Whether series are to be recorded.
    pub(super) fn is_wanted(&self) -> bool {
        self.series.is_some()
    }

    /// What to record, if the scenario requests `of_scenario`; none without a folder.
    pub(super) fn recording(
        &self,
        of_scenario: Option<SeriesSpec>,
    ) -> Result<Option<Recording>, Failure> {
        let Some(folder) = self.series.clone() else { return Ok(None) };
        let mut spec = of_scenario.unwrap_or(SeriesSpec { pace: EVERY, flows: true, links: true });
        spec.pace = self.every.unwrap_or(spec.pace);
        let (format, force) = (self.format.into(), self.force);
        Ok(Some(Recording { folder, spec, format, force }))
    }
}

impl Recording {
    /// Creates the folder, and checks that no file in it would be overwritten without consent.
    pub(super) fn prepare(&self, seeds: &[u64]) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.folder).map_err(|error| {
            let folder = self.folder.display();
            Failure::new(format!("cannot make the folder {folder} for the series: {error}"))
        })?;
        seeds
            .iter()
            .flat_map(|&seed| Recorder::paths(&self.spec, &self.stem(seed), self.format))
            .try_for_each(|file| check_output(&file, &[], self.force))
    }

    fn stem(&self, seed: u64) -> PathBuf {
        self.folder.join(format!("seed-{seed}"))
    }

    fn recorder(&self, seed: u64) -> Result<Recorder, Failure> {
        let command = shell::command_line();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let origin = Origin { command, seed, version };
        // An interrupt must not come between creating the files and registering them.
        let recorder = interrupt::remove_if_interrupted(
            || Recorder::create(&self.spec, &self.stem(seed), self.format, &origin),
            Recorder::preliminary_paths,
        )?;
        Ok(recorder)
    }
}

/// Simulates `network` with `seed`.
pub(super) fn run(
    network: &Network,
    seed: u64,
    recording: Option<&Recording>,
    packets: &PacketFlags,
    progress: &Progress,
) -> Result<Report, Failure> {
    let recorder = recording.map(|recording| recording.recorder(seed)).transpose()?;
    let watch = Watch::new(network, recorder, progress);
    let Some(mut files) = packets.begin(network)? else {
        return watch.observe(network, seed, ());
    };
    let report = watch.observe(network, seed, &mut files.watch)?;
    files.finish()?;
    Ok(report)
}

/// Reports the progress of a run, and feeds a recorder and what watches packets.
struct Watch<'a, T> {
    recorder: Option<Recorder>,
    packets: T,
    step: Span,
    /// The steps of progress reported so far.
    reported: u64,
    progress: &'a Progress,
}

impl<'a> Watch<'a, ()> {
    fn new(network: &Network, recorder: Option<Recorder>, progress: &'a Progress) -> Self {
        let step = Span::from_nanos(network.duration().as_nanos().div_ceil(STEPS));
        Watch { recorder, packets: (), step, reported: 0, progress }
    }

    /// Simulates `network`, watched by `packets` as well. Without that, events cost nothing.
    fn observe(
        self,
        network: &Network,
        seed: u64,
        packets: impl Observer,
    ) -> Result<Report, Failure> {
        let Watch { recorder, step, reported, progress, .. } = self;
        let mut watch = Watch { recorder, packets, step, reported, progress };
        let report = engine::run_observed(network, seed, &mut watch);
        progress.advance(STEPS.saturating_sub(watch.reported));
        if let Some(recorder) = watch.recorder {
            recorder.finish()?;
        }
        Ok(report)
    }
}

impl<T: Observer> Observer for Watch<'_, T> {
    fn pace(&self) -> Pace {
        self.recorder.as_ref().map_or(Pace::Every(self.step), Observer::pace)
    }

    fn flow(&mut self, sample: &FlowSample) {
        if let Some(recorder) = &mut self.recorder {
            recorder.flow(sample);
        }
    }

    fn link(&mut self, sample: &LinkSample) {
        if let Some(recorder) = &mut self.recorder {
            recorder.link(sample);
        }
        let steps = sample.at.as_nanos() / self.step.as_nanos();
        if steps > self.reported {
            self.progress.advance(steps - self.reported);
            self.reported = steps;
        }
    }

    #[inline]
    fn wants_events(&self) -> bool {
        self.packets.wants_events()
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        self.packets.event(event);
    }

    #[inline]
    fn wants_acks(&self) -> bool {
        self.packets.wants_acks()
    }

    #[inline]
    fn ack(&mut self, ack: &ReceivedAck) {
        self.packets.ack(ack);
    }

    #[inline]
    fn wants_updates(&self) -> bool {
        self.packets.wants_updates()
    }

    #[inline]
    fn update(&mut self, sample: &FlowSample) {
        self.packets.update(sample);
    }
}
