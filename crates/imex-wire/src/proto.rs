//! The generated protobuf types and gRPC stubs, unchecked. [`crate::peer`] and [`crate::command`] stand between
//! them and everybody else.

#[expect(
    missing_docs,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::too_many_lines,
    clippy::missing_const_for_fn,
    reason = "generated code"
)]
mod v1 {
    tonic::include_proto!("imex.v1");
}

pub use v1::*;
