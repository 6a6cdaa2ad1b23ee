// Masks more of the record about to be stored: configured places, and every member with a configured name.
//
// The kernel has already masked what it knows to be secret; this is for what only the operator knows to be private.
#include "belay.h"

enum { MAX_MASKS = 48, MAX_KEYS = 64, MAX_DEPTH = 64 }; // a turn may have 64 effects

static const belay_text default_keys = BELAY_INIT(
    "[\"authorization\",\"cookie\",\"set-cookie\",\"password\",\"passphrase\",\"secret\",\"email\",\"phone\"]");

static bool same_fold(belay_text a, belay_text b) {
  if (a.n != b.n) return false;
  for (uint32_t i = 0; i < a.n; i++) {
    char x = a.p[i], y = b.p[i];
    if (x >= 'A' && x <= 'Z') x |= 32;
    if (y >= 'A' && y <= 'Z') y |= 32;
    if (x != y) return false;
  }
  return true;
}

typedef struct {
  belay_text path, label;
} mask;

// One walk over a part of the record: what it looks for, where it is, what it found.
typedef struct {
  const belay_text *keys;
  uint32_t key_count;
  belay_text doc;
  uint32_t at;    // in doc
  belay_buf path; // of the value at that place
  mask *found;
  uint32_t count, room; // more are counted than there is room for
} walker;

static bool is_key(const walker *w, belay_text name) {
  for (uint32_t i = 0; i < w->key_count; i++)
    if (same_fold(w->keys[i], name)) return true;
  return false;
}

static void hit(walker *w, belay_text label) {
  if (w->count < w->room) {
    belay_buf path = {0};
    belay_put(&path, belay_done(&w->path));
    w->found[w->count] = (mask){belay_done(&path), label};
  }
  w->count++;
}

static char next(walker *w) {
  while (w->at < w->doc.n && belay_json_blank(w->doc.p[w->at])) w->at++;
  return w->at < w->doc.n ? w->doc.p[w->at] : ']';
}

static belay_text skip(walker *w) {
  uint32_t from = w->at;
  w->at = belay_json_skip(w->doc, from);
  return (belay_text){w->doc.p + from, w->at - from};
}

// Goes through the value at the place, once. What lies too deep counts as a find: the container at the limit is masked.
static void walk(walker *w, int depth) {
  char open = next(w);
  if (open != '{' && open != '[') {
    skip(w);
    return;
  }
  if (depth == MAX_DEPTH) {
    hit(w, BELAY_T("depth"));
    skip(w);
    return;
  }
  w->at++;
  uint32_t here = w->path.n;
  for (uint32_t index = 0; next(w) != '}' && next(w) != ']'; index++) {
    bool private = false;
    belay_text name = {NULL, 0};
    if (open == '{') {
      name = belay_json_text(skip(w));
      private = is_key(w, name);
      belay_put_step(&w->path, name);
      next(w);
    } else {
      belay_put_char(&w->path, '/');
      belay_put_int(&w->path, index);
    }
    uint32_t before = w->at;
    if (private) {
      hit(w, name);
      skip(w);
    } else {
      walk(w, depth + 1);
    }
    if (w->at == before) break; // never on JSON
    w->path.n = here;
  }
  w->at++;
}

// Whether a path is written as a JSON Pointer is.
static bool is_pointer(belay_text path) {
  if (path.n && path.p[0] != '/') return false;
  for (uint32_t i = 0; i < path.n; i++)
    if (path.p[i] == '~' && (i + 1 == path.n || (path.p[i + 1] != '0' && path.p[i + 1] != '1'))) return false;
  return true;
}

// Whether the record has nothing at a path: no such member, or a list where the path names a member. A path that is
// none is the operator's mistake, and is left for the redaction to refuse.
static bool is_absent(belay_text path) {
  int32_t kind = belay_input_kind(path);
  return kind == BELAY_ABSENT || (kind == BELAY_INVALID && is_pointer(path));
}

static uint32_t list(belay_text raw, belay_text *out, uint32_t room) {
  uint32_t n = 0;
  for (belay_json_each e = belay_json_in(raw); belay_json_next(&e); n++)
    if (n < room) out[n] = belay_json_text(e.value);
  return n;
}

BELAY_PHASE(audit) {
  static belay_text paths[MAX_MASKS], keys[MAX_KEYS];
  uint32_t masks = 0, path_count = list(belay_config_get(BELAY_T("/paths")), paths, MAX_MASKS);
  if (path_count > MAX_MASKS) return belay_fail(BELAY_T("more than 48 paths are configured"));
  for (uint32_t i = 0; i < path_count; i++) {
    if (is_absent(paths[i])) continue;
    masks++;
    belay_redact(paths[i], BELAY_T("operator"));
  }
  belay_text configured = belay_config_get(BELAY_T("/keys"));
  uint32_t key_count = list(belay_some(configured) ? configured : default_keys, keys, MAX_KEYS);
  if (key_count > MAX_KEYS) return belay_fail(BELAY_T("more than 64 keys are configured"));

  static mask found[MAX_MASKS];
  belay_text data = belay_input_get(BELAY_T("/data"));
  for (belay_json_each e = belay_json_in(data); belay_json_next(&e);) {
    if (!belay_some(e.key)) break; // data that is no object
    walker w = {.keys = keys, .key_count = key_count, .doc = e.value, .found = found, .room = MAX_MASKS - masks};
    belay_put_lit(&w.path, "/data");
    belay_put_step(&w.path, e.key);
    if (is_key(&w, e.key)) hit(&w, e.key);
    else walk(&w, 0);
    if (w.count > w.room) {
      // Too many to mask one by one: the whole member goes.
      belay_redact(belay_child(BELAY_T("/data"), e.key), BELAY_T("many"));
      continue;
    }
    masks += w.count;
    for (uint32_t i = 0; i < w.count; i++) belay_redact(found[i].path, found[i].label);
  }
  return BELAY_OK;
}
