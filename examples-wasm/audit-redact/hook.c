// Masks more of the record about to be stored: configured places, and every member with a configured name.
//
// The kernel has already masked what it knows to be secret; this is for what only the operator knows to be private.
#include "belay.h"

enum { MAX_MASKS = 48, MAX_DEPTH = 24 }; // a turn may have 64 effects

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

static bool is_key(belay_text keys, belay_text name) {
  for (belay_json_each e = belay_json_in(keys); belay_json_next(&e);)
    if (same_fold(belay_json_text(e.value), name)) return true;
  return false;
}

// Counts the members below raw that have one of the names; with mask, masks them. What lies too deep counts as a find:
// the container at the limit is masked whole.
static uint32_t walk(belay_text path, belay_text raw, belay_text keys, int depth, bool mask) {
  uint32_t found = 0, index = 0;
  bool object = raw.n && raw.p[0] == '{';
  for (belay_json_each e = belay_json_in(raw); belay_json_next(&e); index++) {
    bool hit = object && is_key(keys, e.key);
    bool container = e.value.n && (e.value.p[0] == '{' || e.value.p[0] == '[');
    if (!hit && !container) continue;
    belay_text child = object ? belay_child(path, e.key) : belay_at(path, index);
    if (!hit && depth < MAX_DEPTH) {
      found += walk(child, e.value, keys, depth + 1, mask);
    } else {
      found++;
      if (mask) belay_redact(child, hit ? e.key : BELAY_T("depth"));
    }
  }
  return found;
}

BELAY_PHASE(audit) {
  uint32_t masks = 0;
  belay_text paths = belay_config_get(BELAY_T("/paths"));
  for (belay_json_each e = belay_json_in(paths); belay_json_next(&e);) {
    belay_text path = belay_json_text(e.value);
    if (belay_input_kind(path) == BELAY_ABSENT) continue;
    if (++masks > MAX_MASKS) return belay_fail(BELAY_T("more than 48 configured paths are present"));
    belay_redact(path, BELAY_T("operator"));
  }
  belay_text keys = belay_config_get(BELAY_T("/keys"));
  if (!belay_some(keys)) keys = default_keys;
  belay_text data = belay_input_get(BELAY_T("/data"));
  for (belay_json_each e = belay_json_in(data); belay_json_next(&e);) {
    if (!belay_some(e.key)) break; // data that is no object
    belay_text path = belay_child(BELAY_T("/data"), e.key);
    uint32_t found = walk(path, e.value, keys, 0, false);
    if (found == 0) continue;
    // Too many to mask one by one: the whole member goes.
    if (masks + found > MAX_MASKS) {
      belay_redact(path, BELAY_T("many"));
      continue;
    }
    masks += walk(path, e.value, keys, 0, true);
  }
  return BELAY_OK;
}
