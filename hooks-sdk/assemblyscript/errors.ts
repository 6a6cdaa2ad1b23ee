import * as raw from "./raw";
import { utf8 } from "./text";

/** What a phase function returns when its effects count. Without an effect it has no opinion. */
export const OK: i32 = 0;

/** What a call answers when it does not succeed. */
export enum Errno {
  /** There is no such value. */
  Absent = -1,
  /** Not granted by the operator, or not legal in this phase. */
  Denied = -2,
  /** A malformed argument. */
  Invalid = -3,
  /** A quota of this turn is spent. */
  Budget = -4,
  /** Beyond a size limit. */
  TooLarge = -5,
  /** Waits for a person. */
  Pending = -6,
  /** The host does not offer it here. */
  Unavailable = -7,
}

/** An Errno in words. */
export function errnoText(errno: i32): string {
  switch (errno) {
    case Errno.Absent: return "no such value";
    case Errno.Denied: return "not granted, or not legal in this phase";
    case Errno.Invalid: return "malformed argument";
    case Errno.Budget: return "a quota of this turn is spent";
    case Errno.TooLarge: return "beyond a size limit";
    case Errno.Pending: return "waits for a person";
    case Errno.Unavailable: return "not offered by this host";
  }
  return "unknown error of the host";
}

/** Tells operators why the hook fails: `return fail("...")`. Its effects are dropped and the action is blocked. */
export function fail(why: string): i32 {
  const text = utf8(why);
  raw.fail(text.at, text.n);
  return 1;
}
