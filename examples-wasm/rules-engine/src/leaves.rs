//! The texts below a value of the input. Where a text stands is written out only when something needs it: a document of
//! 1 MiB may hold many texts behind long names.

use belay_hook as hook;
use hook::Kind;

use crate::scan::{Frame, Scan};

/// A text below a pointer of the input.
pub struct Leaf {
    pub text: String,
    place: usize, // into Leaves::places
}

/// The texts below a pointer, and why there may be others that cannot be told.
pub struct Leaves {
    pub list: Vec<Leaf>,
    pub doubt: Option<String>,
    /// How many steps it took to find them.
    pub rounds: usize,
    /// What reading them took, in fuel.
    pub cost: usize,
    root: String,
    places: Vec<Place>,
}

/// A step to a value; the steps before it are those of the place above.
struct Place {
    above: Option<usize>,
    step: Step,
}

enum Step {
    Name(String),
    Item(usize),
}

/// How many texts of one value are read.
const MANY: usize = 4096;
/// How many steps to them are kept: a text may stand behind a hundred that lead to it alone.
const PLACES: usize = 32 << 10;

impl Leaves {
    /// Texts that are not looked at, and why.
    pub fn untold(at: &str, why: String) -> Leaves {
        Leaves { list: Vec::new(), doubt: Some(why), rounds: 0, cost: 0, root: at.to_string(), places: Vec::new() }
    }

    /// The texts of a value of the input: its kind, and its text or its source. Names of members are none, and empty
    /// texts are left out.
    pub fn of(kind: Option<Kind>, source: &str, at: &str) -> Leaves {
        let mut all = Leaves { list: Vec::new(), doubt: None, rounds: 0, cost: 0, root: at.to_string(), places: Vec::new() };
        match kind {
            Some(Kind::Text) if !source.is_empty() => all.list.push(Leaf { text: source.to_string(), place: usize::MAX }),
            Some(Kind::Array | Kind::Object) => all.scan(source),
            _ => {}
        }
        all
    }

    fn scan(&mut self, source: &str) {
        let mut scan = Scan::new(source);
        while let Some(text) = scan.text() {
            self.rounds = scan.rounds;
            if text.source.is_empty() {
                continue;
            }
            if self.list.len() >= MANY || self.places.len() >= PLACES {
                self.doubt = Some("there are more texts than can be read".to_string());
                return;
            }
            self.cost += text.cost();
            let place = self.place(&mut scan.frames);
            self.list.push(Leaf { text: text.plain().into_owned(), place });
        }
        self.rounds = scan.rounds;
        if !scan.complete() {
            self.doubt = Some("the texts cannot be read".to_string());
        }
    }

    /// The place of the text at hand. Each step on the way to it becomes a place once.
    fn place(&mut self, frames: &mut [Frame]) -> usize {
        let mut above = None;
        for frame in frames {
            let number = frame.note.unwrap_or_else(|| {
                let step = if frame.object { Step::Name(frame.name.plain().into_owned()) } else { Step::Item(frame.item) };
                self.places.push(Place { above, step });
                self.places.len() - 1
            });
            frame.note = Some(number);
            above = Some(number);
        }
        above.unwrap_or(usize::MAX)
    }

    /// The JSON Pointer of a text; None when it has more than so many bytes.
    pub fn pointer(&self, leaf: &Leaf, most: usize) -> Option<String> {
        let mut steps = Vec::new();
        let mut next = Some(leaf.place);
        while let Some(place) = next.and_then(|n| self.places.get(n)) {
            steps.push(&place.step);
            next = place.above;
        }
        let mut out = self.root.clone();
        for step in steps.into_iter().rev() {
            match step {
                Step::Name(name) if name.len() <= most => out += &hook::pointer(&[name]),
                Step::Name(_) => return None,
                Step::Item(i) => out += &hook::pointer(&[&i.to_string()]),
            }
            if out.len() > most {
                return None;
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(kind: Kind, source: &str) -> Vec<(String, String)> {
        let all = Leaves::of(Some(kind), source, "/at");
        assert!(all.doubt.is_none());
        all.list.iter().map(|leaf| (all.pointer(leaf, 1 << 10).unwrap(), leaf.text.clone())).collect()
    }

    fn pair(at: &str, text: &str) -> (String, String) {
        (at.to_string(), text.to_string())
    }

    #[test]
    fn texts_have_their_places() {
        assert_eq!(pointers(Kind::Text, "x"), [pair("/at", "x")]);
        assert_eq!(
            pointers(Kind::Object, r#"{"a":{"b/c":["x","",1,["y"]]},"d":[],"~":"z","a":"w"}"#),
            [pair("/at/a/b~1c/0", "x"), pair("/at/a/b~1c/3/0", "y"), pair("/at/~0", "z"), pair("/at/a", "w")]
        );
        assert!(pointers(Kind::Array, "[1,{},[[]]]").is_empty());
    }

    #[test]
    fn more_texts_than_are_read_are_told() {
        let json = |n: usize| format!("[{}]", vec!["\"x\""; n].join(","));
        assert!(Leaves::of(Some(Kind::Array), &json(MANY), "").doubt.is_none());
        let more = Leaves::of(Some(Kind::Array), &json(MANY + 1), "");
        assert_eq!((more.list.len(), more.doubt.is_some()), (MANY, true));
    }

    #[test]
    fn a_place_is_kept_once() {
        let long = "n".repeat(1000);
        let json = format!("{{\"{}\":[{}]}}", long, vec!["\"x\""; 100].join(","));
        let all = Leaves::of(Some(Kind::Object), &json, "");
        assert_eq!(all.places.len(), 101);
        assert_eq!(all.pointer(&all.list[99], 1004), Some(format!("/{}/99", long)));
        assert_eq!(all.pointer(&all.list[99], 1003), None);
    }
}
