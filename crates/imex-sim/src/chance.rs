//! Chance that can be repeated: everything random in a run comes from one seed.

/// A source of numbers that look random and are the same for the same seed.
///
/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): 64 bits of state, a few
/// instructions per number, good enough for delays and schedules. Not for secrets.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// A source that starts from `seed`.
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    /// A second source that is independent of what is drawn from this one later.
    pub fn fork(&mut self) -> Self {
        Chance(self.number())
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the 128-bit product: fair to within bound / 2^64.
        let product = u128::from(self.number()) * u128::from(bound);
        u64::try_from(product >> 64).expect("the high half of a 128-bit number has 64 bits")
    }

    /// A place in a list of `len` things.
    pub fn index(&mut self, len: usize) -> usize {
        let bound = u64::try_from(len).expect("lengths fit in 64 bits");
        usize::try_from(self.below(bound)).expect("a number below a length is an index")
    }

    /// True `permille` times out of a thousand.
    pub fn permille(&mut self, permille: u16) -> bool {
        permille > 0 && self.below(1000) < u64::from(permille)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_seed_others() {
        let draw = |seed| {
            let mut chance = Chance::new(seed);
            [chance.number(), chance.number(), chance.below(10)]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn numbers_below_a_bound_reach_every_value_and_stay_below() {
        let mut chance = Chance::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[chance.index(5)] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(chance.below(0), 0);
    }
}
