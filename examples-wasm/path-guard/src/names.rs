//! What the configuration protects, and where a call moves to.

use belay_hook as hook;
use hook::{config, input};
use protected_files::rules::{Rules, GROUPS};

/// The rules of the configuration.
pub fn rules() -> Rules {
    let list = |path: &str| -> Vec<String> {
        let v = config::value(path);
        v.iter().flat_map(|v| v.items()).filter_map(|v| v.as_text()).map(|t| t.to_lowercase()).collect()
    };
    let mut groups = list("/groups");
    if groups.is_empty() && !config::has("/groups") {
        groups = GROUPS.iter().map(|g| g.to_string()).collect();
    }
    Rules { groups, protected: list("/protected"), allowed: list("/allowed") }
}

/// The directory that the arguments of a call move to.
pub fn moved() -> Option<String> {
    ["/args/workdir", "/args/cwd", "/args/working_directory"].iter().find_map(|p| input::text(p)).filter(|d| !d.is_empty())
}
