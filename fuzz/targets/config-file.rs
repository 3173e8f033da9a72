#![no_main]
//! See [`imex_fuzz::config_file`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::config_file(data));
