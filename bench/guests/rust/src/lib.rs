//! The policy of the benchmarks in Rust: no recursive removal of the root.

use belay_hook as hook;
use hook::{input, json::Value};

hook::export!(pre_tool => pre_tool);

fn pre_tool() -> hook::Result {
    let text = input::read();
    let doc = Value::parse(&text).ok_or("the input is no JSON")?;
    let command = doc.get("args").map_or("", |args| args.text("command"));
    if command.contains("rm -rf /") {
        hook::block("no recursive removal of the root");
    }
    Ok(())
}
