//! [`spearman`]: how alike two rankings are.

/// Spearman's rank correlation of two lists of equal length, where equal values share the mean of their ranks. None with
/// fewer than two values, with lists of different lengths, or if all values of a list are equal.
pub fn spearman(first: &[f64], second: &[f64]) -> Option<f64> {
    if first.len() != second.len() || first.len() < 2 {
        return None;
    }
    let (first, second) = (ranks(first), ranks(second));
    let middle = (first.len() as f64 + 1.0) / 2.0;
    let (mut both, mut of_first, mut of_second) = (0.0, 0.0, 0.0);
    for (a, b) in first.iter().zip(&second) {
        both += (a - middle) * (b - middle);
        of_first += (a - middle) * (a - middle);
        of_second += (b - middle) * (b - middle);
    }
    let scale = (of_first * of_second).sqrt();
    (scale > 0.0).then(|| both / scale)
}

/// The rank of each value from 1, the smallest; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = start as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|&index| ranks[index] = rank);
        start += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        let correlation = spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 3.0, 2.0, 4.0]).unwrap();
        assert!((correlation - 4.5 / (4.5f64 * 5.0).sqrt()).abs() < 1e-12, "{correlation}");
    }

    #[test]
    fn the_extremes_are_exact() {
        assert_eq!(spearman(&[1.0, 2.0, 9.0], &[0.1, 0.2, 0.3]), Some(1.0));
        assert_eq!(spearman(&[1.0, 2.0, 9.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0], &[1.0]), None);
    }
}
