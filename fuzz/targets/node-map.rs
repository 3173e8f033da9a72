#![no_main]
//! See [`imex_fuzz::node_map`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::node_map(data));
