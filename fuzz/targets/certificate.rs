#![no_main]
//! See [`imex_fuzz::certificate`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::certificate(data));
