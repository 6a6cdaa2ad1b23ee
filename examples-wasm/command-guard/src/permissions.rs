//! Opening, closing or giving away system files, and setting programs up to run with the rights of others.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::args::{operands, values};
use crate::find;
use crate::finding::Finding;
use crate::hook::analysis::{Command, Word};
use crate::modes::{self, Effect};
use crate::places::{self, Place};
use crate::text::Text;
use protected_files::search::Case;

const RULE: &str = "permissions";

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    let place = match c.name.as_str() {
        "chmod" | "gchmod" => chmod(t, c),
        "chown" | "gchown" | "chgrp" | "gchgrp" => chown(t, c),
        "ansible" => ansible(t, c),
        "install" | "ginstall" | "mkdir" | "mkfifo" | "mknod" => made(t, c),
        "rsync" => copied(c),
        "setcap" => setcap(t, c),
        "setfacl" => setfacl(t, c),
        "nfs4_setfacl" => nfs4_setfacl(t, c),
        "chattr" | "chflags" => chattr(t, c),
        "icacls" | "icacls.exe" | "cacls" | "takeown" | "takeown.exe" | "Set-Acl" => acl(t, c),
        _ => None,
    }?;
    Some(Finding::block(RULE, format!("{} would change the rights of {}", c.name, place)))
}

/// The operands that a command changes: its words, and what a search hands on to it.
fn targets(t: &Text, c: &Command, words: &[&Word]) -> Vec<(Place, String, bool)> {
    let mut out: Vec<(Place, String, bool)> = words.iter().map(|w| (places::of(t, c, w), w.text.clone(), false)).collect();
    if c.args_open || c.args().iter().any(|w| !w.known || w.text.contains("{}")) {
        for s in find::handing_on(t, c) {
            for p in s.places {
                let shown = format!("what is found below {}", if p.path.is_empty() { "the current directory" } else { &p.path });
                out.push((p, shown, true));
            }
        }
    }
    out
}

fn chmod(t: &Text, c: &Command) -> Option<String> {
    let recursive = c.has_flag('R', &["recursive"]);
    // A mode may begin with a dash, as in chmod -x.
    let mut words: Vec<&Word> = c.args().iter().filter(|w| !w.text.starts_with("--") && !is_option(&w.text)).collect();
    let reference = !values(c, &["--reference"]).is_empty();
    if reference {
        // The mode of another file is not known: a system tree needs none of it.
        return targets(t, c, &words).into_iter().find(|(p, _, _)| p.is_tree() || is_system(p)).map(|(_, shown, _)| shown);
    }
    if words.is_empty() {
        return None;
    }
    let mode = words.remove(0);
    let effect = modes::effect(&mode.text)?;
    targets(t, c, &words)
        .into_iter()
        .find(|(p, _, found)| spoils(effect, p, recursive || *found) || effect.setid && is_copy_of_interpreter(t, p))
        .map(|(_, shown, _)| shown)
}

/// A shell or an interpreter that rsync copies and sets up to run with the rights of its owner.
fn copied(c: &Command) -> Option<String> {
    let sets = values(c, &["--chmod"]).iter().any(|m| modes::effect(m.trim_start_matches(&['F', 'D'][..])).map_or(false, |e| e.setid));
    let words = operands(c, "efBTM", &["chmod", "rsh", "exclude", "include", "filter"]);
    let (_, from) = words.split_last()?;
    from.iter().find(|w| sets && names_interpreter(&w.text)).map(|w| w.text.clone())
}

/// Whether the text copies a shell or an interpreter to a place.
fn is_copy_of_interpreter(t: &Text, to: &Place) -> bool {
    t.shell.commands.iter().filter(|c| matches!(c.name.as_str(), "cp" | "install" | "mv" | "ln")).any(|c| {
        let words = operands(c, "mogtS", &["mode", "owner", "group", "suffix"]);
        words.len() == 2 && names_interpreter(&words[0].text) && places::of(t, c, words[1]).path == to.path
    })
}

/// An entry of an ACL of NFS that lets everyone write.
fn nfs4_setfacl(t: &Text, c: &Command) -> Option<String> {
    let entries = values(c, &["-a", "-s", "-A", "-S"]);
    let opens = entries.iter().flat_map(|e| e.split(&[',', '\n'][..])).any(|e| {
        let mut parts = e.split(':');
        parts.next() == Some("A") && parts.nth(1) == Some("EVERYONE@") && parts.next().map_or(false, |r| r.contains(&['w', 'a', 'W', 'C', 'o'][..]))
    });
    let words = operands(c, "asASmxX", &[]);
    words.into_iter().find(|w| opens && (places::of(t, c, w).is_tree() || is_system(&places::of(t, c, w)))).map(|w| w.text.clone())
}

fn ansible(t: &Text, c: &Command) -> Option<String> {
    let f = crate::ansible::file(c)?;
    let p = places::named(t, c, &f.path);
    let spoilt = modes::effect(&f.mode).map_or(false, |e| spoils(e, &p, f.recursive));
    let given = !f.owner.is_empty() && f.owner != "root" && (p.is_tree() && !is_share(&p) || is_owned_by_root(&p));
    (spoilt || given).then(|| f.path.clone())
}

fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-') && text[1..].chars().all(|ch| "Rvcfh".contains(ch))
}

/// Whether a mode is bad for a place. With all that is below it, more is.
fn spoils(e: Effect, p: &Place, recursive: bool) -> bool {
    let whole = p.is_tree() || p.is_home() && p.path != "~" && !p.path.starts_with("/home/");
    let system = is_system(p);
    if e.setid && (system && !whole || names_interpreter(&p.path)) {
        return true;
    }
    if e.opens && (system || whole || recursive && p.is_home() || p.is_disk()) {
        return true;
    }
    if e.closes && (system || whole || p.is_home()) {
        return true;
    }
    // /root is for its owner alone, and so is a file of /etc.
    e.stops && (whole && p.path != "/root" && (recursive || p.is_tree()) && !is_private(p) || is_program(p))
}

/// Below /etc modes without x are usual for files.
fn is_private(p: &Place) -> bool {
    p.glob && p.is_below("/etc")
}

/// A file or directory of the system, and not of an application or user.
fn is_system(p: &Place) -> bool {
    ["/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/System", "/Library", "/run", "/var/lib", "/var/spool", "/root", "/proc", "/sys"]
        .iter()
        .any(|dir| p.is(dir) || p.is_below(dir))
}

/// A program of the system.
fn is_program(p: &Place) -> bool {
    ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/lib", "/lib64", "/usr/lib"].iter().any(|dir| p.is_below(dir) && !p.path.contains("/lib/node_modules"))
}

/// Shells, interpreters, and programs that run others or write any file: with the rights of root they give them away.
fn names_interpreter(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or("").trim_start_matches('.');
    let base = name.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    matches!(
        base,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" | "csh" | "tcsh" | "mksh" | "rbash" | "busybox" | "toybox" | "python" | "pypy" | "perl"
            | "ruby" | "node" | "nodejs" | "php" | "lua" | "luajit" | "tclsh" | "awk" | "gawk" | "mawk" | "nawk" | "env" | "find" | "vim" | "vi" | "nvim"
            | "nano" | "emacs" | "ed" | "sed" | "tar" | "cp" | "mv" | "dd" | "tee" | "less" | "more" | "man" | "gdb" | "strace" | "nmap" | "xargs"
            | "pwsh" | "java" | "deno" | "bun" | "R" | "julia" | "expect" | "socat" | "nc" | "ncat" | "docker" | "make" | "git" | "rsync" | "zip"
            | "openssl" | "curl" | "wget" | "cat" | "chmod" | "chown" | "systemctl" | "pkexec" | "su" | "nice" | "timeout" | "setpriv" | "unshare"
    )
}

fn chown(t: &Text, c: &Command) -> Option<String> {
    let recursive = c.has_flag('R', &["recursive"]);
    let mut words = operands(c, "", &["from"]);
    let reference = !values(c, &["--reference"]).is_empty();
    if words.is_empty() {
        return None;
    }
    let owner = if reference { "?" } else { words.remove(0).text.as_str() };
    let root = matches!(owner.split(&[':', '.'][..]).next(), Some("root" | "0" | "")) && c.name.contains("chown")
        || c.name.contains("chgrp") && matches!(owner, "root" | "0" | "wheel");
    let system_group = ["shadow", "wheel", "adm", "utmp", "mail", "ssl-cert", "tty"];
    let group = owner.split_once(':').map_or(owner, |(_, g)| g);
    let gives = !root || owner.starts_with(':') && !["root", "0", ""].contains(&group) && !system_group.contains(&group);
    if !gives || c.name.contains("chgrp") && system_group.contains(&group) {
        // Taking a whole tree is as bad for what others own in it.
        return targets(t, c, &words).into_iter().find(|(p, _, found)| (recursive || *found) && takes_from_others(p)).map(|(_, s, _)| s);
    }
    targets(t, c, &words)
        .into_iter()
        .find(|(p, _, found)| p.is_tree() && !is_share(p) || is_owned_by_root(p) || (recursive || *found) && p.is("/root"))
        .map(|(_, shown, _)| shown)
}

/// Trees whose files belong to many.
fn takes_from_others(p: &Place) -> bool {
    ["/", "/home", "/var", "/var/lib", "/Users", "/var/spool"].iter().any(|dir| p.is_tree() && (p.path == *dir || p.glob && p.path.strip_suffix("/*") == Some(dir.trim_end_matches('/'))))
}

/// Trees that are there to be given to somebody.
fn is_share(p: &Place) -> bool {
    ["/mnt", "/media", "/Volumes"].iter().any(|dir| p.is(dir) || p.is_below(dir))
        || ["/usr/local/bin", "/usr/local/lib", "/usr/local/share", "/usr/local/etc", "/usr/local/include"].iter().any(|dir| p.is_below(dir))
}

/// A file that belongs to root on every machine.
fn is_owned_by_root(p: &Place) -> bool {
    ["/etc", "/boot", "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib", "/lib", "/lib64", "/root", "/System", "/usr/libexec"]
        .iter()
        .any(|dir| p.is_below(dir) && !p.path.contains("/node_modules"))
}

/// Files that are made with a mode.
fn made(t: &Text, c: &Command) -> Option<String> {
    let mode = values(c, &["-m", "--mode"]).last().copied()?;
    let effect = modes::effect(mode)?;
    let words = operands(c, "mogtS", &["mode", "owner", "group", "target-directory", "suffix"]);
    if effect.setid && words.iter().any(|w| names_interpreter(&w.text)) {
        return words.last().map(|w| w.text.clone());
    }
    let last = words.last()?;
    let p = places::of(t, c, last);
    ((effect.opens || effect.closes || effect.setid) && is_system(&p)).then(|| last.text.clone())
}

fn setcap(t: &Text, c: &Command) -> Option<String> {
    let words = operands(c, "n", &[]);
    if c.has_flag('r', &[]) || words.len() < 2 {
        return None;
    }
    // cap_net_bind_service lets a server listen; the others give root away.
    let file = words.iter().skip(1).step_by(2).find(|w| {
        let p = places::of(t, c, w);
        names_interpreter(&p.path) || p.open && names_interpreter(w.text.trim_end_matches(&[')', '"', '`'][..]).rsplit(' ').next().unwrap_or(""))
    });
    let strong = ["cap_setuid", "cap_setgid", "cap_dac", "cap_sys_admin", "cap_sys_ptrace", "cap_sys_module", "cap_chown", "cap_fowner", "all", "="];
    let gives = |w: &&&Word| strong.iter().any(|s| w.text.lowered().starts_with(s));
    file.or_else(|| words.first().filter(gives).and_then(|_| words.get(1))).map(|w| w.text.clone())
}

fn setfacl(t: &Text, c: &Command) -> Option<String> {
    let entries: Vec<&str> = values(c, &["-m", "--modify", "-M", "--set"]);
    let grants = entries.iter().flat_map(|e| e.split(',')).any(|e| {
        let mut parts = e.rsplit(':');
        parts.next().map_or(false, |perms| perms.contains('w') || e.trim_start_matches("d:").starts_with(&['o'][..]) && perms.contains('-') && !perms.contains('r'))
    });
    let recursive = c.has_flag('R', &["recursive"]);
    if !grants {
        return None;
    }
    let words = operands(c, "mMxX", &["modify", "remove", "set"]);
    targets(t, c, &words).into_iter().find(|(p, _, _)| is_system(p) || p.is_tree() || recursive && p.is_tree()).map(|(_, s, _)| s)
}

/// Making a whole tree unchangeable.
fn chattr(t: &Text, c: &Command) -> Option<String> {
    if !c.has_flag('R', &[]) {
        return None;
    }
    operands(c, "", &[]).into_iter().find(|w| places::of(t, c, w).is_tree()).map(|w| w.text.clone())
}

fn acl(t: &Text, c: &Command) -> Option<String> {
    let texts = || c.args().iter().map(|w| w.text.lowered());
    let gives = c.name.starts_with("takeown") || c.name == "Set-Acl" || texts().any(|a| matches!(a.as_str(), "/grant" | "/grant:r" | "/deny" | "/setowner" | "/g" | "/reset"));
    if !gives {
        return None;
    }
    c.args().iter().find(|w| {
        let p = places::of(t, c, w);
        p.is_tree() || p.is_home()
    }).map(|w| w.text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::Shell;
    use crate::places::tests::command;

    #[test]
    fn rights() {
        let shell = Shell::default();
        let t = Text { source: "", shell: &shell, programs: &[] };
        for (line, want) in [
            ("chmod -R ugo=rwx /var/lib", true),
            ("chmod -R 777 /", true),
            ("chmod 777 /etc/passwd", true),
            ("chmod o+w /usr/local/bin/x", true),
            ("chmod 000 /etc", true),
            ("chmod a-rwx /usr", true),
            ("chmod 600 /etc/ssl/private/key.x", false),
            ("chmod -x /bin/chmod", true),
            ("chmod -R 644 /usr", true),
            ("chmod 700 /usr", true),
            ("chmod 700 /root", false),
            ("chmod 700 ~", false),
            ("chmod 755 /usr/local/bin/x", false),
            ("chmod +x /usr/local/bin/x", false),
            ("chmod 1777 /tmp", false),
            ("chmod -R 777 build", false),
            ("chmod 777 /tmp/x", false),
            ("chmod 640 config/app.yaml", false),
            ("chmod 6755 /usr/bin/env", true),
            ("chmod u+s /tmp/bash", true),
            ("chmod u+s ./mytool", false),
            ("chmod 666 /dev/sda", true),
            ("chmod 666 /var/run/docker.sock", true),
            ("chown -hR www-data:www-data /etc /usr", true),
            ("chown dev /etc/hosts", true),
            ("chown root:root /etc/hosts", false),
            ("chown -R app:app ./data", false),
            ("chown -R dev:dev /home/dev", false),
            ("chown -R dev /home", true),
            ("chown -R postgres:postgres /var/lib/postgresql/data", false),
            ("chown -R www-data:www-data /var/www/html", false),
            ("chown -R dev /usr/local/lib/node_modules", false),
            ("chown -R nobody /opt", true),
            ("chgrp -R users /usr", true),
            ("install -m 4755 /bin/bash /tmp/x", true),
            ("install -m 755 x /usr/local/bin/x", false),
            ("mkdir -m 777 out", false),
            ("setcap cap_setuid+ep /usr/bin/python3.11", true),
            ("setcap cap_net_bind_service=+ep ./server", false),
            ("setcap -r ./server", false),
            ("chmod --reference=/tmp /etc", true),
            ("chmod --reference=a b", false),
            ("rsync -a --chmod=u+s /bin/bash /tmp/x/", true),
            ("rsync -a --chmod=u+s a b", false),
            ("setfacl -R -m u:dev:rwx /etc", true),
            ("setfacl -m u:dev:r app.log", false),
            ("chattr +i /etc/resolv.conf", false),
        ] {
            assert_eq!(judge(&t, &command(line)).is_some(), want, "{line}");
        }
    }
}
