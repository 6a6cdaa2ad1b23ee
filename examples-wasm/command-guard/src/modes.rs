//! Modes of files, as chmod and install take them.

/// What a mode does to those who may use a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effect {
    /// Anybody may write.
    pub opens: bool,
    /// The owner, or everybody else, can no longer read, or enter a directory.
    pub closes: bool,
    /// Programs run with the rights of their owner or group.
    pub setid: bool,
    /// What is run or entered no longer can be.
    pub stops: bool,
}

/// The effect of an octal or symbolic mode; `None` if it is none.
pub fn effect(mode: &str) -> Option<Effect> {
    let octal = mode.trim_start_matches(&['=', '+', '-'][..]);
    if !octal.is_empty() && octal.len() <= 5 && octal.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
        let bits = u32::from_str_radix(octal, 8).ok()?;
        if mode.starts_with('-') {
            return Some(Effect { closes: bits & 0o400 != 0, stops: bits & 0o111 != 0, ..Effect::default() });
        }
        let set = !mode.starts_with('+');
        return Some(Effect {
            opens: bits & 0o002 != 0 && bits & 0o1000 == 0,
            closes: set && bits & 0o400 == 0,
            setid: bits & 0o6000 != 0,
            stops: set && bits & 0o001 == 0,
        });
    }
    let mut out = Effect::default();
    for part in mode.split(',') {
        let at = part.find(&['+', '-', '='][..])?;
        let (who, mut rest) = part.split_at(at);
        if !who.chars().all(|ch| "ugoa".contains(ch)) {
            return None;
        }
        let others = who.is_empty() || who.contains(&['o', 'a'][..]);
        let owner = who.is_empty() || who.contains(&['u', 'a'][..]);
        while let Some(op) = rest.chars().next() {
            let end = rest[1..].find(&['+', '-', '='][..]).map_or(rest.len(), |i| i + 1);
            let perms = &rest[1..end];
            if !perms.chars().all(|ch| "rwxXstugo".contains(ch)) {
                return None;
            }
            match op {
                '-' => {
                    out.closes = out.closes || owner && perms.contains('r');
                    out.stops = out.stops || (owner || others) && perms.contains(&['x', 'r'][..]);
                }
                _ => {
                    // A bare + or = leaves out what the umask does.
                    let all = who.contains(&['o', 'a'][..]);
                    out.opens = out.opens || all && perms.contains('w') || op == '=' && all && perms.contains('u');
                    out.setid = out.setid || perms.contains('s') && (who.is_empty() || who.contains(&['u', 'g', 'a'][..]));
                    if op == '=' {
                        out.closes = out.closes || owner && !perms.contains(&['r', 'u', 'g', 'o'][..]);
                        out.stops = out.stops || others && !perms.contains(&['x', 'X', 'u', 'g'][..]);
                    }
                }
            }
            rest = &rest[end..];
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes() {
        for (mode, opens, closes, setid, stops) in [
            ("777", true, false, false, false),
            ("0777", true, false, false, false),
            ("1777", false, false, false, false),
            ("755", false, false, false, false),
            ("644", false, false, false, true),
            ("600", false, false, false, true),
            ("000", false, true, false, true),
            ("0", false, true, false, true),
            ("4755", false, false, true, false),
            ("6755", false, false, true, false),
            ("ugo=rwx", true, false, false, false),
            ("a+w", true, false, false, false),
            ("o+w", true, false, false, false),
            ("g+w", false, false, false, false),
            ("+x", false, false, false, false),
            ("u+s", false, false, true, false),
            ("+s", false, false, true, false),
            ("a-rwx", false, true, false, true),
            ("o-rx", false, false, false, true),
            ("-x", false, false, false, true),
            ("u=rwX,go=rX", false, false, false, false),
            ("a=", false, true, false, true),
            ("go-w", false, false, false, false),
        ] {
            let want = Effect { opens, closes, setid, stops };
            assert_eq!(effect(mode), Some(want), "{mode}");
        }
        assert_eq!(effect("file"), None);
        assert_eq!(effect("999"), None);
    }
}
