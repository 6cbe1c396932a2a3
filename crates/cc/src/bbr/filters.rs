//! The windowed maxima of the model, and the source of random numbers.

/// Section 2.11: `MaxBwFilterLen` is two ProbeBW cycles: the maximum of this one and the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBw {
    current: f64,
    last: f64,
}

impl MaxBw {
    pub(super) fn get(self) -> f64 {
        self.current.max(self.last)
    }

    pub(super) fn update(&mut self, bw: f64) {
        self.current = self.current.max(bw);
    }

    /// Section 5.5.6: a cycle is over. A cycle without samples is not counted; otherwise a flow
    /// without data to send would forget its bandwidth.
    pub(super) fn advance(&mut self) {
        if self.current > 0.0 {
            (self.last, self.current) = (self.current, 0.0);
        }
    }
}

/// Random numbers from a seed: SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Zero or one.
    pub(crate) fn bit(&mut self) -> u64 {
        self.next() >> 63
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_remembered_for_two_cycles() {
        let mut max_bw = MaxBw::default();
        max_bw.update(100.0);
        max_bw.advance();
        max_bw.update(50.0);
        assert_eq!(max_bw.get(), 100.0);
        max_bw.advance();
        assert_eq!(max_bw.get(), 50.0);
        max_bw.advance();
        max_bw.advance();
        assert_eq!(max_bw.get(), 50.0, "cycles without samples forget nothing");
    }

    #[test]
    fn random_numbers_are_the_published_generator() {
        // The first value of SplitMix64 from a seed of zero.
        assert_eq!(Random::new(0).next(), 0xe220_a839_7b1d_cdaf);
        let mut random = Random::new(7);
        assert!((0..100).all(|_| (0.0..1.0).contains(&random.uniform()) && random.bit() <= 1));
    }
}
