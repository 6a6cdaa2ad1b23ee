//! Commits that are rewritten, dropped, or replaced on another host.

use alloc::format;
use alloc::string::String;

use crate::git::Git;
use crate::hook::analysis::Command;
use crate::text::Text;

pub fn judge(_: &Text, c: &Command) -> Option<String> {
    match c.name.as_str() {
        "git-filter-repo" | "bfg" => return Some(format!("{} would rewrite the history", c.name)),
        "hg" => {
            let verb = c.args().first().map_or("", |w| w.text.as_str());
            return matches!(verb, "strip" | "histedit" | "rollback").then(|| format!("hg {} would rewrite the history", verb));
        }
        _ => {}
    }
    let git = Git::of(c)?;
    let says = |words: &[&str]| git.args.iter().any(|w| words.contains(&w.text.split('=').next().unwrap_or("")));
    let short = |letter: char| {
        git.args.iter().any(|w| w.text.starts_with('-') && !w.text.starts_with("--") && w.text.contains(letter))
    };
    let first = git.args.iter().map(|w| w.text.as_str()).find(|t| !t.starts_with('-')).unwrap_or("");
    let what = match git.verb {
        "push" => {
            let dry = says(&["-n", "--dry-run"]);
            let forced = says(&["--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune", "--forc"])
                || short('f')
                || short('d')
                || git.args.iter().skip(1).any(|w| w.text.starts_with('+') || w.text.starts_with(':') && w.text.len() > 1);
            (forced && !dry).then(|| "replace or delete what another repository has")
        }
        "reset" if says(&["--hard", "--har", "--keep", "--merge"]) => Some("drop changes or commits"),
        "rebase" if !says(&["--abort", "--continue", "--skip", "--quit", "--edit-todo", "--show-current-patch", "-h"]) => {
            Some("rewrite commits")
        }
        "pull" if says(&["--rebase", "-r"]) && !says(&["--no-rebase"]) => Some("rewrite commits"),
        "commit" if says(&["--amend", "--amen", "--ame"]) => Some("replace the last commit"),
        "filter-branch" | "filter-repo" | "fast-import" => Some("rewrite the history"),
        "reflog" if matches!(first, "expire" | "delete" | "drop") => Some("forget where branches were"),
        "gc" if git.args.iter().any(|w| matches!(w.text.as_str(), "--prune=now" | "--prune=all" | "--aggressive")) => {
            Some("delete what no branch holds")
        }
        "prune" if !says(&["-n", "--dry-run"]) => Some("delete what no branch holds"),
        "branch" if short('D') || short('M') || short('C') || (says(&["--delete", "-d"]) && says(&["--force", "-f"])) || short('f') => {
            Some("drop or move a branch")
        }
        "checkout" | "switch" if short('B') || says(&["--force-create"]) || (git.verb == "switch" && short('C')) => Some("move a branch"),
        "tag" if says(&["--delete", "--force"]) || short('d') || short('f') => Some("drop or move a tag"),
        "update-ref" | "replace" | "symbolic-ref" if says(&["-d", "--delete"]) || git.verb == "update-ref" => Some("drop or move a reference"),
        "stash" if matches!(first, "drop" | "clear") => Some("drop stashed changes"),
        _ => None,
    }?;
    Some(format!("git {} would {}", git.verb, what))
}

#[cfg(test)]
mod tests {
    #[test]
    fn rewriting() {
        super::super::tests::judges(
            super::judge,
            &[
                ("git push --force", true),
                ("git push -uf origin x", true),
                ("git push origin +main", true),
                ("git push origin :old", true),
                ("git push --force-with-lease=main", true),
                ("git push --delete origin x", true),
                ("git push --mirror", true),
                ("git push origin main", false),
                ("git push -n --force", false),
                ("git reset --hard HEAD~1", true),
                ("git reset HEAD a", false),
                ("git rebase -i main", true),
                ("git rebase --continue", false),
                ("git commit --amend --no-edit", true),
                ("git commit -m x", false),
                ("git branch -D x", true),
                ("git branch -d x", false),
                ("git tag -d v1", true),
                ("git tag v1", false),
                ("git stash clear", true),
                ("git stash pop", false),
                ("git reflog expire --expire=now --all", true),
                ("git gc --prune=now", true),
                ("git gc", false),
                ("git update-ref -d refs/heads/x", true),
                ("git filter-repo --path x", true),
            ],
        );
    }
}
