//! Deleting, emptying or moving away system trees, the home directory, or all that is in the current one.

use alloc::format;

use crate::find;
use crate::finding::Finding;
use crate::hook::analysis::{Command, Word};
use crate::places::Place;
use crate::removal::{self, Removal};
use crate::text::{shown, Text};

const RULE: &str = "fs-destroy";

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    let removals = removal::of(t, c);
    let named = removals.iter().find(|r| lost(t, c, r));
    if let Some(r) = named {
        return Some(Finding::block(RULE, format!("{} would {} {}", shown(&c.name), r.does, r.shown)));
    }
    if !removal::deletes_operands(c) {
        return None;
    }
    // What a search hands on, where the words do not tell it.
    let handed = c.args_open || c.args().iter().any(|w| !w.known || w.text.contains("{}"));
    if handed {
        let searches = find::handing_on(t, c);
        for s in &searches {
            let place = s.places.iter().find(|p| p.is_wide() || below_wide(p) || !s.chooses && p.is_here() && c.name != "mv");
            if let Some(p) = place {
                let at = if p.path.is_empty() { "the current directory" } else { &p.path };
                return Some(Finding::block(RULE, format!("{} would delete what is found below {}", c.name, at)));
            }
        }
        if !searches.is_empty() {
            return None; // it is known where they are
        }
    }
    if c.name == "rm" && c.args_open && has_unread_list(t, c) && removal::is_deep(c) {
        return Some(Finding::ask("unknown", format!("what rm would delete cannot be told beforehand: {}", c.raw)));
    }
    let doubt = removals.iter().find(|r| r.place.open && doubtful(t, c, r))?;
    Some(Finding::ask("unknown", format!("what {} would {} cannot be told beforehand: {}", c.name, doubt.does, doubt.shown)))
}

/// Whether what is lost cannot be made good.
fn lost(t: &Text, c: &Command, r: &Removal) -> bool {
    let p = &r.place;
    if p.open {
        return false;
    }
    let whole = r.deep || p.glob;
    if whole && (p.is_tree() || p.is_home()) || p.is_critical() {
        return true;
    }
    if r.does == "empty" {
        return false;
    }
    // Moving all that is here elsewhere is a way to work, and so is choosing among it.
    if r.moves {
        return p.is_home();
    }
    if p.glob {
        // In another directory only if it is certain to be there.
        return p.is_bare_pattern() || !c.args().is_empty() && bare(c) && came_by_chance(t, c);
    }
    r.deep && p.is_here()
}

/// Whether an argument is a bare pattern as it is written.
fn bare(c: &Command) -> bool {
    c.args().iter().any(|w| w.glob && Place { path: w.text.trim_start_matches("./").into(), glob: true, open: false }.is_bare_pattern())
}

/// Whether the command runs in its directory even if the `cd` before it failed.
fn came_by_chance(t: &Text, c: &Command) -> bool {
    let before = t.shell.commands.iter().take_while(|o| !core::ptr::eq(*o, c)).filter(|o| o.name == "cd" || o.name == "pushd").last();
    c.cwd.is_some() && before.map_or(false, |cd| cd.raw.trim_end().ends_with(';'))
}

/// A place in which a search finds what must not be lost, though it is no tree itself.
fn below_wide(p: &Place) -> bool {
    p.path.starts_with("/etc/") || p.path.starts_with("/boot/")
}

/// Whether a place that is not known may be one that must not be lost.
fn doubtful(t: &Text, c: &Command, r: &Removal) -> bool {
    if temporary(t, c) {
        return false;
    }
    let deep = r.deep && !r.moves && !matches!(c.name.as_str(), "unlink" | "rmdir");
    r.place.readings().iter().any(|p| {
        (deep || p.glob) && (p.is_wide() || p.is_here() && deep) || p.is_critical()
    })
}

/// Whether a command gets its operands from a list that is not in the text.
fn has_unread_list(t: &Text, c: &Command) -> bool {
    let xargs = match t.ancestors(c).find(|o| matches!(o.name.as_str(), "xargs" | "gxargs" | "parallel")) {
        Some(xargs) => xargs,
        None => return false,
    };
    let first = t.feeders(xargs).last().map_or("", |f| f.name.as_str());
    matches!(first, "" | "cat" | "tac" | "head" | "tail" | "curl" | "wget" | "base64" | "xxd" | "cut" | "sed" | "awk" | "tr" | "zcat")
}

/// Programs that print the place of a cache or of a project, or make a new name.
const PLACE_PRINTERS: [&str; 30] = [
    "mktemp", "gmktemp", "tempfile", "brew", "go", "git", "npm", "pnpm", "yarn", "bun", "pip", "pip3", "poetry", "pipenv", "uv",
    "conda", "mamba", "gem", "bundle", "cargo", "rustup", "xcrun", "xcodebuild", "composer", "mvn", "dotnet", "swift", "nix", "bazel",
    "flutter",
];

/// Whether what the words hold comes from a program that makes a new name, or names what belongs to the project.
fn temporary(t: &Text, c: &Command) -> bool {
    let unknown = || c.args().iter().filter(|w: &&Word| !w.known);
    let prints = |i: &usize| t.shell.commands.get(*i).map_or(false, |o| PLACE_PRINTERS.contains(&o.name.as_str()));
    unknown().all(|w| !w.from.is_empty() && w.from.iter().all(prints) || made_here(t.source, &w.text))
}

/// Whether the variable of a word is given a new name by the text: `x=$(mktemp -d)`.
fn made_here(source: &str, word: &str) -> bool {
    let name: &str = word.trim_start_matches(&['$', '{', '"'][..]);
    let end = name.find(|ch: char| !ch.is_ascii_alphanumeric() && ch != '_').unwrap_or(name.len());
    let name = &name[..end];
    !name.is_empty()
        && word.starts_with('$')
        && ["$(mktemp", "\"$(mktemp", "`mktemp"].iter().any(|made| source.contains(&format!("{}={}", name, made)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::Shell;
    use crate::places::tests::command;

    #[test]
    fn deleting() {
        let shell = Shell::default();
        let t = Text { source: "", shell: &shell, programs: &[] };
        for (line, want) in [
            ("find / -delete", Some(false)),
            ("find /etc -name x -delete", Some(false)),
            ("find . -delete", Some(false)),
            ("find . -type f -delete", Some(false)),
            ("find ./ -name x -delete", None),
            ("find build -delete", None),
            ("rm -rf .", Some(false)),
            ("rm -rf / tmp/x", Some(false)),
            ("rm * -fr", Some(false)),
            ("rm -f /etc/hosts", Some(false)),
            ("rm -rf ~/.cache/x", None),
            ("rm -rf $X", Some(true)),
            ("rm -rf $X/build", None),
            ("rm -rf /opt/$X", Some(true)),
            ("rm -rf ${X:?}/*", None),
            ("rm -f $X", None),
            ("rsync -a --delete ~/ backup/", None),
            ("rsync -a --delete empty/ ~/", Some(false)),
            ("rsync -a --del x/ web:/etc/", Some(false)),
            ("mv ~/* /tmp", Some(false)),
            ("mv ./* ../new", None),
            ("mv /etc/hosts x", Some(false)),
            ("tar -C / --remove-files -cf x.tar etc", Some(false)),
            ("tar cf x.tar --remove-files build", None),
            ("zip -rm x.zip /usr", Some(false)),
            ("shred -u ~/notes.txt", None),
            ("truncate -s 0 /etc/hosts", Some(false)),
            ("truncate -s 0 app.log", None),
            ("cp /dev/null /etc/fstab", Some(false)),
            ("coreutils rm -rf /", Some(false)),
            ("git -C ~ clean -fdxq", Some(false)),
            ("git clean -fdx", None),
            ("Remove-Item -Recurse -Force C:\\Windows", Some(false)),
        ] {
            assert_eq!(judge(&t, &command(line)).map(|f| f.ask), want, "{line}");
        }
    }
}
