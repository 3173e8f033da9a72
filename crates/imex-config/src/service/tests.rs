//! Reading, setting in place, and that nothing else changes.

use proptest::prelude::*;

use super::*;

fn file(text: &str) -> ServiceFile {
    ServiceFile::parse(text.as_bytes()).unwrap()
}

fn after_set(text: &str, key: &str, value: &str) -> String {
    let mut file = file(text);
    file.set(key, value).unwrap();
    file.to_string()
}

#[test]
fn the_last_assignment_counts_and_blanks_do_not() {
    let file = file("A=1\n  B = two words \n\n# A=5\nA=3");
    let found = file.get("A").unwrap();
    assert_eq!((found.line, found.value), (5, "3"));
    assert_eq!(file.get("B").unwrap().value, "two words");
    assert_eq!(file.get("C"), None);
}

#[test]
fn a_value_may_hold_an_equals_sign_and_a_hash() {
    assert_eq!(file("A=b=c#d").get("A").unwrap().value, "b=c#d");
}

#[test]
fn other_lines_are_malformed_with_their_numbers() {
    let file = file("A=1\nhello\n=x\nB C=1\n");
    let found: Vec<_> = file.malformed().collect();
    assert_eq!(found, [(2, "hello"), (3, "=x"), (4, "B C=1")]);
}

#[test]
fn set_changes_the_value_in_its_place_only() {
    let text = "# about A\n\n A = 1  \nB=2\n";
    assert_eq!(after_set(text, "A", "34"), "# about A\n\n A = 34  \nB=2\n");
}

#[test]
fn set_leaves_a_commented_key_alone_and_appends() {
    assert_eq!(after_set("#A=1\n", "A", "2"), "#A=1\nA=2\n");
    assert_eq!(after_set("B=1", "A", "2"), "B=1\nA=2\n");
    assert_eq!(after_set("", "A", "2"), "A=2\n");
}

#[test]
fn set_keeps_carriage_returns_and_uses_them_for_a_new_line() {
    assert_eq!(after_set("A=1\r\nB=2\r\n", "A", "7"), "A=7\r\nB=2\r\n");
    assert_eq!(after_set("A=1\r\n", "C", "7"), "A=1\r\nC=7\r\n");
}

#[test]
fn set_changes_the_assignment_that_counts() {
    assert_eq!(after_set("A=1\nA=2\n", "A", "3"), "A=1\nA=3\n");
}

#[test]
fn set_fills_an_empty_value() {
    assert_eq!(after_set("A=\nB=1\n", "A", "x"), "A=x\nB=1\n");
}

#[test]
fn a_value_cannot_smuggle_in_a_line() {
    let mut file = file("A=1\n");
    let error = file.set("A", "2\nB=3").unwrap_err();
    assert_eq!(error.to_string(), r"value of A holds the control character '\n'");
    assert_eq!(file.set("A B", "2").unwrap_err(), SetError::BadKey { key: "A B".to_owned() });
    assert_eq!(file.to_string(), "A=1\n", "a refused change changes nothing");
}

#[test]
fn a_byte_order_mark_hides_no_key_and_is_kept() {
    let text = "\u{feff}A=1\n";
    assert_eq!(file(text).get("A").unwrap().value, "1");
    assert_eq!(after_set(text, "A", "2"), "\u{feff}A=2\n");
}

fn any_file() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[A-C_]{1,2} ?= ?[ -~]{0,6}",
        "# ?[A-C]=[0-9]",
        "[ \t]{0,2}",
        "[ -~]{0,8}",
        "[A-C]=[äöü€]{0,3}",
    ];
    let ending = prop_oneof![Just("\n"), Just("\r\n")];
    proptest::collection::vec((line, ending), 0..12).prop_flat_map(|lines| {
        let whole: String = lines.iter().map(|(line, ending)| format!("{line}{ending}")).collect();
        prop_oneof![Just(whole.clone()), Just(whole.trim_end_matches(['\r', '\n']).to_owned())]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(file) = ServiceFile::parse(&bytes) {
            prop_assert_eq!(file.to_string().into_bytes(), bytes);
        }
    }

    #[test]
    fn every_text_comes_out_as_it_went_in(text in any_file()) {
        prop_assert_eq!(file(&text).to_string(), text);
    }

    #[test]
    fn what_was_set_is_read_back_and_nothing_else_changes(
        text in any_file(), key in "[A-D]", value in "[ -~é]{0,8}",
    ) {
        let before = file(&text);
        let mut after = before.clone();
        after.set(&key, &value).unwrap();
        prop_assert_eq!(after.get(&key).unwrap().value, value.trim());
        prop_assert_eq!(&file(&after.to_string()), &after);

        let place = after.get(&key).unwrap().line;
        let (old, new) = (before.to_string(), after.to_string());
        let old: Vec<_> = old.lines().collect();
        let new: Vec<_> = new.lines().collect();
        for (index, line) in new.iter().enumerate().filter(|(index, _)| index + 1 != place) {
            prop_assert_eq!(Some(line), old.get(index));
        }
        prop_assert!(new.len() == old.len() || new.len() == old.len() + 1);
    }
}
