//! What the operator sets.

use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::Finding;
use crate::hook::config;
use crate::hook::json::Value;

/// What a rule's findings lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Off,
    Ask,
    Block,
}

/// Rules that are off until the operator asks for them.
pub const OPT_IN: [&str; 5] = ["push", "history", "cloud-delete", "package-install", "secret-argument"];

/// The configuration, read once in a call.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Programs that are never allowed.
    pub commands: Vec<String>,
    /// Patterns that no command may match.
    pub patterns: Vec<String>,
    rules: Vec<(String, Answer)>,
}

impl Options {
    pub fn read() -> Options {
        Options::of(&config::value("").unwrap_or(Value::Null))
    }

    fn of(v: &Value) -> Options {
        let texts = |name: &str| v.list(name).iter().filter_map(Value::as_text).map(String::from).collect();
        let mut o = Options { commands: texts("commands"), patterns: texts("patterns"), rules: Vec::new() };
        for (name, answer) in v.get("rules").map_or(&[][..], Value::members) {
            o.rules.extend(answer.as_text().map(|a| (name.clone(), answered(a))));
        }
        // The older spelling of the same.
        if v.get("unknown").is_some() && !o.rules.iter().any(|(name, _)| name == "unknown") {
            o.rules.push(("unknown".into(), answered(v.text("unknown"))));
        }
        o
    }

    /// Whether a rule is worth judging.
    pub fn on(&self, rule: &str) -> bool {
        match self.rules.iter().find(|(name, _)| name == rule) {
            Some((_, answer)) => *answer != Answer::Off,
            None => !OPT_IN.contains(&rule),
        }
    }

    /// What a finding leads to: what the operator says about its rule, or what the finding says itself.
    pub fn answer(&self, f: &Finding) -> Answer {
        match self.rules.iter().find(|(name, _)| name == f.rule) {
            Some((_, answer)) => *answer,
            None if !self.on(f.rule) => Answer::Off,
            None if f.ask => Answer::Ask,
            None => Answer::Block,
        }
    }
}

fn answered(text: &str) -> Answer {
    match text {
        "off" | "allow" => Answer::Off,
        "ask" => Answer::Ask,
        _ => Answer::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let o = Options::of(&Value::parse(r#"{"unknown":"allow","rules":{"push":"ask","disk":"off","unknown":"block"}}"#).unwrap());
        for (finding, want) in [
            (Finding::block("push", ""), Answer::Ask),
            (Finding::block("history", ""), Answer::Off),
            (Finding::block("disk", ""), Answer::Off),
            (Finding::block("fs-destroy", ""), Answer::Block),
            (Finding::ask("fs-destroy", ""), Answer::Ask),
            (Finding::ask("unknown", ""), Answer::Block),
        ] {
            assert_eq!(o.answer(&finding), want, "{finding:?}");
        }
        let old = Options::of(&Value::parse(r#"{"unknown":"allow"}"#).unwrap());
        assert_eq!(old.answer(&Finding::ask("unknown", "")), Answer::Off);
        assert_eq!(Options::default().answer(&Finding::ask("unknown", "")), Answer::Ask);
    }
}
