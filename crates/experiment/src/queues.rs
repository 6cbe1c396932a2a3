//! Warnings if a controller runs over a queue that does not do what it relies on.

use exm_cc::Controller;
use exm_sim::network::Network;
use exm_sim::scenario::Scenario;
use std::collections::BTreeMap;

/// A line for each controller that crosses, in any of these networks, only queues that do without what it
/// relies on: routers that give it feedback, or that mark packets.
pub fn warnings<'a>(
    networks: impl IntoIterator<Item = (&'a Scenario, &'a Network)>,
) -> Vec<String> {
    let mut lines = BTreeMap::new();
    for (scenario, network) in networks {
        for (flow, group) in scenario.groups() {
            let spec = &network.flows()[flow];
            let queues = || spec.path.iter().map(|&link| network.links()[link].queue.name());
            let Some(controller) = spec.transport.controller() else { continue };
            let needs = controller.needs();
            let name = group.controller.as_str();
            let router = if needs.abc { "abc" } else { "xcp" };
            if needs.feedback && !queues().any(|queue| queue == router) {
                let line = format!(
                    "{name} relies on routers that tell it its rate, and no queue on its path does: give it \
                     the queue {router} ({name}/{router} in exm compare)"
                );
                lines.insert(name, line);
            } else if needs.marks && !queues().any(marks) {
                let line = format!(
                    "{name} relies on marks, and no queue on its path marks packets: give it one that does \
                     ({name}/step in exm compare)"
                );
                lines.insert(name, line);
            }
        }
    }
    lines.into_values().collect()
}

/// Whether a queue of this name can mark packets.
fn marks(name: &str) -> bool {
    !matches!(name, "drop-tail" | "drop-head" | "xcp" | "abc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn warned(controller: &str, queue: &str) -> Vec<String> {
        let text = format!(
            "duration = \"1 s\"\n[dumbbell]\nrate = \"15 Mbps\"\nrtt = \"100 ms\"\n\
             buffer = \"2000 packets\"\nqueue = \"{queue}\"\nsenders = 2\n\
             controller = \"{controller}\"\ntraffic.on = \"always\"\n"
        );
        let scenario = Scenario::parse(&text, "test", Path::new("")).unwrap();
        let network = scenario.network(&mut |_, _| Err("no file".to_owned())).unwrap();
        warnings([(&scenario, &network)])
    }

    #[test]
    fn what_relies_on_a_queue_is_warned_without_it() {
        let xcp = "xcp relies on routers that tell it its rate, and no queue on its path does: give it the \
                   queue xcp (xcp/xcp in exm compare)";
        assert_eq!(warned("xcp", "drop-tail"), [xcp]);
        assert_eq!(warned("xcp", "codel"), [xcp]);
        assert!(warned("abc", "xcp")[0].contains("(abc/abc in exm compare)"));
        assert!(warned("dctcp", "drop-tail")[0].contains("(dctcp/step in exm compare)"));
        let suited = [("xcp", "xcp"), ("abc", "abc"), ("dctcp", "step"), ("cubic", "drop-tail")];
        for (controller, queue) in suited {
            assert_eq!(warned(controller, queue), [""; 0], "{controller} {queue}");
        }
    }
}
