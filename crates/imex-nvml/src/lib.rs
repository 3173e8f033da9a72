//! What NVIDIA's management library (NVML, `libnvidia-ml.so.1`) says of this machine's GPUs and their NVLink fabric.
//!
//! The library comes with the driver and is not there on other machines, so it is opened when it is wanted. A library
//! that is not there, one that is too old to know of fabrics, and one whose calls fail are three different answers.
//!
//! [`ask`] is what programs want: everything at once, within a deadline, because a library may wait for a GPU that has
//! fallen off its bus. [`Nvml`] is the open library, for whoever asks more than once.
//!
//! This crate calls C, so it is small and does nothing else: what the answers mean is [`imex_host::fabric`]'s. The
//! layouts and numbers are those of `nvml.h` as its documentation gives them ("NVML API Reference", the chapters Device
//! Queries, `nvmlGpuFabricInfo_t` and its versions, and `nvmlReturn_t`).

mod error;
mod library;
mod meaning;
mod raw;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use imex_host::health::FabricHealth;
use imex_host::{GpuFabric, GpuFabrics};
use serde::Serialize;

pub use error::NvmlError;

use library::Library;

/// The library's name, looked for as the system looks for libraries. The one without `.1` is there only where the
/// driver's development files are.
pub const DEFAULT_LIBRARY: &str = "libnvidia-ml.so.1";

/// More GPUs than a machine has, by far; a library that says more is broken.
const MOST_GPUS: u32 = 1024;

/// Everything that is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The driver's version, as `595.45.04`.
    pub driver: String,
    /// The GPUs, by index.
    pub gpus: Vec<Gpu>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// Its own identity, `GPU-` and a UUID.
    pub uuid: String,
    /// Its fabric; the GPU is named by its index.
    pub fabric: GpuFabric,
    /// How the fabric fares, where the library tells: since driver 550 or so.
    pub health: Option<FabricHealth>,
}

/// The library, open and initialised.
#[derive(Debug)]
pub struct Nvml {
    library: Library,
}

/// Opens `library`, as a rule [`DEFAULT_LIBRARY`], and asks everything.
///
/// It is done on a thread of its own. If that does not end in time it is left behind: nothing can end a call into the
/// library.
///
/// # Errors
///
/// If the library is missing, too old, fails, or does not answer `within` the time.
pub fn ask(library: &Path, within: Duration) -> Result<Answer, NvmlError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let path = library.to_owned();
    let asking = move || {
        // Nobody listens any more if it took too long.
        let _ = sender.send(Nvml::open(&path).and_then(|nvml| nvml.answer()));
    };
    let started = thread::Builder::new().name("nvml".to_owned()).spawn(asking);
    started.map_err(NvmlError::Thread)?;
    receiver
        .recv_timeout(within)
        .unwrap_or_else(|_| Err(NvmlError::Overdue { library: library.to_owned(), after: within }))
}

impl Nvml {
    /// Opens `library`, as a rule [`DEFAULT_LIBRARY`].
    ///
    /// # Errors
    ///
    /// If it is missing or too old, or finds no driver.
    pub fn open(library: &Path) -> Result<Self, NvmlError> {
        Ok(Nvml { library: Library::open(library)? })
    }

    /// Everything at once.
    ///
    /// # Errors
    ///
    /// If a call fails.
    pub fn answer(&self) -> Result<Answer, NvmlError> {
        Ok(Answer { driver: self.driver_version()?, gpus: self.gpus()? })
    }

    /// The driver's version, as `595.45.04`.
    ///
    /// # Errors
    ///
    /// If the call fails.
    pub fn driver_version(&self) -> Result<String, NvmlError> {
        self.library.driver_version()
    }

    /// The GPUs, by index.
    ///
    /// # Errors
    ///
    /// If a call fails. A GPU without a fabric is not an error.
    pub fn gpus(&self) -> Result<Vec<Gpu>, NvmlError> {
        let count = self.library.count()?;
        if count > MOST_GPUS {
            return Err(NvmlError::Malformed { what: "number of GPUs", found: count.to_string() });
        }
        (0..count).map(|index| self.gpu(index)).collect()
    }

    fn gpu(&self, index: u32) -> Result<Gpu, NvmlError> {
        let device = self.library.device(index)?;
        let uuid = self.library.uuid(&device)?;
        let info = self.library.fabric(&device)?;
        let health = info.as_ref().and_then(meaning::health);
        let fabric = meaning::fabric(index, info, |code| self.library.text(code))?;
        Ok(Gpu { uuid, fabric, health })
    }

    /// The file or name that it was opened by.
    pub fn path(&self) -> &PathBuf {
        self.library.path()
    }
}

impl GpuFabrics for Nvml {
    type Error = NvmlError;

    fn gpu_fabrics(&self) -> Result<Vec<GpuFabric>, NvmlError> {
        Ok(self.gpus()?.into_iter().map(|gpu| gpu.fabric).collect())
    }
}
