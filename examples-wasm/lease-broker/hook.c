// Lends an agent the writing of one file, once and for a minute, when a person says yes.
//
// Configuration: {"ttl_s": 60}. The operator requires a lease for the tool (require_lease); this hook asks a person at
// the first call for a file and makes the lease in the same turn, so that it comes about only with the yes. What was lent
// is never lent again: later calls are the kernel's to block.
#include "belay.h"

// FNV-1a, to make a part of an id of a name that may hold anything. Whoever makes two names collide gets no second lease.
static void put_hash(belay_buf *b, belay_text a, belay_text c) {
  uint64_t h = 14695981039346656037u;
  for (uint32_t i = 0; i < a.n; i++) h = (h ^ (uint8_t)a.p[i]) * 1099511628211u;
  h *= 1099511628211u;
  for (uint32_t i = 0; i < c.n; i++) h = (h ^ (uint8_t)c.p[i]) * 1099511628211u;
  for (int i = 60; i >= 0; i -= 4) belay_put_char(b, "0123456789abcdef"[(h >> i) & 15]);
}

// Fails with what the host says about it, for operators.
static int32_t refused(const char *what, belay_answer a) {
  belay_buf b = {0};
  while (*what) belay_put_char(&b, *what++);
  if (belay_some(belay_reason(a))) {
    belay_put_lit(&b, ": ");
    belay_put(&b, belay_reason(a));
  }
  return belay_fail(belay_done(&b));
}

BELAY_PHASE(pre_tool) {
  belay_text path = belay_input_text(BELAY_T("/args/file_path"));
  if (!belay_eq(belay_input_text(BELAY_T("/tool")), BELAY_T("write")) || !belay_some(path) || path.n == 0 || path.p[0] != '/')
    return BELAY_OK;  // what it cannot name it does not lend

  belay_buf id = {0};
  belay_put_lit(&id, "lent/");
  put_hash(&id, belay_input_text(BELAY_T("/session")), BELAY_T(""));
  belay_put_char(&id, '/');
  put_hash(&id, belay_input_text(BELAY_T("/agent")), path);
  belay_buf check = {0};
  belay_put_lit(&check, "{\"id\":");
  belay_put_string(&check, belay_done(&id));
  belay_put_char(&check, '}');
  belay_answer known = belay_check_lease(belay_done(&check));
  if (known.ok) return BELAY_OK;
  if (known.code != BELAY_ABSENT) return refused("leases could not be looked at", known);

  int64_t ttl = belay_config_int(BELAY_T("/ttl_s"), 60);
  belay_buf mint = {0};
  belay_put_lit(&mint, "{\"id\":");
  belay_put_string(&mint, belay_done(&id));
  belay_put_lit(&mint, ",\"capability\":\"tool:write\",\"max_uses\":1,\"ttl_s\":");
  belay_put_int(&mint, ttl);
  belay_put_lit(&mint, ",\"scope\":{\"paths\":[");
  belay_put_string(&mint, path);
  belay_put_lit(&mint, "],\"tools\":[\"write\"]}}");
  belay_answer made = belay_mint_lease(belay_done(&mint));
  if (!made.ok) return refused(made.code == BELAY_DENIED ? "this hook may not lend" : "a lease for this path cannot be made", made);

  belay_buf reason = {0};
  belay_put_lit(&reason, "lend the writing of ");
  belay_put(&reason, path);
  belay_put_lit(&reason, ", once, for ");
  belay_put_int(&reason, ttl);
  belay_put_lit(&reason, " seconds");
  belay_ask(belay_done(&reason), 0);
  return BELAY_OK;
}
