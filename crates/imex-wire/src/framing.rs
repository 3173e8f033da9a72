//! gRPC message framing.
