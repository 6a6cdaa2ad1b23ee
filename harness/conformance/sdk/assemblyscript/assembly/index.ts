// Does what /args/do says, by the AssemblyScript SDK. The hooks in C, Go and Rust do the same; see ../../../behaviours.yaml.

import * as hook from "../../../../../hooks-sdk/assemblyscript";

function say(n: i64): void {
  hook.log(hook.Level.Info, n.toString());
}

/** The letters whose value is true. */
function flags(letters: string, set: bool[]): string {
  let out = "";
  for (let i = 0; i < set.length; i++) {
    if (set[i]) out += letters.charAt(i);
  }
  return out;
}

function wordText(w: hook.Word): string {
  const from = w.from;
  return w.text + ":" + flags("kgt", [w.known, w.glob, w.tilde]) + (from === null ? "" : from.join(""));
}

function optional(w: hook.Word | null): string {
  return w === null ? "" : wordText(w);
}

function commandText(c: hook.Command): string {
  const cwd = c.cwd;
  return [
    c.name,
    c.raw,
    c.words.map<string>((w: hook.Word) => wordText(w)).join(" "),
    c.assigns.map<string>((a: hook.Assign) => a.name + "=" + wordText(a.value)).join(" "),
    c.redirects.map<string>((r: hook.Redirect) => r.fd.toString() + r.op + wordText(r.target)).join(" "),
    c.via.join(" "),
    c.context.join(" "),
    optional(c.stdin),
    cwd === null ? "" : cwd.text + ":" + flags("k", [cwd.known]),
    c.pipe.toString(),
    c.stdinFrom.toString(),
    c.parent.toString(),
    flags("frmo", [c.isFunction, c.recursive, c.remote, c.argsOpen]),
  ].join("|");
}

function logShell(): void {
  const shell = hook.shellParse(text("/args/command"));
  for (let i = 0; i < shell.commands.length; i++) hook.log(hook.Level.Info, commandText(shell.commands[i]));
  for (let i = 0; i < shell.unknown.length; i++) {
    const u = shell.unknown[i];
    hook.log(hook.Level.Info, [u.what, u.raw, u.command.toString(), flags("p", [u.partial])].join("|"));
  }
  for (let i = 0; i < shell.unknownPrograms.length; i++) {
    const p = shell.unknownPrograms[i];
    const fields = [p.language, p.text, p.file, p.raw, p.command.toString(), flags("p", [p.partial])];
    hook.log(hook.Level.Info, fields.join("|"));
  }
}

function text(path: string): string {
  const t = hook.inputText(path);
  return t === null ? "" : t;
}

export function pre_tool(): i32 {
  const what = text("/args/do");
  if (what == "block") hook.block("no");
  else if (what == "fail") {
    hook.block("dropped");
    return hook.fail("on purpose");
  } else if (what == "ask") hook.ask('why "now"?', 60);
  else if (what == "rewrite") {
    hook.rewriteText("/args/a", "x\n");
    hook.rewriteJSON("/args/b", "[1]");
    hook.remove("/args/c");
  } else if (what == "redact") hook.redact("/args/a", "label");
  else if (what == "annotate") hook.annotateText("k", "v\n");
  else if (what == "context") hook.addContext("text");
  else if (what == "clamp") {
    const scopes = new hook.Scopes();
    scopes.fsRead = ["/w/**"];
    scopes.net = [];
    hook.clampScopes(scopes);
  } else if (what == "read") hook.log(hook.Level.Info, text("/args/s"));
  else if (what == "long") say(text("/args/s").length);
  else if (what == "absent") {
    if (hook.inputGet("/args/none") === null) hook.log(hook.Level.Info, "absent");
  } else if (what == "config") hook.log(hook.Level.Info, hook.configText("/t", ""));
  else if (what == "state") {
    hook.log(hook.Level.Info, hook.stateGet("k").text);
    if (hook.statePut("k", "new") != 0) return hook.fail("the state was not put");
  } else if (what == "time") say(hook.timeNow());
  else if (what == "random") {
    const b = new Uint8Array(2);
    if (hook.random(b) != 0) return hook.fail("no random bytes");
    say(b[0]);
    say(b[1]);
  } else if (what == "call") {
    const answer = hook.requestToolCall('{"tool":"t"}');
    hook.log(hook.Level.Info, answer.document);
    if (!answer.ok) return hook.fail(answer.why);
  } else if (what == "shell") logShell();
  else if (what == "panic") throw new Error("on purpose");
  else if (what == "refused") hook.rewriteJSON("/args/no/parent", "1");
  return hook.OK;
}
