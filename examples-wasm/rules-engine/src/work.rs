//! What a turn takes, in fuel. A module's fuel ends, and an input may have 1 MiB: what cannot be looked at for want of
//! fuel cannot be told, and the rules say so.

use std::cell::Cell;

use belay_hook as hook;
use hook::raw;

/// About what looking at a call may cost. The other half of the hook's fuel is for what is not counted: the last look
/// may begin just below this, and the estimates are up to a half too small.
const MOST: usize = 240_000_000;

#[derive(Default)]
pub struct Work {
    spent: Cell<usize>,
    input: Cell<usize>, // bytes of it; 0: not asked for
}

impl Work {
    /// Takes so much; false when that is more than there is.
    pub fn take(&self, fuel: usize) -> bool {
        self.spent.set(self.spent.get().saturating_add(fuel));
        self.left()
    }

    /// Takes what it cost to go through a document of so many bytes in so many steps.
    pub fn scanned(&self, bytes: usize, rounds: usize) -> bool {
        self.take(4 * bytes + 230 * rounds)
    }

    /// Whether there is so much.
    pub fn has(&self, fuel: usize) -> bool {
        self.spent.get().saturating_add(fuel) <= MOST
    }

    /// Whether more may be looked at.
    pub fn left(&self) -> bool {
        self.spent.get() <= MOST
    }

    /// Takes what it costs to look a value of the input up: the host reads the input up to it.
    pub fn look_up(&self) -> bool {
        self.take(1000 + self.input() / 8 * 5)
    }

    /// The bytes of the input.
    pub fn input(&self) -> usize {
        if self.input.get() == 0 {
            self.input.set(unsafe { raw::input_read(core::ptr::null_mut(), 0) }.max(1) as usize);
        }
        self.input.get()
    }

    /// Why it cannot be told.
    pub fn why(&self) -> String {
        format!("the call is too large for all of it to be judged: {} bytes", self.input())
    }
}
