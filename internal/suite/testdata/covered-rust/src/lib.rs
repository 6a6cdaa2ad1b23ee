use belay_hook as hook;

hook::export!(pre_tool => pre_tool);

#[inline(never)]
fn is_push() {
    hook::add_context("a push");
}

#[inline(never)]
fn never(n: usize) -> hook::Result {
    hook::block("never");
    Err(format!("command number {}", n).into())
}

fn pre_tool() -> hook::Result {
    let command = match hook::input::text("/args/command") {
        Some(command) => command,
        None => return Ok(()),
    };
    let letters = command.chars().filter(|c| c.is_alphabetic()).count();
    if letters == 4 {
        is_push();
    } else if letters == 9 {
        return never(letters);
    }
    Ok(())
}
