// Written by `belay connect opencode`; `belay disconnect opencode` takes it away.
const BELAY_SETTINGS = {"hook": "/usr/local/bin/belay-hook", "state": "/home/dev/.local/state/belay"}
// ../../internal/ts/ask.ts
import { spawn } from "node:child_process";
import { lstatSync } from "node:fs";
import { createConnection } from "node:net";
import { dirname, join } from "node:path";
var deadline = 25e3;
var lastWord = 3e3;
var maxFrame = 4 << 20;
var maxAnswer = 64 << 20;
function refusal(why) {
  const text2 = why instanceof Error ? why.message : String(why);
  return { decision: "block", reason: `belay: no decision could be made: ${text2}`.slice(0, 2e3), set: [], grant: false };
}
async function ask(settings, runtime2, event, payload) {
  try {
    const body = Buffer.from(payload);
    if (settings.state && body.length <= maxFrame - 600) {
      const got = await askFramed(join(settings.state, "frame.sock"), runtime2, event, body);
      if (got) return got;
    }
    return await askChild(settings, runtime2, event, body);
  } catch (e) {
    return refusal(e);
  }
}
function isPrivate(path, socket) {
  try {
    const s = lstatSync(path);
    return (socket ? s.isSocket() : s.isDirectory()) && s.uid === process.getuid?.() && (s.mode & 63) === 0;
  } catch {
    return false;
  }
}
function askFramed(path, runtime2, event, payload) {
  if (!isPrivate(dirname(path), false) || !isPrivate(path, true)) return Promise.resolve(void 0);
  const names = [runtime2, event].map((s) => Buffer.from(s));
  if (names.some((n) => n.length > 255)) return Promise.resolve(refusal("a name is too long"));
  const body = Buffer.concat([...names.flatMap((n) => [Buffer.from([n.length]), n]), payload]);
  const head = Buffer.from([190, 1, 2, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(body.length, 4);
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const got = [];
    let size = 0;
    let connected = false;
    const end = (a) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(a);
    };
    const timer = setTimeout(() => end(refusal("the daemon did not answer in time")), deadline);
    socket.on("connect", () => {
      connected = true;
      socket.write(Buffer.concat([head, body]));
    });
    socket.on("error", (e) => end(connected ? refusal(e) : void 0));
    socket.on("close", () => end(refusal("the daemon ended the connection")));
    socket.on("data", (d) => {
      got.push(d);
      size += d.length;
      if (size < 8) return;
      const all = got.length === 1 ? d : Buffer.concat(got);
      got.splice(0, got.length, all);
      const length = all.readUInt32BE(4);
      if (all[0] !== 190 || all[1] !== 1 || all[3] !== 0 || length > maxAnswer) return end(refusal("no frame came"));
      if (size < 8 + length) return;
      if (size > 8 + length) return end(refusal("more than an answer came"));
      try {
        end(frameAnswer(all[2] ?? 0, JSON.parse(utf8(all.subarray(8)))));
      } catch (e) {
        end(refusal(e));
      }
    });
  });
}
function frameAnswer(kind, doc) {
  if (!isObject(doc)) return refusal("the daemon gave no object");
  if (kind === 131 && typeof doc.error === "string") return refusal(doc.error);
  if (kind !== 130 || typeof doc.exit !== "number") return refusal("the daemon gave no answer");
  return readAnswer(doc.stdout ?? "", doc.exit, doc.stderr ?? "");
}
function askChild(s, runtime2, event, payload) {
  const where = s.connect ? ["--connect", s.connect] : ["--state", s.state ?? ""];
  const env = { PATH: "/usr/bin:/bin" };
  for (const name of ["HOME", "USER", "USERPROFILE", "SystemRoot"]) {
    const value = process.env[name];
    if (value !== void 0) env[name] = value;
  }
  return new Promise((resolve) => {
    const child = spawn(s.hook, ["--runtime", runtime2, "--for", event, ...where], { env, cwd: "/", windowsHide: true });
    const out = [];
    const err = [];
    let size = 0;
    const end = (a) => {
      clearTimeout(timer);
      resolve(a);
    };
    const stop = (why) => {
      child.kill("SIGKILL");
      end(refusal(why));
    };
    const timer = setTimeout(() => stop("belay-hook did not answer in time"), deadline + lastWord);
    const keep = (to) => (d) => {
      size += d.length;
      if (size > maxAnswer) return stop("belay-hook says too much");
      to.push(d);
    };
    child.stdout.on("data", keep(out));
    child.stderr.on("data", keep(err));
    child.on("error", (e) => end(refusal(e)));
    child.on("close", (code, signal) => {
      try {
        if (signal !== null || code === null) return end(refusal(`belay-hook was ended by ${signal}`));
        end(readAnswer(utf8(Buffer.concat(out)), code, Buffer.concat(err).toString()));
      } catch (e) {
        end(refusal(e));
      }
    });
    child.stdin.on("error", () => {
    });
    child.stdin.end(payload);
  });
}
function utf8(b) {
  return new TextDecoder("utf-8", { fatal: true }).decode(b);
}
function isObject(v) {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}
function readAnswer(stdout, exit, stderr) {
  const said = typeof stderr === "string" ? stderr.trim().slice(0, 4e3) : "";
  let doc;
  try {
    doc = typeof stdout === "string" ? JSON.parse(stdout) : stdout;
  } catch {
    return refusal(said || "the answer is not JSON");
  }
  if (!isObject(doc)) return refusal(said || "the answer is no object");
  for (const name of Object.keys(doc)) {
    if (!["decision", "reason", "set", "grant"].includes(name)) return refusal("the answer has a member that is not known");
  }
  const list = doc.set ?? [];
  if (!Array.isArray(list)) return refusal("the changes are no list");
  const set = [];
  for (const c of list) {
    if (!isObject(c) || typeof c.path !== "string" || Object.keys(c).some((k) => k !== "path" && k !== "value")) {
      return refusal("a change has no path, or more than a value");
    }
    set.push("value" in c ? { path: c.path, value: c.value } : { path: c.path });
  }
  if (doc.grant !== void 0 && doc.grant !== true) return refusal("the permission is not true");
  const reason = typeof doc.reason === "string" ? doc.reason.trim() : "";
  if (doc.decision === "block") {
    return { decision: "block", reason: reason || said || "belay: this is not allowed", set, grant: false };
  }
  if (exit !== 0 || doc.decision !== "allow" || doc.reason !== void 0) {
    return { ...refusal(said || "the answer has no decision"), set: [] };
  }
  return { decision: "allow", reason: "", set, grant: doc.grant === true };
}

// ../../internal/ts/change.ts
function isContainer(v) {
  return typeof v === "object" && v !== null;
}
function change(root, set) {
  for (const c of set) {
    if (c.path === "") {
      if (!isContainer(root) || !isContainer(c.value)) throw new Error("belay: the whole output cannot be changed");
      fill(root, c.value);
      continue;
    }
    if (!c.path.startsWith("/")) throw new Error("belay: a path is no pointer");
    const names = c.path.slice(1).split("/").map((s) => s.replaceAll("~1", "/").replaceAll("~0", "~"));
    let at = root;
    for (const name of names.slice(0, -1)) at = member(at, name);
    place(at, names.at(-1) ?? "", c);
  }
}
function member(of, name) {
  if (!isContainer(of) || !Object.hasOwn(of, name)) throw new Error("belay: what is to be changed is not there");
  return of[name];
}
function place(of, name, c) {
  if (!isContainer(of)) throw new Error("belay: what is to be changed is not there");
  if (Array.isArray(of)) {
    if (!/^(0|[1-9][0-9]*)$/.test(name) || Number(name) >= of.length || !("value" in c)) {
      throw new Error("belay: an element to be changed is not there");
    }
  }
  const o = of;
  if (!("value" in c)) {
    if (!Reflect.deleteProperty(o, name)) throw new Error("belay: a member cannot be taken out");
    return;
  }
  const old = Object.hasOwn(o, name) ? o[name] : void 0;
  if (isContainer(old) && isContainer(c.value) && Array.isArray(old) === Array.isArray(c.value)) {
    fill(old, c.value);
    return;
  }
  Object.defineProperty(o, name, { value: c.value, writable: true, enumerable: true, configurable: true });
}
function fill(to, from) {
  if (Array.isArray(to) !== Array.isArray(from)) throw new Error("belay: a list cannot become an object");
  if (Array.isArray(to) && Array.isArray(from)) {
    to.splice(0, to.length, ...from);
    return;
  }
  const o = to;
  for (const name of Object.keys(o)) {
    if (!Object.hasOwn(from, name) && !Reflect.deleteProperty(o, name)) {
      throw new Error("belay: a member cannot be taken out");
    }
  }
  for (const [name, value] of Object.entries(from)) place(o, name, { path: "", value });
}

// src/plugin.ts
var runtime = "opencode";
var longURL = 64 << 10;
var largest = 64 << 10;
var deepest = 32;
var noise = [
  /^message\.(updated|part\.updated|part\.delta)$/,
  /^session\.(status|updated|diff)$/,
  /^(tui|pty|lsp|vcs|server|file\.watcher|catalog|plugin|storage|installation|models-dev|reference|integration)\./
];
function text(v) {
  return typeof v === "string" ? v : "";
}
var Host = class {
  // of the events that OpenCode does not wait for
  constructor(settings, client, directory) {
    this.settings = settings;
    this.client = client;
    this.directory = directory;
  }
  parents = /* @__PURE__ */ new Map();
  // of each session; "": it has none
  closed = /* @__PURE__ */ new Map();
  // sessions that may not go on, and why; "": all of them
  told = /* @__PURE__ */ new Set();
  // definitions of tools that belay has let through as they are
  last = Promise.resolve();
  /** root returns the session that a person began, and the agent's name in it: "" for the main agent. */
  async root(session) {
    let at = session;
    for (let i = 0; i < deepest; i++) {
      let parent = this.parents.get(at);
      if (parent === void 0) {
        const got = await this.client.session.get({ path: { id: at } });
        if (got.error || !isObject(got.data)) throw new Error("belay: OpenCode does not know the session");
        parent = text(got.data.parentID);
        this.parents.set(at, parent);
      }
      if (parent === "") return { root: at, agent: at === session ? "" : session };
      at = parent;
    }
    throw new Error("belay: subagents nest too deep");
  }
  /** decide asks belay. A session that was closed is not asked about again. */
  async decide(event, session, input, output) {
    const of = { event, directory: this.directory };
    if (session) {
      const { root, agent } = await this.root(session);
      of.session = root;
      if (agent) of.agent = agent;
      const why = this.closed.get(root) ?? this.closed.get("");
      if (why) return { decision: "block", reason: why, set: [], grant: false };
    } else if (this.closed.has("")) {
      return { decision: "block", reason: this.closed.get("") ?? "", set: [], grant: false };
    }
    if (input !== void 0) of.input = input;
    if (output !== void 0) of.output = output;
    return ask(this.settings, runtime, event, encode(event, of));
  }
  /** guard is a hook point that can be kept from happening: it changes the output, or throws. */
  async guard(event, session, input, output) {
    let a;
    try {
      a = await this.decide(event, session, input, output);
      if (a.decision === "allow") {
        if (event === "permission.ask" && a.grant) a.set.push({ path: "/status", value: "allow" });
        return change(output, a.set);
      }
    } catch (e) {
      a = refusal(e);
    }
    if (event === "experimental.text.complete") {
      change(output, [{ path: "/text", value: a.reason }]);
      return;
    }
    if (event === "experimental.compaction.autocontinue") {
      change(output, [{ path: "/enabled", value: false }]);
      return;
    }
    if (event === "permission.ask") change(output, [{ path: "/status", value: "deny" }]);
    throw new Error(a.reason);
  }
  /** definition is guard for a tool's definition, which OpenCode gives with each request. */
  async definition(input, output) {
    let parameters;
    try {
      const whole = JSON.stringify(output.parameters);
      if (whole !== void 0 && whole.length <= largest) parameters = JSON.parse(whole);
    } catch {
    }
    const seen = { description: output.description, ...parameters === void 0 ? {} : { parameters } };
    const key = JSON.stringify([input.toolID, seen]);
    if (this.told.has(key)) return;
    await this.guard("tool.definition", "", input, seen);
    this.told.add(key);
  }
  /** tell is an event that OpenCode does not wait for. What fails closes the session. */
  tell(event, session, input, then) {
    const next = this.last.then(async () => {
      let root = "";
      try {
        if (session) root = (await this.root(session)).root;
        const a = await this.decide(event, session, input, void 0);
        if (then) await then(a);
        else if (a.decision === "block") this.closed.set(root, a.reason);
      } catch (e) {
        this.closed.set(root, refusal(e).reason);
      }
    });
    this.last = next;
    return next;
  }
  /** bus takes an event of OpenCode's bus. */
  bus(event) {
    const of = isObject(event.properties) ? event.properties : {};
    const type = text(event.type);
    const info = isObject(of.info) ? of.info : {};
    if (type === "session.created" && text(info.id)) this.parents.set(text(info.id), text(info.parentID));
    if (type === "permission.asked") {
      void this.tell("permission.asked", text(of.sessionID), { event }, (a) => this.reply(of, a));
    } else if (!noise.some((n) => n.test(type))) {
      void this.tell("event", text(of.sessionID), { event });
    }
  }
  /** reply answers a question for a permission. Without a word of belay's the person, or OpenCode itself, answers. */
  async reply(of, a) {
    if (a.decision === "allow" && !a.grant) return;
    const response = a.decision === "allow" ? "once" : "reject";
    const path = { id: text(of.sessionID), permissionID: text(of.id) };
    const got = await this.client.postSessionIdPermissionsPermissionId({ path, body: { response } });
    if (got.error && response === "reject") throw new Error("belay: the permission could not be refused");
  }
};
function encode(event, payload) {
  return JSON.stringify(payload, (name, value) => {
    if (name === "url" && event !== "tool.execute.before" && typeof value === "string" && value.length > longURL && value.startsWith("data:")) {
      return `${value.slice(0, 64)};belay-omitted=${value.length}`;
    }
    return value;
  });
}
function slim(input) {
  const model = isObject(input.model) ? input.model : {};
  const provider = isObject(input.provider) ? input.provider : {};
  const info = isObject(provider.info) ? provider.info : provider;
  return {
    sessionID: input.sessionID,
    agent: input.agent,
    model: { id: model.id ?? model.modelID, providerID: model.providerID },
    provider: { id: info.id }
  };
}
function settled(config) {
  const names = ["plugin", "plugin_origins", "permission", "tools", "share", "model", "small_model", "autoupdate"];
  return Object.fromEntries(names.filter((n) => n in config).map((n) => [n, config[n]]));
}
function sessionOf(messages) {
  if (!Array.isArray(messages)) return "";
  for (const m of messages) {
    if (isObject(m) && isObject(m.info) && text(m.info.sessionID)) return text(m.info.sessionID);
  }
  return "";
}
var Belay = async (of) => {
  const host = new Host(BELAY_SETTINGS, of.client, of.directory);
  const plain = (event) => (input, output) => host.guard(event, text(input.sessionID), input, output);
  const request = (event) => (input, output) => host.guard(event, text(input.sessionID), slim(input), output);
  return {
    config: (config) => host.tell("config", "", settled(config)),
    // says that the plugin is there
    event: ({ event }) => host.bus(event),
    dispose: () => host.tell("dispose", "", void 0),
    "chat.message": plain("chat.message"),
    "command.execute.before": plain("command.execute.before"),
    "chat.params": request("chat.params"),
    "chat.headers": request("chat.headers"),
    "experimental.chat.system.transform": request("experimental.chat.system.transform"),
    "experimental.chat.messages.transform": (input, output) => host.guard("experimental.chat.messages.transform", sessionOf(output.messages), input, output),
    "experimental.provider.small_model": (input, output) => host.guard("experimental.provider.small_model", "", slim(input), output),
    "experimental.text.complete": plain("experimental.text.complete"),
    "experimental.session.compacting": plain("experimental.session.compacting"),
    "experimental.compaction.autocontinue": request("experimental.compaction.autocontinue"),
    "tool.definition": (input, output) => host.definition(input, output),
    "tool.execute.before": plain("tool.execute.before"),
    "tool.execute.after": plain("tool.execute.after"),
    "shell.env": plain("shell.env"),
    "permission.ask": (input, output) => host.guard("permission.ask", text(input.sessionID), input, output)
  };
};
export {
  Belay
};
