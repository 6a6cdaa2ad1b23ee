//! What the rules that apply add up to. Block beats ask beats nothing, whatever the order of the rules.

use std::collections::{BTreeMap, BTreeSet};

use belay_hook as hook;
use hook::input;
use hook::json::Value;

use crate::conditions::{patterns, seconds, Holds};
use crate::facts::{Facts, Read};
use crate::index::Index;
use crate::masks::{self, Masks};
use crate::reason;

/// What the rules of one turn say so far.
#[derive(Default)]
pub struct Answers {
    may_ask: bool,
    block: Option<(String, Vec<&'static str>)>, // the reason, and the rules that give it
    asks: Vec<(String, Vec<&'static str>)>,
    /// Why it cannot be told whether a rule applies that asks for that.
    doubt: Option<String>,
    notes: BTreeMap<&'static str, String>,
    defaults: BTreeMap<&'static str, (String, &'static str)>,
    fixed: BTreeMap<&'static str, (String, &'static str)>,
    clamps: Vec<&'static str>,
    masks: Masks,
}

const MAX_ASKS: usize = 8;

impl Answers {
    /// Of a turn in a phase.
    pub fn of(phase: &str) -> Answers {
        // Where a person cannot be asked, what asks blocks.
        let may_ask = matches!(phase, "pre_plan" | "pre_send" | "pre_tool" | "state_transition" | "spawn");
        Answers { may_ask, ..Answers::default() }
    }

    /// Takes the answer of a rule that applies, or of which that cannot be told.
    pub fn add(&mut self, index: &Index, facts: &Facts, rule: usize, holds: &Holds) -> Read<()> {
        let name = index.text(rule)?;
        let (kind, at) = (index.word(rule + 8)?, index.size(rule + 12)?);
        if let Holds::Maybe(why) = holds {
            match kind {
                3 | 9 => {}
                11 => self.clamps.push(index.text(at)?),
                _ => {
                    let why = reason::seen(why);
                    let text = format!("it cannot be told whether the rule {} applies: {}", name, why);
                    self.refuse(index.word(rule + 16)? != 1, text, &[name]);
                    self.doubt.get_or_insert(why);
                }
            }
            return Ok(());
        }
        match kind {
            1 | 2 => {
                let text = format!("{} (rule {})", reason::of(index.text(at)?, facts)?, name);
                self.refuse(kind == 2, text, &[name]);
            }
            3 => {
                for i in 0..index.size(at)? {
                    let (key, value) = (index.text(at + 4 + 16 * i)?, index.text(at + 12 + 16 * i)?);
                    let greatest = self.notes.entry(key).or_insert_with(|| value.to_string());
                    if value > greatest.as_str() {
                        *greatest = value.to_string();
                    }
                }
            }
            5 => self.limit(index, facts, name, at)?,
            6 => {
                let request = hook::json::object().with("capability", index.text(at)?).to_json();
                let active = match hook::check_lease(&request) {
                    Ok(reply) => Value::parse(&reply).map_or(false, |v| v.is_true("active")),
                    Err(e) if e == hook::Errno::Absent => false,
                    Err(e) => {
                        self.refuse(false, format!("whether the lease of the rule {} is there cannot be told: {}", name, e), &[name]);
                        return Ok(());
                    }
                };
                if !active {
                    let text = format!("{} (rule {})", reason::of(index.text(at + 12)?, facts)?, name);
                    self.refuse(index.word(at + 8)? == 1, text, &[name]);
                }
            }
            7 => {
                let signed = facts.text("/metadata/stage/tier").as_deref() == Some("trusted");
                let stage = facts.text("/metadata/stage/value").filter(|_| signed);
                let stages = index.texts(at + 16, index.size(at + 12)?)?;
                if !stage.map_or(false, |s| stages.contains(&&*s)) {
                    let text = format!("{} (rule {})", reason::of(index.text(at + 4)?, facts)?, name);
                    self.refuse(index.word(at)? == 1, text, &[name]);
                }
            }
            8 => self.mask(index, facts, name, at)?,
            9 | 10 => {
                for i in 0..index.size(at)? {
                    let (pointer, value) = (index.text(at + 4 + 16 * i)?, index.text(at + 12 + 16 * i)?);
                    let all = if kind == 9 { &mut self.defaults } else { &mut self.fixed };
                    let before = all.entry(pointer).or_insert_with(|| (value.to_string(), name));
                    if before.0 != value {
                        let text = format!("the rules {} and {} want {} to be different", before.1, name, pointer);
                        let both = [before.1, name];
                        self.refuse(false, text, &both);
                    }
                }
            }
            11 => self.clamps.push(index.text(at)?),
            _ => return Err("the index of the rules has an answer that this engine does not know".into()),
        }
        Ok(())
    }

    fn refuse(&mut self, ask: bool, text: String, rules: &[&'static str]) {
        let answer = (text, rules.to_vec());
        if ask && self.may_ask {
            if self.asks.len() < MAX_ASKS && !self.asks.contains(&answer) {
                self.asks.push(answer);
            }
        } else if self.block.is_none() {
            self.block = Some(answer);
        }
    }

    /// Logs which rules stop the action, and whether that is for want of knowledge: reasons cite what callers wrote.
    fn tell(&self) {
        let rules: BTreeSet<&str> = self.block.iter().chain(self.asks.iter().filter(|_| self.block.is_none())).flat_map(|a| a.1.iter().copied()).collect();
        if !rules.is_empty() {
            let rules: Vec<&str> = rules.into_iter().collect();
            hook::log(hook::Level::Info, &format!("rules: {}", rules.join(", ")));
        }
        if let Some(why) = self.doubt.as_ref().filter(|_| self.block.is_none()) {
            hook::log(hook::Level::Info, &format!("cannot tell: {}", why));
        }
    }

    /// Tells the host.
    pub fn give(mut self) -> Read<()> {
        let texts = self.rewrites();
        let others = self.notes.len() + self.clamps.len() + self.fixed.len() + self.defaults.len() + 1;
        let size = |(at, text): &(String, String)| at.len() + text.len();
        if !texts.is_empty() && texts.len() + others > masks::MOST
            || texts.iter().any(|t| t.0.len() > masks::POINTER || size(t) > masks::TEXT)
            || texts.iter().map(size).sum::<usize>() > masks::TEXTS
        {
            let rules = self.masks.rules();
            self.refuse(false, format!("there is more text than the rule {} can replace", rules.join(", ")), &rules);
        }
        for (key, value) in &self.notes {
            let value = Value::parse(value).ok_or("the index of the rules has a value that is no JSON")?;
            hook::annotate(key, value);
        }
        self.tell();
        if let Some((text, _)) = &self.block {
            hook::block(text);
            return Ok(());
        }
        if !self.asks.is_empty() {
            let reasons: Vec<&str> = self.asks.iter().map(|a| a.0.as_str()).collect();
            hook::request_approval(&reasons.join("; "), None);
        }
        for scopes in &self.clamps {
            let v = Value::parse(scopes).ok_or("the index of the rules has scopes that are no JSON")?;
            let set = |name: &str| v.get(name).map(|s| s.items().iter().filter_map(Value::as_text).map(String::from).collect());
            hook::clamp_scopes(hook::Scopes { fs_read: set("fs_read"), fs_write: set("fs_write"), net: set("net"), tools: set("tools") });
        }
        self.rewrite(texts);
        Ok(())
    }

    /// The texts that are replaced, unless their places are set otherwise.
    fn rewrites(&self) -> Vec<(String, String)> {
        self.masks.texts().filter(|(at, _)| !self.fixed.contains_key(at.as_str())).collect()
    }

    fn rewrite(&self, texts: Vec<(String, String)>) {
        for (at, text) in &texts {
            hook::rewrite_text(at, text);
        }
        for (at, (value, _)) in &self.fixed {
            let same = input::value(at).map_or(false, |v| Value::parse(value) == Some(v));
            if !same {
                hook::rewrite(at, value);
            }
        }
        for (at, (value, _)) in &self.defaults {
            if !self.fixed.contains_key(at) && !input::has(at) {
                hook::rewrite(at, value);
            }
        }
    }

    /// Count, seconds, by whom, whether it asks, text. Every call to which the rule applies counts until the limit is reached.
    fn limit(&mut self, index: &Index, facts: &Facts, name: &'static str, at: usize) -> Read<()> {
        let (most, window) = (index.size(at)?, i64::from(index.word(at + 4)?));
        let by = ["/session", "/agent", "/user"];
        let by = by.get(index.size(at + 8)?).ok_or("the index of the rules is damaged")?;
        let now = seconds(facts).ok_or("the invocation has no time")?;
        let subject = hash(facts.text(by).as_deref().unwrap_or(""));
        let key = format!("limit/{}", name);
        let stored = match hook::state_get(&key) {
            Ok(bytes) => bytes,
            Err(hook::Errno::Absent) => Vec::new(),
            Err(e) => {
                self.refuse(false, format!("the counts of the rule {} cannot be read: {}", name, e), &[name]);
                return Ok(());
            }
        };
        let mut uses = match uses(&stored, now - window) {
            Some(uses) => uses,
            None => {
                self.refuse(false, format!("the counts of the rule {} cannot be read", name), &[name]);
                return Ok(());
            }
        };
        let count = uses.iter().filter(|u| u.0 == subject).count();
        // The oldest use makes room for the next one, if there is room for any.
        let next = uses.iter().filter(|u| u.0 == subject).map(|u| u.1 + window - now).min().unwrap_or(window);
        if count >= most {
            let text = format!("{}; the next time is in {} seconds (rule {})", reason::of(index.text(at + 16)?, facts)?, next, name);
            self.refuse(index.word(at + 12)? == 1, text, &[name]);
            return Ok(());
        }
        uses.push((subject, now));
        if uses.len() * USE > 64 << 10 {
            self.refuse(false, format!("there are more calls than the rule {} can count", name), &[name]);
            return Ok(());
        }
        let mut out = Vec::with_capacity(uses.len() * USE);
        for (subject, time) in uses {
            out.extend_from_slice(&subject.to_le_bytes());
            out.extend_from_slice(&time.to_le_bytes());
        }
        if let Err(e) = hook::state_put(&key, &out) {
            self.refuse(false, format!("the counts of the rule {} cannot be kept: {}", name, e), &[name]);
        }
        Ok(())
    }

    /// What stands in place of a match; how many pointers; pointers; how many patterns; patterns.
    fn mask(&mut self, index: &Index, facts: &Facts, name: &'static str, at: usize) -> Read<()> {
        let label = index.text(at)?;
        let n = index.size(at + 8)?;
        let rest = at + 12 + 8 * n;
        let phase = facts.text("/phase");
        let phase = phase.as_deref().unwrap_or("");
        for pointer in index.texts(at + 12, n)?.into_iter().filter(|p| masks::may_change(phase, p)) {
            let leaves = facts.leaves(pointer);
            if leaves.doubt.is_some() {
                self.refuse(false, too_much(facts, name), &[name]);
            }
            for pattern in patterns(index, rest + 4, index.size(rest)?)? {
                if self.masks.search(facts, &leaves, &pattern, label, name)?.is_none() {
                    self.refuse(false, too_much(facts, name), &[name]);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

const USE: usize = 16;

/// The uses that are not older than a time.
fn uses(stored: &[u8], after: i64) -> Option<Vec<(u64, i64)>> {
    if stored.len() % USE != 0 {
        return None;
    }
    let number = |b: &[u8]| {
        let mut eight = [0; 8];
        eight.copy_from_slice(b);
        eight
    };
    let all = stored.chunks_exact(USE).map(|c| (u64::from_le_bytes(number(&c[..8])), i64::from_le_bytes(number(&c[8..]))));
    Some(all.filter(|u| u.1 > after).collect())
}

/// FNV-1a: who shares the number of another one shares its limit.
fn hash(s: &str) -> u64 {
    s.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

fn too_much(facts: &Facts, rule: &str) -> String {
    format!("there is more text than the rule {} can search, in {} bytes", rule, facts.work.input())
}
