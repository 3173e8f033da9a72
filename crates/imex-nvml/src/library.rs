//! The calls into the library. All unsafe code of this crate is here.

use std::ffi::{CStr, c_char, c_uint};
use std::path::{Path, PathBuf};
use std::ptr;

use imex_clib::{Library as Loaded, LoadError};

use crate::error::NvmlError;
use crate::raw;

/// The library, loaded and initialised. It is shut down when dropped.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
    calls: Calls,
}

/// What a fabric call gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Info {
    /// The old struct.
    Plain(raw::FabricInfo),
    /// The one with a version; the health summary came with the third.
    Versioned(raw::FabricInfoV),
}

/// A GPU, as the library numbers it. It belongs to the library it came from, and is valid while that is initialised.
#[derive(Debug)]
pub(crate) struct Device<'l> {
    handle: raw::Device,
    _library: &'l Library,
}

#[derive(Debug)]
struct Calls {
    shutdown: raw::Init,
    count: raw::GetCount,
    handle: raw::GetHandle,
    uuid: raw::GetDeviceText,
    driver: raw::GetText,
    error_string: raw::ErrorString,
    fabric: Option<raw::GetFabric>,
    fabric_v: Option<raw::GetFabricV>,
}

impl Library {
    pub(crate) fn open(path: &Path) -> Result<Self, NvmlError> {
        #[expect(unsafe_code, reason = "loading a library runs its initialisers")]
        // SAFETY: whoever names the library answers for what it does when it is loaded; NVML's does nothing that the
        // rest of the program could see.
        let loaded = unsafe { Loaded::load(path) }.map_err(unusable)?;
        let symbols = Symbols(&loaded);
        let init: raw::Init = symbols.needed("nvmlInit_v2")?;
        let calls = Calls {
            shutdown: symbols.needed("nvmlShutdown")?,
            count: symbols.needed("nvmlDeviceGetCount_v2")?,
            handle: symbols.needed("nvmlDeviceGetHandleByIndex_v2")?,
            uuid: symbols.needed("nvmlDeviceGetUUID")?,
            driver: symbols.needed("nvmlSystemGetDriverVersion")?,
            error_string: symbols.needed("nvmlErrorString")?,
            fabric: symbols.wanted("nvmlDeviceGetGpuFabricInfo"),
            fabric_v: symbols.wanted("nvmlDeviceGetGpuFabricInfoV"),
        };
        if calls.fabric.is_none() && calls.fabric_v.is_none() {
            symbols.needed::<raw::GetFabricV>("nvmlDeviceGetGpuFabricInfoV")?;
        }
        #[expect(unsafe_code, reason = "a call into the library")]
        // SAFETY: it takes nothing, may be called at any time, and counts its callers.
        let code = unsafe { init() };
        calls.judge("nvmlInit_v2", code)?;
        Ok(Library { path: path.to_owned(), calls })
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    pub(crate) fn count(&self) -> Result<u32, NvmlError> {
        let mut count = 0;
        #[expect(unsafe_code, reason = "a call into the library")]
        // SAFETY: the library is initialised and writes one number to where the pointer shows.
        let code = unsafe { (self.calls.count)(&raw mut count) };
        self.calls.judge("nvmlDeviceGetCount_v2", code).map(|()| count)
    }

    pub(crate) fn device(&self, index: u32) -> Result<Device<'_>, NvmlError> {
        let mut handle = ptr::null_mut();
        #[expect(unsafe_code, reason = "a call into the library")]
        // SAFETY: the library is initialised and writes one pointer to where the pointer shows.
        let code = unsafe { (self.calls.handle)(index, &raw mut handle) };
        self.calls.judge("nvmlDeviceGetHandleByIndex_v2", code)?;
        Ok(Device { handle, _library: self })
    }

    pub(crate) fn uuid(&self, device: &Device<'_>) -> Result<String, NvmlError> {
        text(|buffer, length| {
            #[expect(unsafe_code, reason = "a call into the library")]
            // SAFETY: the handle is this library's, and it writes at most `length` bytes to `buffer`.
            let code = unsafe { (self.calls.uuid)(device.handle, buffer, length) };
            self.calls.judge("nvmlDeviceGetUUID", code)
        })
    }

    pub(crate) fn driver_version(&self) -> Result<String, NvmlError> {
        text(|buffer, length| {
            #[expect(unsafe_code, reason = "a call into the library")]
            // SAFETY: the library is initialised and writes at most `length` bytes to `buffer`.
            let code = unsafe { (self.calls.driver)(buffer, length) };
            self.calls.judge("nvmlSystemGetDriverVersion", code)
        })
    }

    /// What the GPU says of its fabric; `None` if it can have none. The newest struct that the library knows is used.
    pub(crate) fn fabric(&self, device: &Device<'_>) -> Result<Option<Info>, NvmlError> {
        let Some(call) = self.calls.fabric_v else {
            return self.plain_fabric(device, raw::FUNCTION_NOT_FOUND);
        };
        let mut code = raw::FUNCTION_NOT_FOUND;
        for version in raw::FABRIC_VERSIONS {
            let mut info = raw::FabricInfoV { version, ..raw::FabricInfoV::default() };
            #[expect(unsafe_code, reason = "a call into the library")]
            // SAFETY: the handle is this library's; the struct says its version, and every version fits into it.
            let answer = unsafe { call(device.handle, &raw mut info) };
            code = answer;
            match code {
                raw::SUCCESS => return Ok(Some(Info::Versioned(info))),
                raw::NOT_SUPPORTED => return Ok(None),
                raw::VERSION_MISMATCH | raw::INVALID_ARGUMENT => {}
                _ => break,
            }
        }
        match code {
            raw::FUNCTION_NOT_FOUND | raw::VERSION_MISMATCH | raw::INVALID_ARGUMENT => {
                self.plain_fabric(device, code)
            }
            _ => self.calls.judge("nvmlDeviceGetGpuFabricInfoV", code).map(|()| None),
        }
    }

    /// The call without a version. `before` is what the one with a version came to, for a library that has no other.
    fn plain_fabric(&self, device: &Device<'_>, before: raw::Return) -> Result<Option<Info>, NvmlError> {
        let Some(call) = self.calls.fabric else {
            return self.calls.judge("nvmlDeviceGetGpuFabricInfoV", before).map(|()| None);
        };
        let mut info = raw::FabricInfo::default();
        #[expect(unsafe_code, reason = "a call into the library")]
        // SAFETY: the handle is this library's, and the struct is the one that this call writes.
        let code = unsafe { call(device.handle, &raw mut info) };
        match code {
            raw::NOT_SUPPORTED => Ok(None),
            _ => self.calls.judge("nvmlDeviceGetGpuFabricInfo", code).map(|()| Some(Info::Plain(info))),
        }
    }

    /// What the library says of one of its results.
    pub(crate) fn text(&self, code: u32) -> String {
        self.calls.text(raw::Return::try_from(code).unwrap_or(raw::Return::MAX))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "a call into the library")]
        // SAFETY: the library was initialised, and no device outlives the borrow of it. What it answers changes nothing.
        let _ = unsafe { (self.calls.shutdown)() };
    }
}

impl Calls {
    fn judge(&self, call: &'static str, code: raw::Return) -> Result<(), NvmlError> {
        if code == raw::SUCCESS {
            return Ok(());
        }
        Err(NvmlError::Call { call, code: code.unsigned_abs(), said: self.text(code) })
    }

    fn text(&self, code: raw::Return) -> String {
        #[expect(unsafe_code, reason = "a call into the library, and a text of its")]
        // SAFETY: any number may be asked for, at any time. The text is the library's own, ends with a zero byte and lives
        // as long as the library, which outlives this call.
        let said = unsafe {
            let text = (self.error_string)(code);
            if text.is_null() { None } else { Some(CStr::from_ptr(text).to_string_lossy().into_owned()) }
        };
        said.unwrap_or_else(|| format!("result {code}"))
    }
}

/// Where calls are looked up.
struct Symbols<'l>(&'l Loaded);

impl Symbols<'_> {
    fn needed<F: Copy>(&self, name: &'static str) -> Result<F, NvmlError> {
        #[expect(unsafe_code, reason = "a symbol has no type; the caller's is taken for it")]
        // SAFETY: the names are NVML's, and `raw` gives each the type that `nvml.h` gives it.
        let found = unsafe { self.0.function(name) };
        found.map_err(unusable)
    }

    fn wanted<F: Copy>(&self, name: &'static str) -> Option<F> {
        self.needed(name).ok()
    }
}

fn unusable(error: LoadError) -> NvmlError {
    match error {
        LoadError::Library { library, source } => NvmlError::Missing { library, source },
        LoadError::Function { library, function, .. } => NvmlError::TooOld { library, symbol: function },
    }
}

/// A text that a call writes into a buffer.
fn text(fill: impl FnOnce(*mut c_char, c_uint) -> Result<(), NvmlError>) -> Result<String, NvmlError> {
    let mut buffer = [0_u8; raw::TEXT as usize];
    fill(buffer.as_mut_ptr().cast(), raw::TEXT)?;
    // A text that fills its buffer without an end is cut, not read on.
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    Ok(String::from_utf8_lossy(&buffer[..end]).into_owned())
}
