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

/// Whether a rule's pattern for a name and a pattern of a shell can match the same name. Classes and alternatives stand
/// for anything, so that it rather says yes.
pub fn meet(rule: &str, shell: &str) -> bool {
    let (a, b) = (symbols(rule), symbols(shell));
    if a.len().saturating_mul(b.len()) > 1 << 16 {
        return true;
    }
    // row[k]: whether a[i..] and b[k..] can match the same name, from the last i on.
    let mut row = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let mut next = vec![false; b.len() + 1];
        for k in (0..=b.len()).rev() {
            let (x, y) = (a.get(i), b.get(k));
            next[k] = match (x, y) {
                (None, None) => true,
                (Some(Symbol::Any), _) if row[k] => true,
                (_, Some(Symbol::Any)) if next[k + 1] => true,
                (Some(Symbol::Any), Some(_)) => next[k + 1],
                (Some(_), Some(Symbol::Any)) => row[k],
                (Some(x), Some(y)) => same(x, y) && row[k + 1],
                _ => false,
            };
        }
        row = next;
    }
    row[0]
}

enum Symbol {
    Any,
    One,
    Byte(u8),
}

fn same(a: &Symbol, b: &Symbol) -> bool {
    match (a, b) {
        (Symbol::Byte(a), Symbol::Byte(b)) => a == b,
        _ => true,
    }
}

fn symbols(pattern: &str) -> Vec<Symbol> {
    let mut out = Vec::new();
    let mut bytes = pattern.bytes();
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
            b'*' => Symbol::Any,
            b'?' => Symbol::One,
            b'\\' => bytes.next().map_or(Symbol::Any, |b| Symbol::Byte(b.to_ascii_lowercase())),
            b => Symbol::Byte(b.to_ascii_lowercase()),
        });
    }
    out
}
