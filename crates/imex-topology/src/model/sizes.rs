//! The sizes by which slurmctld places jobs: a base and steps of it, each the base times a power of two.

/// Checked sizes, rising, each once: the base, then the base times powers of two. None at all means that slurmctld takes
/// the size of the first block and every step.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BlockSizes {
    sizes: Vec<usize>,
}

/// Why slurmctld refuses sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// Zero, or more than [`BlockSizes::MAX`].
    #[error("block size {size} is outside of 1 to {}", BlockSizes::MAX)]
    Range {
        /// The size.
        size: usize,
    },
    /// A size is not the base times a power of two.
    #[error("block size {size} is not {base} times a power of two")]
    NotAStep {
        /// The size.
        size: usize,
        /// The base: the size that was given first.
        base: usize,
    },
}

impl BlockSizes {
    /// The largest size that Slurm holds.
    pub const MAX: usize = 65_535;

    /// Checks sizes, of which the first is the base.
    ///
    /// # Errors
    ///
    /// The first reason why slurmctld would refuse them.
    pub fn new(mut sizes: Vec<usize>) -> Result<Self, SizesError> {
        let Some(&base) = sizes.first() else { return Ok(BlockSizes::default()) };
        for &size in &sizes {
            if !(1..=BlockSizes::MAX).contains(&size) {
                return Err(SizesError::Range { size });
            }
            if !BlockSizes::is_step(base, size) {
                return Err(SizesError::NotAStep { size, base });
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(BlockSizes { sizes })
    }

    /// If `size` is `base` times a power of two.
    pub fn is_step(base: usize, size: usize) -> bool {
        size.checked_rem(base) == Some(0) && (size / base).is_power_of_two()
    }

    /// The base and the steps that so many blocks can fill: Slurm joins two, four, eight … blocks for a step, whatever
    /// their sizes. A base of 0 gives no sizes.
    pub fn steps(base: usize, blocks: usize) -> Self {
        let factors = std::iter::successors(Some(1_usize), |factor| factor.checked_mul(2));
        let sizes =
            factors.take_while(|factor| *factor <= blocks.max(1)).map(|factor| base.saturating_mul(factor));
        BlockSizes { sizes: sizes.take_while(|size| (1..=BlockSizes::MAX).contains(size)).collect() }
    }

    /// The base, if sizes are given.
    pub fn base(&self) -> Option<usize> {
        self.sizes.first().copied()
    }

    /// The sizes, rising; empty if none are given.
    pub fn as_slice(&self) -> &[usize] {
        &self.sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_steps_of_the_first_in_any_order() {
        let cases = [
            (vec![], vec![]),
            (vec![18], vec![18]),
            (vec![18, 72, 36, 18], vec![18, 36, 72]),
            (vec![1, 2, 8], vec![1, 2, 8]),
            (vec![65_535], vec![65_535]),
        ];
        for (given, held) in cases {
            assert_eq!(BlockSizes::new(given).unwrap().as_slice(), held);
        }
        let cases = [
            (vec![0], "block size 0 is outside of 1 to 65535"),
            (vec![65_536], "block size 65536 is outside of 1 to 65535"),
            (vec![18, 54], "block size 54 is not 18 times a power of two"),
            (vec![18, 19], "block size 19 is not 18 times a power of two"),
            (vec![36, 18], "block size 18 is not 36 times a power of two"),
        ];
        for (bad, why) in cases {
            assert_eq!(BlockSizes::new(bad).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn steps_go_as_far_as_the_blocks_do() {
        let steps = |base, blocks| BlockSizes::steps(base, blocks).as_slice().to_vec();
        assert_eq!(steps(18, 1), [18]);
        assert_eq!(steps(18, 2), [18, 36]);
        assert_eq!(steps(18, 7), [18, 36, 72]);
        assert_eq!(steps(0, 7), [0; 0]);
        assert_eq!(steps(18, 5_556).last(), Some(&36_864));
    }
}
