#![no_main]
//! See [`imex_fuzz::command_answer`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::command_answer(data));
