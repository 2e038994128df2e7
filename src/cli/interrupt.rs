//! Ctrl-C: the first lets a run end with the arm at rest and everything written, the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::log::note;
use crate::horizon::{Event, Observer};

/// Exit code of a program that a second Ctrl-C ended, as shells have it.
const ENDED: i32 = 130;

/// Somebody who watches a run, and asks it to stop after Ctrl-C or when the program is told to end.
struct Interruptible {
    watching: Box<dyn Observer>,
    asked: Arc<AtomicBool>,
    said: bool,
}

impl Observer for Interruptible {
    fn event(&mut self, event: &Event) {
        self.watching.event(event);
    }

    fn asks_to_stop(&mut self) -> bool {
        let asked = self.asked.load(Ordering::Relaxed);
        if asked && !self.said {
            self.said = true;
            note(
                "asked to stop: the arm comes to rest along its plan, then all is written; Ctrl-C again ends at once",
            );
        }
        asked || self.watching.asks_to_stop()
    }
}

/// `watching`, and whoever presses Ctrl-C.
pub(super) fn interruptible(watching: Box<dyn Observer>) -> Box<dyn Observer> {
    Box::new(Interruptible { watching, asked: asked(), said: false })
}

/// Set by the first signal from now on. Where signals cannot be listened to they end the program, as they do without.
fn asked() -> Arc<AtomicBool> {
    static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let listen = || {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down, and raises it.
            let _ = flag::register_conditional_shutdown(signal, ENDED, asked.clone());
            let _ = flag::register(signal, asked.clone());
        }
        asked
    };
    ASKED.get_or_init(listen).clone()
}
