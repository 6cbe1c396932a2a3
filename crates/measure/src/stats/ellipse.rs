//! [`Ellipse`]: the scatter of points, with its direction.

use std::f64::consts::TAU;

/// The one-sigma ellipse of the two-dimensional Gaussian that is most likely to have given some
/// points: 39.3 % of what it gives lies inside. The papers draw one around each scheme's runs
/// (SIGCOMM 2013, section 5.1); narrow is consistent, and its tilt shows how throughput and delay
/// go together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipse {
    /// The mean of the points.
    pub centre: (f64, f64),
    /// Half the longer axis and half the shorter one: the square roots of the eigenvalues of the
    /// covariance, which is over n, as the most likely one is.
    pub semi_axes: (f64, f64),
    /// The direction of the longer axis, from that of x towards that of y, in (-pi/2, pi/2].
    pub angle: f64,
}

impl Ellipse {
    /// That of `points`; nothing of none. A single point is its own ellipse, without extent.
    pub fn of(points: &[(f64, f64)]) -> Option<Ellipse> {
        if points.is_empty() {
            return None;
        }
        let mean = |value: &dyn Fn(f64, f64) -> f64| {
            points.iter().map(|&(x, y)| value(x, y)).sum::<f64>() / points.len() as f64
        };
        let (cx, cy) = (mean(&|x, _| x), mean(&|_, y| y));
        let xx = mean(&|x, _| (x - cx) * (x - cx));
        let yy = mean(&|_, y| (y - cy) * (y - cy));
        let xy = mean(&|x, y| (x - cx) * (y - cy));
        // The eigenvalues of a symmetric matrix: its mean diagonal, plus and minus a radius.
        let (middle, half) = ((xx + yy) / 2.0, (xx - yy) / 2.0);
        let radius = (half * half + xy * xy).sqrt();
        Some(Ellipse {
            centre: (cx, cy),
            semi_axes: ((middle + radius).sqrt(), (middle - radius).max(0.0).sqrt()),
            angle: libm::atan2(xy, half) / 2.0,
        })
    }

    /// The same with axes scaled by this factor: 0.5 gives that of half a sigma.
    #[must_use]
    pub fn scaled(self, times: f64) -> Ellipse {
        let (long, short) = self.semi_axes;
        Ellipse { semi_axes: (long * times, short * times), ..self }
    }

    /// The same around another centre.
    #[must_use]
    pub fn moved_to(self, centre: (f64, f64)) -> Ellipse {
        Ellipse { centre, ..self }
    }

    /// `count` points along it, evenly turned, from the end of the longer axis.
    pub fn outline(&self, count: usize) -> Vec<(f64, f64)> {
        let (sin, cos) = libm::sincos(self.angle);
        let point = |index: usize| {
            let (up, along) = libm::sincos(TAU * index as f64 / count as f64);
            let (u, v) = (along * self.semi_axes.0, up * self.semi_axes.1);
            (self.centre.0 + u * cos - v * sin, self.centre.1 + u * sin + v * cos)
        };
        (0..count).map(point).collect()
    }

    /// Whether `point` lies inside or on it.
    pub fn contains(&self, point: (f64, f64)) -> bool {
        let (x, y) = (point.0 - self.centre.0, point.1 - self.centre.1);
        let (sin, cos) = libm::sincos(self.angle);
        let (u, v) = (x * cos + y * sin, y * cos - x * sin);
        let (long, short) = self.semi_axes;
        (u * short).powi(2) + (v * long).powi(2) <= (long * short).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::{Purpose, Stream};
    use proptest::prelude::*;
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4};

    #[test]
    fn an_ellipse_by_hand() {
        // A diagonal: all the variance, 2 (4 + 4) / 4 each way, lies along it.
        let points = [(1.0, 1.0), (3.0, 3.0), (1.0, 1.0), (3.0, 3.0)];
        let ellipse = Ellipse::of(&points).expect("points");
        assert_eq!(ellipse.centre, (2.0, 2.0));
        assert!((ellipse.semi_axes.0 - 2f64.sqrt()).abs() < 1e-12 && ellipse.semi_axes.1 < 1e-7);
        assert!((ellipse.angle - FRAC_PI_4).abs() < 1e-12);
        // A cross: variance 9 * 2 / 4 along y, 1 * 2 / 4 along x.
        let cross = [(1.0, 0.0), (-1.0, 0.0), (0.0, 3.0), (0.0, -3.0)];
        let ellipse = Ellipse::of(&cross).expect("points");
        assert!((ellipse.semi_axes.0 - 3.0 * FRAC_1_SQRT_2).abs() < 1e-12);
        assert!((ellipse.semi_axes.1 - FRAC_1_SQRT_2).abs() < 1e-12);
        assert!((ellipse.angle - 2.0 * FRAC_PI_4).abs() < 1e-12);
        let top = ellipse.outline(4)[0];
        assert!(top.0.abs() < 1e-12 && (top.1 - 3.0 * FRAC_1_SQRT_2).abs() < 1e-12, "{top:?}");
        let half = ellipse.scaled(0.5).moved_to((1.0, 2.0));
        let top = half.outline(4)[0];
        assert!((top.0 - 1.0).abs() < 1e-12, "{top:?}");
        assert!((top.1 - 2.0 - 1.5 * FRAC_1_SQRT_2).abs() < 1e-12, "{top:?}");
    }

    #[test]
    fn one_point_has_no_extent() {
        let ellipse = Ellipse::of(&[(4.0, 5.0)]).expect("a point");
        assert_eq!((ellipse.centre, ellipse.semi_axes), ((4.0, 5.0), (0.0, 0.0)));
        assert_eq!(Ellipse::of(&[]), None);
    }

    #[test]
    fn a_gaussian_has_39_percent_inside() {
        let mut stream = Stream::new(5, Purpose::Bootstrap, 0);
        let points: Vec<(f64, f64)> = std::iter::repeat_with(|| {
            let (a, b) = (stream.normal(), stream.normal());
            (10.0 + 3.0 * a, 5.0 - 2.0 * a + 0.5 * b)
        })
        .take(40_000)
        .collect();
        let ellipse = Ellipse::of(&points).expect("points");
        let inside = points.iter().filter(|&&point| ellipse.contains(point)).count() as f64;
        // 1 - exp(-1/2); one in 40 000 has a standard error of 0.0024.
        assert!((inside / 40_000.0 - 0.3935).abs() < 0.01, "{inside}");
    }

    proptest! {
        #[test]
        fn the_outline_is_on_it(points in prop::collection::vec((-9.0..9.0, -9.0..9.0), 3..20)) {
            let points: Vec<(f64, f64)> = points;
            let ellipse = Ellipse::of(&points).expect("points");
            prop_assume!(ellipse.semi_axes.1 > 0.1);
            for (x, y) in ellipse.outline(24) {
                let at = |times: f64| {
                    let (cx, cy) = ellipse.centre;
                    (cx + times * (x - cx), cy + times * (y - cy))
                };
                prop_assert!(ellipse.contains(at(0.999)) && !ellipse.contains(at(1.001)));
            }
        }
    }
}
