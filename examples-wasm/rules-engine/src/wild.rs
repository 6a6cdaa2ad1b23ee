//! Patterns in which * stands for any text, and nothing else is special.

/// Whether the pattern matches the whole text. It takes at most pattern times text steps.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    let (mut i, mut k) = (0, 0);
    let mut back = None;
    while k < t.len() {
        if i < p.len() && p[i] == b'*' {
            back = Some((i, k));
            i += 1;
        } else if i < p.len() && p[i] == t[k] {
            i += 1;
            k += 1;
        } else if let Some((star, from)) = back {
            i = star + 1;
            k = from + 1;
            back = Some((star, k));
        } else {
            return false;
        }
    }
    p[i..].iter().all(|&b| b == b'*')
}

/// Whether a rule's glob and a pattern of a shell can match the same path. Classes and alternatives stand for anything, so
/// that it rather says yes.
pub fn meet(rule: &str, shell: &str) -> bool {
    let (a, b) = (symbols(rule), symbols(shell));
    if a.len().saturating_mul(b.len()) > 1 << 16 {
        return true;
    }
    // row[k]: whether a[i..] and b[k..] can match the same path, from the last i on.
    let mut row = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let mut next = vec![false; b.len() + 1];
        for k in (0..=b.len()).rev() {
            next[k] = match (a.get(i), b.get(k)) {
                (None, None) => true,
                (Some(x), None) => x.empty() && row[k],
                (None, Some(y)) => y.empty() && next[k + 1],
                (Some(x), Some(y)) if x.empty() || y.empty() => {
                    x.empty() && (row[k] || x.takes(y) && next[k + 1]) || y.empty() && (next[k + 1] || y.takes(x) && row[k])
                }
                (Some(x), Some(y)) => x.same(y) && row[k + 1],
            };
        }
        row = next;
    }
    row[0]
}

enum Symbol {
    /// Any text.
    Any,
    /// Any text without a slash.
    Name,
    /// A character that is no slash.
    One,
    Byte(u8),
}

impl Symbol {
    fn empty(&self) -> bool {
        matches!(self, Symbol::Any | Symbol::Name)
    }

    /// Whether the symbol, which may be empty, may begin with what the other one stands for.
    fn takes(&self, other: &Symbol) -> bool {
        match other {
            Symbol::Byte(b) => matches!(self, Symbol::Any) || *b != b'/',
            Symbol::One => true,
            _ => false, // where both may be empty, one of them is left out
        }
    }

    fn same(&self, other: &Symbol) -> bool {
        match (self, other) {
            (Symbol::Byte(a), Symbol::Byte(b)) => a == b,
            (Symbol::Byte(b), _) | (_, Symbol::Byte(b)) => *b != b'/',
            _ => true,
        }
    }
}

fn symbols(pattern: &str) -> Vec<Symbol> {
    let mut out = Vec::new();
    let mut bytes = pattern.bytes().peekable();
    while let Some(b) = bytes.next() {
        let close = match b {
            b'[' => b']',
            b'{' => b'}',
            b'(' => b')',
            _ => 0,
        };
        if close != 0 {
            // What stands in it may be anything; where it ends in another one, so may the rest.
            let nested = bytes.by_ref().take_while(|&c| c != close).any(|c| c == b);
            out.push(Symbol::Any);
            if nested {
                return out;
            }
            continue;
        }
        out.push(match b {
            b'*' if bytes.peek() == Some(&b'*') => {
                bytes.next();
                if bytes.peek() == Some(&b'/') {
                    bytes.next(); // no directory at all is possible, too
                }
                Symbol::Any
            }
            b'*' => Symbol::Name,
            b'?' => Symbol::One,
            b'\\' => bytes.next().map_or(Symbol::Any, |b| Symbol::Byte(b.to_ascii_lowercase())),
            b => Symbol::Byte(b.to_ascii_lowercase()),
        });
    }
    out
}
