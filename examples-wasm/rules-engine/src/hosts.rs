//! The hosts that texts and commands name.

use hook::analysis::Command;

use belay_hook as hook;

use crate::bytes;
use crate::facts::{cut, Found};
use crate::few::Few;

const MANY: usize = 4096; // of one call
const NAMED: usize = 16 << 10; // times that a host is named in one call
const AUTHORITY: usize = 1024; // bytes of a host with what stands round it
const NAME: usize = 255; // bytes of a host's name, as DNS has them
const TOO_MANY: &str = "the call names more hosts than can be told";

/// Hosts that are named, and why there may be others that cannot be told.
pub struct Hosts {
    named: Few<()>,
    times: usize,
    pub doubt: Option<String>,
}

impl Default for Hosts {
    fn default() -> Hosts {
        Hosts { named: Few::new(MANY), times: 0, doubt: None }
    }
}

impl Hosts {
    fn doubt(&mut self, why: &str) {
        self.doubt.get_or_insert_with(|| why.to_string());
    }

    /// The hosts, and why there may be others.
    pub fn found(mut self) -> Found<String> {
        if self.named.more() {
            self.doubt(TOO_MANY);
        }
        let list = self.named.take().into_iter().map(|(host, _)| host).collect();
        Found { list, doubt: self.doubt, hidden: false, touches: None }
    }
}

/// Whether hosts are named more often than is looked at.
pub fn full(found: &Hosts) -> bool {
    found.times > NAMED
}

/// Notes the hosts that a text names. bare: a text without a scheme names a host, too.
pub fn of_text(text: &str, bare: bool, found: &mut Hosts) {
    add_host(found, text, bare);
}

/// Notes the hosts that the arguments of a command name.
pub fn of_command(c: &Command, found: &mut Hosts) {
    let network = NETWORK.contains(&c.name.as_str());
    let mut first = true;
    let mut flag = false;
    for w in c.args() {
        if !w.known && (network || w.text.contains("://")) {
            found.doubt(&format!("which host {} stands for cannot be told beforehand", cut(&w.text)));
            continue;
        }
        let is_flag = w.text.starts_with('-');
        // Behind a flag stands its value or the host: both are looked at.
        let bare = network && !is_flag && (first || flag || w.text.contains('.'));
        let text = if is_flag { w.text.split_once('=').map_or("", |(_, v)| v) } else { w.text.as_str() };
        add_host(found, text, bare && !flag);
        if bare && flag && looks_like_host(text) {
            add_host(found, text, true);
        }
        first = first && is_flag;
        flag = is_flag && !w.text.contains('=');
    }
    if network && c.args_open {
        found.doubt(&format!("{} gets more arguments than can be told beforehand", cut(&c.name)));
    }
}

const NETWORK: [&str; 26] = [
    "curl", "wget", "aria2c", "http", "https", "xh", "fetch", "nc", "ncat", "netcat", "telnet", "ftp", "lftp", "sftp", "ssh", "scp",
    "rsync", "ping", "dig", "nslookup", "host", "mosh", "socat", "openssl", "axel", "lynx",
];

fn looks_like_host(s: &str) -> bool {
    let name = host_of(s).unwrap_or_default();
    name == "localhost" || name.rsplit_once('.').map_or(false, |(_, top)| top.len() > 1 && top.bytes().all(|b| b.is_ascii_alphabetic()))
        || name.split('.').count() == 4 && name.bytes().all(|b| b == b'.' || b.is_ascii_digit())
}

/// Notes the host of an address. bare: a text without a scheme names a host, too.
fn add_host(found: &mut Hosts, text: &str, bare: bool) {
    if !bare && !bytes::has(text, b':') {
        return; // most texts
    }
    let address = text.contains("://");
    // user@host:path, as ssh, scp and git write it
    let remote = !address && text.split_once('@').map_or(false, |(user, rest)| !user.contains('/') && rest.contains(':'));
    if !address && !bare && !remote {
        return;
    }
    if address {
        // A text may hold several addresses.
        for part in text.split("://").skip(1) {
            push_host(found, part);
            if full(found) {
                return;
            }
        }
        return;
    }
    push_host(found, text);
}

fn push_host(found: &mut Hosts, rest: &str) {
    found.times += 1;
    if full(found) {
        found.doubt(TOO_MANY);
        return;
    }
    match host_of(rest) {
        Some(host) if host.is_empty() => {}
        Some(host) => found.named.add(&host, (), 0),
        None => found.doubt(&format!("which host {} names cannot be told", cut(rest))),
    }
}

/// The host at the start of what follows a scheme; None when programs may read it differently.
fn host_of(rest: &str) -> Option<String> {
    let ends = |b: &u8| matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b')' | b' ' | b'\n' | b'\t' | b',');
    let looked = &rest.as_bytes()[..rest.len().min(AUTHORITY + 1)];
    let end = looked.iter().position(ends).unwrap_or(looked.len());
    if end > AUTHORITY || looked[..end].iter().any(|b| matches!(b, b'\\' | b'%' | 0..=0x1f | 0x80..=0xff)) {
        return None;
    }
    let authority = &rest[..end];
    let name = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match name.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or(""),
        None => name.split(':').next().unwrap_or(""),
    };
    let name = name.trim_end_matches('.');
    (name.len() <= NAME).then(|| name.to_ascii_lowercase())
}
