// The built plugin, as OpenCode loads it, against a belay-hook and a daemon of the test's own.
import assert from "node:assert/strict"
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pathToFileURL } from "node:url"

const built = readFileSync(new URL("../belay.js", import.meta.url), "utf8")
const root = mkdtempSync(join(tmpdir(), "belay-plugin-"))
after(() => rmSync(root, { recursive: true, force: true }))
let n = 0

// load has a plugin whose belay-hook is the shell script; it keeps the payload in the file "asked".
async function load(script, client = {}) {
  const dir = join(root, String(n++))
  mkdirSync(join(dir, "state"), { recursive: true, mode: 0o700 })
  const hook = join(dir, "belay-hook")
  writeFileSync(hook, `#!/bin/sh\ncat > '${dir}/asked'\n${script}\n`, { mode: 0o755 })
  const file = join(dir, "belay.mjs")
  const settings = JSON.stringify({ hook, state: join(dir, "state") })
  writeFileSync(file, `const BELAY_SETTINGS = ${settings}\n${built}`)
  const { Belay } = await import(pathToFileURL(file).href)
  const session = { get: async ({ path }) => ({ data: { id: path.id, parentID: client.parents?.[path.id] } }) }
  const hooks = await Belay({ client: { session, ...client }, directory: "/p" })
  return { dir, hooks, asked: () => JSON.parse(readFileSync(join(dir, "asked"), "utf8")) }
}

const call = { tool: "bash", sessionID: "s", callID: "c" }
const says = (doc, code = 0) => `printf '%s' '${typeof doc === "string" ? doc : JSON.stringify(doc)}'; exit ${code}`
const before = (p, args = { command: "ls" }) => {
  const output = { args }
  return p.hooks["tool.execute.before"](call, output).then(() => output)
}

test("an allow leaves the call, and a change is made in the object that OpenCode has", async () => {
  const same = await before(await load(says({ decision: "allow" })))
  assert.deepEqual(same, { args: { command: "ls" } })
  const args = { command: "ls", timeout: 7, deep: { a: [1, 2, 3] } }
  const set = [{ path: "/args/command", value: "pwd" }, { path: "/args/timeout" }, { path: "/args/deep/a", value: [4] }]
  const p = await load(says({ decision: "allow", set }))
  const out = await before(p, args)
  assert.equal(out.args, args)
  assert.deepEqual(args, { command: "pwd", deep: { a: [4] } })
  assert.deepEqual(p.asked(), { event: "tool.execute.before", directory: "/p", session: "s", input: call,
    output: { args: { command: "ls", timeout: 7, deep: { a: [1, 2, 3] } } } })
})

test("a whole object is filled, not replaced", async () => {
  const args = { command: "ls", gone: 1 }
  const out = await before(await load(says({ decision: "allow", set: [{ path: "/args", value: { command: "x" } }] })), args)
  assert.equal(out.args, args)
  assert.deepEqual(args, { command: "x" })
})

for (const [name, script] of Object.entries({
  "a block": says({ decision: "block", reason: "no" }),
  "no JSON": says("allowed"),
  "JSON that ends too early": says('{"decision":"allow"'),
  "nothing": "exit 0",
  "an allow with another status": says({ decision: "allow" }, 2),
  "another decision": says({ decision: "ALLOW" }),
  "a member that is not known": says({ decision: "allow", more: 1 }),
  "an allow with a reason": says({ decision: "allow", reason: "x" }),
  "a change without a path": says({ decision: "allow", set: [{ value: 1 }] }),
  "a change of what is not there": says({ decision: "allow", set: [{ path: "/args/a/b", value: 1 }] }),
  "changes that are no list": says({ decision: "allow", set: {} }),
  "a signal": "kill -9 $$",
  "a list": says("[]"),
})) {
  test(`${name} throws, and leaves nothing to run`, async () => {
    await assert.rejects(before(await load(script)), /./)
  })
}

test("a hook that is missing throws", async () => {
  const p = await load("exit 0")
  rmSync(join(p.dir, "belay-hook"))
  await assert.rejects(before(p), /belay: no decision could be made/)
})

test("a payload that cannot be written throws", async () => {
  const p = await load(says({ decision: "allow" }))
  await assert.rejects(before(p, { command: 1n }), /belay/)
})

test("a blocked text is replaced, since a throw would leave it", async () => {
  const p = await load(says({ decision: "block", reason: "secret" }))
  const output = { text: "the key is 1" }
  await p.hooks["experimental.text.complete"]({ sessionID: "s" }, output)
  assert.equal(output.text, "secret")
  const on = { enabled: true }
  await p.hooks["experimental.compaction.autocontinue"]({ sessionID: "s" }, on)
  assert.equal(on.enabled, false)
})

test("an event that cannot be held closes its session, and no other", async () => {
  const p = await load(`if grep -q '"event":"event"' '${root}'/*/asked; then ${says({ decision: "block", reason: "shut" })}; ` +
    `fi; ${says({ decision: "allow" })}`)
  await before(p)
  p.hooks.event({ event: { type: "session.error", properties: { sessionID: "s" } } })
  await p.hooks.dispose() // comes after the event
  writeFileSync(join(p.dir, "asked"), "{}")
  await assert.rejects(before(p), /shut/)
  await p.hooks["tool.execute.before"]({ ...call, sessionID: "t" }, { args: {} })
})

test("a subagent's session carries the person's, and one that OpenCode does not know throws", async () => {
  const p = await load(says({ decision: "allow" }), { parents: { child: "mid", mid: "top" } })
  await p.hooks["tool.execute.before"]({ ...call, sessionID: "child" }, { args: {} })
  assert.equal(p.asked().session, "top")
  assert.equal(p.asked().agent, "child")
  const lost = await load(says({ decision: "allow" }), { session: { get: async () => ({ error: "gone" }) } })
  await assert.rejects(before(lost), /does not know the session/)
})

test("a question for a permission is refused, granted or left to the person", async () => {
  for (const [answer, want] of [[{ decision: "block", reason: "no" }, "reject"],
    [{ decision: "allow", grant: true }, "once"], [{ decision: "allow" }, undefined]]) {
    const replies = []
    const p = await load(says(answer), { postSessionIdPermissionsPermissionId: async (o) => (replies.push(o), {}) })
    p.hooks.event({ event: { type: "permission.asked", properties: { id: "per", sessionID: "s", permission: "bash" } } })
    await p.hooks.dispose()
    assert.equal(replies[0]?.body.response, want)
    if (want) assert.deepEqual(replies[0].path, { id: "s", permissionID: "per" })
  }
})

test("nothing of a provider's options, and no long picture, is sent", async () => {
  const p = await load(says({ decision: "allow" }))
  await p.hooks["chat.headers"]({ sessionID: "s", provider: { id: "x", options: { apiKey: "k-1" } }, model: { id: "m" } },
    { headers: {} })
  assert.ok(!JSON.stringify(p.asked()).includes("k-1"))
  await p.hooks.config({ provider: { x: { options: { apiKey: "k-2" } } }, plugin: [] })
  assert.ok(!JSON.stringify(p.asked()).includes("k-2"))
  const parts = [{ type: "file", url: "data:image/png;base64," + "A".repeat(1 << 17) }]
  await p.hooks["chat.message"]({ sessionID: "s" }, { message: {}, parts })
  assert.ok(JSON.stringify(p.asked()).length < 1000)
  assert.equal(parts[0].url.length, 22 + (1 << 17))
})

test("every hook point of OpenCode's list has a home", async () => {
  const p = await load(says({ decision: "allow" }))
  for (const name of ["tool.execute.before", "tool.execute.after", "chat.message", "chat.params", "chat.headers",
    "permission.ask", "command.execute.before", "experimental.chat.messages.transform",
    "experimental.chat.system.transform", "experimental.session.compacting", "event", "config", "shell.env",
    "tool.definition", "experimental.text.complete", "experimental.compaction.autocontinue"]) {
    assert.equal(typeof p.hooks[name], "function", name)
  }
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

function frame(kind, doc, first = 0xbe) {
  const body = Buffer.from(JSON.stringify(doc))
  const head = Buffer.from([first, 1, kind, 0, 0, 0, 0, 0])
  head.writeUInt32BE(body.length, 4)
  return Buffer.concat([head, body])
}

test("the daemon is asked in one frame, and belay-hook is not started", async () => {
  const p = await load("exit 1")
  const asked = await serve(p, frame(0x82, { stdout: '{"decision":"allow"}', exit: 0 }))
  await before(p)
  assert.equal(asked[0].subarray(0, 4).toString("hex"), "be010200")
  assert.equal(asked[0].subarray(8, 17).toString(), "\bopencode")
  assert.throws(() => p.asked(), /ENOENT/)
})

for (const [name, answer] of Object.entries({
  "a problem": frame(0x83, { status: 500, error: "full" }),
  "another kind": frame(0x81, { decision: "allow" }),
  "another first byte": frame(0x82, { stdout: '{"decision":"allow"}', exit: 0 }, 0x48),
  "an exit status": frame(0x82, { stdout: '{"decision":"allow"}', exit: 2 }),
  "more than one answer": Buffer.concat([frame(0x82, { stdout: '{"decision":"allow"}', exit: 0 }), Buffer.from("x")]),
})) {
  test(`${name} of a daemon throws`, async () => {
    const p = await load(says({ decision: "allow" }))
    await serve(p, answer)
    await assert.rejects(before(p), /./)
  })
}

test("a socket that others can write is not asked", async () => {
  const p = await load(says({ decision: "allow" }))
  const asked = await serve(p, frame(0x82, { stdout: '{"decision":"allow"}', exit: 0 }), 0o666)
  await before(p)
  assert.equal(asked.length, 0)
})
