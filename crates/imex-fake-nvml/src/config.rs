//! The file that says what to pretend.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Where the file is if the environment does not say.
const DEFAULT_FILE: &str = "/etc/imex-fake-nvml.conf";

/// The environment variable that names the file.
const VARIABLE: &str = "IMEX_FAKE_NVML";

/// What to pretend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) driver: String,
    pub(crate) gpus: Vec<Gpu>,
    /// The newest version of the fabric struct.
    pub(crate) api: u32,
    pub(crate) slow: Duration,
    /// A call, or none for the first one, and what it answers.
    pub(crate) errors: Vec<(Option<String>, i32)>,
}

/// A GPU, in the library's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gpu {
    /// It knows no fabric.
    None,
    /// It is attached, or could be.
    Fabric { cluster: [u8; 16], clique: u32, state: u8, status: u32, mask: u32, summary: u8 },
}

impl Default for Config {
    fn default() -> Self {
        Config {
            driver: "fake".to_owned(),
            gpus: Vec::new(),
            api: 3,
            slow: Duration::ZERO,
            errors: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the file; `None` if there is none. A line that cannot be understood ends the process: a test that pretends
    /// something else than it wants proves nothing.
    pub(crate) fn read() -> Option<Self> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a C library has no other way to be told; this is the one place"
        )]
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        let text = fs::read_to_string(named.unwrap_or_else(|| DEFAULT_FILE.into())).ok()?;
        match Config::parse(&text) {
            Ok(config) => Some(config),
            Err(line) => {
                #[expect(clippy::print_stderr, reason = "the last words of a broken test")]
                {
                    eprintln!("fake NVML: cannot understand `{line}`");
                }
                std::process::abort();
            }
        }
    }

    /// Reads a text, or gives back the line that cannot be understood.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut config = Config::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            config.take(&words).ok_or_else(|| line.to_owned())?;
        }
        Ok(config)
    }

    fn take(&mut self, words: &[&str]) -> Option<()> {
        match words {
            [] => {}
            ["driver", version] => self.driver = (*version).to_owned(),
            ["gpu", "none"] => self.gpus.push(Gpu::None),
            ["gpu", cluster, clique, state, rest @ ..] => {
                self.gpus.push(gpu(uuid(cluster)?, clique.parse().ok()?, self::state(state)?, rest)?);
            }
            ["api", version] => {
                self.api = version.parse().ok().filter(|version| (1..=3).contains(version))?
            }
            ["slow", milliseconds] => self.slow = Duration::from_millis(milliseconds.parse().ok()?),
            ["error", code] => self.errors.push((None, code.parse().ok()?)),
            ["error", call, code] => self.errors.push((Some((*call).to_owned()), code.parse().ok()?)),
            _ => return None,
        }
        Some(())
    }

    /// What this call is to answer instead of what it would.
    pub(crate) fn error(&self, call: &str) -> Option<i32> {
        let meant = |name: &Option<String>| name.as_deref().unwrap_or("nvmlInit_v2") == call;
        self.errors.iter().find(|(name, _)| meant(name)).map(|(_, code)| *code)
    }
}

fn gpu(cluster: [u8; 16], clique: u32, state: u8, rest: &[&str]) -> Option<Gpu> {
    /// All four flags good, nothing set up wrongly.
    const WELL: u32 = 0x1AA;
    let (status, mask, summary) = match rest {
        [] => ("success", WELL, "healthy"),
        [status] => (*status, WELL, "healthy"),
        [status, mask, summary] => (*status, number(mask)?, *summary),
        _ => return None,
    };
    let status = if status == "success" { 0 } else { status.parse().ok()? };
    let summary = match summary {
        "healthy" => 1,
        "unhealthy" => 2,
        "limited" => 3,
        _ => return None,
    };
    Some(Gpu::Fabric { cluster, clique, state, status, mask, summary })
}

fn state(word: &str) -> Option<u8> {
    let words = ["not-supported", "not-started", "in-progress", "completed"];
    words.iter().position(|known| *known == word).and_then(|state| u8::try_from(state).ok())
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let groups = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let number =
        u128::from_str_radix(&text.replace('-', ""), 16).ok().filter(|_| groups && text.is_ascii())?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_means_what_the_documentation_says() {
        let text = "driver 595.45.04 # a comment\n\ngpu 01000000-0000-0000-0000-000000000002 7 completed\n\
                    gpu 01000000-0000-0000-0000-000000000002 7 completed 23 0x1a9 unhealthy\n\
                    gpu none\napi 2\nslow 500\nerror nvmlShutdown 1\nerror 9\n";
        let config = Config::parse(text).unwrap();
        let mut cluster = [0; 16];
        (cluster[0], cluster[15]) = (1, 2);
        let well = Gpu::Fabric { cluster, clique: 7, state: 3, status: 0, mask: 0x1AA, summary: 1 };
        let ill = Gpu::Fabric { cluster, clique: 7, state: 3, status: 23, mask: 0x1A9, summary: 2 };
        assert_eq!(config.gpus, [well, ill, Gpu::None]);
        assert_eq!((config.driver.as_str(), config.api, config.slow.as_millis()), ("595.45.04", 2, 500));
        assert_eq!((config.error("nvmlInit_v2"), config.error("nvmlShutdown")), (Some(9), Some(1)));
        assert_eq!(config.error("nvmlDeviceGetCount_v2"), None);
    }

    #[test]
    fn a_line_that_is_not_understood_is_given_back() {
        for wrong in ["gpu x 7 completed", "gpu none 7", "api 4", "slow soon", "error", "what else"] {
            assert_eq!(Config::parse(wrong), Err(wrong.to_owned()));
        }
    }
}
