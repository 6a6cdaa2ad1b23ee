//! Says of each rule of the phase which of its conditions hold, for `belay rules explain`. Such a module decides nothing.

use belay_hook as hook;
use hook::json::{object, Value};

use crate::conditions::{self, holds, Holds};
use crate::facts::{cut, Facts, Read};
use crate::index::{Header, Index};

const LINE: usize = 7 << 10; // bytes of a line of the log, which takes 8 KiB

/// Logs the rules that apply or nearly do: one condition is missing. A line is an array of such rules.
pub fn turn(index: &Index, header: &Header, facts: &Facts, phase: usize) -> Read<()> {
    let mut line = String::new();
    for number in index.list(index.size(phase)?)? {
        let rule = index.rule(header, number)?;
        let mut conditions = Vec::new();
        let (mut missing, mut held) = (0, 0);
        let (mut unless, mut excluded) = (false, true);
        for i in 0..index.size(rule + 20)? {
            let at = index.size(rule + 24 + 4 * i)?;
            let head = index.word(at)?;
            let name = conditions::name(index, at)?;
            facts.met.take();
            let verdict = holds(index, facts, at)?;
            let exempts = head >> 16 == 1;
            if exempts {
                unless = true;
                excluded = excluded && verdict == Holds::Yes;
            } else if verdict == Holds::No {
                missing += 1;
            } else {
                held += 1;
            }
            let mut v = object().with("is", name).with("unless", exempts);
            v = match verdict {
                Holds::Yes => {
                    let met = facts.met.take();
                    let by = met.command.map(|c| c.1).or(met.path).or(met.host);
                    let v = v.with("holds", "yes");
                    by.map_or(v.clone(), |by| v.with("why", cut(&by)))
                }
                Holds::No => v.with("holds", "no"),
                Holds::Maybe(why) => v.with("holds", "cannot tell").with("why", why),
            };
            conditions.push(v);
        }
        let exempt = unless && excluded;
        // A rule is near when something of it holds.
        if missing + usize::from(exempt) > 1 || missing == 1 && held == 0 {
            continue;
        }
        let entry = object()
            .with("rule", index.text(rule)?)
            .with("missing", missing as i64)
            .with("exempt", exempt)
            .with("conditions", Value::Array(conditions))
            .to_json();
        if !line.is_empty() && line.len() + entry.len() > LINE {
            hook::log(hook::Level::Info, &format!("[{}]", line));
            line.clear();
        }
        if !line.is_empty() {
            line.push(',');
        }
        line.push_str(&entry);
    }
    hook::log(hook::Level::Info, &format!("[{}]", line));
    Ok(())
}
