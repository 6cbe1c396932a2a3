//! `[halo]`: a share of the specimens on networks around the model's own.
//!
//! It is shorthand for two `[[part]]` sections, which appear when the model is printed.

use super::classes::Class;
use super::error::Problem;
use super::section::{Section, parsed};
use super::{Model, parts, traffic};
use crate::conditions::Conditions;
use exm_units::{Probability, Rate, Span};
use std::fmt;
use toml::de::DeTable;

/// How far the halo reaches: rates from a fifth of the slowest to four times the fastest, RTTs from a fifth of the shortest
/// to twice the longest, up to three times the senders. These are the networks near a model by which tables are hardened.
const SLOWER: f64 = 5.0;
const FASTER: f64 = 4.0;
const SHORTER: u64 = 5;
const LONGER: u64 = 2;
const CROWDED: u64 = 3;
/// The part of the halo in which senders are always on.
const ALWAYS_ON: f64 = 0.4;

/// Reads the section of the file whose top is `top` into `whole`.
pub(super) fn read(top: Section<'_>, whole: &mut Model) -> Result<(), Problem> {
    if top.get("halo").is_none() {
        return Ok(());
    }
    let section = top.section("halo")?;
    let share = parsed(section.need("share", "\"25 %\"")?, "a probability", |text| {
        text.parse::<Probability>().map_err(|error| error.to_string())
    })?;
    let [class] = whole.own_classes() else {
        let what = "a halo surrounds one kind of senders: write [[part]] sections for several";
        return Err(section.problem("share", what));
    };
    if share == Probability::ZERO {
        return Ok(());
    }
    let text = Halo { around: Conditions::of_model(whole), class, share }.to_string();
    let table = DeTable::parse(&text).expect("a halo is written as TOML");
    let read = Section::top(table.get_ref(), top.dir()).and_then(|top| parts::read(top, whole));
    read.map_err(|problem| section.problem("share", problem.what))
}

/// The halo of a model, as the sections for which it is shorthand.
struct Halo<'a> {
    around: Conditions,
    class: &'a Class,
    share: Probability,
}

impl fmt::Display for Halo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conditions { rate, rtt, senders, .. } = self.around;
        let bits = |rate: Rate, times: f64| Rate::from_bps((rate.as_bps() as f64 * times) as u64);
        let rates = (bits(rate.0, 1.0 / SLOWER), bits(rate.1, FASTER));
        let rtts: (Span, Span) = (rtt.0 / SHORTER, rtt.1 * LONGER);
        for is_always in [false, true] {
            let weight = if is_always { ALWAYS_ON } else { 1.0 - ALWAYS_ON } * self.share.get();
            let (slowest, fastest) = (rates.0.as_bps() as f64 / 1e6, rates.1.as_bps() as f64 / 1e6);
            let (shortest, longest) = (rtts.0.as_millis_f64(), rtts.1.as_millis_f64());
            writeln!(
                f,
                "[[part]]\nweight = {weight}\n[part.network]\nrate = \"log {slowest}..{fastest} Mbps\"\n\
                 rtt = \"log {shortest}..{longest} ms\"\nsenders = \"1..{}\"\nbuffer = \"unlimited\"\n\
                 [part.traffic]",
                senders.1 * CROWDED
            )?;
            if is_always {
                writeln!(f, "on = \"always\"")?;
            } else {
                traffic::write(f, &self.class.traffic, self.class.bursts)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "[network]\nrate = \"10..20 Mbps\"\nrtt = \"100..200 ms\"\nsenders = \"1..16\"\n\
                         [traffic]\non = \"exp 5 s\"\noff = \"exp 5 s\"\n[design]\nduration = \"5 s\"\n";

    fn with(halo: &str) -> Result<Model, String> {
        Model::parse(&format!("{PLAIN}{halo}"), "m.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn a_halo_is_a_share_of_the_specimens_around_the_model() {
        let model = with("[halo]\nshare = \"25 %\"\n").unwrap();
        let again = Model::parse(&model.to_string(), "again").unwrap();
        assert_eq!(again.fingerprint(), model.fingerprint());
        let specimens = model.specimens(1, 0, 40);
        let outside = specimens.iter().filter(|one| one.network.path_of(0).0 > 0).count();
        assert_eq!(outside, 10);
        assert_eq!(model.parts.len(), 2);
        let around = Conditions::of_model(&model);
        assert_eq!(
            around.to_string(),
            "2..80 Mbps, RTT 20..400 ms, 1..48 senders, buffer unlimited"
        );
    }

    #[test]
    fn there_is_none_by_default() {
        let plain = Model::parse(PLAIN, "m.toml").unwrap();
        assert!(plain.parts.is_empty());
        assert_eq!(with("[halo]\nshare = 0\n").unwrap().fingerprint(), plain.fingerprint());
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        let error = with("[halo]\n").unwrap_err();
        assert!(error.contains("\"share\" is missing from [halo]"), "{error}");
        let error = with("[halo]\nshare = 2\n").unwrap_err();
        assert!(error.contains("m.toml"), "{error}");
        let error = with("[halo]\nshare = 0.5\nrate = 3\n").unwrap_err();
        assert!(error.contains("rate"), "{error}");
    }
}
