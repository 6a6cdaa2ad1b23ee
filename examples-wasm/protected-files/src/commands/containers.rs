//! What containers and clusters get of the files of this host, and what is copied out of them.

use belay_hook::analysis::Word;

use super::options::{operands, values};
use super::Names;

/// What a container gets of the host's files, and what is copied out of one.
pub(super) fn container(n: &mut Names<'_>, args: &[Word]) {
    n.look.tree = true;
    n.look.wide = true;
    for (v, glob) in values(args, &['v'], &["volume", "mount"]) {
        let named = v.split(',').find_map(|p| ["source=", "src=", "device="].iter().find_map(|k| p.strip_prefix(k)));
        let drive = v.len() > 2 && v.as_bytes()[1] == b':' && v.as_bytes()[2] == b'\\';
        let from = named.unwrap_or_else(|| if drive { v } else { v.split(':').next().unwrap_or("") });
        if from.starts_with(&['/', '~', '.', '$'][..]) || from.contains(&['/', '\\'][..]) {
            n.push(from, glob);
        }
    }
    let words = operands(args, &["-H", "--host", "--context", "-c", "-f", "--file", "-p"]);
    let is = |i: usize, list: &[&str]| words.get(i).map_or(false, |w| list.contains(&w.text.as_str()));
    let at = if is(0, &["container", "compose"]) { 1 } else { 0 };
    if is(at, &["cp"]) {
        if let Some(w) = words.get(at + 1) {
            n.word(w);
        }
    }
    if is(at, &["secret", "config"]) && is(at + 1, &["create"]) {
        words.iter().skip(at + 2).for_each(|w| n.word(w));
    }
}

/// What a cluster gets, and what is copied out of it.
pub(super) fn cluster(n: &mut Names<'_>, args: &[Word]) {
    let words = operands(args, &["-n", "--namespace", "--context", "--kubeconfig", "-c", "--container"]);
    if words.first().map_or(false, |w| w.text == "cp") {
        n.look.tree = true;
        n.look.wide = true;
        if let Some(w) = words.get(1) {
            n.word(w);
        }
    }
    for (v, glob) in values(args, &[], &["from-file", "from-env-file"]) {
        n.word(&Word { text: v.into(), known: true, glob, tilde: false, ..Word::default() });
    }
}
