#![no_main]
//! See [`imex_fuzz::auth_message`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::auth_message(data));
