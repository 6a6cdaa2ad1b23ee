//! Writing, replacing or removing files that decide who gets in.

use alloc::format;

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::places::{is_protected_file, overwritten};
use crate::text::{shown, Text};

const RULE: &str = "system-file";

pub fn judge(_: &Text, c: &Command) -> Option<Finding> {
    let mut redirected = c.redirects.iter().filter(|r| r.op.contains('>')).map(|r| r.target.text.as_str());
    let file = redirected.find(|p| is_protected_file(p)).or_else(|| overwritten(c).find(|p| is_protected_file(p)))?;
    Some(Finding::block(RULE, format!("{} would write {}", shown(&c.name), file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::Shell;
    use crate::places::tests::command;

    #[test]
    fn files() {
        let text = Text { source: "", shell: &Shell::default(), programs: &[] };
        for (line, want) in [
            ("cp -f new /etc/shadow", true),
            ("cp /etc/passwd copy", false),
            ("tee -a /etc/sudoers.d/x", true),
        ] {
            assert_eq!(judge(&text, &command(line)).is_some(), want, "{line}");
        }
    }
}
