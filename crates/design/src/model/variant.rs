//! Models that differ from another in one setting.

use super::Model;
use super::error::Problem;
use exm_grammar::FileError;
use toml::{Table, Value};

impl Model {
    /// The same model with the weight `delta` of round-trip times: that of `[objective]`, which kinds of
    /// senders with a delta of their own do not take over. Its name mentions delta, and its text has no comments.
    ///
    /// # Errors
    /// [`FileError`] where there can be no such weight, or no kind of senders that designs a table takes it
    /// over.
    pub fn with_delta(&self, delta: f64) -> Result<Model, FileError> {
        let file = self.name().unwrap_or("the model");
        let error = |what: String| Problem::nowhere(what).of(file, self.text());
        let mut document: Table =
            self.text().parse().map_err(|parse: toml::de::Error| error(parse.to_string()))?;
        let objective = document.entry("objective").or_insert_with(|| Table::new().into());
        if let Value::Table(objective) = objective {
            objective.insert("delta".to_owned(), delta.into());
        }
        if let Some(name) = self.name() {
            document.insert("name".to_owned(), format!("{name} with delta = {delta}").into());
        }
        let model = Model::parse_in(
            &document.to_string(),
            &format!("{file} with delta = {delta}"),
            self.dir(),
        )?;
        let mut designed = model.classes().iter().filter(|class| class.is_designed());
        if designed.all(|class| class.objective.delta != delta) {
            return Err(error("each kind of senders has a delta of its own".to_owned()));
        }
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = r#"
        name = "office" # a comment
        [network]
        rate = "10 Mbps"
        rtt = "50..60 ms"
        [traffic]
        on = "exp 1 s"
        off = "exp 1 s"
        [[sender]]
        name = "a"
        [[sender]]
        name = "b"
        objective = { delta = 3 }
    "#;

    #[test]
    fn nothing_but_delta_and_the_name_changes() {
        let model = Model::shipped("general-delta1").unwrap();
        let tenth = model.with_delta(0.1).unwrap();
        assert_eq!(tenth.objective().delta, 0.1);
        assert_eq!(tenth.name(), Some("general, delta 1 with delta = 0.1"));
        assert_eq!(tenth.networks, model.networks);
        assert_eq!(tenth.fingerprint(), Model::shipped("general-delta0.1").unwrap().fingerprint());
        assert_eq!(tenth.with_delta(1.0).unwrap().fingerprint(), model.fingerprint());
    }

    #[test]
    fn kinds_of_senders_keep_a_delta_of_their_own() {
        let model = Model::parse(MODEL, "office.toml").unwrap().with_delta(0.1).unwrap();
        let deltas: Vec<f64> = model.classes().iter().map(|class| class.objective.delta).collect();
        assert_eq!(deltas, [0.1, 3.0]);
        let own = MODEL.replace("name = \"a\"", "name = \"a\"\nobjective = { delta = 2 }");
        let error = Model::parse(&own, "own.toml").unwrap().with_delta(0.1).unwrap_err();
        assert!(error.to_string().contains("has a delta of its own"), "{error}");
        assert!(model.with_delta(-1.0).unwrap_err().to_string().contains("from 0 to 1000000"));
    }
}
