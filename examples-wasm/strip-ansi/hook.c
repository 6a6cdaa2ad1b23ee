// Takes terminal control sequences (colours, cursor moves, titles, links) out of tool results.
//
// A result may be text or any JSON. Both go through the same scanner: in JSON the escape character stands as \u001b,
// so the source of the document can be cleaned without taking it apart. Member names are left alone.
#include "belay.h"

typedef struct {
  belay_text in;
  bool json;   // in is JSON source, not text
  uint32_t at; // next byte
  uint32_t open; // no string ends before this byte: one that began earlier was looked at to here
} scanner;

enum {
  ESC = 0x1b, BEL = 0x07, DCS = 0x90, SOS = 0x98, CSI = 0x9b, ST = 0x9c, OSC = 0x9d, PM = 0x9e, APC = 0x9f, END = 0x7fffffff,
};

// What the operator wants: colours stay, and so do characters that are not seen unless they are to go.
static bool keep_colors, remove_invisible;
static bool failed; // the action is blocked

// How long the texts of a document may be that is too long, and what is left out then.
enum { LIMITS = 6 };
static const uint32_t limits[LIMITS] = {192u << 10, 48u << 10, 12u << 10, 3u << 10, 768, 256};
static uint32_t left_out[LIMITS];

// A character beyond U+00FF that is to be told apart: those that are not seen. 0 for another one.
static uint32_t beyond(const char *p, uint32_t left, uint32_t *len) {
  const unsigned char *u = (const unsigned char *)p;
  if (u[0] == 0xd8 && left > 1) return *len = 2, (uint32_t)(u[0] & 31) << 6 | (u[1] & 63);
  if ((u[0] == 0xe2 || u[0] == 0xef) && left > 2)
    return *len = 3, (uint32_t)(u[0] & 15) << 12 | (uint32_t)(u[1] & 63) << 6 | (u[2] & 63);
  if (u[0] == 0xf3 && left > 3)
    return *len = 4, 3u << 18 | (uint32_t)(u[1] & 63) << 12 | (uint32_t)(u[2] & 63) << 6 | (u[3] & 63);
  return 0;
}

// Characters that turn the direction of text, have no width, or are tags. Joiners stay: emoji and scripts need them.
static bool is_invisible(uint32_t c) {
  return remove_invisible && (c == 0x61c || c == 0x200b || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                              (c >= 0x2060 && c <= 0x2069) || c == 0xfeff || (c >= 0xe0000 && c <= 0xe007f));
}

static uint32_t hex4(const char *p) {
  uint32_t u = 0;
  for (int i = 0; i < 4; i++) u = u * 16 + (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 32) - 'a' + 10);
  return u;
}

// The character at s->at and the number of bytes that it takes. END where the string (or the text) ends. Characters
// beyond U+00FF are told apart only where beyond does, so one byte of the others is as good as another.
static uint32_t peek(const scanner *s, uint32_t *len) {
  const char *p = s->in.p + s->at;
  uint32_t left = s->in.n - s->at;
  *len = 1;
  if (left == 0) return END;
  unsigned char c = (unsigned char)p[0];
  if (c == 0xc2 && left > 1) return *len = 2, (unsigned char)p[1];
  uint32_t far = c < 0x80 ? 0 : beyond(p, left, len);
  if (far) return far;
  if (!s->json) return c < 0x80 ? c : 0x100;
  if (c == '"') return END;
  if (c != '\\' || left < 2) return c < 0x80 ? c : 0x100;
  *len = 2;
  if (p[1] != 'u' || left < 6) return p[1] == '\\' || p[1] == '/' || p[1] == '"' ? (unsigned char)p[1] : ' ';
  *len = 6;
  uint32_t u = hex4(p + 2);
  if (u < 0xd800 || u > 0xdbff || left < 12) return u;
  *len = 12; // JSON has a second half behind it
  return 0x10000 + ((u - 0xd800) << 10) + (hex4(p + 8) - 0xdc00);
}

static uint32_t take(scanner *s) {
  uint32_t len, c = peek(s, &len);
  if (c != END) s->at += len;
  return c;
}

static bool next_is(const scanner *s, uint32_t low, uint32_t high) {
  uint32_t len, c = peek(s, &len);
  return c >= low && c <= high;
}

// After ESC [ : parameters, intermediates, one final byte. A broken sequence ends before the first byte that cannot
// belong to it, so that no ordinary text is lost. Reports whether it sets colours and nothing else.
static bool skip_csi(scanner *s) {
  bool color = true;
  while (next_is(s, 0x30, 0x3f)) color &= take(s) <= ';';
  while (next_is(s, 0x20, 0x2f)) take(s), color = false;
  return next_is(s, 0x40, 0x7e) && take(s) == 'm' && color;
}

// After ESC ] (and ESC P, X, ^, _): all up to BEL or the string terminator. One that never ends hides the rest on a
// terminal as well; only its introducer goes, because the rest may matter to the reader.
static void skip_string(scanner *s) {
  if (s->at < s->open) return;
  scanner start = *s;
  for (;;) {
    uint32_t c = take(s);
    if (c == BEL || c == ST) return;
    if (c == ESC && next_is(s, '\\', '\\')) {
      take(s);
      return;
    }
    if (c == END || c == '\n') {
      start.open = s->at;
      *s = start;
      return;
    }
  }
}

static bool skip_escape(scanner *s) {
  if (next_is(s, '[', '[')) {
    take(s);
    return skip_csi(s);
  } else if (next_is(s, ']', ']') || next_is(s, 'P', 'P') || next_is(s, 'X', 'X') || next_is(s, '^', '_')) {
    take(s);
    skip_string(s);
  } else {
    while (next_is(s, 0x20, 0x2f)) take(s);
    if (next_is(s, 0x30, 0x7e)) take(s);
  }
  return false;
}

static bool begins_string(uint32_t c) { return c == OSC || c == DCS || c == SOS || c == PM || c == APC; }

// Copies one run of characters to out, without sequences. Reports whether it left something out.
static bool clean(scanner *s, belay_buf *out) {
  bool changed = false;
  uint32_t from = s->at;
  for (;;) {
    // Nearly all bytes can neither begin a sequence nor end a string.
    while (s->at < s->in.n) {
      char c = s->in.p[s->at];
      if (c == ESC || c == (char)0xc2 || (s->json && (c == '"' || c == '\\'))) break;
      if (remove_invisible && (c == (char)0xd8 || c == (char)0xe2 || c == (char)0xef || c == (char)0xf3)) break;
      s->at++;
    }
    uint32_t len, c = peek(s, &len);
    if (c != END && c != ESC && c != CSI && !begins_string(c) && !is_invisible(c)) {
      s->at += len;
      continue;
    }
    uint32_t begin = s->at;
    s->at += len;
    bool color = false;
    if (c == END) s->at = begin;
    else if (c == ESC) color = skip_escape(s);
    else if (c == CSI) color = skip_csi(s);
    else if (begins_string(c)) skip_string(s);
    if (color && keep_colors) continue;
    belay_put_bytes(out, s->in.p + from, begin - from);
    if (c == END) return changed;
    changed = true;
    from = s->at;
  }
}

// Whether the string that ends before i is a member's name.
static bool is_name(belay_text t, uint32_t i) {
  while (i < t.n && (t.p[i] == ' ' || t.p[i] == '\n' || t.p[i] == '\t' || t.p[i] == '\r')) i++;
  return i < t.n && t.p[i] == ':';
}

// Up to where whole characters fit, and whole sequences of those that stay.
static uint32_t fits_up_to(scanner s, uint32_t most) {
  uint32_t at = s.at;
  while (s.at < s.in.n && s.at <= most) {
    at = s.at;
    uint32_t c = take(&s);
    if (c == END) break; // a quote: there is none in a string
    if (c == ESC) skip_escape(&s);
    else if (c == CSI) skip_csi(&s);
  }
  if (s.at <= most) at = s.at;
  while (at > 0 && at < s.in.n && ((unsigned char)s.in.p[at] & 0xc0) == 0x80) at--;
  return at;
}

enum { GAP = 128 }; // bytes that the note may have

// Takes the middle out of what was written from start on, so that about limit bytes are left, and says so there.
static void shorten(belay_buf *out, uint32_t start, uint32_t limit, bool json) {
  if (out->n - start <= limit + GAP) return;
  scanner s = {.in = {out->p, out->n}, .json = json, .at = start};
  uint32_t head = s.at = fits_up_to(s, start + limit / 2);
  uint32_t tail = fits_up_to(s, out->n - limit / 2), end = out->n;
  if (tail < head + GAP) return;
  belay_buf note = {0};
  if (json) belay_put_lit(&note, "\\n[");
  else belay_put_lit(&note, "\n[");
  belay_put_int(&note, tail - head);
  belay_put_lit(&note, " bytes left out: a result with control sequences is shortened]");
  if (json) belay_put_lit(&note, "\\n");
  else belay_put_lit(&note, "\n");
  belay_text n = belay_done(&note);
  out->n = head;
  belay_put(out, n);
  for (uint32_t i = tail; i < end; i++) out->p[out->n++] = out->p[i]; // the note is shorter than the gap
}

// Copies the document without sequences, each text in at most limit bytes.
static bool clean_json(belay_text in, belay_buf *out, uint32_t limit) {
  bool changed = false;
  uint32_t from = 0, i = 0;
  while (i < in.n) {
    if (in.p[i] != '"') {
      i++;
      continue;
    }
    uint32_t end = belay_json_skip(in, i);
    if (is_name(in, end)) {
      i = end;
      continue;
    }
    i++;
    belay_put_bytes(out, in.p + from, i - from);
    scanner s = {.in = {in.p, end}, .json = true, .at = i};
    uint32_t start = out->n;
    changed |= clean(&s, out);
    for (int k = LIMITS - 1; !limit && k >= 0 && out->n - start > limits[k] + GAP; k--)
      left_out[k] += out->n - start - limits[k] - GAP;
    if (limit) shorten(out, start, limit, true);
    from = s.at;
    i = end;
  }
  belay_put_bytes(out, in.p + from, in.n - from);
  return changed;
}

// Whether anything could begin a sequence: nearly all results end here, and a document of many small strings costs much
// more to go through.
static bool may_hold(belay_text in, bool json) {
  for (uint32_t i = 0; i < in.n; i++) {
    char c = in.p[i];
    if (c == ESC || c == (char)0xc2 || (json && c == '\\')) return true;
    if (remove_invisible && (c == (char)0xd8 || c == (char)0xe2 || c == (char)0xef || c == (char)0xf3)) return true;
  }
  return false;
}

// One effect may have 256 KiB. Of a longer result the texts are shortened, so that no sequence gets through, unless the
// operator wants it blocked, or wants such results as they are.
#define MOST (255u << 10)

// The bytes of an effect with the text: the host counts it as JSON, with escapes.
static uint32_t effect(const belay_buf *out, bool json) {
  uint32_t n = out->n;
  for (uint32_t i = 0; !json && i < out->n; i++) {
    unsigned char c = (unsigned char)out->p[i];
    if (c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t') n++;
    else if (c < 0x20 || c == 0x7f) n += 5;
  }
  return n;
}

static bool too_long(belay_text in, bool json, belay_buf *out) {
  belay_text wanted = belay_config_text(BELAY_T("/too_long"));
  if (belay_eq(wanted, BELAY_T("keep"))) {
    belay_log(BELAY_LOG_WARN, BELAY_T("the result is too long to be replaced, so its control sequences stay"));
    return false;
  }
  if (!belay_eq(wanted, BELAY_T("block"))) {
    for (uint32_t limit = 240u << 10; !json && effect(out, false) > MOST; limit /= 2) {
      scanner s = {.in = in};
      out->n = 0;
      clean(&s, out);
      shorten(out, 0, limit, false);
    }
    int k = 0;
    while (k < LIMITS && json && out->n - left_out[k] > MOST) k++;
    if (json && k < LIMITS) {
      out->n = 0;
      clean_json(in, out, limits[k]);
    }
    if (effect(out, json) <= MOST) {
      belay_log(BELAY_LOG_WARN, BELAY_T("the result has control sequences and is too long to be replaced, so it is shortened"));
      return true;
    }
  }
  belay_fail(BELAY_T("the result has control sequences and is too long to take them out"));
  failed = true;
  return false;
}

BELAY_PHASE(post_tool) {
  keep_colors = belay_config_bool(BELAY_T("/keep_colors"), false);
  remove_invisible = belay_eq(belay_config_text(BELAY_T("/invisible")), BELAY_T("remove"));
  belay_text path = BELAY_T("/result");
  int32_t kind = belay_input_kind(path);
  bool json = kind != BELAY_STRING;
  belay_text in = belay_input_get(path);
  if (!belay_some(in) || !may_hold(in, json)) return BELAY_OK;
  belay_buf out = {0};
  scanner s = {.in = in};
  bool changed = json ? clean_json(in, &out, 0) : clean(&s, &out);
  if (!changed || (effect(&out, json) > MOST && !too_long(in, json, &out))) return failed ? 1 : BELAY_OK;
  if (json) belay_rewrite_json(path, belay_done(&out));
  else belay_rewrite_text(path, belay_done(&out));
  return BELAY_OK;
}
