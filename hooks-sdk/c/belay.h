/*
 * belay.h - write belay hooks in C. Guest ABI version 1, import module "belay_v1".
 *
 * One header, no libc, no allocator to bring: a hook is compiled with
 *
 *   clang --target=wasm32 -O2 -nostdlib -mbulk-memory -Wl,--no-entry,--strip-all,-z,stack-size=16384 -o hook.wasm hook.c
 *
 * (`belay hook build` does it and adds the manifest.) A hook exports one function per phase:
 *
 *   #include "belay.h"
 *   BELAY_PHASE(pre_tool) {
 *     if (belay_eq(belay_input_command(), BELAY_T("reboot")))
 *       belay_block(BELAY_T("no reboots"));
 *     return BELAY_OK;
 *   }
 *
 * Only functions that a hook really uses become imports, and imports are what the
 * manifest has to declare as capabilities.
 *
 * The first half is the ABI itself, one declaration per host function. The second
 * half is helpers. Their memory comes from a bump allocator that is never freed: an
 * instance lives for one call. A helper that cannot get memory traps, and a trap
 * blocks the action; that is the right end for a guard that cannot do its work.
 *
 * Without a wasm target the declarations stay, and a native test defines the host
 * functions it needs.
 */
#ifndef BELAY_H
#define BELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a call answers when it does not succeed. */
enum {
  BELAY_ABSENT = -1,      /* no such value */
  BELAY_DENIED = -2,      /* not granted by the operator, or not legal in this phase */
  BELAY_INVALID = -3,     /* malformed argument */
  BELAY_BUDGET = -4,      /* a quota of this turn is spent */
  BELAY_TOO_LARGE = -5,   /* beyond a size limit */
  BELAY_PENDING = -6,     /* waits for a person */
  BELAY_UNAVAILABLE = -7, /* the host does not offer it here */
};

/* input_kind, config_kind */
enum { BELAY_NULL = 0, BELAY_BOOL = 1, BELAY_NUMBER = 2, BELAY_STRING = 3, BELAY_ARRAY = 4, BELAY_OBJECT = 5 };
/* rewrite */
enum { BELAY_JSON = 0, BELAY_TEXT = 1, BELAY_REMOVE = 2 };
/* log */
enum { BELAY_LOG_DEBUG = 0, BELAY_LOG_INFO = 1, BELAY_LOG_WARN = 2, BELAY_LOG_ERROR = 3 };
/* results of a phase function */
enum { BELAY_OK = 0, BELAY_FAILED = 1 };

#ifdef __wasm__
#define BELAY_IMPORT(name) __attribute__((import_module("belay_v1"), import_name(#name)))
#define BELAY_EXPORT(name) __attribute__((export_name(#name)))
#else
#define BELAY_IMPORT(name)
#define BELAY_EXPORT(name)
#endif

/* Defines and exports the function of a phase: BELAY_PHASE(pre_tool) { ... return BELAY_OK; } */
#define BELAY_PHASE(phase) \
  BELAY_EXPORT(phase) int32_t phase(void); \
  int32_t phase(void)

/* ---- The ABI ------------------------------------------------------------------------------------------------
 * p,n: pointer and length of an argument. d,c: destination and capacity; nothing is written unless all fits, and
 * the full length is returned either way. A range outside memory ends the hook. An effect that is refused (< 0)
 * fails the whole turn whatever the phase function returns, so its result needs no check. */

/* free: no capability needed */
BELAY_IMPORT(input_read) int32_t belay_v1_input_read(void *d, uint32_t c);
BELAY_IMPORT(input_get) int32_t belay_v1_input_get(const char *p, uint32_t n, void *d, uint32_t c);
BELAY_IMPORT(input_kind) int32_t belay_v1_input_kind(const char *p, uint32_t n);
BELAY_IMPORT(input_keys) int32_t belay_v1_input_keys(const char *p, uint32_t n);
BELAY_IMPORT(config_read) int32_t belay_v1_config_read(void *d, uint32_t c);
BELAY_IMPORT(config_get) int32_t belay_v1_config_get(const char *p, uint32_t n, void *d, uint32_t c);
BELAY_IMPORT(config_kind) int32_t belay_v1_config_kind(const char *p, uint32_t n);
BELAY_IMPORT(config_keys) int32_t belay_v1_config_keys(const char *p, uint32_t n);
BELAY_IMPORT(reply_read) int32_t belay_v1_reply_read(void *d, uint32_t c);
BELAY_IMPORT(log) int32_t belay_v1_log(int32_t level, const char *p, uint32_t n);
BELAY_IMPORT(fail) int32_t belay_v1_fail(const char *p, uint32_t n);

/* effects */
BELAY_IMPORT(block) int32_t belay_v1_block(const char *p, uint32_t n);
BELAY_IMPORT(request_approval) int32_t belay_v1_request_approval(const char *p, uint32_t n);
BELAY_IMPORT(rewrite) int32_t belay_v1_rewrite(const char *p, uint32_t n, const char *vp, uint32_t vn, int32_t kind);
BELAY_IMPORT(redact) int32_t belay_v1_redact(const char *p, uint32_t n, const char *lp, uint32_t ln);
BELAY_IMPORT(clamp_scopes) int32_t belay_v1_clamp_scopes(const char *p, uint32_t n);
BELAY_IMPORT(annotate) int32_t belay_v1_annotate(const char *kp, uint32_t kn, const char *vp, uint32_t vn);
BELAY_IMPORT(add_context) int32_t belay_v1_add_context(const char *p, uint32_t n);
BELAY_IMPORT(retry) int32_t belay_v1_retry(const char *p, uint32_t n);
BELAY_IMPORT(reply) int32_t belay_v1_reply(const char *p, uint32_t n);
BELAY_IMPORT(put_artifact) int32_t belay_v1_put_artifact(const char *p, uint32_t n);
BELAY_IMPORT(grant) int32_t belay_v1_grant(const char *p, uint32_t n);

/* analysis: the answer is fetched with reply_read */
BELAY_IMPORT(shell_parse) int32_t belay_v1_shell_parse(const char *p, uint32_t n);
BELAY_IMPORT(path_resolve) int32_t belay_v1_path_resolve(const char *p, uint32_t n);
BELAY_IMPORT(pattern_match) int32_t belay_v1_pattern_match(const char *p, uint32_t n);
BELAY_IMPORT(find_secrets) int32_t belay_v1_find_secrets(const char *p, uint32_t n);

/* calls: the answer is fetched with reply_read, but for the last four */
BELAY_IMPORT(request_tool_call) int32_t belay_v1_request_tool_call(const char *p, uint32_t n);
BELAY_IMPORT(request_lease) int32_t belay_v1_request_lease(const char *p, uint32_t n);
BELAY_IMPORT(check_lease) int32_t belay_v1_check_lease(const char *p, uint32_t n);
BELAY_IMPORT(mint_lease) int32_t belay_v1_mint_lease(const char *p, uint32_t n);
BELAY_IMPORT(revoke_lease) int32_t belay_v1_revoke_lease(const char *p, uint32_t n);
BELAY_IMPORT(http_request) int32_t belay_v1_http_request(const char *p, uint32_t n);
BELAY_IMPORT(state_get) int32_t belay_v1_state_get(const char *p, uint32_t n, void *d, uint32_t c);
BELAY_IMPORT(state_put) int32_t belay_v1_state_put(const char *p, uint32_t n, const void *vp, uint32_t vn);
BELAY_IMPORT(time_now) int64_t belay_v1_time_now(void);
BELAY_IMPORT(random) int32_t belay_v1_random(void *d, uint32_t n);

/* ---- Text and memory ---------------------------------------------------------------------------------------- */

/* A piece of UTF-8 text, or of raw JSON: not terminated, may hold NUL. p == NULL means that there is none. */
typedef struct {
  const char *p;
  uint32_t n;
} belay_text;

/* A literal as a belay_text. */
#define BELAY_T(literal) ((belay_text)BELAY_INIT(literal))
/* The same as an initialiser of a constant: static const belay_text t = BELAY_INIT("..."); */
#define BELAY_INIT(literal) {(literal), (uint32_t)(sizeof(literal) - 1)}

static inline bool belay_some(belay_text t) { return t.p != NULL; }

static inline bool belay_eq(belay_text a, belay_text b) {
  if (a.n != b.n || !a.p != !b.p) return false;
  for (uint32_t i = 0; i < a.n; i++)
    if (a.p[i] != b.p[i]) return false;
  return true;
}

static inline bool belay_has_prefix(belay_text t, belay_text prefix) {
  return t.n >= prefix.n && belay_eq((belay_text){t.p, prefix.n}, prefix);
}

/* The place of part in t, or -1. */
static inline int32_t belay_find(belay_text t, belay_text part) {
  for (uint32_t i = 0; part.n <= t.n && i <= t.n - part.n; i++)
    if (belay_eq((belay_text){t.p + i, part.n}, part)) return (int32_t)i;
  return -1;
}

static inline void belay_copy(char *to, const char *from, uint32_t n) {
#ifdef __wasm_bulk_memory__
  __builtin_memcpy(to, from, n);
#else
  for (uint32_t i = 0; i < n; i++) {
    to[i] = from[i];
    __asm__ volatile("" ::: "memory"); /* or the loop becomes a call of memcpy, which nobody defines */
  }
#endif
}

#ifdef __wasm__
extern unsigned char __heap_base; /* from the linker */
__attribute__((weak)) uintptr_t belay_heap_next;

/* n bytes, aligned to 8, never to be freed; traps when the memory cap is reached. */
static inline void *belay_alloc(uint32_t n) {
  if (belay_heap_next == 0) belay_heap_next = ((uintptr_t)&__heap_base + 7) & ~(uintptr_t)7;
  uintptr_t at = belay_heap_next;
  if (n > UINT32_MAX - 7 - at) __builtin_trap();
  uintptr_t end = at + ((n + 7) & ~(uint32_t)7);
  uintptr_t have = __builtin_wasm_memory_size(0) << 16;
  if (end > have && __builtin_wasm_memory_grow(0, (end - have + 0xffff) >> 16) == (size_t)-1) __builtin_trap();
  belay_heap_next = end;
  return (void *)at;
}
#else
void *belay_alloc(uint32_t n); /* a native test brings its own */
#endif

/* ---- Buffers: build text and JSON --------------------------------------------------------------------------- */

typedef struct {
  char *p;
  uint32_t n, cap;
} belay_buf;

static inline void belay_put_bytes(belay_buf *b, const char *p, uint32_t n) {
  if (n > b->cap - b->n) {
    if (n > 0x40000000u || b->n > 0x40000000u) __builtin_trap();
    uint32_t cap = b->cap ? b->cap * 2 : 128;
    if (cap < b->n + n) cap = b->n + n;
    char *q = (char *)belay_alloc(cap);
    if (b->n) belay_copy(q, b->p, b->n);
    b->p = q;
    b->cap = cap;
  }
  if (n) belay_copy(b->p + b->n, p, n);
  b->n += n;
}

static inline void belay_put(belay_buf *b, belay_text t) { belay_put_bytes(b, t.p, t.n); }
static inline void belay_put_char(belay_buf *b, char c) { belay_put_bytes(b, &c, 1); }
#define belay_put_lit(b, literal) belay_put_bytes((b), (literal), (uint32_t)(sizeof(literal) - 1))

static inline void belay_put_int(belay_buf *b, int64_t v) {
  char digits[20];
  uint32_t i = sizeof digits;
  uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
  do digits[--i] = (char)('0' + u % 10);
  while (u /= 10);
  if (v < 0) digits[--i] = '-';
  belay_put_bytes(b, digits + i, sizeof digits - i);
}

/* t as a JSON string, with its quotes. t is UTF-8, as everything is that the host hands out as text. */
static inline void belay_put_string(belay_buf *b, belay_text t) {
  belay_put_char(b, '"');
  uint32_t from = 0;
  for (uint32_t i = 0; i < t.n; i++) {
    unsigned char c = (unsigned char)t.p[i];
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    belay_put_bytes(b, t.p + from, i - from);
    from = i + 1;
    char esc[6] = {'\\', 'u', '0', '0', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
    if (c == '"' || c == '\\') esc[1] = (char)c;
    else if (c == '\n') esc[1] = 'n';
    else if (c == '\t') esc[1] = 't';
    belay_put_bytes(b, esc, esc[1] == 'u' ? 6 : 2);
  }
  belay_put_bytes(b, t.p + from, t.n - from);
  belay_put_char(b, '"');
}

/* Appends "/" and name to a JSON Pointer, escaped as RFC 6901 wants it. */
static inline void belay_put_step(belay_buf *b, belay_text name) {
  belay_put_char(b, '/');
  for (uint32_t i = 0; i < name.n; i++) {
    if (name.p[i] == '~') belay_put_lit(b, "~0");
    else if (name.p[i] == '/') belay_put_lit(b, "~1");
    else belay_put_char(b, name.p[i]);
  }
}

static inline belay_text belay_done(const belay_buf *b) { return (belay_text){b->p ? b->p : "", b->n}; }

/* path + "/" + name, and path + "/" + index. */
static inline belay_text belay_child(belay_text path, belay_text name) {
  belay_buf b = {0};
  belay_put(&b, path);
  belay_put_step(&b, name);
  return belay_done(&b);
}
static inline belay_text belay_at(belay_text path, uint32_t index) {
  belay_buf b = {0};
  belay_put(&b, path);
  belay_put_char(&b, '/');
  belay_put_int(&b, index);
  return belay_done(&b);
}

/* ---- Reading input, configuration, replies, state ------------------------------------------------------------
 * A string comes without quotes and escapes, everything else as its JSON. Absent values have p == NULL. */

#define BELAY_READ_(call, grow) \
  uint32_t cap = (grow); \
  for (;;) { \
    char *p = (char *)belay_alloc(cap); \
    int32_t n = call; \
    if (n < 0) return (belay_text){NULL, 0}; \
    if ((uint32_t)n <= cap) return (belay_text){p, (uint32_t)n}; \
    cap = (uint32_t)n; \
  }

static inline belay_text belay_input(void) { BELAY_READ_(belay_v1_input_read(p, cap), 1024) }
static inline belay_text belay_config(void) { BELAY_READ_(belay_v1_config_read(p, cap), 256) }
static inline belay_text belay_reply_text(void) { BELAY_READ_(belay_v1_reply_read(p, cap), 1024) }
static inline belay_text belay_state(belay_text key) { BELAY_READ_(belay_v1_state_get(key.p, key.n, p, cap), 64) }

/* The value at a pointer whatever its kind: strings unescaped, all else raw JSON. */
static inline belay_text belay_input_get(belay_text path) { BELAY_READ_(belay_v1_input_get(path.p, path.n, p, cap), 256) }
static inline belay_text belay_config_get(belay_text path) { BELAY_READ_(belay_v1_config_get(path.p, path.n, p, cap), 64) }

static inline int32_t belay_input_kind(belay_text path) { return belay_v1_input_kind(path.p, path.n); }
static inline int32_t belay_config_kind(belay_text path) { return belay_v1_config_kind(path.p, path.n); }

/* The value at a pointer when it is a string, else none. */
static inline belay_text belay_input_text(belay_text path) {
  return belay_input_kind(path) == BELAY_STRING ? belay_input_get(path) : (belay_text){NULL, 0};
}
static inline belay_text belay_config_text(belay_text path) {
  return belay_config_kind(path) == BELAY_STRING ? belay_config_get(path) : (belay_text){NULL, 0};
}

/* The member names of an object as a JSON array, or the number of elements of an array as a JSON number. */
static inline belay_text belay_input_keys(belay_text path) {
  return belay_v1_input_keys(path.p, path.n) < 0 ? (belay_text){NULL, 0} : belay_reply_text();
}
static inline belay_text belay_config_keys(belay_text path) {
  return belay_v1_config_keys(path.p, path.n) < 0 ? (belay_text){NULL, 0} : belay_reply_text();
}

/* Reads a decimal integer that fills t; other is returned for anything else (fractions and overflow included). */
static inline int64_t belay_int(belay_text t, int64_t other) {
  uint32_t i = 0;
  bool neg = t.n > 0 && t.p[0] == '-';
  if (neg) i++;
  if (i == t.n) return other;
  uint64_t v = 0;
  for (; i < t.n; i++) {
    if (t.p[i] < '0' || t.p[i] > '9' || v > 922337203685477579u) return other;
    v = v * 10 + (uint64_t)(t.p[i] - '0');
  }
  return neg ? -(int64_t)v : (int64_t)v;
}

static inline int64_t belay_input_int(belay_text path, int64_t other) {
  return belay_input_kind(path) == BELAY_NUMBER ? belay_int(belay_input_get(path), other) : other;
}
static inline int64_t belay_config_int(belay_text path, int64_t other) {
  return belay_config_kind(path) == BELAY_NUMBER ? belay_int(belay_config_get(path), other) : other;
}
static inline bool belay_config_bool(belay_text path, bool other) {
  return belay_config_kind(path) == BELAY_BOOL ? belay_eq(belay_config_get(path), BELAY_T("true")) : other;
}

/* ---- Walking JSON that the host gave ---------------------------------------------------------------------------
 * For replies. The host's JSON is well formed; on anything else these stop early and never read past the end. */

/* The place after the value that starts at i (blanks before it are skipped); > t.n never. */
static inline uint32_t belay_json_skip(belay_text t, uint32_t i) {
  uint32_t depth = 0;
  while (i < t.n) {
    char c = t.p[i];
    if (c == '"') {
      for (i++; i < t.n && t.p[i] != '"'; i++)
        if (t.p[i] == '\\') i++;
      i = i < t.n ? i + 1 : t.n;
      if (depth == 0) return i;
    } else if (c == '{' || c == '[') {
      depth++, i++;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return i;
      i++;
      if (--depth == 0) return i;
    } else if (c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      if (depth == 0 && (c == ',' || c == ':')) return i;
      i++;
    } else {
      do i++; /* at least one byte, whatever it is: what is no JSON must end, too */
      while (i < t.n && t.p[i] != ',' && t.p[i] != ']' && t.p[i] != '}' && t.p[i] != '"' && t.p[i] > ' ');
      if (depth == 0) return i;
    }
  }
  return t.n;
}

/* The text of a raw JSON string; raw itself when it holds no escape; none when it is no string. */
static inline belay_text belay_json_text(belay_text raw) {
  if (raw.n < 2 || raw.p[0] != '"' || raw.p[raw.n - 1] != '"') return (belay_text){NULL, 0};
  belay_text in = {raw.p + 1, raw.n - 2};
  uint32_t i = 0;
  while (i < in.n && in.p[i] != '\\') i++;
  if (i == in.n) return in;
  char *out = (char *)belay_alloc(in.n); /* never longer than its escaped form */
  uint32_t n = 0;
  for (i = 0; i < in.n; i++) {
    char c = in.p[i];
    if (c != '\\' || i + 1 >= in.n) {
      out[n++] = c;
      continue;
    }
    c = in.p[++i];
    if (c == 'u' && i + 4 < in.n) {
      uint32_t u = 0;
      for (int half = 0; half < 2; half++) {
        uint32_t v = 0;
        for (int k = 1; k <= 4; k++) {
          char h = in.p[i + (uint32_t)k];
          v = v * 16 + (uint32_t)(h <= '9' ? h - '0' : (h | 32) - 'a' + 10);
        }
        i += 4;
        u = half ? 0x10000 + ((u - 0xd800) << 10) + ((v - 0xdc00) & 0x3ff) : v;
        if (half || u < 0xd800 || u > 0xdbff || i + 6 >= in.n || in.p[i + 1] != '\\') break;
        i += 2;
      }
      if (u < 0x80) out[n++] = (char)u;
      else if (u < 0x800) out[n++] = (char)(0xc0 | u >> 6), out[n++] = (char)(0x80 | (u & 63));
      else if (u < 0x10000) out[n++] = (char)(0xe0 | u >> 12), out[n++] = (char)(0x80 | (u >> 6 & 63)), out[n++] = (char)(0x80 | (u & 63));
      else out[n++] = (char)(0xf0 | (u >> 18 & 7)), out[n++] = (char)(0x80 | (u >> 12 & 63)), out[n++] = (char)(0x80 | (u >> 6 & 63)), out[n++] = (char)(0x80 | (u & 63));
      continue;
    }
    out[n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
  }
  return (belay_text){out, n};
}

/* Walks the elements of an array or the members of an object:
 *   for (belay_json_each e = belay_json_in(raw); belay_json_next(&e);) { ... e.key ... e.value ... } */
typedef struct {
  belay_text in, key, value; /* key: unescaped member name, none in arrays; value: raw JSON */
  uint32_t at;
} belay_json_each;

static inline belay_json_each belay_json_in(belay_text raw) {
  belay_json_each e = {.in = raw, .at = raw.n};
  if (raw.n > 1 && (raw.p[0] == '{' || raw.p[0] == '[')) e.at = 1;
  return e;
}

static inline bool belay_json_blank(char c) { return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\t' || c == '\r'; }

static inline bool belay_json_next(belay_json_each *e) {
  bool object = e->in.n && e->in.p[0] == '{';
  for (int part = object ? 0 : 1; part < 2; part++) {
    while (e->at < e->in.n && belay_json_blank(e->in.p[e->at])) e->at++;
    if (e->at >= e->in.n || e->in.p[e->at] == ']' || e->in.p[e->at] == '}') return false;
    uint32_t from = e->at;
    e->at = belay_json_skip(e->in, from);
    if (e->at == from) return false;
    belay_text raw = {e->in.p + from, e->at - from};
    if (part) e->value = raw;
    else e->key = belay_json_text(raw);
  }
  return true;
}

/* The raw value of an object's member, or none. */
static inline belay_text belay_json_member(belay_text object, belay_text name) {
  if (object.n && object.p[0] == '{')
    for (belay_json_each e = belay_json_in(object); belay_json_next(&e);)
      if (belay_eq(e.key, name)) return e.value;
  return (belay_text){NULL, 0};
}

static inline bool belay_json_true(belay_text raw) { return belay_eq(raw, BELAY_T("true")); }

/* ---- What a tool call would run -------------------------------------------------------------------------------- */

/* Reads a command: a string, or an array of words, which are quoted and joined. None for anything else. */
static inline belay_text belay_command_line(belay_text path) {
  int32_t kind = belay_input_kind(path);
  if (kind == BELAY_STRING) return belay_input_get(path);
  belay_buf b = {0};
  if (kind == BELAY_ARRAY) {
    for (belay_json_each e = belay_json_in(belay_input_get(path)); belay_json_next(&e);) {
      belay_text word = belay_json_text(e.value);
      if (!belay_some(word)) return word;
      if (b.n) belay_put_char(&b, ' ');
      belay_put_char(&b, '\'');
      for (uint32_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'') belay_put_lit(&b, "'\\'");
        belay_put_char(&b, word.p[i]);
      }
      belay_put_char(&b, '\'');
    }
  }
  return (belay_text){b.p, b.n}; /* no words, no command */
}

/* The command line of a tool call: /args/command or /args/cmd, as a string, or as an array of words, which are quoted
 * and joined. None when there is nothing of the kind, or something else stands there. A guard uses belay_input_lines,
 * which finds commands of other tools, too. */
static inline belay_text belay_input_command(void) {
  belay_text path = BELAY_T("/args/command");
  return belay_command_line(belay_input_kind(path) < 0 ? BELAY_T("/args/cmd") : path);
}

/* One text that a tool call would run. */
typedef struct {
  belay_text text; /* as belay_input_command returns it */
  bool code;       /* it may be of another language than the shell's */
} belay_line;

/* What a tool call would run. */
typedef struct {
  belay_line *at; /* n of them */
  uint32_t n;
  bool foreign; /* the tool is known to run another language: what its code does cannot be told from it */
  bool more;    /* there is more than is told here, or something that cannot be read */
} belay_lines;

/* Finds everything that a tool call would run: of a tool that runs commands, and of one that the host judges as such by
 * what the call carries (a "script", a "cmd" among other members). False when there is nothing of the kind. */
static inline bool belay_input_lines(belay_lines *found) {
  *found = (belay_lines){0};
  if (belay_input_kind(BELAY_T("/judged")) < 0) {
    belay_text line = belay_input_command();
    if (!belay_some(line)) return false;
    found->at = (belay_line *)belay_alloc(sizeof *found->at);
    found->at[found->n++] = (belay_line){line, false};
    return true;
  }
  belay_text judged = belay_input_get(BELAY_T("/judged"));
  belay_text lists[2] = {belay_json_member(judged, BELAY_T("commands")), belay_json_member(judged, BELAY_T("code"))};
  found->foreign = belay_json_true(belay_json_member(judged, BELAY_T("foreign")));
  found->more = belay_json_true(belay_json_member(judged, BELAY_T("more")));
  uint32_t n = 0;
  for (int i = 0; i < 2; i++)
    for (belay_json_each e = belay_json_in(lists[i]); belay_json_next(&e);) n++;
  if (n) found->at = (belay_line *)belay_alloc(n * (uint32_t)sizeof *found->at);
  for (int i = 0; i < 2; i++)
    for (belay_json_each e = belay_json_in(lists[i]); belay_json_next(&e);) {
      belay_text path = belay_json_text(e.value);
      belay_text line = belay_some(path) ? belay_command_line(path) : path;
      if (belay_some(line)) found->at[found->n++] = (belay_line){line, i == 1};
      else found->more = true;
    }
  return found->n || found->more;
}

/* ---- Effects and the rest --------------------------------------------------------------------------------------
 * A refused effect fails the turn by itself; nothing is returned. */

static inline void belay_log(int32_t level, belay_text t) { belay_v1_log(level, t.p, t.n); }

/* Notes why the hook fails; use as `return belay_fail(BELAY_T("..."));`. The action is blocked. */
static inline int32_t belay_fail(belay_text why) {
  belay_v1_fail(why.p, why.n);
  return BELAY_FAILED;
}

static inline void belay_block(belay_text reason) { belay_v1_block(reason.p, reason.n); }
static inline void belay_add_context(belay_text t) { belay_v1_add_context(t.p, t.n); }
static inline void belay_grant(belay_text reason) { belay_v1_grant(reason.p, reason.n); }

/* Asks a person. ttl_s: seconds until the question counts as denied, 0 for the operator's default. */
static inline void belay_ask(belay_text reason, int64_t ttl_s) {
  belay_buf b = {0};
  belay_put_lit(&b, "{\"reason\":");
  belay_put_string(&b, reason);
  if (ttl_s > 0) belay_put_lit(&b, ",\"ttl_s\":"), belay_put_int(&b, ttl_s);
  belay_put_char(&b, '}');
  belay_v1_request_approval(b.p, b.n);
}

static inline void belay_rewrite_text(belay_text path, belay_text value) {
  belay_v1_rewrite(path.p, path.n, value.p, value.n, BELAY_TEXT);
}
static inline void belay_rewrite_json(belay_text path, belay_text json) {
  belay_v1_rewrite(path.p, path.n, json.p, json.n, BELAY_JSON);
}
static inline void belay_remove(belay_text path) { belay_v1_rewrite(path.p, path.n, "", 0, BELAY_REMOVE); }
static inline void belay_redact(belay_text path, belay_text label) { belay_v1_redact(path.p, path.n, label.p, label.n); }
static inline void belay_annotate_json(belay_text key, belay_text json) { belay_v1_annotate(key.p, key.n, json.p, json.n); }
static inline void belay_annotate_text(belay_text key, belay_text value) {
  belay_buf b = {0};
  belay_put_string(&b, value);
  belay_v1_annotate(key.p, key.n, b.p, b.n);
}
static inline void belay_clamp_json(belay_text scopes) { belay_v1_clamp_scopes(scopes.p, scopes.n); }

/* Sends the agent on with an instruction, at most max times in a run. */
static inline void belay_retry(belay_text instruction, int64_t max) {
  belay_buf b = {0};
  belay_put_lit(&b, "{\"instruction\":");
  belay_put_string(&b, instruction);
  belay_put_lit(&b, ",\"max\":"), belay_put_int(&b, max);
  belay_put_char(&b, '}');
  belay_v1_retry(b.p, b.n);
}

/* Answers instead of the model. */
static inline void belay_reply(belay_text t) {
  belay_buf b = {0};
  belay_put_lit(&b, "{\"text\":");
  belay_put_string(&b, t);
  belay_put_char(&b, '}');
  belay_v1_reply(b.p, b.n);
}

static inline void belay_put_artifact(belay_text name, belay_text media_type, belay_text t) {
  belay_buf b = {0};
  belay_put_lit(&b, "{\"name\":"), belay_put_string(&b, name);
  belay_put_lit(&b, ",\"media_type\":"), belay_put_string(&b, media_type);
  belay_put_lit(&b, ",\"text\":"), belay_put_string(&b, t);
  belay_put_char(&b, '}');
  belay_v1_put_artifact(b.p, b.n);
}

/* The reply of an analysis, or none when the call was refused. */
static inline belay_text belay_shell_parse(belay_text command) {
  return belay_v1_shell_parse(command.p, command.n) < 0 ? (belay_text){NULL, 0} : belay_reply_text();
}

/* The members of a shell_parse reply, read into structs. A list stays the raw JSON that belay_json_in walks:
 *
 *   belay_text shell = belay_shell_parse(line);
 *   for (belay_json_each e = belay_json_in(belay_json_member(shell, BELAY_T("commands"))); belay_json_next(&e);) {
 *     belay_command c = belay_read_command(e.value);
 *     for (belay_json_each w = belay_json_in(c.words); belay_json_next(&w);) ... belay_read_word(w.value) ...
 *   }
 *
 * A text, list or word that is not there has p == NULL; an index that is not there is -1. A guard treats as "cannot
 * tell", and asks or blocks: no reply, "ok" false, "truncated" true, an entry in "unknown", a command whose name is
 * empty, and a word that matters with known false. */
typedef struct {
  belay_text text; /* parts that are not known stand as their source text; none: there is no such word */
  belay_text from; /* where it is not known: a list of the commands whose output is in it, by index (belay_int) */
  bool known;      /* text is exactly what the command gets, apart from ~ and patterns */
  bool glob;       /* it has a pattern that the shell would expand */
  bool tilde;      /* it begins with ~ or $HOME, both written ~ */
} belay_word;

typedef struct {
  belay_text name, raw;      /* last path element of the command word, "" when it is not known; its source text, cut */
  belay_text words;          /* list: the command word and its arguments after expansion (belay_read_word) */
  belay_text assigns;        /* list: NAME=value before it (belay_read_assign) */
  belay_text redirects;      /* list: its redirections (belay_read_redirect) */
  belay_text via, context;   /* lists of strings: wrappers and constructs round it, outermost first */
  belay_word stdin_text;     /* the text on its standard input, where that stands in the text that was parsed */
  belay_word cwd;            /* where it runs, after a cd in the text */
  int64_t pipe;              /* the number of its pipeline, from 1; 0 outside of one */
  int64_t stdin_from;        /* index of the command whose output it reads */
  int64_t parent;            /* index of the innermost wrapper that runs it */
  bool function, recursive;  /* it calls a function of the text; one that is already running */
  bool remote;               /* it runs on another host or in a container */
  bool args_open;            /* more arguments follow that are not known */
} belay_command;

typedef struct {
  belay_text name;
  belay_word value;
} belay_assign;

typedef struct {
  belay_text op;     /* such as > */
  int64_t fd;        /* the descriptor that is redirected */
  belay_word target; /* the file, descriptor or text */
} belay_redirect;

/* An entry in "unknown": something that would run and is not known. */
typedef struct {
  belay_text what, raw; /* name, code, script or limit; its source text, cut */
  int64_t command;      /* index of the command that it belongs to */
  bool partial;         /* of code: it is known but for words in it, and what it runs is among the commands */
} belay_unknown;

/* An entry in "unknown_programs": a program of another language, which a guard judges by its text, or asks about. */
typedef struct {
  belay_text language;        /* python, perl, javascript, awk, sql, make, crontab, native... */
  belay_text text, file, raw; /* the program, where it is at hand; the file that holds it; its source text, cut */
  int64_t command;            /* index of its command */
  bool partial;               /* parts of text are not known and stand as their source text */
} belay_program;

#define BELAY_MEMBER_(name) belay_json_member(raw, BELAY_T(name))
#define BELAY_TEXT_(name) belay_json_text(BELAY_MEMBER_(name))
#define BELAY_TRUE_(name) belay_json_true(BELAY_MEMBER_(name))
#define BELAY_INT_(name, other) belay_int(BELAY_MEMBER_(name), other)

static inline belay_word belay_read_word(belay_text raw) {
  return (belay_word){BELAY_TEXT_("text"), BELAY_MEMBER_("from"), BELAY_TRUE_("known"), BELAY_TRUE_("glob"), BELAY_TRUE_("tilde")};
}
static inline belay_command belay_read_command(belay_text raw) {
  return (belay_command){
      .name = BELAY_TEXT_("name"), .raw = BELAY_TEXT_("raw"), .words = BELAY_MEMBER_("words"),
      .assigns = BELAY_MEMBER_("assigns"), .redirects = BELAY_MEMBER_("redirects"),
      .via = BELAY_MEMBER_("via"), .context = BELAY_MEMBER_("context"),
      .stdin_text = belay_read_word(BELAY_MEMBER_("stdin")), .cwd = belay_read_word(BELAY_MEMBER_("cwd")),
      .pipe = BELAY_INT_("pipe", 0), .stdin_from = BELAY_INT_("stdin_from", -1), .parent = BELAY_INT_("parent", -1),
      .function = BELAY_TRUE_("function"), .recursive = BELAY_TRUE_("recursive"),
      .remote = BELAY_TRUE_("remote"), .args_open = BELAY_TRUE_("args_open"),
  };
}
static inline belay_assign belay_read_assign(belay_text raw) {
  return (belay_assign){BELAY_TEXT_("name"), belay_read_word(BELAY_MEMBER_("value"))};
}
static inline belay_redirect belay_read_redirect(belay_text raw) {
  return (belay_redirect){BELAY_TEXT_("op"), BELAY_INT_("fd", -1), belay_read_word(BELAY_MEMBER_("target"))};
}
static inline belay_unknown belay_read_unknown(belay_text raw) {
  return (belay_unknown){BELAY_TEXT_("what"), BELAY_TEXT_("raw"), BELAY_INT_("command", -1), BELAY_TRUE_("partial")};
}
static inline belay_program belay_read_program(belay_text raw) {
  return (belay_program){
      BELAY_TEXT_("language"), BELAY_TEXT_("text"), BELAY_TEXT_("file"), BELAY_TEXT_("raw"),
      BELAY_INT_("command", -1), BELAY_TRUE_("partial"),
  };
}

#undef BELAY_MEMBER_
#undef BELAY_TEXT_
#undef BELAY_TRUE_
#undef BELAY_INT_

static inline belay_text belay_find_secrets(belay_text t) {
  return belay_v1_find_secrets(t.p, t.n) < 0 ? (belay_text){NULL, 0} : belay_reply_text();
}
static inline belay_text belay_path_resolve(belay_text request) {
  return belay_v1_path_resolve(request.p, request.n) < 0 ? (belay_text){NULL, 0} : belay_reply_text();
}
static inline belay_text belay_pattern_match(belay_text request) {
  return belay_v1_pattern_match(request.p, request.n) < 0 ? (belay_text){NULL, 0} : belay_reply_text();
}

/* What a call with documents came to. ok: reply is the answer. Otherwise code is an errno, and reply the document in
 * which the host explains itself, or none. */
typedef struct {
  bool ok;
  int32_t code; /* 0, or BELAY_ABSENT... */
  belay_text reply;
} belay_answer;

static inline belay_answer belay_answered(int32_t code) {
  belay_answer a = {code >= 0, code < 0 ? code : 0, belay_reply_text()};
  if (a.reply.n == 0) a.reply.p = NULL;
  return a;
}

/* Why the host refused, in one sentence, or none. */
static inline belay_text belay_reason(belay_answer a) {
  if (a.ok) return (belay_text){NULL, 0};
  belay_text why = belay_json_text(belay_json_member(a.reply, BELAY_T("reason")));
  return belay_some(why) ? why : belay_json_text(belay_json_member(a.reply, BELAY_T("error"))); /* so the lease calls call it */
}

static inline belay_answer belay_request_tool_call(belay_text r) { return belay_answered(belay_v1_request_tool_call(r.p, r.n)); }
static inline belay_answer belay_request_lease(belay_text r) { return belay_answered(belay_v1_request_lease(r.p, r.n)); }
static inline belay_answer belay_check_lease(belay_text r) { return belay_answered(belay_v1_check_lease(r.p, r.n)); }
static inline belay_answer belay_mint_lease(belay_text r) { return belay_answered(belay_v1_mint_lease(r.p, r.n)); }
static inline belay_answer belay_revoke_lease(belay_text r) { return belay_answered(belay_v1_revoke_lease(r.p, r.n)); }
static inline belay_answer belay_http_request(belay_text r) { return belay_answered(belay_v1_http_request(r.p, r.n)); }

/* Keeps bytes under a key, for this hook only; seen by later invocations once this one is on record. */
static inline int32_t belay_state_put(belay_text key, belay_text value) {
  return belay_v1_state_put(key.p, key.n, value.p, value.n);
}

/* The invocation's time in nanoseconds since 1970. */
static inline int64_t belay_time_now(void) { return belay_v1_time_now(); }

#undef BELAY_READ_
#endif /* BELAY_H */
