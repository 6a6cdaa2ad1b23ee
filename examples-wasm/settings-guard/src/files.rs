//! Which files switch belay off, and whether a name means one of them.

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
    "gemini-cli/settings.json",
    "gemini-cli/system-defaults.json",
    ".cursor/hooks.json",
    "cursor/hooks.json",
    "opencode.json",
    "opencode.jsonc",
    ".openclaw/openclaw.json",
    ".opencode/plugin*/*",
    "opencode/plugin*/*",
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
    ".claude", ".codex", ".gemini", ".cursor", ".opencode", ".openclaw", "etc/claude-code", "etc/codex", "etc/gemini-cli",
    "claude-code/managed-settings.d", ".config/opencode", ".opencode/plugin", ".opencode/plugins", "opencode/plugin",
    "opencode/plugins",
];

/// Everything in these directories, and these programs.
const OWN: &[&str] = &[".local/state/belay", ".belay", ".claude/plugins", "run/user/*/belay", "bin/belay", "bin/belay-hook"];

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
        let system = |p: &String| ["/usr/", "/bin/", "/sbin/", "/opt/", "/nix/"].iter().any(|d| p.starts_with(d));
        let telling = own.iter().chain(files.iter().filter(|p| !system(p))).filter(|p| p.len() > 3).cloned().collect();
        own.extend(files);
        let home = analysis::path_resolve(&["~"], None).ok().and_then(|f| f.first().map(|p| p.path.to_lowercase()));
        let project = input::text("/cwd").unwrap_or_default().trim_end_matches('/').to_lowercase();
        Guarded { own, telling, home: home.filter(|h| h.starts_with('/')).unwrap_or_default(), project }
    }

    /// The first name that means a protected file, in its own words.
    pub fn first(&self, names: &[String], cwd: Option<&str>, reach: Reach) -> Result<Option<String>, hook::Fail> {
        self.find(names, cwd, |path| self.means(path, reach))
    }

    /// The first name that means a file of those that a shell, a login or the scheduler reads later.
    pub fn profile(&self, names: &[String], cwd: Option<&str>) -> Result<Option<String>, hook::Fail> {
        self.find(names, cwd, |path| PROFILES.iter().any(|s| ends(path, s)) || path.contains("claude_env_file"))
    }

    fn find(&self, names: &[String], cwd: Option<&str>, counts: impl Fn(&str) -> bool) -> Result<Option<String>, hook::Fail> {
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
                if p.links == "loop" || keys.filter(|k| !k.is_empty()).any(|k| counts(&k)) {
                    return Ok(Some(some[i].clone()));
                }
            }
        }
        Ok(None)
    }

    /// Whether a cleaned path in lower case means something protected.
    fn means(&self, path: &str, reach: Reach) -> bool {
        let root = path == "/";
        let path = path.trim_end_matches('/');
        let below = |dir: &str| path == dir || path.starts_with(dir) && path[dir.len()..].starts_with('/');
        let above = |dir: &str| dir.len() > path.len() && dir.starts_with(path) && dir[path.len()..].starts_with('/');
        let far = path.split('/').next().map_or(false, |host| host.contains(':')); // HOST:PATH is on another machine
        if far {
            return false;
        }
        if SETTINGS.iter().any(|s| ends(path, s))
            || self.own.iter().any(|d| below(d))
            || OWN.iter().any(|d| ends(path, d) || inside(path, d))
            || path.ends_with("/belay.sock")
        {
            return true;
        }
        if reach == Reach::Files {
            return false;
        }
        if DIRECTORIES.iter().any(|d| ends(path, d)) {
            return true;
        }
        match reach {
            Reach::Fill => root || self.is_home(path),
            Reach::Parents | Reach::Project => {
                root || self.is_home(path)
                    || matches!(path, "/home" | "/users" | "/etc" | "~")
                    || ends(path, ".local/state") && !path.starts_with("/tmp/")
                    || ends(path, ".local") && self.is_home(path.rsplit_once('/').map_or("", |p| p.0))
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

/// Whether the last elements of a path match; the path may have patterns, too.
fn ends(path: &str, suffix: &str) -> bool {
    let want: Vec<&str> = suffix.split('/').collect();
    let have: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let bare = want.len() == 1 && have.last().map_or(true, |l| l.starts_with('*') || *l == "?*");
    !bare && have.len() >= want.len() && have[have.len() - want.len()..].iter().zip(&want).all(|(h, w)| wild(h, w))
}

/// Whether a path is below a directory of that name.
fn inside(path: &str, dir: &str) -> bool {
    let want: Vec<&str> = dir.split('/').collect();
    let have: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    !dir.starts_with("bin/") && have.windows(want.len()).any(|w| w.iter().zip(&want).all(|(h, w)| h == w || *w == "*"))
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
