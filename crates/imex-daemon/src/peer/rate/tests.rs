use super::*;

const NODES: usize = 18;

#[test]
fn a_bucket_gives_its_burst_and_then_what_time_puts_in() {
    let rate = Rate::new(3, 10);
    // When somebody comes, in milliseconds, and whether they may begin.
    let table = [
        (1_000, true),
        (1_000, true),
        (1_000, true),
        (1_000, false),
        (1_099, false),
        (1_100, true),
        (1_100, false),
        (1_300, true),
        (1_300, true),
        (1_300, false),
        // However long nobody comes, there is never more than the burst.
        (90_000, true),
        (90_000, true),
        (90_000, true),
        (90_000, false),
    ];
    let mut bucket = Bucket::default();
    for (step, (millis, may)) in table.into_iter().enumerate() {
        assert_eq!(bucket.take(rate, at(millis)), may, "step {step}, at {millis} ms");
    }
}

#[test]
fn a_rack_that_starts_at_once_and_is_told_to_dial_anew_passes() {
    for nodes in [1, 18, 72, 144, 500] {
        let mut rates = Rates::new(nodes);
        for round in 0..3 {
            for node in 0..nodes {
                assert!(
                    rates.admit((ip(node), Whereabouts::Node), at(0)),
                    "{nodes} nodes, round {round}, node {node}"
                );
            }
        }
    }
}

#[test]
fn whoever_floods_is_turned_away_and_takes_nothing_from_the_others() {
    let mut rates = Rates::new(NODES);
    let let_in = (0..5_000).filter(|n| rates.admit((ip(1), Whereabouts::Node), at(n / 5))).count();
    assert!((50..=52).contains(&let_in), "a burst of 32 and one second at 20: {let_in}");
    for node in 2..NODES {
        assert!(rates.admit((ip(node), Whereabouts::Node), at(1_000)), "{node}");
    }
}

#[test]
fn all_sources_together_have_a_bound_too() {
    let mut rates = Rates::new(NODES);
    let let_in = (0..10_000).filter(|n| rates.admit((ip(*n), Whereabouts::Node), at(0))).count();
    assert_eq!(let_in, 3 * NODES + 64);
}

#[test]
fn addresses_that_are_no_nodes_share_one_bound_and_leave_the_nodes_theirs() {
    for (origin, bound) in [
        (Whereabouts::Foreign, 32),
        (Whereabouts::Unknown { unresolved: 1 }, 34),
        (Whereabouts::Unknown { unresolved: 144 }, 320),
    ] {
        let mut rates = Rates::new(NODES);
        let let_in = (0..10_000).filter(|n| rates.admit((ip(1_000 + n), origin), at(0))).count();
        assert_eq!(let_in, bound, "{origin:?}");
        assert!((0..NODES).all(|node| rates.admit((ip(node), Whereabouts::Node), at(0))), "{origin:?}");
    }
}

#[test]
fn what_is_remembered_has_a_bound_and_is_forgotten_when_it_no_longer_matters() {
    let mut rates = Rates::new(NODES);
    for n in 0..10_000 {
        rates.admit((ip(n), Whereabouts::Node), at(0));
    }
    assert_eq!(rates.sources.len(), rates.most);
    rates.admit((ip(20_000), Whereabouts::Node), at(60_000));
    assert_eq!(rates.sources.len(), 1);
}

fn ip(n: usize) -> IpAddr {
    std::net::Ipv4Addr::from_bits(0x0a00_0000 + u32::try_from(n).unwrap()).into()
}

fn at(millis: usize) -> Moment {
    Moment::after(Duration::from_millis(u64::try_from(millis).unwrap()))
}
