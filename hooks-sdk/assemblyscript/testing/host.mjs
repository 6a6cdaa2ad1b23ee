// Stands in for belay in tests that node runs:
//
//     const got = new Host({ tool: "exec", args: { command: "reboot" } }).run(load("guard.wasm"), "pre_tool");
//     assert.equal(got.blocked, "no reboots");
//
// It answers reads and state, keeps effects in a list, and gives analysis and other calls the replies that the test has
// set. It never judges: capabilities, limits, budgets and what is legal in a phase are the real host's, and `belay test`
// runs a hook there.

import { readFileSync } from "node:fs";

const ABSENT = -1, INVALID = -3, UNAVAILABLE = -7;
const KINDS = { boolean: 1, number: 2, string: 3 };
const REWRITES = ["json", "text", "remove"];
const TRAP = Symbol("the hook ended itself");

/** Compiles a module, by its file. */
export function load(file) {
  return new WebAssembly.Module(readFileSync(file));
}

/** Answers one call of a phase function. */
export class Host {
  #input;
  #config = null;
  #replies = new Map();
  #codes = new Map();
  #state = new Map();
  #time = 0n;

  /** input: the members of the action and of the invocation, side by side. */
  constructor(input) {
    this.#input = input;
  }

  /** Sets the configuration. */
  config(value) {
    this.#config = value;
    return this;
  }

  /** Sets what a call such as "shell_parse" replies. Without it the call answers that it is not available. */
  reply(call, document) {
    this.#replies.set(call, document);
    return this;
  }

  /** Lets a call answer an errno, and explain itself in a document, such as {reason: "..."}. */
  refuse(call, errno, document) {
    this.#codes.set(call, errno);
    if (document !== undefined) this.#replies.set(call, document);
    return this;
  }

  /** Sets the text under a state key. */
  state(key, text) {
    this.#state.set(key, Buffer.from(text));
    return this;
  }

  /** Sets the invocation's time, in nanoseconds since 1970: a BigInt. */
  time(nanoseconds) {
    this.#time = nanoseconds;
    return this;
  }

  /**
   * Calls a phase function in a new instance. Returns {status, trap, failed, blocked, effects, logs, state}: what the
   * function returned, whether the hook broke, the text of fail, the first reason of block, and the rest in order. As on
   * the real host, a failure drops all effects.
   */
  run(module, phase) {
    const out = { status: 1, trap: "", failed: "", blocked: "", effects: [], logs: [], state: {} };
    let memory, refused = false, reply = Buffer.alloc(0), drawn = 0;
    const state = new Map(this.#state);
    const bytes = (p, n) => {
      if (p + n > memory.buffer.byteLength) throw new Error("a range outside of memory");
      return Buffer.from(memory.buffer.slice(p, p + n));
    };
    const text = (p, n) => bytes(p, n).toString("utf8");
    const give = (value, d, c) => {
      if (value.length <= c) new Uint8Array(memory.buffer).set(value, d);
      return value.length;
    };
    const read = (name, document) => ({
      read: (d, c) => give(Buffer.from(JSON.stringify(document)), d, c),
      get: (p, n, d, c) => {
        const code = this.#codes.get(name + "_get");
        const path = text(p, n);
        if (code < 0 || (path !== "" && !path.startsWith("/"))) return code ?? INVALID;
        const value = find(document, path);
        return value === undefined ? ABSENT : give(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)), d, c);
      },
      kind: (p, n) => kindOf(find(document, text(p, n))),
      keys: (p, n) => {
        const value = find(document, text(p, n));
        if (typeof value !== "object" || value === null) return ABSENT;
        reply = Buffer.from(JSON.stringify(Array.isArray(value) ? value.length : Object.keys(value)));
        return reply.length;
      },
    });
    const effect = (call, effect) => {
      const code = this.#codes.get(call) ?? 0;
      if (code < 0) refused = true;
      else out.effects.push({ call, ...effect });
      return code;
    };
    const one = (call) => (p, n) => effect(call, { value: text(p, n) });
    const asked = (call) => (p, n) => {
      text(p, n);
      const document = this.#replies.get(call);
      const code = this.#codes.get(call) ?? (document === undefined ? UNAVAILABLE : 0);
      reply = document === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(document));
      return code < 0 ? code : reply.length;
    };
    const input = read("input", this.#input), config = read("config", this.#config);
    const functions = {
      input_read: input.read, input_get: input.get, input_kind: input.kind, input_keys: input.keys,
      config_read: config.read, config_get: config.get, config_kind: config.kind, config_keys: config.keys,
      reply_read: (d, c) => give(reply, d, c),
      log: (level, p, n) => (out.logs.push({ level, text: text(p, n) }), 0),
      fail: (p, n) => (out.failed = text(p, n), 0),
      rewrite: (p, n, vp, vn, kind) => kind in REWRITES
        ? effect("rewrite", { path: text(p, n), value: text(vp, vn), kind: REWRITES[kind] }) : INVALID,
      redact: (p, n, vp, vn) => effect("redact", { path: text(p, n), value: text(vp, vn) }),
      annotate: (p, n, vp, vn) => effect("annotate", { path: text(p, n), value: text(vp, vn) }),
      state_get: (p, n, d, c) => this.#codes.get("state_get") ?? (state.has(text(p, n)) ? give(state.get(text(p, n)), d, c) : ABSENT),
      state_put: (p, n, vp, vn) => {
        const code = this.#codes.get("state_put") ?? 0;
        if (code === 0 && vn === 0) state.delete(text(p, n));
        else if (code === 0) state.set(text(p, n), bytes(vp, vn));
        return code;
      },
      time_now: () => this.#time,
      random: (d, n) => {
        const code = this.#codes.get("random") ?? 0;
        for (let i = 0; i < n && code === 0; i++) new Uint8Array(memory.buffer)[d + i] = (drawn++ * 167 + 13) & 255;
        return code;
      },
    };
    for (const call of ["block", "request_approval", "clamp_scopes", "add_context", "retry", "reply", "put_artifact", "grant"]) {
      functions[call] = one(call);
    }
    for (const call of ["shell_parse", "path_resolve", "pattern_match", "find_secrets", "request_tool_call", "request_lease",
      "check_lease", "mint_lease", "revoke_lease", "http_request"]) {
      functions[call] = asked(call);
    }
    const env = { abort: () => { throw TRAP; }, seed: () => 1 };
    const instance = new WebAssembly.Instance(module, { belay_v1: functions, env });
    memory = instance.exports.memory;
    try {
      instance.exports._initialize?.();
      out.status = instance.exports[phase]();
    } catch (err) {
      if (err !== TRAP && !(err instanceof WebAssembly.RuntimeError)) throw err;
      out.trap = err === TRAP ? "abort" : err.message;
    }
    if (refused) out.status = out.status || 1;
    if (out.status !== 0) out.effects = [];
    out.blocked = out.effects.find((e) => e.call === "block")?.value ?? "";
    for (const [key, value] of state) out.state[key] = value.toString("utf8");
    return out;
  }
}

function kindOf(value) {
  if (value === undefined) return ABSENT;
  if (value === null) return 0;
  return KINDS[typeof value] ?? (Array.isArray(value) ? 4 : 5);
}

/** The value at a JSON Pointer. */
function find(document, pointer) {
  if (pointer === "") return document;
  let value = document;
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value) && !/^(0|[1-9][0-9]*)$/.test(name)) return undefined;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}
