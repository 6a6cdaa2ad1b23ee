//! Patterns of names of files that leave out directories.

/// The longest pattern that a call is given, in bytes.
const MAX: usize = 8192;
/// The most alternatives of a pattern's own.
const MAX_OWN: usize = 8;

/// Whether a name fits a pattern in which `*` is any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => match name.strip_prefix(head) {
            None => false,
            Some(name) => {
                rest.is_empty() || (0..=name.len()).any(|i| name.is_char_boundary(i) && fits(rest, &name[i..]))
            }
        },
    }
}

/// One pattern of ripgrep that leaves out everything below directories of these names.
pub fn exclusion(names: &[&str]) -> String {
    match names {
        [one] => format!("!**/{}/**", one),
        many => format!("!**/{{{}}}/**", many.join(",")),
    }
}

/// `**/REST` as `{a,b}/**/REST`. None for a pattern that does not search from the root.
pub fn into(pattern: &str, dirs: &[&str]) -> Option<String> {
    let head = match dirs {
        [one] => format!("{}/", one.trim_end_matches('/')),
        many => format!("{{{}}}/", many.iter().map(|d| d.trim_end_matches('/')).collect::<Vec<_>>().join(",")),
    };
    if pattern.starts_with(&head) {
        return Some(pattern.to_string());
    }
    if pattern.starts_with("**") && head.len() + pattern.len() <= MAX {
        return Some(head + pattern);
    }
    None
}

/// `PLACE/**/REST` so that no directory of these names right below PLACE is entered:
/// `PLACE/{REST,OTHER/**/REST,...}`, where each OTHER is a pattern of names that are not excluded. Globs have no "not";
/// but the names that differ from a few are a finite list of patterns, such as `[!n]*`, `n[!o]*`, `no[!d]*` ...
///
/// None where that cannot be said: no `**`, a place with a pattern, names with a pattern, more than 8 KiB.
pub fn without(pattern: &str, names: &[&str]) -> Option<String> {
    let plain: Vec<&str> = names.iter().copied().filter(|n| is_plain(n)).collect();
    let at = pattern.find("**").filter(|_| pattern.len() <= MAX)?;
    let (place, rest) = (&pattern[..at], &pattern[at + 2..]);
    let is_dir = place.is_empty() || place.ends_with('/');
    if plain.is_empty() || !is_dir || place.contains(|c| "*?[]{}!\\".contains(c)) {
        return None;
    }
    let rest = match rest {
        "" | "/" => "*",
        _ => rest.strip_prefix('/')?,
    };
    let rests = alternatives(rest)?;
    let mut parts: Vec<String> = rests.clone();
    let mut others = Vec::new();
    other_names("", &plain, &mut others);
    let mut length: usize = 0;
    for other in &others {
        for rest in &rests {
            let part = if rest == "*" { format!("{}/**", other) } else { format!("{}/**/{}", other, rest) };
            length += part.len();
            if length > MAX {
                return None;
            }
            parts.push(part);
        }
    }
    let made = format!("{}{{{}}}", place, parts.join(","));
    if made.len() > MAX {
        return None;
    }
    Some(made)
}

/// Whether `without` made the pattern.
pub fn is_without(pattern: &str) -> bool {
    pattern.contains("{") && pattern.contains(",[!") && pattern.ends_with('}')
}

/// A name that says itself in a pattern, and whose letters can stand in a class.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'_')
}

/// The pattern, written out once for each alternative of its braces. None when it has `**`, or braces in braces.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    if pattern.contains("**") || pattern.contains('\\') {
        return None;
    }
    let open = match pattern.find('{') {
        None if pattern.contains(|c| c == '}' || c == ',') => return None,
        None => return Some(vec![pattern.to_string()]),
        Some(open) => open,
    };
    let close = open + pattern[open..].find('}')?;
    let inner = &pattern[open + 1..close];
    if inner.contains('{') {
        return None;
    }
    let mut out = Vec::new();
    for choice in inner.split(',') {
        out.extend(alternatives(&format!("{}{}{}", &pattern[..open], choice, &pattern[close + 1..]))?);
        if out.len() > MAX_OWN {
            return None;
        }
    }
    Some(out)
}

/// Patterns that together fit every name that begins with `head` and is none of `names`, which all do.
fn other_names(head: &str, names: &[&str], out: &mut Vec<String>) {
    let mut next: Vec<char> = names.iter().filter_map(|n| n[head.len()..].chars().next()).collect();
    next.sort_unstable();
    next.dedup();
    let excluded = names.contains(&head);
    if !head.is_empty() && head != "." && head != ".." && !excluded {
        out.push(head.to_string());
    }
    if next.is_empty() {
        out.push(format!("{}?*", head));
        return;
    }
    out.push(format!("{}[!{}]*", head, next.iter().collect::<String>()));
    for c in next {
        let longer = format!("{}{}", head, c);
        let below: Vec<&str> = names.iter().copied().filter(|n| n.starts_with(&longer)).collect();
        other_names(&longer, &below, out);
    }
}
