//! Running text from the network: piped, substituted, sourced, or saved and run in the same text.

use alloc::format;

use crate::finding::Finding;
use crate::hook::analysis::{Command, Word};
use crate::origin::Origin;
use crate::text::{shown, Text};
use protected_files::search::lower;

const RULE: &str = "remote-exec";

/// Judges all commands of a text together: what one fetches, another runs.
pub fn whole(t: &Text) -> Option<Finding> {
    if let Some(p) = t.programs.iter().find(|p| is_address(&p.file)) {
        return Some(Finding::block(RULE, format!("{} would run a program from the network", p.raw)));
    }
    if let Some(c) = t.shell.commands.iter().find(|c| runs_address(c)) {
        return Some(Finding::block(RULE, format!("{} would run a program from the network", c.name)));
    }
    let o = Origin::of(t);
    if o.is_local() {
        return None;
    }
    t.shell.commands.iter().enumerate().find_map(|(i, c)| {
        let runs = o.is_program(c) || unknown(t, &o, i, c) || program(t, &o, i, c);
        runs.then(|| Finding::block(RULE, format!("{} would run text from the network", shown(&c.name))))
    })
}

/// Programs that run what an address names: those of Windows, and one that fetches a playbook.
fn runs_address(c: &Command) -> bool {
    if c.name == "ansible-pull" {
        return c.args().iter().any(|w| w.text.contains("://") || w.text.contains('@') && w.text.contains(':'));
    }
    let name = lower(&c.name);
    let loads = matches!(name.strip_suffix(".exe").unwrap_or(&name), "mshta" | "regsvr32" | "rundll32" | "wscript" | "cscript" | "msiexec");
    loads && c.args().iter().any(|w| w.text.contains("http://") || w.text.contains("https://"))
}

fn is_address(file: &str) -> bool {
    file.starts_with("https://") || file.starts_with("http://") || file.starts_with("ftp://")
}

/// A shell's text, or the program's name, comes from the network.
fn unknown(t: &Text, o: &Origin, i: usize, c: &Command) -> bool {
    t.shell.unknown.iter().filter(|u| u.command == Some(i)).any(|u| match u.what.as_str() {
        "name" => c.words.first().map_or(false, |w| o.word(t, c, w) || o.holds(&crate::origin::path(c, &w.text))) || by_input(t, o, c),
        "code" if u.partial => false,
        "code" | "script" => {
            o.reads(t, c) && !has_operand(c)
                || c.args().iter().any(|w| o.word(t, c, w))
                || first(c).map_or(false, |f| o.is_script(c, &f.text))
                || c.redirects.iter().any(|r| r.op == "<" && o.is_script(c, &r.target.text))
                || by_input(t, o, c)
        }
        _ => false,
    })
}

/// The command is made of what xargs or parallel reads.
fn by_input(t: &Text, o: &Origin, c: &Command) -> bool {
    c.parent.and_then(|p| t.shell.commands.get(p)).map_or(false, |p| {
        o.reads(t, p) && matches!(p.name.as_str(), "xargs" | "gxargs" | "parallel" | "sh" | "bash" | "sudo" | "env")
    })
}

/// A program of another language comes from the network.
fn program(t: &Text, o: &Origin, i: usize, c: &Command) -> bool {
    t.programs.iter().filter(|p| p.command == Some(i) && p.language != "sql").any(|p| {
        if p.text.is_empty() && p.file.is_empty() {
            return o.reads(t, c);
        }
        if !p.file.is_empty() {
            let from = c.words.iter().chain(c.assigns.iter().map(|(_, w)| w)).find(|w| w.text == p.file);
            return from.map_or(false, |w| o.word(t, c, w))
                || o.holds(&crate::origin::path(c, &p.file)) && !(c.name == "sftp")
                || (o.is_script(c, &p.file) && !matches!(p.language.as_str(), "sed" | "awk" | "make" | "sftp" | "lftp" | "ftp"))
                || c.redirects.iter().any(|r| r.target.text == p.file && r.target.from.iter().any(|i| o.prints(*i)));
        }
        // Nothing but what was fetched; a text that it is a part of is judged as a program.
        p.partial && p.text.starts_with(&['$', '`'][..]) && c.words.iter().any(|w| o.word(t, c, w))
            || p.partial && c.stdin.as_ref().map_or(false, |w| o.word(t, c, w) && w.text.starts_with(&['$', '`'][..]))
    })
}

/// The first operand of a shell.
fn first(c: &Command) -> Option<&Word> {
    c.args().iter().find(|w| !w.text.starts_with(&['-', '+'][..]))
}

fn has_operand(c: &Command) -> bool {
    let takes = |w: &Word| w.text == "-s" || w.text == "--" || w.text == "/dev/stdin" || w.text == "-";
    if c.args().iter().any(takes) {
        return false;
    }
    matches!(c.name.as_str(), "sh" | "bash" | "dash" | "zsh" | "ksh") && first(c).is_some()
}
