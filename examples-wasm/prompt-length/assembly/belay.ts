// The part of the guest ABI that this hook uses. Pointers go with their lengths; a negative result is an error.

@external("belay_v1", "input_get")
declare function input_get(path: usize, n: u32, dst: usize, cap: u32): i32;
@external("belay_v1", "input_kind")
declare function input_kind(path: usize, n: u32): i32;
@external("belay_v1", "config_get")
declare function config_get(path: usize, n: u32, dst: usize, cap: u32): i32;
@external("belay_v1", "config_kind")
declare function config_kind(path: usize, n: u32): i32;
@external("belay_v1", "block")
declare function host_block(reason: usize, n: u32): i32;
@external("belay_v1", "add_context")
declare function host_add_context(text: usize, n: u32): i32;

const NUMBER: i32 = 2;
const STRING: i32 = 3;

function utf8(s: string): ArrayBuffer {
  return String.UTF8.encode(s);
}

/** The UTF-8 of the input's string at a JSON Pointer, or null. A string that cannot be read ends the hook: it is there. */
export function inputText(path: string): ArrayBuffer | null {
  const p = utf8(path);
  if (input_kind(changetype<usize>(p), p.byteLength) != STRING) return null;
  let text = new ArrayBuffer(0);
  while (true) {
    // All or nothing: an answer that is longer than the buffer was not written, and is asked for again.
    const n = input_get(changetype<usize>(p), p.byteLength, changetype<usize>(text), text.byteLength);
    if (n < 0) unreachable();
    if (n <= text.byteLength) return n == text.byteLength ? text : text.slice(0, n);
    text = new ArrayBuffer(n);
  }
}

/** The whole number at a JSON Pointer in the configuration, or other. */
export function configInt(path: string, other: i32): i32 {
  const p = utf8(path);
  if (config_kind(changetype<usize>(p), p.byteLength) != NUMBER) return other;
  const digits = new ArrayBuffer(10);
  const n = config_get(changetype<usize>(p), p.byteLength, changetype<usize>(digits), 10);
  if (n < 1 || n > 9) return other; // the schema allows nothing longer
  let value = 0;
  for (let i = 0; i < n; i++) {
    const d = load<u8>(changetype<usize>(digits) + i) - 48;
    if (d > 9) return other;
    value = value * 10 + d;
  }
  return value;
}

/** Stops the action. */
export function block(reason: string): void {
  const r = utf8(reason);
  host_block(changetype<usize>(r), r.byteLength);
}

/** Adds text for the agent. */
export function addContext(text: string): void {
  const t = utf8(text);
  host_add_context(changetype<usize>(t), t.byteLength);
}
