//! [`Reader`]: from the tables of a file to an [`Experiment`].

use super::{Experiment, FigureKind, HarmTo, MAX_RUNS, PaperNumber, Scheme, Variant};
use crate::edit::{Change, What};
use crate::file::{
    AxesTable, ExperimentTable, HarmTable, OneOrMore, SchemeTable, Settings, SweepTable,
    VariantTable, place,
};
use crate::metric::{self, DELAY, DELAY_REDUCTION, Metric, SPEEDUP, THROUGHPUT, USUAL};
use crate::omniscient;
use crate::rows;
use crate::sweep::{self, Sweep};
use exm_grammar::{FileError, Offset, Source, suggest};
use exm_sim::scenario::Scenario;
use exm_units::Span;
use std::path::Path;
use toml::{Spanned, Table, Value};

/// The default number of runs of each scheme, as in the papers.
const RUNS: u64 = 128;
/// The metrics of harm, unless an experiment sets others: those of the paper that defined it.
const HARMED: [&str; 2] = ["mean_throughput", "mean_queueing"];
/// The default averaging window of throughput.
const WINDOW: Span = Span::from_secs(1);

/// Converts the tables of a file to an [`Experiment`].
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    pub(super) dir: &'a Path,
}

impl Reader<'_> {
    pub(super) fn experiment(
        &self,
        table: ExperimentTable,
        scenario: Scenario,
        document: Table,
    ) -> Result<Experiment, FileError> {
        let sweep = table.sweep.map(|sweep| self.sweep(sweep.into_inner())).transpose()?;
        let points = sweep.as_ref().map_or(1, |sweep| sweep.points.len());
        let schemes =
            table.scheme.into_iter().map(|scheme| self.scheme(scheme.into_inner(), points));
        let schemes: Vec<Scheme> = schemes.collect::<Result<_, _>>()?;
        if schemes.is_empty() {
            let problem = "there is no scheme to run: add an [[experiment.scheme]] with a name and \
                           a controller";
            return Err(self.source.error(None, problem));
        }
        let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name.as_str()).collect();
        if let Some(index) = (1..names.len()).find(|&index| names[..index].contains(&names[index]))
        {
            let problem =
                format!("there are two schemes \"{}\": give each a name of its own", names[index]);
            return Err(self.source.error(schemes[index].place, problem));
        }
        let references = self.references(table.reference, &names)?;
        let compared = schemes.iter().find(|scheme| scheme.is_compared());
        if let (true, Some(scheme)) = (references.is_empty(), compared) {
            let problem = "a speed-up is over the scheme of another name: add reference = \"NAME\" \
                           to [experiment]";
            return Err(self.source.error(scheme.place, problem));
        }
        self.check_ratios(&schemes, &references)?;
        let harm = table.harm.map(|harm| self.harm(harm, &scenario, &names)).transpose()?;
        let flows = self.flows(table.flow, &scenario)?;
        let variants = table.variant.into_iter().map(|variant| self.variant(variant.into_inner()));
        let mut variants: Vec<Variant> = variants.collect::<Result<_, _>>()?;
        if variants.is_empty() {
            variants.push(Variant::default());
        }
        let mean = table.mean.map(|mean| self.mean(mean, &variants)).transpose()?;
        let ranks = table.ranks.map(|ranks| self.better(ranks)).transpose()?;
        let file = &self.source.file;
        let stem = Path::new(file).file_stem();
        Ok(Experiment {
            name: stem.map_or(file.clone(), |stem| stem.to_string_lossy().into_owned()),
            title: scenario.title,
            source: table.source,
            notes: notes(table.notes),
            figures: self.figures(table.figure)?,
            columns: self.columns(table.columns)?,
            runs: self.runs(table.runs)?,
            window: self.window(table.window.as_ref(), scenario.duration)?,
            x: self.axis(table.x.as_ref(), DELAY)?,
            y: self.axis(table.y.as_ref(), THROUGHPUT)?,
            sigma: self.sigma(table.sigma)?,
            paper_axes: self.paper_axes(table.paper_axes)?,
            mean,
            seed: scenario.seed,
            references,
            ranks: ranks.unwrap_or_default(),
            harm,
            flows,
            schemes,
            variants,
            sweep,
            document,
            dir: self.dir.to_owned(),
            text: self.source.clone(),
        })
    }

    fn runs(&self, runs: Option<Spanned<u64>>) -> Result<u64, FileError> {
        match runs {
            None => Ok(RUNS),
            Some(runs) if (1..=MAX_RUNS).contains(runs.as_ref()) => Ok(runs.into_inner()),
            Some(runs) => {
                let problem =
                    format!("{} runs cannot be made: give 1 to {MAX_RUNS}", runs.as_ref());
                Err(self.source.error(place(&runs), problem))
            }
        }
    }

    fn window(&self, window: Option<&Spanned<String>>, duration: Span) -> Result<Span, FileError> {
        let Some(window) = window else { return Ok(WINDOW) };
        let text = window.as_ref();
        let fail = |problem: String| self.source.error(place(window), problem);
        let span: Span = text.parse().map_err(|error| fail(format!("{error}")))?;
        if span.is_zero() || span > duration {
            let problem = format!(
                "throughput over {text} cannot be averaged: give more than zero, and at most the \
                 {duration} that are simulated"
            );
            return Err(fail(problem));
        }
        Ok(span)
    }

    fn figures(&self, figures: Option<Spanned<OneOrMore>>) -> Result<Vec<FigureKind>, FileError> {
        let Some(figures) = figures else { return Ok(vec![FigureKind::ThroughputDelay]) };
        let at = place(&figures);
        let names = figures.into_inner().into_words();
        let kind = |name: &String| {
            let known = FigureKind::NAMED.iter().find(|(known, _)| known == name);
            known.map(|&(_, kind)| kind).ok_or_else(|| {
                let suggestion = suggest(name, &FigureKind::NAMED.map(|(name, _)| name));
                self.source.error(at, format!("there is no figure \"{name}\": {suggestion}"))
            })
        };
        names.iter().map(kind).collect()
    }

    fn columns(&self, columns: Option<Vec<Spanned<String>>>) -> Result<Vec<Metric>, FileError> {
        let Some(columns) = columns else {
            return Ok(USUAL.into_iter().filter_map(Metric::named).collect());
        };
        columns.iter().map(|column| self.metric(column)).collect()
    }

    fn metric(&self, name: &Spanned<String>) -> Result<Metric, FileError> {
        self.metric_at(name.as_ref(), place(name))
    }

    fn metric_at(&self, name: &str, at: Offset) -> Result<Metric, FileError> {
        Metric::named(name).ok_or_else(|| {
            let suggestion = suggest(name, &metric::keys());
            let problem = format!("nothing called \"{name}\" is measured: {suggestion}");
            self.source.error(at, problem)
        })
    }

    /// Metrics of which either higher or lower values are better.
    fn better(&self, names: Spanned<OneOrMore>) -> Result<Vec<Metric>, FileError> {
        let at = place(&names);
        let metric = |name: String| {
            let metric = self.metric_at(&name, at)?;
            if metric.better().is_none() {
                let problem = format!(
                    "neither more nor less of \"{name}\" is better: give a metric such as \
                     \"objective\" or \"queueing\""
                );
                return Err(self.source.error(at, problem));
            }
            Ok(metric)
        };
        names.into_inner().into_words().into_iter().map(metric).collect()
    }

    /// The flows that schemes may harm.
    fn harm(
        &self,
        table: HarmTable,
        scenario: &Scenario,
        schemes: &[&str],
    ) -> Result<HarmTo, FileError> {
        let at = place(&table.flow);
        let flow = OneOrMore::One(table.flow.into_inner());
        let flow = self.flows_at(flow, at, scenario)?.remove(0);
        let metrics = table.metrics.map(|metrics| self.better(metrics)).transpose()?;
        let usual = || HARMED.into_iter().filter_map(Metric::named).collect();
        let references = self.references(Some(table.reference), schemes)?;
        Ok(HarmTo { flow, metrics: metrics.unwrap_or_else(usual), references })
    }

    /// The metric of an axis.
    fn axis(&self, name: Option<&Spanned<String>>, usual: Metric) -> Result<Metric, FileError> {
        let Some(name) = name else { return Ok(usual) };
        let metric = self.metric(name)?;
        if rows::of_flow(metric.key).is_none() {
            let problem = format!(
                "\"{}\" is no quantity of each flow, which pictures are drawn of: give one such as \
                 \"self_inflicted\" or \"received\"",
                metric.key
            );
            return Err(self.source.error(place(name), problem));
        }
        Ok(metric)
    }

    fn sigma(&self, sigma: Option<Spanned<f64>>) -> Result<f64, FileError> {
        match sigma {
            None => Ok(1.0),
            Some(sigma) if *sigma.as_ref() > 0.0 && *sigma.as_ref() <= 5.0 => {
                Ok(sigma.into_inner())
            }
            Some(sigma) => {
                let problem = format!(
                    "an ellipse of {} standard deviations cannot be drawn: give more than 0, and at \
                     most 5",
                    sigma.as_ref()
                );
                Err(self.source.error(place(&sigma), problem))
            }
        }
    }

    fn paper_axes(
        &self,
        axes: Option<Spanned<AxesTable>>,
    ) -> Result<Option<[[f64; 2]; 2]>, FileError> {
        let Some(axes) = axes else { return Ok(None) };
        let AxesTable { x, y } = axes.as_ref();
        let is_sound = |[low, high]: &[f64; 2]| low < high && high.is_finite();
        if is_sound(x) && is_sound(y) && x[0] > 0.0 && y[0] >= 0.0 {
            return Ok(Some([*x, *y]));
        }
        let problem = "axes need their low end first, delays above 0: { x = [8, 32], y = [1, 3] }";
        Err(self.source.error(place(&axes), problem))
    }

    /// Rejects a ratio to a scheme that is not a reference.
    fn check_ratios(&self, schemes: &[Scheme], references: &[usize]) -> Result<(), FileError> {
        let names: Vec<&str> = references.iter().map(|&one| schemes[one].name.as_str()).collect();
        for scheme in schemes {
            let mut groups =
                scheme.paper.iter().filter(|one| one.is_ratio()).flat_map(|one| &one.group);
            if let Some(group) = groups.find(|group| !names.contains(&group.as_str())) {
                let problem = format!(
                    "a ratio is to a reference, and \"{group}\" is none: {}",
                    suggest(group, &names)
                );
                return Err(self.source.error(scheme.place, problem));
            }
        }
        Ok(())
    }

    fn mean(&self, mean: Spanned<String>, variants: &[Variant]) -> Result<String, FileError> {
        let is_taken = variants.iter().any(|variant| variant.name == *mean.as_ref());
        if is_taken || mean.as_ref().trim().is_empty() {
            let problem = "the mean over all variants needs a name of its own";
            return Err(self.source.error(place(&mean), problem));
        }
        Ok(mean.into_inner())
    }

    fn flows(
        &self,
        flows: Option<Spanned<OneOrMore>>,
        scenario: &Scenario,
    ) -> Result<Vec<String>, FileError> {
        let Some(flows) = flows else { return Ok(Vec::new()) };
        let at = place(&flows);
        self.flows_at(flows.into_inner(), at, scenario)
    }

    fn flows_at(
        &self,
        flows: OneOrMore,
        at: Offset,
        scenario: &Scenario,
    ) -> Result<Vec<String>, FileError> {
        let names: Vec<&str> = scenario.flows.iter().map(|group| group.name.as_str()).collect();
        let flows = flows.into_words();
        match flows.iter().find(|flow| !names.contains(&flow.as_str())) {
            None => Ok(flows),
            Some(unknown) => {
                let problem =
                    format!("there are no flows \"{unknown}\": {}", suggest(unknown, &names));
                Err(self.source.error(at, problem))
            }
        }
    }

    fn references(
        &self,
        references: Option<Spanned<OneOrMore>>,
        names: &[&str],
    ) -> Result<Vec<usize>, FileError> {
        let Some(references) = references else { return Ok(Vec::new()) };
        let at = place(&references);
        let number = |reference: String| {
            names.iter().position(|name| *name == reference).ok_or_else(|| {
                let suggestion = suggest(&reference, names);
                let problem = format!("there is no scheme \"{reference}\": {suggestion}");
                self.source.error(at, problem)
            })
        };
        references.into_inner().into_words().into_iter().map(number).collect()
    }

    fn scheme(&self, table: SchemeTable, points: usize) -> Result<Scheme, FileError> {
        let at = table.controller.as_ref().map_or(place(&table.name), place);
        let mut changes = settings(&table.tcp, "tcp.");
        changes.extend(settings(&table.set, ""));
        if let Some(queue) = &table.queue {
            changes.push(Change { what: What::Queue(queue.as_ref().clone()), place: place(queue) });
        }
        let queue = table.queue.map(|queue| match queue.into_inner() {
            Value::String(name) => name,
            settings => {
                let name = settings.get("name").and_then(Value::as_str);
                name.unwrap_or_default().to_owned()
            }
        });
        let designed_for = table.designed_for.map(|range| {
            sweep::range(range.as_ref())
                .map_err(|problem| self.source.error(place(&range), problem))
        });
        Ok(Scheme {
            name: table.name.into_inner(),
            controllers: self.controllers(table.controller)?,
            queue,
            is_optional: table.optional_file,
            paper: self.paper(&table.paper, points)?,
            designed_for: designed_for.transpose()?,
            curve: table.curve,
            frontier: table.frontier,
            changes,
            place: at,
        })
    }

    /// The controller of a scheme, or the designs that it is measured by.
    fn controllers(&self, given: Option<Spanned<OneOrMore>>) -> Result<Vec<String>, FileError> {
        let Some(given) = given else { return Ok(Vec::new()) };
        let at = place(&given);
        let names = given.into_inner().into_words();
        let problem = match names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            Some((_, name)) => format!("the table \"{name}\" is listed twice"),
            None if names.is_empty() => {
                "there is no table in the list: name one at least".to_owned()
            }
            None if names.len() > 1 && names.iter().any(|name| name == omniscient::NAME) => {
                "omniscient senders are a scheme of their own, and no design".to_owned()
            }
            None => return Ok(names),
        };
        Err(self.source.error(at, problem))
    }

    fn variant(&self, table: VariantTable) -> Result<Variant, FileError> {
        let mut changes = settings(&table.tcp, "tcp.");
        changes.extend(settings(&table.set, ""));
        let at = place(&table.name);
        let name = table.name.into_inner();
        if name.trim().is_empty() {
            return Err(self.source.error(at, "a variant needs a name of its own"));
        }
        Ok(Variant { name, note: table.note.as_deref().map(paragraph), changes })
    }

    fn sweep(&self, table: SweepTable) -> Result<Sweep, FileError> {
        let fail = |place: Offset, problem: String| self.source.error(place, problem);
        Sweep::read(table, &fail)
    }

    /// The numbers of a table `paper`.
    fn paper(&self, table: &Settings, points: usize) -> Result<Vec<PaperNumber>, FileError> {
        let mut numbers = Vec::new();
        for (key, value) in table {
            let at = place(value);
            match value.as_ref() {
                Value::Table(of_group) => {
                    for (metric, value) in of_group {
                        numbers.push(self.paper_number(Some(key), metric, (value, at), points)?);
                    }
                }
                other => numbers.push(self.paper_number(None, key, (other, at), points)?),
            }
        }
        Ok(numbers)
    }

    fn paper_number(
        &self,
        group: Option<&String>,
        metric: &str,
        (value, at): (&Value, Offset),
        points: usize,
    ) -> Result<PaperNumber, FileError> {
        let is_ratio = [SPEEDUP, DELAY_REDUCTION].contains(&metric);
        if !is_ratio && Metric::named(metric).is_none() {
            let mut known = metric::keys();
            known.extend([SPEEDUP, DELAY_REDUCTION]);
            let problem =
                format!("nothing called \"{metric}\" is measured: {}", suggest(metric, &known));
            return Err(self.source.error(at, problem));
        }
        let values: Option<Vec<f64>> = match value {
            Value::Array(list) => list.iter().map(number).collect(),
            other => number(other).map(|number| vec![number]),
        };
        match values {
            Some(values) if values.len() == 1 || values.len() == points => {
                Ok(PaperNumber { group: group.cloned(), metric: metric.to_owned(), values })
            }
            Some(values) => {
                let problem = format!(
                    "{} numbers cannot stand beside {points} points: give one, or one for each",
                    values.len()
                );
                Err(self.source.error(at, problem))
            }
            None => {
                let problem = format!("\"{metric}\" is no number: give one, or a list of numbers");
                Err(self.source.error(at, problem))
            }
        }
    }
}

/// The non-empty notes, each as one paragraph.
fn notes(notes: Option<OneOrMore>) -> Vec<String> {
    let notes = notes.map_or_else(Vec::new, OneOrMore::into_words);
    notes.iter().map(|note| paragraph(note)).filter(|note| !note.is_empty()).collect()
}

/// `text` without the line breaks of the file.
fn paragraph(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}

fn settings(table: &Settings, prefix: &str) -> Vec<Change> {
    let change = |(key, value): (&String, &Spanned<Value>)| Change {
        what: What::Key(format!("{prefix}{key}"), value.as_ref().clone()),
        place: place(value),
    };
    table.iter().map(change).collect()
}
