//! [`DesignRanges`]: warnings if a rule table runs on networks outside its design range.

use crate::{Conditions, Model, OutOfRange};
use exm_sim::network::Network;
use exm_sim::scenario::Scenario;
use exm_table::{Pending, TableFile};
use std::collections::BTreeMap;

/// The model that the table in `file` was designed for, if the file has one that can be parsed.
pub fn model_of(file: &TableFile) -> Option<Model> {
    Model::parse(file.provenance.model.as_deref()?, "the table's model").ok()
}

/// The design ranges of tables, by their names in scenarios and on command lines.
#[derive(Debug, Default)]
pub struct DesignRanges(BTreeMap<String, Known>);

/// What the file of a table says of networks.
#[derive(Debug)]
struct Known {
    design: Conditions,
    /// What it does near its model, if that was checked.
    near: Option<Near>,
    /// What its design still had to do.
    pending: Option<Pending>,
}

/// What a table does on networks near its model.
#[derive(Debug)]
struct Near {
    text: String,
    fills_queues: bool,
}

/// A table's name, and what it does near its model.
type Named<'a> = (&'a str, Option<&'a Near>);

impl DesignRanges {
    /// Adds the design range of the table `name`, if its `file` has one.
    pub fn note(&mut self, name: &str, file: &TableFile) {
        if let Some(model) = model_of(file) {
            let near = file.robustness().map(|known| Near {
                text: known.near.to_string(),
                fills_queues: known.near.collapses > 0,
            });
            let design = Conditions::of_model(&model);
            let pending = file.provenance.pending;
            self.0.insert(name.to_owned(), Known { design, near, pending });
        }
    }

    /// A line for all tables that leave their design range in the same way in any of these networks,
    /// each of which is that of a scenario.
    pub fn warnings<'a>(
        &self,
        networks: impl IntoIterator<Item = (&'a Scenario, &'a Network)>,
    ) -> Vec<String> {
        let mut met: BTreeMap<&str, Conditions> = BTreeMap::new();
        for (scenario, network) in networks {
            for (flow, group) in scenario.groups() {
                if let Some((name, _)) = self.0.get_key_value(&group.controller) {
                    let here = Conditions::of_flow(network, flow);
                    met.entry(name).and_modify(|all| *all = all.joined(here)).or_insert(here);
                }
            }
        }
        self.lines(|name| met.get(name).copied())
    }

    /// As [`DesignRanges::warnings`], for tables that are all run on the networks of `model`.
    pub fn warnings_on(&self, model: &Model) -> Vec<String> {
        let met = Conditions::of_model(model);
        self.lines(|_| Some(met))
    }

    fn lines(&self, met: impl Fn(&str) -> Option<Conditions>) -> Vec<String> {
        let mut groups: Vec<(String, Vec<Named<'_>>)> = Vec::new();
        let mut lines = Vec::new();
        for (name, Known { design, near, pending }) in &self.0 {
            if let Some(pending) = pending {
                lines.push(format!(
                    "the design of {name} was interrupted: still to do is {pending}"
                ));
            }
            let outside = met(name).map(|met| met.outside(design)).unwrap_or_default();
            if outside.is_empty() {
                continue;
            }
            let what: Vec<String> = outside.iter().map(OutOfRange::to_string).collect();
            let (what, table) = (what.join(", "), (name.as_str(), near.as_ref()));
            match groups.iter_mut().find(|(other, _)| *other == what) {
                Some((_, tables)) => tables.push(table),
                None => groups.push((what, vec![table])),
            }
        }
        let line = |(what, tables): (String, Vec<Named<'_>>)| {
            let names: Vec<&str> = tables.iter().map(|table| table.0).collect();
            let near = near_in_words(&tables);
            format!("outside the design range of {}: {what}{near}", names.join(", "))
        };
        lines.extend(groups.into_iter().map(line));
        lines
    }
}

/// What these tables do near their models.
fn near_in_words(tables: &[Named<'_>]) -> String {
    let known: Vec<&Near> = tables.iter().filter_map(|table| table.1).collect();
    match (tables, &known[..]) {
        (_, []) => String::new(),
        ([_], [near]) => format!("; near its model it {}", near.text),
        _ => {
            let filling = known.iter().filter(|near| near.fills_queues).count();
            format!("; near their models {filling} of {} fill queues", known.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;
    use exm_remy::RemyCc;
    use exm_sim::controllers::AnyController;
    use std::path::Path;

    /// The shipped table called `name`, whose design range is added.
    fn controller(ranges: &mut DesignRanges, name: &str) -> AnyController {
        let file = shipped::table(name).unwrap();
        ranges.note(name, &file);
        RemyCc::new(&file.table).into()
    }

    fn warnings(link: &str, senders: u64, table: &str) -> Vec<String> {
        let text = format!(
            "duration = \"1 s\"\n[dumbbell]\nrate = \"{link}\"\nrtt = \"150 ms\"\n\
             buffer = \"2000 packets\"\nsenders = {senders}\ncontroller = \"{table}\"\n\
             traffic.on = \"always\"\n"
        );
        let scenario = Scenario::parse(&text, "test", Path::new("")).unwrap();
        let mut ranges = DesignRanges::default();
        let network = scenario.network(&mut |name, _| Ok(controller(&mut ranges, name))).unwrap();
        ranges.warnings([(&scenario, &network)])
    }

    #[test]
    fn a_table_out_of_its_range_is_reported_in_one_line() {
        let coexist = warnings("100 Mbps", 2, "coexist");
        let rate = "outside the design range of coexist: rate 100 Mbps (designed for 10..20 Mbps)";
        assert_eq!(coexist, [rate]);
        let crowd = warnings("15 Mbps", 32, "general-delta1");
        let known = ": senders 32 (designed for 1..16); near its model it keeps its queues short on all 13 networks; worst RTT ";
        assert!(crowd[0].contains(known), "{crowd:?}");
        let one = warnings("15 Mbps", 8, "1x");
        assert!(one[0].ends_with(": senders 8 (designed for 2)"), "{one:?}");
        assert_eq!(warnings("15 Mbps", 8, "general-delta1"), [""; 0]);
        assert_eq!(warnings("15 Mbps", 8, "cubic"), [""; 0]);
    }

    #[test]
    fn tables_out_of_range_in_the_same_way_share_a_line() {
        let mut ranges = DesignRanges::default();
        for name in ["1x", "10x"] {
            controller(&mut ranges, name);
        }
        let model = ranges_model("15 Mbps");
        let lines = ranges.warnings_on(&model);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(" 10x, 1x: senders 4 "), "{lines:?}");
    }

    #[test]
    fn designs_with_different_surroundings_share_a_line() {
        let mut ranges = DesignRanges::default();
        for name in ["learn-2x.seed1", "learn-2x.seed2"] {
            ranges.note(name, &shipped::design(name).unwrap());
        }
        let lines = ranges.warnings_on(&ranges_model("150 Mbps"));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(" learn-2x.seed1, learn-2x.seed2: rate "), "{lines:?}");
        assert!(lines[0].ends_with("; near their models 2 of 2 fill queues"), "{lines:?}");
    }

    fn ranges_model(rate: &str) -> Model {
        let text = format!(
            "[network]\nrate = \"{rate}\"\nrtt = \"150 ms\"\nsenders = 4\n[traffic]\n\
             on = \"exp 5 s\"\noff = \"exp 5 s\"\n[objective]\n"
        );
        Model::parse(&text, "test").unwrap()
    }
}
