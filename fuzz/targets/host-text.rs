#![no_main]
//! See [`imex_fuzz::host_text`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::host_text(data));
