// What a hook returns to OpenClaw so that its action does not happen. Belay's answer has the same forms; these stand in
// where no answer came, and a test holds both to each other.
import { isObject } from "../../../internal/ts/ask"

type Fields = Record<string, unknown>

/** The hooks that return at once: OpenClaw ignores a promise of theirs. */
export const synchronous: ReadonlySet<string> = new Set(["tool_result_persist", "before_message_write"])

/** blocked is the value for a block; undefined: the hook has none, and its session is closed. */
export function blocked(hook: string, event: Fields, reason: string): Fields | undefined {
  switch (hook) {
    case "before_tool_call":
    case "before_install":
      return { block: true, blockReason: reason }
    case "before_agent_run":
      return { outcome: "block", reason, message: reason }
    case "before_agent_reply":
    case "inbound_claim":
      return { handled: true, reply: { text: reason } }
    case "before_dispatch":
      return { handled: true, text: reason }
    case "reply_dispatch":
      return { handled: true, queuedFinal: false, counts: { tool: 0, block: 0, final: 0 } }
    case "before_agent_finalize":
      return { action: "finalize", reason }
    case "message_sending":
      return { cancel: true, cancelReason: reason }
    case "reply_payload_sending":
      return { cancel: true, reason }
    case "skill_proposal_evaluate":
      return { decision: "block", summary: reason }
    case "subagent_spawning":
      return { status: "error", error: reason }
    case "agent_tool_result":
      return { result: { content: [{ type: "text", text: reason }], details: { status: "blocked" } } }
    case "tool_result_persist":
    case "before_message_write":
      return { message: withheld(event.message, reason) }
  }
  return undefined
}

const envelope = ["role", "toolCallId", "toolName", "isError", "timestamp", "api", "provider", "model", "usage",
  "stopReason", "responseId", "idempotencyKey", "customType", "display"]

/** withheld is a message without what it said. The calls of tools keep their names and ids. */
function withheld(message: unknown, reason: string): Fields {
  const of = isObject(message) ? message : {}
  const out: Fields = {}
  for (const [name, value] of Object.entries(of)) if (envelope.includes(name)) out[name] = value
  if (typeof out.role !== "string" || out.role === "") {
    return { role: "user", content: [{ type: "text", text: reason }] }
  }
  if (typeof of.content === "string" || isObject(of.content)) return { ...out, content: reason }
  const calls = (Array.isArray(of.content) ? of.content : []).filter((c) => isObject(c) && c.type === "toolCall")
  return { ...out, content: [{ type: "text", text: reason },
    ...calls.map((c) => ({ type: "toolCall", id: text(c.id), name: text(c.name), arguments: {} }))] }
}

function text(v: unknown): string {
  return typeof v === "string" ? v : ""
}
