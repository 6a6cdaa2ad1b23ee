//! Secrets that stand on the command line, where every process of the machine can read them. Told by the names of
//! options and variables and by where the text stands, not by its form.

use alloc::format;
use alloc::string::String;

use crate::hook::analysis::{Command, Word};
use crate::text::Text;

pub fn judge(_: &Text, c: &Command) -> Option<String> {
    let says = |what: &str| Some(format!("{} would show the secret of {}", c.name, what));
    if let Some((name, _)) = c.assigns.iter().find(|(n, w)| is_secret_name(n) && is_value(w, &w.text)) {
        return says(name);
    }
    let args = c.args();
    let exports = matches!(c.name.as_str(), "export" | "declare" | "env" | "set" | "setx");
    for (i, w) in args.iter().enumerate() {
        let next = args.get(i + 1);
        let text = w.text.as_str();
        if let Some((name, value)) = text.split_once('=') {
            let bare = name.trim_start_matches('-');
            if (name.starts_with('-') || exports) && is_secret_name(bare) && is_value(w, value) {
                return says(name);
            }
        }
        if text.starts_with("--") && !text.contains('=') && is_secret_name(&text[2..]) && next.map_or(false, |v| is_value(v, &v.text)) {
            return says(text);
        }
        if w.known && (user_info(text) || header(text)) {
            return says("an address or header");
        }
        let short = match c.name.as_str() {
            "sshpass" => text == "-p" || text.starts_with("-p") && text.len() > 2,
            "curl" | "http" | "wget" | "xh" => matches!(text, "-u" | "--user" | "-a" | "--auth") && next.map_or(false, |v| v.text.contains(':') && v.known && !v.text.ends_with(':')),
            "mysql" | "mysqldump" | "mariadb" | "mysqladmin" => text.starts_with("-p") && text.len() > 2 && w.known,
            "docker" | "podman" | "helm" | "oc" | "skopeo" | "crane" => text == "-p" && args.iter().any(|a| a.text == "login"),
            "redis-cli" | "smbclient" | "mongosh" | "mongo" => matches!(text, "-a" | "-p") && c.name != "smbclient",
            "openssl" => text.strip_prefix("pass:").map_or(false, |p| !p.is_empty()),
            _ => false,
        };
        if short && (text.len() > 2 || next.map_or(false, |v| is_value(v, &v.text))) {
            return says(text.get(..2).unwrap_or(text));
        }
    }
    None
}

/// The name of an option or a variable that holds a secret.
fn is_secret_name(name: &str) -> bool {
    let low = name.to_ascii_lowercase().replace('-', "_");
    if ["file", "path", "stdin", "env", "name", "id", "arn", "length", "url", "type", "policy"].iter().any(|end| {
        low.strip_suffix(end).map_or(false, |rest| rest.ends_with('_'))
    }) {
        return false;
    }
    matches!(low.as_str(), "pass" | "pgpassword" | "mysql_pwd" | "pwd_hash" | "sshpass" | "redisclti_auth" | "rediscli_auth")
        || ["password", "passwd", "passphrase", "token", "secret", "api_key", "apikey", "access_key", "secret_key", "private_key", "client_secret", "auth_key", "credential"]
            .iter()
            .any(|part| low == *part || low.ends_with(&format!("_{}", part)))
}

/// A text that may be the secret itself, and not where it is.
fn is_value(w: &Word, value: &str) -> bool {
    w.known
        && value.len() >= 4
        && !value.starts_with(&['-', '@', '/', '<', '$', '~'][..])
        && !["env:", "file:", "op://", "vault:", "secret://", "projects/", "arn:", "fd:", "stdin", "prompt"].iter().any(|p| value.starts_with(p))
        && !matches!(value.to_ascii_lowercase().as_str(), "true" | "false" | "none" | "null" | "always" | "never" | "auto")
}

/// Whether an address carries a password: https://user:word@host.
fn user_info(text: &str) -> bool {
    let rest = match text.split_once("://") {
        Some((_, rest)) => rest,
        None => return false,
    };
    let host = rest.split('/').next().unwrap_or("");
    host.rsplit_once('@').map_or(false, |(user, _)| user.split_once(':').map_or(user.len() >= 20, |(_, word)| word.len() >= 4))
}

fn header(text: &str) -> bool {
    let low = text.to_ascii_lowercase();
    let value = ["authorization:", "x-api-key:", "private-token:", "x-auth-token:", "cookie:"].iter().find_map(|h| low.strip_prefix(h));
    value.map_or(false, |v| v.trim().trim_start_matches("bearer").trim_start_matches("basic").trim_start_matches("token").trim().len() >= 8)
}

#[cfg(test)]
mod tests {
    #[test]
    fn secrets() {
        super::super::tests::judges(
            super::judge,
            &[
                ("x --password hunter22", true),
                ("x --password=hunter22", true),
                ("x --password-file p", false),
                ("x --api-key abcd1234", true),
                ("x --token $TOKEN", false),
                ("x --token-url https://x", false),
                ("mysql -uroot -phunter22", true),
                ("mysql -p", false),
                ("curl -u me:hunter22 https://x", true),
                ("curl -u me https://x", false),
                ("curl https://me:hunter22@x/y", true),
                ("git clone https://github.com/x/y", false),
                ("sshpass -p hunter22 ssh h", true),
                ("export API_TOKEN=abcd1234", true),
                ("export PATH=/usr/bin", false),
                ("aws --secret-id x", false),
            ],
        );
    }
}
