//! Commands that print a secret out of a store of keys or credentials, without naming a file.

use belay_hook::analysis::Command;

use crate::search::listed;

/// The programs that keep such a store, or ask one. Sorted.
const PROGRAMS: &[&str] = &[
    "akeyless", "aws", "az", "bao", "bw", "bws", "chamber", "dcli", "doppler", "fly", "flyctl", "gcloud",
    "get-storedcredential", "gh", "git", "glab", "gopass", "gpg", "gpg2", "gpgsm", "heroku", "infisical",
    "keepassxc-cli", "keyctl", "keyring", "kubectl", "kwallet-query", "lpass", "oc", "op", "pass", "passage", "rbw",
    "secret-tool", "security", "step", "vault",
];

/// What a command would print, if it does.
pub fn prints(c: &Command) -> Option<&'static str> {
    if !listed(PROGRAMS, &c.name) && !helps(&c.name) {
        return None;
    }
    let args: Vec<&str> = c.args().iter().map(|w| w.text.as_str()).collect();
    let plain: Vec<&str> = args.iter().filter(|a| !a.starts_with('-')).copied().collect();
    let first = plain.first().copied().unwrap_or("");
    let second = plain.get(1).copied().unwrap_or("");
    let third = plain.get(2).copied().unwrap_or("");
    let has = |list: &[&str]| args.iter().any(|a| list.contains(a));
    let begins = |list: &[&str]| args.iter().any(|a| list.iter().any(|l| a.starts_with(l)));
    let verb = |list: &[&str]| plain.iter().take(3).any(|p| list.contains(p));
    if c.args().iter().any(|w| w.text == "--help" || w.text == "-h") && c.name != "security" {
        return None;
    }
    let yes = match c.name.as_str() {
        "gpg" | "gpg2" | "gpgsm" => begins(&["--export-sec", "--export-secret"]),
        "security" => {
            verb(&["find-generic-password", "find-internet-password"]) && args.iter().any(|a| a.starts_with('-') && a.contains(&['w', 'g'][..]))
                || first == "dump-keychain" && args.iter().any(|a| a.starts_with('-') && a.contains('d'))
                || first == "export"
        }
        "secret-tool" => first == "lookup" || first == "search",
        "keyring" | "kwallet-query" => first == "get" || has(&["-r", "--read-password"]),
        "pass" | "gopass" | "passage" => {
            let quiet = [
                "ls", "list", "insert", "generate", "git", "edit", "init", "rm", "remove", "delete", "mv", "rename", "cp", "copy", "find", "search",
                "help", "version", "add", "setup", "sync", "recipients", "mounts", "completion", "audit", "config", "clone",
            ];
            !plain.is_empty() && !quiet.contains(&first)
        }
        "bw" => first == "get" && matches!(second, "password" | "item" | "totp" | "notes" | "username"),
        "op" => first == "read" || first == "item" && second == "get" || first == "inject",
        "lpass" => first == "show" || first == "export",
        "rbw" => matches!(first, "get" | "code"),
        "dcli" => matches!(first, "password" | "p" | "read" | "note" | "otp" | "secret"),
        "bws" => first == "secret" && matches!(second, "get" | "list"),
        "doppler" => first == "secrets" && matches!(second, "get" | "download"),
        "infisical" => first == "export" || first == "secrets" && second == "get",
        "chamber" => matches!(first, "read" | "export"),
        "akeyless" => first.starts_with("get-") && first.contains("secret"),
        "keyctl" => matches!(first, "print" | "pipe" | "read"),
        "fly" | "flyctl" => first == "auth" && second == "token",
        // It shows a key in another form.
        "step" => first == "crypto" && second == "key" && third == "format" && has(&["--no-password"]),
        "vault" | "bao" => first == "kv" && second == "get" || first == "read",
        "keepassxc-cli" => matches!(first, "show" | "clip" | "export"),
        "aws" => {
            first == "configure" && (second == "export-credentials" || second == "get" && (third.contains("secret") || third.contains("token")))
                || first == "secretsmanager" && second == "get-secret-value"
                || first == "ssm" && second.starts_with("get-parameter") && begins(&["--with-decryption"])
        }
        "gcloud" => {
            plain.iter().any(|p| matches!(*p, "print-access-token" | "print-identity-token" | "print-refresh-token"))
                || first == "secrets" && second == "versions" && third == "access"
        }
        "az" => plain.contains(&"get-access-token") || first == "keyvault" && second == "secret" && matches!(third, "show" | "download"),
        "gh" | "glab" => first == "auth" && (second == "token" || second == "status" && has(&["-t", "--show-token"])),
        "heroku" => first == "auth:token",
        "oc" | "kubectl" => {
            first == "config" && second == "view" && has(&["--raw"])
                || first == "whoami" && has(&["-t", "--show-token"])
                || first == "get" && kinds(second) && shows(&args)
        }
        "git" => plain.windows(2).any(|w| w[0] == "credential" && w[1] == "fill" || w[0].starts_with("credential-") && w[1] == "get"),
        n if helps(n) => first == "get",
        "get-storedcredential" => true,
        _ => false,
    };
    if yes {
        return Some("a key or credential store");
    }
    None
}

/// Whether a program hands credentials to git or docker.
fn helps(name: &str) -> bool {
    name.starts_with("git-credential-") || name.starts_with("docker-credential-")
}

/// Whether kubectl is asked for secrets.
fn kinds(word: &str) -> bool {
    word.split(',').map(|k| k.split('/').next().unwrap_or("")).any(|k| k == "secret" || k == "secrets")
}

/// Whether the answer holds the data.
fn shows(args: &[&str]) -> bool {
    let form = |v: &str| ["yaml", "json", "jsonpath", "go-template", "template", "custom-columns"].iter().any(|f| v.starts_with(f));
    args.iter().enumerate().any(|(i, a)| match *a {
        "-o" | "--output" => args.get(i + 1).map_or(false, |v| form(v)),
        a => a.strip_prefix("--output=").or_else(|| a.strip_prefix("-o")).map_or(false, |v| form(v.trim_start_matches('='))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_sorted() {
        assert!(PROGRAMS.windows(2).all(|w| w[0] < w[1]));
    }
}
