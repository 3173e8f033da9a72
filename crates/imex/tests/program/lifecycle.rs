//! `imex topology apply`, `verify` and `watch` against a controller that behaves badly on purpose.

mod apply;
mod golden;
mod killed;
mod site;
mod watch;
