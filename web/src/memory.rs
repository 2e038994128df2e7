//! How text crosses the border of WebAssembly: lengths and addresses, nothing else.

use std::sync::{Mutex, Once, PoisonError};

/// What a panic said. The page cannot go on after one, but can tell it.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());
static LISTENS: Once = Once::new();

/// Text with its length (32 bits, little-endian) before it; its address.
fn handed_out(text: &str) -> *mut u8 {
    let mut told = (text.len() as u32).to_le_bytes().to_vec();
    told.extend_from_slice(text.as_bytes());
    Box::into_raw(told.into_boxed_slice()).cast()
}

/// Room for a question of so many bytes; its address. [`surelift_answer`] gives it back.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_room(length: usize) -> *mut u8 {
    // Its type is told: `cast` would take a slice of anything, and the allocator is asked for the size on both ways.
    let room: Box<[u8]> = vec![0; length].into_boxed_slice();
    Box::into_raw(room).cast()
}

/// Answers the question of `length` bytes that lies in the room at `question`. At the address that comes back stand the answer's length (32 bits,
/// little-endian) and the answer, both in UTF-8 JSON; [`surelift_release`] gives them back.
///
/// # Safety
/// `question` and `length` are those of one call of [`surelift_room`], and of no earlier answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_answer(question: *mut u8, length: usize) -> *mut u8 {
    if cfg!(target_family = "wasm") {
        LISTENS.call_once(|| {
            std::panic::set_hook(Box::new(|panic| {
                *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
            }));
        });
    }
    // SAFETY: by the contract above this is the box that `surelift_room` let go.
    let question = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(question, length)) };
    match std::str::from_utf8(&question) {
        Ok(question) => handed_out(&crate::answer(question)),
        Err(error) => handed_out(&format!("{{\"fault\":{{\"reason\":\"question: {error}\"}}}}")),
    }
}

/// What a panic said, as [`surelift_answer`] hands text out; empty if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_last_words() -> *mut u8 {
    handed_out(&LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Gives an answer's storage back.
///
/// # Safety
/// `answer` comes from [`surelift_answer`] or [`surelift_last_words`], and was not given back before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_release(answer: *mut u8) {
    // SAFETY: by the contract above its first four bytes are its length, and it is the box that was let go.
    unsafe {
        let length = u32::from_le_bytes(answer.cast::<[u8; 4]>().read()) as usize;
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(answer, 4 + length)));
    }
}
