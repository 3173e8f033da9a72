use proptest::prelude::*;

use super::*;
use crate::samples;

proptest! {
    #[test]
    fn every_node_status_comes_back_as_itself(status in samples::node_status()) {
        let bytes = node_out(status.clone()).encode_to_vec();
        prop_assert_eq!(decode_node(&bytes), Ok(status));
    }

    #[test]
    fn every_domain_status_comes_back_as_itself(status in samples::domain_status()) {
        let bytes = domain_out(status.clone()).encode_to_vec();
        prop_assert_eq!(decode_domain(&bytes), Ok(status));
    }

    #[test]
    fn every_summary_comes_back_as_itself(summary in samples::summary()) {
        let bytes = summary_out(summary).encode_to_vec();
        prop_assert_eq!(decode_summary(&bytes), Ok(summary));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = decode_node(&bytes);
        let _ = decode_domain(&bytes);
        let _ = decode_summary(&bytes);
    }
}

#[test]
fn a_table_that_is_not_square_is_refused() {
    let row = proto::DomainRow {
        state: proto::NodeState::Ready.into(),
        evidence: proto::Evidence::Own.into(),
        ..Default::default()
    };
    let state = proto::DomainState::Down.into();
    let status = proto::DomainStatus { viewer: None, state, rows: vec![row], taken_at_ms: 0 };
    let error = FieldError::WrongCount { field: "row", found: 0, wanted: 1 };
    assert_eq!(decode_domain(&status.encode_to_vec()), Err(AnswerError::Field(error)));
}

#[test]
fn a_summary_cannot_count_more_nodes_than_there_are() {
    let state = proto::DomainState::Up.into();
    let summary = proto::DomainSummary { state, nodes: 2, ready: 3, complete: 0 };
    let error = FieldError::OutOfRange { field: "ready", found: 3, min: 0, max: 2 };
    assert_eq!(decode_summary(&summary.encode_to_vec()), Err(AnswerError::Field(error)));
}

#[test]
fn text_that_could_harm_a_terminal_is_refused() {
    let status = proto::NodeStatus {
        address: "10.0.0.1\u{1b}]0;x\u{7}".to_owned(),
        state: proto::NodeState::Ready.into(),
        ..Default::default()
    };
    let error = FieldError::NotPrintable { field: "address" };
    assert_eq!(decode_node(&status.encode_to_vec()), Err(AnswerError::Field(error)));
}
