//! Recorded links, as `exm sprout tune` and `exm sprout score` use them.

use crate::shell::Failure;
use exm_experiment::pairs;
use exm_trace::Trace;
use exm_tune::Link;
use exm_units::{Probability, Span};
use std::sync::Arc;

/// The propagation delay of recorded links: thesis, section 2.4.
const PROPAGATION: Span = Span::from_millis(20);

/// The directions of the recorded traces `text`, as links.
pub(super) fn recorded(text: Option<&str>) -> Result<Vec<Link>, Failure> {
    let mut links = Vec::new();
    for pair in text.map(pairs).transpose()?.unwrap_or_default() {
        for (word, [data, back]) in pair.ways() {
            let (data, back) = (Trace::load(data)?, Trace::load(back)?);
            links.push(Link {
                name: format!("{} {word}", pair.name),
                network: pair.name.clone(),
                ways: [Arc::new(data), Arc::new(back)],
                delay: PROPAGATION,
                loss: Probability::ZERO,
            });
        }
    }
    Ok(links)
}
