//! Pointers in and out, looked at before they are used.

use std::ffi::{CStr, c_char};
use std::ptr;

use crate::border::{Fault, SureliftStatus, fault, input};

/// Refuses a pointer that is null or that no `T` can be behind.
fn sound<T>(what: &str, pointer: *const T) -> Result<(), Fault> {
    let refused = |why: &str| Err(fault(SureliftStatus::Pointer, format_args!("{what}: {why}")));
    if pointer.is_null() {
        refused("the pointer is null")
    } else if !pointer.is_aligned() {
        refused("the pointer is to no multiple of its kind's alignment")
    } else {
        Ok(())
    }
}

/// Refuses a length that is not the one expected.
pub fn length(what: &str, found: usize, expected: usize) -> Result<(), Fault> {
    if found == expected {
        return Ok(());
    }
    Err(fault(SureliftStatus::Size, format_args!("{what}: {found} numbers, expected {expected}")))
}

/// `n` numbers, where `expected` are needed. They may be no numbers.
///
/// # Safety
/// The pointer is null or to `n` numbers that stay as they are for the lifetime that the caller chooses.
pub unsafe fn readings<'a>(
    what: &str,
    pointer: *const f64,
    n: usize,
    expected: usize,
) -> Result<&'a [f64], Fault> {
    length(what, n, expected)?;
    sound(what, pointer)?;
    // SAFETY: neither null nor misaligned, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, n) })
}

/// The same, all finite.
///
/// # Safety
/// As [`readings`].
pub unsafe fn numbers<'a>(
    what: &str,
    pointer: *const f64,
    n: usize,
    expected: usize,
) -> Result<&'a [f64], Fault> {
    // SAFETY: the caller's promise is passed on.
    let found = unsafe { readings(what, pointer, n, expected) }?;
    match found.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(input(format_args!("{what}: entry {at} is {}, expected a finite number", found[at]))),
        None => Ok(found),
    }
}

/// The same, where null stands for none.
///
/// # Safety
/// As [`readings`].
pub unsafe fn optional<'a>(
    what: &str,
    pointer: *const f64,
    n: usize,
    expected: usize,
) -> Result<Option<&'a [f64]>, Fault> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { numbers(what, pointer, n, expected) }.map(Some)
}

/// Where numbers are to go. They are written when all that was given has been read.
pub struct Written<T> {
    pointer: *mut T,
    n: usize,
}

impl<T: Copy> Written<T> {
    /// Room for one.
    pub fn one(what: &str, pointer: *mut T) -> Result<Self, Fault> {
        sound(what, pointer)?;
        Ok(Self { pointer, n: 1 })
    }

    /// Room for `n`, where `expected` are needed.
    pub fn many(what: &str, pointer: *mut T, n: usize, expected: usize) -> Result<Self, Fault> {
        length(what, n, expected)?;
        sound(what, pointer)?;
        Ok(Self { pointer, n })
    }

    /// Writes them, as many as there is room for.
    ///
    /// # Safety
    /// There is as much room as was said, and nothing that borrows it is used any more.
    pub unsafe fn write(self, values: &[T]) {
        let n = self.n.min(values.len());
        // SAFETY: neither null nor misaligned, and the caller's promise. The values may lie in the same place.
        unsafe { ptr::copy(values.as_ptr(), self.pointer, n) }
    }
}

/// A text that ends with a zero byte.
///
/// # Safety
/// The pointer is null or to bytes of which one is zero, that stay as they are for the lifetime that the caller chooses.
pub unsafe fn text<'a>(what: &str, pointer: *const c_char) -> Result<&'a str, Fault> {
    sound(what, pointer)?;
    // SAFETY: not null, and the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| input(format_args!("{what}: {error}, expected UTF-8")))
}

/// The same, where null stands for none.
///
/// # Safety
/// As [`text`].
pub unsafe fn optional_text<'a>(what: &str, pointer: *const c_char) -> Result<Option<&'a str>, Fault> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { text(what, pointer) }.map(Some)
}

/// Copies a text into `size` bytes, its zero byte included.
///
/// # Safety
/// The pointer is null or to room for `size` bytes.
pub unsafe fn tell(what: &str, text: &str, pointer: *mut c_char, size: usize) -> Result<(), Fault> {
    sound(what, pointer)?;
    let needed = text.len() + 1;
    if size < needed {
        return Err(fault(
            SureliftStatus::Size,
            format_args!("{what}: room for {size} bytes, expected {needed}"),
        ));
    }
    // SAFETY: the caller's promise, and the size was looked at.
    unsafe {
        ptr::copy(text.as_ptr().cast::<c_char>(), pointer, text.len());
        pointer.add(text.len()).write(0);
    }
    Ok(())
}
