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
  const text3 = why instanceof Error ? why.message : String(why);
  return { decision: "block", reason: `belay: no decision could be made: ${text3}`.slice(0, 2e3), set: [], grant: false };
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

// ../../internal/ts/sync.ts
import {
  isMainThread,
  MessageChannel,
  receiveMessageOnPort,
  Worker,
  workerData
} from "node:worker_threads";
var deadline2 = 3e4;
var mark = "belay-asks";
var Asker = class {
  /** program is the URL of the plugin's file; patience is how long an answer may take, in milliseconds. */
  constructor(settings, program, patience = deadline2) {
    this.settings = settings;
    this.program = program;
    this.patience = patience;
  }
  worker;
  port;
  flag = new Int32Array(new SharedArrayBuffer(4));
  /** ask returns belay's answer. It never throws: an error is an answer that blocks. */
  ask(runtime2, event, payload) {
    try {
      const port = this.start();
      const before = Atomics.load(this.flag, 0);
      port.postMessage({ runtime: runtime2, event, payload });
      const waited = Atomics.wait(this.flag, 0, before, this.patience);
      if (waited === "timed-out") throw new Error("the worker did not answer in time");
      const got = receiveMessageOnPort(port);
      if (!got) throw new Error("the worker gave no answer");
      return got.message;
    } catch (e) {
      this.stop();
      return refusal(e);
    }
  }
  start() {
    if (this.port) return this.port;
    const { port1, port2 } = new MessageChannel();
    const data = { [mark]: true, settings: this.settings, port: port2, flag: this.flag };
    const worker = new Worker(new URL(this.program), { workerData: data, transferList: [port2], execArgv: [] });
    worker.unref();
    port1.unref();
    worker.on("error", () => this.stop());
    this.worker = worker;
    this.port = port1;
    return port1;
  }
  /** stop ends the worker: an answer that comes too late is none to a later question. */
  stop() {
    void this.worker?.terminate();
    this.port?.close();
    this.worker = void 0;
    this.port = void 0;
  }
};
function serve() {
  const data = workerData;
  if (isMainThread || !data || data[mark] !== true) return;
  const { settings, port, flag } = data;
  port.on("message", (q) => {
    void ask(settings, q.runtime, q.event, q.payload).then((answer) => {
      port.postMessage(answer);
      Atomics.add(flag, 0, 1);
      Atomics.notify(flag, 0);
    });
  });
}

// src/blocks.ts
var synchronous = /* @__PURE__ */ new Set(["tool_result_persist", "before_message_write"]);
function blocked(hook, event, reason) {
  switch (hook) {
    case "before_tool_call":
    case "before_install":
      return { block: true, blockReason: reason };
    case "before_agent_run":
      return { outcome: "block", reason, message: reason };
    case "before_agent_reply":
    case "inbound_claim":
      return { handled: true, reply: { text: reason } };
    case "before_dispatch":
      return { handled: true, text: reason };
    case "reply_dispatch":
      return { handled: true, queuedFinal: false, counts: { tool: 0, block: 0, final: 0 } };
    case "before_agent_finalize":
      return { action: "finalize", reason };
    case "message_sending":
      return { cancel: true, cancelReason: reason };
    case "reply_payload_sending":
      return { cancel: true, reason };
    case "skill_proposal_evaluate":
      return { decision: "block", summary: reason };
    case "subagent_spawning":
      return { status: "error", error: reason };
    case "agent_tool_result":
      return { result: { content: [{ type: "text", text: reason }], details: { status: "blocked" } } };
    case "tool_result_persist":
    case "before_message_write":
      return { message: withheld(event.message, reason) };
  }
  return void 0;
}
var envelope = [
  "role",
  "toolCallId",
  "toolName",
  "isError",
  "timestamp",
  "api",
  "provider",
  "model",
  "usage",
  "stopReason",
  "responseId",
  "idempotencyKey",
  "customType",
  "display"
];
function withheld(message, reason) {
  const of = isObject(message) ? message : {};
  const out = {};
  for (const [name, value] of Object.entries(of)) if (envelope.includes(name)) out[name] = value;
  if (typeof out.role !== "string" || out.role === "") {
    return { role: "user", content: [{ type: "text", text: reason }] };
  }
  if (typeof of.content === "string" || isObject(of.content)) return { ...out, content: reason };
  const calls = (Array.isArray(of.content) ? of.content : []).filter((c) => isObject(c) && c.type === "toolCall");
  return { ...out, content: [
    { type: "text", text: reason },
    ...calls.map((c) => ({ type: "toolCall", id: text(c.id), name: text(c.name), arguments: {} }))
  ] };
}
function text(v) {
  return typeof v === "string" ? v : "";
}

// src/payload.ts
var longData = 64 << 10;
var contextNames = [
  "agentId",
  "sessionKey",
  "sessionId",
  "runId",
  "jobId",
  "trigger",
  "channel",
  "channelId",
  "messageProvider",
  "accountId",
  "senderId",
  "chatId",
  "conversationId",
  "toolName",
  "toolCallId",
  "toolKind",
  "toolInputKind",
  "requester",
  "workspaceDir",
  "modelProviderId",
  "modelId",
  "childSessionKey",
  "requesterSessionKey",
  "dispatchKind",
  "targetType",
  "requestKind",
  "origin",
  "runtime"
];
var conversation = ["messages", "historyMessages", "systemPrompt", "tools", "images"];
function slimContext(ctx) {
  return pick(ctx, contextNames);
}
function slimEvent(hook, event) {
  if (hook === "reply_dispatch") {
    const of = isObject(event.ctx) ? event.ctx : {};
    return {
      ...pick(event, ["runId", "sessionKey", "inboundAudio", "sendPolicy", "toolsAllow"]),
      ctx: pick(of, ["Body", "BodyForAgent", "SessionKey", "From", "To", "Provider"])
    };
  }
  if (hook.startsWith("gateway_")) return pick(event, ["port", "reason"]);
  return Object.fromEntries(Object.entries(event).filter(([name]) => !conversation.includes(name)));
}
function pick(of, names) {
  return Object.fromEntries(names.filter((n) => of[n] !== void 0).map((n) => [n, of[n]]));
}
function encode(payload, pictures) {
  return JSON.stringify(payload, function(name, value) {
    const picture = name === "data" && isObject(this) && this.type === "image";
    if (picture && typeof value === "string" && value.length > longData) {
      const key = `belay-omitted:${pictures.size}:${value.length}`;
      pictures.set(key, value);
      return key;
    }
    return value;
  });
}
function restore(value, pictures) {
  if (pictures.size === 0) return value;
  return JSON.parse(JSON.stringify(value), (name, v) => name === "data" && typeof v === "string" ? pictures.get(v) ?? v : v);
}

// src/plugin.ts
var runtime = "openclaw";
var timeoutMs = 3e4;
var middleware = "agent_tool_result";
var deepest = 32;
var most = 4096;
var last = [
  "before_tool_call",
  "message_sending",
  "reply_payload_sending",
  "resolve_exec_env",
  "tool_result_persist",
  "before_message_write"
];
var first = [
  "before_agent_run",
  "before_agent_reply",
  "inbound_claim",
  "before_dispatch",
  "reply_dispatch",
  "before_model_resolve",
  "before_prompt_build",
  "agent_turn_prepare",
  "heartbeat_prompt_contribution",
  "before_agent_finalize",
  "after_tool_call",
  "before_install",
  "skill_proposal_evaluate",
  "session_start",
  "session_end",
  "before_reset",
  "before_compaction",
  "after_compaction",
  "subagent_delivery_target",
  "subagent_spawned",
  "subagent_progress",
  "subagent_ended",
  "agent_end",
  "channel_pairing_requested",
  "cron_changed",
  "cron_reconciled",
  "gateway_start",
  "gateway_stop",
  "llm_input",
  "llm_output",
  "message_received",
  "message_sent",
  "model_call_ended",
  "model_call_started",
  "skill_changed",
  "skill_proposal_changed"
];
function text2(v) {
  return typeof v === "string" ? v : "";
}
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) for (const oldest of map.keys()) return void map.delete(oldest);
}
var Host = class _Host {
  // of the hooks that hold nothing up
  constructor(settings, api, program) {
    this.settings = settings;
    this.api = api;
    this.asker = new Asker(settings, program);
  }
  parents = /* @__PURE__ */ new Map();
  // the session that started a subagent's
  directories = /* @__PURE__ */ new Map();
  // of sessions
  triggers = /* @__PURE__ */ new Map();
  // of runs
  closed = /* @__PURE__ */ new Map();
  // sessions that may not go on, and why; "": all of them
  decided = /* @__PURE__ */ new Map();
  // calls whose results belay has decided
  asker;
  gateway = false;
  // a person's surface can be there
  told = Promise.resolve();
  /** one is the host of this process: OpenClaw registers a plugin once for its hooks, and once for the middleware. */
  static one(settings, api, program) {
    const key = Symbol.for(`belay.openclaw:${JSON.stringify(settings)}`);
    const all = globalThis;
    const host = all[key] ??= new _Host(settings, api, program);
    host.api = api;
    return host;
  }
  /** root returns the session that a person began, and the agent's name in it: "" for the main agent. */
  root(session) {
    let at = session;
    for (let i = 0; i < deepest; i++) {
      const parent = this.parents.get(at);
      if (!parent || parent === at) return { root: at, agent: at === session ? "" : session };
      at = parent;
    }
    throw new Error("subagents nest too deep");
  }
  /** learn keeps what later hooks do not tell again. */
  learn(hook, event, ctx) {
    const session = text2(ctx.sessionKey);
    if (hook === "gateway_start") this.gateway = true;
    if (text2(ctx.runId) && text2(ctx.trigger)) remember(this.triggers, text2(ctx.runId), text2(ctx.trigger));
    if (session && text2(ctx.workspaceDir)) remember(this.directories, session, text2(ctx.workspaceDir));
    const child = text2(event.childSessionKey);
    const requester = text2(ctx.requesterSessionKey) || text2(event.requesterSessionKey);
    if (hook.startsWith("subagent_") && child && requester) remember(this.parents, child, requester);
    if (hook === middleware && event.toolName === "sessions_spawn" && session) {
      const details = isObject(event.result) && isObject(event.result.details) ? event.result.details : {};
      if (text2(details.childSessionKey)) remember(this.parents, text2(details.childSessionKey), session);
    }
  }
  directory(session, event, ctx) {
    const config = isObject(this.api.config) ? this.api.config : {};
    const agents = isObject(config.agents) ? config.agents : {};
    const defaults = isObject(agents.defaults) ? agents.defaults : {};
    return text2(ctx.workspaceDir) || text2(event.cwd) || (this.directories.get(session) ?? "") || text2(defaults.workspace) || process.cwd();
  }
  /** question is the payload for belay, or the answer of a session that was closed. */
  question(hook, event, ctx, pictures) {
    this.learn(hook, event, ctx);
    const session = text2(ctx.sessionKey) || text2(event.sessionKey) || text2(ctx.requesterSessionKey);
    const { root, agent } = this.root(session);
    const closed = this.closed.get(root) ?? this.closed.get("");
    if (closed) return { root, ask: "", closed };
    const of = { hook, directory: this.directory(session, event, ctx) };
    if (root) of.session = root;
    if (agent) of.agent = agent;
    const person = this.gateway && this.triggers.get(text2(ctx.runId)) === "user";
    if (hook === "before_tool_call") of.person = person;
    return { root, ask: encode({ ...of, event: slimEvent(hook, event), ctx: slimContext(ctx) }, pictures) };
  }
  /** settle is what the hook returns. A block that it has no value for closes the session. */
  settle(hook, event, root, a, pictures) {
    if (a.decision === "allow") {
      try {
        const value2 = returned(a);
        if (hook === "before_tool_call") return { ...value2, params: value2?.params ?? event.params };
        return restore(value2, pictures);
      } catch (e) {
        a = refusal(e);
      }
    }
    const value = blocked(hook, event, a.reason);
    if (value === void 0 || hook === "before_agent_finalize") this.closed.set(root, a.reason);
    return value;
  }
  /** hold is a hook that OpenClaw waits for. */
  async hold(hook, event, ctx) {
    const pictures = /* @__PURE__ */ new Map();
    if (hook === middleware) remember(this.decided, text2(event.toolCallId), true);
    let root = "";
    let a;
    try {
      const q = this.question(hook, event, ctx, pictures);
      root = q.root;
      a = q.closed ? { decision: "block", reason: q.closed, set: [], grant: false } : await ask(this.settings, runtime, hook, q.ask);
    } catch (e) {
      a = refusal(e);
    }
    return this.settle(hook, event, root, a, pictures);
  }
  /** once is hold for a hook that has to return at once. */
  once(hook, event, ctx) {
    const pictures = /* @__PURE__ */ new Map();
    let root = "";
    let a;
    try {
      const q = this.question(hook, event, ctx, pictures);
      root = q.root;
      a = q.closed ? { decision: "block", reason: q.closed, set: [], grant: false } : this.asker.ask(runtime, hook, q.ask);
    } catch (e) {
      a = refusal(e);
    }
    return this.settle(hook, event, root, a, pictures);
  }
  /** tell is a hook that can hold nothing up. They are asked one after the other. */
  tell(hook, event, ctx) {
    if (hook === "after_tool_call" && this.decided.has(text2(event.toolCallId))) return Promise.resolve();
    const next = this.told.then(() => this.hold(hook, event, ctx));
    this.told = next;
    return next;
  }
};
function returned(a) {
  if (a.set.length === 0) return void 0;
  const c = a.set[0];
  if (a.set.length > 1 || c?.path !== "" || !isObject(c.value)) {
    throw new Error("the answer has no value that a hook returns");
  }
  return c.value;
}
var read = /* @__PURE__ */ new Set([
  ...last,
  ...first.slice(0, 10),
  "before_install",
  "skill_proposal_evaluate",
  "subagent_delivery_target"
]);
var plugin = {
  id: "belay",
  name: "belay",
  description: "Asks belay about everything that an agent does",
  register(api) {
    const host = Host.one(BELAY_SETTINGS, api, import.meta.url);
    const add = (hook, priority) => {
      const handler = synchronous.has(hook) ? (event, ctx) => host.once(hook, event ?? {}, ctx ?? {}) : read.has(hook) ? (event, ctx) => host.hold(hook, event ?? {}, ctx ?? {}) : (event, ctx) => host.tell(hook, event ?? {}, ctx ?? {});
      api.on(hook, handler, synchronous.has(hook) ? { priority } : { priority, timeoutMs });
    };
    for (const hook of last) add(hook, Number.MIN_SAFE_INTEGER);
    for (const hook of first) add(hook, Number.MAX_SAFE_INTEGER);
    api.registerAgentToolResultMiddleware(
      (event, ctx) => host.hold(middleware, event, ctx),
      { runtimes: ["openclaw", "codex"] }
    );
  }
};
serve();
var plugin_default = plugin;
export {
  plugin_default as default
};
