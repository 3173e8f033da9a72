//! C libraries that are looked for when they are wanted: MIT Kerberos, MUNGE and NVML are needed by few, and a program that
//! was linked with them would not start without them.
//!
//! A library stays loaded until the program ends. Unloading one whose functions other threads have called would leave
//! these with destructors of thread-specific data (pthread_key_create(3)) that are no longer there: libkrb5 has such.
//! So functions that were found hold for good, wherever they are kept.
//!
//! This crate knows no library. What a function's type is, and whether the library may be loaded at all, only the caller
//! can say, so its two calls are `unsafe`.

use std::ffi::OsStr;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

pub use libloading::Error as SystemError;
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use thiserror::Error;

/// A library that was loaded.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    loaded: ManuallyDrop<Loaded>,
}

/// Why a library cannot be used.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It, or one that it needs, is not there or cannot be loaded.
    #[error("load {}", library.display())]
    Library {
        /// Its file or name.
        library: PathBuf,
        /// What the system says.
        source: SystemError,
    },
    /// It lacks a function.
    #[error("find {function} in {} or what it needs", library.display())]
    Function {
        /// Its file or name.
        library: PathBuf,
        /// The function.
        function: &'static str,
        /// What the system says.
        source: SystemError,
    },
}

impl Library {
    /// Loads a library, with all that it needs, from the file of this path, or from where the system's loader finds this
    /// name: it searches only the system's places, not the working directory.
    ///
    /// # Errors
    ///
    /// It is [`LoadError::Library`].
    ///
    /// # Safety
    ///
    /// The library's initialisers do nothing that the rest of the program does not expect.
    pub unsafe fn load(library: impl AsRef<OsStr>) -> Result<Self, LoadError> {
        let path = Path::new(library.as_ref()).to_owned();
        // SAFETY: the caller's.
        match unsafe { Loaded::open(Some(&path), RTLD_NOW | RTLD_LOCAL) } {
            Ok(loaded) => Ok(Library { path, loaded: ManuallyDrop::new(loaded) }),
            Err(source) => Err(LoadError::Library { library: path, source }),
        }
    }

    /// A function of the library, which may be called as long as the program runs.
    ///
    /// # Errors
    ///
    /// It is [`LoadError::Function`].
    ///
    /// # Safety
    ///
    /// `F` is the function's type, a pointer to an `extern "C"` function.
    pub unsafe fn function<F: Copy>(&self, function: &'static str) -> Result<F, LoadError> {
        // SAFETY: the caller's.
        let found = unsafe { self.loaded.get::<F>(function) };
        found.map(|found| *found).map_err(|source| {
            let library = self.path.clone();
            LoadError::Function { library, function, source }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Absolute = unsafe extern "C" fn(i32) -> i32;

    #[test]
    fn what_is_not_there_is_named() {
        // SAFETY: there is none.
        let missing = unsafe { Library::load("libnowhere.so.7") }.unwrap_err();
        assert_eq!(missing.to_string(), "load libnowhere.so.7");
        // SAFETY: the C library is loaded already.
        let library = unsafe { Library::load("libc.so.6") }.unwrap();
        // SAFETY: there is none.
        let missing = unsafe { library.function::<Absolute>("nothing_of_the_kind") }.unwrap_err();
        assert_eq!(missing.to_string(), "find nothing_of_the_kind in libc.so.6 or what it needs");
    }

    #[test]
    fn a_library_and_its_functions_outlive_what_they_were_found_by() {
        // A part of glibc that nothing here is linked with.
        let name = "libanl.so.1";
        assert!(!is_loaded(name));
        // SAFETY: it has no initialisers.
        drop(unsafe { Library::load(name) }.unwrap());
        assert!(is_loaded(name));
        // SAFETY: the C library is loaded already.
        let library = unsafe { Library::load("libc.so.6") }.unwrap();
        // SAFETY: abs(3).
        let absolute: Absolute = unsafe { library.function("abs") }.unwrap();
        drop(library);
        // SAFETY: any number but the least has an absolute value.
        assert_eq!(unsafe { absolute(-7) }, 7);
    }

    fn is_loaded(name: &str) -> bool {
        std::fs::read_to_string("/proc/self/maps").unwrap().contains(name)
    }
}
