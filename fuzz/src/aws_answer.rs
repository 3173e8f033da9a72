//! What EC2, PCS, the metadata service and whatever answers in their place may send.

use imex_aws::{Credentials, Profiles, ec2, pcs};

/// Bytes are refused, or they are an answer of one kind whose parts can be asked about further: no id is empty, and no
/// page names a next one without a name.
pub fn aws_answer(bytes: &[u8]) {
    let mut kinds = 0;
    if let Ok(page) = ec2::parse::instance_topology(bytes) {
        kinds += 1;
        assert!(page.items.iter().all(|one| !one.instance_id.is_empty()));
        assert_ne!(page.next.as_deref(), Some(""));
    }
    if let Ok(page) = ec2::parse::instances(bytes) {
        kinds += 1;
        assert!(page.items.iter().all(|one| !one.id.is_empty() && !one.state.is_empty()));
    }
    if let Ok(page) = ec2::parse::capacity_blocks(bytes) {
        kinds += 1;
        assert!(page.items.iter().all(|one| !one.id.is_empty()));
    }
    kinds += usize::from(ec2::parse::launch_template(bytes).is_ok());
    kinds += usize::from(ec2::parse::error(bytes).is_some());
    assert!(kinds <= 1, "an answer of EC2 is of one kind");

    if let Ok(list) = pcs::parse::queue_list(bytes) {
        assert_ne!(list.next.as_deref(), Some(""));
    }
    if let Some(refusal) = pcs::parse::error(bytes) {
        assert!(!refusal.code.is_empty());
    }
    // Nothing more can be said of these than that reading them ends.
    let _ = (pcs::parse::node_group_list(bytes), pcs::parse::queue(bytes), pcs::parse::node_group(bytes));
    if let Ok(credentials) = Credentials::parse(bytes) {
        assert!(
            credentials.access_key_id().bytes().all(|byte| byte.is_ascii_graphic()),
            "it can stand in a header"
        );
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Profiles::parse(text, text);
    }
}
