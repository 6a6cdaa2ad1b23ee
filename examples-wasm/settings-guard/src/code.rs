//! Code of other languages than the shell's: it is judged by what it names and whether it writes near that.

use crate::files::Guarded;
use crate::programs::VARIABLES;

/// Bytes before and behind a name that are looked at with it: about ten lines.
const NEAR: usize = 700;

/// Names in one text that are looked at. A text that has more of them is not judged further, and asked about.
const MOST: usize = 200;

/// Whether code names something protected and, near that, something that writes. Text that cannot be judged otherwise is
/// judged so; `shell`: > writes in its language.
pub fn judge(guarded: &Guarded, text: &str, shell: bool) -> Option<String> {
    let parts = joined(text.as_bytes());
    for text in [Some(text.as_bytes()), parts.as_deref()].into_iter().flatten() {
        match near_names(guarded, text, shell) {
            Near::Writes => return Some("the code names belay or a runtime's settings and can write".into()),
            Near::More => return Some("the code names belay or a runtime's settings more often than can be judged".into()),
            Near::Nothing => {}
        }
    }
    None
}

enum Near {
    Nothing,
    Writes,
    More,
}

const NAMES: &[&str] = &[
    ".claude", ".codex", ".gemini", ".cursor", ".openclaw", "claude", "codex", "gemini", "opencode", "openclaw", "belay", "disableallhooks",
];

fn near_names(guarded: &Guarded, text: &[u8], shell: bool) -> Near {
    let begins = |at: usize, name: &str| text.len() - at >= name.len() && text[at..at + name.len()].eq_ignore_ascii_case(name.as_bytes());
    let mut at = 0;
    let mut seen = 0;
    // Two bytes decide for almost every place: texts are up to a megabyte long.
    while at + 1 < text.len() {
        let (c, d) = (text[at] | 0x20, text[at + 1] | 0x20);
        let may = match c {
            b'.' => matches!(d, b'c' | b'g' | b'o'),
            b'c' => matches!(d, b'l' | b'o'),
            b'g' => d == b'e',
            b'o' => d == b'p',
            b'b' => d == b'e',
            b'd' => d == b'i',
            b'/' => true,
            _ => false,
        };
        if !may || !(NAMES.iter().any(|n| begins(at, n)) || c == b'/' && guarded.telling.iter().any(|d| begins(at, d))) {
            at += 1;
            continue;
        }
        seen += 1;
        if seen > MOST {
            return Near::More;
        }
        let near = String::from_utf8_lossy(&text[at.saturating_sub(NEAR)..text.len().min(at + NEAR)]).to_lowercase();
        if writes(guarded, &near, shell) {
            return Near::Writes;
        }
        at += NEAR / 2; // what stands between is in both
    }
    Near::Nothing
}

fn writes(guarded: &Guarded, text: &str, shell: bool) -> bool {
    let any = |list: &[&str]| list.iter().any(|w| text.contains(w));
    let dirs = [".claude", "claude-code", ".codex", ".gemini", ".cursor", "opencode", ".openclaw", "/codex"];
    let files = ["settings", "config.toml", "hooks.json", "requirements.toml", "opencode.json", "openclaw.json", "plugin", "codex/.env"];
    let removes = ["rmtree", "rmsync", "rm_rf", "remove", "rename", "move", "symlink", "unlink", "rm -r", "mv ", "rimraf"];
    let named = any(&dirs) && (any(&files) || any(&removes))
        || any(&[".local/state/belay", ".belay/", "belay_home", "disableallhooks", "bin/belay", "belay.sock", "frame.sock"])
        || any(VARIABLES)
        || guarded.named_in(text);
    let writes = [
        "write", "put_", "putenv", "'w", "\"w", "'a'", "\"a\"", "'r+", "\"r+", "dump(", "dump ", "unlink", "rm_", "rmdir", "truncate",
        "chmod", "copy", "system", "exec", "subprocess", "spawn", "popen", "touch", "environ[", "setenv", "environ.update", "kill",
        "delete", "update ", "insert ", "attach ", "drop ", "cp ", "mv ", "rm ", "tee ", "sed -i", "set-content", "out-file",
        "remove-item", "move-item", "copy-item", "add-content", "new-item", "symlink", "link(", "process.env.codex_home =",
        "process.env.claude_config_dir =",
    ];
    if named && (any(&writes) || any(&removes) || shell && text.contains('>')) {
        return true;
    }
    let starts = ["system", "exec", "subprocess", "spawn", "popen", "shell", "`", "run("];
    let ends = ["kill", "sigterm", "sigstop", "terminate"];
    let verbs = [
        "belay approvals approve", "belay/approvals", "belay hook disable", "belay/hook/disable", "belay disconnect",
        "belay/disconnect", "belay latch", "belay/latch", "uninstall belay", "uninstall/belay", "belay connect", "belay/connect",
        "belay trust add", "belay/trust/add", "belay hook remove", "belay/hook/remove", "belay hook observe", "belay/hook/observe",
        "belay hook enable", "belay/hook/enable", "belay hook enforce", "belay/hook/enforce", "belay hook install",
        "belay/hook/install",
    ];
    let bare = ["--bare", "--setting-sources", "--ignore-user-config", "features.hooks", "bypass-hook-trust", "--settings", "--skip-trust", "--pure"];
    text.contains("belay") && any(&ends)
        || any(&verbs) && (any(&starts) || shell)
        || any(&["claude", "codex", "gemini", "opencode"]) && any(&bare) && any(&starts)
}

/// Puts texts together that code puts together: 'a' + 'b' is ab, 'a', 'b' is a/b. `None`: there are none.
fn joined(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut kept = 0; // up to here it is in out
    let mut i = 0;
    while i < text.len() {
        let c = text[i];
        i += 1;
        if c != b'\'' && c != b'"' {
            continue;
        }
        let mut k = i;
        let mut between = 0;
        while k < text.len() && k - i < 12 {
            match text[k] {
                b' ' | b'\t' | b'\n' => {}
                o @ (b'+' | b',' | b'/' | b'.') if between == 0 => between = o,
                _ => break,
            }
            k += 1;
        }
        if between != 0 && k < text.len() && matches!(text[k], b'\'' | b'"') {
            out.extend_from_slice(&text[kept..i - 1]);
            if matches!(between, b',' | b'/') {
                out.push(b'/');
            }
            i = k + 1;
            kept = i;
        }
    }
    if kept == 0 {
        return None;
    }
    out.extend_from_slice(&text[kept..]);
    Some(out)
}
