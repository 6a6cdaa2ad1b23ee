//! Tells how much thought a message needs and notes it in the run's metadata, for hooks of later phases.
//!
//! It changes nothing. What a class means is up to those that read it, such as raise-thinking.

use belay_hook as hook;
use hook::analysis::{pattern_match, Syntax};
use hook::{config, input};

hook::export!(pre_plan => pre_plan);

fn pre_plan() -> hook::Result {
    // Session starts and commands are not messages.
    if input::text("/kind").as_deref() != Some("message") {
        return Ok(());
    }
    let text = match input::text("/text") {
        Some(text) => text,
        None => return Ok(()),
    };
    let class = match config::value("/classes") {
        Some(classes) => configured(classes.items(), &text)?,
        None => Some(built_in(&text).to_string()),
    };
    if let Some(class) = class {
        hook::annotate_text("class", &class);
    }
    Ok(())
}

/// The first class of the operator's that fits: one of its patterns matches, and the text is long enough.
fn configured(classes: &[hook::json::Value], text: &str) -> Result<Option<String>, hook::Fail> {
    // A pattern that would match at the end of a very long message is not worth its fuel.
    let head: String = text.chars().take(4000).collect();
    let length = text.chars().count();
    for class in classes {
        if length < class.int("min_chars").map_or(0, |n| n as usize) {
            continue;
        }
        let patterns: Vec<&str> = class.list("patterns").iter().filter_map(|p| p.as_text()).collect();
        if patterns.is_empty() || !pattern_match(Syntax::Re2, &patterns, &[&head])?.is_empty() {
            return Ok(Some(class.text("name").to_string()));
        }
    }
    Ok(None)
}

const HARD: [&str; 24] = [
    "architecture", "concurren", "cryptograph", "data loss", "deadlock", "debug", "design", "distributed", "flaky",
    "intermittent", "invariant", "leak", "migrat", "optimi", "performance", "proof", "prove", "race condition", "refactor",
    "root cause", "security", "threat model", "trade-off", "vulnerab",
];
const EASY: [&str; 8] = ["hi", "hello", "thanks", "thank you", "ok", "yes", "no", "continue"];

fn built_in(text: &str) -> &'static str {
    if text.len() > 4000 {
        return "hard";
    }
    let low = text.to_lowercase();
    let bare = low.trim_matches(|c: char| !c.is_alphanumeric());
    if EASY.contains(&bare) {
        return "easy";
    }
    // One sign may be chance in a long message; two, or one in a short message, are not.
    let signs = HARD.iter().filter(|w| low.contains(*w)).count();
    if signs > 1 || (signs == 1 && low.len() < 600) {
        "hard"
    } else {
        "normal"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hook::testing::{Effect, Host};

    fn class(input: &str, config: &str) -> Option<String> {
        let got = Host::new(input).config(config).reply("pattern_match", r#"{"any":true,"matches":[{"text":0,"pattern":0}]}"#).run(pre_plan);
        assert_eq!(got.status, 0);
        match got.effects.as_slice() {
            [] => None,
            [Effect::Annotate(key, value)] if key == "class" => Some(value.trim_matches('"').to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn built_in_classes() {
        for (text, want) in [
            ("Hello!", "easy"),
            ("rename this variable", "normal"),
            ("find the race condition in the scheduler", "hard"),
        ] {
            let input = format!(r#"{{"kind":"message","text":"{text}"}}"#);
            assert_eq!(class(&input, "{}").as_deref(), Some(want), "{text}");
        }
        assert_eq!(class(r#"{"kind":"session_start"}"#, "{}"), None);
    }

    #[test]
    fn configured_classes() {
        let config = r#"{"classes":[{"name":"long","min_chars":100},{"name":"sql","patterns":["(?i)select"]}]}"#;
        assert_eq!(class(r#"{"kind":"message","text":"select 1"}"#, config).as_deref(), Some("sql"));
    }
}
