//! Uses every wrapper of the crate once and reports what it saw. The probes in C and Go do the same.

use belay_hook as hook;
use hook::analysis::{find_secrets, path_resolve, pattern_match, shell_parse, Syntax};
use hook::json::{object, Value};
use hook::{config, input, Artifact, Kind, Level, Scopes};

hook::export!(pre_tool => pre_tool, post_receive => post_receive, pre_plan => pre_plan, spawn => spawn);

fn text(path: &str) -> String {
    input::text(path).unwrap_or_default()
}

fn kind(path: &str) -> i64 {
    match input::kind(path) {
        None => -1,
        Some(Kind::Null) => 0,
        Some(Kind::Bool) => 1,
        Some(Kind::Number) => 2,
        Some(Kind::Text) => 3,
        Some(Kind::Array) => 4,
        Some(Kind::Object) => 5,
    }
}

fn pre_tool() -> hook::Result {
    let shell = shell_parse(&text("/args/command"))?;
    let matches = pattern_match(Syntax::Re2, &["^z", "b+"], &["abbc"])?;
    let (secrets, _) = find_secrets(&text("/args/secret"))?;
    let paths = path_resolve(&["../x"], Some("/w/a"))?;
    let before = hook::state_get("probe").map(|b| String::from_utf8(b).unwrap()).unwrap_or_else(|_| "none".into());
    hook::state_put("probe", b"seen")?;
    let after = String::from_utf8(hook::state_get("probe")?).unwrap();
    let mut random = [0; 3];
    hook::random(&mut random)?;
    let report = object()
        .with("text", text("/args/s"))
        .with("long", text("/args/long").len() as i64)
        .with("absent", i64::from(input::get("/args/none").is_none()))
        .with("not_text", i64::from(input::text("/args/n").is_none()))
        .with("kinds", ["n", "b", "z", "a", "o", "s"].iter().map(|n| kind(&hook::pointer(&["args", n]))).collect::<Vec<i64>>())
        .with("keys", input::keys("/args/o"))
        .with("len", input::len("/args/a") as i64)
        .with("int", input::int("/args/n").unwrap_or(-1))
        .with("fraction", input::int("/args/a/1").unwrap_or(-1))
        .with("pointer", input::get(&hook::pointer(&["args", "o", "a/b"])).unwrap_or_default())
        .with("raw", input::get("/args/a").unwrap_or_default())
        .with("config", config::int("/n").unwrap_or(7))
        .with("config_default", config::int("/none").unwrap_or(7))
        .with("config_bool", i64::from(config::bool("/on").unwrap_or(false)))
        .with("config_text", config::text("/t").unwrap_or_default())
        .with("shell", shell.commands.iter().map(|c| c.name.as_str()).collect::<Vec<&str>>())
        .with("word", shell.commands.last().map_or("", |c| c.words[1].text.as_str()))
        .with("shell_ok", i64::from(shell.ok))
        .with("match", matches.first().map_or(-1, |m| m.end as i64))
        .with("secret", secrets.first().map_or("nothing", |s| s.kind.as_str()))
        .with("path", paths.first().map_or("nothing", |p| p.path.as_str()))
        .with("state", before)
        .with("put", 0)
        .with("state_after", after)
        .with("time", hook::time_now())
        .with("random", i64::from(random[0]) << 16 | i64::from(random[1]) << 8 | i64::from(random[2]));

    // What was taken apart is put together again as it was.
    if Value::parse(&report.to_json()).as_ref() != Some(&report) {
        return Err("the report does not survive".into());
    }
    hook::log(Level::Info, "probe");
    hook::rewrite_text("/args/report", &report.to_json());
    hook::rewrite("/args/n", "[1,2]");
    hook::remove("/args/z");
    hook::redact("/args/b", "flag");
    hook::annotate_text("k", "v\n");
    hook::add_context("context");
    hook::clamp_scopes(Scopes { fs_read: Some(vec!["/w/**".into()]), net: Some(Vec::new()), ..Scopes::default() });
    hook::request_approval("why \"now\"?", Some(60));
    Ok(())
}

fn post_receive() {
    hook::retry("again", 2);
    hook::put_artifact(Artifact { name: "a.txt", media_type: "text/plain", text: "one\ttwo\u{1}", meta: Value::Null });
}

fn pre_plan() {
    hook::reply("no model needed");
}

fn spawn() -> hook::Result {
    hook::block("dropped");
    Err("on purpose".into())
}
