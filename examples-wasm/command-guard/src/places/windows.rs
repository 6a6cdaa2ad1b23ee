//! Places of Windows, as its own programs, the Subsystem for Linux and Git Bash write them.

use alloc::string::String;
use protected_files::search::{any, Case};

/// A path with a drive, or a variable that stands for one, as `C:/dir`, in lower case. Backslashes may have been taken by
/// the shell.
pub fn drive(text: &str) -> Option<String> {
    if !any(text, b"%$:") {
        return on_windows(text);
    }
    let lower = text.lowered().replace('\\', "/");
    let lower = lower.strip_prefix("//?/").or_else(|| lower.strip_prefix("//./")).unwrap_or(&lower);
    for (name, path) in [
        ("%userprofile%", "c:/users/x"),
        ("$env:userprofile", "c:/users/x"),
        ("%homepath%", "c:/users/x"),
        ("%systemroot%", "c:/windows"),
        ("%windir%", "c:/windows"),
        ("$env:systemroot", "c:/windows"),
        ("$env:windir", "c:/windows"),
        ("%systemdrive%", "c:"),
        ("$env:systemdrive", "c:"),
        ("%programfiles%", "c:/program files"),
        ("$env:programfiles", "c:/program files"),
    ] {
        if let Some(rest) = lower.strip_prefix(name) {
            return Some(cleaned(path, rest));
        }
    }
    let b = lower.as_bytes();
    if b.len() >= 2 && b[0].is_ascii_alphabetic() && b[1] == b':' && !lower.starts_with("c:///") {
        return Some(cleaned(&lower[..2], &lower[2..]));
    }
    on_windows(text)
}

/// A path of Unix that leads to where Windows itself is: other directories may have one letter, too.
fn on_windows(text: &str) -> Option<String> {
    let unix = text.strip_prefix("/mnt").unwrap_or(text);
    let rest = unix.strip_prefix("/c").filter(|r| r.is_empty() || r.starts_with('/'))?;
    Some(cleaned("c:", &rest.lowered()))
}

fn cleaned(drive: &str, rest: &str) -> String {
    let mut out = String::from(drive);
    for part in rest.split('/').filter(|p| !p.is_empty() && *p != ".") {
        out.push('/');
        out.push_str(part);
    }
    out
}

/// A path of [`drive`] without a pattern for all that is in it.
fn dir(path: &str) -> &str {
    path.strip_suffix("/*.*").or_else(|| path.strip_suffix("/*")).unwrap_or(path)
}

pub fn is_tree(path: &str) -> bool {
    let dir = dir(path);
    if dir.as_bytes().get(1) != Some(&b':') {
        return false;
    }
    matches!(
        &dir[2..],
        "" | "/windows" | "/windows/system32" | "/users" | "/program files" | "/program files (x86)" | "/programdata" | "/boot"
    ) || dir[2..].starts_with("/windows/system32/")
}

pub fn is_home(path: &str) -> bool {
    let dir = dir(path);
    dir.as_bytes().get(1) == Some(&b':')
        && dir[2..].strip_prefix("/users/").map_or(false, |user| !user.is_empty() && !user.contains('/'))
}
