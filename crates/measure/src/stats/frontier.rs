//! The efficient frontier: what no other scheme beats on both counts.

/// Which of `points`, each of a delay and a throughput, no other dominates, from the least delay to
/// the most: those for which no other point has at least their throughput at no more delay, and
/// either is strictly better. Of equal points the first stands for all.
///
/// Points with a NaN are on no frontier.
pub fn efficient_frontier(points: &[(f64, f64)]) -> Vec<usize> {
    let is_told = |&index: &usize| !points[index].0.is_nan() && !points[index].1.is_nan();
    let mut order: Vec<usize> = (0..points.len()).filter(is_told).collect();
    // By less delay, then by more throughput: whatever dominates a point stands before it.
    order.sort_by(|&a, &b| {
        let (a, b) = (points[a], points[b]);
        a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1))
    });
    let mut best = f64::NEG_INFINITY;
    order.retain(|&index| {
        let is_better = points[index].1 > best;
        best = best.max(points[index].1);
        is_better
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frontier_by_hand() {
        // Delay and throughput: the third has the second's throughput at more delay.
        let points = [(10.0, 3.0), (1.0, 1.0), (2.0, 1.0), (5.0, 2.0), (5.0, 2.0), (5.0, 1.9)];
        assert_eq!(efficient_frontier(&points), [1, 3, 0]);
        assert!(efficient_frontier(&[]).is_empty());
        assert_eq!(efficient_frontier(&[(f64::NAN, 9.0), (1.0, 1.0)]), [1]);
    }

    proptest! {
        #[test]
        fn what_is_left_out_is_dominated(
            points in prop::collection::vec((0u8..12, 0u8..12), 0..30),
        ) {
            let points: Vec<(f64, f64)> =
                points.into_iter().map(|(x, y)| (f64::from(x), f64::from(y))).collect();
            let frontier = efficient_frontier(&points);
            let dominates = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 >= b.1 && a != b;
            for (index, &point) in points.iter().enumerate() {
                let is_dominated = points.iter().any(|&other| dominates(other, point));
                let stands = frontier.iter().any(|&on| points[on] == point);
                prop_assert_eq!(stands, !is_dominated, "{}: {:?}", index, point);
            }
            let path: Vec<(f64, f64)> = frontier.iter().map(|&index| points[index]).collect();
            prop_assert!(path.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
        }
    }
}
