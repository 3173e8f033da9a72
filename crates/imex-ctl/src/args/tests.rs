use super::*;

const TEXT: Layout = Layout { format: Format::Text, names: HostNames::Hidden };

#[test]
fn the_definition_holds_together() {
    command().debug_assert();
}

#[test]
fn without_a_place_the_default_configuration_is_read() {
    let expected = request(Whom::Config(DEFAULT_CONFIG.into()), Verb::State);
    assert_eq!(parsed("-q"), Ok(expected));
}

#[test]
fn every_way_of_naming_a_socket_seen_in_scripts_works() {
    let expected = request(Whom::Socket("/run/imex.sock".into()), Verb::State);
    for line in [
        "-q -u /run/imex.sock",
        "-q -u/run/imex.sock",
        "-q -u=/run/imex.sock",
        "-q --u=/run/imex.sock",
        "-q --u /run/imex.sock",
        "-u /run/imex.sock -q",
        "-a -q -u /run/imex.sock",
        "-aq --u=/run/imex.sock",
    ] {
        assert_eq!(parsed(line).as_ref(), Ok(&expected), "{line}");
    }
}

#[test]
fn an_address_is_two_words_and_may_stand_anywhere() {
    let at = |address: &str| Whom::Tcp(address.parse().unwrap());
    let state = |address: &str| Ok(request(at(address), Verb::State));
    assert_eq!(parsed("-q -i 127.0.0.1 50005"), state("127.0.0.1:50005"));
    assert_eq!(parsed("-i ::1 50005 -q"), state("[::1]:50005"));
}

#[test]
fn table_options_combine() {
    let all = Layout { format: Format::Json, names: HostNames::Shown };
    let config = || Whom::Config("c.cfg".into());
    assert_eq!(parsed("-N -c c.cfg"), Ok(request(config(), Verb::Domain(TEXT))));
    assert_eq!(parsed("-c c.cfg -NjH"), Ok(request(config(), Verb::Domain(all))));
    assert_eq!(parsed("-c c.cfg -n -H -j"), Ok(request(config(), Verb::Monitor(all))));
}

#[test]
fn the_limit_of_a_subscription_is_in_milliseconds() {
    let verb = |line: &str| parsed(line).map(|request| request.verb);
    let limit = Some(Duration::from_secs(2));
    assert_eq!(verb("-s -t 2000"), Ok(Verb::Subscribe { limit }));
    assert_eq!(verb("-s"), Ok(Verb::Subscribe { limit: None }));
}

#[test]
fn what_contradicts_itself_is_misuse() {
    for line in [
        "",
        "-q -N",
        "-n -N",
        "-q -u a -c b",
        "-q -i 127.0.0.1 1 -u a",
        "-q -i 127.0.0.1",
        "-q -i localhost 1",
        "-q -i 127.0.0.1 65536",
        "-q -t 5",
        "-s -t soon",
        "-q -j",
        "-s -H",
        "-H",
        "-q extra",
        "--nonsense",
        "-d",
        "-m",
    ] {
        match parsed(line) {
            Err(NoRequest::Misuse(text)) => assert!(text.ends_with('\n'), "{line}: {text}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn help_succeeds_and_the_short_one_does_not() {
    let exit = |line: &str| parsed(line).map_err(|no| no.exit());
    assert_eq!(exit("--help"), Err(Exit::Success));
    assert_eq!(exit("--version"), Err(Exit::Success));
    assert_eq!(exit("-h"), Err(Exit::Usage));
}

fn parsed(line: &str) -> Result<Request, NoRequest> {
    let words = ["imexctl"].into_iter().chain(line.split_whitespace());
    parse(words.map(OsString::from))
}

fn request(whom: Whom, verb: Verb) -> Request {
    Request { whom, verb }
}
