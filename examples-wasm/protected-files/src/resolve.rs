//! Whether names mean protected files, by what the host tells about them.

use belay_hook as hook;
use hook::analysis;

use crate::names::{once, Hit, Name, MORE};
use crate::rules::{Look, Rules};

/// The first name that means a protected file.
pub fn first(rules: &Rules, names: &[Name]) -> Result<Option<Hit>, hook::Fail> {
    if let Some(n) = names.iter().find(|n| n.text == MORE) {
        return Ok(Some(Hit { text: "more names than can be judged".into(), group: "protected", by: n.by.clone() }));
    }
    let mut rest: Vec<&Name> = once(names);
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
    // On Windows the main stream is the file itself; no other system has such a name.
    let encoded = written.contains(&['%', '\\'][..]) || written.ends_with("::$data");
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
