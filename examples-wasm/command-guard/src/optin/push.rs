//! Sending commits to another repository.

use alloc::format;
use alloc::string::String;

use crate::git::Git;
use crate::hook::analysis::Command;
use crate::text::Text;

pub fn judge(_: &Text, c: &Command) -> Option<String> {
    let args = || c.args().iter().map(|w| w.text.as_str());
    if let Some(git) = Git::of(c) {
        let dry = git.args.iter().any(|w| matches!(w.text.as_str(), "-n" | "--dry-run" | "--dry"));
        let first = git.args.first().map_or("", |w| w.text.as_str());
        let sends = match git.verb {
            "push" | "send-pack" | "http-push" => true,
            "lfs" | "subtree" | "annex" => first == "push",
            "svn" => first == "dcommit",
            "p4" => first == "submit",
            _ => false,
        };
        return (sends && !dry).then(|| format!("git {} would send commits to another repository", git.verb));
    }
    let sends = match c.name.as_str() {
        "hg" => args().any(|a| a == "push"),
        "jj" => args().any(|a| a == "git") && args().any(|a| a == "push"),
        "svn" => args().any(|a| matches!(a, "commit" | "ci")),
        "gh" => args().next() == Some("pr") && args().nth(1) == Some("merge"),
        "glab" => args().next() == Some("mr") && args().nth(1) == Some("merge"),
        _ => false,
    };
    sends.then(|| format!("{} would send commits to another repository", c.name))
}

#[cfg(test)]
mod tests {
    #[test]
    fn pushes() {
        super::super::tests::judges(
            super::judge,
            &[
                ("git push", true),
                ("git -C d push origin main", true),
                ("git push --dry-run", false),
                ("git stash push", false),
                ("git lfs push origin main", true),
                ("git pull", false),
                ("hg push", true),
                ("docker push x", false),
                ("gh pr merge 7", true),
            ],
        );
    }
}
