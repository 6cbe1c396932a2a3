//! Models: any text is read or refused, and what is read survives being written and can be drawn.

use exm_design::Model;
use exm_sim::dumbbell::Outcome;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(model) = Model::parse(text, "fuzzed") else { return };
    let written = model.to_string();
    let again = Model::parse(&written, "written").expect("what was written is read");
    assert_eq!(again.to_string(), written);
    assert_eq!(again.fingerprint(), model.fingerprint());
    let specimens = model.specimens(1, 0, 3);
    assert_eq!(again.specimens(1, 0, 3), specimens);
    for specimen in specimens {
        // The bound takes time in proportion to senders times flows.
        assert!(specimen.network.senders() > 100 || model.omniscient(&specimen).is_finite());
        let nobody = vec![Outcome::default(); specimen.network.senders()];
        assert!(model.score(&specimen.network, &nobody).is_finite());
    }
}
