//! Patterns in one element of a path: `*`, `?` and `[...]`, on either side.

/// Whether a name fits a pattern of the rules: * is any text, ? a character.
pub fn is(name: &str, pattern: &str) -> bool {
    if !pattern.contains(&['*', '?'][..]) {
        return name == pattern;
    }
    let mut steps = STEPS;
    meet(name.as_bytes(), pattern.as_bytes(), false, &mut steps)
}

/// Whether a pattern of a shell can be a name. One that is too long to be told can be.
pub fn can_be(pattern: &str, name: &str) -> bool {
    let mut steps = STEPS;
    meet(pattern.as_bytes(), name.as_bytes(), true, &mut steps) || steps == 0
}

/// Whether a pattern says which name is meant: * alone, or *.json, means anything.
pub fn says(pattern: &str, name: &str) -> bool {
    let stem = name.strip_suffix(".json").map_or(pattern, |_| pattern.strip_suffix(".json").unwrap_or(pattern));
    let mut literal = 0;
    let mut class = false;
    for c in stem.chars() {
        match c {
            '[' => class = true,
            ']' => {
                class = false;
                literal += 1;
            }
            '*' => {}
            '?' => literal += 1,
            _ if class => {}
            _ => literal += 1,
        }
    }
    // A shell's * does not begin a name with a dot: a pattern that does says more.
    literal >= 3 || stem.starts_with('.') && literal >= 1
}

const STEPS: u32 = 4096;

fn meet(a: &[u8], b: &[u8], classes: bool, steps: &mut u32) -> bool {
    if *steps == 0 {
        return false;
    }
    *steps -= 1;
    match (a.first(), b.first()) {
        (None, None) => true,
        (Some(b'*'), _) if classes => meet(&a[1..], b, classes, steps) || !b.is_empty() && meet(a, &b[1..], classes, steps),
        (_, Some(b'*')) => meet(a, &b[1..], classes, steps) || !a.is_empty() && meet(&a[1..], b, classes, steps),
        (Some(b'['), Some(&c)) if classes => match a.iter().skip(2).position(|&x| x == b']').map(|i| i + 2) {
            Some(end) => in_class(&a[1..end], c) && meet(&a[end + 1..], &b[1..], classes, steps),
            None => c == b'[' && meet(&a[1..], &b[1..], classes, steps),
        },
        (Some(&x), Some(&y)) => (x == y || classes && x == b'?' || !classes && y == b'?') && meet(&a[1..], &b[1..], classes, steps),
        _ => false,
    }
}

fn in_class(class: &[u8], c: u8) -> bool {
    let (class, not) = match class.first() {
        Some(b'!') | Some(b'^') => (&class[1..], true),
        _ => (class, false),
    };
    let mut found = false;
    let mut i = 0;
    while i < class.len() {
        if i + 2 < class.len() && class[i + 1] == b'-' {
            found |= class[i] <= c && c <= class[i + 2];
            i += 3;
        } else if class[i] == b'[' {
            return true; // [[:alpha:]] and its like: it can be
        } else {
            found |= class[i] == c;
            i += 1;
        }
    }
    found != not
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns() {
        for (pattern, name, want) in [
            ("sh?dow", "shadow", true),
            ("s*", "shadow", true),
            ("[s]hadow", "shadow", true),
            ("[!s]hadow", "shadow", false),
            ("[a-z]hadow", "shadow", true),
            ("*w", "shadow", true),
            ("x*", "shadow", false),
        ] {
            assert_eq!(can_be(pattern, name), want, "{pattern}");
        }
        assert!(is("a.key", "*.key") && !is("a.key", "*.pem"));
        assert!(can_be(&"*a".repeat(40), &"ab".repeat(40))); // it ends, and is told to be possible
    }
}
