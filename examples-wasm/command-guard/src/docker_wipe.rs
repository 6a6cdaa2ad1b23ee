//! Removing all containers, images or volumes, with any tool of the kind.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::getopt::Args;
use crate::finding::Finding;
use crate::hook::analysis::{Command, Word};
use crate::origin;
use crate::text::Text;

const RULE: &str = "docker-wipe";

/// Whether a program manages containers, and its words behind the options in front of the verb.
fn words(c: &Command) -> Option<Vec<&Word>> {
    let short = match c.name.as_str() {
        "docker" | "podman" | "podman-remote" | "finch" | "docker.exe" | "com.docker.cli" | "docker-machine" => "Hlcv",
        "nerdctl" | "ctr" | "crictl" | "buildah" | "lima" | "nerdctl.lima" | "docker.lima" | "colima" | "k3s" | "skopeo" => "naHrtc",
        "lxc" | "incus" | "multipass" | "machinectl" => "",
        _ => return None,
    };
    const LONG: [&str; 17] = [
        "host", "context", "config", "log-level", "connection", "url", "root", "runroot", "namespace", "address", "runtime-endpoint",
        "image-endpoint", "storage-driver", "identity", "tlscacert", "tlscert", "timeout",
    ];
    let all = c.args();
    let mut at = 0;
    while let Some(word) = all.get(at).filter(|w| w.text.starts_with('-')) {
        let text = word.text.as_str();
        let long = text.strip_prefix("--").map_or(false, |n| LONG.contains(&n));
        let takes = long || (text.len() == 2 && short.contains(&text[1..]));
        at += if takes { 2 } else { 1 };
    }
    let mut rest: Vec<&Word> = all.iter().skip(at).collect();
    if c.name == "k3s" && rest.first().map_or(false, |w| matches!(w.text.as_str(), "ctr" | "crictl")) {
        rest.remove(0);
    }
    Some(rest)
}

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    let found = |what: String| Some(Finding::block(RULE, what));
    if let Some(dir) = store(c) {
        return found(format!("{} would delete the store of the containers {}", c.name, dir));
    }
    let rest = words(c)?;
    let text = |i: usize| rest.get(i).map_or("", |w: &&Word| w.text.as_str());
    let args = c.args();
    let flags = Args::read(args, "", &[]);
    let filtered = flags.has(&["filter"]) || args.iter().any(|w| w.text == "-f" && false);
    let all = flags.has(&["all", "a"]);
    let noun = plural(text(0));
    match (noun, text(1)) {
        ("system", "prune") if all && flags.has(&["volumes"]) && !filtered => {
            return found(format!("{} system prune would remove all containers, images and volumes", c.name));
        }
        ("machine", "reset") if c.name.starts_with("podman") => {
            return found(format!("{} machine reset would remove all machines with their containers, images and volumes", c.name));
        }
        ("system", "reset") => return found(format!("{} system reset would remove all containers, images and volumes", c.name)),
        ("volume", "prune") if all && !filtered => return found(format!("{} would remove all volumes", c.name)),
        _ => {}
    }
    let (object, at) = match (noun, text(1)) {
        ("rm" | "del" | "delete" | "rmi" | "rmp" | "rmc" | "remove", _) => (noun, 1),
        ("container" | "image" | "volume" | "pod" | "task" | "snapshot", "rm" | "remove" | "delete" | "del" | "rmi") => (noun, 2),
        _ => return None,
    };
    let compose = matches!(object, "compose" | "stack");
    if compose {
        return None;
    }
    let what = match object {
        "rmi" | "image" => "images",
        "volume" => "volumes",
        _ => "containers",
    };
    let operands: Vec<&&Word> = rest.iter().skip(at).filter(|w| !w.text.starts_with('-')).collect();
    if all && operands.is_empty() && !filtered && c.name != "ctr" {
        return found(format!("{} would remove all {}", c.name, what));
    }
    // What another command lists.
    let listed = operands.iter().any(|w| w.from.iter().any(|i| lists_all(t, *i)))
        || c.parent.and_then(|p| t.shell.commands.get(p)).map_or(false, |p| {
            matches!(p.name.as_str(), "xargs" | "gxargs" | "parallel" | "rust-parallel") && input_lists_all(t, p)
        });
    if listed {
        return found(format!("{} would remove all {}", c.name, what));
    }
    None
}

fn plural(noun: &str) -> &str {
    match noun {
        "containers" | "c" | "container" => "container",
        "images" | "i" | "image" | "img" => "image",
        "volumes" | "volume" => "volume",
        "pods" | "pod" => "pod",
        "tasks" | "t" | "task" => "task",
        "snapshots" | "snapshot" => "snapshot",
        other => other,
    }
}

fn input_lists_all(t: &Text, c: &Command) -> bool {
    c.stdin_from.map_or(false, |i| lists_all(t, i)) || c.redirects.iter().any(|r| r.op.starts_with('<') && r.target.from.iter().any(|i| lists_all(t, *i)))
}

/// Whether a command prints every object there is: a list without a filter, through what does not choose.
fn lists_all(t: &Text, i: usize) -> bool {
    let mut at = Some(i);
    for _ in 0..8 {
        let c = match at.and_then(|i| t.shell.commands.get(i)) {
            Some(c) => c,
            None => return false,
        };
        if let Some(rest) = words(c) {
            return lists(c, &rest);
        }
        if !passes_all(c) {
            return false;
        }
        at = c.stdin_from;
    }
    false
}

fn lists(c: &Command, rest: &[&Word]) -> bool {
    let text = |i: usize| rest.get(i).map_or("", |w: &&Word| w.text.as_str());
    let at = match (plural(text(0)), text(1)) {
        ("ps" | "ls" | "list" | "image" | "pods", verb) if !matches!(verb, "ls" | "list") => 1,
        ("container" | "image" | "volume" | "pod" | "task" | "snapshot", "ls" | "list" | "ps") => 2,
        _ => return false,
    };
    let args: Vec<Word> = rest.iter().skip(at).map(|w| (*w).clone()).collect();
    let args = Args::read(&args, "fnc", &["filter", "format", "last", "sort", "name", "state", "columns"]);
    let chosen = args.options.iter().any(|o| match o.name {
        "filter" | "last" | "latest" | "l" | "state" | "label" | "s" => true,
        "n" => true,
        "f" => !matches!(o.text(), "csv" | "json"),
        "name" => c.name == "crictl",
        _ => false,
    });
    !chosen && args.operands.is_empty()
}

/// Programs that change the form of a list and leave no line out but a heading.
fn passes_all(c: &Command) -> bool {
    let text = || c.args().iter().map(|w| w.text.as_str());
    match c.name.as_str() {
        "cut" | "tr" | "sort" | "uniq" | "cat" | "tee" | "xargs" | "column" | "nl" | "tac" | "jq" | "paste" | "read" | "echo" | "sudo" => true,
        "awk" | "gawk" | "mawk" => text().any(|p| {
            let p = p.trim();
            p.starts_with('{') || p.starts_with("NR>1") || p.starts_with("NR > 1") || p.starts_with("NR!=1") || p.starts_with("NR != 1")
        }),
        "tail" => text().any(|w| w.starts_with('+') || w.starts_with("-n+")),
        "sed" => text().any(|w| matches!(w, "1d" | "1 d")) || text().any(|w| w.starts_with("s/") || w.starts_with("s|")),
        "grep" => text().any(|w| w == "-v") && text().any(|w| matches!(w.trim_start_matches('^'), "CONTAINER" | "REPOSITORY" | "VOLUME" | "DRIVER" | "IMAGE" | "NAME")),
        _ => false,
    }
}

/// Where the tools keep what they manage.
const STORES: [&str; 8] = [
    "/var/lib/docker", "/var/lib/containers", "/var/lib/containerd", "~/.local/share/containers", "~/.local/share/docker",
    "/var/snap/docker", "/var/lib/lxd", "/var/lib/podman",
];

/// A store, or all of one kind in it, that a command deletes or moves away.
fn store(c: &Command) -> Option<&str> {
    let deletes = match c.name.as_str() {
        "rm" | "shred" | "trash" | "rimraf" | "mv" => true,
        "find" => c.args().iter().any(|w| w.text == "-delete" || w.text.starts_with("-exec")),
        "rsync" => c.args().iter().any(|w| w.text.starts_with("--del")),
        _ => false,
    };
    if !deletes {
        return None;
    }
    c.args().iter().filter(|w| !w.text.starts_with('-')).map(|w| w.text.as_str()).find(|text| {
        let path = origin::path(c, text);
        STORES.iter().any(|s| path.strip_prefix(s).map_or(false, |rest| rest.is_empty() || rest.starts_with('/') && rest.matches('/').count() <= 1 || rest.ends_with("/*") && rest.matches('/').count() <= 2))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::Shell;
    use crate::places::tests::command;

    #[test]
    fn one_command() {
        for (line, want) in [
            ("docker system prune -af --volumes", true),
            ("docker --context x system prune --all --force --volumes", true),
            ("docker system prune -f", false),
            ("docker system prune -a", false),
            ("docker system prune -a --volumes --filter label=x", false),
            ("podman system reset --force", true),
            ("podman machine reset -f", true),
            ("podman machine stop", false),
            ("podman volume prune --force --all", true),
            ("docker volume prune", false),
            ("podman rmi -af", true),
            ("podman rm --all", true),
            ("podman rm -f web", false),
            ("crictl rmi --all", true),
            ("buildah rm -a", true),
            ("nerdctl -n k8s.io system prune --all --volumes", true),
            ("docker image prune -a", false),
            ("docker container prune -f", false),
            ("docker compose down -v", false),
            ("docker volume rm one", false),
            ("rm -rf /var/lib/docker/volumes", true),
            ("rm -rf /var/lib/docker", true),
            ("rm -rf /var/lib/docker/volumes/one/_data", false),
        ] {
            let c = command(line);
            let shell = Shell { commands: alloc::vec![c.clone()], ..Shell::default() };
            assert_eq!(judge(&Text { source: "", shell: &shell, programs: &[] }, &c).is_some(), want, "{line}");
        }
    }

    #[test]
    fn what_another_lists() {
        for (list, want) in [
            ("docker ps -aq", true),
            ("docker container ls --all --quiet", true),
            ("docker ps -aq --filter status=exited", false),
            ("docker ps -aqf name=x", false),
            ("docker images -q", true),
            ("docker images -q repo", false),
            ("docker image ls --format {{.ID}}", true),
            ("docker volume ls -q", true),
            ("docker inspect x", false),
            ("podman ps -a --format {{.ID}}", true),
            ("cat list", false),
        ] {
            let mut rm = command("docker rm -f $(x)");
            rm.words[3].known = false;
            rm.words[3].from = alloc::vec![0];
            let shell = Shell { commands: alloc::vec![command(list), rm.clone()], ..Shell::default() };
            assert_eq!(judge(&Text { source: "", shell: &shell, programs: &[] }, &rm).is_some(), want, "{list}");
        }
    }
}
