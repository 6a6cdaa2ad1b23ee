// What belay gets of a hook's two arguments: no conversation that was decided before, no configuration, no pictures.
import { isObject } from "../../../internal/ts/ask"

type Fields = Record<string, unknown>

const longData = 64 << 10 // characters of a picture above which belay gets a mark in its place

/** Of the context belay gets these alone: the rest is configuration, functions and state of OpenClaw's own. */
const contextNames = ["agentId", "sessionKey", "sessionId", "runId", "jobId", "trigger", "channel", "channelId",
  "messageProvider", "accountId", "senderId", "chatId", "conversationId", "toolName", "toolCallId", "toolKind",
  "toolInputKind", "requester", "workspaceDir", "modelProviderId", "modelId", "childSessionKey", "requesterSessionKey",
  "dispatchKind", "targetType", "requestKind", "origin", "runtime"]

/** Members that have the conversation once more, in hooks that show all of it. */
const conversation = ["messages", "historyMessages", "systemPrompt", "tools", "images"]

/** slimContext is the part of a context that belay gets. */
export function slimContext(ctx: Fields): Fields {
  return pick(ctx, contextNames)
}

/** slimEvent is the part of an event that belay gets. */
export function slimEvent(hook: string, event: Fields): Fields {
  if (hook === "reply_dispatch") {
    const of = isObject(event.ctx) ? event.ctx : {}
    return { ...pick(event, ["runId", "sessionKey", "inboundAudio", "sendPolicy", "toolsAllow"]),
      ctx: pick(of, ["Body", "BodyForAgent", "SessionKey", "From", "To", "Provider"]) }
  }
  if (hook.startsWith("gateway_")) return pick(event, ["port", "reason"])
  return Object.fromEntries(Object.entries(event).filter(([name]) => !conversation.includes(name)))
}

function pick(of: Fields, names: string[]): Fields {
  return Object.fromEntries(names.filter((n) => of[n] !== undefined).map((n) => [n, of[n]]))
}

/** Pictures are what encode left out of a payload, by their marks. */
export type Pictures = Map<string, string>

/** encode writes a payload, with a mark in place of each long picture. */
export function encode(payload: Fields, pictures: Pictures): string {
  return JSON.stringify(payload, function (this: unknown, name, value: unknown) {
    const picture = name === "data" && isObject(this) && this.type === "image"
    if (picture && typeof value === "string" && value.length > longData) {
      const key = `belay-omitted:${pictures.size}:${value.length}`
      pictures.set(key, value)
      return key
    }
    return value
  })
}

/** restore puts the pictures back into a value. */
export function restore(value: unknown, pictures: Pictures): unknown {
  if (pictures.size === 0) return value
  return JSON.parse(JSON.stringify(value), (name, v: unknown) =>
    name === "data" && typeof v === "string" ? pictures.get(v) ?? v : v)
}
