//! The index of the rules, which the builder writes into the module's memory. It is read in place, and each block of it
//! is compared with its checksum when it is first read: a damaged index fails the hook, and the action is blocked.

use std::cell::{Cell, RefCell};

use belay_hook as hook;

/// Where the builder writes the address and the length of the index. The builder finds it by its export.
#[repr(C)]
pub struct Slot([Cell<u32>; 2]);

// A module has one thread.
unsafe impl Sync for Slot {}

#[no_mangle]
pub static RULES_INDEX: Slot = Slot([Cell::new(0), Cell::new(0)]);

const MAGIC: &[u8; 8] = b"BLYRULE1";
const HEADER: usize = 64;
const BLOCK: usize = 1024;
const MOST: usize = 8 << 20;

pub const PHASES: [&str; 7] = ["pre_plan", "pre_send", "post_receive", "pre_tool", "post_tool", "state_transition", "spawn"];

pub type Read<T> = Result<T, hook::Fail>;

fn damaged<T>() -> Read<T> {
    Err("the index of the rules is damaged".into())
}

pub struct Index {
    bytes: &'static [u8],
    sums: usize,
    checked: RefCell<Vec<bool>>,
}

/// The header's members.
pub struct Header {
    pub trace: bool,
    pub changes: bool,
    pub rules: usize,
    offsets: usize,
    phases: [usize; PHASES.len()],
}

impl Index {
    /// The index that the builder wrote.
    pub fn open() -> Read<(Index, Header)> {
        // The compiler must not take the values of the source for granted.
        let (at, len) = unsafe {
            let slot = RULES_INDEX.0.as_ptr() as *const u32;
            (core::ptr::read_volatile(slot) as usize, core::ptr::read_volatile(slot.add(1)) as usize)
        };
        if at == 0 {
            return Err("this engine has no rules: `belay rules build` makes a hook of it".into());
        }
        if !(HEADER..=MOST).contains(&len) || at.checked_add(len).map_or(true, |end| end > memory_size()) {
            return damaged();
        }
        Index::of(unsafe { core::slice::from_raw_parts(at as *const u8, len) })
    }

    pub fn of(bytes: &'static [u8]) -> Read<(Index, Header)> {
        if bytes.len() < HEADER || &bytes[..8] != MAGIC {
            return damaged();
        }
        let sums = word(bytes, 28) as usize;
        let blocks = (sums + BLOCK - 1) / BLOCK;
        if word(bytes, 8) as usize != bytes.len() || sums % 8 != 0 || sums < HEADER || sums > bytes.len() || bytes.len() - sums != 8 * blocks {
            return damaged();
        }
        let index = Index { bytes, sums, checked: RefCell::new(vec![false; blocks]) };
        let flags = index.word(12)?;
        let mut phases = [0; PHASES.len()];
        for (i, p) in phases.iter_mut().enumerate() {
            *p = index.word(32 + 4 * i)? as usize;
        }
        let header = Header {
            trace: flags & 1 != 0,
            changes: flags & 2 != 0,
            rules: index.word(20)? as usize,
            offsets: index.word(24)? as usize,
            phases,
        };
        Ok((index, header))
    }

    /// Bytes of the index, from blocks that are as the builder wrote them.
    pub fn bytes(&self, at: usize, len: usize) -> Read<&'static [u8]> {
        match at.checked_add(len) {
            Some(end) if end <= self.sums => {}
            _ => return damaged(),
        }
        if len == 0 {
            return Ok(&[]);
        }
        let mut checked = self.checked.borrow_mut();
        for block in at / BLOCK..=(at + len - 1) / BLOCK {
            if !checked[block] {
                let from = block * BLOCK;
                let sum = self.sums + 8 * block;
                if checksum(&self.bytes[from..(from + BLOCK).min(self.sums)]).to_le_bytes() != self.bytes[sum..sum + 8] {
                    return damaged();
                }
                checked[block] = true;
            }
        }
        Ok(&self.bytes[at..at + len])
    }

    pub fn word(&self, at: usize) -> Read<u32> {
        Ok(word(self.bytes(at, 4)?, 0))
    }

    /// The number at a place, as an offset or a count.
    pub fn size(&self, at: usize) -> Read<usize> {
        Ok(self.word(at)? as usize)
    }

    /// The text that offset and length at a place name.
    pub fn text(&self, at: usize) -> Read<&'static str> {
        let bytes = self.bytes(self.size(at)?, self.size(at + 4)?)?;
        core::str::from_utf8(bytes).or_else(|_| damaged())
    }

    /// `count` texts from a place on.
    pub fn texts(&self, at: usize, count: usize) -> Read<Vec<&'static str>> {
        self.bytes(at, count.checked_mul(8).unwrap_or(usize::MAX))?;
        (0..count).map(|i| self.text(at + 8 * i)).collect()
    }

    /// The numbers of a list: its length, and that many.
    pub fn list(&self, at: usize) -> Read<impl Iterator<Item = usize>> {
        let n = self.size(at)?;
        let bytes = self.bytes(at + 4, n.checked_mul(4).unwrap_or(usize::MAX))?;
        Ok((0..n).map(move |i| word(bytes, 4 * i) as usize))
    }

    /// The list under a name in a sorted table; None when the name is not there.
    pub fn find(&self, table: usize, name: &str) -> Read<Option<usize>> {
        let (mut low, mut high) = (0, self.size(table)?);
        while low < high {
            let middle = (low + high) / 2;
            let entry = table + 4 + 12 * middle;
            match self.text(entry)?.as_bytes().cmp(name.as_bytes()) {
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Greater => high = middle,
                core::cmp::Ordering::Equal => return Ok(Some(self.size(entry + 8)?)),
            }
        }
        Ok(None)
    }

    /// Calls `found` with the list of each window of the table that occurs in the text.
    pub fn windows(&self, table: usize, bloom: usize, text: &[u8], mut found: impl FnMut(usize)) -> Read<()> {
        let n = self.size(table)?;
        if n == 0 || text.len() < 3 {
            return Ok(());
        }
        // So many of the upper bits of a window's hash name its bit in the filter.
        let shift = self.word(bloom)?;
        if !(13..=29).contains(&shift) {
            return damaged();
        }
        let filter = self.bytes(bloom + 4, 1 << (29 - shift))?;
        let mut at = 2;
        while let Some((next, window)) = may_be(filter, shift, text, at) {
            at = next;
            let (mut low, mut high) = (0, n);
            while low < high {
                let middle = (low + high) / 2;
                let here = self.word(table + 4 + 8 * middle)?;
                if here < window {
                    low = middle + 1;
                } else if here > window {
                    high = middle;
                } else {
                    found(self.size(table + 8 + 8 * middle)?);
                    break;
                }
            }
        }
        Ok(())
    }

    /// The record of a rule.
    pub fn rule(&self, header: &Header, number: usize) -> Read<usize> {
        if number >= header.rules {
            return damaged();
        }
        self.size(header.offsets + 4 * number)
    }

    /// The table of a phase; None when no rule is about it.
    pub fn phase(&self, header: &Header, name: &str) -> Option<usize> {
        let i = PHASES.iter().position(|p| *p == name)?;
        Some(header.phases[i]).filter(|at| *at != 0)
    }
}

/// The next window of a text that ends at a place or behind it and may be in the table, as the filter has it, and the
/// place behind it. A function of its own, since each byte of a text goes through it.
#[inline(never)]
fn may_be(filter: &[u8], shift: u32, text: &[u8], at: usize) -> Option<(usize, u32)> {
    let before = text.get(at - 2..at)?;
    let mut window = u32::from(lower(before[0])) << 8 | u32::from(lower(before[1])) << 16;
    let rest = text.get(at..)?;
    for (i, &byte) in rest.iter().enumerate() {
        window = window >> 8 | u32::from(lower(byte)) << 16;
        let bit = (window.wrapping_mul(0x9e37_79b1) >> shift) as usize;
        if filter[bit >> 3] & 1 << (bit & 7) != 0 {
            return Some((at + i + 1, window));
        }
    }
    None
}

fn lower(b: u8) -> u8 {
    b.to_ascii_lowercase()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn checksum(block: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for eight in block.chunks_exact(8) {
        sum ^= u64::from_le_bytes([eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]]);
        sum = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^= sum >> 29;
    }
    sum
}

#[cfg(target_arch = "wasm32")]
fn memory_size() -> usize {
    core::arch::wasm32::memory_size(0) << 16
}

#[cfg(not(target_arch = "wasm32"))]
fn memory_size() -> usize {
    usize::MAX
}
