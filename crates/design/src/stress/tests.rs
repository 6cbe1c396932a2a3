use super::*;
use crate::model::Model;
use exm_remy::{Action, RuleTable, SignalSet};

fn shipped(name: &str) -> Model {
    Model::shipped(name).unwrap()
}

#[test]
fn no_set_shares_a_network_with_another() {
    for name in ["general-delta1", "coexist", "datacenter"] {
        let model = shipped(name);
        let sets = [
            StressSet::Near,
            StressSet::Practice,
            StressSet::HeldOut(HELD_OUT_SEED),
            StressSet::HeldOut(2),
        ];
        let sets = sets.map(|set| networks(&model, 0, set));
        assert!(sets.iter().all(|set| set.len() > 10));
        for (index, one) in sets.iter().enumerate() {
            for other in &sets[..index] {
                assert!(one.iter().all(|a| other.iter().all(|b| a.network != b.network)));
            }
        }
    }
}

/// In every direction one of them lies outside of the model.
#[test]
fn networks_surround_their_model() {
    for set in [StressSet::Near, StressSet::Practice, StressSet::HeldOut(HELD_OUT_SEED)] {
        let all = networks(&shipped("general-delta1"), 0, set);
        let some = |is: &dyn Fn(&StressNetwork) -> bool| assert!(all.iter().any(is), "{set:?}");
        some(&|s| s.network.rate.as_mbps() < 3.0);
        some(&|s| s.network.rate.as_mbps() > 60.0);
        some(&|s| s.network.delays[0].as_millis_f64() < 25.0);
        some(&|s| s.network.delays[0].as_millis_f64() > 200.0);
        some(&|s| s.network.delays.len() > 32);
        some(&|s| s.network.buffer.is_some());
        some(&|s| s.network.buffer.is_none());
        assert!(all.iter().all(|s| s.network.delays.len() <= 256), "{set:?}");
    }
}

/// Senders that keep one packet in flight queue no more than they must; those whose window grows without end do.
#[test]
fn a_collapse_is_told_from_what_cannot_be_helped() {
    let all = networks(&shipped("general-delta1"), 0, StressSet::Near);
    let trials = |action: Action| {
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
        run_all(&all, &crate::Prepared::new(&table))
    };
    let timid = trials(Action { multiple: 0.0, increment: 1, intersend_ms: 0.0 });
    assert_eq!(Summary::of(&timid).collapses, 0, "{timid:?}");
    let greedy = trials(Action { multiple: 1.0, increment: 1, intersend_ms: 0.0 });
    let greedy = Summary::of(&greedy);
    assert!(greedy.collapses * 2 > greedy.networks, "{greedy:?}");
    assert!(greedy.shortfall > Summary::of(&timid).shortfall);
}
