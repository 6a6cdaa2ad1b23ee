//! Does what /args/do says, by the Rust SDK. The hooks in C and Go do the same; see ../../behaviours.yaml.

use belay_hook as hook;
use hook::{config, input, Level, Scopes};

hook::export!(pre_tool => pre_tool);

fn say(n: i64) {
    hook::log(Level::Info, &n.to_string());
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
        "panic" => panic!("on purpose"),
        "refused" => hook::rewrite("/args/no/parent", "1"),
        _ => {}
    }
    Ok(())
}
