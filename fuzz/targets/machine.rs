#![no_main]
//! See [`imex_fuzz::machine`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::machine(data));
