//! What links cost when nothing else is done: the baseline of `cargo xtask bench`, and this crate's own links beside
//! it.
//!
//! In one process, n listeners and n × n diallers; each opens one stream and one message goes each way. `tonic` is
//! the ordinary client and server of the tonic library with Nagle's algorithm off, `imex` is this crate. Then one
//! link carries pings to and fro. One line per run, or JSON with `--json`:
//!
//! ```text
//! cargo run --release -p imex-wire --example bare_links -- [--json] [tonic|imex] [N]...
//! ```

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "bare_links/ours.rs"]
mod ours;
#[path = "bare_links/tonics.rs"]
mod tonics;

/// What one run found.
#[derive(Debug)]
struct Figures {
    wall: Duration,
    cpu: Duration,
    rss_bytes: u64,
    /// Wall and processor time of one ping and its answer.
    ping: (Duration, Duration),
}

/// How many pings are timed on an open link.
const PINGS: u32 = 20_000;

/// The sizes that are measured if none is named.
const SIZES: [&str; 3] = ["18", "36", "72"];

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    if let [one, kind, size] = words.as_slice()
        && one == "one"
    {
        return run_one(kind, size.parse()?);
    }
    let is_size = |word: &&str| word.parse::<usize>().is_ok();
    let named: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut sizes: Vec<&str> = named.iter().copied().filter(is_size).collect();
    if sizes.is_empty() {
        sizes = SIZES.to_vec();
    }
    let kinds = ["tonic", "imex"].into_iter().filter(|kind| {
        let chosen = named.iter().any(|word| ["tonic", "imex"].contains(word));
        !chosen || named.contains(kind)
    });
    let kinds: Vec<&str> = kinds.collect();
    let mut out = io::stdout().lock();
    for size in sizes {
        for kind in &kinds {
            // A process each, so that one run's memory is not counted for the next.
            let run = Command::new(env::current_exe()?).args(["one", kind, size]).output()?;
            if !run.status.success() {
                return Err(String::from_utf8_lossy(&run.stderr).into_owned().into());
            }
            if named.contains(&"--json") {
                out.write_all(&run.stdout)?;
            } else {
                let line = String::from_utf8(run.stdout)?;
                writeln!(out, "{}", line.trim().replace(['{', '}', '"'], "").replace(',', "  "))?;
            }
        }
    }
    Ok(())
}

fn run_one(kind: &str, size: usize) -> Result<(), Failure> {
    // Two threads for either kind: the machine for which the numbers are stated has two cores.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let figures = runtime.block_on(async {
        if kind == "tonic" { tonics::measure(size).await } else { ours::measure(size).await }
    })?;
    let links = u32::try_from(size * size)?;
    let Figures { wall, cpu, rss_bytes, ping } = figures;
    writeln!(
        io::stdout(),
        "{{\"kind\":\"{kind}\",\"nodes\":{size},\"links\":{links},\"wall_ms\":{:.1},\"wall_us_per_link\":{:.0},\"cpu_us_per_link\":{:.0},\"rss_kib_per_link\":{:.1},\"ping_pong_us\":{:.1},\"ping_pong_cpu_us\":{:.1}}}",
        wall.as_secs_f64() * 1e3,
        (wall / links).as_secs_f64() * 1e6,
        (cpu / links).as_secs_f64() * 1e6,
        rss_bytes as f64 / 1024.0 / f64::from(links),
        ping.0.as_secs_f64() * 1e6,
        ping.1.as_secs_f64() * 1e6,
    )?;
    Ok(())
}

/// A stopwatch for the three costs of opening links.
struct Meter {
    started: Instant,
    cpu: Duration,
    rss: u64,
}

impl Meter {
    fn start() -> Result<Self, Failure> {
        Ok(Meter { cpu: cpu_time()?, rss: rss_bytes()?, started: now() })
    }

    fn stop(self) -> Result<(Duration, Duration, u64), Failure> {
        let wall = self.started.elapsed();
        Ok((wall, cpu_time()? - self.cpu, rss_bytes()?.saturating_sub(self.rss)))
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

fn rss_bytes() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.ok_or("no VmRSS")?.parse::<u64>()? * 1024)
}

/// User and system time of this process, at the scheduler's resolution.
fn cpu_time() -> Result<Duration, Failure> {
    let mut nanos = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let sched = fs::read_to_string(task?.path().join("schedstat"))?;
        let on_cpu = sched.split_whitespace().next().ok_or("no schedstat")?;
        nanos += on_cpu.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanos))
}
