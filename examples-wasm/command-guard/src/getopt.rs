//! The options and operands of a command, read with what its manual says about which options take values.

use alloc::vec::Vec;

use crate::hook::analysis::Word;

/// One option: "o" or "output", without dashes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opt<'a> {
    pub name: &'a str,
    pub value: Option<&'a Word>,
    /// The value where it stands in the same word.
    pub inline: Option<&'a str>,
}

impl<'a> Opt<'a> {
    /// The text of its value; "" where it has none.
    pub fn text(&self) -> &'a str {
        self.inline.or_else(|| self.value.map(|w| w.text.as_str())).unwrap_or("")
    }
}

/// The arguments of a command.
#[derive(Debug, Default)]
pub struct Args<'a> {
    pub options: Vec<Opt<'a>>,
    pub operands: Vec<&'a Word>,
}

impl<'a> Args<'a> {
    /// Reads words: the letters of `short` and the names of `long` are options whose value may be the next word.
    /// Options may stand behind operands; `--` ends them.
    pub fn read(words: &'a [Word], short: &str, long: &[&str]) -> Args<'a> {
        let mut args = Args::default();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            let text = word.text.as_str();
            if text == "--" {
                args.operands.extend(&words[at..]);
                break;
            }
            if let Some(name) = text.strip_prefix("--") {
                let (name, inline) = match name.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (name, None),
                };
                let mut value = None;
                if inline.is_none() && long.contains(&name) {
                    value = words.get(at);
                    at += 1;
                }
                args.options.push(Opt { name, value, inline });
                continue;
            }
            if text.len() < 2 || !text.starts_with('-') {
                args.operands.push(word);
                continue;
            }
            for (i, letter) in text.char_indices().skip(1) {
                let name = &text[i..i + letter.len_utf8()];
                if !short.contains(letter) {
                    args.options.push(Opt { name, value: None, inline: None });
                    continue;
                }
                let rest = &text[i + letter.len_utf8()..];
                if rest.is_empty() {
                    args.options.push(Opt { name, value: words.get(at), inline: None });
                    at += 1;
                } else {
                    args.options.push(Opt { name, value: None, inline: Some(rest.strip_prefix('=').unwrap_or(rest)) });
                }
                break;
            }
        }
        args
    }

    /// Whether one of the options is there.
    pub fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|o| names.contains(&o.name) && !matches!(o.inline, Some("false" | "0")))
    }

    /// The values of the options of these names.
    pub fn values<'b>(&'b self, names: &'b [&str]) -> impl Iterator<Item = &'a str> + 'b {
        self.options.iter().filter(|o| names.contains(&o.name)).map(Opt::text)
    }

    /// The operand at a place, as text; "" where there is none.
    pub fn operand(&self, at: usize) -> &'a str {
        self.operands.get(at).map_or("", |w| w.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn words(line: &str) -> Vec<Word> {
        line.split(' ').map(|t| Word { text: String::from(t), known: true, ..Word::default() }).collect()
    }

    #[test]
    fn options_and_operands() {
        let w = words("-sSLo out --proto =https --retry=3 url -fO - --flag -- -x");
        let a = Args::read(&w, "o", &["proto"]);
        assert_eq!(a.values(&["o", "output"]).collect::<Vec<_>>(), ["out"]);
        assert!(a.has(&["O"]) && a.has(&["flag"]) && !a.has(&["x"]));
        let operands: Vec<&str> = a.operands.iter().map(|w| w.text.as_str()).collect();
        assert_eq!(operands, ["url", "-", "-x"]);
        assert_eq!(a.values(&["proto", "retry"]).collect::<Vec<_>>(), ["=https", "3"]);
        let w = words("-qO- -ofile");
        let a = Args::read(&w, "Oo", &[]);
        assert_eq!(a.values(&["O", "o"]).collect::<Vec<_>>(), ["-", "file"]);
    }
}
