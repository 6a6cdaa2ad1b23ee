//! The few of many texts that are looked at: which ones does not depend on the order in which they stand. Who writes a
//! call could otherwise push what a rule looks for out of sight by writing the same members in another order.

use crate::bytes;

/// What adding a text takes, in fuel, beside its bytes.
pub const KEEP: usize = 2000;

/// Keeps the shortest of the texts added to it; of those with as many bytes, the same ones each time. A text with the
/// same tag counts once.
pub struct Few<T> {
    most: usize,
    kept: Vec<Kept<T>>, // up to twice as many, in the order in which they were added
    ranks: Vec<Rank>,   // of those
    longest: usize,     // bytes of a text that can be among the few
    more: bool,
}

struct Kept<T> {
    text: String,
    tag: T,
}

/// The bytes of a text, a number that stands for the text and its tag, and how many were kept before it.
type Rank = (usize, u64, usize);

impl<T: PartialEq> Few<T> {
    pub fn new(most: usize) -> Few<T> {
        Few { most, kept: Vec::new(), ranks: Vec::new(), longest: usize::MAX, more: false }
    }

    /// Whether a text of so many bytes can be among the few. One that cannot is left out, and counts as such.
    pub fn takes(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.longest;
        self.more = self.more || !fits;
        fits
    }

    /// Adds a text with a tag, and a number that tags share only if they are the same, or by chance.
    pub fn add(&mut self, text: &str, tag: T, number: u64) {
        if !self.takes(text.len()) {
            return;
        }
        self.ranks.push((text.len(), bytes::number(text.as_bytes()) ^ number.rotate_left(32), self.kept.len()));
        self.kept.push(Kept { text: text.to_string(), tag });
        if self.kept.len() == 2 * self.most {
            self.choose();
        }
    }

    /// Whether texts were left out.
    pub fn more(&mut self) -> bool {
        self.choose();
        self.more
    }

    /// The few, in the order in which they were added.
    pub fn take(&mut self) -> Vec<(String, T)> {
        self.choose();
        core::mem::take(&mut self.kept).into_iter().map(|k| (k.text, k.tag)).collect()
    }

    fn choose(&mut self) {
        let kept = &self.kept;
        let same = |a: usize, b: usize| kept[a].text == kept[b].text && kept[a].tag == kept[b].tag;
        let before = self.ranks.len();
        let cut = first(&mut self.ranks, self.most, &same);
        self.more = self.more || cut;
        if self.ranks.len() == self.most {
            self.longest = self.ranks.last().map_or(0, |rank| rank.0);
        }
        if self.ranks.len() == before {
            return; // none is left out, and the others stand as they did
        }
        let mut keep = vec![false; before];
        self.ranks.iter().for_each(|rank| keep[rank.2] = true);
        let (mut at, mut n) = (0, 0);
        let mut places = vec![0; before];
        self.kept.retain(|_| {
            places[at] = n;
            n += usize::from(keep[at]);
            at += 1;
            keep[at - 1]
        });
        self.ranks.iter_mut().for_each(|rank| rank.2 = places[rank.2]);
    }
}

/// Leaves the first of the ranks, each once, sorted. Whether there were more.
#[inline(never)]
fn first(ranks: &mut Vec<Rank>, most: usize, same: &dyn Fn(usize, usize) -> bool) -> bool {
    ranks.sort_unstable();
    ranks.dedup_by(|b, a| (a.0, a.1) == (b.0, b.1) && same(a.2, b.2));
    let cut = ranks.len() > most;
    ranks.truncate(most);
    cut
}

/// The texts, the shortest first: in the same order however they stand.
pub fn shortest_first(texts: Vec<String>) -> Vec<String> {
    let mut few = Few::new(texts.len().max(1));
    texts.iter().for_each(|text| few.add(text, (), 0));
    few.choose();
    few.ranks.iter().map(|rank| few.kept[rank.2].text.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few(texts: &[String]) -> (Vec<String>, bool) {
        let mut few = Few::new(5);
        texts.iter().for_each(|t| few.add(t, (), 0));
        let more = few.more();
        (few.take().into_iter().map(|(t, _)| t).collect(), more)
    }

    #[test]
    fn the_same_few_are_kept_in_any_order() {
        let texts: Vec<String> = (0..40).map(|i| format!("{}{}", "x".repeat(i * 7 % 4), i)).collect();
        let (mut want, more) = few(&texts);
        assert!(more && want.len() == 5);
        want.sort();
        for turn in 0..40 {
            let mut other = texts.clone();
            other.rotate_left(turn);
            if turn % 2 == 1 {
                other.reverse();
            }
            let (mut got, more) = few(&other);
            got.sort();
            assert!(more && got == want, "{:?} {:?}", got, want);
        }
    }

    #[test]
    fn what_is_repeated_counts_once() {
        let texts: Vec<String> = ["d", "bb", "a", "bb", "a", "ccc", "e"].iter().cycle().take(70).map(|t| t.to_string()).collect();
        let (got, more) = few(&texts);
        assert_eq!((got.join(" ").as_str(), more), ("d bb a ccc e", false));
        let (got, more) = few(&["a", "b", "c", "d", "e", "ff"].map(String::from));
        assert_eq!((got.join(" ").as_str(), more), ("a b c d e", true));
    }

    #[test]
    fn equal_texts_with_other_tags_are_others() {
        let mut few = Few::new(3);
        for (text, tag) in [("a", 1), ("a", 2), ("b", 1), ("a", 1), ("a", 2), ("b", 1)] {
            few.add(text, tag, tag);
        }
        assert!(!few.more());
        assert_eq!(few.take(), [("a".to_string(), 1), ("a".to_string(), 2), ("b".to_string(), 1)]);
    }

    #[test]
    fn lines_are_sorted_by_their_length() {
        let sorted = shortest_first(["ccc", "a", "bb", "a"].map(String::from).to_vec());
        assert_eq!(sorted, ["a", "bb", "ccc"]);
    }

    #[test]
    fn what_cannot_be_kept_is_told() {
        let mut few = Few::new(1);
        few.add("aa", 1, 1);
        few.add("aa", 1, 1);
        assert!(!few.takes(3) && few.more());
        assert_eq!(few.take(), [("aa".to_string(), 1)]);
    }
}
