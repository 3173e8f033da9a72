#![no_main]
//! See [`imex_fuzz::slurm_text`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| imex_fuzz::slurm_text(data));
