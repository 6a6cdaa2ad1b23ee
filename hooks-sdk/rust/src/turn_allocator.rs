//! An allocator for an instance that lives for one turn.
//!
//! belay makes a new instance for each turn and drops it afterwards, so that a heap with free lists pays for nothing.
//! This one moves an end forward, gives back only what was allocated last, and lets it grow in place. A hook that
//! allocates and frees without bound runs into its memory limit with it.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;

/// The allocator; see [`turn_allocator!`](crate::turn_allocator).
pub struct TurnAllocator {
    /// The first free byte; 0 before the first call.
    at: Cell<usize>,
    /// The end of the memory that may be used.
    end: Cell<usize>,
}

// A module has one thread.
unsafe impl Sync for TurnAllocator {}

/// Pages of 64 KiB that memory grows by at least.
const GROWTH: usize = 4;

impl TurnAllocator {
    /// An allocator that has given out nothing.
    #[allow(clippy::new_without_default)] // a default cannot be const
    pub const fn new() -> TurnAllocator {
        TurnAllocator { at: Cell::new(0), end: Cell::new(0) }
    }

    /// Places a block at the end, if there is room.
    fn place(&self, layout: Layout) -> Option<usize> {
        let mask = layout.align() - 1;
        let from = self.at.get().checked_add(mask)? & !mask;
        let to = from.checked_add(layout.size())?;
        if from == 0 || to > self.end.get() {
            return None;
        }
        self.at.set(to);
        Some(from)
    }

    #[cold]
    fn grow(&self, layout: Layout) -> Option<usize> {
        if self.at.get() == 0 {
            // What is left of the last page of the data belongs to nothing else.
            let (base, size) = memory::initial();
            self.at.set(base);
            self.end.set(size);
            if let Some(from) = self.place(layout) {
                return Some(from);
            }
        }
        let bytes = layout.size().checked_add(layout.align())?;
        let (from, to) = memory::grow(((bytes >> 16) + 1).max(GROWTH))?;
        if from != self.end.get() {
            self.at.set(from); // another part of the module has grown the memory
        }
        self.end.set(to);
        self.place(layout)
    }
}

unsafe impl GlobalAlloc for TurnAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.place(layout).or_else(|| self.grow(layout)).unwrap_or(0) as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block as usize + layout.size() == self.at.get() {
            self.at.set(block as usize);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let from = block as usize;
        if from + layout.size() == self.at.get() {
            if let Some(to) = from.checked_add(size).filter(|to| *to <= self.end.get()) {
                self.at.set(to);
                return block;
            }
        }
        if size <= layout.size() {
            return block;
        }
        let other = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !other.is_null() {
            core::ptr::copy_nonoverlapping(block, other, layout.size());
        }
        other
    }
}

#[cfg(target_arch = "wasm32")]
mod memory {
    use core::arch::wasm32::{memory_grow, memory_size};

    extern "C" {
        static __heap_base: u8;
    }

    /// Where the heap begins, and where memory ends.
    pub fn initial() -> (usize, usize) {
        (unsafe { &__heap_base as *const u8 as usize }, memory_size(0) << 16)
    }

    /// The begin and the end of that many new pages.
    pub fn grow(pages: usize) -> Option<(usize, usize)> {
        match memory_grow(0, pages) {
            usize::MAX => None,
            old => Some((old << 16, (old + pages) << 16)),
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod memory {
    /// Elsewhere there is no such memory: tests give the allocator a piece of theirs.
    pub fn initial() -> (usize, usize) {
        (0, 0)
    }

    pub fn grow(_: usize) -> Option<(usize, usize)> {
        None
    }
}

/// Makes [`TurnAllocator`](crate::turn_allocator::TurnAllocator) the hook's allocator: write it once, beside
/// [`export!`](crate::export).
#[macro_export]
macro_rules! turn_allocator {
    () => {
        #[cfg(target_arch = "wasm32")]
        #[global_allocator]
        static TURN_ALLOCATOR: $crate::turn_allocator::TurnAllocator = $crate::turn_allocator::TurnAllocator::new();
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn blocks_do_not_overlap_and_the_last_one_grows() {
        let mut room = [0u64; 32];
        let base = room.as_mut_ptr() as usize;
        let heap = TurnAllocator::new();
        heap.at.set(base);
        heap.end.set(base + 256);
        unsafe {
            let a = heap.alloc(layout(3, 1));
            let b = heap.alloc(layout(16, 8));
            assert_eq!((a as usize, b as usize), (base, base + 8));
            assert_eq!(heap.realloc(b, layout(16, 8), 40), b);
            a.write_bytes(7, 3);
            let c = heap.realloc(a, layout(3, 1), 9); // not the last: it moves
            assert_eq!(c as usize, base + 48);
            assert_eq!(core::slice::from_raw_parts(c, 3), [7, 7, 7]);
            heap.dealloc(c, layout(9, 1));
            assert_eq!(heap.alloc(layout(8, 8)) as usize, base + 48);
            assert_eq!(heap.realloc(a, layout(3, 1), 2), a);
            assert!(heap.alloc(layout(512, 1)).is_null());
            assert!(heap.alloc(layout(usize::MAX / 2, 1)).is_null());
            assert_eq!(heap.alloc(layout(200, 8)) as usize, base + 56);
        }
    }
}
