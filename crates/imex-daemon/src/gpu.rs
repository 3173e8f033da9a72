//! Whether this machine has a GPU driver that the daemon can serve.

use std::path::Path;

use imex_core::Hello;

use crate::failure::StartError;

/// Where a loaded NVIDIA driver shows its version.
const DRIVER_VERSION: &str = "/proc/driver/nvidia/version";

/// Whether memory is to be exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GpuMode {
    /// A driver is needed.
    WithDriver,
    /// `--nogpu`: the domain forms, no memory is exchanged.
    NoGpu,
}

impl GpuMode {
    /// What the command line asks for.
    pub(crate) fn from_nogpu(nogpu: bool) -> Self {
        if nogpu { GpuMode::NoGpu } else { GpuMode::WithDriver }
    }

    /// The driver version to introduce this daemon with, or why it cannot serve.
    pub(crate) fn driver_version(self) -> Result<&'static str, StartError> {
        self.driver_version_from(Path::new(DRIVER_VERSION))
    }

    fn driver_version_from(self, file: &Path) -> Result<&'static str, StartError> {
        match self {
            GpuMode::NoGpu => Ok(Hello::NO_GPU),
            GpuMode::WithDriver if file.exists() => Err(StartError::UnsupportedDriver),
            GpuMode::WithDriver => Err(StartError::NoDriver),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_nogpu_the_refusal_says_whether_there_is_a_driver() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("version");
        let ask = |mode: GpuMode| mode.driver_version_from(&file);
        assert!(matches!(ask(GpuMode::WithDriver), Err(StartError::NoDriver)));
        std::fs::write(&file, "NVRM version: …").unwrap();
        assert!(matches!(ask(GpuMode::WithDriver), Err(StartError::UnsupportedDriver)));
        assert!(matches!(ask(GpuMode::NoGpu), Ok("NO_GPU")));
    }
}
