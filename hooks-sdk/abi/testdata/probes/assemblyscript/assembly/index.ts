// Uses every wrapper of the SDK once and reports what it saw. The probes in C, Go and Rust do the same.

import * as hook from "../../../../../assemblyscript";

function text(path: string): string {
  const t = hook.inputText(path);
  return t === null ? "" : t;
}

function got(path: string): string {
  const t = hook.inputGet(path);
  return t === null ? "" : t;
}

export function pre_tool(): i32 {
  const shell = hook.shellParse(text("/args/command"));
  const matches = hook.matchRE2(["^z", "b+"], ["abbc"]).matches;
  const secrets = hook.findSecrets(text("/args/secret")).secrets;
  const paths = hook.pathResolve(["../x"], "/w/a").results;
  const before = hook.stateGet("probe");
  const put = hook.statePut("probe", "seen");
  const random = new Uint8Array(3);
  if (hook.random(random) != 0) return hook.fail("no random bytes");

  const w = new hook.Writer().object().key("text").text(text("/args/s")).key("long").int(text("/args/long").length);
  w.key("absent").int(i64(hook.inputGet("/args/none") === null)).key("not_text").int(i64(hook.inputText("/args/n") === null));
  w.key("kinds").array();
  const names = ["n", "b", "z", "a", "o", "s"];
  for (let i = 0; i < names.length; i++) w.int(hook.inputKind(hook.pointer(["args", names[i]])));
  w.end().key("keys").texts(hook.inputKeys("/args/o"));
  w.key("len").int(hook.inputLen("/args/a")).key("int").int(hook.inputInt("/args/n", -1));
  w.key("fraction").int(hook.inputInt("/args/a/1", -1));
  w.key("pointer").text(got(hook.pointer(["args", "o", "a/b"]))).key("raw").text(got("/args/a"));
  w.key("config").int(hook.configInt("/n", 7)).key("config_default").int(hook.configInt("/none", 7));
  w.key("config_bool").int(i64(hook.configBool("/on", false))).key("config_text").text(hook.configText("/t", ""));
  w.key("shell").array();
  for (let i = 0; i < shell.commands.length; i++) w.text(shell.commands[i].name);
  w.end().key("word").text(shell.commands[shell.commands.length - 1].words[1].text).key("shell_ok").int(i64(shell.ok));
  w.key("match").int(matches[0].end).key("secret").text(secrets[0].kind).key("path").text(paths[0].path);
  w.key("state").text(before.some ? before.text : "none").key("put").int(put);
  w.key("state_after").text(hook.stateGet("probe").text).key("time").int(hook.timeNow());
  w.key("random").int((i64(random[0]) << 16) | (i64(random[1]) << 8) | i64(random[2])).end();
  const report = w.toString();

  // What was put together is taken apart as it was.
  const again = hook.Value.parse(report);
  if (again.get("text").text() != text("/args/s") || again.get("keys").texts().length != 3 || again.get("int").int(0) != -42) {
    return hook.fail("the report does not survive");
  }
  hook.log(hook.Level.Info, "probe");
  hook.rewriteText("/args/report", report);
  hook.rewriteJSON("/args/n", "[1,2]");
  hook.remove("/args/z");
  hook.redact("/args/b", "flag");
  hook.annotateText("k", "v\n");
  hook.addContext("context");
  const scopes = new hook.Scopes();
  scopes.fsRead = ["/w/**"];
  scopes.net = [];
  hook.clampScopes(scopes);
  hook.ask('why "now"?', 60);
  return hook.OK;
}

export function post_receive(): i32 {
  hook.retry("again", 2);
  hook.putArtifact("a.txt", "text/plain", "one\ttwo\x01");
  return hook.OK;
}

export function pre_plan(): i32 {
  hook.reply("no model needed");
  return hook.OK;
}

export function spawn(): i32 {
  hook.block("dropped");
  return hook.fail("on purpose");
}
