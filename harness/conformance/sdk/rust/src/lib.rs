//! Does what /args/do says, by the Rust SDK. The hooks in C and Go do the same; see ../../behaviours.yaml.

use belay_hook as hook;
use hook::analysis::{self, Command, Word};
use hook::{config, input, Level, Scopes};

hook::export!(pre_tool => pre_tool);

fn say(n: i64) {
    hook::log(Level::Info, &n.to_string());
}

/// The letters whose value is true.
fn flags(letters: &str, set: &[bool]) -> String {
    letters.chars().zip(set).filter(|(_, on)| **on).map(|(c, _)| c).collect()
}

fn index(n: Option<usize>) -> String {
    n.map_or("-1".into(), |n| n.to_string())
}

fn joined<T>(list: &[T], text: impl Fn(&T) -> String) -> String {
    list.iter().map(text).collect::<Vec<String>>().join(" ")
}

fn word_text(w: &Word) -> String {
    let from: String = w.from.iter().map(|n| n.to_string()).collect();
    format!("{}:{}{}", w.text, flags("kgt", &[w.known, w.glob, w.tilde]), from)
}

fn command_text(c: &Command) -> String {
    [
        c.name.clone(),
        c.raw.clone(),
        joined(&c.words, word_text),
        joined(&c.assigns, |(name, value)| format!("{}={}", name, word_text(value))),
        joined(&c.redirects, |r| format!("{}{}{}", r.fd, r.op, word_text(&r.target))),
        c.via.join(" "),
        c.context.join(" "),
        c.stdin.as_ref().map_or(String::new(), word_text),
        c.cwd.as_ref().map_or(String::new(), |w| format!("{}:{}", w.text, flags("k", &[w.known]))),
        c.pipe.to_string(),
        index(c.stdin_from),
        index(c.parent),
        flags("frmo", &[c.function, c.recursive, c.remote, c.args_open]),
    ]
    .join("|")
}

fn pre_tool() -> hook::Result {
    match input::text("/args/do").unwrap_or_default().as_str() {
        "block" => hook::block("no"),
        "fail" => {
            hook::block("dropped");
            return Err("on purpose".into());
        }
        "ask" => hook::request_approval("why \"now\"?", Some(60)),
        "rewrite" => {
            hook::rewrite_text("/args/a", "x\n");
            hook::rewrite("/args/b", "[1]");
            hook::remove("/args/c");
        }
        "redact" => hook::redact("/args/a", "label"),
        "annotate" => hook::annotate_text("k", "v\n"),
        "context" => hook::add_context("text"),
        "clamp" => hook::clamp_scopes(Scopes { fs_read: Some(vec!["/w/**".into()]), net: Some(Vec::new()), ..Scopes::default() }),
        "read" => hook::log(Level::Info, &input::text("/args/s").unwrap_or_default()),
        "long" => say(input::text("/args/s").unwrap_or_default().len() as i64),
        "absent" => {
            if input::get("/args/none").is_none() {
                hook::log(Level::Info, "absent");
            }
        }
        "config" => hook::log(Level::Info, &config::text("/t").unwrap_or_default()),
        "state" => {
            let v = hook::state_get("k")?;
            hook::log(Level::Info, core::str::from_utf8(&v).unwrap_or("?"));
            hook::state_put("k", b"new")?;
        }
        "time" => say(hook::time_now()),
        "random" => {
            let mut b = [0; 2];
            hook::random(&mut b)?;
            say(b[0].into());
            say(b[1].into());
        }
        "call" => match hook::request_tool_call("{\"tool\":\"t\"}") {
            Ok(reply) => hook::log(Level::Info, &reply),
            Err(refused) => {
                hook::log(Level::Info, &refused.document);
                return Err(refused.into());
            }
        },
        "shell" => {
            let (shell, programs) = analysis::shell_parse_with_programs(&input::text("/args/command").unwrap_or_default())?;
            for c in &shell.commands {
                hook::log(Level::Info, &command_text(c));
            }
            for u in &shell.unknown {
                hook::log(Level::Info, &format!("{}|{}|{}|{}", u.what, u.raw, index(u.command), flags("p", &[u.partial])));
            }
            for p in &programs {
                let partial = flags("p", &[p.partial]);
                let fields = [p.language.clone(), p.text.clone(), p.file.clone(), p.raw.clone(), index(p.command), partial];
                hook::log(Level::Info, &fields.join("|"));
            }
        }
        "panic" => panic!("on purpose"),
        "refused" => hook::rewrite("/args/no/parent", "1"),
        _ => {}
    }
    Ok(())
}
