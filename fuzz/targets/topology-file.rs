#![no_main]
//! See [`imex_fuzz::topology_file`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::topology_file(data));
