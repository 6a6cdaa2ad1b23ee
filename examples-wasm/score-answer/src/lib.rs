//! Scores the final answer of a run, notes the score, and sends the agent on when the score is too low.
//!
//! A score begins at 100; each sign of an unfinished answer takes points off. The instruction names the signs.

use belay_hook as hook;
use hook::analysis::{pattern_match, Syntax};
use hook::json::Value;
use hook::{config, input};

hook::export!(post_receive => post_receive);

struct Sign {
    pattern: String,
    points: i64,
    says: String,
    absent: bool, // it counts when the pattern does not match
}

/// Used when the operator names no signs.
const SIGNS: [(&str, i64, &str); 4] = [
    (r"\b(TODO|FIXME)\b", 30, "leave no TODO"),
    (r"(?i)\b(rest|remainder) of the (code|file|function) (is|stays|remains|here)\b|// \.\.\.", 40, "write the left-out code"),
    (r"(?i)\bI (have not|haven't|did not|didn't|could not|couldn't) (run|test|verif)", 30, "run it and say what came out"),
    (r"(?i)\b(should|ought to) (now )?(work|pass|compile)\b", 25, "check what you say should work"),
];

fn post_receive() -> hook::Result {
    if input::text("/kind").as_deref() != Some("final") {
        return Ok(());
    }
    let text = match input::text("/text") {
        Some(text) => text,
        None => return Ok(()),
    };
    let signs = match config::value("/signs") {
        Some(signs) => signs.items().iter().map(configured).collect(),
        None => SIGNS
            .iter()
            .map(|(p, n, s)| Sign { pattern: p.to_string(), points: *n, says: s.to_string(), absent: false })
            .collect(),
    };
    let (score, wrong) = score(&text, signs)?;
    hook::annotate("score", score);
    if score < config::int("/least").unwrap_or(60) {
        let instruction = format!("The answer is not finished (score {}): {}.", score, wrong.join("; "));
        hook::retry(&instruction, config::int("/retries").unwrap_or(1));
    }
    Ok(())
}

fn configured(v: &Value) -> Sign {
    Sign {
        pattern: v.text("pattern").to_string(),
        points: v.int("points").unwrap_or(0),
        says: v.text("says").to_string(),
        absent: v.is_true("absent"),
    }
}

/// The score, 0 to 100, and what the signs say that took points off.
fn score(text: &str, signs: Vec<Sign>) -> Result<(i64, Vec<String>), hook::Fail> {
    if text.trim().is_empty() {
        return Ok((0, vec!["it is empty".to_string()]));
    }
    let patterns: Vec<&str> = signs.iter().map(|s| s.pattern.as_str()).collect();
    let mut found = vec![false; signs.len()];
    for m in pattern_match(Syntax::Re2, &patterns, &[text])? {
        if let Some(f) = found.get_mut(m.pattern) {
            *f = true;
        }
    }
    let mut score: i64 = 100;
    let mut wrong = Vec::new();
    for (sign, found) in signs.into_iter().zip(found) {
        if found != sign.absent {
            score -= sign.points;
            wrong.push(sign.says);
        }
    }
    Ok((score.max(0), wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hook::testing::{Effect, Host};

    #[test]
    fn a_low_score_sends_the_agent_on() {
        let got = Host::new(r#"{"kind":"final","text":"TODO: the rest of the code is the same"}"#)
            .reply("pattern_match", r#"{"any":true,"matches":[{"text":0,"pattern":0},{"text":0,"pattern":1}]}"#)
            .run(post_receive);
        assert_eq!(got.status, 0);
        assert_eq!(got.effects[0], Effect::Annotate("score".into(), "30".into()));
        assert!(matches!(&got.effects[1], Effect::Other("retry", text) if text.contains("leave no TODO; write")));
    }
}
