// What the hook is asked about, and what the operator configured. Paths are JSON Pointers (RFC 6901); "" is all.

import { Kind, parseInteger, Value, Reader } from "./json";
import * as raw from "./raw";
import { halt, lastReply, Room, utf8 } from "./text";

/**
 * The whole document: the members of the action (tool, args, text) beside those of the invocation (phase, cwd, metadata).
 * It shows the action as the hook received it; its own rewrites do not show.
 */
export function input(): string {
  const room = new Room(1024);
  while (room.tooSmall(raw.input_read(room.at, room.n))) {}
  const text = room.text("input_read");
  return text === null ? "" : text;
}

/** The value at a path: a string without quotes and escapes, anything else as its source; null where there is none. */
export function inputGet(path: string): string | null {
  const p = utf8(path);
  const room = new Room(256);
  while (room.tooSmall(raw.input_get(p.at, p.n, room.at, room.n))) {}
  return room.text("input_get " + path);
}

/** The kind of the value at a path. */
export function inputKind(path: string): Kind {
  const p = utf8(path);
  return kindOf(raw.input_kind(p.at, p.n));
}

/** Whether there is a value at a path; null is one. */
export function inputHas(path: string): bool {
  return inputKind(path) != Kind.None;
}

/** The string at a path; null where there is none, or something else. */
export function inputText(path: string): string | null {
  return inputKind(path) == Kind.Text ? inputGet(path) : null;
}

/** The number at a path, if it is an integer in range; other for anything else. */
export function inputInt(path: string, other: i64): i64 {
  return inputKind(path) == Kind.Number ? integer(inputGet(path), other) : other;
}

/** Whether true stands at a path. */
export function inputTrue(path: string): bool {
  return inputKind(path) == Kind.Bool && isTrue(inputGet(path));
}

/** The value at a path, taken apart. */
export function inputValue(path: string): Value {
  const kind = inputKind(path);
  return kind == Kind.None ? new Value() : valueOf(kind, inputGet(path), path);
}

/** The member names of the object at a path, in order; none for anything else. */
export function inputKeys(path: string): Array<string> {
  if (inputKind(path) != Kind.Object) return new Array<string>();
  const p = utf8(path);
  return replied(raw.input_keys(p.at, p.n), path).texts();
}

/** The length of the array at a path; 0 for anything else. */
export function inputLen(path: string): i32 {
  if (inputKind(path) != Kind.Array) return 0;
  const p = utf8(path);
  return <i32>replied(raw.input_keys(p.at, p.n), path).int(0);
}

/** The whole configuration. It fits the schema in the manifest. */
export function config(): string {
  const room = new Room(256);
  while (room.tooSmall(raw.config_read(room.at, room.n))) {}
  const text = room.text("config_read");
  return text === null ? "null" : text;
}

/** As inputGet, in the configuration. */
export function configGet(path: string): string | null {
  const p = utf8(path);
  const room = new Room(128);
  while (room.tooSmall(raw.config_get(p.at, p.n, room.at, room.n))) {}
  return room.text("config_get " + path);
}

/** As inputKind, in the configuration. */
export function configKind(path: string): Kind {
  const p = utf8(path);
  return kindOf(raw.config_kind(p.at, p.n));
}

/** Whether something is configured at a path. */
export function configHas(path: string): bool {
  return configKind(path) != Kind.None;
}

/** The string at a path in the configuration; other for anything else. */
export function configText(path: string, other: string): string {
  const text = configKind(path) == Kind.Text ? configGet(path) : null;
  return text === null ? other : text;
}

/** The integer at a path in the configuration; other for anything else. */
export function configInt(path: string, other: i64): i64 {
  return configKind(path) == Kind.Number ? integer(configGet(path), other) : other;
}

/** The boolean at a path in the configuration; other for anything else. */
export function configBool(path: string, other: bool): bool {
  return configKind(path) == Kind.Bool ? isTrue(configGet(path)) : other;
}

/** As inputValue, in the configuration. */
export function configValue(path: string): Value {
  const kind = configKind(path);
  return kind == Kind.None ? new Value() : valueOf(kind, configGet(path), path);
}

/** As inputKeys, in the configuration. */
export function configKeys(path: string): Array<string> {
  if (configKind(path) != Kind.Object) return new Array<string>();
  const p = utf8(path);
  return replied(raw.config_keys(p.at, p.n), path).texts();
}

/** As inputLen, in the configuration. */
export function configLen(path: string): i32 {
  if (configKind(path) != Kind.Array) return 0;
  const p = utf8(path);
  return <i32>replied(raw.config_keys(p.at, p.n), path).int(0);
}

/** How important a line of the log is. */
export enum Level {
  /** For the author. */
  Debug = 0,
  /** For the record. */
  Info = 1,
  /** Something is odd. */
  Warn = 2,
  /** Something is wrong. */
  Error = 3,
}

/** Writes a line for the operator. Lines over the limit are dropped and counted. */
export function log(level: Level, text: string): void {
  const t = utf8(text);
  raw.log(level, t.at, t.n);
}

/** Joins names to a JSON Pointer, escaping them: `pointer(["args", "a/b"])` is `/args/a~1b`. */
export function pointer(steps: Array<string>): string {
  let out = "";
  for (let i = 0; i < steps.length; i++) out += "/" + steps[i].replaceAll("~", "~0").replaceAll("/", "~1");
  return out;
}

function kindOf(code: i32): Kind {
  return code < 0 || code > <i32>Kind.Object ? Kind.None : <Kind>code;
}

function integer(source: string | null, other: i64): i64 {
  return source === null ? other : parseInteger(source, other);
}

function isTrue(source: string | null): bool {
  return source !== null && source == "true";
}

function valueOf(kind: Kind, source: string | null, path: string): Value {
  if (source === null) return new Value();
  if (kind == Kind.Text) return Value.of(kind, source);
  const v = Value.parse(source);
  if (!v.some) halt(path + " cannot be read"); // it is there: what is not read must not pass for nothing
  return v;
}

function replied(code: i32, path: string): Reader {
  if (code < 0) halt(path + ": its names cannot be read");
  return lastReply().reader();
}
