//! Asks the host where a pattern matches. The request is written here: it may be most of a call, again for each pattern.

use belay_hook as hook;
use hook::analysis::Match;
use hook::json::Value;
use hook::raw;

use crate::conditions::Pattern;
use crate::facts::{Facts, Read};
use crate::quoting;

/// What the host answers.
pub enum Found {
    Matches(Vec<Match>),
    /// A text is too long for the pattern.
    TooLong,
    /// There is no fuel for it.
    TooMuch,
}

// What a question costs in fuel: for each byte, for each byte that escapes add, for each text, and, as the host charges
// for the steps of a pattern, for each step.
const BYTE: usize = 40;
const ESCAPE: usize = 120;
const TEXT: usize = 600;
const STEP: usize = 4;
const BESIDE: usize = 64; // bytes of a question beside its texts

/// The first match of the pattern in each of the texts.
pub fn matches(facts: &Facts, pattern: &Pattern, texts: &[impl AsRef<str>]) -> Read<Found> {
    let bytes: usize = texts.iter().map(|t| t.as_ref().len()).sum();
    if !facts.work.take((bytes + BESIDE).saturating_mul(BYTE + STEP * pattern.steps) + TEXT * texts.len()) {
        return Ok(Found::TooMuch);
    }
    let mut request = String::with_capacity(bytes + bytes / 8 + 8 * texts.len() + pattern.text.len() + BESIDE);
    request.push_str("{\"kind\":\"re2\",\"patterns\":[");
    quoting::write(&mut request, pattern.text);
    request.push_str("],\"texts\":[");
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            request.push(',');
        }
        quoting::write(&mut request, text.as_ref());
    }
    request.push_str("]}");
    facts.work.take((request.len() - bytes) * ESCAPE);
    match hook::Errno::check(unsafe { raw::pattern_match(request.as_ptr(), request.len() as u32) }) {
        Ok(_) => {}
        Err(hook::Errno::TooLarge) => return Ok(Found::TooLong),
        Err(e) => return Err(e.into()),
    }
    let reply = Value::parse(&reply()?).ok_or("the host's reply is no JSON")?;
    let matches = reply.list("matches").iter().map(|m| {
        let number = |name: &str| m.int(name).and_then(|n| usize::try_from(n).ok());
        Some(Match { text: number("text")?, pattern: 0, start: number("start")?, end: number("end")? })
    });
    Ok(Found::Matches(matches.collect::<Option<_>>().ok_or("the host's reply has a match without its place")?))
}

/// The reply that the last analysis left.
fn reply() -> Read<String> {
    let mut bytes = vec![0; 2048];
    let len = hook::Errno::check(unsafe { raw::reply_read(bytes.as_mut_ptr(), bytes.len() as u32) })?;
    let before = bytes.len();
    bytes.resize(len, 0);
    if len > before && hook::Errno::check(unsafe { raw::reply_read(bytes.as_mut_ptr(), len as u32) })? != len {
        return Err("the host's reply has another length".into());
    }
    String::from_utf8(bytes).map_err(|_| "the host's reply is no text".into())
}
