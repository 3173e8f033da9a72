//! The order in which people count names: `n2` before `n10`.

use std::cmp::Ordering;

/// Compares two names piece by piece: runs of digits by their value, everything else by its bytes.
///
/// A total order that agrees with equality: names that differ only in leading zeros are
/// ordered by their length (`n1` before `n01`).
///
/// ```
/// let mut names = ["n10", "n01", "n2", "n1"];
/// names.sort_by(|a, b| imex_host::natural::cmp(a, b));
/// assert_eq!(names, ["n1", "n01", "n2", "n10"]);
/// ```
pub fn cmp(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    loop {
        let same = left.iter().zip(right).take_while(|(l, r)| l == r && !l.is_ascii_digit()).count();
        (left, right) = (&left[same..], &right[same..]);
        let (Some(l), Some(r)) = (left.first(), right.first()) else {
            return left.len().cmp(&right.len()).then(a.len().cmp(&b.len())).then_with(|| a.cmp(b));
        };
        if !(l.is_ascii_digit() && r.is_ascii_digit()) {
            return l.cmp(r);
        }
        let (left_digits, right_digits) = (digits(left), digits(right));
        let order = by_value(left_digits, right_digits);
        if order.is_ne() {
            return order;
        }
        (left, right) = (&left[left_digits.len()..], &right[right_digits.len()..]);
    }
}

fn digits(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

fn by_value(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (without_zeros(a), without_zeros(b));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn without_zeros(digits: &[u8]) -> &[u8] {
    let start = digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len());
    &digits[start..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_count_by_value_and_text_by_its_bytes() {
        let order = ["", "a", "a1", "a01", "a2", "a10", "a10b", "a11", "ab", "b"];
        for pair in order.windows(2) {
            assert_eq!(cmp(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }

    proptest! {
        #[test]
        fn it_is_a_total_order_that_agrees_with_equality(
            a in "[ab01]{0,6}", b in "[ab01]{0,6}", c in "[ab01]{0,6}",
        ) {
            prop_assert_eq!(cmp(&a, &b), cmp(&b, &a).reverse());
            prop_assert_eq!(cmp(&a, &b) == Ordering::Equal, a == b);
            if cmp(&a, &b) != Ordering::Greater && cmp(&b, &c) != Ordering::Greater {
                prop_assert_ne!(cmp(&a, &c), Ordering::Greater);
            }
        }
    }
}
