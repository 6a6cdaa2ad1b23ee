// JSON: replies and configuration are taken apart, and requests put together, without reflection.

import { utf8 } from "./text";

/** The kind of a JSON value, as the host numbers them. */
export enum Kind {
  /** There is no value. */
  None = -1,
  Null = 0,
  Bool = 1,
  Number = 2,
  Text = 3,
  Array = 4,
  Object = 5,
}

const MAX_DEPTH: i32 = 200;

/** A JSON value that was taken apart. Where there is none, the kind is None, and every method works on it. */
@final
export class Value {
  /** See Kind. */
  kind: Kind = Kind.None;
  /** Of a string its text, of anything else but arrays and objects its source. */
  source: string = "";
  private elements: Array<Value> | null = null;
  private members: Array<string> | null = null;

  /** Reads one value that fills a text. The kind is None when the text is not JSON. */
  static parse(json: string): Value {
    const r = new Reader(utf8(json).buffer);
    const v = r.value();
    return r.ended() ? v : new Value();
  }

  static of(kind: Kind, source: string): Value {
    const v = new Value();
    v.kind = kind;
    v.source = source;
    return v;
  }

  static list(kind: Kind, elements: Array<Value>, members: Array<string>): Value {
    const v = new Value();
    v.kind = kind;
    v.elements = elements;
    v.members = members;
    return v;
  }

  /** Whether there is a value; null is one. */
  get some(): bool {
    return this.kind != Kind.None;
  }

  /** The text of a string; "" for anything else. */
  text(): string {
    return this.kind == Kind.Text ? this.source : "";
  }

  /** A number that is an integer in range; other for anything else. */
  int(other: i64): i64 {
    return this.kind == Kind.Number ? parseInteger(this.source, other) : other;
  }

  /** Whether the value is true. */
  isTrue(): bool {
    return this.kind == Kind.Bool && this.source == "true";
  }

  /** The elements of an array, or the values of an object; none for anything else. */
  items(): Array<Value> {
    const e = this.elements;
    return e === null ? new Array<Value>() : e;
  }

  /** The member names of an object, in its order; none for anything else. */
  names(): Array<string> {
    const m = this.members;
    return m === null ? new Array<string>() : m;
  }

  /** The member of an object; of two with one name the first. */
  get(name: string): Value {
    const at = this.names().indexOf(name);
    return at < 0 ? new Value() : this.items()[at];
  }

  /** The strings of an array. */
  texts(): Array<string> {
    const out = new Array<string>();
    const items = this.items();
    for (let i = 0; i < items.length; i++) {
      if (items[i].kind == Kind.Text) out.push(items[i].source);
    }
    return out;
  }
}

/** Reads a decimal integer that fills a text; other for anything else. */
export function parseInteger(text: string, other: i64): i64 {
  const from = text.startsWith("-") ? 1 : 0;
  const digits = text.length - from;
  if (digits < 1 || digits > 18) return other; // 18 digits always fit
  let n: i64 = 0;
  for (let i = from; i < text.length; i++) {
    const d = text.charCodeAt(i) - 48;
    if (d < 0 || d > 9) return other;
    n = n * 10 + d;
  }
  return from ? -n : n;
}

/**
 * Reads a document from its begin to its end, member by member: replies become objects without a tree between. It is
 * strict about form and bounded in depth. A value of another kind than the reader asks for is passed over.
 *
 *     if (r.object()) while (r.member()) { if (r.is("name")) name = r.text(); else r.skip(); }
 */
@final
export class Reader {
  private n: i32;
  private at: i32 = 0;
  private good: bool = true;
  private opened: bool = false; // an object or array has begun, and nothing in it was read
  private depth: i32 = 0;
  private nameAt: i32 = 0;
  private nameLength: i32 = 0;

  constructor(private buffer: ArrayBuffer, length: i32 = -1) {
    this.n = length < 0 ? buffer.byteLength : length;
  }

  /** Whether all was read, and all was well. */
  ended(): bool {
    this.blanks();
    return this.good && this.at == this.n;
  }

  /** Enters an object; false, and past it, when there is something else. */
  object(): bool {
    return this.enter(0x7b);
  }

  /** Enters an array; false, and past it, when there is something else. */
  array(): bool {
    return this.enter(0x5b);
  }

  /** Goes to the next member of the object; false at its end. */
  member(): bool {
    if (!this.more(0x7d)) return false;
    this.blanks();
    const from = this.at;
    if (!this.passString()) return false;
    this.nameAt = from + 1;
    this.nameLength = this.at - from - 2;
    if (!this.eat(0x3a)) return this.bad();
    return true;
  }

  /** Goes to the next element of the array; false at its end. */
  element(): bool {
    return this.more(0x5d);
  }

  /** Whether the member has this name, which is of ASCII. */
  is(name: string): bool {
    if (name.length != this.nameLength) return false;
    for (let i = 0; i < name.length; i++) {
      if (name.charCodeAt(i) != <i32>this.byteAt(this.nameAt + i)) return false;
    }
    return true;
  }

  /** The name of the member. */
  name(): string {
    return this.unescaped(this.nameAt, this.nameLength);
  }

  /** Reads a string; "" for anything else. */
  text(): string {
    if (this.next() != 0x22) {
      this.skip();
      return "";
    }
    const from = this.at;
    if (!this.passString()) return "";
    return this.unescaped(from + 1, this.at - from - 2);
  }

  /** Reads the strings of an array. */
  texts(): Array<string> {
    const out = new Array<string>();
    if (this.array()) while (this.element()) out.push(this.text());
    return out;
  }

  /** Reads an integer; other for anything else. */
  int(other: i64): i64 {
    const c = this.next();
    if (c != 0x2d && (c < 0x30 || c > 0x39)) {
      this.skip();
      return other;
    }
    return parseInteger(this.number(), other);
  }

  /** Reads whether the value is true. */
  isTrue(): bool {
    const yes = this.next() == 0x74;
    this.skip();
    return yes && this.good;
  }

  /** Passes over a value. */
  skip(): void {
    switch (this.next()) {
      case 0x6e: this.word("null"); return;
      case 0x74: this.word("true"); return;
      case 0x66: this.word("false"); return;
      case 0x22: this.passString(); return;
      case 0x5b: if (this.array()) while (this.element()) this.skip(); return;
      case 0x7b: if (this.object()) while (this.member()) this.skip(); return;
    }
    this.passNumber();
  }

  /** Reads any value into a tree. */
  value(): Value {
    switch (this.next()) {
      case 0x6e: return this.word("null") ? Value.of(Kind.Null, "null") : new Value();
      case 0x74: return this.word("true") ? Value.of(Kind.Bool, "true") : new Value();
      case 0x66: return this.word("false") ? Value.of(Kind.Bool, "false") : new Value();
      case 0x22: return Value.of(Kind.Text, this.text());
    }
    const names = new Array<string>();
    const items = new Array<Value>();
    if (this.next() == 0x5b) {
      if (this.array()) while (this.element()) items.push(this.value());
      return Value.list(Kind.Array, items, names);
    }
    if (this.next() == 0x7b) {
      if (this.object()) while (this.member()) {
        names.push(this.name());
        items.push(this.value());
      }
      return Value.list(Kind.Object, items, names);
    }
    return Value.of(Kind.Number, this.number());
  }

  private bad(): bool {
    this.good = false;
    this.at = this.n; // nothing more is read
    return false;
  }

  private byteAt(i: i32): u8 {
    return load<u8>(changetype<usize>(this.buffer) + i);
  }

  private blanks(): void {
    while (this.at < this.n) {
      const c = this.byteAt(this.at);
      if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) return;
      this.at++;
    }
  }

  /** The byte that the next value begins with; 0 at the end. */
  private next(): i32 {
    this.blanks();
    return this.at < this.n ? this.byteAt(this.at) : 0;
  }

  private eat(c: i32): bool {
    if (this.next() != c) return false;
    this.at++;
    return true;
  }

  private enter(open: i32): bool {
    if (this.next() != open) {
      this.skip();
      return false;
    }
    this.at++;
    if (++this.depth > MAX_DEPTH) return this.bad();
    this.opened = true;
    return true;
  }

  private more(close: i32): bool {
    if (!this.good) return false;
    if (this.eat(close)) {
      this.opened = false;
      this.depth--;
      return false;
    }
    if (!this.opened && !this.eat(0x2c)) return this.bad();
    this.opened = false;
    return true;
  }

  private word(w: string): bool {
    for (let i = 0; i < w.length; i++) {
      if (this.at >= this.n || <i32>this.byteAt(this.at) != w.charCodeAt(i)) return this.bad();
      this.at++;
    }
    return true;
  }

  private passString(): bool {
    if (this.at >= this.n || this.byteAt(this.at) != 0x22) return this.bad();
    for (this.at++; this.at < this.n; this.at++) {
      const c = this.byteAt(this.at);
      if (c < 0x20) return this.bad();
      if (c == 0x22) {
        this.at++;
        return true;
      }
      if (c == 0x5c) this.at++;
    }
    return this.bad();
  }

  private digits(): bool {
    const from = this.at;
    while (this.at < this.n && this.byteAt(this.at) >= 0x30 && this.byteAt(this.at) <= 0x39) this.at++;
    return this.at > from;
  }

  private eatOne(a: u8, b: u8): bool {
    if (this.at >= this.n || (this.byteAt(this.at) != a && this.byteAt(this.at) != b)) return false;
    this.at++;
    return true;
  }

  private passNumber(): bool {
    this.eatOne(0x2d, 0x2d);
    if (!this.eatOne(0x30, 0x30) && !this.digits()) return this.bad();
    if (this.eatOne(0x2e, 0x2e) && !this.digits()) return this.bad();
    if (this.eatOne(0x65, 0x45)) {
      this.eatOne(0x2b, 0x2d);
      if (!this.digits()) return this.bad();
    }
    return true;
  }

  private number(): string {
    const from = this.at;
    if (!this.passNumber()) return "";
    return String.UTF8.decodeUnsafe(changetype<usize>(this.buffer) + from, this.at - from);
  }

  private unescaped(from: i32, length: i32): string {
    const at = changetype<usize>(this.buffer) + from;
    let plain = 0;
    while (plain < length && load<u8>(at + plain) != 0x5c) plain++;
    if (plain == length) return String.UTF8.decodeUnsafe(at, length);
    const out = new ArrayBuffer(length); // UTF-8 is never longer than its escaped form
    let n = 0;
    for (let i = 0; i < length; i++) {
      const c = load<u8>(at + i);
      if (c != 0x5c) {
        store<u8>(changetype<usize>(out) + n++, c);
        continue;
      }
      const e = load<u8>(at + ++i);
      let u: i32 = 0;
      switch (e) {
        case 0x22: case 0x5c: case 0x2f: u = e; break;
        case 0x6e: u = 0x0a; break;
        case 0x74: u = 0x09; break;
        case 0x72: u = 0x0d; break;
        case 0x62: u = 0x08; break;
        case 0x66: u = 0x0c; break;
        case 0x75: {
          u = hex4(at, i + 1, length);
          i += 4;
          if ((u & 0xfffffc00) == 0xd800) {
            const low = i + 2 < length && load<u8>(at + i + 1) == 0x5c && load<u8>(at + i + 2) == 0x75
              ? hex4(at, i + 3, length) : -1;
            u = (low & 0xfffffc00) == 0xdc00 ? 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00) : -1;
            i += 6;
          } else if ((u & 0xfffffc00) == 0xdc00) u = -1;
          break;
        }
        default: u = -1;
      }
      if (u < 0) {
        this.bad();
        return "";
      }
      n += putUTF8(changetype<usize>(out) + n, u);
    }
    return String.UTF8.decodeUnsafe(changetype<usize>(out), n);
  }
}

/** The number of four hexadecimal digits; -1 when they are not. */
function hex4(at: usize, from: i32, length: i32): i32 {
  if (from + 4 > length) return -1;
  let u = 0;
  for (let i = from; i < from + 4; i++) {
    const c = load<u8>(at + i);
    const letter = c | 0x20;
    if (c >= 0x30 && c <= 0x39) u = u * 16 + (c - 0x30);
    else if (letter >= 0x61 && letter <= 0x66) u = u * 16 + (letter - 0x61 + 10);
    else return -1;
  }
  return u;
}

function putUTF8(at: usize, u: i32): i32 {
  if (u < 0x80) {
    store<u8>(at, <u8>u);
    return 1;
  }
  if (u < 0x800) {
    store<u8>(at, <u8>(0xc0 | (u >> 6)));
    store<u8>(at, <u8>(0x80 | (u & 63)), 1);
    return 2;
  }
  if (u < 0x10000) {
    store<u8>(at, <u8>(0xe0 | (u >> 12)));
    store<u8>(at, <u8>(0x80 | ((u >> 6) & 63)), 1);
    store<u8>(at, <u8>(0x80 | (u & 63)), 2);
    return 3;
  }
  store<u8>(at, <u8>(0xf0 | (u >> 18)));
  store<u8>(at, <u8>(0x80 | ((u >> 12) & 63)), 1);
  store<u8>(at, <u8>(0x80 | ((u >> 6) & 63)), 2);
  store<u8>(at, <u8>(0x80 | (u & 63)), 3);
  return 4;
}

/** Puts JSON together: `new Writer().object().key("reason").text(why).end().toString()`. */
@final
export class Writer {
  private parts: Array<string> = new Array<string>();
  private closers: Array<string> = new Array<string>();
  private comma: bool = false;

  /** Begins an object. */
  object(): Writer {
    return this.open("{", "}");
  }

  /** Begins an array. */
  array(): Writer {
    return this.open("[", "]");
  }

  /** Ends the object or array that began last. */
  end(): Writer {
    this.parts.push(this.closers.pop());
    this.comma = true;
    return this;
  }

  /** The name of the next member. */
  key(name: string): Writer {
    this.put(quote(name));
    this.parts.push(":");
    this.comma = false;
    return this;
  }

  /** A string. */
  text(s: string): Writer {
    return this.put(quote(s));
  }

  /** An integer. */
  int(n: i64): Writer {
    return this.put(n.toString());
  }

  /** A boolean. */
  bool(yes: bool): Writer {
    return this.put(yes ? "true" : "false");
  }

  /** An array of strings. */
  texts(list: Array<string>): Writer {
    this.array();
    for (let i = 0; i < list.length; i++) this.text(list[i]);
    return this.end();
  }

  /** A value that is JSON already. */
  json(source: string): Writer {
    return this.put(source);
  }

  /** What was written. */
  toString(): string {
    return this.parts.join("");
  }

  private open(opener: string, closer: string): Writer {
    this.put(opener);
    this.closers.push(closer);
    this.comma = false;
    return this;
  }

  private put(part: string): Writer {
    if (this.comma) this.parts.push(",");
    this.parts.push(part);
    this.comma = true;
    return this;
  }
}

const HEX = "0123456789abcdef";

/** A text as a JSON string, with its quotes. */
export function quote(text: string): string {
  const parts: Array<string> = ['"'];
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c) continue;
    parts.push(text.substring(from, i));
    from = i + 1;
    if (c == 0x22) parts.push('\\"');
    else if (c == 0x5c) parts.push("\\\\");
    else if (c == 0x0a) parts.push("\\n");
    else if (c == 0x0d) parts.push("\\r");
    else if (c == 0x09) parts.push("\\t");
    else parts.push("\\u00" + HEX.charAt(c >> 4) + HEX.charAt(c & 15));
  }
  parts.push(text.substring(from));
  parts.push('"');
  return parts.join("");
}
