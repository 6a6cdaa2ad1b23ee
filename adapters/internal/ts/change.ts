// Changes of a runtime's own objects, in place: the runtime keeps the objects that it gave to a plugin, and loses
// those that a plugin puts in their place.
import type { Change } from "./ask"

type Container = Record<string, unknown> | unknown[]

function isContainer(v: unknown): v is Container {
  return typeof v === "object" && v !== null
}

/** change makes all changes in the root. It throws where a change cannot be made: then the event must not go on. */
export function change(root: unknown, set: Change[]): void {
  for (const c of set) {
    if (c.path === "") {
      if (!isContainer(root) || !isContainer(c.value)) throw new Error("belay: the whole output cannot be changed")
      fill(root, c.value)
      continue
    }
    if (!c.path.startsWith("/")) throw new Error("belay: a path is no pointer")
    const names = c.path.slice(1).split("/").map((s) => s.replaceAll("~1", "/").replaceAll("~0", "~"))
    let at: unknown = root
    for (const name of names.slice(0, -1)) at = member(at, name)
    place(at, names.at(-1) ?? "", c)
  }
}

function member(of: unknown, name: string): unknown {
  if (!isContainer(of) || !Object.hasOwn(of, name)) throw new Error("belay: what is to be changed is not there")
  return (of as Record<string, unknown>)[name]
}

function place(of: unknown, name: string, c: Change): void {
  if (!isContainer(of)) throw new Error("belay: what is to be changed is not there")
  if (Array.isArray(of)) {
    if (!/^(0|[1-9][0-9]*)$/.test(name) || Number(name) >= of.length || !("value" in c)) {
      throw new Error("belay: an element to be changed is not there")
    }
  }
  const o = of as Record<string, unknown>
  if (!("value" in c)) {
    if (!Reflect.deleteProperty(o, name)) throw new Error("belay: a member cannot be taken out")
    return
  }
  const old = Object.hasOwn(o, name) ? o[name] : undefined
  if (isContainer(old) && isContainer(c.value) && Array.isArray(old) === Array.isArray(c.value)) {
    fill(old, c.value)
    return
  }
  // Defined, not assigned: a member called __proto__ is one like any other.
  Object.defineProperty(o, name, { value: c.value, writable: true, enumerable: true, configurable: true })
}

/** fill gives an object or an array the content of another. */
function fill(to: Container, from: Container): void {
  if (Array.isArray(to) !== Array.isArray(from)) throw new Error("belay: a list cannot become an object")
  if (Array.isArray(to) && Array.isArray(from)) {
    to.splice(0, to.length, ...from)
    return
  }
  const o = to as Record<string, unknown>
  for (const name of Object.keys(o)) {
    if (!Object.hasOwn(from, name) && !Reflect.deleteProperty(o, name)) {
      throw new Error("belay: a member cannot be taken out")
    }
  }
  for (const [name, value] of Object.entries(from)) place(o, name, { path: "", value })
}
