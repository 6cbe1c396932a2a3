//! [`Class`]: senders of one kind, of which a model may have several.

use super::choice::{Choice, Grammar};
use super::error::Problem;
use super::networks::{MAX_SENDERS, Networks, Senders, read_rtt_choice};
use super::section::{Section, elements, parsed};
use super::{objective, traffic};
use crate::objective::Objective;
use crate::shipped;
use exm_grammar::suggest;
use exm_remy::RemyCc;
use exm_sim::controllers::AnyController;
use exm_sim::traffic::OnOff;
use exm_units::Span;
use std::fmt;

/// What a class without a name of its own is called, and the table that it designs.
const ONLY: &str = "senders";
/// The most classes: a specimen draws two quantities for each.
const MAX_CLASSES: usize = 64;

/// Senders of one kind: what runs them, where they send, when, and what they are to achieve.
#[derive(Clone, Debug)]
pub struct Class {
    /// What it is called.
    pub name: String,
    /// What runs its senders.
    pub role: Role,
    /// What its senders are to achieve; it counts for what is designed only where a table is.
    pub objective: Objective,
    pub(crate) count: Choice<Senders>,
    /// The links that it crosses, in order, counted from 0.
    pub(crate) path: Vec<usize>,
    /// Its round-trip propagation delay, where that is not the sum of its links'.
    pub(crate) rtt: Option<Choice<Span>>,
    pub(crate) traffic: OnOff,
}

/// What runs the senders of a [`Class`].
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
    pub(super) fn only(count: Choice<Senders>, traffic: OnOff, objective: Objective) -> Class {
        let role = Role::Designed(0);
        Class { name: ONLY.to_owned(), role, objective, count, path: vec![0], rtt: None, traffic }
    }

    /// Whether its senders run a table that is designed.
    pub fn is_designed(&self) -> bool {
        matches!(self.role, Role::Designed(_))
    }

    /// Whether its senders run designed table number `table`.
    pub fn runs(&self, table: usize) -> bool {
        matches!(self.role, Role::Designed(own) if own == table)
    }

    /// The least and the largest round-trip propagation delay of its senders.
    pub(crate) fn rtt_extremes(&self, networks: &Networks) -> (Span, Span) {
        match &self.rtt {
            Some(rtt) => rtt.ends(),
            None => self
                .path
                .iter()
                .map(|&link| networks.links[link].rtt.ends())
                .fold((Span::ZERO, Span::ZERO), |sum, rtt| {
                    (sum.0.saturating_add(rtt.0), sum.1.saturating_add(rtt.1))
                }),
        }
    }
}

/// The classes of a file, and the names of the tables that are designed.
pub(super) fn read(
    top: Section<'_>,
    networks: &Networks,
    objective: &Objective,
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
        return Ok((vec![class], vec![ONLY.to_owned()]));
    }
    let mut reader = Reader { networks, objective, traffic: default, tables: Vec::new() };
    let mut classes: Vec<Class> = Vec::new();
    for (index, section) in sections.into_iter().enumerate() {
        let class = reader.class(section, index)?;
        if classes.iter().any(|other| other.name == class.name) {
            let twice = format!("there are two senders named \"{}\": rename one", class.name);
            return Err(section.problem("name", twice));
        }
        classes.push(class);
    }
    if reader.tables.is_empty() {
        return Err(Problem::nowhere(
            "no sender runs a table to design: leave \"controller\" out of one [[sender]]",
        ));
    }
    if classes.len() > MAX_CLASSES {
        let what = format!("a model has at most {MAX_CLASSES} [[sender]] sections");
        return Err(Problem::nowhere(what));
    }
    check_counts(&classes)?;
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

struct Reader<'a> {
    networks: &'a Networks,
    objective: &'a Objective,
    traffic: Option<OnOff>,
    tables: Vec<String>,
}

impl Reader<'_> {
    fn class(&mut self, section: Section<'_>, index: usize) -> Result<Class, Problem> {
        let name = match section.get("name") {
            None => format!("sender {}", index + 1),
            Some(value) => parsed(value, "a name: write text", |text| Ok(text.to_owned()))?,
        };
        let objective = objective::read(section.section("objective")?, self.objective)?;
        let traffic = match (section.get("on"), &self.traffic) {
            (None, Some(traffic)) => traffic.clone(),
            _ => traffic::read(section, self.networks.packet)?,
        };
        let class = Class {
            role: self.role(section, &name)?,
            objective,
            count: read_count(section)?,
            path: self.path(section)?,
            rtt: section.get("rtt").map(read_rtt_choice).transpose()?,
            traffic,
            name,
        };
        self.check_rtt(section, &class)?;
        Ok(class)
    }

    fn role(&mut self, section: Section<'_>, class: &str) -> Result<Role, Problem> {
        let Some(value) = section.get("controller") else {
            let table = match section.get("table") {
                None => class.to_owned(),
                Some(value) => parsed(value, "a table's name: write text", |text| Ok(text.into()))?,
            };
            let known = self.tables.iter().position(|name| *name == table);
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
            let controller = AnyController::named(name)
                .or_else(|| shipped::table(name).map(|file| RemyCc::new(&file.table).into()));
            let known = || {
                let tables = shipped::TABLES.iter().map(|&(name, _)| name);
                let names: Vec<&str> = AnyController::NAMES.iter().copied().chain(tables).collect();
                format!("there is no controller \"{name}\": {}", suggest(name, &names))
            };
            let controller = Box::new(controller.ok_or_else(known)?);
            Ok(Role::Fixed { name: name.to_owned(), controller })
        })
    }

    fn path(&self, section: Section<'_>) -> Result<Vec<usize>, Problem> {
        let links = self.networks.links.len();
        let Some(value) = section.get("path") else {
            return if links == 1 {
                Ok(vec![0])
            } else {
                let what = format!(
                    "there are {links} links: say which this sender crosses, such as path = [1, 2]"
                );
                Err(section.problem("path", what))
            };
        };
        let wanted = "the number of a link";
        let path = elements(value).into_iter().map(|element| {
            parsed(element, wanted, |text| match text.parse::<usize>() {
                Ok(number) if (1..=links).contains(&number) => Ok(number - 1),
                _ => Err(format!("there is no link {text}: they are numbered from 1 to {links}")),
            })
        });
        let path = path.collect::<Result<Vec<_>, _>>()?;
        if path.is_empty() || path.windows(2).any(|pair| pair[1] != pair[0] + 1) {
            let what = "links follow one another: a path is a run of them, such as [1, 2]";
            return Err(section.problem("path", what));
        }
        Ok(path)
    }

    /// A round trip cannot be shorter than the way there.
    fn check_rtt(&self, section: Section<'_>, class: &Class) -> Result<(), Problem> {
        let Some(rtt) = &class.rtt else { return Ok(()) };
        let one_way: Span = class.path[..class.path.len() - 1]
            .iter()
            .map(|&link| self.networks.links[link].rtt.ends().1 / 2)
            .sum();
        if rtt.ends().0 < one_way {
            let what = format!("the links that it crosses take up to {one_way} one way: give more");
            return Err(section.problem("rtt", what));
        }
        Ok(())
    }
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
    let path: Vec<String> = class.path.iter().map(|link| (link + 1).to_string()).collect();
    writeln!(f, "path = [{}]", path.join(", "))?;
    if let Some(rtt) = &class.rtt {
        writeln!(f, "rtt = {rtt}")?;
    }
    traffic::write(f, &class.traffic)?;
    match &class.role {
        Role::Designed(table) => {
            writeln!(f, "table = {}", text(&tables[*table]))?;
            writeln!(f, "[sender.objective]")?;
            objective::write(f, &class.objective)
        }
        Role::Fixed { name, .. } => writeln!(f, "controller = {}", text(name)),
    }
}
