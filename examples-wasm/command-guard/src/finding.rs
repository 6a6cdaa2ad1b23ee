//! What a rule says about a command.

use alloc::string::String;

use crate::text::shown;

/// A reason against a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule that gives it, as the option `rules` names it.
    pub rule: &'static str,
    /// Who would do what: "rm would delete /".
    pub what: String,
    /// It is a doubt: a person may decide, unless the operator has the rule block.
    pub ask: bool,
}

impl Finding {
    /// A reason to block.
    pub fn block(rule: &'static str, what: impl Into<String>) -> Finding {
        Finding { rule, what: what.into(), ask: false }
    }

    /// A reason to ask.
    pub fn ask(rule: &'static str, what: impl Into<String>) -> Finding {
        Finding { rule, what: what.into(), ask: true }
    }

    /// Whether the sentence begins with the name of a program.
    pub fn begins(&self, program: &str) -> bool {
        self.what.strip_prefix(shown(program)).map_or(false, |rest| rest.starts_with(' '))
    }

    /// The same, done by another program than the one that the sentence names.
    pub fn acted(self, program: &str, by: &str) -> Finding {
        let mark = alloc::format!("{}= ", crate::code::OWN);
        let (front, sentence) = match self.what.strip_prefix("what ") {
            Some(rest) => ("what ", rest),
            None => ("", self.what.as_str()),
        };
        let what = match sentence.strip_prefix(shown(program)).filter(|rest| rest.starts_with(' ')) {
            Some(rest) if !by.is_empty() => alloc::format!("{}{}{}", front, by, rest),
            _ => self.what.clone(),
        };
        Finding { what: what.replace(&mark, "").replace("\"$UNKNOWN\"", "a name that it makes up"), ..self }
    }

    /// The sentence that a person reads; its end names the rule.
    pub fn reason(&self) -> String {
        alloc::format!("{} ({})", self.what, self.rule)
    }
}
