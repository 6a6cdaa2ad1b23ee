// What a hook asks for. Effects return nothing, on purpose: one that the host refuses (not granted, not legal in the
// phase, too large) fails the whole turn whatever the hook does next.

import { Writer } from "./json";
import * as raw from "./raw";
import { utf8 } from "./text";

/** Stops the action. The first reason stays; it is cut at 4 KiB. Never refused. */
export function block(reason: string): void {
  const t = utf8(reason);
  raw.block(t.at, t.n);
}

/**
 * Lets a person decide. The question counts as denied after ttlSeconds; 0 is the operator's default. details is a JSON
 * object for the person, or "".
 */
export function ask(reason: string, ttlSeconds: i64 = 0, details: string = ""): void {
  const w = new Writer().object().key("reason").text(reason);
  if (ttlSeconds > 0) w.key("ttl_s").int(ttlSeconds);
  if (details.length) w.key("details").json(details);
  const t = utf8(w.end().toString());
  raw.request_approval(t.at, t.n);
}

/** Replaces the value at a path by a string, or adds it when only its last step is missing. */
export function rewriteText(path: string, text: string): void {
  rewrite(path, text, 1);
}

/** Replaces the value at a path by JSON, or adds it when only its last step is missing. */
export function rewriteJSON(path: string, json: string): void {
  rewrite(path, json, 0);
}

/** Removes the value at a path. */
export function remove(path: string): void {
  rewrite(path, "", 2);
}

function rewrite(path: string, value: string, kind: i32): void {
  const p = utf8(path), v = utf8(value);
  raw.rewrite(p.at, p.n, v.at, v.n, kind);
}

/** Masks the value at a path, in the action and in the record; the label (at most 64 bytes) says what stood there. */
export function redact(path: string, label: string): void {
  const p = utf8(path), l = utf8(label);
  raw.redact(p.at, p.n, l.at, l.n);
}

/** The widest scopes that a hook leaves to an action. null leaves a set as it is; an empty list leaves nothing of it. */
export class Scopes {
  /** Paths to read: exact, or `DIR/**`. */
  fsRead: Array<string> | null = null;
  /** Paths to write. */
  fsWrite: Array<string> | null = null;
  /** `HOST:PORT`; hosts exact or `*.suffix`. */
  net: Array<string> | null = null;
  /** Tools: exact, or `ns:*`. */
  tools: Array<string> | null = null;
}

/** Narrows what the action may touch. */
export function clampScopes(scopes: Scopes): void {
  const w = new Writer().object();
  putSet(w, "fs_read", scopes.fsRead);
  putSet(w, "fs_write", scopes.fsWrite);
  putSet(w, "net", scopes.net);
  putSet(w, "tools", scopes.tools);
  const t = utf8(w.end().toString());
  raw.clamp_scopes(t.at, t.n);
}

function putSet(w: Writer, name: string, patterns: Array<string> | null): void {
  if (patterns !== null) w.key(name).texts(patterns);
}

/** Puts a string into the run's metadata, where later hooks and phases read it as `/metadata/KEY/value`. */
export function annotateText(key: string, text: string): void {
  annotateJSON(key, new Writer().text(text).toString());
}

/** Puts any JSON value into the run's metadata. */
export function annotateJSON(key: string, json: string): void {
  const k = utf8(key), v = utf8(json);
  raw.annotate(k.at, k.n, v.at, v.n);
}

/** Adds text for the agent, labelled with the hook's name; at most 4 KiB. */
export function addContext(text: string): void {
  const t = utf8(text);
  raw.add_context(t.at, t.n);
}

/** Sends the agent on with an instruction, at most max times in a run. post_receive only. */
export function retry(instruction: string, max: i64): void {
  const t = utf8(new Writer().object().key("instruction").text(instruction).key("max").int(max).end().toString());
  raw.retry(t.at, t.n);
}

/** Answers instead of the model. pre_plan and pre_send only. */
export function reply(text: string): void {
  const t = utf8(new Writer().object().key("text").text(text).end().toString());
  raw.reply(t.at, t.n);
}

/** Leaves a text beside the verdict. meta is a JSON object with what else is known about it, or "". */
export function putArtifact(name: string, mediaType: string, text: string, meta: string = ""): void {
  artifact(name, mediaType, "text", text, meta);
}

/** As putArtifact, for bytes in base64. */
export function putArtifactBase64(name: string, mediaType: string, data: string, meta: string = ""): void {
  artifact(name, mediaType, "data_base64", data, meta);
}

function artifact(name: string, mediaType: string, member: string, content: string, meta: string): void {
  const w = new Writer().object().key("name").text(name).key("media_type").text(mediaType).key(member).text(content);
  if (meta.length) w.key("meta").json(meta);
  const t = utf8(w.end().toString());
  raw.put_artifact(t.at, t.n);
}

/** Spares the agent its own permission prompt. Trusted hooks only. */
export function grant(reason: string): void {
  const t = utf8(reason);
  raw.grant(t.at, t.n);
}
