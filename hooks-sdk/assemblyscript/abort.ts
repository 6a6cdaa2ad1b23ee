import { halt } from "./text";

/**
 * What `throw`, an index out of range and a failed assertion come to: the hook fails, and operators read the message with
 * its place. asconfig.json names it, as in `"use": ["abort=sdk/abort/abort"]`; without that the hook fails all the same,
 * and the message is lost.
 */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const text = message === null ? "abort" : message;
  const place = file === null ? "" : " (" + file + ":" + line.toString() + ":" + column.toString() + ")";
  halt(text + place);
}
