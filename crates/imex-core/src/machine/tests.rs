//! Stories of one node, told input by input. Whole clusters are in the simulator.

use std::time::Duration;

use super::*;
use crate::action::CleanUpReason;
use crate::cause::Unreachable;
use crate::hello::{Introduction, PROTOCOL_VERSION};
use crate::input::{Answer, Closure, DialFailure, Source, StreamId};
use crate::{BootId, DomainToken, Grace, PeerMessage};

mod authentication;
mod bench_node;
mod losses;
mod meetings;
mod properties;
mod refusals;
mod reports;
mod tables;

use bench_node::{BenchNode, far_hello, node};
