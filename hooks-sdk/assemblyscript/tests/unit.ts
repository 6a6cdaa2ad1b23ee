// What sdk.test.mjs calls: each phase function here does one thing and logs what came of it.

import * as hook from "..";

/** What the call would run, as the vectors of all SDKs write it. */
export function pre_tool(): i32 {
  const w = new hook.Writer().object().key("command");
  const command = hook.inputCommand();
  if (command === null) w.json("null");
  else w.text(command);
  w.key("lines");
  const found = hook.inputLines();
  if (found === null) {
    w.json("null");
  } else {
    w.object().key("lines").array();
    for (let i = 0; i < found.lines.length; i++) {
      w.object().key("text").text(found.lines[i].text).key("code").bool(found.lines[i].code).end();
    }
    w.end().key("foreign").bool(found.foreign).key("more").bool(found.more).end();
  }
  hook.log(hook.Level.Info, w.end().toString());
  return hook.OK;
}

function copy(w: hook.Writer, v: hook.Value): void {
  const items = v.items(), names = v.names();
  if (v.kind == hook.Kind.Text) w.text(v.text());
  else if (v.kind == hook.Kind.Array) {
    w.array();
    for (let i = 0; i < items.length; i++) copy(w, items[i]);
    w.end();
  } else if (v.kind == hook.Kind.Object) {
    w.object();
    for (let i = 0; i < items.length; i++) copy(w.key(names[i]), items[i]);
    w.end();
  } else w.json(v.source);
}

/** Takes the JSON of /text apart and puts it together again. */
export function pre_plan(): i32 {
  const text = hook.inputText("/text");
  const v = hook.Value.parse(text === null ? "" : text);
  if (!v.some) return hook.fail("not JSON");
  const w = new hook.Writer();
  copy(w, v);
  hook.log(hook.Level.Info, w.toString());
  hook.log(hook.Level.Info, v.int(-1).toString());
  return hook.OK;
}

/** Asks for everything that a host may refuse, by /ask, and uses it as if it had been granted. */
export function post_tool(): i32 {
  const asked = hook.inputText("/ask");
  const ask = asked === null ? "" : asked;
  if (ask == "shell_parse") {
    const shell = hook.shellParse("ls");
    hook.log(hook.Level.Info, shell.error);
    return shell.unclear() ? hook.OK : 1;
  }
  if (ask == "path_resolve") return hook.pathResolve(["x"]).results.length;
  if (ask == "pattern_match") return i32(hook.matchGlob(["x"], ["y"]).any);
  if (ask == "find_secrets") return hook.findSecrets("x").secrets.length;
  if (ask == "state_get") return hook.stateGet("k").text.length;
  if (ask == "input_get") return hook.inputGet("no pointer") === null ? 0 : 1;
  if (ask == "errno") return hook.findSecrets("x").errno == hook.Errno.Denied ? hook.OK : 1;
  return 1;
}

/** Breaks in the way that /how names. */
export function spawn(): i32 {
  const how = hook.inputText("/how");
  if (how !== null && how == "throw") throw new Error("no such child");
  if (how !== null && how == "range") return [1, 2, 3][hook.inputLen("/list")];
  hook.halt("gave up");
  return hook.OK;
}
