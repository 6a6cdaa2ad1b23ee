//! What cannot be told before the command runs. Asked about only where the part that is not known decides what is run
//! or deleted: set-ups of local tools, scripts of the project and unknown arguments are ordinary.

use alloc::format;

use crate::finding::Finding;
use crate::hook::analysis::{Command, Unknown};
use crate::setup;
use crate::text::Text;

const RULE: &str = "unknown";

pub fn judge(t: &Text) -> Option<Finding> {
    let u = t.shell.unknown.iter().find(|u| !is_ordinary(t, u))?;
    Some(Finding::ask(RULE, format!("what this would run cannot be told beforehand: {}", u.raw)))
}

/// An unknown that an ordinary line has.
fn is_ordinary(t: &Text, u: &Unknown) -> bool {
    let c = match u.command.and_then(|i| t.shell.commands.get(i)) {
        Some(c) => c,
        None => return false,
    };
    // The function is not called here.
    if c.context.iter().any(|x| x.starts_with("uncalled:")) {
        return true;
    }
    match u.what.as_str() {
        "code" if u.partial => true,
        "code" => is_ordinary_code(t, c),
        "script" => is_ordinary_script(t, c),
        "name" => is_ordinary_name(c),
        _ => false,
    }
}

fn is_ordinary_code(t: &Text, c: &Command) -> bool {
    // A variable that names a pager or an editor: what it holds is the user's.
    if !runs_text(&c.name) && !c.assigns.is_empty() && c.assigns.iter().any(|(_, w)| !w.known) {
        return true;
    }
    let from = sources(c);
    if !from.is_empty() {
        return setup::all_setup(t.shell, &from);
    }
    if c.stdin_from.is_some() && !c.args().iter().any(|w| !w.known) {
        return setup::reads_files(t.shell, c);
    }
    // A script by a path of which a part is known.
    let file = c.args().iter().find(|w| !w.text.starts_with(&['-', '+'][..]));
    let code = c.args().iter().any(|w| w.text.starts_with('-') && !w.text.starts_with("--") && w.text.contains('c'));
    !code && c.name != "eval" && file.map_or(false, |w| !w.known && setup::is_local(w))
}

/// The commands whose output a command runs.
fn sources(c: &Command) -> alloc::vec::Vec<usize> {
    let mut from = alloc::vec::Vec::new();
    let words = c.args().iter().chain(c.redirects.iter().filter(|r| r.op.starts_with('<')).map(|r| &r.target)).chain(&c.stdin);
    for i in words.flat_map(|w| &w.from) {
        if !from.contains(i) {
            from.push(*i);
        }
    }
    from
}

fn runs_text(name: &str) -> bool {
    crate::backdoor::is_shell(name) || matches!(name, "eval" | "source" | "." | "ssh" | "trap" | "xargs" | "env")
}

fn is_ordinary_script(t: &Text, c: &Command) -> bool {
    if c.assigns.iter().any(|(name, _)| name == "BASH_ENV" || name == "ENV") {
        return false;
    }
    // What a fifo of the text carries is no file.
    let fifo = |name: &str| {
        let makes = |m: &&Command| matches!(m.name.as_str(), "mkfifo" | "mknod");
        t.shell.commands.iter().filter(makes).any(|m| m.args().iter().any(|w| w.text == name))
    };
    if c.args().iter().chain(c.redirects.iter().map(|r| &r.target)).any(|w| fifo(&w.text)) {
        return false;
    }
    let file = c.args().iter().find(|w| !w.text.starts_with(&['-', '+'][..]));
    let redirected = c.redirects.iter().find(|r| r.op == "<" && r.fd == 0).map(|r| &r.target);
    if file.or(redirected).map_or(false, |w| is_decoded(t, c, &w.text)) {
        return false;
    }
    match file.or(redirected) {
        Some(w) if setup::is_local(w) || redirected.map_or(false, setup::is_local) => true,
        Some(w) => !w.from.is_empty() && setup::all_setup(t.shell, &w.from),
        None => redirected.map_or(false, setup::is_local),
    }
}

/// The same text decodes or decrypts the file: what it holds is not there to be read.
fn is_decoded(t: &Text, c: &Command, file: &str) -> bool {
    let path = crate::origin::path(c, file);
    t.shell.commands.iter().any(|o| {
        let says = |words: &[&str]| o.args().iter().any(|w| words.contains(&w.text.as_str()));
        let decodes = match o.name.as_str() {
            "base64" | "gbase64" | "base32" | "basenc" => says(&["-d", "-D", "--decode", "-di"]),
            "openssl" => says(&["-d"]),
            "xxd" => says(&["-r", "-rp"]),
            "gpg" | "age" => says(&["-d", "--decrypt"]),
            "uudecode" => true,
            _ => false,
        };
        let named = |w: &crate::hook::analysis::Word| crate::origin::path(o, &w.text) == path;
        decodes && (o.redirects.iter().any(|r| r.op.starts_with('>') && named(&r.target)) || o.args().windows(2).any(|p| matches!(p[0].text.as_str(), "-o" | "-out" | "--output") && named(&p[1])))
    })
}

/// Variables of the environment that name a program of the user's.
fn is_ordinary_name(c: &Command) -> bool {
    let word = match c.words.first() {
        Some(word) => word.text.trim_matches('"').trim_start_matches("${").trim_start_matches('$').trim_end_matches('}'),
        None => return false,
    };
    let name = word.split(&[':', '-'][..]).next().unwrap_or("");
    match name {
        "EDITOR" | "VISUAL" | "PAGER" | "BROWSER" | "CC" | "CXX" | "LD" | "AR" | "MAKE" | "PYTHON" | "PYTHON3" | "PIP" | "NODE" | "NPM" | "GO" | "CARGO"
        | "JAVA" | "RUBY" | "KUBECTL" | "DOCKER" | "COMPOSE" | "GIT" | "TERRAFORM" | "HELM" | "CMAKE" | "NINJA" => true,
        "SHELL" => c.args().iter().all(|w| matches!(w.text.as_str(), "-l" | "-i" | "-il" | "-li" | "--login")),
        _ => false,
    }
}
