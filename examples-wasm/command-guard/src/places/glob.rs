//! One element of a path against a pattern of the shell.

/// Whether a pattern of `*`, `?`, `[...]` and characters matches a name. Braces are taken for anything.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (p, n): (&[u8], &[u8]) = (pattern.as_bytes(), name.as_bytes());
    let (mut i, mut j) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while j < n.len() {
        let step = match p.get(i) {
            Some(b'*') => {
                star = Some((i, j));
                i += 1;
                continue;
            }
            Some(b'{') => {
                star = Some((i, j));
                i = p[i..].iter().position(|&b| b == b'}').map_or(p.len(), |end| i + end + 1);
                continue;
            }
            Some(b'?') => 1,
            Some(b'[') => class(&p[i..], n[j]),
            Some(b) if *b == n[j] => 1,
            _ => 0,
        };
        if step > 0 {
            i += step;
            j += 1;
            continue;
        }
        match star {
            Some((at, from)) => {
                star = Some((at, from + 1));
                i = if p[at] == b'{' { p[at..].iter().position(|&b| b == b'}').map_or(p.len(), |end| at + end + 1) } else { at + 1 };
                j = from + 1;
            }
            None => return false,
        }
    }
    p[i..].iter().all(|&b| b == b'*')
}

/// The length of the class that a pattern begins with if it holds a character, or 0.
fn class(p: &[u8], ch: u8) -> usize {
    let negated = matches!(p.get(1), Some(b'!' | b'^'));
    let start = if negated { 2 } else { 1 };
    let end = match p.iter().skip(start + 1).position(|&b| b == b']') {
        Some(end) => end + start + 1,
        None => return if p[0] == ch { 1 } else { 0 },
    };
    let set = &p[start..end];
    let mut held = false;
    let mut i = 0;
    while i < set.len() {
        if i + 2 < set.len() && set[i + 1] == b'-' {
            held = held || (set[i]..=set[i + 2]).contains(&ch);
            i += 3;
        } else {
            held = held || set[i] == ch;
            i += 1;
        }
    }
    if held != negated {
        end + 1
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, want) in [
            ("e*", "etc", true),
            ("*", "etc", true),
            ("?tc", "etc", true),
            ("[de]tc", "etc", true),
            ("[!e]tc", "etc", false),
            ("[a-f]t?", "etc", true),
            ("pass*", "passwd", true),
            ("pass*d-", "passwd", false),
            ("*.conf", "passwd", false),
            ("{etc,usr}", "etc", true),
            ("[", "[", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }
}
