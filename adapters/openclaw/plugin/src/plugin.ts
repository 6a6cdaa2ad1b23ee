// Belay's plugin for OpenClaw: it asks belay about each hook, and returns to OpenClaw what belay says. Whatever goes
// wrong is a block, or closes the session. `belay connect openclaw` writes it with the line that sets BELAY_SETTINGS.
import { ask, isObject, refusal, type Answer, type Settings } from "../../../internal/ts/ask"
import { Asker, serve } from "../../../internal/ts/sync"
import { blocked, synchronous } from "./blocks"
import { encode, restore, slimContext, slimEvent, type Pictures } from "./payload"

declare const BELAY_SETTINGS: Settings

const runtime = "openclaw"
const timeoutMs = 30_000 // how long OpenClaw waits for each hook; more than belay takes at most
const middleware = "agent_tool_result"
const deepest = 32 // subagents of subagents
const most = 4096 // entries of what the plugin remembers

type Fields = Record<string, unknown>

/** The hooks of version 2026.9.6 on which belay has the last word: a later plugin could change what it has decided. */
const last = ["before_tool_call", "message_sending", "reply_payload_sending", "resolve_exec_env", "tool_result_persist",
  "before_message_write"]

/** The other hooks. Belay comes first: where another plugin answers a message, later ones are not asked. */
const first = ["before_agent_run", "before_agent_reply", "inbound_claim", "before_dispatch", "reply_dispatch",
  "before_model_resolve", "before_prompt_build", "agent_turn_prepare", "heartbeat_prompt_contribution",
  "before_agent_finalize", "after_tool_call", "before_install", "skill_proposal_evaluate", "session_start",
  "session_end",
  "before_reset", "before_compaction", "after_compaction", "subagent_delivery_target", "subagent_spawned",
  "subagent_progress", "subagent_ended", "agent_end", "channel_pairing_requested", "cron_changed", "cron_reconciled",
  "gateway_start", "gateway_stop", "llm_input", "llm_output", "message_received", "message_sent", "model_call_ended",
  "model_call_started", "skill_changed", "skill_proposal_changed"]

/** What belay uses of OpenClaw's plugin interface. */
interface API {
  config?: unknown
  on(hook: string, handler: (event: Fields, ctx: Fields) => unknown, options: Fields): void
  registerAgentToolResultMiddleware(handler: (event: Fields, ctx: Fields) => unknown, options: Fields): void
}

function text(v: unknown): string {
  return typeof v === "string" ? v : ""
}

/** remember keeps an entry, and forgets the oldest of too many. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > most) for (const oldest of map.keys()) return void map.delete(oldest)
}

/** What is asked in a session, or why that may not go on. */
interface Question {
  root: string
  ask: string
  closed?: string
}

class Host {
  private readonly parents = new Map<string, string>() // the session that started a subagent's
  private readonly directories = new Map<string, string>() // of sessions
  private readonly triggers = new Map<string, string>() // of runs
  private readonly closed = new Map<string, string>() // sessions that may not go on, and why; "": all of them
  private readonly decided = new Map<string, true>() // calls whose results belay has decided
  private readonly asker: Asker
  private gateway = false // a person's surface can be there
  private told: Promise<unknown> = Promise.resolve() // of the hooks that hold nothing up

  constructor(private readonly settings: Settings, private api: API, program: string) {
    this.asker = new Asker(settings, program)
  }

  /** one is the host of this process: OpenClaw registers a plugin once for its hooks, and once for the middleware. */
  static one(settings: Settings, api: API, program: string): Host {
    const key = Symbol.for(`belay.openclaw:${JSON.stringify(settings)}`)
    const all = globalThis as unknown as Record<symbol, Host | undefined>
    const host = (all[key] ??= new Host(settings, api, program))
    host.api = api
    return host
  }

  /** root returns the session that a person began, and the agent's name in it: "" for the main agent. */
  private root(session: string): { root: string; agent: string } {
    let at = session
    for (let i = 0; i < deepest; i++) {
      const parent = this.parents.get(at)
      if (!parent || parent === at) return { root: at, agent: at === session ? "" : session }
      at = parent
    }
    throw new Error("subagents nest too deep")
  }

  /** learn keeps what later hooks do not tell again. */
  private learn(hook: string, event: Fields, ctx: Fields): void {
    const session = text(ctx.sessionKey)
    if (hook === "gateway_start") this.gateway = true
    if (text(ctx.runId) && text(ctx.trigger)) remember(this.triggers, text(ctx.runId), text(ctx.trigger))
    if (session && text(ctx.workspaceDir)) remember(this.directories, session, text(ctx.workspaceDir))
    const child = text(event.childSessionKey)
    const requester = text(ctx.requesterSessionKey) || text(event.requesterSessionKey)
    if (hook.startsWith("subagent_") && child && requester) remember(this.parents, child, requester)
    if (hook === middleware && event.toolName === "sessions_spawn" && session) {
      const details = isObject(event.result) && isObject(event.result.details) ? event.result.details : {}
      if (text(details.childSessionKey)) remember(this.parents, text(details.childSessionKey), session)
    }
  }

  private directory(session: string, event: Fields, ctx: Fields): string {
    const config = isObject(this.api.config) ? this.api.config : {}
    const agents = isObject(config.agents) ? config.agents : {}
    const defaults = isObject(agents.defaults) ? agents.defaults : {}
    return text(ctx.workspaceDir) || text(event.cwd) || (this.directories.get(session) ?? "") ||
      text(defaults.workspace) || process.cwd()
  }

  /** question is the payload for belay, or the answer of a session that was closed. */
  private question(hook: string, event: Fields, ctx: Fields, pictures: Pictures): Question {
    this.learn(hook, event, ctx)
    const session = text(ctx.sessionKey) || text(event.sessionKey) || text(ctx.requesterSessionKey)
    const { root, agent } = this.root(session)
    const closed = this.closed.get(root) ?? this.closed.get("")
    if (closed) return { root, ask: "", closed }
    const of: Fields = { hook, directory: this.directory(session, event, ctx) }
    if (root) of.session = root
    if (agent) of.agent = agent
    const person = this.gateway && this.triggers.get(text(ctx.runId)) === "user"
    if (hook === "before_tool_call") of.person = person
    return { root, ask: encode({ ...of, event: slimEvent(hook, event), ctx: slimContext(ctx) }, pictures) }
  }

  /** settle is what the hook returns. A block that it has no value for closes the session. */
  private settle(hook: string, event: Fields, root: string, a: Answer, pictures: Pictures): unknown {
    if (a.decision === "allow") {
      try {
        const value = returned(a)
        if (hook === "before_tool_call") return { ...value, params: value?.params ?? event.params }
        return restore(value, pictures)
      } catch (e) {
        a = refusal(e)
      }
    }
    const value = blocked(hook, event, a.reason)
    if (value === undefined || hook === "before_agent_finalize") this.closed.set(root, a.reason)
    return value
  }

  /** hold is a hook that OpenClaw waits for. */
  async hold(hook: string, event: Fields, ctx: Fields): Promise<unknown> {
    const pictures: Pictures = new Map()
    if (hook === middleware) remember(this.decided, text(event.toolCallId), true)
    let root = ""
    let a: Answer
    try {
      const q = this.question(hook, event, ctx, pictures)
      root = q.root
      a = q.closed ? { decision: "block", reason: q.closed, set: [], grant: false }
        : await ask(this.settings, runtime, hook, q.ask)
    } catch (e) {
      a = refusal(e)
    }
    return this.settle(hook, event, root, a, pictures)
  }

  /** once is hold for a hook that has to return at once. */
  once(hook: string, event: Fields, ctx: Fields): unknown {
    const pictures: Pictures = new Map()
    let root = ""
    let a: Answer
    try {
      const q = this.question(hook, event, ctx, pictures)
      root = q.root
      a = q.closed ? { decision: "block", reason: q.closed, set: [], grant: false }
        : this.asker.ask(runtime, hook, q.ask)
    } catch (e) {
      a = refusal(e)
    }
    return this.settle(hook, event, root, a, pictures)
  }

  /** tell is a hook that can hold nothing up. They are asked one after the other. */
  tell(hook: string, event: Fields, ctx: Fields): Promise<unknown> {
    if (hook === "after_tool_call" && this.decided.has(text(event.toolCallId))) return Promise.resolve()
    const next = this.told.then(() => this.hold(hook, event, ctx))
    this.told = next
    return next
  }
}

/** returned is the one value of an answer. */
function returned(a: Answer): Fields | undefined {
  if (a.set.length === 0) return undefined
  const c = a.set[0]
  if (a.set.length > 1 || c?.path !== "" || !isObject(c.value)) {
    throw new Error("the answer has no value that a hook returns")
  }
  return c.value
}

/** The hooks whose result OpenClaw reads, beside the synchronous ones. */
const read: ReadonlySet<string> = new Set([...last, ...first.slice(0, 10), "before_install", "skill_proposal_evaluate",
  "subagent_delivery_target"])

const plugin = {
  id: "belay",
  name: "belay",
  description: "Asks belay about everything that an agent does",
  register(api: API) {
    const host = Host.one(BELAY_SETTINGS, api, import.meta.url)
    const add = (hook: string, priority: number) => {
      const handler = synchronous.has(hook) ? (event: Fields, ctx: Fields) => host.once(hook, event ?? {}, ctx ?? {})
        : read.has(hook) ? (event: Fields, ctx: Fields) => host.hold(hook, event ?? {}, ctx ?? {})
        : (event: Fields, ctx: Fields) => host.tell(hook, event ?? {}, ctx ?? {})
      api.on(hook, handler, synchronous.has(hook) ? { priority } : { priority, timeoutMs })
    }
    for (const hook of last) add(hook, Number.MIN_SAFE_INTEGER)
    for (const hook of first) add(hook, Number.MAX_SAFE_INTEGER)
    api.registerAgentToolResultMiddleware((event, ctx) => host.hold(middleware, event, ctx),
      { runtimes: ["openclaw", "codex"] })
  },
}

serve()

export default plugin
