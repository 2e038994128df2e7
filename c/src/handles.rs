//! Objects that C holds by number. A number that is closed is never given out again, so one that is stale is refused instead of reaching another object.
//!
//! A lookup takes no lock that anybody holds for longer than a lookup or the filling of one place, and asks for no memory.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use crate::border::{Fault, SureliftStatus, fault};

/// Bits of a number that say its place; above them stand those of the kind, then those of the generation.
const PLACE_BITS: u32 = 24;
const KIND_BITS: u32 = 8;
/// Places of the first block; each further block has twice as many.
const FIRST: usize = 64;
/// Blocks, with some 2^23 places.
const BLOCKS: usize = 17;

/// One place: how often it has been used, and what is in it.
struct Place<T> {
    held: Mutex<(u32, Option<Arc<T>>)>,
}

/// All open objects of a kind.
pub struct Table<T> {
    blocks: [OnceLock<Box<[Place<T>]>>; BLOCKS],
    vacant: Mutex<Vacant>,
}

/// Places that may be filled.
struct Vacant {
    /// Places from here on have never been used.
    fresh: usize,
    again: Vec<usize>,
}

/// A kind of objects.
pub trait Kept: Sized + 'static {
    /// A number of its own, above 0.
    const KIND: u8;
    /// What it is called in messages.
    const NAME: &'static str;

    /// Where they are.
    fn table() -> &'static Table<Self>;
}

/// What another thread may have left at any time: nothing here is ever half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Table<T> {
    /// Without any.
    pub const fn new() -> Self {
        let vacant = Mutex::new(Vacant { fresh: 0, again: Vec::new() });
        Self { blocks: [const { OnceLock::new() }; BLOCKS], vacant }
    }

    /// The block of a place, and where in it.
    fn split(place: usize) -> (usize, usize) {
        let block = (place / FIRST + 1).ilog2() as usize;
        (block, place - FIRST * ((1 << block) - 1))
    }

    fn place(&self, place: usize) -> Option<&Place<T>> {
        let (block, at) = Self::split(place);
        self.blocks.get(block)?.get()?.get(at)
    }

    /// A place that nothing is in, made if there is none yet.
    fn vacant(&self) -> Option<(usize, &Place<T>)> {
        let mut vacant = lock(&self.vacant);
        let number = match vacant.again.pop() {
            Some(number) => number,
            None => {
                let (block, _) = Self::split(vacant.fresh);
                let empty = || Place { held: Mutex::new((0, None)) };
                self.blocks.get(block)?.get_or_init(|| (0..FIRST << block).map(|_| empty()).collect());
                vacant.fresh += 1;
                vacant.fresh - 1
            }
        };
        Some((number, self.place(number)?))
    }
}

/// A number as its parts: generation, kind, place.
fn parts(id: u64) -> (u32, u8, Option<usize>) {
    let place = (id & ((1 << PLACE_BITS) - 1)) as usize;
    ((id >> (PLACE_BITS + KIND_BITS)) as u32, (id >> PLACE_BITS) as u8, place.checked_sub(1))
}

fn refused<T: Kept>(id: u64) -> Fault {
    let (name, (_, kind, _)) = (T::NAME, parts(id));
    let why = if id == 0 {
        "is null"
    } else if kind == T::KIND {
        "is closed, or was never opened"
    } else {
        "is of another kind, or was never opened"
    };
    fault(SureliftStatus::Handle, format_args!("{name}: the handle {why}"))
}

/// Keeps an object, and gives its number.
pub fn open<T: Kept>(object: T) -> Result<u64, Fault> {
    let found = T::table().vacant();
    let (place, slot) =
        found.ok_or_else(|| fault(SureliftStatus::Input, format_args!("{}: too many are open", T::NAME)))?;
    let mut held = lock(&slot.held);
    held.1 = Some(Arc::new(object));
    let generation = u64::from(held.0) << (PLACE_BITS + KIND_BITS);
    Ok(generation | u64::from(T::KIND) << PLACE_BITS | (place as u64 + 1))
}

/// The object of a number. While the caller has it, it lives.
pub fn get<T: Kept>(id: u64) -> Result<Arc<T>, Fault> {
    let (generation, kind, place) = parts(id);
    let slot = place.filter(|_| kind == T::KIND).and_then(|place| T::table().place(place));
    let found = slot.and_then(|slot| {
        let held = lock(&slot.held);
        held.1.clone().filter(|_| held.0 == generation)
    });
    found.ok_or_else(|| refused::<T>(id))
}

/// Lets go of the object of a number.
pub fn close<T: Kept>(id: u64) -> Result<(), Fault> {
    let (generation, kind, place) = parts(id);
    let place = place.filter(|_| kind == T::KIND).ok_or_else(|| refused::<T>(id))?;
    let slot = T::table().place(place).ok_or_else(|| refused::<T>(id))?;
    let mut held = lock(&slot.held);
    if held.0 != generation || held.1.is_none() {
        return Err(refused::<T>(id));
    }
    let object = held.1.take();
    // A place whose generations are used up is never used again.
    if let Some(next) = generation.checked_add(1) {
        held.0 = next;
        drop(held);
        lock(&T::table().vacant).again.push(place);
    }
    drop(object);
    Ok(())
}

/// An object that serves one call at a time.
pub fn alone<'a, T>(name: &str, object: &'a Mutex<T>) -> Result<MutexGuard<'a, T>, Fault> {
    object.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            fault(SureliftStatus::Busy, format_args!("{name}: at work in another thread"))
        }
        TryLockError::Poisoned(_) => fault(
            SureliftStatus::Panic,
            format_args!("{name}: an earlier call ended by a fault of the library; close it"),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::border::border;

    struct Thing(Mutex<u32>);

    impl Kept for Thing {
        const KIND: u8 = 200;
        const NAME: &'static str = "thing";

        fn table() -> &'static Table<Self> {
            static TABLE: Table<Thing> = Table::new();
            &TABLE
        }
    }

    struct Other;

    impl Kept for Other {
        const KIND: u8 = 201;
        const NAME: &'static str = "other";

        fn table() -> &'static Table<Self> {
            static TABLE: Table<Other> = Table::new();
            &TABLE
        }
    }

    fn status<T>(result: Result<T, Fault>) -> SureliftStatus {
        border(|| result.map(|_| ()))
    }

    #[test]
    fn what_is_closed_is_never_reached_again() {
        let first = open(Thing(Mutex::new(1))).unwrap();
        assert_eq!(*get::<Thing>(first).unwrap().0.lock().unwrap(), 1);
        close::<Thing>(first).unwrap();
        let second = open(Thing(Mutex::new(2))).unwrap();
        assert_ne!(first, second);
        for stale in [first, 0, u64::MAX, second + 1, second | 1 << 63] {
            assert_eq!(status(get::<Thing>(stale)), SureliftStatus::Handle, "{stale:x}");
            assert_eq!(status(close::<Thing>(stale)), SureliftStatus::Handle, "{stale:x}");
        }
        assert_eq!(status(get::<Other>(second)), SureliftStatus::Handle);
        let other = open(Other).unwrap();
        assert_eq!(status(get::<Thing>(other)), SureliftStatus::Handle);
        close::<Thing>(second).unwrap();
        assert_eq!(status(close::<Thing>(second)), SureliftStatus::Handle);
    }

    #[test]
    fn many_are_kept_apart_and_places_are_used_again() {
        let all: Vec<u64> = (0..1000).map(|k| open(Thing(Mutex::new(k))).unwrap()).collect();
        for (k, id) in all.iter().enumerate() {
            assert_eq!(*get::<Thing>(*id).unwrap().0.lock().unwrap(), k as u32);
        }
        all.iter().for_each(|id| close::<Thing>(*id).unwrap());
        for _ in 0..5000 {
            close::<Thing>(open(Thing(Mutex::new(0))).unwrap()).unwrap();
        }
        let used = lock(&Thing::table().vacant).fresh;
        assert!(used < 1200, "{used} places");
    }

    #[test]
    fn threads_open_and_close_at_once() {
        std::thread::scope(|scope| {
            for k in 0..4_u32 {
                scope.spawn(move || {
                    for _ in 0..2000 {
                        let id = open(Thing(Mutex::new(k))).unwrap();
                        assert_eq!(*get::<Thing>(id).unwrap().0.lock().unwrap(), k);
                        close::<Thing>(id).unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn one_at_work_is_busy_and_one_that_panicked_is_lost() {
        let id = open(Thing(Mutex::new(0))).unwrap();
        let thing = get::<Thing>(id).unwrap();
        let working = thing.0.lock().unwrap();
        assert_eq!(status(alone("thing", &thing.0)), SureliftStatus::Busy);
        drop(working);
        let panicked = border(|| {
            let _working = alone("thing", &thing.0)?;
            panic!("midway")
        });
        assert_eq!(panicked, SureliftStatus::Panic);
        assert_eq!(status(alone("thing", &thing.0)), SureliftStatus::Panic);
        close::<Thing>(id).unwrap();
    }

    #[test]
    fn places_follow_one_another_in_blocks() {
        let mut expected = (0, 0);
        for place in 0..FIRST * 31 {
            assert_eq!(Table::<Thing>::split(place), expected, "{place}");
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }
}
