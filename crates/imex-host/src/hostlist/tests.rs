//! Lists of hosts in both directions, and each fault at its place.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn lists_expand_as_scontrol_show_hostnames_does() {
    let cases = [
        ("", ""),
        (",, ,", ""),
        ("login", "login"),
        ("n[1-3,7]", "n1 n2 n3 n7"),
        ("n[1-2]x[01-02]", "n1x01 n1x02 n2x01 n2x02"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("n[1-010]e", "n1e n2e n3e n4e n5e n6e n7e n8e n9e n10e"),
        ("b,a[2-2],b", "b a2 b"),
        ("[1-2]", "1 2"),
        ("n[1-]", "n1"),
        ("n[1[2]]", "n[12]"),
        ("n[1x0-3]", "n001 n002 n003"),
        ("n[ 1,+2,3 -4]", "n01 n02 n03 n04"),
        ("n1]", "n1]"),
        ("n[1-2][3-4]", "n13 n14 n23 n24"),
        ("n[1-2]x[1-2]y[1-2]", "n1x1y1 n1x1y2 n2x1y1 n2x1y2 n1x2y1 n1x2y2 n2x2y1 n2x2y2"),
        ("é[1-2]ü", "é1ü é2ü"),
    ];
    for (list, names) in cases {
        let parsed = HostList::parse(list).unwrap();
        assert_eq!(parsed.iter().collect::<Vec<_>>().join(" "), names, "{list}");
        assert_eq!(parsed.len(), parsed.iter().count(), "{list}");
    }
}

#[test]
fn each_fault_is_named_at_its_place() {
    let cases = [
        ("node[1-18", "`[` is never closed at character 5"),
        ("n[", "`[` is never closed at character 2"),
        ("n[]", "a number is missing at character 3"),
        ("n[1-,2", "`[` is never closed at character 2"),
        ("n[1-b]", "a number is missing at character 5"),
        ("n[a-b]", "a number is missing at character 3"),
        ("a,n[3-1]", "a range ends before it begins at character 5"),
        ("n[1234567890123456789]", "a number has more than 18 digits at character 3"),
        ("n[0-999999999]", "a range has more than 65536 numbers at character 3"),
        ("n[0-65536]", "a range has more than 65536 numbers at character 3"),
        ("n[0-9999]x[0-9999]", "more than 262144 names in all at character 11"),
    ];
    for (list, fault) in cases {
        assert_eq!(HostList::parse(list).unwrap_err().to_string(), fault, "{list}");
    }
}

#[test]
fn names_compress_to_one_short_form() {
    let cases = [
        ("", ""),
        ("a", "a"),
        ("n2 n1 n3", "n[1-3]"),
        ("n1 n01 n2 n02", "n[1-2,01-02]"),
        ("n9 n10 n11", "n[9-11]"),
        ("n09 n10", "n[09-10]"),
        ("n099 n100 n101 n1000", "n[099-101,1000]"),
        ("a1b a2b a1 a2", "a[1-2],a[1-2]b"),
        ("r1n1 r1n2 r2n1 r2n2 r3n1", "r[1-2]n[1-2],r3n1"),
        ("r1n1 r2n1 r3n1 r1n2", "r[1-3]n1,r1n2"),
        ("ip-10-0-1-5 ip-10-0-1-6", "ip-10-0-1-[5-6]"),
        ("n0 n00 n1", "n[0-1,00]"),
        ("x1234567890123456789 x1234567890123456790", "x1234567890123456789,x1234567890123456790"),
    ];
    for (names, list) in cases {
        assert_eq!(compress(names.split_whitespace()), list, "{names}");
    }
}

#[test]
fn a_list_gives_back_what_is_a_name_and_no_range_is_too_wide_for_slurm() {
    let many: Vec<String> = (0..70_000).map(|number| format!("n{number}")).collect();
    assert_eq!(compress(&many), "n[0-65535,65536-69999]");
    for name in ["n1", "a-b.c", "é"] {
        assert!(is_name(name), "{name}");
    }
    for text in ["", "a b", "a,b", "n[1]", "a\u{7}"] {
        assert!(!is_name(text), "{text}");
    }
}

proptest! {
    #[test]
    fn names_survive_being_compressed(names in prop::collection::vec("[ab]{0,1}[0-2]{0,3}[a]{0,1}[089]{1,3}", 0..60)) {
        let list = compress(&names);
        let expanded: Vec<String> = HostList::parse(&list).unwrap().iter().collect();
        let set: BTreeSet<String> = names.into_iter().collect();
        prop_assert_eq!(expanded.len(), set.len(), "each name once in {}", list);
        prop_assert_eq!(expanded.into_iter().collect::<BTreeSet<_>>(), set, "the same names in {}", list);
    }

    #[test]
    fn lists_survive_being_expanded(
        terms in prop::collection::vec(("[a-c]{1,2}", 0_u64..20, 0_u64..20, 0_usize..4, 0_u64..4), 1..8),
    ) {
        let term = |(text, low, more, width, column): (String, u64, u64, usize, u64)| {
            format!("{text}[{low:0width$}-{}]x[{column}-9]", low + more)
        };
        let list: Vec<String> = terms.into_iter().map(term).collect();
        let names: Vec<String> = HostList::parse(&list.join(",")).unwrap().iter().collect();
        let again: Vec<String> = HostList::parse(&compress(&names)).unwrap().iter().collect();
        prop_assert_eq!(names.into_iter().collect::<BTreeSet<_>>(), again.into_iter().collect::<BTreeSet<_>>());
    }

    #[test]
    fn the_order_of_the_names_does_not_matter(names in prop::collection::vec("[ab][0-9]{1,2}", 0..30)) {
        let reversed = compress(names.iter().rev());
        prop_assert_eq!(compress(&names), reversed);
    }

    #[test]
    fn any_text_is_a_list_or_a_fault_inside_of_it(text in "[a1,\\[\\]\\- é]{0,24}") {
        match HostList::parse(&text) {
            Ok(list) => prop_assert_eq!(list.iter().count(), list.len()),
            Err(error) => prop_assert!(error.position <= text.len()),
        }
    }
}

#[test]
fn lists_that_are_each_allowed_are_refused_together() {
    let mut allowance = Allowance::default();
    for _ in 0..4 {
        assert_eq!(allowance.parse("n[1-65536]").unwrap().len(), 65_536);
    }
    let error = allowance.parse("n1").unwrap_err();
    assert_eq!(error.what, HostListFault::TooMany);
    assert!(allowance.parse("").unwrap().is_empty());
}
