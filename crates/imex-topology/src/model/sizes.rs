//! The sizes by which slurmctld places jobs: a base and steps of it, each the base times a power of two.

/// Checked sizes: rising, each the first times a power of two. None at all means that slurmctld takes the size of the
/// smallest block and every step.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BlockSizes {
    sizes: Vec<usize>,
}

/// Why slurmctld refuses sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// Zero is no size.
    #[error("a block size of 0")]
    Zero,
    /// A size is not larger than the one before it.
    #[error("block size {size} does not follow {before} in rising order")]
    NotRising {
        /// The size.
        size: usize,
        /// The one before.
        before: usize,
    },
    /// A size is not the base times a power of two.
    #[error("block size {size} is not {base} times a power of two")]
    NotAStep {
        /// The size.
        size: usize,
        /// The base.
        base: usize,
    },
}

impl BlockSizes {
    /// Checks sizes.
    ///
    /// # Errors
    ///
    /// The first reason why slurmctld would refuse them.
    pub fn new(sizes: Vec<usize>) -> Result<Self, SizesError> {
        let Some(&base) = sizes.first() else { return Ok(BlockSizes::default()) };
        if base == 0 {
            return Err(SizesError::Zero);
        }
        for pair in sizes.windows(2) {
            let (before, size) = (pair[0], pair[1]);
            if size <= before {
                return Err(SizesError::NotRising { size, before });
            }
            if size % base != 0 || !(size / base).is_power_of_two() {
                return Err(SizesError::NotAStep { size, base });
            }
        }
        Ok(BlockSizes { sizes })
    }

    /// The base and the steps that so many blocks of at least the base size can fill: base, base × 2, base × 4 ….
    pub fn steps(base: usize, blocks: usize) -> Self {
        let steps = std::iter::successors(Some(1_usize), |factor| factor.checked_mul(2));
        let sizes =
            steps.take_while(|factor| *factor <= blocks.max(1)).map_while(|factor| base.checked_mul(factor));
        BlockSizes { sizes: if base == 0 { Vec::new() } else { sizes.collect() } }
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
    fn only_rising_steps_of_the_base_are_sizes() {
        for good in [vec![], vec![18], vec![18, 36], vec![18, 72], vec![1, 2, 8]] {
            assert_eq!(BlockSizes::new(good.clone()).unwrap().as_slice(), good);
        }
        let cases = [
            (vec![0], "a block size of 0"),
            (vec![18, 54], "block size 54 is not 18 times a power of two"),
            (vec![18, 19], "block size 19 is not 18 times a power of two"),
            (vec![36, 18], "block size 18 does not follow 36 in rising order"),
            (vec![18, 18], "block size 18 does not follow 18 in rising order"),
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
    }
}
