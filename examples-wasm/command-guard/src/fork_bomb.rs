//! Commands that start themselves, or children, without bound.

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::text::{shown, Text};

const RULE: &str = "fork-bomb";

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    if c.recursive && multiplies(t, c) && !(is_bounded(t, c)) {
        return Some(Finding::block(RULE, alloc::format!("{} would start itself without bound", shown(&c.name))));
    }
    if starts_itself(c) && (background(c) || (c.pipe > 0 && t.shell.commands.iter().filter(|o| o.pipe == c.pipe && starts_itself(o)).count() > 1)) {
        return Some(Finding::block(RULE, "the script would start itself without bound"));
    }
    if endless(t, c) {
        return Some(Finding::block(RULE, "the loop would start children without bound"));
    }
    fed_endlessly(t, c)
}

fn background(c: &Command) -> bool {
    c.context.iter().any(|x| x == "background")
}

/// More than one of it runs at a time: in the background, or in a pipe with itself.
fn multiplies(t: &Text, c: &Command) -> bool {
    let inside = c.context.iter().rposition(|x| x.starts_with("function:")).unwrap_or(0);
    let behind = |what: &str| c.context.iter().skip(inside).any(|x| x == what);
    behind("background") || (c.pipe > 0 && t.shell.commands.iter().filter(|o| o.pipe == c.pipe && o.recursive && o.name == c.name).count() > 1)
}

/// It recurses over something: its argument differs, and something ends it.
fn is_bounded(t: &Text, c: &Command) -> bool {
    let changes = c.args().iter().any(|w| !w.known || w.glob);
    changes && (c.context.iter().any(|x| x == "condition" || x == "loop") || ["return", "exit", "&&", "||"].iter().any(|w| t.source.contains(w)))
}

/// The command is the running script.
fn starts_itself(c: &Command) -> bool {
    let own = |text: &str| {
        let text = text.trim_matches('"').trim_start_matches("./");
        matches!(text, "$0" | "${0}" | "${BASH_SOURCE[0]}" | "$BASH_SOURCE" | "${BASH_SOURCE}") || text.starts_with("$(basename") && text.contains("$0")
    };
    let first = c.words.first().map_or(false, |w| !w.known && own(&w.text));
    let by_shell = crate::backdoor::is_shell(&c.name) && c.args().iter().find(|w| !w.text.starts_with('-')).map_or(false, |w| own(&w.text));
    first || by_shell || (c.recursive && !c.function)
}

/// A loop without end whose body does nothing but start children.
fn endless(t: &Text, c: &Command) -> bool {
    let at = match c.context.iter().rposition(|x| x == "endless") {
        Some(at) => at,
        None => return false,
    };
    if !c.context[at..].iter().any(|x| x == "background") {
        return false;
    }
    // What the loop waits for bounds it.
    let waits = t.shell.commands.iter().any(|o| {
        let inside = o.context.len() > at && o.context[at] == "endless" && !o.context[at..].iter().any(|x| x == "background");
        inside && o.parent.is_none() && !idle(o)
    });
    !waits
}

/// It takes no time.
fn idle(c: &Command) -> bool {
    match c.name.as_str() {
        ":" | "true" | "false" | "echo" | "printf" | "[" | "test" | "disown" | "let" | "export" | "" => true,
        "sleep" => c.args().iter().all(|w| w.text.trim_matches(&['0', '.', 's'][..]).is_empty()),
        _ => false,
    }
}

/// What runs a command for each line of an endless input, all at a time.
fn fed_endlessly(t: &Text, c: &Command) -> Option<Finding> {
    let yes = |c: &Command| t.feeders(c).any(|f| f.name == "yes") || c.redirects.iter().any(|r| matches!(r.target.text.as_str(), "/dev/zero" | "/dev/urandom"));
    let found = || Some(Finding::block(RULE, alloc::format!("{} would start children without bound", c.name)));
    match c.name.as_str() {
        "xargs" | "gxargs" | "parallel" if yes(c) => {
            let limited = t.feeders(c).any(|f| matches!(f.name.as_str(), "head" | "timeout" | "sed"));
            let many = c.args().iter().any(|w| w.text.starts_with("-P") || w.text.starts_with("--max-procs") || w.text.starts_with("-j")) || c.name == "parallel";
            if many && !limited {
                return found();
            }
        }
        _ if background(c) && c.context.iter().any(|x| x == "loop") => {
            let read = t.shell.commands.iter().any(|o| o.name == "read" && o.context.iter().any(|x| x == "loop") && yes(o) && !t.feeders(o).any(|f| f.name == "head"));
            if read {
                return found();
            }
        }
        name if crate::backdoor::is_shell(name) => {
            let spawns = t.feeders(c).any(|f| f.name == "yes" && f.args().iter().any(|w| w.text.trim_end().ends_with('&')));
            if spawns && !t.feeders(c).any(|f| f.name == "head") {
                return found();
            }
        }
        _ => {}
    }
    None
}
