//! The real `imexctl` against command services that are fakes: every invocation and what it prints.

use imex_ctl as _;
use insta as _;

mod fake;
mod live;
mod misuse;
mod one_daemon;
mod rig;
#[path = "../../src/sample.rs"]
mod sample;
mod whole_domain;
