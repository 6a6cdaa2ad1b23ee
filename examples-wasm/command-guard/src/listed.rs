//! What the operator forbids by name or pattern.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::finding::Finding;
use crate::hook::analysis::{self, Command, Syntax};
use crate::hook::Fail;
use crate::options::Options;
use crate::text::Text;

pub fn judge(options: &Options, text: &Text) -> Result<Option<Finding>, Fail> {
    if let Some(c) = text.shell.commands.iter().find(|c| options.commands.contains(&c.name)) {
        return Ok(Some(Finding::block("commands", format!("{} is not allowed here", c.name))));
    }
    if options.patterns.is_empty() {
        return Ok(None);
    }
    // The line as written, and each command as it would run. At most 64 texts in one call.
    let mut lines: Vec<String> = vec![text.source.to_string()];
    lines.extend(text.shell.commands.iter().map(Command::line));
    for some in lines.chunks(64) {
        if let Some(m) = analysis::pattern_match(Syntax::Re2, &options.patterns, some)?.first() {
            let what = format!("the command matches the forbidden pattern {}", options.patterns[m.pattern]);
            return Ok(Some(Finding::block("patterns", what)));
        }
    }
    Ok(None)
}
