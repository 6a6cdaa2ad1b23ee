// Belay's plugin for OpenCode: it asks belay about each hook point, changes OpenCode's objects in place as belay says,
// and throws on everything else. `belay connect opencode` writes it with the line that sets BELAY_SETTINGS.
import { ask, isObject, refusal, type Answer, type Settings } from "../../../internal/ts/ask"
import { change } from "../../../internal/ts/change"

declare const BELAY_SETTINGS: Settings

const runtime = "opencode"
const longURL = 64 << 10 // characters of a data URL above which belay gets its beginning alone
const largest = 64 << 10 // characters of a tool's parameters above which belay does not get them
const deepest = 32 // subagents of subagents

/** What belay uses of OpenCode's client. */
interface Client {
  session: { get(o: unknown): Promise<{ data?: unknown; error?: unknown }> }
  postSessionIdPermissionsPermissionId(o: unknown): Promise<{ error?: unknown }>
}

type Fields = Record<string, unknown>

/** Events of the bus that tell of each word, or of nothing that an agent does: belay is not told of them. */
const noise = [
  /^message\.(updated|part\.updated|part\.delta)$/,
  /^session\.(status|updated|diff)$/,
  /^(tui|pty|lsp|vcs|server|file\.watcher|catalog|plugin|storage|installation|models-dev|reference|integration)\./,
]

function text(v: unknown): string {
  return typeof v === "string" ? v : ""
}

class Host {
  private readonly parents = new Map<string, string>() // of each session; "": it has none
  private readonly closed = new Map<string, string>() // sessions that may not go on, and why; "": all of them
  private readonly told = new Set<string>() // definitions of tools that belay has let through as they are
  private last: Promise<unknown> = Promise.resolve() // of the events that OpenCode does not wait for

  constructor(private readonly settings: Settings, private readonly client: Client, private readonly directory: string) {}

  /** root returns the session that a person began, and the agent's name in it: "" for the main agent. */
  async root(session: string): Promise<{ root: string; agent: string }> {
    let at = session
    for (let i = 0; i < deepest; i++) {
      let parent = this.parents.get(at)
      if (parent === undefined) {
        const got = await this.client.session.get({ path: { id: at } })
        if (got.error || !isObject(got.data)) throw new Error("belay: OpenCode does not know the session")
        parent = text(got.data.parentID)
        this.parents.set(at, parent)
      }
      if (parent === "") return { root: at, agent: at === session ? "" : session }
      at = parent
    }
    throw new Error("belay: subagents nest too deep")
  }

  /** decide asks belay. A session that was closed is not asked about again. */
  async decide(event: string, session: string, input: unknown, output: unknown): Promise<Answer> {
    const of: Fields = { event, directory: this.directory }
    if (session) {
      const { root, agent } = await this.root(session)
      of.session = root
      if (agent) of.agent = agent
      const why = this.closed.get(root) ?? this.closed.get("")
      if (why) return { decision: "block", reason: why, set: [], grant: false }
    } else if (this.closed.has("")) {
      return { decision: "block", reason: this.closed.get("") ?? "", set: [], grant: false }
    }
    if (input !== undefined) of.input = input
    if (output !== undefined) of.output = output
    return ask(this.settings, runtime, event, encode(event, of))
  }

  /** guard is a hook point that can be kept from happening: it changes the output, or throws. */
  async guard(event: string, session: string, input: unknown, output: unknown): Promise<void> {
    let a: Answer
    try {
      a = await this.decide(event, session, input, output)
      if (a.decision === "allow") {
        if (event === "permission.ask" && a.grant) a.set.push({ path: "/status", value: "allow" })
        return change(output, a.set)
      }
    } catch (e) {
      a = refusal(e)
    }
    // A throw at the end of a text leaves the text, and one after a compaction could leave it going on.
    if (event === "experimental.text.complete") {
      change(output, [{ path: "/text", value: a.reason }])
      return
    }
    if (event === "experimental.compaction.autocontinue") {
      change(output, [{ path: "/enabled", value: false }])
      return
    }
    if (event === "permission.ask") change(output, [{ path: "/status", value: "deny" }])
    throw new Error(a.reason)
  }

  /** definition is guard for a tool's definition, which OpenCode gives with each request. */
  async definition(input: Fields, output: Fields): Promise<void> {
    let parameters: unknown
    try {
      const whole = JSON.stringify(output.parameters)
      if (whole !== undefined && whole.length <= largest) parameters = JSON.parse(whole)
    } catch {
      // Some are objects with circles: belay gets the description.
    }
    const seen = { description: output.description, ...(parameters === undefined ? {} : { parameters }) }
    const key = JSON.stringify([input.toolID, seen])
    if (this.told.has(key)) return
    await this.guard("tool.definition", "", input, seen)
    this.told.add(key)
  }

  /** tell is an event that OpenCode does not wait for. What fails closes the session. */
  tell(event: string, session: string, input: unknown, then?: (a: Answer) => Promise<void>): Promise<void> {
    const next = this.last.then(async () => {
      let root = ""
      try {
        if (session) root = (await this.root(session)).root
        const a = await this.decide(event, session, input, undefined)
        if (then) await then(a)
        else if (a.decision === "block") this.closed.set(root, a.reason)
      } catch (e) {
        this.closed.set(root, refusal(e).reason)
      }
    })
    this.last = next
    return next
  }

  /** bus takes an event of OpenCode's bus. */
  bus(event: Fields): void {
    const of = isObject(event.properties) ? event.properties : {}
    const type = text(event.type)
    const info = isObject(of.info) ? of.info : {}
    if (type === "session.created" && text(info.id)) this.parents.set(text(info.id), text(info.parentID))
    if (type === "permission.asked") {
      void this.tell("permission.asked", text(of.sessionID), { event }, (a) => this.reply(of, a))
    } else if (!noise.some((n) => n.test(type))) {
      void this.tell("event", text(of.sessionID), { event })
    }
  }

  /** reply answers a question for a permission. Without a word of belay's the person, or OpenCode itself, answers. */
  private async reply(of: Fields, a: Answer): Promise<void> {
    if (a.decision === "allow" && !a.grant) return
    const response = a.decision === "allow" ? "once" : "reject"
    const path = { id: text(of.sessionID), permissionID: text(of.id) }
    const got = await this.client.postSessionIdPermissionsPermissionId({ path, body: { response } })
    if (got.error && response === "reject") throw new Error("belay: the permission could not be refused")
  }
}

/** encode writes a payload. Of pictures and the like belay gets the beginning: they are no text to judge. */
function encode(event: string, payload: Fields): string {
  return JSON.stringify(payload, (name, value: unknown) => {
    if (name === "url" && event !== "tool.execute.before" && typeof value === "string" && value.length > longURL &&
      value.startsWith("data:")) {
      return `${value.slice(0, 64)};belay-omitted=${value.length}`
    }
    return value
  })
}

/** slim is a request's input without the provider's options, which have keys in them. */
function slim(input: Fields): Fields {
  const model = isObject(input.model) ? input.model : {}
  const provider = isObject(input.provider) ? input.provider : {}
  const info = isObject(provider.info) ? provider.info : provider
  return {
    sessionID: input.sessionID,
    agent: input.agent,
    model: { id: model.id ?? model.modelID, providerID: model.providerID },
    provider: { id: info.id },
  }
}

/** settled is a configuration without keys: what plugins, permissions and tools there are. */
function settled(config: Fields): Fields {
  const names = ["plugin", "plugin_origins", "permission", "tools", "share", "model", "small_model", "autoupdate"]
  return Object.fromEntries(names.filter((n) => n in config).map((n) => [n, config[n]]))
}

/** sessionOf finds the session of messages, whose hook point names none. */
function sessionOf(messages: unknown): string {
  if (!Array.isArray(messages)) return ""
  for (const m of messages) {
    if (isObject(m) && isObject(m.info) && text(m.info.sessionID)) return text(m.info.sessionID)
  }
  return ""
}

export const Belay = async (of: { client: Client; directory: string }) => {
  const host = new Host(BELAY_SETTINGS, of.client, of.directory)
  const plain = (event: string) => (input: Fields, output: Fields) =>
    host.guard(event, text(input.sessionID), input, output)
  const request = (event: string) => (input: Fields, output: Fields) =>
    host.guard(event, text(input.sessionID), slim(input), output)
  return {
    config: (config: Fields) => host.tell("config", "", settled(config)), // says that the plugin is there
    event: ({ event }: { event: Fields }) => host.bus(event),
    dispose: () => host.tell("dispose", "", undefined),
    "chat.message": plain("chat.message"),
    "command.execute.before": plain("command.execute.before"),
    "chat.params": request("chat.params"),
    "chat.headers": request("chat.headers"),
    "experimental.chat.system.transform": request("experimental.chat.system.transform"),
    "experimental.chat.messages.transform": (input: Fields, output: Fields) =>
      host.guard("experimental.chat.messages.transform", sessionOf(output.messages), input, output),
    "experimental.provider.small_model": (input: Fields, output: Fields) =>
      host.guard("experimental.provider.small_model", "", slim(input), output),
    "experimental.text.complete": plain("experimental.text.complete"),
    "experimental.session.compacting": plain("experimental.session.compacting"),
    "experimental.compaction.autocontinue": request("experimental.compaction.autocontinue"),
    "tool.definition": (input: Fields, output: Fields) => host.definition(input, output),
    "tool.execute.before": plain("tool.execute.before"),
    "tool.execute.after": plain("tool.execute.after"),
    "shell.env": plain("shell.env"),
    "permission.ask": (input: Fields, output: Fields) => host.guard("permission.ask", text(input.sessionID), input, output),
  }
}
