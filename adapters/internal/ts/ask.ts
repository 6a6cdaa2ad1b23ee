// What the plugins for agent runtimes share: they ask belay about one event, with a deadline, and read the answer
// strictly. Whatever goes wrong is an answer that blocks. It uses node's own modules only, and keeps no state, so that
// a worker may call it while its main thread waits (Atomics.wait).
import { spawn } from "node:child_process"
import { lstatSync } from "node:fs"
import { createConnection } from "node:net"
import { dirname, join } from "node:path"

/** How a plugin reaches belay. Paths are absolute. */
export interface Settings {
  hook: string // belay-hook
  state?: string // the state directory
  connect?: string // in place of it: the directory of another user's daemon
}

/** One change of the event's output. Without a value the member is taken out. */
export interface Change {
  path: string // a JSON pointer
  value?: unknown
}

/** What belay has decided. */
export interface Answer {
  decision: "allow" | "block"
  reason: string // of a block; never empty then
  set: Change[]
  grant: boolean // the runtime may spare its own question
}

const deadline = 25_000 // milliseconds; what belay itself takes at most
const lastWord = 3_000 // more, for the last byte of an answer that belay-hook gives at its own deadline
const maxFrame = 4 << 20 // bytes of a question
const maxAnswer = 64 << 20 // bytes

/** refusal is the answer when belay could not be asked. */
export function refusal(why: unknown): Answer {
  const text = why instanceof Error ? why.message : String(why)
  return { decision: "block", reason: `belay: no decision could be made: ${text}`.slice(0, 2000), set: [], grant: false }
}

/** ask asks belay about one event of the runtime. It never throws: an error is an answer that blocks. */
export async function ask(settings: Settings, runtime: string, event: string, payload: string): Promise<Answer> {
  try {
    const body = Buffer.from(payload)
    if (settings.state && body.length <= maxFrame - 600) {
      const got = await askFramed(join(settings.state, "frame.sock"), runtime, event, body)
      if (got) return got
    }
    return await askChild(settings, runtime, event, body)
  } catch (e) {
    return refusal(e)
  }
}

/** private reports whether only this user reaches what is at the path. */
function isPrivate(path: string, socket: boolean): boolean {
  try {
    const s = lstatSync(path)
    return (socket ? s.isSocket() : s.isDirectory()) && s.uid === process.getuid?.() && (s.mode & 0o077) === 0
  } catch {
    return false
  }
}

/** askFramed asks the daemon; undefined: none listens that is this user's own, and nothing was sent. */
function askFramed(path: string, runtime: string, event: string, payload: Buffer): Promise<Answer | undefined> {
  if (!isPrivate(dirname(path), false) || !isPrivate(path, true)) return Promise.resolve(undefined)
  const names = [runtime, event].map((s) => Buffer.from(s))
  if (names.some((n) => n.length > 255)) return Promise.resolve(refusal("a name is too long"))
  const body = Buffer.concat([...names.flatMap((n) => [Buffer.from([n.length]), n]), payload])
  const head = Buffer.from([0xbe, 1, 2, 0, 0, 0, 0, 0])
  head.writeUInt32BE(body.length, 4)
  return new Promise((resolve) => {
    const socket = createConnection(path)
    const got: Buffer[] = []
    let size = 0
    let connected = false
    const end = (a: Answer | undefined) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(a)
    }
    const timer = setTimeout(() => end(refusal("the daemon did not answer in time")), deadline)
    socket.on("connect", () => {
      connected = true
      socket.write(Buffer.concat([head, body]))
    })
    socket.on("error", (e) => end(connected ? refusal(e) : undefined))
    socket.on("close", () => end(refusal("the daemon ended the connection")))
    socket.on("data", (d: Buffer) => {
      got.push(d)
      size += d.length
      if (size < 8) return
      const all = got.length === 1 ? d : Buffer.concat(got)
      got.splice(0, got.length, all)
      const length = all.readUInt32BE(4)
      if (all[0] !== 0xbe || all[1] !== 1 || all[3] !== 0 || length > maxAnswer) return end(refusal("no frame came"))
      if (size < 8 + length) return
      if (size > 8 + length) return end(refusal("more than an answer came"))
      try {
        end(frameAnswer(all[2] ?? 0, JSON.parse(utf8(all.subarray(8)))))
      } catch (e) {
        end(refusal(e))
      }
    })
  })
}

function frameAnswer(kind: number, doc: unknown): Answer {
  if (!isObject(doc)) return refusal("the daemon gave no object")
  if (kind === 0x83 && typeof doc.error === "string") return refusal(doc.error)
  if (kind !== 0x82 || typeof doc.exit !== "number") return refusal("the daemon gave no answer")
  return readAnswer(doc.stdout ?? "", doc.exit, doc.stderr ?? "")
}

/** askChild starts belay-hook for one event, which decides in process where no daemon serves. */
function askChild(s: Settings, runtime: string, event: string, payload: Buffer): Promise<Answer> {
  const where = s.connect ? ["--connect", s.connect] : ["--state", s.state ?? ""]
  const env: Record<string, string> = { PATH: "/usr/bin:/bin" }
  for (const name of ["HOME", "USER", "USERPROFILE", "SystemRoot"]) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  return new Promise((resolve) => {
    const child = spawn(s.hook, ["--runtime", runtime, "--for", event, ...where], { env, cwd: "/", windowsHide: true })
    const out: Buffer[] = []
    const err: Buffer[] = []
    let size = 0
    const end = (a: Answer) => {
      clearTimeout(timer)
      resolve(a)
    }
    const stop = (why: string) => {
      child.kill("SIGKILL")
      end(refusal(why))
    }
    const timer = setTimeout(() => stop("belay-hook did not answer in time"), deadline + lastWord)
    const keep = (to: Buffer[]) => (d: Buffer) => {
      size += d.length
      if (size > maxAnswer) return stop("belay-hook says too much")
      to.push(d)
    }
    child.stdout.on("data", keep(out))
    child.stderr.on("data", keep(err))
    child.on("error", (e) => end(refusal(e)))
    child.on("close", (code, signal) => {
      try {
        if (signal !== null || code === null) return end(refusal(`belay-hook was ended by ${signal}`))
        end(readAnswer(utf8(Buffer.concat(out)), code, Buffer.concat(err).toString()))
      } catch (e) {
        end(refusal(e))
      }
    })
    child.stdin.on("error", () => {}) // its end tells more
    child.stdin.end(payload)
  })
}

function utf8(b: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(b)
}

export function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v)
}

/**
 * readAnswer reads an answer strictly: another exit status than 0, a member that is not known, or one of another type
 * is a block.
 */
export function readAnswer(stdout: unknown, exit: number, stderr: unknown): Answer {
  const said = typeof stderr === "string" ? stderr.trim().slice(0, 4000) : ""
  let doc: unknown
  try {
    doc = typeof stdout === "string" ? JSON.parse(stdout) : stdout
  } catch {
    return refusal(said || "the answer is not JSON")
  }
  if (!isObject(doc)) return refusal(said || "the answer is no object")
  for (const name of Object.keys(doc)) {
    if (!["decision", "reason", "set", "grant"].includes(name)) return refusal("the answer has a member that is not known")
  }
  const list = doc.set ?? []
  if (!Array.isArray(list)) return refusal("the changes are no list")
  const set: Change[] = []
  for (const c of list) {
    if (!isObject(c) || typeof c.path !== "string" || Object.keys(c).some((k) => k !== "path" && k !== "value")) {
      return refusal("a change has no path, or more than a value")
    }
    set.push("value" in c ? { path: c.path, value: c.value } : { path: c.path })
  }
  if (doc.grant !== undefined && doc.grant !== true) return refusal("the permission is not true")
  const reason = typeof doc.reason === "string" ? doc.reason.trim() : ""
  if (doc.decision === "block") {
    return { decision: "block", reason: reason || said || "belay: this is not allowed", set, grant: false }
  }
  if (exit !== 0 || doc.decision !== "allow" || doc.reason !== undefined) {
    return { ...refusal(said || "the answer has no decision"), set: [] }
  }
  return { decision: "allow", reason: "", set, grant: doc.grant === true }
}
