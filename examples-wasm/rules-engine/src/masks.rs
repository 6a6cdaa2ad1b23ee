//! Texts in which matches are replaced.

use std::collections::{BTreeMap, BTreeSet};

use crate::conditions::{is_short, join, pieces, Pattern};
use crate::facts::{Facts, Read};
use crate::leaves::Leaves;
use crate::question::{self, Found};

/// Effects of a turn, bytes of a pointer, of one effect and of all, as the host limits them.
pub const MOST: usize = 64;
pub const POINTER: usize = 1 << 10;
pub const TEXT: usize = 250 << 10;
pub const TEXTS: usize = 1000 << 10;

/// What is replaced in one text: where, and by what.
type Span = (usize, usize, &'static str);

#[derive(Default)]
pub struct Masks {
    texts: BTreeMap<String, (String, Vec<Span>)>, // by pointer
    rules: BTreeSet<&'static str>,
    matches: usize,
    again: usize, // bytes that were searched more than once
}

const MATCHES: usize = 4096; // of one turn
const AGAIN: usize = 256 << 10;
const TOGETHER: usize = 64; // texts of one question

impl Masks {
    /// Notes where the pattern matches; None when that is too much to tell.
    pub fn search(&mut self, facts: &Facts, leaves: &Leaves, pattern: &Pattern, label: &'static str, rule: &'static str) -> Read<Option<()>> {
        if self.full() {
            return Ok(Some(()));
        }
        // The number of the text, where the piece stands in it, and the piece.
        let mut open: Vec<(usize, usize, &str)> = Vec::new();
        let mut pointers = BTreeMap::new();
        let all = match worth(facts, leaves, pattern)? {
            Some(all) => all,
            None => return Ok(None),
        };
        for n in all {
            let leaf = &leaves.list[n];
            match pieces(&leaf.text, pattern) {
                Some(some) => open.extend(some.into_iter().map(|(place, piece)| (n, place, piece))),
                None => return Ok(None),
            }
        }
        while !open.is_empty() {
            let mut next = Vec::new();
            let mut from = 0;
            while from < open.len() {
                let (mut to, mut size) = (from, 0);
                while to < open.len() && to - from < TOGETHER && (to == from || size + open[to].2.len() <= pattern.most) {
                    size += open[to].2.len();
                    to += 1;
                }
                let some = &open[from..to];
                let texts: Vec<&str> = some.iter().map(|(_, _, piece)| *piece).collect();
                let found = match question::matches(facts, pattern, &texts)? {
                    Found::Matches(found) => found,
                    _ => return Ok(None),
                };
                for m in found {
                    let (n, place, piece) = *some.get(m.text).ok_or("the host matched a text that there is not")?;
                    if m.end > m.start {
                        let leaf = &leaves.list[n];
                        // What stands behind more names than an effect takes is not written out.
                        let at = match pointers.entry(n).or_insert_with(|| leaves.pointer(leaf, POINTER)) {
                            Some(at) => at.clone(),
                            None => return Ok(None),
                        };
                        let of = self.texts.entry(at).or_insert_with(|| (leaf.text.clone(), Vec::new()));
                        of.1.push((place + m.start, place + m.end, label));
                        self.rules.insert(rule);
                        self.matches += 1;
                    }
                    let mut end = m.end.max(m.start + 1);
                    while end < piece.len() && !piece.is_char_boundary(end) {
                        end += 1;
                    }
                    if end < piece.len() {
                        self.again += piece.len() - end;
                        rest(n, place + end, &piece[end..], pattern, &mut next);
                    }
                }
                if self.matches > MATCHES || self.again > AGAIN {
                    return Ok(None);
                }
                if self.full() {
                    return Ok(Some(()));
                }
                from = to;
            }
            open = next;
        }
        Ok(Some(()))
    }

    /// Whether there are more texts than effects, also when rules set the places of some otherwise: then nothing is
    /// replaced, and the rest need not be found.
    fn full(&self) -> bool {
        self.texts.len() > 2 * MOST
    }

    /// The pointers and the new texts.
    pub fn texts(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.texts.iter().map(|(at, (text, spans))| (at.clone(), masked(text, spans)))
    }

    /// The rules that replace something.
    pub fn rules(&self) -> Vec<&'static str> {
        self.rules.iter().copied().collect()
    }
}

/// The texts in which the pattern may match: of short ones, many are asked about as lines of one text. None when that is
/// too much to tell.
fn worth(facts: &Facts, leaves: &Leaves, pattern: &Pattern) -> Read<Option<Vec<usize>>> {
    let (short, mut all): (Vec<usize>, Vec<usize>) = (0..leaves.list.len()).partition(|n| is_short(&leaves.list[*n].text, pattern));
    let mut rest = short.as_slice();
    while !rest.is_empty() {
        let (mut lines, mut n) = (String::new(), 0);
        while n < rest.len() && (n == 0 || lines.len() + leaves.list[rest[n]].text.len() < pattern.most) {
            join(&mut lines, &leaves.list[rest[n]].text);
            n += 1;
        }
        let (these, others) = rest.split_at(n);
        rest = others;
        match question::matches(facts, pattern, &[lines])? {
            Found::Matches(found) if found.is_empty() => {}
            Found::Matches(_) => all.extend(these),
            _ => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// What is left of a piece behind a match: the rest of its line, and the lines after it in two halves, so that few of
/// them are searched often.
fn rest<'a>(n: usize, place: usize, text: &'a str, pattern: &Pattern, out: &mut Vec<(usize, usize, &'a str)>) {
    let mut add = |from: usize, to: usize| {
        if from < to {
            out.push((n, place + from, &text[from..to]));
        }
    };
    let line = text.find('\n').map_or(text.len(), |at| at + 1);
    if !pattern.lines || line == text.len() {
        add(0, text.len());
        return;
    }
    let middle = line + (text.len() - line) / 2;
    let half = text.as_bytes()[middle..].iter().position(|&b| b == b'\n').map_or(text.len(), |at| middle + at + 1);
    add(0, line);
    add(line, half);
    add(half, text.len());
}

/// Whether texts at a pointer may be replaced in a phase. A rule of several phases names the places of all.
pub fn may_change(phase: &str, at: &str) -> bool {
    let places: &[&str] = match phase {
        "pre_plan" => &["/text", "/constraints", "/stage"],
        "pre_send" => &["/model", "/system", "/messages", "/tools", "/params", "/headers"],
        "post_receive" => &["/text", "/messages"],
        "pre_tool" => &["/args"],
        "post_tool" => &["/result"],
        "state_transition" => &["/data"],
        "spawn" => &["/child/prompt", "/child/tools"],
        _ => &[],
    };
    places.iter().any(|p| at.strip_prefix(p).map_or(false, |rest| rest.is_empty() || rest.starts_with('/')))
}

/// The text with the spans replaced; spans that overlap are one, with the replacement that sorts first.
fn masked(text: &str, spans: &[Span]) -> String {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for (from, to, label) in spans {
        match joined.last_mut() {
            Some(last) if from < last.1 => {
                last.1 = last.1.max(to);
                last.2 = last.2.min(label);
            }
            _ => joined.push((from, to, label)),
        }
    }
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (from, to, label) in joined {
        out.push_str(&text[at..from]);
        out.push_str(label);
        at = to;
    }
    out + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_piece_is_searched_in_halves() {
        let text = "rest\none\ntwo\nthree\n";
        let left = |lines| {
            let mut out = Vec::new();
            rest(3, 100, text, &Pattern { text: "x", lines, most: 1, steps: 1 }, &mut out);
            out
        };
        assert_eq!(left(true), [(3, 100, "rest\n"), (3, 105, "one\ntwo\n"), (3, 113, "three\n")]);
        assert_eq!(left(false), [(3, 100, text)]);
    }

    #[test]
    fn spans_that_overlap_are_one() {
        assert_eq!(masked("abcdef", &[(3, 5, "y"), (0, 1, "x"), (4, 6, "a")]), "xbca");
        assert_eq!(masked("abc", &[(0, 1, "x"), (1, 2, "y")]), "xyc");
    }

    #[test]
    fn places_belong_to_phases() {
        assert!(may_change("pre_tool", "/args") && may_change("pre_tool", "/args/x") && may_change("spawn", "/child/prompt"));
        assert!(!may_change("post_tool", "/args") && !may_change("pre_tool", "/argsx") && !may_change("audit", "/data"));
    }
}
