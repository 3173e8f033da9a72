//! A fake of NVIDIA's management library, for tests and for racks without a GPU. It says so wherever it can: its driver
//! is called `fake` unless its file says otherwise, its GPUs are `GPU-fake…`, its errors begin with `fake:`.
//!
//! It is built as `target/debug/libimex_fake_nvml.so` (`cargo build -p imex-fake-nvml`). Put it in the way of a program as
//! `libnvidia-ml.so.1` in a folder of the library path, or name it to one that takes the library's path.
//!
//! What it pretends is written in the file that the environment variable `IMEX_FAKE_NVML` names, else in
//! `/etc/imex-fake-nvml.conf`. It is read anew at each `nvmlInit_v2`; without a file there is no driver. Its lines, in any
//! order, `#` for comments:
//!
//! ```text
//! driver 595.45.04
//! gpu 5b1e6f4e-8d3a-4c0b-9a52-0123456789ab 7 completed success
//! gpu 5b1e6f4e-8d3a-4c0b-9a52-0123456789ab 7 completed 23 0x1a9 unhealthy
//! gpu 00000000-0000-0000-0000-000000000000 0 in-progress
//! gpu none
//! api 2
//! slow 500
//! error 9
//! error nvmlDeviceGetCount_v2 15
//! ```
//!
//! A GPU is cluster UUID, clique id, state (`not-supported`, `not-started`, `in-progress`, `completed`), status (`success`
//! or an `nvmlReturn_t`; left out it is success), health mask and summary (`healthy`, `unhealthy`, `limited`; left out, all
//! is well); `none` is a GPU that knows no fabric. `api` is the newest version of the fabric struct that the library
//! knows, 1 to 3. `slow` delays every call by so many milliseconds. `error` alone is the answer to `nvmlInit_v2`, with a
//! call's name that of this call.

mod config;
mod exports;
