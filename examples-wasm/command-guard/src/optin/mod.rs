//! Rules that are off until the operator asks for them: they forbid what is ordinary work for most.

mod cloud_delete;
mod history;
mod package_install;
mod push;
mod secret_argument;

use alloc::vec::Vec;

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::options::Options;
use crate::text::Text;

/// What a rule says about one command: who would do what.
type Rule = fn(&Text, &Command) -> Option<alloc::string::String>;

const RULES: [(&str, Rule); 5] = [
    ("push", push::judge),
    ("history", history::judge),
    ("cloud-delete", cloud_delete::judge),
    ("package-install", package_install::judge),
    ("secret-argument", secret_argument::judge),
];

/// What the rules that are on find, one finding of each.
pub fn judge(options: &Options, t: &Text) -> Vec<Finding> {
    let on = RULES.iter().filter(|(name, _)| options.on(name));
    on.filter_map(|(name, rule)| {
        let what = t.shell.commands.iter().find_map(|c| rule(t, c))?;
        Some(Finding::ask(name, what))
    })
    .collect()
}

#[cfg(test)]
pub mod tests {
    use super::Rule;
    use crate::hook::analysis::{Program, Shell};
    use crate::places::tests::command;
    use crate::text::Text;

    /// Judges each line with a rule, with its program in SQL behind " :: ".
    pub fn judges(rule: Rule, rows: &[(&str, bool)]) {
        for (line, want) in rows {
            let (line, sql) = line.split_once(" :: ").unwrap_or((line, ""));
            let c = command(line);
            let programs = [Program { language: "sql".into(), text: sql.into(), command: Some(0), ..Program::default() }];
            let shell = Shell { commands: alloc::vec![c.clone()], ..Shell::default() };
            let text = Text { source: line, shell: &shell, programs: if sql.is_empty() { &[] } else { &programs } };
            assert_eq!(rule(&text, &c).is_some(), *want, "{line} {sql}");
        }
    }
}
