//! The calls. All unsafe code of this crate is here: a C library is given pointers and must believe them.

#![expect(unsafe_code, reason = "a C library exports symbols and writes to what its callers point at")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::config::{Config, Gpu};

const SUCCESS: c_int = 0;
const UNINITIALIZED: c_int = 1;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const INSUFFICIENT_SIZE: c_int = 7;
const DRIVER_NOT_LOADED: c_int = 9;
const FUNCTION_NOT_FOUND: c_int = 13;
const VERSION_MISMATCH: c_int = 25;

/// What is pretended since the last initialisation.
static CONFIG: Mutex<Option<Config>> = Mutex::new(None);

/// A result as a number to answer with.
type Answer = Result<(), c_int>;

/// `nvmlInit_v2`.
#[unsafe(export_name = "nvmlInit_v2")]
extern "C" fn init() -> c_int {
    let config = Config::read();
    let answer = match &config {
        None => DRIVER_NOT_LOADED,
        Some(config) => {
            thread::sleep(config.slow);
            config.error("nvmlInit_v2").unwrap_or(SUCCESS)
        }
    };
    if answer == SUCCESS {
        *CONFIG.lock().unwrap_or_else(PoisonError::into_inner) = config;
    }
    answer
}

/// `nvmlShutdown`.
#[unsafe(export_name = "nvmlShutdown")]
extern "C" fn shutdown() -> c_int {
    call("nvmlShutdown", |_| Ok(()))
}

/// `nvmlSystemGetDriverVersion`.
///
/// # Safety
///
/// `text` points to `length` bytes.
#[unsafe(export_name = "nvmlSystemGetDriverVersion")]
unsafe extern "C" fn driver_version(text: *mut c_char, length: c_uint) -> c_int {
    call("nvmlSystemGetDriverVersion", |config| {
        // SAFETY: the caller's promise.
        unsafe { write_text(&config.driver, text, length) }
    })
}

/// `nvmlDeviceGetCount_v2`.
///
/// # Safety
///
/// `count` points to a number.
#[unsafe(export_name = "nvmlDeviceGetCount_v2")]
unsafe extern "C" fn count(count: *mut c_uint) -> c_int {
    call("nvmlDeviceGetCount_v2", |config| {
        // SAFETY: the caller's promise.
        unsafe { write(count, c_uint::try_from(config.gpus.len()).unwrap_or(c_uint::MAX)) }
    })
}

/// `nvmlDeviceGetHandleByIndex_v2`. A handle is the index plus one, so that none is null.
///
/// # Safety
///
/// `device` points to a pointer.
#[unsafe(export_name = "nvmlDeviceGetHandleByIndex_v2")]
unsafe extern "C" fn handle(index: c_uint, device: *mut *mut c_void) -> c_int {
    call("nvmlDeviceGetHandleByIndex_v2", |config| {
        let index = usize::try_from(index).map_err(|_| INVALID_ARGUMENT)?;
        if index >= config.gpus.len() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        unsafe { write(device, ptr::without_provenance_mut(index + 1)) }
    })
}

/// `nvmlDeviceGetUUID`.
///
/// # Safety
///
/// `text` points to `length` bytes.
#[unsafe(export_name = "nvmlDeviceGetUUID")]
unsafe extern "C" fn uuid(device: *mut c_void, text: *mut c_char, length: c_uint) -> c_int {
    call("nvmlDeviceGetUUID", |config| {
        gpu(config, device)?;
        // SAFETY: the caller's promise.
        unsafe { write_text(&format!("GPU-fake0000-0000-0000-0000-{:012x}", device.addr()), text, length) }
    })
}

/// `nvmlDeviceGetGpuFabricInfo`: the struct without a version.
///
/// # Safety
///
/// `info` points to the struct.
#[unsafe(export_name = "nvmlDeviceGetGpuFabricInfo")]
unsafe extern "C" fn fabric_info(device: *mut c_void, info: *mut FabricInfo) -> c_int {
    call("nvmlDeviceGetGpuFabricInfo", |config| match gpu(config, device)? {
        Gpu::None => Err(NOT_SUPPORTED),
        Gpu::Fabric { cluster, clique, state, status, .. } => {
            // SAFETY: the caller's promise.
            unsafe { write(info, FabricInfo { cluster, status, clique, state }) }
        }
    })
}

/// `nvmlDeviceGetGpuFabricInfoV`: the struct says its version.
///
/// # Safety
///
/// `info` points to a struct of the version that it says.
#[unsafe(export_name = "nvmlDeviceGetGpuFabricInfoV")]
unsafe extern "C" fn fabric_info_v(device: *mut c_void, info: *mut c_uint) -> c_int {
    call("nvmlDeviceGetGpuFabricInfoV", |config| {
        if config.api < 2 {
            return Err(FUNCTION_NOT_FOUND);
        }
        if info.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: every version begins with its number.
        let version = unsafe { info.read() };
        let Gpu::Fabric { cluster, clique, state, status, mask, summary } = gpu(config, device)? else {
            return Err(NOT_SUPPORTED);
        };
        let old = FabricInfoV2 { version, cluster, status, clique, state, mask };
        match (version, config.api) {
            // SAFETY: the caller said that it is this version.
            (FabricInfoV2::VERSION, _) => unsafe { write(info.cast(), old) },
            // SAFETY: likewise.
            (FabricInfoV3::VERSION, 3..) => unsafe { write(info.cast(), FabricInfoV3 { old, summary }) },
            _ => Err(VERSION_MISMATCH),
        }
    })
}

/// `nvmlErrorString`.
#[unsafe(export_name = "nvmlErrorString")]
extern "C" fn error_string(code: c_int) -> *const c_char {
    let text: &CStr = match code {
        SUCCESS => c"fake: The operation was successful",
        UNINITIALIZED => c"fake: Not initialized",
        INVALID_ARGUMENT => c"fake: Invalid argument",
        NOT_SUPPORTED => c"fake: Not supported",
        DRIVER_NOT_LOADED => c"fake: Driver not loaded",
        FUNCTION_NOT_FOUND => c"fake: Function not found",
        15 => c"fake: GPU is lost",
        23 => c"fake: Insufficient resources",
        VERSION_MISMATCH => c"fake: Version of argument not known",
        _ => c"fake: Some other error",
    };
    text.as_ptr()
}

#[repr(C)]
struct FabricInfo {
    cluster: [u8; 16],
    status: c_uint,
    clique: u32,
    state: u8,
}

#[repr(C)]
struct FabricInfoV2 {
    version: c_uint,
    cluster: [u8; 16],
    status: c_uint,
    clique: u32,
    state: u8,
    mask: u32,
}

#[repr(C)]
struct FabricInfoV3 {
    old: FabricInfoV2,
    summary: u8,
}

impl FabricInfoV2 {
    const VERSION: c_uint = 36 | 2 << 24;
}

impl FabricInfoV3 {
    const VERSION: c_uint = 40 | 3 << 24;
}

const _: () = assert!(size_of::<FabricInfo>() == 28 && size_of::<FabricInfoV2>() == 36);
const _: () = assert!(size_of::<FabricInfoV3>() == 40);

/// Answers a call as the file says, or else as `answer` does.
fn call(name: &str, answer: impl FnOnce(&Config) -> Answer) -> c_int {
    let config = CONFIG.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(config) = config else { return UNINITIALIZED };
    thread::sleep(config.slow);
    let answer = match config.error(name) {
        Some(code) => Err(code),
        None => answer(&config),
    };
    answer.err().unwrap_or(SUCCESS)
}

fn gpu(config: &Config, device: *mut c_void) -> Result<Gpu, c_int> {
    let index = device.addr().checked_sub(1);
    index.and_then(|index| config.gpus.get(index).copied()).ok_or(INVALID_ARGUMENT)
}

/// Writes `value` to `place`.
///
/// # Safety
///
/// `place` is null or points to a `T`.
unsafe fn write<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: it is not null, and the caller promises the rest.
    unsafe { place.write(value) };
    Ok(())
}

/// Writes `text` and a zero byte.
///
/// # Safety
///
/// `place` is null or points to `length` bytes.
unsafe fn write_text(text: &str, place: *mut c_char, length: c_uint) -> Answer {
    if place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= usize::try_from(length).unwrap_or(0) {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the text and its zero byte are no longer than `length`.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), text.len());
        place.add(text.len()).write(0);
    }
    Ok(())
}
