//! What the experiments with slurmctld 26.05.5 showed, as claims. `docs/planner.md` numbers the rules.

use super::*;
use crate::model::{Block, BlockSizes};

fn blocks(sizes: &[usize], lists: &[&str]) -> BlockTopology {
    let block = |(index, list): (usize, &&str)| Block {
        name: format!("rack{}", index + 1),
        nodes: NodeSet::parse(list).unwrap(),
    };
    let sizes = BlockSizes::new(sizes.to_vec()).unwrap();
    BlockTopology { sizes, blocks: lists.iter().enumerate().map(block).collect() }
}

fn racks() -> BlockTopology {
    blocks(&[18], &["node[1-18]", "node[19-36]"])
}

fn ask(nodes: usize, segment: usize) -> Request {
    Request { nodes, segment: Some(segment).filter(|segment| *segment > 0), ..Request::default() }
}

fn down(list: &str) -> NodeStates {
    NodeStates::default().with_down(NodeSet::parse(list).unwrap())
}

/// The nodes that the job gets, or in one word what becomes of it.
fn placed(topology: &BlockTopology, drained: &str, request: &Request) -> String {
    let plan = plan(topology, &down(drained), request);
    match plan.outcome {
        Outcome::Starts => plan.chosen().to_list(),
        Outcome::Waits(_) => "waits".to_owned(),
        Outcome::Refused(_) => "refused".to_owned(),
    }
}

#[test]
fn two_racks_take_jobs_as_slurmctld_was_seen_to() {
    let cases = [
        ("", 1, 0, "node1"),
        ("", 18, 0, "node[19-36]"),
        ("", 36, 0, "node[1-36]"),
        ("", 24, 0, "node[1-6,19-36]"),
        ("", 24, 12, "node[1-12,19-30]"),
        ("", 24, 6, "node[1-6,19-36]"),
        ("", 24, 8, "node[1-8,19-34]"),
        ("", 24, 24, "node[1-6,19-36]"),
        ("", 18, 20, "node[19-36]"),
        ("", 36, 12, "refused"),
        ("", 24, 5, "refused"),
        ("", 40, 0, "waits"),
        ("node[1,19]", 18, 0, "waits"),
        ("node[1,19]", 17, 0, "node[20-36]"),
        ("node[1,19]", 18, 9, "node[2-10,20-28]"),
        ("node[1,19]", 24, 0, "node[2-8,20-36]"),
        ("node[1-8]", 24, 12, "waits"),
        ("node[1-8]", 20, 10, "node[9-28]"),
        ("node[1-8]", 10, 0, "node[9-18]"),
        ("node[1-8,19-26]", 12, 0, "waits"),
        ("node[1-8,19-26]", 12, 6, "node[9-14,27-32]"),
    ];
    for (drained, nodes, segment, expected) in cases {
        let request = ask(nodes, segment);
        assert_eq!(placed(&racks(), drained, &request), expected, "{nodes}/{segment} without {drained}");
    }
}

#[test]
fn the_base_size_says_how_many_blocks_a_job_may_use() {
    let small = blocks(&[16], &["node[1-18]", "node[19-36]"]);
    assert_eq!(placed(&small, "", &ask(17, 0)), "node[19-35]");
    let large = blocks(&[20], &["node[1-18]", "node[19-36]"]);
    assert_eq!(placed(&large, "", &ask(19, 0)), "refused");
    assert_eq!(placed(&large, "", &ask(36, 0)), "node[1-36]");
}

#[test]
fn segments_apart_share_no_block() {
    let apart = |nodes, segment| Request { spread: Spread::Apart, ..ask(nodes, segment) };
    assert_eq!(placed(&racks(), "", &apart(8, 4)), "node[1-4,19-22]");
    assert_eq!(placed(&racks(), "", &apart(12, 4)), "refused");
}

#[test]
fn consolidated_segments_are_in_one_group_of_the_lowest_size_that_holds_the_job() {
    /// Sizes, free nodes of each block, nodes, segment, what is given of each block: as sbatch --test-only of 26.05.5 said.
    type Case = (&'static [usize], [usize; 4], usize, usize, Option<[usize; 4]>);
    let nines = ["node[1-9]", "node[10-18]", "node[19-27]", "node[28-36]"];
    let cases: [Case; 17] = [
        (&[9], [6, 6, 5, 9], 8, 4, Some([0, 0, 0, 8])),
        (&[9], [4, 4, 8, 9], 8, 4, Some([0, 0, 8, 0])),
        (&[9], [3, 6, 6, 9], 9, 3, Some([0, 0, 0, 9])),
        (&[9], [2, 4, 6, 8], 10, 2, Some([2, 4, 4, 0])),
        (&[9], [1, 3, 5, 7], 8, 1, None),
        (&[9], [1, 3, 5, 7], 9, 3, None),
        (&[9, 18, 36], [4, 4, 8, 9], 12, 4, Some([0, 0, 8, 4])),
        (&[9, 18, 36], [8, 9, 4, 4], 12, 4, Some([8, 4, 0, 0])),
        (&[9, 18, 36], [4, 8, 8, 4], 12, 4, Some([0, 0, 8, 4])),
        (&[9, 18, 36], [6, 9, 9, 9], 16, 2, Some([0, 0, 8, 8])),
        (&[9, 18, 36], [9, 8, 7, 9], 16, 4, Some([8, 8, 0, 0])),
        (&[9, 18, 36], [9, 8, 7, 9], 20, 4, Some([0, 8, 4, 8])),
        (&[9, 18, 36], [6, 8, 2, 4], 12, 2, Some([6, 6, 0, 0])),
        (&[9, 18, 36], [8, 6, 4, 2], 10, 2, Some([4, 6, 0, 0])),
        (&[9, 18, 36], [2, 4, 6, 8], 16, 2, None),
        (&[9, 18, 36], [9, 8, 8, 9], 18, 3, None),
        (&[9, 18, 36], [4, 4, 4, 4], 9, 3, None),
    ];
    for (sizes, free, nodes, segment, expected) in cases {
        let topology = blocks(sizes, &nines);
        let taken = (0..4)
            .flat_map(|block| (free[block]..9).map(move |node| format!("node{}", 9 * block + node + 1)));
        let states = NodeStates::default().with_down(taken.collect());
        let request = Request { spread: Spread::Consolidated, ..ask(nodes, segment) };
        let plan = plan(&topology, &states, &request);
        let given = |rack: &Rack| rack.nodes.iter().filter(|place| place.segment.is_some()).count();
        let shares: Vec<usize> = plan.racks.iter().map(given).collect();
        let expected = expected.map(Vec::from).unwrap_or(vec![0; 4]);
        assert_eq!(shares, expected, "{nodes}/{segment} on {free:?}");
    }
}

#[test]
fn nodes_with_too_little_of_a_resource_are_never_given() {
    let states: NodeStates = (1..=36).map(|number| gpus(number, if number <= 4 { 2 } else { 4 })).collect();
    let nines = blocks(&[9], &["node[1-9]", "node[10-18]", "node[19-27]", "node[28-36]"]);
    let start = |nodes, gres: &str, segment| {
        let request = Request { gres: gres_list(gres).unwrap(), ..ask(nodes, segment) };
        assert_eq!(uncovered(&states, &request), [], "{gres}");
        let plan = plan(&nines, &states, &request);
        if let Outcome::Refused(_) = plan.outcome { "refused".to_owned() } else { plan.chosen().to_list() }
    };
    assert_eq!(start(1, "gpu:4", 0), "node5");
    assert_eq!(start(24, "gpu:4", 0), "node[10-15,19-36]");
    assert_eq!(start(30, "gpu:4", 0), "node[5-7,10-36]");
    assert_eq!(start(10, "gpu:4", 5), "node[5-9,28-32]");
    assert_eq!(start(33, "gpu:4", 0), "refused");
    let named =
        Request { gres: gres_list("gpu:4").unwrap(), wanted: NodeSet::parse("node3").unwrap(), ..ask(1, 0) };
    assert!(matches!(plan(&nines, &states, &named).outcome, Outcome::Refused(Refusal::Lacking { .. })));
}

#[test]
fn what_slurm_goes_by_and_the_plan_does_not_is_said() {
    let told = |states: &NodeStates, request: &Request| {
        uncovered(states, request).iter().map(Uncovered::to_string).collect::<Vec<_>>()
    };
    let gres = |nodes| Request { gres: gres_list("gpu:2").unwrap(), ..ask(nodes, 0) };
    let unequal: NodeStates = [gpus(1, 1), gpus(2, 2), gpus(3, 4)].into_iter().collect();
    assert_eq!(
        told(&unequal, &gres(2)),
        ["it asks for gpu:2, and the nodes that will do have 2, 4: Slurm then chooses by these as well"]
    );
    assert_eq!(told(&unequal, &ask(2, 0)), [""; 0]);
    assert_eq!(
        told(&NodeStates::default(), &gres(2)),
        ["which nodes have gpu:2 is not known: give what `scontrol show nodes --json` prints"]
    );
    let weight = |number, weight| NodeState { weight, ..gpus(number, 4) };
    let weights: NodeStates = [weight(1, 10), weight(2, 5), weight(3, 5)].into_iter().collect();
    assert_eq!(
        told(&weights, &ask(2, 0)),
        ["the nodes have the weights 5, 10: Slurm then chooses blocks and nodes by these as well"]
    );
    // A job of one node gets one of the lightest.
    assert_eq!(told(&weights, &ask(1, 0)), [""; 0]);
    assert_eq!(plan(&blocks(&[3], &["node[1-3]"]), &weights, &ask(1, 0)).chosen().to_list(), "node2");
    let shared = Request { sharing: Sharing::Shared, ..ask(2, 0) };
    assert_eq!(told(&NodeStates::default(), &shared).len(), 1);
}

fn gpus(number: usize, gpus: usize) -> NodeState {
    let gres = gres_list(&format!("gpu:{gpus}")).unwrap();
    NodeState { gres, ..NodeState::plain(&format!("node{number}"), Availability::Free) }
}

#[test]
fn a_larger_size_keeps_a_job_in_its_group_of_blocks() {
    let nines = ["node[1-9]", "node[10-18]", "node[19-27]", "node[28-36]"];
    assert_eq!(placed(&blocks(&[9], &nines), "node[11-14]", &ask(10, 0)), "node[10,28-36]");
    // The pair with less room is taken, although the other would do as well.
    assert_eq!(placed(&blocks(&[9, 18], &nines), "node[11-14]", &ask(10, 0)), "node[1-10]");
    // All pairs are needed: blocks are chosen as if there were none.
    assert_eq!(placed(&blocks(&[9, 18], &nines), "node[1-3]", &ask(21, 0)), "node[4-6,19-36]");
}

#[test]
fn a_named_node_draws_the_job_into_its_block() {
    let wanted = |nodes, list: &str| Request { wanted: NodeSet::parse(list).unwrap(), ..ask(nodes, 0) };
    assert_eq!(placed(&racks(), "", &wanted(18, "node5")), "node[1-18]");
    assert_eq!(placed(&racks(), "", &wanted(2, "node[18-19]")), "refused");
    assert_eq!(placed(&racks(), "", &wanted(24, "node5")), "node[1-6,19-36]");
    assert_eq!(placed(&racks(), "", &wanted(19, "node5")), "node[5,19-36]");
    assert_eq!(placed(&racks(), "", &wanted(20, "node[1-10]")), "node[1-10,19-28]");
    let segments = Request { segment: Some(12), ..wanted(24, "node5") };
    assert_eq!(placed(&racks(), "", &segments), "refused");
    let nines = blocks(&[9], &["node[1-9]", "node[10-18]", "node[19-27]", "node[28-36]"]);
    assert_eq!(placed(&nines, "", &wanted(12, "node5")), "node[1-9,28-30]");
    assert_eq!(placed(&nines, "", &wanted(10, "node[5,12]")), "node[1-9,12]");
    assert_eq!(placed(&nines, "", &wanted(10, "node[5,12,22]")), "refused");
    assert_eq!(placed(&nines, "", &wanted(19, "node[5,12,22]")), "node[1-18,22]");
    let lists = ["node[1-6]", "node[7-12]", "node[13-18]", "node[19-24]", "node[25-30]", "node[31-36]"];
    let sixes = blocks(&[6, 12, 24], &lists);
    assert_eq!(placed(&sixes, "", &wanted(8, "node1")), "node[1-2,7-12]");
    assert_eq!(placed(&sixes, "", &wanted(27, "node30")), "node[7-9,13-36]");
    assert_eq!(placed(&sixes, "", &wanted(34, "node1")), "node[1-28,31-36]");
    assert_eq!(placed(&sixes, "", &wanted(14, "node30")), "refused");
    let without = Request { excluded: NodeSet::parse("node[1-17]").unwrap(), ..ask(2, 0) };
    assert_eq!(placed(&racks(), "", &without), "node[19-20]");
}

#[test]
fn what_cannot_start_says_why_and_what_could() {
    let plan = plan(&racks(), &down("node[1,19]"), &ask(18, 0));
    let Outcome::Waits(waiting) = &plan.outcome else { panic!("{:?}", plan.outcome) };
    assert_eq!(
        waiting.to_string(),
        "34 nodes are up, but not where they are needed: 0 of 1 segments of 18 nodes fit, \
         the best place has 17 nodes up"
    );
    let now = |nodes, segment| Alternative { nodes, segment, start: Start::Now };
    assert_eq!(plan.alternatives[..2], [now(18, Some(9)), now(17, None)]);
    assert_eq!(placed(&racks(), "node[1,19]", &ask(18, 9)), "node[2-10,20-28]");
}

#[test]
fn free_nodes_too_few_for_another_segment_are_stranded() {
    let plan = plan(&racks(), &NodeStates::default(), &ask(24, 12));
    assert_eq!(plan.racks.iter().map(|rack| rack.stranded).collect::<Vec<_>>(), [6, 6]);
    assert_eq!(plan.segment(1).to_list(), "node[1-12]");
}

#[test]
fn busy_nodes_keep_an_exclusive_job_out_and_partly_used_ones_only_that() {
    let states = |availability| -> NodeStates {
        let node = |number| {
            let availability = if number == 20 { availability } else { Availability::Free };
            NodeState::plain(&format!("node{number}"), availability)
        };
        (1..=36).map(node).collect()
    };
    let start = |availability, sharing| {
        let request = Request { sharing, ..ask(18, 0) };
        plan(&racks(), &states(availability), &request).chosen().to_list()
    };
    assert_eq!(start(Availability::Busy, Sharing::Shared), "node[1-18]");
    assert_eq!(start(Availability::Partly, Sharing::Exclusive), "node[1-18]");
    assert_eq!(start(Availability::Partly, Sharing::Shared), "node[19-36]");
}

#[test]
fn a_group_of_gpus_gives_the_segment() {
    let advice = |nodes, gpus| best_segment(&racks(), nodes, gpus, 4);
    assert_eq!(advice(24, 32), Ok(GroupAdvice { segment: 8, groups: 3 }));
    assert_eq!(advice(24, 2), Ok(GroupAdvice { segment: 1, groups: 24 }));
    assert_eq!(advice(20, 32), Err(GroupError::Uneven { nodes: 20, group: 8, below: 16, above: 24 }));
    assert_eq!(advice(24, 30), Err(GroupError::PartOfNode { gpus: 30, per_node: 4 }));
    assert_eq!(advice(38, 76), Err(GroupError::LargerThanBlock { nodes: 19, largest: 18 }));
}

#[test]
fn the_picture_shows_segments_and_what_is_left() {
    let mut text = Vec::new();
    let plan = plan(&racks(), &down("node[1-2]"), &ask(24, 12));
    picture::write(&plan, &mut text).unwrap();
    let expected = "\
rack1  xxAAAAAAAAAAAA....  12 for the job, 4 free, 2 down, 4 stranded
rack2  BBBBBBBBBBBB......  12 for the job, 6 free, 6 stranded
A: node[3-14] in rack1
B: node[19-30] in rack2
A B C: segments of the job  .: free  ~: partly used  #: busy  x: down
";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

proptest::proptest! {
    #[test]
    fn a_job_that_starts_gets_just_its_nodes_and_only_free_ones(
        sizes in proptest::sample::select(vec![vec![], vec![4], vec![5, 10], vec![3, 6, 12], vec![40]]),
        ends in proptest::collection::btree_set(1_usize..40, 1..6),
        drained in proptest::collection::btree_set(1_usize..41, 0..12),
        (nodes, segment) in (1_usize..42, 0_usize..12),
        apart in proptest::bool::ANY,
    ) {
        let bounds: Vec<usize> = std::iter::once(0).chain(ends).chain([40]).collect();
        let lists: Vec<String> = bounds.windows(2).map(|pair| format!("n[{}-{}]", pair[0] + 1, pair[1])).collect();
        let topology = blocks(&sizes, &lists.iter().map(String::as_str).collect::<Vec<_>>());
        let down: NodeSet = drained.iter().map(|number| format!("n{number}")).collect();
        let spread = if apart { Spread::Apart } else { Spread::Together };
        let request = Request { spread, ..ask(nodes, segment) };
        let plan = plan(&topology, &NodeStates::default().with_down(down.clone()), &request);
        let chosen = plan.chosen();
        if plan.outcome == Outcome::Starts {
            proptest::prop_assert_eq!(chosen.len(), nodes);
            proptest::prop_assert!(chosen.iter().all(|node| !down.contains(node)));
            for alternative in 0..nodes / request.segment.unwrap_or(nodes).min(nodes) {
                proptest::prop_assert_eq!(plan.segment(alternative).len(), request.segment.unwrap_or(nodes).min(nodes));
            }
        } else {
            proptest::prop_assert!(chosen.is_empty());
            for alternative in plan.alternatives.iter().filter(|alternative| alternative.start == Start::Now) {
                let other = Request { nodes: alternative.nodes, segment: alternative.segment, ..request.clone() };
                let other = super::plan(&topology, &NodeStates::default().with_down(down.clone()), &other);
                proptest::prop_assert_eq!(other.outcome, Outcome::Starts);
            }
        }
    }

    #[test]
    fn what_scontrol_prints_is_read_or_refused(text in "\\PC{0,200}", id in 0_u64..3) {
        let _ = NodeStates::parse(&text);
        let _ = job::parse(&text, id, Sharing::Exclusive, Spread::Together);
    }
}
