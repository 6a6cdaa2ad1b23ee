//! Which files switch belay off, and whether a name means one of them.

use std::collections::BTreeSet;

use belay_hook as hook;
use hook::analysis;
use hook::json::Value;
use hook::{config, input};

/// Files of runtimes, and what starts belay: the last elements of a path, lower case, with * for any part of an element.
const SETTINGS: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/managed-settings.json",
    ".claude.json",
    "claude-code/managed-settings.json",
    "claude-code/managed-settings.d/*.json",
    "claude-code/managed-mcp.json",
    "claudecode/managed-settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".codex/.env",
    ".codex/requirements.toml",
    ".codex/managed_config.toml",
    "etc/codex/config.toml",
    "etc/codex/hooks.json",
    "etc/codex/requirements.toml",
    "etc/codex/managed_config.toml",
    ".gemini/settings.json",
    ".gemini/system-settings.json",
    ".gemini/.env",
    ".gemini/trustedfolders.json",
    "gemini-cli/settings.json",
    "gemini-cli/system-defaults.json",
    ".cursor/hooks.json",
    "cursor/hooks.json",
    "opencode.json",
    "opencode.jsonc",
    ".openclaw*/openclaw.json",
    ".openclaw*/.env",
    ".openclaw*/extensions/*",
    ".openclaw*/extensions/*/*",
    ".openclaw*/belay/*",
    ".opencode/plugin*/*",
    "opencode/plugin*/*",
    ".opencode/tool*/*", // one by the name of OpenCode's own takes its place
    ".config/opencode/tool*/*",
    ".config/opencode/config.json",
    "etc/opencode/*",
    "systemd/user/*belay*",
    "systemd/system/*belay*",
    "systemd/user/*belay*/*",
    "launchagents/*belay*",
    "launchdaemons/*belay*",
    "run/user/*/belay",
    // what the shell reads that starts Codex's hooks
    ".zshenv",
    "etc/zshenv",
    "etc/zsh/zshenv",
    "etc/ld.so.preload",
];

/// Directories that hold them. To remove, move, link or fill one is to change what is in it.
const DIRECTORIES: &[&str] = &[
    ".claude", ".codex", ".gemini", ".cursor", ".opencode", ".openclaw", "etc/claude-code", "etc/codex", "etc/gemini-cli", "etc/opencode",
    "claude-code/managed-settings.d", ".config/opencode", ".opencode/plugin", ".opencode/plugins", ".opencode/tool", ".opencode/tools",
    ".config/opencode/tool", ".config/opencode/tools", "opencode/plugin", "opencode/plugins", ".openclaw*", ".openclaw*/extensions", ".openclaw*/belay",
];

/// Everything in these directories, and these programs.
const OWN: &[&str] = &[".local/state/belay", ".belay", ".claude/plugins", "run/user/*/belay", "bin/belay", "bin/belay-hook", "bin/belay-eval"];

/// What a shell, a login or the scheduler reads later: who writes there decides what is run, and in which environment.
const PROFILES: &[&str] = &[
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".cshrc", ".tcshrc",
    ".zlogin", ".zlogout", ".kshrc", ".pam_environment", ".xprofile", ".xsessionrc", ".envrc", "fish/config.fish",
    "fish/conf.d/*.fish", "environment.d/*.conf", "etc/environment", "etc/profile", "etc/profile.d/*", "etc/bash.bashrc",
    "etc/bashrc", "etc/zsh*", "etc/zsh/*",
];

/// How much counts beside the protected files themselves.
#[derive(Clone, Copy, PartialEq)]
pub enum Reach {
    /// The files.
    Files,
    /// Directories that hold them.
    Directories,
    /// Everything above such a directory as well: what happens to it happens to them.
    Parents,
    /// As `Parents`, and the project itself.
    Project,
    /// What puts files of its own choice into a directory: those that hold settings, and homes.
    Fill,
}

/// What is protected.
pub struct Guarded {
    /// From the configuration, lower case: paths that it lists, and files that belay.yaml names.
    pub own: Vec<String>,
    /// Those whose names in a text say that it is about belay. The rest is programs that any text may name.
    pub telling: Vec<String>,
    home: String,
    project: String,
}

impl Guarded {
    pub fn from_config() -> Guarded {
        let listed = |at: &str| -> Vec<String> {
            let list = config::value(at).unwrap_or(Value::Null);
            list.items().iter().filter_map(|v| v.as_text()).map(|p| p.trim_end_matches('/').to_lowercase()).collect()
        };
        let (mut own, files) = (listed("/paths"), listed("/files"));
        // What belay-hook becomes lies beside it, also where the configuration is of before that program.
        let beside: Vec<String> =
            own.iter().filter_map(|p| p.strip_suffix("/belay-hook")).map(|dir| format!("{dir}/belay-eval")).collect();
        own.extend(beside);
        let system = |p: &String| ["/usr/", "/bin/", "/sbin/", "/opt/", "/nix/"].iter().any(|d| p.starts_with(d));
        let telling = own.iter().chain(files.iter().filter(|p| !system(p))).filter(|p| p.len() > 3).cloned().collect();
        own.extend(files);
        let home = analysis::path_resolve(&["~"], None).ok().and_then(|f| f.first().map(|p| p.path.to_lowercase()));
        let project = input::text("/cwd").unwrap_or_default().trim_end_matches('/').to_lowercase();
        Guarded { own, telling, home: home.filter(|h| h.starts_with('/')).unwrap_or_default(), project }
    }

    /// The first name that means a protected file, in its own words.
    pub fn first(&self, names: &[String], cwd: Option<&str>, reach: Reach) -> Result<Option<String>, hook::Fail> {
        let mut asked = BTreeSet::new();
        let names: Vec<&str> = names.iter().map(String::as_str).filter(|n| asked.insert(*n)).collect();
        let mut hit = None;
        resolve(&names, cwd, |i, form| {
            hit = match form {
                Form::Key(key) if !self.means(&key, reach) => None,
                Form::TooLong => Some("a file whose name is too long to be judged".to_string()),
                _ => Some(names[i].to_string()),
            };
            hit.is_some()
        })?;
        Ok(hit)
    }

    /// Which names mean files of those that a shell, a login or the scheduler reads later.
    pub fn profiles(&self, names: &[String], cwd: Option<&str>) -> Result<Vec<bool>, hook::Fail> {
        let mut out = vec![false; names.len()];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        resolve(&names, cwd, |i, form| {
            out[i] |= match form {
                Form::Key(key) => PROFILES.iter().any(|s| key.ends(s)) || key.path.contains("claude_env_file"),
                _ => true,
            };
            false
        })?;
        Ok(out)
    }

    /// Whether a cleaned path in lower case means something protected.
    fn means(&self, key: &Key, reach: Reach) -> bool {
        let (root, path) = (key.whole == "/", key.path);
        let below = |dir: &str| path == dir || path.starts_with(dir) && path[dir.len()..].starts_with('/');
        let above = |dir: &str| dir.len() > path.len() && dir.starts_with(path) && dir[path.len()..].starts_with('/');
        let far = path.split('/').next().map_or(false, |host| host.contains(':')); // HOST:PATH is on another machine
        if far {
            return false;
        }
        if SETTINGS.iter().any(|s| key.ends(s))
            || self.own.iter().any(|d| below(d))
            || OWN.iter().any(|d| key.ends(d) || key.inside(d))
            || path.ends_with("/belay.sock")
            || path.ends_with("/frame.sock")
        {
            return true;
        }
        if reach == Reach::Files {
            return false;
        }
        if DIRECTORIES.iter().any(|d| key.ends(d)) {
            return true;
        }
        match reach {
            Reach::Fill => root || self.is_home(path),
            Reach::Parents | Reach::Project => {
                root || self.is_home(path)
                    || matches!(path, "/home" | "/users" | "/etc" | "~")
                    || key.ends(".local/state") && !path.starts_with("/tmp/")
                    || key.ends(".local") && self.is_home(path.rsplit_once('/').map_or("", |p| p.0))
                    || self.own.iter().any(|d| above(d))
                    || !self.project.is_empty() && (above(&self.project) || reach == Reach::Project && path == self.project)
                        && !path.is_empty()
            }
            _ => false,
        }
    }

    /// Whether a path is the home directory of an account.
    pub fn is_home(&self, path: &str) -> bool {
        let path = path.trim_end_matches("/*").trim_end_matches("/.*");
        let mut elements = path.split('/');
        match (elements.next(), elements.next(), elements.next(), elements.next()) {
            (Some(tilde), None, _, _) if tilde.starts_with('~') => true,
            (Some(""), Some("root"), None, _) | (Some(""), Some("home" | "users"), Some(_), None) => true,
            _ => !self.home.is_empty() && path == self.home,
        }
    }

    /// Whether a text has the path of belay's state or programs in it.
    pub fn named_in(&self, lower: &str) -> bool {
        self.telling.iter().any(|d| lower.contains(d.as_str()))
    }
}

/// Whether a name that a search is given may be the name of a protected file or directory.
pub fn may_be_settings(name: &str, patterns: bool) -> bool {
    let name = name.to_lowercase();
    let last = SETTINGS.iter().chain(DIRECTORIES.iter()).map(|s| s.rsplit('/').next().unwrap_or(s)).filter(|l| !l.contains('*'));
    if patterns {
        return last.into_iter().any(|l| wild(&name, l));
    }
    let ours = ["settings.json", "settings.local.json", "managed-settings.json", "hooks.json", ".claude", ".codex", ".gemini"];
    ours.contains(&name.as_str()) || name.contains("claude") || name.contains("codex")
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

/// A form in which the host knows a name.
enum Form<'a> {
    Key(Key<'a>),
    /// Its links lead in a circle.
    Loop,
    TooLong,
}

/// Tells of each form of each name, by the name's index, until `tell` says that it is enough.
fn resolve(names: &[&str], cwd: Option<&str>, mut tell: impl FnMut(usize, Form) -> bool) -> hook::Result {
    for (chunk, some) in names.chunks(64).enumerate() {
        let texts: Vec<String> = some.iter().map(|n| joined(&braces(n), cwd)).collect();
        let refs: Vec<&str> = texts.iter().map(|s| s.as_str()).collect();
        let found = match analysis::path_resolve(&refs, cwd.filter(|d| d.starts_with('/'))) {
            Ok(found) => found,
            Err(hook::Errno::TooLarge) => {
                if (0..some.len()).any(|i| tell(chunk * 64 + i, Form::TooLong)) {
                    return Ok(());
                }
                continue;
            }
            Err(e) => return Err(e.into()),
        };
        for (i, p) in found.iter().enumerate() {
            let at = chunk * 64 + i;
            let mut keys: Vec<String> = p.keys.iter().cloned().chain([p.path.to_lowercase(), p.resolved.to_lowercase()]).collect();
            keys.sort_unstable();
            keys.dedup();
            let mut keys = keys.iter().filter(|k| !k.is_empty());
            if p.links == "loop" && tell(at, Form::Loop) || keys.any(|k| tell(at, Form::Key(Key::of(k)))) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A cleaned path in lower case, taken apart.
struct Key<'a> {
    whole: &'a str,
    path: &'a str, // without / at its end
    elements: Vec<&'a str>,
    plain: bool, // without patterns
}

impl Key<'_> {
    fn of(whole: &str) -> Key {
        let path = whole.trim_end_matches('/');
        let elements = path.split('/').filter(|p| !p.is_empty()).collect();
        Key { whole, path, elements, plain: !path.bytes().any(|b| matches!(b, b'*' | b'?' | b'[')) }
    }

    /// Whether the last elements match; they may have patterns, too.
    fn ends(&self, suffix: &str) -> bool {
        let mut have = self.elements.iter().rev();
        suffix.rsplit('/').all(|w| have.next().map_or(false, |h| self.is(h, w))) && (suffix.contains('/') || !self.bare())
    }

    /// Whether the last element says next to nothing.
    fn bare(&self) -> bool {
        self.elements.last().map_or(true, |l| l.starts_with('*') || *l == "?*")
    }

    /// Whether an element of the path can mean an element of a list, most of which differ in their first letter.
    fn is(&self, have: &str, want: &str) -> bool {
        let first = want.as_bytes().first();
        (!self.plain || first == Some(&b'*') || first == have.as_bytes().first()) && wild(have, want)
    }

    /// Whether the path is below a directory of that name, or is it.
    fn inside(&self, dir: &str) -> bool {
        let here = |at: usize| dir.split('/').enumerate().all(|(n, w)| self.elements.get(at + n).map_or(false, |h| *h == w || w == "*"));
        !dir.starts_with("bin/") && (0..self.elements.len()).any(here)
    }
}

/// Whether two elements can mean the same name; * stands for any text and ? for a character, in both.
pub fn wild(a: &str, b: &str) -> bool {
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
