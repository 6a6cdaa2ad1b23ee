//! Finds bytes in texts, eight at a time: a text may have 1 MiB, and each of its bytes costs fuel. A loop costs more the
//! more variables the function has, so that these are functions of their own.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is 0. Above the first one it may be set for others.
fn zero(w: u64) -> u64 {
    w.wrapping_sub(ONES) & !w & HIGH
}

fn eight(bytes: &[u8], at: usize) -> Option<u64> {
    let mut out = [0; 8];
    out.copy_from_slice(bytes.get(at..at + 8)?);
    Some(u64::from_le_bytes(out))
}

fn first(stops: u64) -> usize {
    (stops.trailing_zeros() / 8) as usize
}

/// The place of the next byte that is one of two, from a place on; the length when there is none.
#[inline(never)]
pub fn either(bytes: &[u8], mut at: usize, a: u8, b: u8) -> usize {
    while let Some(w) = eight(bytes, at) {
        let stops = zero(w ^ (ONES * u64::from(a))) | zero(w ^ (ONES * u64::from(b)));
        if stops != 0 {
            return at + first(stops);
        }
        at += 8;
    }
    while at < bytes.len() && bytes[at] != a && bytes[at] != b {
        at += 1;
    }
    at
}

/// Whether a text has the byte.
pub fn has(text: &str, b: u8) -> bool {
    either(text.as_bytes(), 0, b, b) < text.len()
}

/// The next byte that a string of JSON cannot have as it is.
#[inline(never)]
pub fn escaped(bytes: &[u8], mut at: usize) -> usize {
    while let Some(w) = eight(bytes, at) {
        let control = w.wrapping_sub(ONES * 0x20) & !w & HIGH;
        let stops = control | zero(w ^ (ONES * u64::from(b'"'))) | zero(w ^ (ONES * u64::from(b'\\')));
        if stops != 0 {
            return at + first(stops);
        }
        at += 8;
    }
    while at < bytes.len() && bytes[at] >= 0x20 && bytes[at] != b'"' && bytes[at] != b'\\' {
        at += 1;
    }
    at
}

/// Outside of strings of JSON: the place of the next quote or bracket, and how many commas stand before it.
#[inline(never)]
pub fn structure(bytes: &[u8], mut at: usize) -> (usize, usize) {
    // The bits that all brackets have. Of other bytes only letters do that no JSON has there; they are taken for brackets.
    const BRACKETS: u64 = ONES * 0x59;
    let mut commas = 0;
    while let Some(w) = eight(bytes, at) {
        let stops = zero(w ^ (ONES * u64::from(b'"'))) | zero((w & BRACKETS) ^ BRACKETS);
        let x = w ^ (ONES * u64::from(b','));
        let found = !(((x & !HIGH) + !HIGH) | x | !HIGH); // exact, since they are counted
        if stops != 0 {
            let below = (stops & stops.wrapping_neg()) - 1;
            return (at + first(stops), commas + (found & below).count_ones() as usize);
        }
        commas += found.count_ones() as usize;
        at += 8;
    }
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'[' | b']' | b'{' | b'}' => break,
            b',' => commas += 1,
            _ => {}
        }
        at += 1;
    }
    (at, commas)
}

/// A number that texts share only if they are the same, or by chance.
#[inline(never)]
pub fn number(bytes: &[u8]) -> u64 {
    let mut number = 0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64;
    let mut at = 0;
    while let Some(w) = eight(bytes, at) {
        number = (number ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        at += 8;
    }
    bytes[at..].iter().fold(number, |number, b| (number ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_wherever_they_stand() {
        for n in 0..20 {
            let before = ".".repeat(n);
            for after in ["", "........", "aab\"\\\u{1}"] {
                let text = format!("{}a{}", before, after);
                assert_eq!(either(text.as_bytes(), 0, b'a', b'b'), n, "{}", text);
                assert_eq!(either(text.as_bytes(), 0, b'b', b'a'), n, "{}", text);
                assert!(has(&text, b'a') && !has(&text, b'%'));
                for stop in ["\"", "\\", "\n", "\u{1f}"] {
                    let text = format!("{}{}{}", before, stop, after);
                    assert_eq!(escaped(text.as_bytes(), 0), n, "{:?}", text);
                }
                assert_eq!(escaped(format!("{}\u{e9}\u{7f} ", before).as_bytes(), 0), n + 4);
                for stop in ["\"", "[", "]", "{", "}"] {
                    let text = format!("{}{}{}", ",1".repeat(n), stop, after);
                    assert_eq!(structure(text.as_bytes(), 0), (2 * n, n), "{:?}", text);
                }
                assert_eq!(structure(",-,".repeat(n).as_bytes(), 0), (3 * n, 2 * n));
            }
        }
    }
}
