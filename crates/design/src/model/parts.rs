//! [`Part`]: networks of another kind, which some of a model's specimens are of.

use super::classes::{self, Class, Known};
use super::error::Problem;
use super::networks::{Draw, Networks};
use super::section::{Section, parsed};
use super::{Model, bounds, longest_rtt, read_duration, traces, write_networks};
use exm_units::Probability;
use std::fmt;

/// The most parts of a model.
const MAX_PARTS: usize = 64;

/// Networks of another kind, and how many of a model's specimens are of it.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The share of the specimens.
    pub(crate) weight: Probability,
    /// Its networks and senders; tables, objective and design are those of the whole.
    pub(crate) model: Model,
}

/// Reads the sections `[[part]]` of the file whose top is `top` into `whole`, and adds their classes to its.
pub(super) fn read(top: Section<'_>, whole: &mut Model) -> Result<(), Problem> {
    let sections = top.list("part")?;
    let Some(first) = sections.first() else { return Ok(()) };
    if whole.networks.draw == Draw::Grid {
        let what = "a grid takes every combination of one kind of networks: let draw be \"random\"";
        return Err(first.problem("weight", what));
    }
    if sections.len() > MAX_PARTS {
        let what = format!("a model has at most {MAX_PARTS} [[part]] sections");
        return Err(first.problem("weight", what));
    }
    for section in &sections {
        let part = read_part(*section, whole)?;
        let sum: f64 = whole.parts.iter().map(|part| part.weight.get()).sum();
        if sum + part.weight.get() > 1.0 + 1e-9 {
            let what = "the weights of all parts add up to more than 1: give less";
            return Err(section.problem("weight", what));
        }
        let number = whole.parts.len() + 1;
        let named = part
            .model
            .classes
            .iter()
            .map(|class| Class { name: format!("part {number}: {}", class.name), ..class.clone() });
        whole.classes.extend(named);
        whole.parts.push(part);
    }
    Ok(())
}

fn read_part(section: Section<'_>, whole: &Model) -> Result<Part, Problem> {
    let weight = parsed(section.need("weight", "\"20 %\"")?, "a probability", |text| {
        text.parse::<Probability>().map_err(|error| error.to_string())
    })?;
    let networks = Networks::read(section)?;
    if networks.draw == Draw::Grid {
        let what = "the networks of a part are drawn at random: take \"draw\" out";
        return Err(section.section("network")?.problem("draw", what));
    }
    let known = Known { tables: &whole.tables };
    let (classes, _) = classes::read(section, &networks, &whole.objective, known)?;
    let mut design = whole.design.clone();
    if section.get("duration").is_some() {
        design.duration = read_duration(section, longest_rtt(&networks, &classes))?;
    }
    bounds::check(section, &networks, &classes, design.duration)?;
    networks.links.iter().try_for_each(|link| traces::check(&link.traces, design.duration))?;
    let model = Model {
        name: None,
        own: classes.len(),
        networks,
        classes,
        design,
        parts: Vec::new(),
        text: String::new(),
        ..whole.clone()
    };
    model.check_networks()?;
    Ok(Part { weight, model })
}

/// Writes the sections as they are read.
pub(super) fn write(f: &mut fmt::Formatter<'_>, parts: &[Part]) -> fmt::Result {
    parts.iter().try_for_each(|Part { weight, model }| {
        let duration = model.design.duration;
        writeln!(f, "\n[[part]]\nweight = {}\nduration = \"{duration}\"", weight.get())?;
        // The sections of a model of its own, each under this one.
        Networked(model).to_string().lines().try_for_each(|line| {
            match (line.strip_prefix("[["), line.strip_prefix('[')) {
                (Some(name), _) => writeln!(f, "[[part.{name}"),
                (None, Some(name)) => writeln!(f, "[part.{name}"),
                (None, None) => writeln!(f, "{line}"),
            }
        })
    })
}

/// The networks and senders of a model, as a file has them.
struct Networked<'a>(&'a Model);

impl fmt::Display for Networked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_networks(f, self.0)
    }
}
