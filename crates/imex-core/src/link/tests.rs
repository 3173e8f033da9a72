use super::*;

const STATES: [Link; 13] = [
    Link::Apart(Past::Never),
    Link::Apart(Past::Lost),
    Link::Apart(Past::CleanedUp),
    Link::Authenticating(Past::Never),
    Link::Authenticating(Past::Lost),
    Link::Authenticating(Past::CleanedUp),
    Link::VersionMismatch(Past::Never),
    Link::VersionMismatch(Past::Lost),
    Link::VersionMismatch(Past::CleanedUp),
    Link::MapMismatch(Past::Never),
    Link::MapMismatch(Past::Lost),
    Link::MapMismatch(Past::CleanedUp),
    Link::Connected,
];

const EVENTS: [LinkEvent; 6] = [
    LinkEvent::AuthenticationStarted,
    LinkEvent::Admitted,
    LinkEvent::Lost,
    LinkEvent::RefusedVersion,
    LinkEvent::RefusedMap,
    LinkEvent::CleanedUp,
];

/// One line per state in the order of [`STATES`], one letter pair per event in the order of [`EVENTS`]: the phase
/// (P apart, A, V, M, C) and the past (n never, l lost, d cleaned up, - for connected).
const TABLE: [&str; 13] = [
    "An C- Pn Vn Mn Pn",
    "Al C- Pl Vl Ml Pd",
    "Ad C- Pd Vd Md Pd",
    "An C- Pn Vn Mn An",
    "Al C- Pl Vl Ml Ad",
    "Ad C- Pd Vd Md Ad",
    "An C- Vn Vn Mn Vn",
    "Al C- Vl Vl Ml Vd",
    "Ad C- Vd Vd Md Vd",
    "An C- Mn Vn Mn Mn",
    "Al C- Ml Vl Ml Md",
    "Ad C- Md Vd Md Md",
    "C- C- Pl Vl Ml C-",
];

#[test]
fn every_pair_of_state_and_event_is_as_tabled() {
    for (state, line) in STATES.into_iter().zip(TABLE) {
        let found: Vec<String> = EVENTS.into_iter().map(|event| short(state.after(event))).collect();
        assert_eq!(found.join(" "), line, "{state:?}");
    }
}

#[test]
fn only_an_admission_connects() {
    for state in STATES {
        for event in EVENTS {
            let connects = state != Link::Connected && state.after(event) == Link::Connected;
            assert!(!connects || event == LinkEvent::Admitted, "{state:?} {event:?}");
        }
    }
}

#[test]
fn a_link_that_was_ever_connected_never_says_never_again() {
    for state in STATES.into_iter().filter(|s| !short(*s).ends_with('n')) {
        for event in EVENTS {
            assert!(!short(state.after(event)).ends_with('n'), "{state:?} {event:?}");
        }
    }
}

fn short(link: Link) -> String {
    let (phase, past) = match link {
        Link::Apart(past) => ('P', Some(past)),
        Link::Authenticating(past) => ('A', Some(past)),
        Link::VersionMismatch(past) => ('V', Some(past)),
        Link::MapMismatch(past) => ('M', Some(past)),
        Link::Connected => ('C', None),
    };
    let past = match past {
        Some(Past::Never) => 'n',
        Some(Past::Lost) => 'l',
        Some(Past::CleanedUp) => 'd',
        None => '-',
    };
    format!("{phase}{past}")
}
