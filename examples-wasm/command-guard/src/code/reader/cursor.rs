//! The tokens of a text, and how far they are read.


use crate::code::tokens::{Tok, Token};

/// The tokens that are read, and how far.
pub struct Cursor<'t> {
    pub(super) t: &'t [Token],
    pub(super) i: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn peek(&self) -> &'t Tok {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, n: usize) -> &'t Tok {
        self.t.get(self.i + n).map_or(&Tok::End, |t| &t.tok)
    }

    pub(super) fn done(&self) -> bool {
        self.i >= self.t.len()
    }

    pub(super) fn op(&self, op: &str) -> bool {
        matches!(self.peek(), Tok::Op(o) if *o == op)
    }

    pub(super) fn name(&self) -> Option<&'t str> {
        match self.peek() {
            Tok::Name(n) => Some(n),
            _ => None,
        }
    }

    pub(super) fn take(&mut self, op: &str) -> bool {
        let yes = self.op(op);
        self.i += usize::from(yes);
        yes
    }

    pub(super) fn apart(&self) -> bool {
        self.t.get(self.i).map_or(false, |t| t.apart)
    }

    pub(super) fn ends(&mut self) {
        while !self.done() && *self.peek() == Tok::End {
            self.i += 1;
        }
    }

    /// The place of the token that closes the bracket at a place.
    pub(super) fn close(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for (k, t) in self.t.iter().enumerate().skip(open) {
            if let Tok::Op(o) = t.tok {
                match o {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            return k;
                        }
                    }
                    _ => {}
                }
            }
        }
        self.t.len()
    }
}

impl Cursor<'_> {
    /// Passes line ends behind an operator.
    pub(super) fn ends_within(&mut self) {
        self.ends();
    }
}
