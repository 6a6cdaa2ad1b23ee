//! Which files switch belay off, and whether a name means one of them.

use belay_hook as hook;
use hook::analysis;
use hook::config;
use hook::json::Value;

/// Files of runtimes: the last elements of a path, lower case, with * for any part of an element.
const SETTINGS: [&str; 27] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/managed-settings.json",
    "claude-code/managed-settings.json",
    "claude-code/managed-settings.d/*.json",
    "claude-code/managed-mcp.json",
    "claudecode/managed-settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".codex/requirements.toml",
    ".codex/managed_config.toml",
    "etc/codex/config.toml",
    "etc/codex/hooks.json",
    "etc/codex/requirements.toml",
    "etc/codex/managed_config.toml",
    ".gemini/settings.json",
    ".gemini/system-settings.json",
    ".gemini/.env",
    "gemini-cli/settings.json",
    "gemini-cli/system-defaults.json",
    ".cursor/hooks.json",
    "cursor/hooks.json",
    "opencode.json",
    "opencode.jsonc",
    ".openclaw/openclaw.json",
    ".opencode/plugin*/*",
    "opencode/plugin*/*",
];

/// Directories that hold them. To remove, move, link or fill one is to change what is in it.
const DIRECTORIES: [&str; 14] = [
    ".claude", ".codex", ".gemini", ".cursor", ".opencode", ".openclaw", "etc/claude-code", "etc/codex", "etc/gemini-cli",
    ".config/opencode", ".opencode/plugin", ".opencode/plugins", "opencode/plugin", "opencode/plugins",
];

/// Belay's own: everything in these directories, and these programs.
const OWN: [&str; 4] = [".local/state/belay", ".belay", "bin/belay", "bin/belay-hook"];

/// What is protected.
pub struct Guarded {
    own: Vec<String>,
}

impl Guarded {
    pub fn from_config() -> Guarded {
        let list = config::value("/paths").unwrap_or(Value::Null);
        let own = list.items().iter().filter_map(|v| v.as_text()).map(|p| p.trim_end_matches('/').to_lowercase());
        Guarded { own: own.collect() }
    }

    /// The first name that means a protected file, in its own words.
    pub fn first(&self, names: &[String], cwd: Option<&str>) -> Result<Option<String>, hook::Fail> {
        self.find(names, cwd, false)
    }

    /// As `first`, and directories that hold protected files count, too.
    pub fn first_tree(&self, names: &[String], cwd: Option<&str>) -> Result<Option<String>, hook::Fail> {
        self.find(names, cwd, true)
    }

    fn find(&self, names: &[String], cwd: Option<&str>, tree: bool) -> Result<Option<String>, hook::Fail> {
        for some in names.chunks(64) {
            let texts: Vec<String> = some.iter().map(|n| joined(&braces(n), cwd)).collect();
            let refs: Vec<&str> = texts.iter().map(|s| s.as_str()).collect();
            let found = match analysis::path_resolve(&refs, cwd.filter(|d| d.starts_with('/'))) {
                Ok(found) => found,
                Err(hook::Errno::TooLarge) => return Ok(Some("a file whose name is too long to be judged".into())),
                Err(e) => return Err(e.into()),
            };
            for (i, p) in found.iter().enumerate() {
                let keys = p.keys.iter().cloned().chain([p.path.to_lowercase(), p.resolved.to_lowercase()]);
                if p.links == "loop" || keys.filter(|k| !k.is_empty()).any(|k| self.means(&k, tree)) {
                    return Ok(Some(some[i].clone()));
                }
            }
        }
        Ok(None)
    }

    /// Whether a cleaned path in lower case means a protected file.
    pub fn means(&self, path: &str, tree: bool) -> bool {
        let path = path.trim_end_matches('/');
        let below = |dir: &str| path == dir || path.starts_with(dir) && path[dir.len()..].starts_with('/');
        let holds = |dir: &str| tree && dir.starts_with(path) && dir[path.len()..].starts_with('/');
        SETTINGS.iter().any(|s| ends(path, s))
            || tree && DIRECTORIES.iter().any(|d| ends(path, d))
            || self.own.iter().any(|d| below(d) || holds(d))
            || OWN.iter().any(|d| ends(path, d) || inside(path, d))
    }
}

/// Writes * for alternatives in braces, where the shell left them.
fn braces(name: &str) -> String {
    match (name.find('{'), name.rfind('}')) {
        (Some(from), Some(to)) if from < to && !name[..from].ends_with('$') => format!("{}*{}", &name[..from], &name[to + 1..]),
        _ => name.to_string(),
    }
}

/// Puts the directory of a `cd` before a relative name, where the host cannot.
fn joined(name: &str, cwd: Option<&str>) -> String {
    match cwd {
        Some(dir) if !dir.starts_with('/') && !name.starts_with('/') && !name.starts_with('~') => format!("{dir}/{name}"),
        _ => name.to_string(),
    }
}

/// Whether the last elements of a path match; the path may have patterns, too.
fn ends(path: &str, suffix: &str) -> bool {
    let want: Vec<&str> = suffix.split('/').collect();
    let have: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let far = path.split('/').next().map_or(false, |host| host.contains(':')); // HOST:PATH is on another machine
    let bare = want.len() == 1 && have.last().map_or(true, |l| l.starts_with('*') || *l == "?*");
    !far && !bare && have.len() >= want.len() && have[have.len() - want.len()..].iter().zip(&want).all(|(h, w)| wild(h, w))
}

/// Whether a path is below a directory of that name.
fn inside(path: &str, dir: &str) -> bool {
    let want: Vec<&str> = dir.split('/').collect();
    let have: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    dir.starts_with('.') && have.windows(want.len()).any(|w| w == want.as_slice())
}

/// Whether two elements can mean the same name; * stands for any text and ? for a character, in both.
fn wild(a: &str, b: &str) -> bool {
    fn go(a: &[u8], b: &[u8]) -> bool {
        match (a.first(), b.first()) {
            (None, None) => true,
            (Some(b'*'), _) => go(&a[1..], b) || !b.is_empty() && go(a, &b[1..]),
            (_, Some(b'*')) => go(a, &b[1..]) || !a.is_empty() && go(&a[1..], b),
            (Some(b'['), Some(_)) => match a.iter().position(|&c| c == b']') {
                Some(end) => go(&a[end + 1..], &b[1..]),
                None => false,
            },
            (Some(x), Some(y)) => (x == y || *x == b'?') && go(&a[1..], &b[1..]),
            _ => false,
        }
    }
    a.len() <= 128 && a.matches('*').count() <= 4 && go(a.as_bytes(), b.as_bytes())
}

/// The strings of a file tool's arguments that name files, at any depth.
pub fn path_arguments(args: &Value) -> Vec<String> {
    fn walk(name: &str, v: &Value, out: &mut Vec<String>) {
        for (n, v) in v.members() {
            walk(&n.to_lowercase(), v, out);
        }
        for v in v.items() {
            walk(name, v, out);
        }
        let names = ["path", "file", "dir", "folder", "target", "dest", "uri"].iter().any(|p| name.contains(p));
        let holds = ["text", "content", "contents", "type"].iter().any(|s| name.ends_with(s));
        if let Some(s) = v.as_text().filter(|s| names && !holds && !s.contains('\n')) {
            out.push(s.to_string());
        }
    }
    let mut out = Vec::new();
    walk("", args, &mut out);
    out
}

/// The files that a patch changes, by its own lines.
pub fn patched(args: &Value) -> Vec<String> {
    fn walk(v: &Value, out: &mut Vec<String>) {
        for (_, v) in v.members() {
            walk(v, out);
        }
        for v in v.items() {
            walk(v, out);
        }
        for line in v.as_text().unwrap_or("").lines() {
            let line = line.trim();
            let name = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:", "+++ ", "--- ", "rename to "]
                .iter()
                .find_map(|p| line.strip_prefix(p));
            if let Some(n) = name {
                let n = n.trim().split('\t').next().unwrap_or("");
                out.push(n.strip_prefix("a/").or_else(|| n.strip_prefix("b/")).unwrap_or(n).to_string());
            }
        }
    }
    let mut out = path_arguments(args);
    walk(args, &mut out);
    out
}

/// Whether code names a protected file and something that writes. Text that cannot be judged otherwise is judged so;
/// `shell`: > writes in its language.
pub fn mention(guarded: &Guarded, text: &str, shell: bool) -> Option<String> {
    let text = text.to_lowercase();
    let dirs = [".claude", "claude-code", ".codex", ".gemini", ".cursor", "opencode", ".openclaw", "/codex"];
    let files = ["settings", "config.toml", "hooks.json", "requirements.toml", "opencode.json", "openclaw.json", "plugin"];
    let removes = ["rmtree", "rmsync", "rm_rf", "remove", "rename", "move", "symlink"];
    let any = |list: &[&str]| list.iter().any(|w| text.contains(w));
    let named = any(&dirs) && (any(&files) || any(&removes))
        || any(&OWN[..2])
        || text.contains("belay_home")
        || text.contains("disableallhooks")
        || guarded.own.iter().any(|d| text.contains(d.as_str()));
    let writes = [
        "write", "put_", "putenv", "'w", "\"w", "'a'", "\"a\"", "'r+", "\"r+", "dump(", "dump ", "unlink", "rm_", "truncate", "chmod", "copy",
        "system", "exec", "subprocess", "spawn", "popen", "touch", "environ[", "setenv", "environ.update", "kill", "delete",
        "update ", "insert ", "attach ", "cp ", "mv ", "rm ", "tee ", "sed -i",
    ];
    if named && (any(&writes) || any(&removes) || shell && text.contains('>')) {
        return Some("the code names belay or a runtime's settings and can write".into());
    }
    None
}
