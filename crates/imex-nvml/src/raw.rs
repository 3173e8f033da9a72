//! The library's types and numbers, as `nvml.h` lays them out. Nothing here is called.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `nvmlDevice_t`: a pointer that means something to the library alone.
pub(crate) type Device = *mut c_void;

/// `nvmlReturn_t`. It is read as a number: a C enumeration may hold what this list does not.
pub(crate) type Return = c_int;

/// `NVML_SUCCESS`.
pub(crate) const SUCCESS: Return = 0;
/// `NVML_ERROR_INVALID_ARGUMENT`.
pub(crate) const INVALID_ARGUMENT: Return = 2;
/// `NVML_ERROR_NOT_SUPPORTED`: this GPU has no fabric.
pub(crate) const NOT_SUPPORTED: Return = 3;
/// `NVML_ERROR_FUNCTION_NOT_FOUND`.
pub(crate) const FUNCTION_NOT_FOUND: Return = 13;
/// `NVML_ERROR_ARGUMENT_VERSION_MISMATCH`: the library does not know this version of a struct.
pub(crate) const VERSION_MISMATCH: Return = 25;

/// `NVML_DEVICE_UUID_V2_BUFFER_SIZE`; the driver's version needs 80.
pub(crate) const TEXT: c_uint = 96;

pub(crate) type Init = unsafe extern "C" fn() -> Return;
pub(crate) type GetCount = unsafe extern "C" fn(*mut c_uint) -> Return;
pub(crate) type GetHandle = unsafe extern "C" fn(c_uint, *mut Device) -> Return;
pub(crate) type GetText = unsafe extern "C" fn(*mut c_char, c_uint) -> Return;
pub(crate) type GetDeviceText = unsafe extern "C" fn(Device, *mut c_char, c_uint) -> Return;
pub(crate) type ErrorString = unsafe extern "C" fn(Return) -> *const c_char;
pub(crate) type GetFabricV = unsafe extern "C" fn(Device, *mut FabricInfoV) -> Return;
pub(crate) type GetFabric = unsafe extern "C" fn(Device, *mut FabricInfo) -> Return;

/// `nvmlGpuFabricInfo_t`, for `nvmlDeviceGetGpuFabricInfo` (since driver 535).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FabricInfo {
    pub(crate) cluster_uuid: [u8; 16],
    pub(crate) status: c_uint,
    pub(crate) clique_id: u32,
    pub(crate) state: u8,
}

/// `nvmlGpuFabricInfo_v3_t`, for `nvmlDeviceGetGpuFabricInfoV` (since driver 550). Version 2 is the same without the last
/// field; the caller's `version` tells the library which one it may write.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FabricInfoV {
    pub(crate) version: c_uint,
    pub(crate) cluster_uuid: [u8; 16],
    pub(crate) status: c_uint,
    pub(crate) clique_id: u32,
    pub(crate) state: u8,
    pub(crate) health_mask: u32,
    pub(crate) health_summary: u8,
}

/// The versions of [`FabricInfoV`], the newest first: the size of the struct, and the version from bit 24 on.
pub(crate) const FABRIC_VERSIONS: [c_uint; 2] = [40 | 3 << 24, 36 | 2 << 24];

const _: () = {
    assert!(size_of::<FabricInfo>() == 28);
    assert!(size_of::<FabricInfoV>() == 40);
    assert!(std::mem::offset_of!(FabricInfoV, health_mask) == 32);
    assert!(std::mem::offset_of!(FabricInfoV, health_summary) == 36);
};
