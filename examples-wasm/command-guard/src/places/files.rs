//! Files that decide who gets in, or what runs when the machine starts.

use super::{glob, Place};

/// Single files, all of them in /etc.
const FILES: [&str; 17] = [
    "/etc/passwd",
    "/etc/passwd-",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/master.passwd",
    "/etc/group",
    "/etc/sudoers",
    "/etc/sudo.conf",
    "/etc/doas.conf",
    "/etc/ld.so.preload",
    "/etc/security/opasswd",
    "/etc/crontab",
    "/etc/anacrontab",
    "/etc/rc.local",
    "/etc/inittab",
    "/etc/spwd.db",
];

/// Directories in which every file counts.
const DIRS: [&str; 11] = [
    "/etc/sudoers.d",
    "/etc/pam.d",
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/var/spool/cron",
    "/etc/polkit-1",
    "/etc/ssh/authorized_keys.d",
    "/Library/LaunchDaemons",
];

impl Place {
    /// A file whose content decides who gets in or what starts.
    pub fn is_guarded(&self) -> bool {
        (self.glob || self.path.starts_with("/etc/")) && FILES.iter().any(|f| self.is(f)) || DIRS.iter().any(|d| self.is_below(d) || self.is(d)) || self.is_authorized_keys()
    }

    fn is_authorized_keys(&self) -> bool {
        let mut parts = self.path.rsplit('/');
        let (name, dir) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let keys = |n: &str| if self.glob { glob::matches(name, n) } else { name == n };
        dir == ".ssh" && name != "*" && (keys("authorized_keys") || keys("authorized_keys2"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarded() {
        for (path, want) in [
            ("/etc/passwd", true),
            ("/etc/pass*", true),
            ("/etc/sudoers.d/dev", true),
            ("~/.ssh/authorized_keys", true),
            ("/root/.ssh/authorized_keys2", true),
            ("/etc/hosts", false),
            ("etc/passwd", false),
            ("/srv/chroot/etc/passwd", false),
            ("/etc/systemd/system/app.service", false),
            ("~/.ssh/config", false),
        ] {
            assert_eq!(Place { path: path.into(), glob: path.contains('*'), open: false }.is_guarded(), want, "{path}");
        }
    }
}
