//! The backward sweep: stages are linearised, their constraints eliminated and the recursion run, all at once.
//!
//! Stages depend on each other only through the recursion. So all threads linearise blocks of stages, from the last to
//! the first, and whichever finds it free carries the recursion through the blocks that are ready. Hessians are borrowed
//! from a ring of [`WINDOW`] blocks a thread: they stay in the cache between being written and being read, and what a
//! stage keeps is its dynamics and its policy. A sweep with more damping linearises anew.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use rayon::prelude::*;

use super::{StageRecord, ThreadStorage, linearise_stage};
use crate::estimate::problem::{EstimationProblem, Trajectory};
use crate::estimate::riccati::{Recursion, StageBuffers};

/// Stages in a block, at most: enough for handing over to cost nothing.
const BLOCK: usize = 16;
/// Blocks a thread at least, where there are stages enough: for all to end at about the same time.
const SHARE: usize = 8;
/// Blocks that threads may be ahead of the recursion, per thread.
const WINDOW: usize = 4;

/// What is shared by the threads of one sweep, and kept from one to the next.
pub(super) struct Sweep {
    stages: usize,
    block: usize,
    window: usize,
    /// Blocks, counted from the end, that are linearised.
    ready: Vec<AtomicBool>,
    /// Blocks that some thread has taken.
    claimed: AtomicUsize,
    /// Blocks that the recursion has gone through.
    done: AtomicUsize,
    /// A thread has panicked, and nobody should wait for it.
    stopped: AtomicBool,
    front: Mutex<Front>,
    buffers: Vec<Mutex<StageBuffers>>,
}

/// The recursion and how far it went.
struct Front {
    recursion: Recursion,
    damping: f64,
    /// Stage whose Hessian of the input is not positive definite.
    indefinite: Option<usize>,
}

/// The content of a mutex, whatever became of the thread that held it.
pub(super) fn unlocked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The content of a mutex that nobody else can hold.
pub(in crate::estimate) fn inner<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Stages in a block for `stages` stages and `threads` threads.
pub(super) fn block_length(stages: usize, threads: usize) -> usize {
    if threads == 1 { 1 } else { (stages / (SHARE * threads)).clamp(1, BLOCK) }
}

impl Sweep {
    pub(super) fn new(stages: usize, threads: usize) -> Self {
        let block = block_length(stages, threads);
        let window = if threads == 1 { 1 } else { WINDOW * threads };
        let blocks = stages.div_ceil(block);
        Self {
            stages,
            block,
            window,
            ready: (0..blocks).map(|_| AtomicBool::new(false)).collect(),
            claimed: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            front: Mutex::new(Front { recursion: Recursion::default(), damping: 0.0, indefinite: None }),
            buffers: (0..window.min(blocks) * block).map(|_| Mutex::default()).collect(),
        }
    }

    /// The value function of the first stage.
    pub(super) fn recursion(&mut self) -> &Recursion {
        &inner(&mut self.front).recursion
    }

    /// Linearises all stages at `now` and runs the recursion; a stage that is indefinite, if there is one.
    pub(super) fn run<P: EstimationProblem>(
        &mut self,
        problem: &P,
        now: &Trajectory,
        records: &[Mutex<StageRecord>],
        threads: &mut [ThreadStorage<P::Workspace>],
        damping: f64,
    ) -> Option<usize> {
        self.ready.iter_mut().for_each(|r| *r.get_mut() = false);
        (*self.claimed.get_mut(), *self.done.get_mut()) = (0, 0);
        *self.stopped.get_mut() = false;
        let front = inner(&mut self.front);
        (front.damping, front.indefinite) = (damping, None);
        front.recursion.start();
        let shared = &*self;
        if let [thread] = threads {
            shared.work(problem, now, records, thread);
        } else {
            threads
                .par_iter_mut()
                .with_max_len(1)
                .for_each(|thread| shared.work(problem, now, records, thread));
        }
        inner(&mut self.front).indefinite
    }

    /// Block `index`, counted from the end, as a range of stages.
    fn range(&self, index: usize) -> std::ops::Range<usize> {
        let end = self.stages - index * self.block;
        end.saturating_sub(self.block)..end
    }

    fn buffers(&self, index: usize, offset: usize) -> &Mutex<StageBuffers> {
        &self.buffers[index % self.window * self.block + offset]
    }

    /// What each thread does.
    fn work<P: EstimationProblem>(
        &self,
        problem: &P,
        now: &Trajectory,
        records: &[Mutex<StageRecord>],
        thread: &mut ThreadStorage<P::Workspace>,
    ) {
        let _guard = StopOnPanic(&self.stopped);
        loop {
            let index = self.claimed.fetch_add(1, Ordering::Relaxed);
            if index >= self.ready.len() {
                return;
            }
            // The block's buffers are still in use: the thread with the recursion will give them back.
            while index >= self.done.load(Ordering::Acquire) + self.window {
                if self.stopped.load(Ordering::Relaxed) {
                    return;
                }
                self.advance(records);
                std::thread::yield_now();
            }
            let range = self.range(index);
            for k in range.clone().rev() {
                let mut record = unlocked(&records[k]);
                record.node.borrow(&mut unlocked(self.buffers(index, k - range.start)));
                linearise_stage(problem, now, k, thread, &mut record);
            }
            self.ready[index].store(true, Ordering::SeqCst);
            // With the fence after unlocking: either this thread finds the recursion free, or who holds it sees the
            // block when looking once more.
            fence(Ordering::SeqCst);
            self.advance(records);
        }
    }

    /// Carries the recursion through all blocks that are ready, unless another thread does.
    fn advance(&self, records: &[Mutex<StageRecord>]) {
        while self.is_next_ready() {
            let mut front = match self.front.try_lock() {
                Ok(front) => front,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            while self.is_next_ready() {
                let index = self.done.load(Ordering::Relaxed);
                for k in self.range(index).rev() {
                    self.step(&mut front, records, index, k);
                }
                self.done.store(index + 1, Ordering::Release);
            }
            drop(front);
            fence(Ordering::SeqCst);
        }
    }

    fn is_next_ready(&self) -> bool {
        self.ready.get(self.done.load(Ordering::Acquire)).is_some_and(|r| r.load(Ordering::SeqCst))
    }

    fn step(&self, front: &mut Front, records: &[Mutex<StageRecord>], index: usize, k: usize) {
        let node = &mut unlocked(&records[k]).node;
        if front.indefinite.is_none() {
            let next = records.get(k + 1).map(unlocked);
            let next = next.as_ref().map(|record| &record.node.lift);
            if !front.recursion.advance(node, next, front.damping) {
                front.indefinite = Some(k);
            }
        }
        node.borrow(&mut unlocked(self.buffers(index, k - self.range(index).start)));
    }
}

/// Tells the other threads when this one panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
