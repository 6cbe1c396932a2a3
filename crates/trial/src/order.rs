//! [`order`]: who is tried when.

/// The order in which `controls` controls take `rounds` turns each, as their numbers.
///
/// A round has a turn of each. Rounds are the rows of a Latin square that is balanced for carry-over (E. J. Williams,
/// "Experimental designs balanced for the estimation of residual effects of treatments", 1949): as many rounds as there are
/// controls have each control once in each place, and, if their number is even, once after each other one. If it is odd,
/// every second round runs backwards, and twice as many rounds do so.
pub fn order(controls: usize, rounds: usize) -> Vec<usize> {
    // 0, 1, -1, 2, -2, ...
    let step = |place: usize| match place % 2 {
        0 => controls - place / 2,
        _ => place.div_ceil(2),
    };
    let mut order = Vec::with_capacity(controls.saturating_mul(rounds));
    for round in 0..rounds {
        let row = (0..controls).map(|place| (step(place) + round) % controls);
        let is_backwards = controls % 2 == 1 && round % 2 == 1;
        if is_backwards { order.extend(row.rev()) } else { order.extend(row) }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn each_has_a_turn_in_each_round() {
        assert_eq!(order(4, 2), [0, 1, 3, 2, 1, 2, 0, 3]);
        assert_eq!(order(1, 2), [0, 0]);
        assert!(order(0, 4).is_empty() && order(4, 0).is_empty());
        for round in order(5, 10).chunks(5) {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn each_follows_each_other_one_and_is_first_equally_often() {
        for controls in 2..8 {
            let rounds = if controls % 2 == 0 { controls } else { 2 * controls };
            let (mut first, mut follows) = (BTreeMap::new(), BTreeMap::new());
            for round in order(controls, rounds).chunks(controls) {
                *first.entry(round[0]).or_insert(0) += 1;
                for pair in round.windows(2) {
                    *follows.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
            }
            let times = rounds / controls;
            assert_eq!(first.len(), controls);
            assert!(first.values().all(|&count| count == times), "{first:?}");
            assert_eq!(follows.len(), controls * (controls - 1));
            assert!(follows.values().all(|&count| count == times), "{follows:?}");
        }
    }
}
