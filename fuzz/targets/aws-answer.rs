#![no_main]
//! See [`imex_fuzz::aws_answer`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::aws_answer(data));
