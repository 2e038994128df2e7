//! Which version this is.

use std::ffi::{CStr, c_char};

/// First number of the version that this header belongs to.
pub const SURELIFT_VERSION_MAJOR: u32 = 0;
/// Second number of the version that this header belongs to.
pub const SURELIFT_VERSION_MINOR: u32 = 1;
/// Third number of the version that this header belongs to.
pub const SURELIFT_VERSION_PATCH: u32 = 0;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version without zero bytes"),
};

/// The version of the library that is loaded, such as "0.1.0". It is to be that of the header: while the first number is 0, any other second number may be another interface.
/// The text is the library's, and lives as long as it.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_version() -> *const c_char {
    VERSION.as_ptr()
}
