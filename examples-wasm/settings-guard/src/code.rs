//! Code of other languages than the shell's: it is judged by what it names and whether it writes near that.

use crate::files::Guarded;

/// Lines that are looked at together.
const NEAR: usize = 16;

/// Whether code names something protected and, within a few lines, something that writes. Text that cannot be judged
/// otherwise is judged so; `shell`: > writes in its language.
pub fn judge(guarded: &Guarded, text: &str, shell: bool) -> Option<String> {
    let text = text.to_lowercase();
    if !hot(guarded, &text) && !hot(guarded, &joined(&text)) {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut from = 0;
    while from < lines.len() {
        let near = lines[from..lines.len().min(from + NEAR)].join("\n");
        let near = format!("{near}\n{}", joined(&near));
        if hot(guarded, &near) && near_writes(guarded, &near, shell) {
            return Some("the code names belay or a runtime's settings and can write".into());
        }
        from += NEAR / 2;
    }
    None
}

const DIRS: &[&str] = &[".claude", "claude-code", ".codex", ".gemini", ".cursor", "opencode", ".openclaw", "/codex"];

fn hot(guarded: &Guarded, text: &str) -> bool {
    DIRS.iter().any(|d| text.contains(d))
        || ["belay", "disableallhooks", "claude", "codex"].iter().any(|d| text.contains(d))
        || guarded.named_in(text)
}

fn near_writes(guarded: &Guarded, text: &str, shell: bool) -> bool {
    let any = |list: &[&str]| list.iter().any(|w| text.contains(w));
    let files = ["settings", "config.toml", "hooks.json", "requirements.toml", "opencode.json", "openclaw.json", "plugin", "codex/.env"];
    let removes = ["rmtree", "rmsync", "rm_rf", "remove", "rename", "move", "symlink", "unlink", "rm -r", "mv ", "rimraf"];
    let named = any(DIRS) && (any(&files) || any(&removes))
        || any(&[".local/state/belay", ".belay/", "belay_home", "disableallhooks", "bin/belay", "belay.sock"])
        || any(&["claude_config_dir", "codex_home"])
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
        "belay trust add", "belay/trust/add",
    ];
    let bare = ["--bare", "--setting-sources", "--ignore-user-config", "features.hooks", "bypass-hook-trust", "--settings"];
    text.contains("belay") && any(&ends)
        || any(&verbs) && (any(&starts) || shell)
        || any(&["claude", "codex"]) && any(&bare) && any(&starts)
}

/// Puts texts together that code puts together: 'a' + 'b' is ab, 'a', 'b' is a/b.
fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes: Vec<char> = text.chars().collect();
    let mut i = 0;
    while i < bytes.len() {
        let c = bytes[i];
        if matches!(c, '\'' | '"') {
            let mut k = i + 1;
            let mut between = None;
            while k < bytes.len() && k - i < 12 {
                match bytes[k] {
                    ' ' | '\t' => {}
                    o @ ('+' | ',' | '/' | '.') if between.is_none() => between = Some(o),
                    _ => break,
                }
                k += 1;
            }
            if k < bytes.len() && matches!(bytes[k], '\'' | '"') {
                match between {
                    Some('+' | '.') => {
                        i = k + 1;
                        continue;
                    }
                    Some(_) => {
                        out.push('/');
                        i = k + 1;
                        continue;
                    }
                    None => {}
                }
            }
        }
        out.push(c);
        i += 1;
    }
    out
}
