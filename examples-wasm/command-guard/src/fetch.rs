//! Programs that read from the network: which they are, what they print, and where they save it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::getopt::Args;
use crate::hook::analysis::Command;

/// What a command brings from the network.
#[derive(Debug, Default, PartialEq)]
pub struct Fetched {
    /// It prints it.
    pub prints: bool,
    /// The files that it saves it in, as the command names them; "*" where the name is not known.
    pub files: Vec<String>,
    /// A directory that holds a copy of somebody's sources.
    pub tree: Option<String>,
}

fn printed() -> Option<Fetched> {
    Some(Fetched { prints: true, ..Fetched::default() })
}

fn saved(files: Vec<String>) -> Option<Fetched> {
    Some(Fetched { prints: files.is_empty(), files, ..Fetched::default() })
}

fn is_stdout(file: &str) -> bool {
    matches!(file, "-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1")
}

/// The last element of an address.
fn base(address: &str) -> &str {
    let path = address.split(&['?', '#'][..]).next().unwrap_or("");
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    path.trim_end_matches('/').rsplit(&['/', ':'][..]).next().unwrap_or("")
}

fn in_dir(dir: Option<&str>, file: &str) -> String {
    match dir {
        Some(dir) if !dir.is_empty() && !file.starts_with('/') => [dir.trim_end_matches('/'), "/", file].concat(),
        _ => file.to_string(),
    }
}

/// The name that a program gives a file that it saves from an address.
fn named(address: &str, index: &str) -> String {
    match base(address) {
        name if name.contains('$') || name.contains('`') => "*".into(),
        "" => index.into(),
        name if !address.contains('/') && name == address => index.into(),
        name => name.to_string(),
    }
}

/// An address on another host.
fn elsewhere(word: &str) -> bool {
    let host = word.split(':').next().unwrap_or("");
    word.contains("::") || (word.contains(':') && !host.is_empty() && !host.contains('/') && !host.starts_with('.'))
}

/// What a command brings from the network; `None` for other commands.
pub fn fetched(c: &Command) -> Option<Fetched> {
    let name = c.name.strip_suffix(".exe").unwrap_or(&c.name);
    let all = || c.args().iter().map(|w| w.text.as_str());
    let says = |word: &str| all().any(|w| w == word);
    match name {
        "curl" | "curlie" => curl(c),
        "wget" | "wget2" => wget(c),
        "aria2c" | "axel" | "fetch" | "http" | "https" | "xh" | "xhs" | "lwp-download" => downloader(c, name),
        "httpie" | "lwp-request" | "GET" | "lynx" | "w3m" | "links" | "links2" | "elinks" | "telnet" | "hurl" | "grpcurl" => {
            printed()
        }
        "nc" | "ncat" | "netcat" | "nc.openbsd" | "nc.traditional" | "socat" | "websocat" | "cryptcat" => printed(),
        "openssl" if says("s_client") => printed(),
        "dig" | "drill" | "host" | "nslookup" | "kdig" | "doggo" => printed(),
        "scp" | "rsync" | "rcp" | "pscp" => {
            let args = Args::read(c.args(), "PiFoeJlS", &[]);
            let (last, sources) = args.operands.split_last()?;
            let from: Vec<&str> = sources.iter().map(|w| w.text.as_str()).filter(|w| elsewhere(w)).collect();
            if from.is_empty() || elsewhere(&last.text) {
                return None;
            }
            saved(from.iter().flat_map(|f| [last.text.clone(), in_dir(Some(&last.text), base(f))]).collect())
        }
        "sftp" | "lftp" | "ftp" | "tftp" | "ncftpget" | "smbclient" => {
            let mut files: Vec<String> = all().filter(|w| w.contains('/') || w.contains(':')).map(|w| base(w).into()).collect();
            let words: Vec<&str> = all().flat_map(|w| w.split(&[' ', ';', '\n'][..])).collect();
            let stdin = c.stdin.as_ref().map_or("", |w| w.text.as_str());
            for w in words.iter().copied().chain(stdin.split_whitespace()) {
                files.push(w.into());
                files.push(base(w).into());
            }
            saved(files)
        }
        "oras" => match all().next() {
            Some("pull") => {
                let args = Args::read(c.args(), "o", &["output"]);
                let dir = args.values(&["o", "output"]).next();
                saved(alloc::vec![in_dir(dir, "*")])
            }
            Some("blob") if all().any(|w| w == "fetch") => printed(),
            _ => None,
        },
        "mosquitto_sub" | "kcat" | "kafkacat" | "nats" | "ipfs" | "amqp-consume" | "wscat" | "smbget" => printed(),
        "certutil" if all().any(|w| w.trim_start_matches(&['-', '/'][..]).eq_ignore_ascii_case("urlcache")) => {
            saved(all().last().map(String::from).into_iter().collect())
        }
        "bitsadmin" => saved(all().last().map(String::from).into_iter().collect()),
        "ssh" | "slogin" | "rsh" | "autossh" => printed(),
        "gh" | "glab" | "hub" | "tea" => {
            if says("clone") {
                return clone(c);
            }
            match (all().next().unwrap_or(""), all().nth(1).unwrap_or("")) {
                ("api", _) | ("gist" | "snippet", "view") => printed(),
                ("release" | "run", "download") => {
                    let args = Args::read(c.args(), "OpDRAn", &["output", "pattern", "dir", "repo", "archive", "name"]);
                    let out: Vec<&str> = args.values(&["O", "output"]).collect();
                    if out.iter().any(|f| is_stdout(f)) {
                        return printed();
                    }
                    let dir = args.values(&["D", "dir"]).next();
                    let mut files: Vec<String> = out.iter().map(|f| f.to_string()).collect();
                    files.extend(args.values(&["p", "pattern", "n", "name"]).map(|p| in_dir(dir, p)));
                    saved(if files.is_empty() { alloc::vec!["*".into()] } else { files })
                }
                _ => None,
            }
        }
        "aws" | "gsutil" | "gcloud" | "az" | "rclone" | "s3cmd" | "s5cmd" | "mc" | "b2" | "ossutil" | "azcopy" | "swift" => {
            cloud(c)
        }
        "git" => {
            if says("clone") {
                clone(c)
            } else if says("archive") && all().any(|w| w.starts_with("--remote")) {
                let args = Args::read(c.args(), "oC", &["output", "remote", "prefix", "format"]);
                saved(args.values(&["o", "output"]).map(String::from).collect())
            } else {
                None
            }
        }
        "svn" | "hg" => match all().next().unwrap_or("") {
            "cat" => printed(),
            "export" | "checkout" | "co" | "clone" => clone(c),
            _ => None,
        },
        _ => None,
    }
}

fn curl(c: &Command) -> Option<Fetched> {
    let args = Args::read(
        c.args(),
        "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
        &["output", "output-dir", "header", "data", "request", "user", "user-agent", "proto", "retry", "max-time", "url"],
    );
    let urls: Vec<&str> = args.operands.iter().map(|w| w.text.as_str()).chain(args.values(&["url"])).collect();
    if !urls.is_empty() && urls.iter().all(|u| u.starts_with("file:")) {
        return None;
    }
    let dir = args.values(&["output-dir"]).next();
    let mut files: Vec<String> =
        args.values(&["o", "output"]).filter(|f| !is_stdout(f)).map(|f| in_dir(dir, f)).collect();
    if args.has(&["O", "remote-name", "remote-name-all"]) {
        files.extend(urls.iter().filter(|u| u.contains('/') || u.contains('$')).map(|u| in_dir(dir, &named(u, "*"))));
    }
    files.retain(|f| f != "/dev/null");
    let silent = args.values(&["o", "output"]).any(|f| f == "/dev/null");
    Some(Fetched { prints: files.is_empty() && !silent, files, ..Fetched::default() })
}

fn wget(c: &Command) -> Option<Fetched> {
    let args = Args::read(
        c.args(),
        "aBDeiIlOoPQRtTUwX",
        &["output-document", "directory-prefix", "output-file", "tries", "timeout", "header", "user-agent", "input-file"],
    );
    if args.has(&["spider"]) {
        return None;
    }
    let mut out = args.values(&["O", "output-document"]).peekable();
    if out.peek().is_some() {
        let files: Vec<String> = out.filter(|f| !is_stdout(f) && *f != "/dev/null").map(String::from).collect();
        return saved(files);
    }
    let dir = args.values(&["P", "directory-prefix"]).next();
    let files: Vec<String> = args.operands.iter().map(|w| in_dir(dir, &named(&w.text, "index.html"))).collect();
    Some(Fetched { prints: false, files, ..Fetched::default() })
}

/// Programs that save under the address's last element, or where -o says.
fn downloader(c: &Command, name: &str) -> Option<Fetched> {
    let args = Args::read(c.args(), if name == "aria2c" { "odnx" } else { "on" }, &["output", "out", "dir"]);
    let dir = args.values(&["d", "dir"]).next().filter(|_| name == "aria2c");
    let out: Vec<&str> = args.values(&["o", "output", "out"]).collect();
    if out.iter().any(|f| is_stdout(f)) {
        return printed();
    }
    let mut files: Vec<String> = out.iter().map(|f| in_dir(dir, f)).collect();
    let prints = matches!(name, "http" | "https" | "xh" | "xhs");
    if files.is_empty() && (!prints || args.has(&["d", "download"])) {
        files = args.operands.iter().map(|w| in_dir(dir, &named(&w.text, "*"))).collect();
    }
    saved(files)
}

/// Clients of object stores: a verb that copies, an address, and a file or `-`.
fn cloud(c: &Command) -> Option<Fetched> {
    let args = Args::read(c.args(), "fnco", &["file", "name", "container-name", "bucket", "key", "account-name", "region", "profile"]);
    let words: Vec<&str> = args.operands.iter().map(|w| w.text.as_str()).collect();
    if words.iter().any(|w| *w == "cat") {
        return printed();
    }
    if !words.iter().any(|w| matches!(*w, "cp" | "copy" | "copyto" | "mv" | "sync" | "rsync" | "get" | "get-object" | "download" | "mirror" | "download-file-by-name")) {
        return None;
    }
    if let Some(file) = args.values(&["f", "file"]).next() {
        return saved(alloc::vec![file.into()]);
    }
    let (last, rest) = words.split_last()?;
    if is_stdout(last) {
        return printed();
    }
    let remote = |w: &str| w.contains("://") || elsewhere(w);
    if remote(last) && rest.iter().any(|w| matches!(*w, "get")) {
        return saved(alloc::vec![base(last).into()]);
    }
    if remote(last) {
        return None;
    }
    let mut files = alloc::vec![last.to_string()];
    files.extend(rest.iter().filter(|w| remote(w) || w.contains('/')).map(|w| in_dir(Some(last), base(w))));
    saved(files)
}

/// A copy of somebody's sources.
fn clone(c: &Command) -> Option<Fetched> {
    let at = c.args().iter().position(|w| matches!(w.text.as_str(), "clone" | "export" | "checkout" | "co"))?;
    let args = Args::read(
        &c.args()[at + 1..],
        "bcjoru",
        &["branch", "depth", "origin", "config", "jobs", "filter", "reference", "template", "revision", "recurse-submodules"],
    );
    let from = args.operand(0);
    if !(from.contains("://") || elsewhere(from) || (c.name != "git" && from.contains('/'))) || from.starts_with("file:") {
        return None;
    }
    let dir = match args.operand(1) {
        "" => base(from).trim_end_matches(".git"),
        dir => dir,
    };
    Some(Fetched { tree: Some(dir.into()), ..Fetched::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::tests::command;

    #[test]
    fn what_is_fetched() {
        for (line, prints, files) in [
            ("curl -s https://x/a.sh", true, ""),
            ("curl -fsSLo a.sh https://x/b", false, "a.sh"),
            ("curl -sSfL https://x/b -o /tmp/a", false, "/tmp/a"),
            ("curl -O https://x/i.sh?v=1", false, "i.sh"),
            ("curl -LO https://x/$V/i.sh", false, "i.sh"),
            ("curl --output-dir /tmp --remote-name https://x/i.sh", false, "/tmp/i.sh"),
            ("curl -o - https://x/b", true, ""),
            ("wget -qO- https://x/b", true, ""),
            ("wget https://x/b.sh", false, "b.sh"),
            ("wget -O b https://x/", false, "b"),
            ("wget -P /tmp https://x/b.sh", false, "/tmp/b.sh"),
            ("aria2c -d /tmp -o b https://x/c", false, "/tmp/b"),
            ("fetch -o - https://x/c", true, ""),
            ("scp host:/srv/a.sh .", false, ". ./a.sh"),
            ("aws s3 cp s3://b/a.sh a.sh", false, "a.sh a.sh/a.sh"),
            ("aws s3 cp s3://b/a.sh -", true, ""),
            ("gsutil cat gs://b/a.sh", true, ""),
            ("rclone cat r:a.sh", true, ""),
            ("gh api repos/x", true, ""),
            ("http -d https://x/a.sh", false, "a.sh"),
            ("http https://x/a.sh", true, ""),
            ("svn cat https://x/a", true, ""),
        ] {
            let got = fetched(&command(line)).unwrap_or_default();
            assert_eq!((got.prints, got.files.join(" ").as_str()), (prints, files), "{line}");
        }
        assert_eq!(fetched(&command("git clone https://x/y/z.git")).unwrap().tree.as_deref(), Some("z"));
        assert_eq!(fetched(&command("git clone git@h:y/z.git d")).unwrap().tree.as_deref(), Some("d"));
        for line in ["scp a.sh host:/srv", "curl file:///tmp/x", "aws s3 cp a.sh s3://b/a.sh", "git clone ../z", "gh pr list", "wget --spider u"] {
            assert_eq!(fetched(&command(line)), None, "{line}");
        }
    }
}
