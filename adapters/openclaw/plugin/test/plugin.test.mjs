// The built plugin, as OpenClaw loads it, against a belay-hook and a daemon of the test's own.
import assert from "node:assert/strict"
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pathToFileURL } from "node:url"

const built = readFileSync(new URL("../belay.js", import.meta.url), "utf8")
const blocks = JSON.parse(readFileSync(new URL("../../testdata/golden/blocks.json", import.meta.url), "utf8"))
const phases = JSON.parse(readFileSync(new URL("../../testdata/phase-map.json", import.meta.url), "utf8"))
const root = mkdtempSync(join(tmpdir(), "belay-plugin-"))
after(() => rmSync(root, { recursive: true, force: true }))
let n = 0

// load has a plugin whose belay-hook is the shell script; it keeps the payload in the file "asked".
async function load(script, config = {}) {
  const dir = join(root, String(n++))
  mkdirSync(join(dir, "state"), { recursive: true, mode: 0o700 })
  const hook = join(dir, "belay-hook")
  writeFileSync(hook, `#!/bin/sh\ncat > '${dir}/asked'\n${script}\n`, { mode: 0o755 })
  const file = join(dir, "belay.mjs")
  writeFileSync(file, `const BELAY_SETTINGS = ${JSON.stringify({ hook, state: join(dir, "state") })}\n${built}`)
  const hooks = {}
  const options = {}
  const plugin = (await import(pathToFileURL(file).href)).default
  plugin.register({ config, on: (name, f, o) => { hooks[name] = f; options[name] = o },
    registerAgentToolResultMiddleware: (f, o) => { hooks.agent_tool_result = f; options.agent_tool_result = o } })
  return { dir, hooks, options, plugin, asked: () => JSON.parse(readFileSync(join(dir, "asked"), "utf8")) }
}

const says = (doc, code = 0) => `printf '%s' '${typeof doc === "string" ? doc : JSON.stringify(doc)}'; exit ${code}`
const value = (v) => says({ decision: "allow", set: [{ path: "", value: v }] })
const ctx = { agentId: "main", sessionKey: "agent:main:main", runId: "r", workspaceDir: "/p" }
const call = (params = { command: "ls" }) => ({ toolName: "exec", params, runId: "r", toolCallId: "c" })
const before = (p, params, more) => p.hooks.before_tool_call(call(params), { ...ctx, toolName: "exec", ...more })

test("an allowed call has the arguments that belay decided, over those of other plugins", async () => {
  const p = await load(says({ decision: "allow" }))
  assert.deepEqual(await before(p), { params: { command: "ls" } })
  assert.deepEqual(p.asked(), { hook: "before_tool_call", directory: "/p", session: "agent:main:main", person: false,
    event: call(), ctx: { ...ctx, toolName: "exec" } })
  assert.equal(p.options.before_tool_call.priority, Number.MIN_SAFE_INTEGER)
  assert.deepEqual(await before(await load(value({ params: { command: "pwd" } }))), { params: { command: "pwd" } })
})

for (const [name, script] of Object.entries({
  "a block": says({ decision: "block", reason: "no", set: [{ path: "", value: { block: true, blockReason: "no" } }] }),
  "no JSON": says("allowed"),
  "JSON that ends too early": says('{"decision":"allow"'),
  "nothing": "exit 0",
  "an allow with another status": says({ decision: "allow" }, 2),
  "another decision": says({ decision: "ALLOW" }),
  "a member that is not known": says({ decision: "allow", more: 1 }),
  "a change at another path": says({ decision: "allow", set: [{ path: "/params", value: {} }] }),
  "two changes": says({ decision: "allow", set: [{ path: "", value: {} }, { path: "", value: {} }] }),
  "a value that is no object": says({ decision: "allow", set: [{ path: "", value: "x" }] }),
  "a signal": "kill -9 $$",
})) {
  test(`${name} blocks a call, a run and an install`, async () => {
    const p = await load(script)
    const got = await before(p)
    assert.equal(got.block, true)
    assert.ok(got.blockReason)
    const run = await p.hooks.before_agent_run({ prompt: "x" }, ctx)
    assert.equal(run.outcome, "block")
    assert.ok(run.reason && run.message)
    assert.equal((await p.hooks.before_install({ targetName: "x" }, {})).block, true)
  })
}

test("a hook that is missing, and a payload that cannot be written, block", async () => {
  const p = await load("exit 0")
  rmSync(join(p.dir, "belay-hook"))
  assert.match((await before(p)).blockReason, /no decision could be made/)
  assert.equal((await before(await load(says({ decision: "allow" })), { command: 1n })).block, true)
})

test("each hook of the map is there, and blocks in belay's own form", async () => {
  const message = { role: "assistant", content: [{ type: "text", text: "the key is 1" }, { type: "toolCall", id: "c",
    name: "exec", arguments: { command: "ls" } }], details: { aggregated: "x" }, timestamp: 1 }
  for (const hook of Object.keys(phases).filter((h) => !h.includes("["))) {
    if (["before_agent_start", "subagent_spawning"].includes(hook)) continue // of older versions
    const p = await load(says({ decision: "block", reason: "belay: store: no" }))
    assert.equal(typeof p.hooks[hook], "function", hook)
    const got = await p.hooks[hook]({ message, toolName: "x" }, { sessionKey: "s" })
    assert.deepEqual(got ?? null, blocks[hook], hook)
    if (blocks[hook] === null || hook === "before_agent_finalize") { // nothing was held: the session is closed
      writeFileSync(join(p.dir, "belay-hook"), `#!/bin/sh\ncat >/dev/null\n${says({ decision: "allow" })}\n`)
      assert.equal((await before(p, {}, { sessionKey: "s" })).blockReason, "belay: store: no", hook)
    }
  }
})

test("a session that was closed closes no other", async () => {
  const p = await load(`if grep -q session_start "$(dirname "$0")/asked"; then ${says({ decision: "block", reason: "shut" })}; fi; ` +
    says({ decision: "allow" }))
  await p.hooks.session_start({ sessionId: "x" }, { sessionKey: "s" })
  writeFileSync(join(p.dir, "asked"), "{}")
  assert.equal((await before(p, {}, { sessionKey: "s" })).blockReason, "shut")
  assert.equal((await before(p, {}, { sessionKey: "t" })).block, undefined)
})

test("the synchronous hooks return no promise, and a failure leaves nothing of the text", async () => {
  const message = { role: "toolResult", toolCallId: "c", content: [{ type: "text", text: "the key is 1" }], details: { a: 1 } }
  for (const hook of ["tool_result_persist", "before_message_write"]) {
    const p = await load(value({ message: { ...message, content: [] } }))
    assert.deepEqual(p.hooks[hook]({ message }, ctx), { message: { ...message, content: [] } })
    assert.deepEqual(p.hooks[hook]({ message }, ctx), { message: { ...message, content: [] } }) // the same worker
    assert.equal(p.asked().hook, hook)
    const lost = await load("exit 0")
    const got = lost.hooks[hook]({ message }, ctx)
    assert.ok(!JSON.stringify(got).includes("the key"))
    assert.equal(got.message.toolCallId, "c")
    const same = await load(says({ decision: "allow" }))
    assert.equal(same.hooks[hook]({ message }, ctx), undefined)
  }
})

test("what the model reads of a result is belay's, and the call is not told of again", async () => {
  const result = { content: [{ type: "text", text: "[removed]" }], details: {} }
  const p = await load(value({ result }))
  const event = { toolName: "exec", toolCallId: "c", args: {}, result: { content: [{ type: "text", text: "key" }] } }
  assert.deepEqual(await p.hooks.agent_tool_result(event, ctx), { result })
  rmSync(join(p.dir, "asked"))
  await p.hooks.after_tool_call({ toolName: "exec", toolCallId: "c", params: {}, result: "x" }, ctx)
  assert.throws(() => p.asked(), /ENOENT/)
  const hooks = {} // OpenClaw registers the plugin once more for the middleware
  p.plugin.register({ on: () => {}, registerAgentToolResultMiddleware: (f) => { hooks.again = f } })
  await hooks.again({ ...event, toolCallId: "e" }, ctx)
  rmSync(join(p.dir, "asked"))
  await p.hooks.after_tool_call({ toolName: "exec", toolCallId: "e", params: {}, result: "x" }, ctx)
  assert.throws(() => p.asked(), /ENOENT/)
  await p.hooks.after_tool_call({ toolName: "exec", toolCallId: "d", params: {}, result: "x" }, ctx)
  assert.equal(p.asked().hook, "after_tool_call")
})

test("a subagent's session carries the person's", async () => {
  const p = await load(says({ decision: "allow" }))
  await p.hooks.subagent_spawned({ childSessionKey: "agent:main:subagent:1", agentId: "main" }, { requesterSessionKey: ctx.sessionKey })
  await before(p, {}, { sessionKey: "agent:main:subagent:1" })
  assert.equal(p.asked().session, ctx.sessionKey)
  assert.equal(p.asked().agent, "agent:main:subagent:1")
})

test("a person is there in a gateway's run of a user alone", async () => {
  const p = await load(says({ decision: "allow" }))
  const asked = async (trigger) => {
    await p.hooks.before_model_resolve({ prompt: "x" }, { ...ctx, runId: trigger, trigger })
    await before(p, {}, { runId: trigger })
    return p.asked().person
  }
  assert.equal(await asked("user"), false)
  await p.hooks.gateway_start({ port: 1 }, {})
  assert.equal(await asked("user"), true)
  assert.equal(await asked("cron"), false)
})

test("no conversation, no configuration and no long picture is sent; a picture comes back whole", async () => {
  const p = await load(says({ decision: "allow" }))
  await p.hooks.before_agent_run({ prompt: "x", messages: [{ a: "old-1" }], systemPrompt: "old-2" }, { ...ctx, cfg: "key-1" })
  assert.ok(!/old-|key-/.test(JSON.stringify(p.asked())))
  await p.hooks.reply_dispatch({ ctx: { Body: "x", secret: "key-2" }, images: ["key-3"] }, { cfg: { k: "key-4" } })
  assert.ok(!/key-/.test(JSON.stringify(p.asked())))
  assert.equal(p.asked().event.ctx.Body, "x")
  const data = "A".repeat(1 << 17)
  const event = { toolName: "x", toolCallId: "p", args: {}, result: { content: [{ type: "image", mimeType: "a/b", data }] } }
  const back = await load(value({ result: { content: [{ type: "image", mimeType: "a/b", data: `belay-omitted:0:${data.length}` }] } }))
  assert.deepEqual(await back.hooks.agent_tool_result(event, ctx), { result: event.result })
  assert.ok(JSON.stringify(back.asked()).length < 1000)
})

// serve has a daemon that answers each question with the bytes.
async function serve(p, answer, mode = 0o600) {
  const path = join(p.dir, "state", "frame.sock")
  const asked = []
  const server = createServer((c) => c.on("data", (d) => {
    asked.push(d)
    if (answer) c.write(answer)
  }).on("error", () => {}))
  await new Promise((done) => server.listen(path, done))
  chmodSync(path, mode)
  after(() => server.close())
  return asked
}

function frame(kind, doc) {
  const body = Buffer.from(JSON.stringify(doc))
  const head = Buffer.from([0xbe, 1, kind, 0, 0, 0, 0, 0])
  head.writeUInt32BE(body.length, 4)
  return Buffer.concat([head, body])
}

test("the daemon is asked in one frame, and belay-hook is not started", async () => {
  const p = await load("exit 1")
  const asked = await serve(p, frame(0x82, { stdout: '{"decision":"allow"}', exit: 0 }))
  assert.equal((await before(p)).block, undefined)
  assert.equal(asked[0].subarray(8, 17).toString(), "\bopenclaw")
  assert.throws(() => p.asked(), /ENOENT/)
})

for (const [name, answer] of Object.entries({
  "a problem": frame(0x83, { status: 500, error: "full" }),
  "an exit status": frame(0x82, { stdout: '{"decision":"allow"}', exit: 2 }),
})) {
  test(`${name} of a daemon blocks`, async () => {
    const p = await load(says({ decision: "allow" }))
    await serve(p, answer)
    assert.equal((await before(p)).block, true)
  })
}
