import { Errno, errnoText } from "./errors";
import { Value } from "./json";
import * as raw from "./raw";
import { Bytes, halt, lastReply, Room, utf8 } from "./text";

/** What a call with documents came to. */
@final
export class Answer {
  constructor(
    /** 0, or an Errno. */
    public errno: i32,
    /** The reply; of a refusal the document in which the host explains itself, or "". */
    public document: string,
  ) {}

  /** Whether the document is the answer. */
  get ok(): bool {
    return this.errno == 0;
  }

  /** Why the host refused, in one sentence; "" when it does not say. */
  get reason(): string {
    if (this.ok) return "";
    const document = Value.parse(this.document);
    const why = document.get("reason").text();
    return why.length ? why : document.get("error").text(); // so the lease calls call it
  }

  /** The Errno in words, and the host's reason where it gave one. */
  get why(): string {
    const reason = this.reason;
    return reason.length ? errnoText(this.errno) + ": " + reason : errnoText(this.errno);
  }
}

function answered(code: i32): Answer {
  const document = lastReply().text("reply_read");
  return new Answer(code < 0 ? code : 0, document === null ? "" : document);
}

/** Runs another tool through its own chain of hooks. Takes and replies JSON. */
export function requestToolCall(json: string): Answer {
  const r = utf8(json);
  return answered(raw.request_tool_call(r.at, r.n));
}

/** Asks for a lease on behalf of the agent. Takes and replies JSON. */
export function requestLease(json: string): Answer {
  const r = utf8(json);
  return answered(raw.request_lease(r.at, r.n));
}

/** Asks whether a lease covers a use. Takes and replies JSON. */
export function checkLease(json: string): Answer {
  const r = utf8(json);
  return answered(raw.check_lease(r.at, r.n));
}

/** Makes a lease; trusted hooks only. Takes and replies JSON. */
export function mintLease(json: string): Answer {
  const r = utf8(json);
  return answered(raw.mint_lease(r.at, r.n));
}

/** Revokes leases; trusted hooks only. Takes and replies JSON. */
export function revokeLease(json: string): Answer {
  const r = utf8(json);
  return answered(raw.revoke_lease(r.at, r.n));
}

/** Sends a request to an allowed host; trusted hooks only. Takes and replies JSON. */
export function httpRequest(json: string): Answer {
  const r = utf8(json);
  return answered(raw.http_request(r.at, r.n));
}

/** What stands under a key of this hook's state. */
@final
export class Stored {
  constructor(
    /** 0, or an Errno: Absent where nothing is stored. */
    public errno: i32,
    private content: ArrayBuffer | null,
  ) {}

  /** Whether there is something. */
  get some(): bool {
    return this.errno == 0;
  }

  /** The bytes; none where nothing is stored. Any other error ends the hook. */
  get bytes(): ArrayBuffer {
    if (this.errno != 0 && this.errno != Errno.Absent) halt("state_get: " + errnoText(this.errno));
    const content = this.content;
    return content === null ? new ArrayBuffer(0) : content;
  }

  /** The bytes as UTF-8 text; "" where nothing is stored. Any other error ends the hook. */
  get text(): string {
    return String.UTF8.decode(this.bytes);
  }
}

/** The bytes that this hook keeps under a key, its own writes of this turn included. */
export function stateGet(key: string): Stored {
  const k = utf8(key);
  const room = new Room(128);
  while (room.tooSmall(raw.state_get(k.at, k.n, room.at, room.n))) {}
  return room.code < 0 ? new Stored(room.code, null) : new Stored(0, room.bytes("state_get"));
}

/**
 * Keeps text under a key, for this hook only, once the verdict is recorded. Empty text removes the key. Returns 0 or an
 * Errno.
 */
export function statePut(key: string, text: string): i32 {
  return statePutBytes(key, utf8(text).buffer);
}

/** As statePut, for bytes. */
export function statePutBytes(key: string, bytes: ArrayBuffer): i32 {
  const k = utf8(key), v = new Bytes(bytes);
  return raw.state_put(k.at, k.n, v.at, v.n);
}

/**
 * The invocation's time in nanoseconds since 1970. It does not move during the turn. There is no error to answer: called
 * without its capability it ends the hook.
 */
export function timeNow(): i64 {
  return raw.time_now();
}

/** Fills an array (at most 4,096 bytes) from the invocation's recorded stream. Returns 0 or an Errno. */
export function random(into: Uint8Array): i32 {
  return raw.random(into.dataStart, into.byteLength);
}
