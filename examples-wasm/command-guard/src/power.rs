//! Programs that switch the machine off, restart it, or start another kernel.

use alloc::format;

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::text::Text;
use crate::writes;

const RULE: &str = "power";

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    let name = c.name.strip_suffix(".exe").unwrap_or(&c.name);
    if stops(name, c) || writes::of(t, c).iter().any(|w| w.place.is("/proc/sysrq-trigger")) {
        return Some(Finding::block(RULE, format!("{} would stop or restart the machine, which is not for agents", crate::text::shown(&c.name))));
    }
    None
}

fn stops(name: &str, c: &Command) -> bool {
    let args = || c.args().iter().map(|w| w.text.as_str());
    if args().any(|a| matches!(a, "--help" | "--version" | "-?" | "/?")) {
        return false;
    }
    match name {
        // -c and /a take back what was planned.
        "shutdown" => !args().any(|a| matches!(a, "-c" | "/a" | "-a")),
        "reboot" | "halt" | "poweroff" | "soft-reboot" | "systemctl-reboot" => true,
        "Stop-Computer" | "Restart-Computer" | "stop-computer" | "restart-computer" => true,
        "init" | "telinit" => args().any(|a| matches!(a, "0" | "6")),
        "systemctl" | "loginctl" => args().find(|a| !a.starts_with('-')).map_or(false, |verb| {
            matches!(verb, "reboot" | "poweroff" | "halt" | "kexec" | "soft-reboot" | "rescue" | "emergency" | "exit" | "suspend" | "hibernate" | "hybrid-sleep" | "suspend-then-hibernate")
                && !(verb == "exit" && (name == "loginctl" || args().any(|a| a == "--user")))
        }),
        "kexec" => args().any(|a| a == "-e" || a == "--exec"),
        "pmset" => args().any(|a| a == "sleepnow"),
        "wmic" => args().any(|a| a.eq_ignore_ascii_case("reboot") || a.eq_ignore_ascii_case("shutdown")),
        "busctl" | "dbus-send" | "gdbus" => {
            let manager = args().any(|a| a.contains("login1"));
            manager && args().any(|a| ["Reboot", "PowerOff", "Halt"].iter().any(|m| a == *m || a.ends_with(&format!("Manager.{}", m))))
        }
        "osascript" => args().any(|a| {
            let a = a.to_lowercase();
            let asks = ["system events", "finder", "loginwindow"].iter().any(|app| a.contains(app));
            asks && ["shut down", "restart", "sleep", "aevtrsdn", "aevtrrst"].iter().any(|verb| a.contains(&format!("to {}", verb)) || a.contains(&format!("\u{ab}event {}", verb)))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::tests::command;

    #[test]
    fn stopping() {
        for (line, want) in [
            ("reboot -f", true), ("shutdown -h now", true), ("shutdown -c", false), ("shutdown /a", false), ("shutdown /s /t 0", true),
            ("systemctl reboot", true), ("systemctl --force poweroff", true), ("systemctl restart reboot.service", false),
            ("systemctl --user exit", false), ("systemctl status halt", false), ("loginctl poweroff", true), ("loginctl list-sessions", false),
            ("init 6", true), ("init --help", false), ("telinit 0", true), ("kexec -e", true), ("kexec -l /boot/vmlinuz", false),
            ("pmset -g", false), ("busctl call org.freedesktop.login1 /x org.freedesktop.login1.Manager PowerOff b false", true),
            ("reboot --help", false), ("Restart-Computer -Force", true), ("adb reboot", false),
        ] {
            let c = command(line);
            assert_eq!(stops(&c.name, &c), want, "{line}");
        }
    }
}
