//! [`Class`]: senders of one kind, of which a model may have several.

use super::choice::{Choice, Grammar};
use super::error::Problem;
use super::links::read_rtt_choice;
use super::networks::{MAX_SENDERS, Networks};
use super::quantities::Senders;
use super::section::{Section, elements, parsed};
use super::traffic::Bursts;
use super::{objective, traffic};
use crate::objective::Objective;
use crate::{outside, shipped};
use exm_grammar::suggest;
use exm_remy::RemyCc;
use exm_sim::builtin;
use exm_sim::controllers::AnyController;
use exm_sim::traffic::{OnOff, Traffic};
use exm_units::{Probability, Span};
use std::fmt;

/// The default name of a class, and of the table that it designs.
const ONLY: &str = "senders";
/// The maximum number of classes: a specimen draws two quantities for each.
const MAX_CLASSES: usize = 64;

/// Senders of one kind: their controller, path, traffic and objective.
#[derive(Clone, Debug)]
pub struct Class {
    /// What it is called.
    pub name: String,
    /// What runs its senders.
    pub role: Role,
    /// The objective of its senders; it affects a design only if they [count](Class::counts).
    pub objective: Objective,
    /// Whether they count although their table is not designed: the design then does as little harm to them as pays.
    pub(crate) considered: bool,
    pub(crate) count: Choice<Senders>,
    pub(crate) presence: Presence,
    /// The links that it crosses, in order, counted from 0.
    pub(crate) path: Vec<usize>,
    /// The links that its ACKs cross; empty if they return without queueing.
    pub(crate) back: Vec<usize>,
    /// Its round-trip propagation delay, if that is not the sum of its links'.
    pub(crate) rtt: Option<Choice<Span>>,
    pub(crate) traffic: OnOff,
    /// Set if its flows start together.
    pub(crate) bursts: Option<Bursts>,
}

/// How often the senders of a class are present.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Presence {
    /// The probability that they are in a network.
    pub(crate) probability: Probability,
    /// Classes of one group exclude each other: a network has the senders of at most one of them.
    pub(crate) group: Option<String>,
}

impl Presence {
    const ALWAYS: Presence = Presence { probability: Probability::ONE, group: None };

    pub(crate) fn is_always(&self) -> bool {
        self.probability == Probability::ONE
    }
}

/// The controller of the senders of a [`Class`].
#[derive(Clone, Debug)]
pub enum Role {
    /// The table of this number among those designed, on the bare host.
    Designed(usize),
    /// A controller, by its name: one designed by people over TCP, a shipped table on the bare host.
    Fixed {
        /// Its name.
        name: String,
        /// The controller.
        controller: Box<AnyController>,
    },
}

impl Class {
    /// The only class of a model without `[[sender]]`: `count` senders of the table to design, across the
    /// first link.
    pub(super) fn only(
        count: Choice<Senders>,
        (traffic, bursts): (OnOff, Option<Bursts>),
        objective: Objective,
    ) -> Class {
        let role = Role::Designed(0);
        Class {
            name: ONLY.to_owned(),
            role,
            objective,
            considered: false,
            count,
            presence: Presence::ALWAYS,
            path: vec![0],
            back: Vec::new(),
            rtt: None,
            traffic,
            bursts,
        }
    }

    /// When its senders are on, and how much they send.
    pub(crate) fn flows(&self) -> Traffic {
        match self.bursts {
            None => self.traffic.clone().into(),
            Some(Bursts { every, spread }) => {
                Traffic::Every { period: every, spread, on: self.traffic.on.clone() }
            }
        }
    }

    /// Whether its senders run a table that is designed.
    pub fn is_designed(&self) -> bool {
        matches!(self.role, Role::Designed(_))
    }

    /// Whether its senders are among those whose mean value a design maximises.
    pub fn counts(&self) -> bool {
        self.is_designed() || self.considered
    }

    /// Whether its senders run designed table number `table`.
    pub fn runs(&self, table: usize) -> bool {
        matches!(self.role, Role::Designed(own) if own == table)
    }

    /// The minimum and maximum round-trip propagation delay of its senders.
    pub(crate) fn rtt_extremes(&self, networks: &Networks) -> (Span, Span) {
        let of_path = || {
            let ends = |link: usize| networks.links[link].rtt.ends();
            (self.path_rtt(|link| ends(link).0), self.path_rtt(|link| ends(link).1))
        };
        self.rtt.as_ref().map_or_else(of_path, Choice::ends)
    }

    /// The round-trip propagation delay of its path, where link `i` adds `rtt(i)` to one that crosses it both
    /// ways.
    pub(crate) fn path_rtt(&self, rtt: impl Fn(usize) -> Span) -> Span {
        let sum =
            |links: &[usize]| links.iter().map(|&l| rtt(l)).fold(Span::ZERO, Span::saturating_add);
        match &self.back[..] {
            [] => sum(&self.path),
            back => sum(&self.path).saturating_add(sum(back)) / 2,
        }
    }
}

/// What is known before the classes of a part are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known<'a> {
    /// The tables that the model designs; none before its own classes are read.
    pub(super) tables: &'a [String],
}

/// The classes of a file or of a part, and the names of the tables that are designed.
pub(super) fn read(
    top: Section<'_>,
    networks: &Networks,
    objective: &Objective,
    known: Known<'_>,
) -> Result<(Vec<Class>, Vec<String>), Problem> {
    let sections = top.list("sender")?;
    let default = match top.get("traffic") {
        None if !sections.is_empty() => None,
        _ => Some(traffic::read(top.section("traffic")?, networks.packet)?),
    };
    if let (Some(count), Some(traffic)) = (&networks.senders, &default)
        && sections.is_empty()
    {
        let class = Class::only(count.clone(), traffic.clone(), objective.clone());
        return match known.tables {
            [] => Ok((vec![class], vec![ONLY.to_owned()])),
            [only] => Ok((vec![class], vec![only.clone()])),
            _ => Err(top.problem("network", Known::SEVERAL)),
        };
    }
    let mut reader =
        Reader { networks, objective, traffic: default, known, tables: known.tables.to_vec() };
    let mut classes: Vec<Class> = Vec::new();
    for (index, section) in sections.into_iter().enumerate() {
        let class = reader.class(section, index)?;
        if classes.iter().any(|other| other.name == class.name) {
            let twice = format!("there are two senders named \"{}\": rename one", class.name);
            return Err(section.problem("name", twice));
        }
        classes.push(class);
    }
    if !classes.iter().any(Class::is_designed) {
        return Err(Problem::nowhere(
            "no sender runs a table to design: leave \"controller\" out of one [[sender]]",
        ));
    }
    if classes.len() > MAX_CLASSES {
        let what = format!("a model has at most {MAX_CLASSES} [[sender]] sections");
        return Err(Problem::nowhere(what));
    }
    check_counts(&classes)?;
    check_groups(&classes)?;
    Ok((classes, reader.tables))
}

fn check_counts(classes: &[Class]) -> Result<(), Problem> {
    let most: u64 = classes.iter().map(|class| class.count.ends().1.0).sum();
    if most > MAX_SENDERS {
        let what = format!("{most} senders cannot be simulated: give {MAX_SENDERS} at most");
        return Err(Problem::nowhere(what));
    }
    Ok(())
}

/// Refuses groups whose probabilities add up to more than one.
fn check_groups(classes: &[Class]) -> Result<(), Problem> {
    for group in classes.iter().filter_map(|class| class.presence.group.as_deref()) {
        let of_group = classes.iter().filter(|c| c.presence.group.as_deref() == Some(group));
        let sum: f64 = of_group.map(|class| class.presence.probability.get()).sum();
        if sum > 1.0 + 1e-9 {
            return Err(Problem::nowhere(format!(
                "the senders that are one of \"{group}\" exclude each other, and their probabilities \
                 add up to {sum}: let \"present\" be less"
            )));
        }
    }
    Ok(())
}

impl Known<'_> {
    const SEVERAL: &'static str = "the model designs several tables: say by \"table\" which of them each [[sender]] of a part runs";
}

struct Reader<'a> {
    networks: &'a Networks,
    objective: &'a Objective,
    traffic: Option<(OnOff, Option<Bursts>)>,
    known: Known<'a>,
    tables: Vec<String>,
}

impl Reader<'_> {
    fn class(&mut self, section: Section<'_>, index: usize) -> Result<Class, Problem> {
        let name = match section.get("name") {
            None => format!("sender {}", index + 1),
            Some(value) => parsed(value, "a name: write text", |text| Ok(text.to_owned()))?,
        };
        let objective = objective::read(section.section("objective")?, self.objective)?;
        let (traffic, bursts) = match (section.get("on"), &self.traffic) {
            (None, Some(traffic)) => traffic.clone(),
            _ => traffic::read(section, self.networks.packet)?,
        };
        let (path, back) = self.paths(section)?;
        let class = Class {
            role: self.role(section, &name)?,
            objective,
            considered: section.flag("considered", false)?,
            count: read_count(section)?,
            presence: read_presence(section)?,
            path,
            back,
            rtt: section.get("rtt").map(read_rtt_choice).transpose()?,
            traffic,
            bursts,
            name,
        };
        self.check_rtt(section, &class)?;
        if class.considered && class.is_designed() {
            let what = "senders of a table to design count anyway: \"considered\" is for those of a \"controller\"";
            return Err(section.problem("considered", what));
        }
        Ok(class)
    }

    fn role(&mut self, section: Section<'_>, class: &str) -> Result<Role, Problem> {
        let Some(value) = section.get("controller") else {
            let table = match section.get("table") {
                None => match self.known.tables {
                    [] => class.to_owned(),
                    [only] => only.clone(),
                    _ => return Err(section.problem("table", Known::SEVERAL)),
                },
                Some(value) => parsed(value, "a table's name: write text", |text| Ok(text.into()))?,
            };
            let known = self.tables.iter().position(|name| *name == table);
            if let (None, [_, ..]) = (known, self.known.tables) {
                let names: Vec<&str> = self.known.tables.iter().map(String::as_str).collect();
                let what = format!(
                    "the model designs no table \"{table}\" outside this part: {}",
                    suggest(&table, &names)
                );
                return Err(section.problem("table", what));
            }
            let number = known.unwrap_or_else(|| {
                self.tables.push(table);
                self.tables.len() - 1
            });
            return Ok(Role::Designed(number));
        };
        if section.get("table").is_some() {
            let what = "a sender runs a controller or a table to design: give one of the two";
            return Err(section.problem("table", what));
        }
        let wanted = "a controller's or a shipped table's name";
        parsed(value, wanted, |name| {
            let controller = AnyController::parse(name)
                .map_err(|error| error.to_string())?
                .or(outside::load(name, section.dir()).transpose()?)
                .or_else(|| shipped::table(name).map(|file| RemyCc::new(&file.table).into()));
            let known = || {
                let tables: Vec<&str> = shipped::TABLES.iter().map(|&(name, _)| name).collect();
                builtin::unknown(name, &tables)
            };
            let controller = Box::new(controller.ok_or_else(known)?);
            Ok(Role::Fixed { name: name.to_owned(), controller })
        })
    }

    /// The links of the path, and those of the return path.
    fn paths(&self, section: Section<'_>) -> Result<(Vec<usize>, Vec<usize>), Problem> {
        let links = self.networks.links.len();
        let path = match section.get("path") {
            Some(_) => self.path(section, "path")?,
            None if links == 1 => vec![0],
            None => {
                let what = format!(
                    "there are {links} links: say which this sender crosses, such as path = [1, 2]"
                );
                return Err(section.problem("path", what));
            }
        };
        let back = self.path(section, "back")?;
        self.check_way(&path).map_err(|what| section.problem("path", what))?;
        let (Some(&last), false) = (path.last(), back.is_empty()) else { return Ok((path, back)) };
        let around: Vec<usize> = std::iter::once(last).chain(back.iter().copied()).collect();
        self.check_way(&around).map_err(|what| section.problem("back", what))?;
        let ends = |link: usize| self.networks.ends[link];
        if ends(back[back.len() - 1]).1 != ends(path[0]).0 {
            let what = "the links back do not end where the path begins: complete them";
            return Err(section.problem("back", what));
        }
        if back.iter().any(|link| path.contains(link)) {
            return Err(section.problem("back", "a link leads one way: take another back"));
        }
        Ok((path, back))
    }

    /// The links that `key` lists by number or name; empty if it is not given.
    fn path(&self, section: Section<'_>, key: &str) -> Result<Vec<usize>, Problem> {
        let links = &self.networks.links;
        let link = |element| {
            parsed(element, "the number or the name of a link", |text| {
                let called = links.iter().enumerate().position(|(i, link)| link.is_called(i, text));
                called.ok_or_else(|| self.no_link(text))
            })
        };
        section
            .get(key)
            .map_or(Ok(Vec::new()), |value| elements(value).into_iter().map(link).collect())
    }

    fn no_link(&self, text: &str) -> String {
        let links = &self.networks.links;
        let names: Vec<&str> = links.iter().filter_map(|link| link.name.as_deref()).collect();
        match &names[..] {
            [] => format!("there is no link {text}: they are numbered from 1 to {}", links.len()),
            names => format!("there is no link \"{text}\": {}", suggest(text, names)),
        }
    }

    /// Whether each of `links` leads to the next, and none is crossed twice.
    fn check_way(&self, links: &[usize]) -> Result<(), String> {
        let name = |link: usize| match &self.networks.links[link].name {
            Some(name) => format!("\"{name}\""),
            None => (link + 1).to_string(),
        };
        let ends = &self.networks.ends;
        if links.is_empty() {
            return Err("a path has a link at least: name one".to_owned());
        }
        if let Some(pair) = links.windows(2).find(|pair| ends[pair[0]].1 != ends[pair[1]].0) {
            let (before, after) = (name(pair[0]), name(pair[1]));
            let what = "links of a path follow one another, such as [1, 2]";
            return Err(format!("link {before} does not lead to link {after}: {what}"));
        }
        match (1..links.len()).find(|&i| links[..i].contains(&links[i])) {
            Some(i) => Err(format!("link {} comes twice: a path has no cycle", name(links[i]))),
            None => Ok(()),
        }
    }

    /// A round trip cannot be shorter than the links that it crosses.
    fn check_rtt(&self, section: Section<'_>, class: &Class) -> Result<(), Problem> {
        let Some(rtt) = &class.rtt else { return Ok(()) };
        let longest = |&link: &usize| self.networks.links[link].rtt.ends().1 / 2;
        // The first link of a network with one has no delay of its own.
        let crossed: Span = match self.networks.links.len() {
            1 => Span::ZERO,
            _ => class.path.iter().chain(&class.back).map(longest).sum(),
        };
        if rtt.ends().0 < crossed {
            let what = format!("the links that it crosses take up to {crossed}: give more");
            return Err(section.problem("rtt", what));
        }
        Ok(())
    }
}

fn read_presence(section: Section<'_>) -> Result<Presence, Problem> {
    let probability = section.get("present").map(|value| {
        parsed(value, "a probability: give one such as \"50 %\"", |text| {
            text.parse::<Probability>().map_err(|error| error.to_string())
        })
    });
    let group = section.text("one_of", "the name of a group")?;
    Ok(Presence { probability: probability.transpose()?.unwrap_or(Probability::ONE), group })
}

fn read_count(section: Section<'_>) -> Result<Choice<Senders>, Problem> {
    let Some(value) = section.get("count") else { return Ok(Choice::List(vec![Senders(1)])) };
    Grammar {
        what: "a number of senders",
        example: "2",
        range: "0..2",
        units: Vec::new(),
        parse: &|text| text.parse().ok().map(Senders),
        check: &|Senders(count)| {
            if count <= MAX_SENDERS {
                Ok(())
            } else {
                Err(format!("{count} senders cannot be simulated: give {MAX_SENDERS} at most"))
            }
        },
    }
    .read(value)
}

/// The section of `class` as a file has it, `tables` being the names of those designed.
pub(super) fn write(f: &mut fmt::Formatter<'_>, class: &Class, tables: &[String]) -> fmt::Result {
    let text = |text: &str| toml::Value::from(text);
    writeln!(f, "\n[[sender]]\nname = {}\ncount = {}", text(&class.name), class.count)?;
    let Presence { probability, group } = &class.presence;
    if !class.presence.is_always() {
        writeln!(f, "present = {}", probability.get())?;
    }
    if let Some(group) = group {
        writeln!(f, "one_of = {}", text(group))?;
    }
    let links = |links: &[usize]| -> String {
        links.iter().map(|link| (link + 1).to_string()).collect::<Vec<_>>().join(", ")
    };
    writeln!(f, "path = [{}]", links(&class.path))?;
    if !class.back.is_empty() {
        writeln!(f, "back = [{}]", links(&class.back))?;
    }
    if let Some(rtt) = &class.rtt {
        writeln!(f, "rtt = {rtt}")?;
    }
    traffic::write(f, &class.traffic, class.bursts)?;
    match &class.role {
        Role::Designed(table) => writeln!(f, "table = {}", text(&tables[*table]))?,
        Role::Fixed { name, .. } => writeln!(f, "controller = {}", text(name))?,
    }
    if class.considered {
        writeln!(f, "considered = true")?;
    }
    if class.counts() {
        writeln!(f, "[sender.objective]")?;
        objective::write(f, &class.objective)?;
    }
    Ok(())
}
