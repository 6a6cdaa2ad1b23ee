//! Writing, replacing, linking over or removing files that decide who gets in or what starts, and changing passwords.

use alloc::format;
use alloc::string::String;

use crate::args::{flag, long, operands, values};
use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::removal;
use crate::text::{shown, Text};
use crate::writes;

const RULE: &str = "system-file";

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    if let Some(w) = writes::of(t, c).into_iter().find(|w| w.place.is_guarded()) {
        return Some(Finding::block(RULE, format!("{} would write {}", shown(&c.name), w.shown)));
    }
    if let Some(r) = removal::of(t, c).into_iter().find(|r| r.place.is_guarded()) {
        return Some(Finding::block(RULE, format!("{} would {} {}", shown(&c.name), r.does, r.shown)));
    }
    account(c).map(|what| Finding::block(RULE, what))
}

/// What a command does to an account: its password, its number, or the files that hold all of them.
fn account(c: &Command) -> Option<String> {
    let name = c.name.as_str();
    let args = || c.args().iter().map(|w| w.text.as_str());
    let first = args().next().unwrap_or("");
    let helps = args().any(|a| matches!(a, "--help" | "--version" | "-?") || a == "-h" && name != "pw");
    let changes = match name {
        _ if helps => false,
        "ssh-import-id" | "ssh-import-id-gh" | "ssh-import-id-lp" => !args().any(|a| a == "-o" || a == "--output"),
        "passwd" => !flag(c, 'S', "status"),
        "chpasswd" | "newusers" | "vipw" | "vigr" | "chgpasswd" => true,
        "usermod" => {
            flag(c, 'p', "password") || flag(c, 'U', "unlock") || flag(c, 'L', "lock") || flag(c, 'o', "non-unique") || is_root_number(c)
        }
        "useradd" | "adduser" => flag(c, 'p', "password") || flag(c, 'o', "non-unique") || is_root_number(c),
        "visudo" => !flag(c, 'c', "check") && !flag(c, 'x', "export") && !flag(c, 'V', "version"),
        "dscl" => args().any(|a| matches!(a, "-passwd" | "passwd")) || args().any(|a| a == "-delete" || a == "delete") && args().any(|a| a.starts_with("/Users/")),
        "sysadminctl" => args().any(|a| matches!(a, "-resetPasswordFor" | "-newPassword" | "-deleteUser")),
        "dsenableroot" => true,
        "homectl" => first == "passwd" || first == "update" && args().any(|a| a.starts_with("--password") || a.contains("recovery-key")),
        "pw" => first == "usermod" && (c.has_flag('h', &[]) || c.has_flag('w', &[])),
        "net" | "net.exe" => first.eq_ignore_ascii_case("user") && operands(c, "", &[]).len() >= 3,
        "Set-LocalUser" => args().any(|a| a.eq_ignore_ascii_case("-password")),
        "augtool" => args().any(|a| a.contains("/files/etc/passwd") || a.contains("/files/etc/shadow") || a.contains("/files/etc/sudoers") || a.contains("/files/etc/pam.d")),
        "pam-auth-update" => long(c, "remove") || long(c, "force"),
        "chntpw" => true,
        "smbpasswd" => true,
        "kpasswd" | "ldappasswd" => true,
        _ => false,
    };
    if changes {
        return Some(format!("{} would change who gets in", name));
    }
    None
}

/// Whether an account gets the number of the superuser.
fn is_root_number(c: &Command) -> bool {
    values(c, &["-u", "--uid"]).contains(&"0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::{Redirect, Shell};
    use crate::places::tests::{command, word};

    #[test]
    fn files() {
        let shell = Shell::default();
        let t = Text { source: "", shell: &shell, programs: &[] };
        for (line, want) in [
            ("cp -f new /etc/shadow", true),
            ("cp shadow /etc/", true),
            ("cp -t /etc/sudoers.d dev", true),
            ("cp /etc/passwd copy", false),
            ("cp hosts /etc/hosts", false),
            ("tee -a /etc/sudoers.d/x", true),
            ("ln -sf /tmp/x /etc/passwd", true),
            ("install -m 440 x /etc/sudoers.d/x", true),
            ("sed -i /root/d /etc/shadow", true),
            ("sed -n 1p /etc/hosts", false),
            ("sed -i s/a/b/ /etc/hosts", false),
            ("scp keys web:/root/.ssh/authorized_keys", true),
            ("ssh-copy-id web", false),
            ("curl -o /etc/cron.d/x http://x", true),
            ("rm /etc/pam.d/sudo", true),
            ("vim /etc/sudoers", true),
            ("visudo", true),
            ("visudo -c", false),
            ("visudo -cf x", false),
            ("passwd root", true),
            ("passwd -S root", false),
            ("chpasswd", true),
            ("usermod -aG docker dev", false),
            ("usermod -p x root", true),
            ("useradd -m app", false),
            ("useradd -ou 0 app", true),
            ("ssh-import-id gh:dev", true),
            ("net user dev secret", true),
            ("net user", false),
        ] {
            assert_eq!(judge(&t, &command(line)).is_some(), want, "{line}");
        }
        let mut c = command("cat x");
        c.redirects.push(Redirect { op: ">>".into(), fd: 1, target: word("/etc/passwd") });
        assert!(judge(&t, &c).is_some());
    }
}
