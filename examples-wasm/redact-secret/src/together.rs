//! Many short texts are looked at in one call. A call has a price of its own, and a document may hold tens of
//! thousands of texts.
//!
//! A look at joined texts only tells which of them may hold a secret. Those are then looked at by themselves, so that
//! what is found, and where, does not depend on a neighbour.

use crate::WINDOW;
use belay_hook as hook;
use hook::analysis::find_secrets;

/// Longer texts are worth a call of their own.
pub const SHORT: usize = 256;

/// What stands between two texts: a line that neither continues a text, a value, a list or an encoding, nor is a row of
/// a table.
const JOINT: &str = "\n\x1e\n";

/// A finding that touches more texts than this tells nothing about those behind its first.
const SPAN: usize = 4;

/// Texts that are looked at together, each with a number of its caller's.
pub struct Together {
    joined: String,
    parts: Vec<Part>,
}

struct Part {
    number: usize,
    start: usize,
    end: usize,
}

impl Together {
    /// Room for so many texts, with so many bytes.
    pub fn new(texts: usize, bytes: usize) -> Together {
        Together { joined: String::with_capacity(bytes + texts * JOINT.len()), parts: Vec::with_capacity(texts) }
    }

    /// Adds a text with what stands before it; numbers ascend.
    pub fn add(&mut self, number: usize, label: &[&str], text: &str) {
        if !self.parts.is_empty() {
            self.joined.push_str(JOINT);
        }
        let start = self.joined.len();
        label.iter().for_each(|part| self.joined.push_str(part));
        self.joined.push_str(text);
        self.parts.push(Part { number, start, end: self.joined.len() });
    }

    /// The numbers of the texts that may hold a secret, in their order. Where a look tells too little, the next ones are
    /// half as long, so that the work stays linear in the length of the texts.
    pub fn suspects(&self) -> Result<Vec<usize>, hook::Fail> {
        let mut suspects = Vec::new();
        let (mut first, mut room) = (0, WINDOW);
        while first < self.parts.len() {
            let begin = self.parts[first].start;
            let more = self.parts[first + 1..].iter().take_while(|p| p.end - begin <= room).count();
            if more == 0 {
                suspects.push(self.parts[first].number);
                first += 1;
                room = WINDOW.min(room * 2);
                continue;
            }
            let parts = &self.parts[first..=first + more];
            let told = tell(&self.joined[begin..parts[more].end], begin, parts, &mut suspects)?;
            room = if told == parts.len() { WINDOW.min(room * 2) } else { SHORT.max(room / 2) };
            first += told;
        }
        Ok(suspects)
    }
}

/// Looks at joined texts and returns of how many it tells, at least of one.
fn tell(joined: &str, begin: usize, parts: &[Part], suspects: &mut Vec<usize>) -> Result<usize, hook::Fail> {
    let (secrets, truncated) = find_secrets(joined)?;
    let mut at = 0; // parts before it are told
    for s in secrets {
        let (start, end) = (begin + s.start, begin + s.end);
        while at < parts.len() && parts[at].end <= start {
            at += 1;
        }
        let from = at;
        while at < parts.len() && parts[at].start < end {
            if at - from == SPAN {
                suspects.truncate(suspects.len() + 1 - SPAN);
                return Ok(from + 1);
            }
            suspects.push(parts[at].number);
            at += 1;
        }
    }
    Ok(if truncated { at.max(1) } else { parts.len() })
}
