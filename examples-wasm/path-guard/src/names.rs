//! Whether names mean protected files, by what the host tells about them.

use belay_hook as hook;
use hook::{analysis, config, input};

use crate::rules::{Look, Rules, GROUPS};

/// A name in an action, and how it is meant.
#[derive(Clone)]
pub struct Name {
    pub text: String,
    /// The directory that it is relative to, where the action says that.
    pub cwd: Option<String>,
    pub look: Look,
    /// The program or tool that would get it.
    pub by: String,
}

impl Name {
    /// Stands for the names that a list has no room for: what they mean cannot be told.
    pub fn more(by: &str) -> Name {
        let look = Look { glob: false, command: false, tree: false, wide: false };
        Name { text: MORE.into(), cwd: None, look, by: by.into() }
    }
}

/// No file has this name.
pub const MORE: &str = "\0more";

/// A name that means a protected file.
pub struct Hit {
    pub text: String,
    pub group: &'static str,
    pub by: String,
}

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

/// The first name that means a protected file.
pub fn first(rules: &Rules, names: &[Name]) -> Result<Option<Hit>, hook::Fail> {
    if let Some(n) = names.iter().find(|n| n.text == MORE) {
        return Ok(Some(Hit { text: "more names than can be judged".into(), group: "protected", by: n.by.clone() }));
    }
    let mut rest: Vec<&Name> = names.iter().collect();
    while let Some(one) = rest.first() {
        let cwd = one.cwd.clone();
        let (same, others): (Vec<&Name>, Vec<&Name>) = rest.into_iter().partition(|n| n.cwd == cwd);
        rest = others;
        for some in same.chunks(64) {
            if let Some(hit) = among(rules, some, cwd.as_deref())? {
                return Ok(Some(hit));
            }
        }
    }
    Ok(None)
}

fn among(rules: &Rules, names: &[&Name], cwd: Option<&str>) -> Result<Option<Hit>, hook::Fail> {
    let texts: Vec<String> = names.iter().map(|n| joined(&n.text, cwd)).collect();
    let refs: Vec<&str> = texts.iter().map(|s| s.as_str()).collect();
    let found = match analysis::path_resolve(&refs, cwd.filter(|d| d.starts_with('/'))) {
        Ok(found) => found,
        Err(hook::Errno::TooLarge) => {
            return Ok(Some(Hit { text: "a name that is too long to be judged".into(), group: "protected", by: names[0].by.clone() }))
        }
        Err(e) => return Err(e.into()),
    };
    for (name, p) in names.iter().zip(&found) {
        if let Some(group) = means(rules, p, name.look) {
            return Ok(Some(Hit { text: name.text.clone(), group, by: name.by.clone() }));
        }
    }
    Ok(None)
}

/// Every reading of a path counts: what it is called, and where its links lead. A name with an encoding left in it is
/// only the spelling, as long as no link leads from it.
fn means(rules: &Rules, p: &analysis::Path, look: Look) -> Option<&'static str> {
    let main = p.keys.first().map_or("", |k| k.as_str());
    let last = |path: &str| path.rsplit('/').next().unwrap_or("").to_lowercase();
    let written = last(&p.path);
    let encoded = written.contains(&['%', '\\'][..]);
    let counts = |k: &str| !k.is_empty() && (k == main || !encoded || last(k) != written);
    let led = p.resolved.to_lowercase();
    let named = p.keys.iter().filter(|k| counts(k)).find_map(|k| rules.group(k, look));
    if named.is_none() && counts(&led) {
        return rules.group(&led, look);
    }
    named
}

/// Puts the directory of a `cd` before a relative name, where the host cannot.
fn joined(name: &str, cwd: Option<&str>) -> String {
    match cwd {
        Some(dir) if !dir.starts_with('/') && !name.starts_with('/') && !name.starts_with('~') => format!("{dir}/{name}"),
        _ => name.to_string(),
    }
}

/// The directory that the arguments of a call move to.
pub fn moved() -> Option<String> {
    ["/args/workdir", "/args/cwd", "/args/working_directory"].iter().find_map(|p| input::text(p)).filter(|d| !d.is_empty())
}
