// Text and bytes between the module and its host: the host speaks UTF-8, AssemblyScript's strings are UTF-16.

import { Errno, errnoText } from "./errors";
import { Reader } from "./json";
import * as raw from "./raw";

/** A range of bytes that the host can read. */
@final
export class Bytes {
  constructor(public buffer: ArrayBuffer) {}

  /** Its address. */
  get at(): usize {
    return changetype<usize>(this.buffer);
  }

  /** Its length. */
  get n(): u32 {
    return <u32>this.buffer.byteLength;
  }
}

/** A text as UTF-8. */
export function utf8(text: string): Bytes {
  return new Bytes(String.UTF8.encode(text));
}

/** Room for what the host writes, all or nothing: `while (room.tooSmall(call(room.at, room.n))) {}`. */
@final
export class Room {
  private buffer: ArrayBuffer;
  /** What the last call answered: the length of the value, or an Errno. */
  code: i32 = 0;

  constructor(guess: i32) {
    this.buffer = new ArrayBuffer(guess);
  }

  /** The address to write to. */
  get at(): usize {
    return changetype<usize>(this.buffer);
  }

  /** How much may be written. */
  get n(): u32 {
    return <u32>this.buffer.byteLength;
  }

  /** Takes the answer of a call, and tells whether to call again, with more room. */
  tooSmall(code: i32): bool {
    this.code = code;
    if (code <= this.buffer.byteLength) return false;
    this.buffer = new ArrayBuffer(code);
    return true;
  }

  /** What was written, or null where there is no such value. Any other error ends the hook: the value may be there. */
  text(what: string): string | null {
    if (this.absent(what)) return null;
    return String.UTF8.decodeUnsafe(this.at, this.code);
  }

  /** As text, for bytes. */
  bytes(what: string): ArrayBuffer | null {
    if (this.absent(what)) return null;
    return this.buffer.slice(0, this.code);
  }

  /** Takes what was written apart. */
  reader(): Reader {
    return new Reader(this.buffer, this.code < 0 ? 0 : this.code);
  }

  private absent(what: string): bool {
    if (this.code == Errno.Absent) return true;
    if (this.code < 0) halt(what + ": " + errnoText(this.code));
    return false;
  }
}

/** The reply of the last call that answered one. */
export function lastReply(): Room {
  const room = new Room(1024);
  while (room.tooSmall(raw.reply_read(room.at, room.n))) {}
  return room;
}

/**
 * Ends the hook at once, and tells operators why: its effects are dropped and the action is blocked. A phase function
 * that can still return says `return fail("...")` instead.
 */
export function halt(why: string): void {
  const text = utf8(why);
  raw.fail(text.at, text.n);
  unreachable();
}
