#![no_main]
//! See [`imex_fuzz::peer_frame`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::peer_frame(data));
