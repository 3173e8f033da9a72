//! Help, version and command lines that are wrong.

use insta::assert_snapshot;

use crate::rig::Rig;
use crate::sample::connected;

#[test]
fn help() {
    assert_snapshot!(session("--help"));
}

#[test]
fn the_short_help_is_the_same_and_exits_with_1() {
    let (long, short) = (session("--help"), session("-h"));
    let body = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let (mut long, mut short) = (body(&long), body(&short));
    assert_eq!(long.pop().as_deref(), Some("exit: 0"));
    assert_eq!(short.pop().as_deref(), Some("exit: 1"));
    assert_eq!(long, short);
}

#[test]
fn version() {
    let text = session("--version").replace(env!("CARGO_PKG_VERSION"), "X.Y.Z");
    assert_snapshot!(text);
}

#[test]
fn wrong_lines() {
    let lines = [
        "",
        "-q -N",
        "-q -c a -u b",
        "-q -i 127.0.0.1",
        "-q -i localhost 50005",
        "-q -i 127.0.0.1 123456",
        "-N -t 100",
        "-q -j",
        "-q --nonsense",
        "-d",
        "-m",
    ];
    assert_snapshot!(lines.map(session).join("\n\n"));
}

fn session(line: &str) -> String {
    Rig::new(&connected(1)).session(line)
}
