//! What a rule says about a command.

use alloc::string::String;

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

    /// The sentence that a person reads; its end names the rule.
    pub fn reason(&self) -> String {
        alloc::format!("{} ({})", self.what, self.rule)
    }
}
