//! [`Library`]: what comes with the program.

use exm_design::{Conditions, Model, shipped};
use exm_link::QueueKind;
use exm_remy::RemyCc;
use exm_sim::controllers::AnyController;
use exm_sim::scenario::{SHIPPED as SCENARIOS, SPROUT_DESCRIPTION, SPROUT_NAMES, Scenario};
use exm_trace::Synthetic;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The shipped tables that were used so far, since reading one takes some milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Library {
    tables: BTreeMap<String, Shipped>,
}

#[derive(Debug)]
struct Shipped {
    remycc: RemyCc,
    /// The networks that it was designed for.
    design: Option<Conditions>,
}

impl Library {
    /// The shipped RemyCC called `name`.
    pub(crate) fn controller(&mut self, name: &str) -> Result<AnyController, String> {
        if !self.tables.contains_key(name) {
            let file = shipped::table(name).ok_or_else(|| unknown(name))?;
            let model = file.provenance.model.as_deref();
            let model = model.and_then(|text| Model::parse(text, name).ok());
            let design = model.as_ref().map(Conditions::of_model);
            let remycc = RemyCc::new(&file.table);
            self.tables.insert(name.to_owned(), Shipped { remycc, design });
        }
        Ok(self.tables[name].remycc.clone().into())
    }

    /// The networks that the table called `name` was designed for, if it is a shipped one in use.
    pub(crate) fn design_of(&self, name: &str) -> Option<&Conditions> {
        self.tables.get(name)?.design.as_ref()
    }

    /// Everything that can be named, with what it is.
    pub(crate) fn names(&self) -> Value {
        let entry = |name: &str, about: &str| json!({ "name": name, "about": plain(about) });
        let tables = shipped::TABLES.iter().map(|(name, _)| {
            let model = Model::shipped(name).or_else(|| Model::shipped(name.rsplit_once('.')?.0));
            let about = model.map(|model| format!("designed for {}", Conditions::of_model(&model)));
            entry(name, &about.unwrap_or_default())
        });
        let own = AnyController::DESCRIPTIONS.iter();
        let own = own.flat_map(|(names, about)| names.iter().map(|name| entry(name, about)));
        let sprout = SPROUT_NAMES.iter().map(|name| entry(name, SPROUT_DESCRIPTION));
        let queues = QueueKind::DESCRIPTIONS.iter().map(|(name, about)| entry(name, about));
        let scenarios = SCENARIOS.iter().map(|(name, _)| {
            let title = Scenario::shipped(name).and_then(|scenario| scenario.title);
            entry(name, &title.unwrap_or_default())
        });
        let traces = Synthetic::names().map(|name| entry(name, "a synthetic cellular link"));
        json!({
            "tables": tables.collect::<Value>(),
            "controllers": own.chain(sprout).collect::<Value>(),
            "queues": queues.collect::<Value>(),
            "scenarios": scenarios.collect::<Value>(),
            "traces": traces.collect::<Value>(),
        })
    }
}

/// Markdown as plain text.
fn plain(text: &str) -> String {
    text.trim().replace('`', "")
}

fn unknown(name: &str) -> String {
    let tables: Vec<&str> = shipped::TABLES.iter().map(|(name, _)| *name).collect();
    exm_sim::builtin::unknown(name, &tables)
}
