//! What every call goes through: no panic crosses, and what goes wrong is kept in words.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::fmt::{self, Display, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a call ended.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SureliftStatus {
    /// As asked.
    Ok = 0,
    /// What was given makes no sense: numbers that are none, files that cannot be read, names that nothing has. Nothing has happened.
    Input = 1,
    /// A pointer is null, or to an address that no number of its kind can have.
    Pointer = 2,
    /// A vector has another length than it has to have.
    Size = 3,
    /// A handle is null, closed, or of another kind.
    Handle = 4,
    /// The object is at work in another thread.
    Busy = 5,
    /// What was asked for could not be proven, so it was not done.
    NotProven = 6,
    /// An assumption does not hold: nothing that was proven counts any more.
    Broken = 7,
    /// A fault of the library. The object that was called is not to be used any more; close it.
    Panic = 8,
}

impl SureliftStatus {
    const ALL: [(SureliftStatus, &CStr); 9] = [
        (SureliftStatus::Ok, c"ok"),
        (SureliftStatus::Input, c"input"),
        (SureliftStatus::Pointer, c"pointer"),
        (SureliftStatus::Size, c"size"),
        (SureliftStatus::Handle, c"handle"),
        (SureliftStatus::Busy, c"busy"),
        (SureliftStatus::NotProven, c"not proven"),
        (SureliftStatus::Broken, c"broken"),
        (SureliftStatus::Panic, c"panic"),
    ];
}

/// A call that ended otherwise than as asked. The words are kept already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault(SureliftStatus);

/// Bytes of the longest message, its end included. Longer ones are cut.
const LONGEST: usize = 2048;

/// The last message of a thread, in storage of its own: a message asks for no memory.
struct Message {
    bytes: [u8; LONGEST],
    len: usize,
}

thread_local! {
    static LAST: RefCell<Message> = const { RefCell::new(Message { bytes: [0; LONGEST], len: 0 }) };
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            // A zero byte would end it.
            let c = if c == '\0' { '?' } else { c };
            if self.len + c.len_utf8() >= LONGEST {
                return Err(fmt::Error);
            }
            c.encode_utf8(&mut self.bytes[self.len..]);
            self.len += c.len_utf8();
        }
        Ok(())
    }
}

/// Keeps the words of a fault for this thread.
pub fn fault(status: SureliftStatus, words: impl Display) -> Fault {
    LAST.with(|last| {
        // A word that asks for a fault of its own while it is written is not kept.
        if let Ok(mut last) = last.try_borrow_mut() {
            last.len = 0;
            // What is too long is cut.
            let _ = write!(last, "{words}");
            let end = last.len;
            last.bytes[end] = 0;
        }
    });
    Fault(status)
}

/// [`fault`] for what was given.
pub fn input(words: impl Display) -> Fault {
    fault(SureliftStatus::Input, words)
}

/// Does `work`; a panic in it ends here.
pub fn border(work: impl FnOnce() -> Result<(), Fault>) -> SureliftStatus {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => SureliftStatus::Ok,
        Ok(Err(Fault(status))) => status,
        Err(payload) => {
            let words = payload.downcast_ref::<&str>().copied();
            let words = words.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let words = words.unwrap_or("no reason given");
            fault(SureliftStatus::Panic, format_args!("a fault of the library, please report it: {words}"));
            // Its own drop might panic.
            std::mem::forget(payload);
            SureliftStatus::Panic
        }
    }
}

/// Why the last call of this thread that did not end with `SURELIFT_STATUS_OK` ended so: a text in UTF-8, empty if there was none, cut after 2047 bytes. It belongs to the library
/// and stays until the next such call of this thread, or the thread's end.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_last_error() -> *const c_char {
    LAST.with(|last| last.as_ptr().cast::<c_char>())
}

/// A word for a status, such as "not proven"; "unknown" for a number that is none. The text is the library's, and lives as long as it.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_status_name(status: i32) -> *const c_char {
    let name = SureliftStatus::ALL.iter().find(|(known, _)| *known as i32 == status);
    name.map_or(c"unknown", |(_, name)| name).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::Any;

    extern "C" fn panics(kind: i32) -> SureliftStatus {
        border(|| match kind {
            0 => panic!("joint {}", 3),
            1 => panic!("no such joint"),
            2 => std::panic::panic_any(7_u8),
            _ => {
                let empty: [f64; 0] = std::hint::black_box([]);
                Err(input(empty[kind as usize]))
            }
        })
    }

    fn last() -> String {
        // SAFETY: the library's own text.
        unsafe { CStr::from_ptr(surelift_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_ends_at_the_border() {
        for (kind, words) in
            [(0, "joint 3"), (1, "no such joint"), (2, "no reason given"), (3, "index out of bounds")]
        {
            assert_eq!(panics(kind), SureliftStatus::Panic);
            assert!(last().contains(words), "{}", last());
        }
    }

    #[test]
    fn a_panic_with_a_payload_that_panics_ends_at_the_border() {
        struct Explosive;
        impl Drop for Explosive {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        let payload: Box<dyn Any + Send> = Box::new(Explosive);
        assert_eq!(border(|| std::panic::resume_unwind(payload)), SureliftStatus::Panic);
    }

    #[test]
    fn each_thread_has_its_own_words() {
        input("here");
        std::thread::spawn(|| {
            assert_eq!(last(), "");
            input("there");
            assert_eq!(last(), "there");
        })
        .join()
        .unwrap();
        assert_eq!(last(), "here");
    }

    #[test]
    fn words_that_are_too_long_are_cut_between_letters() {
        input("é".repeat(3000));
        assert_eq!(last(), "é".repeat((LONGEST - 1) / 2));
        input("a\0b");
        assert_eq!(last(), "a?b");
        input("");
        assert_eq!(last(), "");
    }

    #[test]
    fn every_status_has_a_name() {
        for k in 0..SureliftStatus::ALL.len() as i32 {
            // SAFETY: the library's own text.
            let name = unsafe { CStr::from_ptr(surelift_status_name(k)) };
            assert_ne!(name, c"unknown", "{k}");
        }
        for k in [-1, SureliftStatus::ALL.len() as i32, i32::MAX] {
            // SAFETY: the library's own text.
            assert_eq!(unsafe { CStr::from_ptr(surelift_status_name(k)) }, c"unknown");
        }
    }
}
