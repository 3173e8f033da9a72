//! Values of every checked type, for the round-trip tests.

use std::time::Duration;

use imex_core::cause::{AuthFailure, Unreachable, Violation};
use imex_core::hello::{Introduction, PROTOCOL_VERSION};
use imex_core::message::Report;
use imex_core::{
    BootId, Cause, DomainState, DomainSummary, DomainTable, DomainToken, Evidence, Hello, InstanceId,
    LinkReport, LinkState, MapDifference, MapDigest, NodeId, NodeRow, NodeState, PeerMessage, Refusal,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::command::{DomainStatus, NodeStatus};
use crate::credential::Credential;
use crate::peer::{Frame, introduced_by};

/// A hello as good as any.
pub(crate) fn one_hello() -> Hello {
    hello_of(0, 1)
}

/// The hello of a node's run.
pub(crate) fn hello_of(node: u16, instance: u128) -> Hello {
    let introduction = Introduction {
        protocol: PROTOCOL_VERSION,
        software: "0.1.0".into(),
        driver: Hello::NO_GPU.into(),
        node: NodeId::new(node),
        instance: InstanceId::new(instance),
        boot: BootId::new(2),
        digest: MapDigest::from_bytes([3; 32]),
        token: DomainToken::default(),
        host: "n0".into(),
    };
    Hello::check(introduction).unwrap()
}

pub(crate) fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        (hello(), credential()).prop_map(|(hello, credential)| Frame::Hello(hello, credential)),
        (refusal(), credential()).prop_map(|(refusal, credential)| {
            let credential = credential.filter(|_| introduced_by(&refusal).is_some());
            Frame::Refusal(refusal, credential)
        }),
        message().prop_map(Frame::Message),
    ]
}

fn hello() -> impl Strategy<Value = Hello> {
    let numbers = (any::<u32>(), 0..65_534_u16, any::<u128>(), any::<u128>(), any::<[u8; 32]>());
    (numbers, "[ -~]{1,64}", "[ -~]{1,64}", "[!-~]{0,128}", "[!-~]{0,253}").prop_map(
        |((protocol, node, instance, boot, digest), software, driver, token, host)| {
            let introduction = Introduction {
                protocol,
                software: software.into(),
                driver: driver.into(),
                node: NodeId::new(node),
                instance: InstanceId::new(instance),
                boot: BootId::new(boot),
                digest: MapDigest::from_bytes(digest),
                token: DomainToken::new(&token).unwrap(),
                host: host.into(),
            };
            Hello::check(introduction).unwrap()
        },
    )
}

fn credential() -> impl Strategy<Value = Option<Credential>> {
    let bytes = prop::collection::vec(any::<u8>(), 1..=Credential::MAX_BYTES);
    prop::option::of(bytes.prop_map(|bytes| Credential::new(bytes).unwrap()))
}

fn refusal() -> impl Strategy<Value = Refusal> {
    let by = || hello().prop_map(Into::into);
    let entries = prop::collection::vec("[!-~]{0,253}", 0..100);
    prop_oneof![
        by().prop_map(|by| Refusal::Version { by }),
        (by(), entries, 100..65_535_usize).prop_map(|(by, entries, len)| Refusal::Map {
            by,
            entries: entries.into(),
            len
        }),
        by().prop_map(|by| Refusal::NotAtItsAddress { by }),
        Just(Refusal::OtherDomain),
        Just(Refusal::EndedInstance),
        Just(Refusal::Leaving),
        Just(Refusal::Unproven),
        Just(Refusal::AddressUnknown),
    ]
}

fn message() -> impl Strategy<Value = PeerMessage> {
    prop_oneof![
        (1..=u64::MAX, own_state(), 0..=65_534_u16)
            .prop_map(|(number, state, missing)| PeerMessage::Report(Report { number, state, missing })),
        any::<u64>().prop_map(PeerMessage::Ping),
        any::<u64>().prop_map(PeerMessage::Pong),
        any::<u128>().prop_map(|number| PeerMessage::Leaving { instance: InstanceId::new(number) }),
        Just(PeerMessage::Reload),
        any::<u64>().prop_map(|question| PeerMessage::RowRequest { question }),
        (any::<u64>(), own_state(), prop::collection::vec(own_link(), 0..20))
            .prop_map(|(question, state, links)| PeerMessage::Row { question, state, links }),
    ]
}

fn own_state() -> impl Strategy<Value = NodeState> {
    select(NodeState::ALL.to_vec()).prop_filter("given by viewers", |state| *state != NodeState::Unavailable)
}

fn own_link() -> impl Strategy<Value = LinkReport> {
    link().prop_filter("given by viewers", |link| link.state != LinkState::Invalid)
}

fn link() -> impl Strategy<Value = LinkReport> {
    (select(LinkState::ALL.to_vec()), prop::option::of(cause()), any::<u64>()).prop_map(
        |(state, cause, since)| LinkReport {
            state,
            cause: cause.filter(|_| state != LinkState::Connected),
            since: Duration::from_millis(since),
        },
    )
}

fn cause() -> impl Strategy<Value = Cause> {
    let plain = [
        Cause::NotTriedYet,
        Cause::NameUnknown,
        Cause::Unreachable(Unreachable::PortClosed),
        Cause::Unreachable(Unreachable::TimedOut),
        Cause::Unreachable(Unreachable::Unanswered),
        Cause::Unreachable(Unreachable::NoRoute),
        Cause::Unreachable(Unreachable::Broken),
        Cause::Unreachable(Unreachable::Local),
        Cause::AddressRefused,
        Cause::OtherDomain,
        Cause::ConnectionReset,
        Cause::Silent,
        Cause::Left,
        Cause::Leaving,
        Cause::Violation(Violation::NoHello),
        Cause::Violation(Violation::SecondHello),
        Cause::Violation(Violation::Malformed),
        Cause::Violation(Violation::TooLarge),
        Cause::Violation(Violation::NotReading),
        Cause::Violation(Violation::EndedInstance),
    ];
    let differences = prop::collection::vec(difference(), 0..=4);
    prop_oneof![
        3 => select(plain.to_vec()),
        1 => select(AuthFailure::ALL.to_vec()).prop_map(Cause::Unauthenticated),
        1 => ("[ -~]{0,128}", "[ -~]{0,128}")
            .prop_map(|(ours, theirs)| Cause::VersionDiffers { ours: ours.into(), theirs: theirs.into() }),
        1 => differences.prop_map(|found| Cause::MapDiffers { differences: found.into() }),
        1 => (0..65_534_u16).prop_map(|claimed| Cause::NotAtItsAddress { claimed }),
    ]
}

fn difference() -> impl Strategy<Value = MapDifference> {
    let entry = || prop::option::of("[!-~]{0,253}");
    (0..65_534_usize, entry(), entry()).prop_map(|(index, ours, theirs)| MapDifference {
        index,
        ours,
        theirs,
    })
}

pub(crate) fn node_status() -> impl Strategy<Value = NodeStatus> {
    let texts = ("[!-~]{1,253}", "[ -~]{0,64}", "[ -~]{0,64}", "[!-~]{0,253}");
    (0..65_534_u16, own_state(), texts, prop::collection::vec(own_link(), 0..5)).prop_map(
        |(node, state, (address, version, software, host), links)| NodeStatus {
            node: NodeId::new(node),
            address: address.into(),
            state,
            version: version.into(),
            software: software.into(),
            host: host.into(),
            links,
        },
    )
}

pub(crate) fn domain_status() -> impl Strategy<Value = DomainStatus> {
    let rows = (0..4_usize).prop_flat_map(|nodes| prop::collection::vec(row(nodes), nodes));
    let viewer = prop::option::of(0..65_534_u16);
    (viewer, rows, select(DomainState::ALL.to_vec()), any::<i64>()).prop_map(
        |(viewer, rows, state, taken_at_ms)| {
            let table = DomainTable { viewer: viewer.map(NodeId::new), rows, state };
            DomainStatus { table, taken_at_ms }
        },
    )
}

fn row(nodes: usize) -> impl Strategy<Value = NodeRow> {
    let evidence = [Evidence::Own, Evidence::Reported, Evidence::Asked, Evidence::NoAnswer];
    let texts = ("[!-~]{1,253}", "[ -~]{0,64}", "[!-~]{0,253}");
    let links = prop::collection::vec(link(), nodes);
    (texts, select(NodeState::ALL.to_vec()), select(evidence.to_vec()), links).prop_map(
        |((address, version, host), state, evidence, links)| NodeRow {
            address: address.into(),
            state,
            version: version.into(),
            host: host.into(),
            evidence,
            links,
        },
    )
}

pub(crate) fn summary() -> impl Strategy<Value = DomainSummary> {
    let numbers = (0..=65_534_usize).prop_flat_map(|nodes| (Just(nodes), 0..=nodes, 0..=nodes));
    (select(DomainState::ALL.to_vec()), numbers).prop_map(|(state, (nodes, ready, complete))| DomainSummary {
        state,
        nodes,
        ready,
        complete,
    })
}
