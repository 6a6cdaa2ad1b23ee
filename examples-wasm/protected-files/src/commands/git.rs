//! What git shows of files.

use belay_hook::analysis::Word;

use super::Names;

/// What git shows of the working tree or of older versions.
pub(super) fn shown(n: &mut Names<'_>, args: &[Word]) {
    let mut i = 0;
    while i < args.len() && args[i].text.starts_with('-') {
        match args[i].text.as_str() {
            "-C" => {
                n.cwd = args.get(i + 1).map(|d| d.text.clone());
                i += 2;
            }
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" | "--exec-path" => i += 2,
            _ => i += 1,
        }
    }
    let sub = args.get(i).map_or("", |w| w.text.as_str());
    let rest = args.get(i + 1..).unwrap_or(&[]);
    let has = |list: &[&str]| rest.iter().take_while(|w| w.text != "--").any(|w| list.contains(&w.text.split('=').next().unwrap_or("")));
    let brief = has(&["--name-only", "--name-status", "--stat", "--shortstat", "--numstat", "--summary", "--quiet", "--raw", "-s", "--no-patch", "--dirstat", "--compact-summary"]);
    let patch = has(&["-p", "-u", "--patch", "--patch-with-stat", "-c", "--cc", "--full-diff"])
        || rest.iter().any(|w| w.text.starts_with("-U") || w.text.starts_with("-L") || w.text.starts_with("--unified"));
    let lists = has(&["-l", "-L", "-c", "--files-with-matches", "--name-only", "--count", "-q", "--quiet"]);
    let reads = match sub {
        "show" => !brief,
        "diff" | "diff-tree" | "diff-index" | "diff-files" | "difftool" | "range-diff" => !brief || patch,
        "log" | "whatchanged" | "reflog" | "rev-list" => patch,
        "stash" => rest.first().map_or(false, |w| w.text == "show") && patch,
        "cat-file" => !has(&["-e", "-t", "-s"]),
        "blame" | "annotate" | "archive" | "format-patch" | "praise" | "gui" => true,
        "grep" => !lists,
        _ => false,
    };
    if !reads {
        return;
    }
    let mut words: Vec<&Word> = rest.iter().filter(|w| !w.text.starts_with('-')).collect();
    if sub == "grep" && !has(&["-e", "-f"]) && !words.is_empty() {
        words.remove(0);
    }
    for w in words {
        let out = [":!", ":^", ":(exclude"].iter().any(|p| w.text.starts_with(p));
        if !out {
            n.push(&w.text, true);
            if let Some((_, path)) = w.text.split_once(':') {
                n.push(path.trim_start_matches(&[':', '/'][..]), true);
                n.push(path, true);
            }
        }
    }
    for w in rest.iter().filter(|w| w.text.starts_with("-L")) {
        n.push(w.text.rsplit(':').next().unwrap_or(""), false);
    }
}
