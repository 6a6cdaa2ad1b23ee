//! An allocator for an instance that lives for one turn.
//!
//! belay gives each turn an instance of its own and drops its memory afterwards, so that looking for a free block pays
//! for nothing. This one moves an end forward, gives back what was allocated last, and lets that grow in place. Of the
//! rest it reuses only large blocks, by their size: a hook that copies long texts again and again stays within a small
//! multiple of what it has at a time. One that allocates small blocks without bound runs into its memory limit.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;

/// The allocator; see [`turn_allocator!`](crate::turn_allocator).
pub struct TurnAllocator {
    /// The first free byte; 0 before the first call.
    at: Cell<usize>,
    /// The end of the memory that may be used.
    end: Cell<usize>,
    /// The pages by which memory grows next.
    growth: Cell<usize>,
    /// The first free large block of each size, which holds the address of the next one; 0 ends the list.
    free: [Cell<usize>; usize::BITS as usize],
}

// A module has one thread.
unsafe impl Sync for TurnAllocator {}

/// The largest block, in bytes, that is not reused.
const SMALL: usize = 256;

/// What every large block is aligned to.
const ALIGN: usize = 16;

/// The most pages of 64 KiB by which memory grows where one would do. The first growth is one page, and each is twice
/// the one before: a page costs fuel.
const GROWTH: usize = 16;

/// The bytes that a block takes: those of a large one are a power of two.
fn taken(size: usize) -> Option<usize> {
    if size <= SMALL {
        return Some(size);
    }
    size.checked_next_power_of_two()
}

impl TurnAllocator {
    /// An allocator that has given out nothing.
    #[allow(clippy::new_without_default)] // a default cannot be const
    pub const fn new() -> TurnAllocator {
        #[allow(clippy::declare_interior_mutable_const)] // an initial value
        const NONE: Cell<usize> = Cell::new(0);
        TurnAllocator { at: NONE, end: NONE, growth: Cell::new(1), free: [NONE; usize::BITS as usize] }
    }

    /// The list of free blocks for a size, if blocks of it are reused.
    fn list(&self, taken: usize, align: usize) -> Option<&Cell<usize>> {
        if taken <= SMALL || align > ALIGN {
            return None;
        }
        self.free.get(taken.trailing_zeros() as usize)
    }

    /// Places a block at the end, if there is room.
    fn place(&self, taken: usize, align: usize) -> Option<usize> {
        let mask = align - 1;
        let from = self.at.get().checked_add(mask)? & !mask;
        let to = from.checked_add(taken)?;
        if from == 0 || to > self.end.get() {
            return None;
        }
        self.at.set(to);
        Some(from)
    }

    /// A block that was given back, or one at the end.
    #[cold]
    fn large(&self, size: usize, align: usize) -> Option<usize> {
        let taken = taken(size)?;
        let align = if size > SMALL { align.max(ALIGN) } else { align };
        if let Some(list) = self.list(taken, align) {
            let block = list.get();
            if block != 0 {
                list.set(unsafe { *(block as *const usize) });
                return Some(block);
            }
        }
        if let Some(from) = self.place(taken, align) {
            return Some(from);
        }
        if self.at.get() == 0 {
            // What is left of the last page of the data belongs to nothing else.
            let (base, size) = memory::initial();
            self.at.set(base);
            self.end.set(size);
            if let Some(from) = self.place(taken, align) {
                return Some(from);
            }
        }
        let bytes = taken.checked_add(align)?;
        let (from, to) = memory::grow(((bytes >> 16) + 1).max(self.growth.get()))?;
        self.growth.set((self.growth.get() * 2).min(GROWTH));
        if from != self.end.get() {
            self.at.set(from); // another part of the module has grown the memory
        }
        self.end.set(to);
        self.place(taken, align)
    }
}

unsafe impl GlobalAlloc for TurnAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() <= SMALL {
            if let Some(block) = self.place(layout.size(), layout.align()) {
                return block as *mut u8;
            }
        }
        self.large(layout.size(), layout.align()).unwrap_or(0) as *mut u8
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let taken = taken(layout.size()).unwrap_or(0); // it was given out: it has a size
        if block as usize + taken == self.at.get() {
            self.at.set(block as usize);
        } else if let Some(list) = self.list(taken, layout.align()) {
            *(block as *mut usize) = list.get();
            list.set(block as usize);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (had, wants) = match (taken(layout.size()), taken(size)) {
            (Some(had), Some(wants)) => (had, wants),
            _ => return core::ptr::null_mut(),
        };
        let from = block as usize;
        // A small block has not the alignment of a large one.
        if from + had == self.at.get() && (wants <= SMALL || from % ALIGN == 0) {
            if let Some(to) = from.checked_add(wants).filter(|to| *to <= self.end.get()) {
                self.at.set(to);
                return block;
            }
        }
        if wants <= had {
            return block;
        }
        let other = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !other.is_null() {
            core::ptr::copy_nonoverlapping(block, other, layout.size().min(size));
            self.dealloc(block, layout);
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

    #[repr(align(16))]
    struct Room([u8; 8192]);

    fn heap(room: &mut Room) -> (TurnAllocator, usize) {
        let base = room.0.as_mut_ptr() as usize;
        let heap = TurnAllocator::new();
        heap.at.set(base);
        heap.end.set(base + room.0.len());
        (heap, base)
    }

    #[test]
    fn blocks_do_not_overlap_and_the_last_one_grows() {
        let mut room = Room([0; 8192]);
        let (heap, base) = heap(&mut room);
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

    #[test]
    fn large_blocks_are_used_again() {
        let mut room = Room([0; 8192]);
        let (heap, base) = heap(&mut room);
        unsafe {
            heap.alloc(layout(1, 1));
            let a = heap.alloc(layout(300, 1));
            let b = heap.alloc(layout(512, 8));
            assert_eq!((a as usize, b as usize), (base + 16, base + 16 + 512));
            assert_eq!(heap.realloc(a, layout(300, 1), 512), a); // it has the room
            a.write_bytes(7, 512);
            let c = heap.realloc(a, layout(512, 1), 600);
            assert_eq!(c as usize, base + 16 + 1024);
            assert_eq!(core::slice::from_raw_parts(c, 512), [7; 512]);
            // What a had is free now, for a block of its size and no other.
            assert_eq!(heap.alloc(layout(257, 16)), a);
            heap.alloc(layout(1, 1));
            heap.dealloc(a, layout(257, 16));
            heap.dealloc(b, layout(512, 8));
            heap.dealloc(c, layout(600, 1));
            assert_eq!(heap.alloc(layout(1024, 1)), c);
            assert_eq!(heap.alloc(layout(512, 1)), b);
            assert_eq!(heap.alloc(layout(512, 1)), a);
            // A hundred texts, one after the other, need room for two.
            let mut text = heap.alloc(layout(1000, 1));
            for _ in 0..100 {
                let copy = heap.alloc(layout(1000, 1));
                assert!(!copy.is_null());
                heap.dealloc(text, layout(1000, 1));
                text = copy;
            }
            heap.alloc(layout(1, 1));
            assert_eq!(heap.realloc(text, layout(1000, 1), 10), text);
        }
    }
}
