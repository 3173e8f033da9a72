use super::*;

fn problems(text: &str) -> String {
    Operator::parse(text, Path::new("openimex.toml")).unwrap_err().to_string()
}

fn parsed(text: &str) -> Operator {
    Operator::parse(text, Path::new("openimex.toml")).unwrap()
}

#[test]
fn the_example_means_the_defaults() {
    assert_eq!(parsed(&example()), Operator::default());
    assert_eq!(parsed(""), Operator::default());
}

#[test]
fn every_key_has_a_default_and_a_comment_whose_lines_fit() {
    for key in ALL {
        for line in key.doc {
            assert!(line.starts_with(' ') && line.len() <= 130, "{key}: {line}");
        }
    }
    assert_eq!(Operator::default().service.unit, "imexd.service");
}

#[test]
fn only_the_file_at_its_usual_place_may_be_missing() {
    assert!(may_be_absent(Path::new(DEFAULT_OPERATOR)));
    let error = load(Path::new("/nowhere/openimex.toml")).unwrap_err();
    assert_eq!(crate::chain(&error), "/nowhere/openimex.toml cannot be read: file does not exist");
}

#[test]
fn the_provider_names_unit_and_tool_unless_the_file_does() {
    let nvidia = parsed("[service]\nprovider = \"nvidia-imex\"\n").service;
    assert_eq!((nvidia.unit.as_str(), nvidia.control.as_str()), ("nvidia-imex.service", "nvidia-imex-ctl"));
    let own = parsed("service.unit = \"x.service\"\n").service;
    assert_eq!((own.unit.as_str(), own.control.as_str()), ("x.service", "imexctl"));
}

#[test]
fn the_instance_type_is_asked_only_when_wanted() {
    assert_eq!(parsed("").hardware.instance_types, None);
    let asked = parsed("hardware.ask_instance_type = true\n").hardware.instance_types.unwrap();
    assert_eq!(asked, ["p6e-gb200*", "p6e-gb300*"]);
}

#[test]
fn all_problems_are_told_with_their_lines_and_the_nearest_names() {
    let text = "\
budget = \"3s\"
[servise]
unit = \"a\"
[service]
provder = \"imexd\"
provider = \"imexdd\"
port = 50000
[prolog]
budget = \"60\"
stop = \"1s\"
innocence = \"pass\"
shared = \"skip\"
";
    insta::assert_snapshot!(problems(text));
}

#[test]
fn what_is_right_in_a_wrong_file_can_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("openimex.toml");
    std::fs::write(&path, "[service]\nprovider = \"nvidia-imex\"\nunti = \"x\"\n").unwrap();
    let (operator, error) = salvage(&path);
    assert_eq!(operator.service.provider, Provider::NvidiaImex);
    assert!(matches!(error, Some(OperatorError::Wrong { .. })));
    assert!(matches!(load(&path), Err(OperatorError::Wrong { .. })));
}

#[test]
fn a_text_that_is_no_toml_is_told_with_its_line() {
    let told = problems("[service]\nprovider = imexd\n");
    assert!(told.starts_with("openimex.toml:2: error: "), "{told}");
}

#[test]
fn any_text_is_judged_without_a_panic() {
    proptest::proptest!(|(text in "[\\[\\]a-z.=\"'# \n0-9-]{0,80}")| {
        let _ = Operator::parse(&text, Path::new("x"));
    });
}
